// Shows Markdown. It makes each element itself, ignores HTML in the text, and fetches nothing.

import { h, nodes } from "./dom.js";
import { say } from "./say.js";

const INLINE =
	/(\\[\\`*_{}[\]()#+.!|>~-])|(`+)([\s\S]*?[^`])\2(?!`)|(!?)\[((?:[^\]\\[]|\\.)*)\]\(\s*<?([^\s)<>]*)>?(?:\s+"[^"]*")?\s*\)|<?((?:https?:\/\/|mailto:)[^\s<>)\]]*[^\s<>)\].,;:!?'"])>?|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__(?!\w)|\*(?=\S)([^*]*?[^\s*])\*(?!\w)|(?<!\w)_(?=\S)([^_]*?[^\s_])_(?!\w)|~~(?=\S)([\s\S]*?\S)~~|<br\s*\/?>/;

/** Text with emphasis, code and links. */
export function inline(text, open) {
	const made = [];
	let rest = text;
	for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
		const [whole, escaped, , code, picture, label, to, bare, ...marked] = found;
		made.push(rest.slice(0, found.index));
		rest = rest.slice(found.index + whole.length);
		const address = to ?? bare;
		if (escaped) {
			made.push(escaped.slice(1));
		} else if (code !== undefined) {
			made.push(h("code", {}, code.trim()));
		} else if (address !== undefined) {
			const said = label === undefined ? bare.replace(/^mailto:/, "") : picture ? label || say("picture") : inline(label, open);
			// A URL that cannot be opened is shown as text.
			/^(https?:\/\/|mailto:)/i.test(address)
				? made.push(h("button", { type: "button", class: "link", title: address, onclick: () => open(address) }, said))
				: made.push(said, picture || address.length > 200 ? "" : ` (${address})`);
		} else {
			const place = marked.findIndex((one) => one !== undefined);
			made.push(h(["strong", "strong", "em", "em", "s"][place] ?? "br", {}, place < 0 ? [] : inline(marked[place], open)));
		}
	}
	return [...made, rest].flat().filter((one) => one !== "");
}

const ITEM = /^(\s*)([-*+•]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const FENCE = /^\s*(`{3,}|~{3,})\s*([\w+#.-]*)/;
const BREAK = /^\s*$|^#{1,6}\s|^\s*(`{3,}|~{3,})|^\s*>/;
const DASHES = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

const cells = (line) =>
	line
		.trim()
		.replace(/^\||\|$/g, "")
		.split(/(?<!\\)\|/)
		.map((one) => one.trim().replaceAll("\\|", "|"));

/** Whether a line within an item of a list goes on with the sentence of the line before. Other lines are lines of their own. */
const isWrapped = (before, line) => before.length > 50 && /^\s*(?!\S+:\/\/)[\p{Ll}\p{N}(*_`]/u.test(line) && !/[.!?:]\s*$|^\s*\S+:\/\/\S+$/.test(before);

/** Whether a text has parts that only Markdown has. */
export function isMarkdown(text) {
	const lines = text.split("\n").filter((line) => line.trim());
	return (
		/^\s*(`{3,}|~{3,})[\w-]*\s*$/m.test(text) ||
		/^#{1,6} \S.*\n\s*\n/m.test(text) ||
		/\[[^\]\n]+\]\((https?|mailto):[^)\s]+\)/.test(text) ||
		/\*\*\S[^*\n]*\*\*/.test(text) ||
		text.split("\n").some((line, index, all) => line.includes("|") && DASHES.test(all[index + 1] ?? "") && all[index + 1].includes("-|")) ||
		(/^#{1,6} \S/.test(lines[0] ?? "") && lines.filter((line) => /^#{1,6} \S|^\s*[-*] \S/.test(line)).length > 1) ||
		(lines.length > 1 && lines.filter((line) => /^\s*([-*•]|\d+[.)]) \S/.test(line)).length * 2 > lines.length - /:$/.test(lines[0]))
	);
}

/**
 * Markdown as elements.
 *
 * @param make `open(address)`, `table(head, rows)` of texts, and `code(text, language)`
 * @param level of the first heading
 */
