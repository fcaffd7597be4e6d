// Shows a text: as data if it is JSON, as code, or as prose. texts.js recognises further structures.

import { cut, h } from "./dom.js";
import { parts } from "./parts.js";
import { say } from "./say.js";
import { spoken } from "./values.js";

/** Maximum length of a text that is examined. */
const LONGEST = 400_000;

/** Parses JSON in a text. Whole numbers that would be rounded stay as they are written. */
export function jsonIn(text) {
	try {
		return /^\s*[[{]/.test(text)
			? JSON.parse(text, (_, value, context) =>
					typeof value === "number" &&
					Number.isInteger(value) &&
					!Number.isSafeInteger(value) &&
					/^-?\d+$/.test(context?.source)
						? context.source
						: value
				)
			: undefined;
	} catch {
		return undefined;
	}
}

/** Text as it is, in a box that a keyboard can scroll. */
export const code = (text, language) =>
	h(
		"figure",
		{ class: "code" },
		language && h("figcaption", {}, language),
		cut(h("pre", { class: "text", tabindex: 0, role: "group", "aria-label": language || say("text") }), text, 4000, (piece) => [piece])
	);

/**
 * A text, shown by its structure.
 *
 * @param view shows data and tables, and opens links
 * @param more `schema` of data in the text, `name` and `mimeType` of its file, `level` of its first heading, `depth` of the data around it
 */
export function textOf(text, view, more = {}) {
	const about = { name: view.file, ...more };
	if (text.length > LONGEST || !text.trim()) {
		return code(text);
	}
	const data = jsonIn(text);
	if (data !== undefined) {
		return view.show(data, "", about.schema, about.depth);
	}
	const special = parts.text?.(text, view, about);
	if (special) {
		return special;
	}
	const lines = text.trim().split("\n");
	// Text in lines or columns keeps its line breaks, and so does code that begins with a comment. Text in sentences is wrapped.
	const isSet =
		/^\/[/*]/.test(lines[0]) ||
		lines.some((line) => /^(\s{2,}|\t)\S|\S {3,}\S|[{};]\s*$/.test(line)) ||
		(lines.length > 3 && lines.every((line) => line.length < 160 && !/[.!?:]$/.test(line.trim())));
	return isSet ? code(text) : cut(h("p", { class: "text", dir: "auto" }), text.trim(), 4000, spoken);
}
