// Recognises the structure of a text: a table, a diff, Markdown, pairs of names and values, or a sentence with data below it.

import { diffOf, isDiff } from "./diff.js";
import { h, isObject } from "./dom.js";
import { inline, isMarkdown, markdown } from "./markdown.js";
import { code, jsonIn, textOf } from "./text.js";
import { formOf, spoken } from "./values.js";

/** The rows of a text with separators, and with quotes as in RFC 4180. */
function separated(text, mark) {
	const rows = [[]];
	const part = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${mark}\\n]*))(${mark}|\\r?\\n|$)`, "gy");
	for (let found = part.exec(text); found; found = part.exec(text)) {
		rows.at(-1).push(found[1]?.replaceAll('""', '"') ?? found[2].replace(/\r$/, ""));
		if (part.lastIndex >= text.length) {
			return found[3] === mark ? [...rows.slice(0, -1), [...rows.at(-1), ""]] : rows;
		}
		found[3] === mark || rows.push([]);
	}
	return [];
}

/** Whether rows are a table: of equal length, with a header of different names. */
const isTable = ([head, ...rows], fewest = 2) =>
	rows.length > 0 &&
	head.length >= fewest &&
	rows.every((row) => row.length === head.length) &&
	new Set(head).size === head.length &&
	head.every((one) => one.trim() && one.length < 60 && !/^-?[\d.]+$/.test(one));

function rowsIn(text) {
	const body = text.trim();
	for (const mark of ["\t", ";", ","]) {
		const rows = separated(body, mark);
		// Sentences also have commas, but followed by spaces, and fewer of them.
		if (isTable(rows) && (mark === "\t" || !rows.flat().some((one) => /^ \S/.test(one) && mark === ",")) && (rows[0].length > 2 || rows.length > 2)) {
			return rows;
		}
	}
	return aligned(body);
}

/** The rows of a text whose columns are aligned by spaces, as in the output of commands. */
function aligned(text) {
	const lines = text.split("\n").filter((line) => line.trim() && !/^[-=+\s|]+$/.test(line));
	if (lines.length < 3 || lines.length > 5000 || lines.some((line) => /\t/.test(line))) {
		return undefined;
	}
	const width = Math.max(...lines.map((line) => line.length));
	const isBlank = Array.from({ length: width }, (_, at) => lines.every((line) => (line[at] ?? " ") === " "));
	const starts = [];
	for (let at = 0; at < width; at++) {
		!isBlank[at] && (at === 0 || (isBlank[at - 1] && (at === 1 || isBlank[at - 2]))) && starts.push(at);
	}
	const rows = lines.map((line) => starts.map((start, index) => line.slice(start, starts[index + 1]).trim()));
	return isTable(rows) && rows[0].length === rows[0].filter((one) => one.split("  ").length === 1).length ? rows : undefined;
}

/** The value of a text. It is a number only if JavaScript writes the number in the same way, so that nothing is lost. */
const valueOf = (text) => /^(true|false)$/i.test(text) ? /^t/i.test(text) : (text !== "" && String(Number(text)) === text && Number.isSafeInteger(Math.trunc(Number(text))) ? Number(text) : text);

/** Records from a header and rows. The texts of a column become values only if all of them have one type. */
export function recordsOf(head, rows) {
	const kinds = head.map((_, index) => new Set(rows.map((row) => row[index]).filter(Boolean).map((text) => typeof valueOf(text))));
	return rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index] ? (kinds[index].size < 2 ? valueOf(row[index]) : row[index]) : null])));
}

const PAIR = /^\s*([\p{L}_][\p{L}\d _()./-]{0,38}?)\s*:\s+(\S.*)$/u;

/** A value in a pair, without the quotes of JSON. */
const pairOf = (text) => (/^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : valueOf(text));

/** Lines of the form "name: value", perhaps in several paragraphs with the same names. */
function pairsIn(text) {
	const blocks = text
		.trim()
		// The first line may be a heading.
		.replace(/^[^\n:]{1,60}:\n/, "")
		.split(/\n\s*\n/)
		.map((block) => block.split("\n").map((line) => PAIR.exec(line)));
	const good = blocks.every((block) => block.length > (blocks.length > 1 ? 0 : 1) && block.every(Boolean));
	const records = good && blocks.map((block) => Object.fromEntries(block.map(([, name, value]) => [name, pairOf(value.trim())])));
	const names = good && records.map((record) => Object.keys(record).join());
	return !good || (blocks.length > 1 && new Set(names).size > 2) || records.some((record, index) => Object.keys(record).length < blocks[index].length)
		? undefined
		: records.length > 1
			? records
			: records[0];
}

/** A line of the form "[FILE] name", perhaps followed by a size. */
const KINDS = /^\[([A-Z]{2,10})\] (.+?)(?: {2,}(\d[\d.,]* ?[kKMGT]?i?B))?$/;

/** A list of such lines, and the text below it. */
function listed(text, view, about) {
	const lines = text.trim().split("\n");
	const end = lines.findIndex((line) => !KINDS.test(line.trim()));
	const found = lines.slice(0, end < 0 ? undefined : end).map((line) => KINDS.exec(line.trim()));
	if (found.length < 2 || (end >= 0 && lines[end].trim())) {
		return undefined;
	}
	const records = found.map(([, kind, name, size]) => ({ name, kind: kind === "DIR" ? "Directory" : kind.charAt(0) + kind.slice(1).toLowerCase(), ...(found.some((one) => one[3]) && { size }) }));
	const rest = end < 0 ? "" : lines.slice(end).join("\n").trim();
	return h("div", { class: "data" }, view.show(records), rest && textOf(rest, view, { ...about, name: "" }));
}

/** Several files, each after a line with its name, separated by lines of dashes. */
function files(text, view) {
	const all = text.split(/\n-{3,}\n/).map((one) => /^\s*(\S[^\n]*):\n([\s\S]*)$/.exec(one));
	return all.length > 1 && all.every((one) => one && formOf(one[1]) >= 0)
		? h("div", { class: "data" }, all.map(([, name, body]) => h("figure", {}, h("figcaption", {}, name), textOf(body.replace(/^\n+|\s+$/g, ""), view, { name }))))
		: undefined;
}

/** Paths, URLs or times, one per line, perhaps below a heading; or a single one. */
function named(text, view) {
	const [, lead, rest] = /^([^\n]{1,80}:)\n([\s\S]+)$/.exec(text.trim()) ?? [, "", text.trim()];
	const lines = rest.split("\n").map((line) => line.trim());
	const form = formOf(lines[0]);
	const shown = form < 0 || lines.some((line) => formOf(line) !== form) ? undefined : lines.length > 1 ? view.sequence(lines, "", undefined, 0, true) : h("p", { class: "text" }, view.scalar(lines[0]));
	return shown && lead ? h("div", { class: "data" }, h("p", { class: "text", dir: "auto" }, lead), shown) : shown;
}

const LANGUAGES = { xml: "XML", html: "HTML", svg: "SVG", css: "CSS", js: "JavaScript", mjs: "JavaScript", ts: "TypeScript", tsx: "TypeScript", py: "Python", rs: "Rust", sh: "Shell", toml: "TOML", yml: "YAML", yaml: "YAML", sql: "SQL", h: "C++", cpp: "C++", c: "C", java: "Java", go: "Go", ini: "INI" };

const languageOf = (text, { name = "", mimeType = "" }) =>
	LANGUAGES[/\.(\w+)$/.exec(name)?.[1]] ??
	LANGUAGES[/(?:\/|\+|-)(xml|html|css|toml|yaml|sql)\b/.exec(mimeType)?.[1]] ??
	(/^\s*<\?xml|^\s*<([\w:-]+)[^<]*>[\s\S]*<\/\1>\s*$/.test(text) ? (/^\s*<(!doctype html|html)/i.test(text) ? "HTML" : "XML") : undefined);

/** Elements of HTML that only format a text, and what they are in Markdown. */
const FORMATS = { p: ["\n\n", "\n\n"], br: ["\n", ""], ul: ["\n", "\n"], ol: ["\n", "\n"], li: ["\n- ", ""], b: ["**", "**"], strong: ["**", "**"], i: ["*", "*"], em: ["*", "*"], code: ["`", "`"], tt: ["`", "`"], pre: ["\n```\n", "\n```\n"] };
const TAG = /<(\/?)([a-z]+[1-6]?)\s*\/?>/gi;
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };

/** Prose with tags of HTML and links of JSDoc, as Markdown; `undefined` for other text, also for text about HTML. */
export function formatted(text) {
	const tags = text.match(/<\/?[a-z][^<>]*>/gi) ?? [];
	const isHeading = (name) => /^h[1-6]$/.test(name);
	const isKnown = (tag) => tag.replace(TAG, (_, end, name) => (isHeading(name) || Object.hasOwn(FORMATS, name.toLowerCase()) ? "" : tag)) === "";
	if (/`[^`\n]*<[^`\n]*`/.test(text) || !tags.every(isKnown) || !/<\/|\{@link /.test(text)) {
		return undefined;
	}
	return text
		.replace(/\{@link\s+(\S+?)(?:\s+([^}]*))?\}/g, (_, to, label) => label || to)
		.replace(TAG, (_, end, name) => (isHeading(name) ? (end ? "\n\n" : `\n\n${"#".repeat(name[1])} `) : FORMATS[name.toLowerCase()][end ? 1 : 0]))
		.replace(/&(\w+);/g, (whole, name) => ENTITIES[name] ?? whole)
		.trim();
}

/** A short text with formats of HTML; `undefined` for other text. */
export function words(text, open) {
	const said = formatted(text);
	return said && !/\n/.test(said) ? inline(said, open) : undefined;
}

/** A text, shown by its structure; `undefined` for plain text. The parameters are those of `textOf`. */
export function readText(text, view, about) {
	const isFenced = /^\s*[`~]{3}/.test(text);
	if (!isFenced && isDiff(text)) {
		return diffOf(text);
	}
	// The text may be the contents of the file that the input names, or only a description of it.
	const isAbout = about.name === view.file && !/\.(ya?ml|toml|ini)$/i.test(about.name) && pairsIn(text);
	const language = !isFenced && !isAbout && languageOf(text, about);
	// The text of a converted web page has the name of an HTML file, but is not HTML.
	if (language && (about.name !== view.file || !/^(HTML|XML)$/.test(language) || /^\s*</.test(text))) {
		return code(text, language);
	}
	const special = files(text, view) ?? listed(text, view, about) ?? named(text, view);
	if (special) {
		return special;
	}
	const lines = text.trim().split("\n");
	const each = lines.length > 1 && lines.length < 5000 && lines.every((line) => /^\s*\{.*\}\s*$/.test(line)) && lines.map(jsonIn);
	if (each && each.every(isObject)) {
		return view.show(each);
	}
	// A sentence, and data beneath it.
	const [, before, after] = /^([^{[][^\n]*(?:\n[^{[][^\n]*){0,4}?)\n+\s*([{[][\s\S]*)$/.exec(text.trim()) ?? /^([^{[\n]{1,200}:) *([{[][\s\S]*)$/.exec(text.trim()) ?? [];
	const below = after && jsonIn(after);
	if (below && typeof below === "object") {
		return h("div", { class: "data" }, h("p", { class: "text", dir: "auto" }, spoken(before)), view.show(below, "", about.schema));
	}
	const rows = lines.length > 1 && rowsIn(text);
	if (rows) {
		const isShouted = rows[0].every((one) => one === one.toUpperCase());
		return view.show(recordsOf(isShouted ? rows[0].map((one) => one.toLowerCase()) : rows[0], rows.slice(1)));
	}
	const pairs = pairsIn(text);
	if (pairs) {
		return view.show(pairs);
	}
	const prose = formatted(text);
	if (prose || isMarkdown(text) || /markdown/.test(about.mimeType) || /\.(md|markdown)$/i.test(about.name)) {
		return markdown(
			prose ?? text,
			{
				open: view.open,
				code: (said, kind) => isDiff(said) ? diffOf(said) : code(said, kind),
				table: (head, body) =>
					view.table(
						recordsOf(Object.keys(head), body),
						head.map((label, key) => ({
							key,
							// A column header without a name could not be clicked.
							label: label || String(key + 1),
							show: (record) => (typeof record[key] === "string" ? h("span", { class: "lines" }, inline(record[key], view.open)) : undefined)
						}))
					)
			},
			about.level
		);
	}
	return undefined;
}
