// What of an answer stands first, and what folds into one line; which data are tables, trees and charts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modules } from "./modules.mjs";

const { chartOf, isTree, reader, resultOf, user, Viewer } = await modules("more", "data", "schema", "result", "tree", "chart", "dom");
user.locale = "en-GB";
user.timeZone = "UTC";
const view = new Viewer(reader({}).look, () => {}, { canSave: () => false, canAsk: () => false });
const shown = (data) => view.show(data);
const classes = (element, name) => [element.attributes.class === name ? [element] : [], ...element.children.filter((one) => one.children).map((one) => classes(one, name))].flat();
/** The places of texts in what is shown, which have to be in this order. */
const inOrder = (data, ...texts) => {
	const said = shown(data).textContent;
	const places = texts.map((text) => said.indexOf(text));
	assert.ok(places.every((place) => place >= 0), `${texts}: ${said}`);
	assert.deepEqual(places, [...places].sort((a, b) => a - b), said);
};

test("rows first, bookkeeping in one line beneath", () => {
	const data = { count: 1, totalCount: 28, offset: 0, hasMore: true, source: "disk", asOf: "2026-03-01T10:00:00Z", warnings: [], items: [{ name: "first row" }] };
	inOrder(data, "first row", "Total count 28");
	const [line] = classes(shown(data), "book");
	assert.match(line.textContent, /Total count 28.*Source disk.*As of 1 Mar 2026.*Warnings: none/);
	assert.equal(shown(data).all("dl").length, 0);
	assert.equal(["h2", "h3"].flatMap((tag) => shown(data).all(tag)).length, 0, "the only part needs no heading");
});

test("the same where nothing was found", () => {
	const data = { count: 0, offset: 0, items: [] };
	inOrder(data, "Items", "none", "Count 0");
});

test("findings before formalities, failures before all", () => {
	inOrder({ file: "a.json", checked: 12, errors: [{ message: "broken" }], rules: [{ name: "rule" }] }, "broken", "rule", "a.json");
	inOrder({ success: false, error: "no disk", id: 7, path: "/a/b.c" }, "no disk");
	assert.equal(classes(shown({ success: false, error: "no disk" }), "book").length, 0, "a failure is no formality");
	assert.equal(classes(shown({ success: true, name: "x", size: 1 }), "book").length, 1);
});

test("a document before its facts, facts of a thing before its rows", () => {
	inOrder({ updated: "2026-03-01", author: "Ada", content: "# Title\n\nSome text" }, "Some text", "Ada");
	inOrder({ login: "ada", mail: "a@example.com", city: "Faro", team: "Core", posts: [{ text: "a post" }] }, "ada", "a post");
});

test("one heading: what names the thing", () => {
	const data = { city: "Lisbon", days: [{ day: "Monday" }] };
	assert.deepEqual(["h2", "h3"].flatMap((tag) => shown(data).all(tag)).map((one) => one.textContent), ["Lisbon"]);
});

test("nothing is left out", () => {
	const data = { a: 1, b: [{ c: "cell" }], d: { e: "inner" }, f: "text", total: 3, g: ["x", "y"], h: null, i: {}, j: "long ".repeat(120) };
	const said = shown(data).textContent;
	for (const text of ["A1", "cell", "inner", "text", "Total 3", "x", "y", "H—", "I", "long long"]) {
		assert.ok(said.includes(text), `${text}: ${said}`);
	}
});

test("maps of like objects are one table, others are not", () => {
	const table = shown({ lodash: { version: "4.17.21", size: 1 }, zod: { version: "4.0.5", size: 2 } });
	assert.deepEqual(table.all("th").map((one) => one.textContent), ["Name", "Version", "Size"]);
	assert.equal(shown({ request: { url: "a" }, response: { code: 1 } }).all("table").length, 0);
});

test("what holds its like is a tree", () => {
	const nodes = [{ name: "docs", type: "directory", children: [{ name: "a.md", type: "file" }] }, { name: "b.md", type: "file" }];
	assert.ok(isTree(nodes));
	assert.deepEqual(shown(nodes).all("summary").map((one) => one.textContent), ["docsdirectory"]);
	assert.ok(!isTree([{ name: "a", items: [1, 2] }]));
	assert.ok(!isTree([{ items: [{ name: "a" }] }]));
});

