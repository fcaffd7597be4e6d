// Tests which parts of an answer come first and which become one line, and which data are tables, trees and charts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modules } from "./modules.mjs";

const { chartOf, isTree, reader, resultOf, user, Viewer } = await modules("more", "data", "schema", "result", "tree", "chart", "dom");
user.locale = "en-GB";
user.timeZone = "UTC";
const view = new Viewer(reader({}).look, () => {}, { canSave: () => false, canAsk: () => false });
const shown = (data) => view.show(data);
const classes = (element, name) => [element.attributes.class === name ? [element] : [], ...element.children.filter((one) => one.children).map((one) => classes(one, name))].flat();
/** Asserts that the texts are shown in this order. */
const inOrder = (data, ...texts) => {
	const said = shown(data).textContent;
	const places = texts.map((text) => said.indexOf(text));
	assert.ok(places.every((place) => place >= 0), `${texts}: ${said}`);
	assert.deepEqual(places, [...places].sort((a, b) => a - b), said);
};

test("rows come first, bookkeeping is one line below them", () => {
	const data = { count: 1, totalCount: 28, offset: 0, hasMore: true, source: "disk", asOf: "2026-03-01T10:00:00Z", warnings: [], items: [{ name: "first row" }] };
	inOrder(data, "first row", "Total count 28");
	const [line] = classes(shown(data), "book");
	assert.match(line.textContent, /^Total count 28Has more.*Source disk.*As of 1 Mar 2026, 10:00 UTC$/);
	assert.equal(shown(data).all("dl").length, 0);
	assert.equal(["h2", "h3"].flatMap((tag) => shown(data).all(tag)).length, 0, "the only part needs no heading");
});

test("bookkeeping is one line, also if nothing was found", () => {
	const data = { count: 0, offset: 0, total: 12, items: [] };
	inOrder(data, "Items", "none", "Total 12");
});

test("members that say nothing are only in the JSON", () => {
	const rows = { success: true, count: 2, offset: 0, hasMore: false, truncated: false, warnings: [], nextCursor: null, items: [{ name: "a" }, { name: "b" }] };
	assert.equal(classes(shown(rows), "book").length, 0);
	const [line] = classes(shown({ ...rows, count: 7, hasMore: true, warnings: "late" }), "book");
	assert.equal(line.textContent, "Count 7Has more ✓ Yes");
	assert.match(shown({ success: true }).textContent, /Success/, "it is all that was answered");
});

test("empty parts become one line, unless there is little else", () => {
	const [line] = classes(shown({ state: "on", choices: [], user: "", rows: [{ a: 1 }] }), "book");
	assert.equal(line.textContent, "Choices: noneUser —");
	assert.equal(classes(shown({ broken: [], unchecked: 10 }), "book").length, 0);
});

test("a single sentence has no label, and a warning comes first", () => {
	assert.match(shown({ success: true, message: "All of it was deleted" }).textContent, /^All of it was deleted/);
	const data = { id: 4, kind: "x", warning: "Do not trust this." };
	inOrder(data, "Do not trust this.", "x");
	assert.equal(classes(shown(data), "notice").length, 1);
	assert.doesNotMatch(resultOf({ structuredContent: { success: true, message: "Gone" }, content: [{ type: "text", text: "Gone" }] }, view).textContent, /Gone.*Gone.*Raw/, "said once");
});

test("a text that says what the data say is folded away", () => {
	const data = { isSame: false, changes: [{ part: "engine", before: "5.0.2", after: "5.5.4" }, { part: "light", before: "none", after: "48 bytes" }] };
	const folded = (text, more) => resultOf({ structuredContent: data, content: [{ type: "text", text }], ...more }, view).all("details").find((one) => one.textContent.startsWith("As text"));
	const text = "From the disk:\n\n- changes, engine: before 5.0.2, after 5.5.4\n- changes, light: before none, after 48 bytes";
	assert.match(folded(text).textContent, /As textFrom the disk.*48 bytes/s);
	assert.equal(folded("The engine saved it anew, so that the light in the second room has to be built again."), undefined, "it says something else");
	assert.equal(folded("engine 5.5.4"), undefined, "a few words are a heading");
	assert.equal(folded(text, { isError: true }), undefined, "of an error, all is shown");
});

