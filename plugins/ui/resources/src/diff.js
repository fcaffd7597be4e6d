// Shows differences: those that a text holds, and those between a value before and after.

import { equal, h, isObject } from "./dom.js";
import { plain } from "./order.js";
import { say } from "./say.js";
import { labelOf } from "./words.js";

const HUNK = /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m;

export const isDiff = (text) => HUNK.test(text) && /^[+-]/m.test(text);

const SIGNS = { "+": "add", "-": "cut", "@": "hunk" };

const line = (text) => {
	const head = /^(\+\+\+|---) |^(diff|index|new file|deleted file|rename|similarity) /.test(text);
	return h("span", { class: head ? "hunk" : SIGNS[text[0]] }, `${text}\n`);
};

/** Lines with a sign before each, coloured; the signs stay for who sees no colours. */
export const diffOf = (text) =>
	h(
		"figure",
		{ class: "code" },
		h("pre", { class: "text diff", tabindex: 0, role: "group", "aria-label": say("difference") }, text.split("\n").slice(0, 3000).map(line), text.split("\n").length > 3000 && "…")
	);

/** The lines of two texts as a difference: the longest run that they share, and what is before and behind it. */
export function compare(before, after) {
	const [old, now] = [before.split("\n"), after.split("\n")];
	if (old.length * now.length > 4e6) {
		return [...old.map((one) => `-${one}`), ...now.map((one) => `+${one}`)].join("\n");
	}
	const sizes = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
	for (let i = old.length - 1; i >= 0; i--) {
		for (let j = now.length - 1; j >= 0; j--) {
			sizes[i][j] = old[i] === now[j] ? sizes[i + 1][j + 1] + 1 : Math.max(sizes[i + 1][j], sizes[i][j + 1]);
		}
	}
	const lines = [];
	let [i, j] = [0, 0];
	while (i < old.length || j < now.length) {
		if (i < old.length && j < now.length && old[i] === now[j]) {
			lines.push(` ${old[i++]}`);
			j++;
		} else if (j >= now.length || (i < old.length && sizes[i + 1][j] >= sizes[i][j + 1])) {
			lines.push(`-${old[i++]}`);
		} else {
			lines.push(`+${now[j++]}`);
		}
	}
	return lines.join("\n");
}

const PAIRS = [
	["before", "after"],
	["old", "new"],
	["old_value", "new_value"],
	["previous", "current"]
];

/** The names of what an object says was and is, if these are of one kind. */
const changed = (value) =>
	PAIRS.map((pair) => pair.map((wanted) => Object.keys(value).find((key) => plain(key) === wanted))).find(
		([old, now]) => old && now && ((isObject(value[old]) && isObject(value[now])) || (typeof value[old] === "string" && typeof value[now] === "string" && /\n/.test(value[old] + value[now])))
	);

/** What was and what is: lines of texts, or the fields that differ; `undefined` for other data. */
export function changeOf(value, view, schema, depth) {
	const [old, now] = (isObject(value) && changed(value)) || [];
	if (!old) {
		return undefined;
	}
	const { [old]: before, [now]: after, ...rest } = value;
	const records = isObject(before)
		? [...new Set([...Object.keys(before), ...Object.keys(after)])]
				.filter((key) => !equal(before[key], after[key]))
				.map((key) => ({ field: labelOf(key, view.within(view.within(schema, old), key)), [old]: before[key], [now]: after[key] }))
		: [];
	return h(
		"div",
		{ class: "data" },
		!isObject(before)
			? diffOf(compare(before, after))
			: records.length
				? view.table(records, ["field", old, now].map((key) => ({ key })), depth, say("changes"))
				: h("p", { class: "none" }, say("noDifference")),
		Object.keys(rest).length > 0 && view.object(rest, schema, depth)
	);
}
