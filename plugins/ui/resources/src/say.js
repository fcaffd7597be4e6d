// The messages of the page, in the language of the host's user.

import en from "./messages/en.json" with { type: "json" };

/** The languages with messages. */
export const LANGUAGES = ["en", "de", "fr", "es", "ja", "zh", "ar"];

let spoken = "en";
let texts = en;
let locale;

/**
 * Sets the language of the page.
 *
 * @param language one of `LANGUAGES`; @param messages its messages by their keys; @param region the locale for numbers
 */
export function speak(language, messages, region) {
	[spoken, texts, locale] = [language, messages, region];
}

/** The language of the page. */
export const language = () => spoken;

/** The language of a locale if there are messages for it, otherwise English. */
export function languageOf(tag) {
	try {
		const { language } = new Intl.Locale(tag);
		return LANGUAGES.includes(language) ? language : "en";
	} catch {
		return "en";
	}
}

const written = (value) =>
	typeof value === "number" ? new Intl.NumberFormat(locale, { useGrouping: "min2" }).format(value) : value;

/**
 * A message. `{name}` in a message is replaced by the value of that name. The value `count` selects the plural form.
 *
 * @param key as in `messages/en.json`
 */
export function say(key, values = {}) {
	const text = texts[key] ?? en[key] ?? key;
	const form =
		typeof text === "object" ? (text[new Intl.PluralRules(spoken).select(values.count)] ?? text.other) : text;
	return form.replace(/\{(\w+)\}/g, (_, name) => written(values[name]));
}