test("an object called result comes before the rows about it", () => {
	inOrder({ calls: [{ tool: "one", ms: 1 }, { tool: "two", ms: 2 }], result: { assets: 31, unused: ["found"] } }, "found", "one");
});

test("whether something is valid comes before the reasons", () => {
	inOrder({ errors: [{ path: "/a", message: "reason one" }, { path: "/b", message: "reason two" }], isValid: false, summary: ["long enough for a line of its own, as one of two", "and the second of the two lines of the summary"] }, "Valid", "reason one");
	inOrder({ rows: [{ a: "first", b: 1 }, { a: "second", b: 2 }], isOpen: false }, "first", "Open");
});

test("a failure comes before the log, and so does what the compiler found", () => {
	const data = { success: false, status: "Failure", error: "it ended early", compilerErrors: ["Door.cpp(3): undeclared", "Door.cpp(9): a second one, to make it a list"], log: "Building all of it\n\nand so on" };
	inOrder(data, "it ended early", "undeclared", "Building all", "Failure");
});

test("JSON in a member is data", () => {
	const element = shown({ answer: '{"location":{"x":1,"yaw":2}}', risk: "read", plain: "{not so" });
	assert.deepEqual(element.all("dt").map((one) => one.textContent).sort(), ["Plain", "Risk", "X", "Yaw"]);
	assert.doesNotMatch(element.textContent, /"location"/);
});

test("findings by file are one table", () => {
	const rows = (data) => shown(data).all("tr").length - 1;
	const heads = (data) => shown(data).all("th").map((one) => one.textContent);
	const files = [{ file: "a.js", messages: [{ line: 1, rule: "x" }] }, { file: "b.js", messages: [{ line: 2, rule: "y" }, { line: 3, rule: "z" }] }, { file: "c.js", messages: [] }];
	assert.deepEqual(heads(files), ["File", "Line", "Rule"]);
	assert.equal(rows(files), 4, "a file without findings keeps its row");
	assert.match(shown(files).textContent, /a\.js.*x.*b\.js.*y.*b\.js.*z.*c\.js/s);
	files[0].messages[0].message = files[1].messages[0].message = files[1].messages[1].message = "Use of something deprecated";
	assert.deepEqual(heads(files), ["File", "Message", "Line", "Rule"], "what a person reads comes first");
	assert.deepEqual(heads([1, 2].map((n) => ({ a: n, b: n, c: n, d: n, hits: [{ e: n }] }))), ["A", "B", "C", "D", "Hits"], "too much would be repeated");
	assert.deepEqual(heads([{ name: "x", uses: [{ name: "y" }] }, { name: "z", uses: [{ name: "w" }] }]), ["Name", "Uses"]);
});

test("a list that is a column of the rows beside it is not shown again", () => {
	const details = [{ package: "/Game/A", strength: "hard" }, { package: "/Game/B", strength: "soft" }];
	for (const one of details.map((row) => row.package)) {
		assert.equal(shown({ references: ["/Game/A", "/Game/B"], details }).textContent.split(one).length, 2, one);
	}
	assert.match(shown({ references: ["/Game/A", "/Game/C"], details }).textContent, /\/Game\/C/, "it says more");
});

test("a map of records whose names are its keys has no column of keys", () => {
	const heads = (data) => shown(data).all("th").map((one) => one.textContent).filter(Boolean);
	assert.deepEqual(heads({ getSource: { name: "getSource", type: "x" }, getId: { name: "getId", type: "y" } }), ["Name", "Type"]);
	assert.deepEqual(heads({ a: { name: "getSource", type: "x" }, b: { name: "getId", type: "y" } }), ["Key", "Name", "Type"]);
});

