// The page's own words, in the language of the host's user.

import en from "./messages/en.json" with { type: "json" };

/** The languages that there are messages for. */
export const LANGUAGES = ["en", "de", "fr", "es", "ja", "zh", "ar"];

let spoken = "en";
let texts = en;
let locale;

/**
 * From now on the page speaks a language.
 *
 * @param language one of `LANGUAGES`; @param messages its messages by their keys; @param region the locale that numbers are written for
 */
export function speak(language, messages, region) {
	[spoken, texts, locale] = [language, messages, region];
}

/** The language that is spoken. */
export const language = () => spoken;

/** The language of a locale, as far as there are messages for it; English otherwise. */
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
 * A message. `{name}` within it stands for the value of that name, and `count` says which plural it is.
 *
 * @param key as in `messages/en.json`
 */
export function say(key, values = {}) {
	const text = texts[key] ?? en[key] ?? key;
	const form =
		typeof text === "object" ? (text[new Intl.PluralRules(spoken).select(values.count)] ?? text.other) : text;
	return form.replace(/\{(\w+)\}/g, (_, name) => written(values[name]));
}