export function markdown(text, make, level = 2) {
	const lines = text.split("\n");
	let at = 0;
	let [outer, last] = [0, level - 1];
	const say = (said) => inline(said, make.open);

	function heading(found) {
		outer ||= found[1].length;
		// Levels of headings are not skipped.
		last = Math.min(6, last + 1, Math.max(level, level + found[1].length - outer));
		return h(`h${last}`, {}, say(found[2].replace(/\s+#+\s*$/, "")));
	}

	function list(indent) {
		const ordered = /\d/.test(ITEM.exec(lines[at])[2]);
		const items = [];
		const start = parseInt(ITEM.exec(lines[at])[2], 10);
		while (at < lines.length) {
			const found = ITEM.exec(lines[at]);
			if (!found) {
				const blank = !lines[at].trim();
				const next = lines[at + Number(blank)] ?? "";
				// Indented lines continue the item before.
				if (!items.length || !/^\s{2,}\S/.test(next) || next.search(/\S/) <= indent) {
					if (blank && ITEM.exec(next)?.[1].length >= indent && /\d/.test(ITEM.exec(next)[2]) === ordered) {
						at++;
						continue;
					}
					break;
				}
				at += Number(blank);
				ITEM.test(lines[at]) || items.at(-1).append(...nodes(FENCE.test(lines[at]) ? [fence()] : [blank || !isWrapped(lines[at - 1], lines[at]) ? h("br") : " ", say(lines[at++].trim())]));
			} else if (found[1].length > indent + 1 && items.length) {
				items.at(-1).append(list(found[1].length));
			} else if (found[1].length < indent || /\d/.test(found[2]) !== ordered) {
				break;
			} else {
				const [, done, said] = /^(?:\[([ xX])\]\s)?([\s\S]*)$/.exec(found[3]);
				items.push(
					h("li", { class: done && "done" }, done && h("span", { role: "img", "aria-label": say(done === " " ? "taskOpen" : "taskDone") }, done === " " ? "☐ " : "☑ "), say(said))
				);
				at++;
			}
		}
		return h(ordered ? "ol" : "ul", { start: ordered && start > 1 && start }, items);
	}

	function fence() {
		const [, mark, language] = FENCE.exec(lines[at]);
		const from = ++at;
		while (at < lines.length && !lines[at].trim().startsWith(mark)) {
			at++;
		}
		return make.code(lines.slice(from, at++).join("\n"), language);
	}

	const blocks = [];
	while (at < lines.length) {
		const line = lines[at];
		const found = /^ {0,3}(#{1,6})\s+(.*)$/.exec(line);
		if (!line.trim()) {
			at++;
		} else if (found) {
			at++;
			blocks.push(heading(found));
		} else if (FENCE.test(line)) {
			blocks.push(fence());
		} else if (RULE.test(line)) {
			at++;
			blocks.push(h("hr"));
		} else if (/^\s*>/.test(line)) {
			const said = [];
			while (/^\s*>/.test(lines[at] ?? "")) {
				said.push(lines[at++].replace(/^\s*> ?/, ""));
			}
			blocks.push(h("blockquote", {}, markdown(said.join("\n"), make, Math.min(6, last + 1))));
		} else if (line.includes("|") && DASHES.test(lines[at + 1] ?? "") && cells(line).length === cells(lines[at + 1]).length) {
			const head = cells(line);
			const rows = [];
			for (at += 2; (lines[at] ?? "").includes("|"); at++) {
				rows.push(cells(lines[at]));
			}
			// The header gets as many cells as the longest row.
			head.push(...Array(Math.max(0, ...rows.map((row) => row.length - head.length))).fill(""));
			blocks.push(make.table(head, rows));
		} else if (ITEM.test(line)) {
			blocks.push(list(ITEM.exec(line)[1].length));
		} else {
			const from = at;
			do {
				at++;
			} while (at < lines.length && !BREAK.test(lines[at]) && !ITEM.test(lines[at]) && !RULE.test(lines[at]));
			// Line breaks are kept, since models and tools write them on purpose.
			blocks.push(h("p", {}, lines.slice(from, at).flatMap((one, index) => [index ? h("br") : "", ...say(one.trim())])));
		}
	}
	return h("div", { class: "md", dir: "auto" }, blocks);
}