const answered = (data, input) => resultOf({ structuredContent: data, content: [] }, view, undefined, input);

test("what repeats the input is bookkeeping", () => {
	const input = { value: 10, from: "km", to: "mi", asset_path: "/Game/A", search_term: "x", depth: 2 };
	const [line] = classes(answered({ value: 10, from: "km", to: "mi", result: 6.214, category: "length" }, input), "book");
	assert.equal(line.textContent, "Value 10From kmTo mi");
	// Names are compared as words. The members of an object that mostly repeats the input are taken together.
	const other = answered({ assetPath: "/Game/A", criteria: { searchTerm: "x", depth: 2, recursive: true }, dependencies: [], details: [] }, input);
	assert.equal(classes(other, "book")[0].textContent, "Asset path /Game/ASearch term xDepth 2Recursive ✓ Yes");
	assert.equal(other.all("dl")[0].textContent, "DependenciesnoneDetailsnone");
	const columns = { table: "planets", database: "memory", schema: "main", kind: "view", columns: [{ name: "a" }, { name: "b" }] };
	const said = answered(columns, { table: "planets" }).textContent;
	assert.ok(said.indexOf("2 rows") < said.indexOf("memory"), `three facts describe the rows: ${said}`);
});

test("what repeats the input stays where it is the whole answer, the heading, or of another value", () => {
	assert.equal(classes(answered({ from: "km" }, { from: "km" }), "book").length, 0);
	assert.equal(answered({ name: "Ada", born: 1815 }, { name: "Ada" }).all("h2")[0].textContent, "Ada");
	assert.equal(classes(answered({ from: "m", result: 1 }, { from: "km" }), "book").length, 0);
	assert.equal(classes(answered({ file: { path: "/a", size: 1 }, x: 1 }, { path: "/a" }), "book").length, 0, "within another part");
});

test("zeros among counts are one line, and numbers of the rows that are shown are said once", () => {
	const counts = { nodes: 0, calls: 0, variables: 1, events: 0, literals: 0 };
	const element = shown({ hits: [{ name: "a" }], kinds: counts });
	assert.equal(element.all("dl")[0].textContent, "Variables1");
	assert.match(classes(element, "book")[0].textContent, /^Nodes 0.*Literals 0$/);
	assert.equal(shown({ a: 0, b: 0, c: 0, d: 0 }).all("dl").length, 1, "they are all that was answered");
	assert.equal(classes(shown({ warnings: ["late"], count: 2, total: 2, rows: [{ a: 1 }, { a: 2 }] }), "book").length, 0);
});

test("units can be in a member beside the numbers", () => {
	const data = {
		hourly: { time: ["2026-03-01T00:00", "2026-03-01T01:00", "2026-03-01T02:00"], temperature_2m: [10, 11.5, 12], wait: [1, 2, 3] },
		hourly_units: { time: "iso8601", temperature_2m: "°C", wait: "ms" },
		current: { temperature_2m: 9.5 },
		currentUnits: { temperature_2m: "°C" },
		days: [{ rain: 4 }, { rain: 5 }],
		days_units: { rain: "mm" }
	};
	const element = shown(data);
	const heads = element.all("th").map((one) => one.textContent);
	for (const head of ["Temperature 2m (°C)", "Rain (mm)", "Wait"]) {
		assert.ok(heads.some((one) => one.startsWith(head)), `${head}: ${heads}`);
	}
	assert.match(element.textContent, /9\.5 °C/);
	assert.match(element.textContent, /2 ms/);
	assert.doesNotMatch(element.textContent, /units|iso8601/i);
	assert.match(shown({ high: 4, units: { high: "km" } }).textContent, /4 km/);
	assert.match(shown({ price: 4, units: "metric" }).textContent, /Units.*metric/, "what is no map of units stays");
	assert.match(shown({ units: { a: "x" } }).textContent, /Units|x/, "and so do units of nothing");
});

