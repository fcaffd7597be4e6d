// Adopts the host's theme, colours and fonts, and its user's language, writing direction and formats.

import { user } from "./dom.js";
import en from "./messages/en.json" with { type: "json" };
import { language, languageOf, speak } from "./say.js";

/** Writing systems from right to left. */
const LEFTWARDS = /^(Arab|Hebr|Thaa|Syrc|Nkoo|Adlm|Rohg)$/;

/** CSS values that would fetch something. */
const FETCHES = /url\(|image-set\(/i;

const root = document.documentElement;

/** Adopts fonts that the host offers, as far as its policy allows. Of the host's CSS, only `@font-face` rules are used. */
function fonts(css) {
	const [offered, taken] = [new CSSStyleSheet(), new CSSStyleSheet()];
	// An `@import` could bring in more than fonts.
	offered.replaceSync(css.replace(/@import[^;]*;?/gi, ""));
	[...offered.cssRules]
		.filter((rule) => rule instanceof CSSFontFaceRule)
		.forEach((rule) => taken.insertRule(rule.cssText));
	document.adoptedStyleSheets = [taken];
}

/** The messages that the page has, by language. Messages of other languages are read from the server. */
const known = { en: Promise.resolve(en), ...globalThis.portcullisMessages };

/**
 * Adopts the host's theme and styles.
 *
 * @param context the changed parts of the host context
 */
export function dress({ theme, styles, safeAreaInsets }) {
	if (/^(light|dark)$/.test(theme)) {
		root.dataset.theme = theme;
	}
	for (const [key, value] of Object.entries(styles?.variables ?? {})) {
		/^--[\w-]+$/.test(key) &&
			typeof value === "string" &&
			!FETCHES.test(value) &&
			root.style.setProperty(key, value);
	}
	typeof styles?.css?.fonts === "string" && fonts(styles.css.fonts);
	if (safeAreaInsets) {
		const { top, right, bottom, left } = safeAreaInsets;
		document.body.style.padding = [top, right, bottom, left].map((inset) => `${Number(inset) || 0}px`).join(" ");
	}
}

/**
 * Adopts the language, the writing direction and the formats of the host's user.
 *
 * @param read gives the text of a resource of the server
 * @returns whether any text in the page is written differently now
 */
export async function settle({ locale = user.locale, timeZone = user.timeZone }, read) {
	const before = JSON.stringify([user, language()]);
	const tag = locale ?? navigator.language;
	try {
		root.dir = LEFTWARDS.test(new Intl.Locale(tag).maximize().script) ? "rtl" : "ltr";
	} catch {
		locale = undefined;
	}
	Object.assign(user, { locale, timeZone });
	const spoken = languageOf(tag);
	known[spoken] ??= read(`ui://portcullis/messages/${spoken}.json`).then(JSON.parse);
	let messages;
	try {
		messages = await known[spoken];
	} catch {
		// The host does not read resources for views, or the server is older.
		delete known[spoken];
	}
	// The host may have named another locale meanwhile.
	if (user.locale === locale) {
		speak(messages ? spoken : "en", messages ?? en, locale);
		root.lang = language();
	}
	return before !== JSON.stringify([user, language()]);
}
