// The host's looks and its user's ways of writing: theme, colours, fonts, languages, directions.

import { user } from "./dom.js";
import en from "./messages/en.json" with { type: "json" };
import { language, languageOf, speak } from "./say.js";

/** Scripts that are written from right to left. */
const LEFTWARDS = /^(Arab|Hebr|Thaa|Syrc|Nkoo|Adlm|Rohg)$/;

/** A value that would fetch something. */
const FETCHES = /url\(|image-set\(/i;

const root = document.documentElement;

/** Fonts that the host offers, as far as its policy lets the page have them. Nothing but `@font-face` is taken. */
function fonts(css) {
	const [offered, taken] = [new CSSStyleSheet(), new CSSStyleSheet()];
	// What would be imported is not fonts alone.
	offered.replaceSync(css.replace(/@import[^;]*;?/gi, ""));
	[...offered.cssRules]
		.filter((rule) => rule instanceof CSSFontFaceRule)
		.forEach((rule) => taken.insertRule(rule.cssText));
	document.adoptedStyleSheets = [taken];
}

/** The messages of each language that are there, by its name; others are read from the server. */
const known = { en: Promise.resolve(en), ...globalThis.portcullisMessages };

/**
 * Takes on the host's looks.
 *
 * @param context what is new of it
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
 * Takes on the language, the direction and the ways of writing of the host's user.
 *
 * @param read reads a resource of the server: its text
 * @returns whether anything is written differently now
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
		// The host reads nothing for views, or the server is an older one.
		delete known[spoken];
	}
	// Meanwhile the host may have said otherwise.
	if (user.locale === locale) {
		speak(messages ? spoken : "en", messages ?? en, locale);
		root.lang = language();
	}
	return before !== JSON.stringify([user, language()]);
}