test("names of columns can be in a member beside the rows", () => {
	const answer = { columns: ["name", "diameter_km"], rows: [["Earth", 12756], ["Mars", 6792]], row_count: 2 };
	const element = shown(answer);
	assert.deepEqual(element.all("th").map((one) => one.textContent), ["Name", "Diameter (km)"]);
	assert.doesNotMatch(element.textContent, /Columns|Row count/);
	assert.deepEqual(shown({ columns: ["count"], rows: [[3]] }).all("th").map((one) => one.textContent), ["Count"]);
	assert.match(shown({ columns: ["a"], rows: [[1, 2], [3, 4]] }).textContent, /Columns/, "other names stay");
});

test("the text of a chart has the size of other text, and bars have names", () => {
	const before = globalThis.innerWidth;
	try {
		for (const [width, box] of [[320, 288], [480, 448], [800, 768]]) {
			globalThis.innerWidth = width;
			const element = shown(["Lisbon", "Porto", "Faro", "Braga"].map((city, i) => ({ city, population: i * 100_000 + 1 })));
			const [svg] = element.all("svg");
			assert.equal(svg.attributes.viewBox.split(" ")[2], String(box));
			const texts = svg.all("text").map((one) => one.textContent);
			assert.ok(["Lisbon", "Porto", "Faro", "Braga"].every((name) => texts.includes(name)), `${width}: ${texts}`);
		}
	} finally {
		globalThis.innerWidth = before;
	}
});

test("findings come before bookkeeping, failures before everything", () => {
	inOrder({ file: "a.json", checked: 12, errors: [{ message: "broken" }], rules: [{ name: "rule" }] }, "broken", "rule", "a.json");
	inOrder({ success: false, error: "no disk", id: 7, path: "/a/b.c" }, "no disk");
	assert.equal(classes(shown({ success: false, error: "no disk" }), "book").length, 0, "a failure is no formality");
	assert.equal(classes(shown({ success: true, name: "x", size: 1 }), "book").length, 0, "a success is");
});

test("findings of a linter come before the source, and the number of rows is left out", () => {
	inOrder({ filePath: "/srv/a.js", messages: [{ ruleId: "no-var" }, { ruleId: "no-undef" }], errorCount: 2, source: "var x;\nlet y;\n" }, "no-var", "var x;");
	const databases = shown({ databases: [{ name: "memory" }, { name: "disk" }], databaseCount: 2 });
	assert.doesNotMatch(databases.textContent, /Database count/);
	assert.match(shown({ databases: [{ name: "memory" }, { name: "disk" }], databaseCount: 7 }).textContent, /Database count/);
});

test("a single record that does not fit into a row is shown as names and values", () => {
	const nested = shown([{ grapheme: "é", codePoints: [{ char: "é", hex: "U+00E9" }] }]);
	assert.doesNotMatch(nested.textContent, /1 item/);
	assert.match(nested.textContent, /U\+00E9/);
	const wide = shown([{ a: 1, b: 2, c: 3, d: 4, e: 5 }]);
	assert.equal(wide.all("table").length, 0);
	assert.equal(wide.all("dd").length, 5);
	assert.equal(shown([{ from: "Ada", to: "Engine" }]).all("table").length, 1, "a short row is a row");
	assert.equal(shown([{ a: [1] }, { a: [2] }]).all("table").length, 1);
});

test("a document comes before its facts, many facts come before rows", () => {
	inOrder({ updated: "2026-03-01", author: "Ada", content: "# Title\n\nSome text" }, "Some text", "Ada");
	inOrder({ login: "ada", mail: "a@example.com", city: "Faro", team: "Core", posts: [{ text: "a post" }] }, "ada", "a post");
});

test("the name of the thing is the only heading", () => {
	const data = { city: "Lisbon", days: [{ day: "Monday" }] };
	assert.deepEqual(["h2", "h3"].flatMap((tag) => shown(data).all(tag)).map((one) => one.textContent), ["Lisbon"]);
});

