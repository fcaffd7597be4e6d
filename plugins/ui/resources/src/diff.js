// Shows differences: a text that is a diff, and the changes between two versions of a value.

import { equal, h, isObject } from "./dom.js";
import { plain } from "./order.js";
import { say } from "./say.js";
import { labelOf } from "./words.js";

const HUNK = /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m;

/** Whether a text is a diff without a header: each line begins with a sign and a space, or with two spaces. */
const isBare = (text) => text.split("\n").every((one) => /^([-+ ] |$)/.test(one)) && /^\+ /m.test(text) && /^- /m.test(text);

export const isDiff = (text) => (HUNK.test(text) && /^[+-]/m.test(text)) || isBare(text);

const SIGNS = { "+": "add", "-": "cut", "@": "hunk" };

const line = (text) => {
	const head = /^(\+\+\+|---) |^(diff|index|new file|deleted file|rename|similarity) /.test(text);
	return h("span", { class: head ? "hunk" : SIGNS[text[0]] }, `${text}\n`);
};

/** A diff with coloured lines. The signs stay, for users who do not see colours. */
export const diffOf = (text) =>
	h(
		"figure",
		{ class: "code" },
		h("pre", { class: "text diff", tabindex: 0, role: "group", "aria-label": say("difference") }, text.split("\n").slice(0, 3000).map(line), text.split("\n").length > 3000 && "…")
	);

/** Maximum number of lines of each text that are compared, and of pairs of lines. */
const LINES = 5000;
const MOST = 4e6;

/** The difference between two texts: `[kind, line]` for each line, with the kinds `=`, `-` and `+`. */
export function compare(before, after) {
	const [a, b] = [before.split("\n").slice(0, LINES), after.split("\n").slice(0, LINES)];
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) {
		start++;
	}
	let end = 0;
	while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) {
		end++;
	}
	const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
	const rows = a.slice(0, start).map((line) => ["=", line]);
	if (left.length * right.length > MOST) {
		rows.push(...left.map((line) => ["-", line]), ...right.map((line) => ["+", line]));
	} else {
		// The length of the longest common subsequence from each pair of lines on.
		const wide = right.length + 1;
		const longest = new Uint16Array((left.length + 1) * wide);
		for (let i = left.length - 1; i >= 0; i--) {
			for (let j = right.length - 1; j >= 0; j--) {
				longest[i * wide + j] =
					left[i] === right[j]
						? longest[(i + 1) * wide + j + 1] + 1
						: Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
			}
		}
		let [i, j] = [0, 0];
		while (i < left.length || j < right.length) {
			if (i < left.length && j < right.length && left[i] === right[j]) {
				rows.push(["=", left[i++]]);
				j++;
			} else if (
				j === right.length ||
				(i < left.length && longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])
			) {
				rows.push(["-", left[i++]]);
			} else {
				rows.push(["+", right[j++]]);
			}
		}
	}
	return [...rows, ...a.slice(a.length - end, a.length).map((line) => ["=", line])];
}

const PAIRS = [
	["before", "after"],
	["old", "new"],
	["old_value", "new_value"],
	["previous", "current"]
];

/** The names of the members with the old and the new value, if both values are of one kind. */
const changed = (value) =>
	PAIRS.map((pair) => pair.map((wanted) => Object.keys(value).find((key) => plain(key) === wanted))).find(
		([old, now]) => old && now && ((isObject(value[old]) && isObject(value[now])) || (typeof value[old] === "string" && typeof value[now] === "string" && /\n/.test(value[old] + value[now])))
	);

/** The difference between an old and a new value: changed lines of texts, or changed fields; `undefined` for other data. */
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
			? diffOf(compare(before, after).map(([kind, one]) => kind.replace("=", " ") + one).join("\n"))
			: records.length
				? view.table(records, ["field", old, now].map((key) => ({ key })), depth, say("changes"))
				: h("p", { class: "none" }, say("noDifference")),
		Object.keys(rest).length > 0 && view.object(rest, schema, depth)
	);
}
