// Finds the next and previous page of a tool's answer: by a cursor, a page number or an offset in the tool's input.

import { has, isObject } from "./dom.js";
import { isScalar, plain } from "./order.js";

const CURSORS = /^(cursor|page_token|next_token|next_cursor|continuation_token|next_page_token|after|marker)$/;
const NEXT = /^(next_)?(cursor|page_token|token|continuation_token|marker)$|^next(_page|_offset)?$|^end_cursor$/;
const PAGES = /^(page|page_number|page_no)$/;
const OFFSETS = /^(offset|skip|start_index|from_index)$/;
const LIMITS = /^(limit|per_page|page_size|max_results|count|top|size|max_items)$/;
const TOTALS = /^(total|total_count|total_results|total_items|total_matches|count_total|number_matched)$/;
const MORE = /^(has_more|has_next|has_next_page|more|is_truncated|truncated)$/;

/**
 * The input of the next and of the previous page.
 *
 * @param schema of the tool's input; @param input of the call; @param answer its data
 * @returns `{ next, previous }`, each an input or `undefined`
 */
export function pagesOf(schema, input = {}, answer) {
	if (!isObject(answer) || !isObject(schema?.properties)) {
		return {};
	}
	const asked = Object.keys(schema.properties);
	const find = (form) => asked.find((key) => form.test(plain(key)));
	// Members about the pagination are at the top of the answer, or one level deeper.
	const said = [answer, ...Object.values(answer).filter(isObject)].flatMap(Object.entries).filter(([, value]) => isScalar(value));
	const told = (form) => said.find(([key, value]) => form.test(plain(key)) && value !== null && value !== "")?.[1];
	const cursor = find(CURSORS);
	const token = told(NEXT);
	if (cursor && (typeof token === "string" || typeof token === "number") && token !== input[cursor]) {
		return { next: { ...input, [cursor]: token } };
	}
	const rows = Math.max(0, ...[answer, ...Object.values(answer)].map((one) => (Array.isArray(one) ? one.length : isObject(one) ? Math.max(0, ...Object.values(one).map((inner) => (Array.isArray(inner) ? inner.length : 0))) : 0)));
	const limit = find(LIMITS);
	const standard = (key) => (has(schema.properties[key], "default") ? schema.properties[key].default : undefined);
	const size = Number(input[limit] ?? told(LIMITS) ?? standard(limit)) || rows;
	const [page, offset] = [find(PAGES), find(OFFSETS)];
	const key = page ?? offset;
	const now = Number(input[key] ?? standard(key) ?? (page ? 1 : 0));
	if (!key || Number.isNaN(now) || !rows) {
		return {};
	}
	const first = page ? (standard(page) ?? schema.properties[page].minimum ?? 1) : 0;
	const after = page ? (now - first + 1) * size : now + rows;
	const [total, more] = [told(TOTALS), told(MORE)];
	const goesOn = typeof more === "boolean" ? more : typeof total === "number" ? total > after : limit !== undefined && rows >= size;
	return {
		next: goesOn ? { ...input, [key]: page ? now + 1 : after } : undefined,
		previous: now > first ? { ...input, [key]: page ? now - 1 : Math.max(0, now - size) } : undefined
	};
}