test("an object that is all there is has a heading, unless its own name is one", () => {
	const heads = (data) => ["h2", "h3", "h4"].flatMap((tag) => shown(data).all(tag)).map((one) => `${one.tag} ${one.textContent}`);
	assert.deepEqual(heads({ location: { x: 1, y: 2 } }), ["h2 Location"]);
	assert.deepEqual(heads({ answer: '{"location":{"x":1,"y":2}}', risk: "read" }), ["h2 Location"]);
	assert.deepEqual(heads({ result: { x: 1, y: 2 } }), [], "a general name says nothing");
	assert.deepEqual(heads({ company: { name: "Example", teams: [{ a: 1 }, { a: 2 }] } }), ["h2 Example"]);
	assert.deepEqual(heads({ tables: [{ a: 1 }, { a: 2 }] }), [], "rows are what the tool is called for");
	assert.deepEqual(heads({ id: 1, file: { place: { x: 1 } } }), ["h2 File"]);
});

test("nothing is left out", () => {
	const data = { a: 1, b: [{ c: "cell" }], d: { e: "inner" }, f: "text", total: 3, g: ["x", "y"], h: null, i: {}, j: "long ".repeat(120) };
	const said = shown(data).textContent;
	for (const text of ["A1", "cell", "inner", "text", "Total 3", "x", "y", "H —", "I: none", "long long"]) {
		assert.ok(said.includes(text), `${text}: ${said}`);
	}
});

test("maps of similar objects are one table, other maps are not", () => {
	const table = shown({ lodash: { version: "4.17.21", size: 1 }, zod: { version: "4.0.5", size: 2 } });
	assert.deepEqual(table.all("th").map((one) => one.textContent), ["Name", "Version", "Size"]);
	assert.equal(shown({ request: { url: "a" }, response: { code: 1 } }).all("table").length, 0);
});

test("nested data is a tree", () => {
	const nodes = [{ name: "docs", type: "directory", children: [{ name: "a.md", type: "file" }] }, { name: "b.md", type: "file" }];
	assert.ok(isTree(nodes));
	assert.deepEqual(shown(nodes).all("summary").map((one) => one.textContent), ["docsdirectory"]);
	assert.ok(!isTree([{ name: "a", items: [1, 2] }]));
	assert.ok(!isTree([{ items: [{ name: "a" }] }]));
});

const chart = (records, more) => Boolean(chartOf(records, Object.keys(records[0]).map((key) => ({ key })), more));

test("charts show measured numbers, not numbers that identify something", () => {
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

test("the table is above its chart", () => {
	const element = shown([1, 2, 4].map((n, i) => ({ city: `c${i}`, population: n })));
	const order = [];
	const walk = (one) => (["table", "svg"].includes(one.tag) && order.push(one.tag), one.children.filter((inner) => inner.children).forEach(walk));
	walk(element);
	assert.deepEqual(order, ["table", "svg"]);
});

test("points are shown on a map", () => {
	const element = shown([{ place: "Lisbon", latitude: 38.7, longitude: -9.1 }, { place: "Porto", latitude: 41.2, longitude: -8.6 }]);
	assert.match(element.all("svg")[0].attributes["aria-label"], /between 38\.7° N and 41\.2° N, .* points: 2\./);
	const geo = { type: "FeatureCollection", features: [[-9.1, 38.7], [-8.6, 41.2]].map((coordinates, n) => ({ type: "Feature", properties: { n }, geometry: { type: "Point", coordinates } })) };
	assert.equal(shown(geo).all("circle").length, 2);
});

test("the degrees beside a map fit", () => {
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

test("content for the assistant only is not shown", () => {
	const text = (said, audience) => ({ type: "text", text: said, annotations: audience && { audience } });
	const said = (...content) => resultOf({ content }, view).textContent;
	assert.match(said(text("hidden", ["assistant"]), text("seen", ["user"])), /^seen/);
	assert.match(said(text("both", ["user", "assistant"])), /both/);
	assert.match(said(text("hidden", ["assistant"])), /is for the assistant/);
	assert.doesNotMatch(said(text("hidden", ["assistant"])), /hidden/);
});