const chart = (records, more) => Boolean(chartOf(records, Object.keys(records[0]).map((key) => ({ key })), more));

test("charts of what is measured, never of what is named", () => {
	const days = ["2026-03-01", "2026-03-02", "2026-03-03"];
	const names = ["a", "b", "c"];
	const rows = (key, values, first = "name", firsts = names) => values.map((value, index) => ({ [first]: firsts[index], [key]: value }));
	assert.ok(chart(rows("temperature", [1, 2, 4], "day", days)));
	assert.ok(chart(rows("population", [1, 2, 4])));
	assert.ok(chart([1, 2, 4].map((n, i) => ({ city: names[i], high_c: n, low_c: n - 1 }))), "two measures of one unit");
	for (const key of ["id", "user_id", "line", "number", "year", "version", "port", "latitude", "created_at"]) {
		assert.ok(!chart(rows(key, key === "created_at" ? [1772359200, 1772359201, 1772359205] : [1, 2, 4])), key);
	}
	assert.ok(!chart(rows("size", [5, 5, 5])), "nothing to compare");
	assert.ok(!chart(rows("size", [1, 2])), "two values need no chart");
	assert.ok(!chart([1, 2, 4].map((n, i) => ({ name: names[i], comments: n, stars: n * 2 }))), "none is the obvious one");
	assert.ok(!chart(rows("comments", [1, 2, 4], "created_at", days.map((day) => `${day}T10:00:00Z`)).map((row) => ({ title: "same", ...row }))), "when things happened is no course of time");
});

test("the table stands above its chart", () => {
	const element = shown([1, 2, 4].map((n, i) => ({ city: `c${i}`, population: n })));
	const order = [];
	const walk = (one) => (["table", "svg"].includes(one.tag) && order.push(one.tag), one.children.filter((inner) => inner.children).forEach(walk));
	walk(element);
	assert.deepEqual(order, ["table", "svg"]);
});

test("points are a map without coasts", () => {
	const element = shown([{ place: "Lisbon", latitude: 38.7, longitude: -9.1 }, { place: "Porto", latitude: 41.2, longitude: -8.6 }]);
	assert.match(element.all("svg")[0].attributes["aria-label"], /between 38\.7° N and 41\.2° N, .* points: 2\./);
	const geo = { type: "FeatureCollection", features: [[-9.1, 38.7], [-8.6, 41.2]].map((coordinates, n) => ({ type: "Feature", properties: { n }, geometry: { type: "Point", coordinates } })) };
	assert.equal(shown(geo).all("circle").length, 2);
});

test("the degrees beside a map have room", () => {
	const element = shown([{ place: "Rossio", latitude: 38.7143, longitude: -9.1403 }, { place: "Oriente", latitude: 38.7678, longitude: -9.0991 }, { place: "Belém", latitude: 38.6976, longitude: -9.2033 }]);
	const beside = element.all("text").filter(({ attributes, textContent }) => attributes["text-anchor"] === "end" && /° N$/.test(textContent));
	assert.ok(beside.some(({ textContent }) => textContent.length === 9), "some have three digits behind the point");
	// A character of 12 pixels is 7.5 wide at most, on the average of digits.
	beside.forEach(({ attributes, textContent }) => assert.ok(Number(attributes.x) >= textContent.length * 7.5, textContent));
});

test("points on both sides of the date line are near each other", () => {
	const element = shown([{ place: "Suva", latitude: -18.1, longitude: 178.4 }, { place: "Apia", latitude: -13.8, longitude: -171.8 }]);
	assert.match(element.all("svg")[0].attributes["aria-label"], /178\.4° E and 171\.8° W/);
	assert.deepEqual(element.all("circle").map((one) => one.all("title")[0].textContent), ["Suva · 18.1° S, 178.4° E", "Apia · 13.8° S, 171.8° W"]);
});

test("what is for the assistant is not shown", () => {
	const text = (said, audience) => ({ type: "text", text: said, annotations: audience && { audience } });
	const said = (...content) => resultOf({ content }, view).textContent;
	assert.match(said(text("hidden", ["assistant"]), text("seen", ["user"])), /^seen/);
	assert.match(said(text("both", ["user", "assistant"])), /both/);
	assert.match(said(text("hidden", ["assistant"])), /is for the assistant/);
	assert.doesNotMatch(said(text("hidden", ["assistant"])), /hidden/);
});
