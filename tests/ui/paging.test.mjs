// Tests of pagination, by the parameters of the tool.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modules } from "./modules.mjs";

const { pagesOf } = await modules("paging");
const schema = (properties) => ({ type: "object", properties });
const rows = (count) => Array.from({ length: count }, (_, id) => ({ id }));

test("by a cursor, anywhere in the answer", () => {
	const input = schema({ cursor: { type: "string" }, q: {} });
	assert.deepEqual(pagesOf(input, { q: "x" }, { items: rows(2), nextCursor: "abc" }).next, { q: "x", cursor: "abc" });
	assert.deepEqual(pagesOf(input, {}, { items: rows(2), meta: { next_cursor: "abc" } }).next, { cursor: "abc" });
	for (const nextCursor of [null, "", undefined]) {
		assert.equal(pagesOf(input, {}, { items: rows(2), nextCursor }).next, undefined);
	}
	assert.equal(pagesOf(input, { cursor: "abc" }, { items: [], nextCursor: "abc" }).next, undefined, "the same again");
});

test("by a page", () => {
	const input = schema({ page: { type: "integer", default: 1 }, per_page: { type: "integer", default: 5 } });
	assert.deepEqual(pagesOf(input, {}, { items: rows(5), total_count: 12 }), { next: { page: 2 }, previous: undefined });
	assert.deepEqual(pagesOf(input, { page: 3 }, { items: rows(2), total_count: 12 }), { next: undefined, previous: { page: 2 } });
	assert.deepEqual(pagesOf(input, { page: 2 }, { items: rows(5) }).next, { page: 3 }, "a full page");
	assert.equal(pagesOf(input, { page: 2 }, { items: rows(4) }).next, undefined, "a page that is not full is the last");
	assert.equal(pagesOf(input, {}, { items: rows(5), has_more: false, total_count: 12 }).next, undefined);
});

test("by an offset", () => {
	const input = schema({ offset: { type: "integer" }, maxResults: { type: "integer" } });
	assert.deepEqual(pagesOf(input, { maxResults: 10 }, { assets: rows(10), totalCount: 25 }), { next: { maxResults: 10, offset: 10 }, previous: undefined });
	assert.deepEqual(pagesOf(input, { maxResults: 10, offset: 20 }, { assets: rows(5), totalCount: 25 }), { next: undefined, previous: { maxResults: 10, offset: 10 } });
});

test("not for tools without pagination, nor without rows", () => {
	assert.deepEqual(pagesOf(schema({ city: {} }), {}, { items: rows(5), nextCursor: "abc" }), {});
	assert.deepEqual(pagesOf(schema({ page: {} }), {}, { total: 5 }), {});
	assert.deepEqual(pagesOf(schema({ page: {} }), { page: "x" }, { items: rows(5) }), {});
	for (const answer of [null, undefined, "text", 5]) {
		assert.deepEqual(pagesOf(schema({ page: {} }), {}, answer), {});
	}
});
