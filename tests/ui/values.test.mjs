// Tests how values are recognised and shown, and that the exact value stays available.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modules } from "./modules.mjs";

const { reader, reading, showBytes, showDuration, showPeriod, user, Viewer } = await modules("more", "values", "data", "schema", "dom");
user.locale = "en-GB";
user.timeZone = "UTC";

const shown = (key, value, schema, beside) => reading(key, schema, [value], beside && [beside]).show(value, () => {});
const column = (key, values, records) => {
	const read = reading(key, undefined, values, records);
	return [read.label, ...values.map((value) => read.show(value, () => {}, true).textContent)];
};
const view = new Viewer(reader({}).look, () => {}, { canSave: () => false, canAsk: () => false });
const titleOf = (element) => element.attributes.title;

test("bytes and durations are scaled", () => {
	for (const [value, text] of [[0, "0 bytes"], [999, "999 bytes"], [12345, "12.3 kB"], [5e12, "5.0 TB"], [-2048, "-2.0 kB"]]) {
		assert.equal(showBytes(value), text);
	}
	for (const [seconds, text] of [
		[0, "0 s"], [0.0000004, "400 ns"], [0.04, "40 ms"], [3.25, "3.25 s"], [59.999, "60 s"], [90, "1 min 30 s"], [3599.9, "60 min"], [7500, "2 h 5 min"], [200000, "2 d 8 h"], [-90, "−1 min 30 s"]
	]) {
		assert.equal(showDuration(seconds), text);
	}
	user.locale = "ar-EG";
	assert.equal(showDuration(92), "١ min ٣٢ s", "all digits are the reader's");
	user.locale = "en-GB";
	assert.equal(showPeriod("P1DT2H30M"), "1 d 2 h 30 min");
	assert.equal(showPeriod("PT0.5S"), "0.5 s");
});

test("a number is read by its name, and its title is the number itself", () => {
	for (const [key, value, text] of [
		["size_bytes", 12345, "12.3 kB"],
		["duration_ms", 92345, "1 min 32 s"],
		["cpu_percent", 12.5, "12.5%"],
		["high_c", 18.5, "18.5 °C"],
		["price_eur", 1234.5, "€1,234.50"],
		["confidence", 0.97131, "97.1%"],
		["created_at", 1772359200, "1 Mar 2026, 10:00 UTC"],
		["mtime", 1772359200000, "1 Mar 2026, 10:00 UTC"],
		["latitude", 38.72231234, "38.72231°"],
		["year", 2026, "2026"],
		["id", 1234567, "1234567"],
		["count", 1234567, "1,234,567"],
		["share_price", 1.23456789, "1.235"]
	]) {
		const element = shown(key, value);
		assert.equal(element.textContent, text, key);
		assert.equal(titleOf(element), String(value), key);
	}
});

test("sizes of files are bytes, build numbers have no separators, and labels of booleans have no verb", () => {
	assert.equal(shown("size", 74000, {}, { size: 74000, isFile: true }).textContent, "74.0 kB");
	assert.equal(shown("size", 74000, {}, { size: 74000, name: "x" }).textContent, "74,000");
	assert.equal(shown("changelist", 251801).textContent, "251801");
	assert.deepEqual(["isPrivate", "is_dst", "hasMore", "isbn"].map((key) => reading(key, undefined, [true]).label), ["Private", "DST", "Has more", "ISBN"]);
	assert.equal(reading("island", undefined, [true]).label, "Island");
	assert.equal(reading("bytes", undefined, [23]).label, "Size");
});

test("a number is not a time, a percentage or money by its size alone", () => {
	for (const [key, value, text] of [
		["population", 1772359200, "1,772,359,200"],
		["updated_rows", 12, "12"],
		["probability", 12, "12"],
		["vitamin_c", 12, "12"],
		["latitude", 1200, "1200"]
	]) {
		assert.equal(shown(key, value).textContent, text, key);
	}
	// In many APIs, whole numbers beside a code in lower case are cents.
	assert.equal(shown("amount", 1999, {}, { amount: 1999, currency: "usd" }).textContent, "1999");
	assert.equal(shown("amount", 19.5, {}, { amount: 19.5, currency: "USD" }).textContent, "US$19.50");
});

test("a column has one unit and one number of digits", () => {
	assert.deepEqual(column("high_c", [18.5, 9, 20.25]), ["High (°C)", "18.50", "9.00", "20.25"]);
	assert.deepEqual(column("diameter_km", [4879, 142984]), ["Diameter (km)", "4,879", "142,984"]);
	assert.deepEqual(column("size_bytes", [10, 20000]), ["Size", "10 bytes", "20.0 kB"]);
	assert.deepEqual(column("score", [0.123456789, 0.5]), ["Score", "0.1235", "0.5000"]);
	assert.deepEqual(column("rain_mm", [0, 0.1 + 0.2, 3 * 0.6]), ["Rain (mm)", "0.0", "0.3", "1.8"]);
	assert.deepEqual(column("n", [1, null, 3]), ["N", "1", "—", "3"]);
});

test("amounts that were sent as texts are right-aligned, names that look like numbers are not", () => {
	const isRight = (...values) => Boolean(reading("x", undefined, values).right);
	for (const values of [["74 B", null, "137 B"], ["2.50", "1,000.00", "-0.38"], ["12%", "3.5 %"], ["4 ms", "1.2 s"]]) {
		assert.equal(isRight(...values), true, values.join());
	}
	for (const values of [["1.2.0", "1.3.0"], ["2024", "2025"], ["12 B", "none"], ["007", "1.5"], [null, null]]) {
		assert.equal(isRight(...values), false, values.join());
	}
});

test("sizes beside paths are bytes, and so are those that their description calls so", () => {
	assert.match(view.show([{ path: "/Game/A", class: "package", size: 7609 }, { path: "/Game/B", class: "package", size: 23_622 }]).textContent, /7\.6 kB.*23\.6 kB/s);
	assert.equal(shown("stored", 4096, { type: "integer", description: "Bytes after compression" }).textContent, "4.1 kB");
	assert.doesNotMatch(view.show([{ team: "A", size: 7609 }, { team: "B", size: 23_622 }]).textContent, /kB/);
});

test("a column that is a unit alone is called by what it measures", () => {
	const heads = (rows) => view.show(rows).all("th").map((one) => one.textContent);
	assert.deepEqual(heads([{ tool: "a", ms: 27 }, { tool: "b", ms: 36 }]), ["Tool", "Time"]);
	assert.match(view.show([{ tool: "a", ms: 27 }, { tool: "b", ms: 36 }]).textContent, /27 ms.*36 ms/s);
});

test("a message that begins with a path is no path", () => {
	const kind = (text) => shown("x", text).attributes.class;
	assert.equal(kind("D:\\Game\\Door.cpp"), "clip path mono");
	assert.equal(kind("D:\\Game\\Door.cpp(3): error C2065: undeclared"), undefined);
	assert.equal(kind("/srv/a.js: No such file"), undefined);
});

test("names that look like amounts are at the left", () => {
	const right = (data) => view.show(data).all("td").filter((one) => one.attributes.class === "right").length;
	assert.equal(right({ "1.148": { until: "Q3/2027" }, "1.71": { until: "Q4/2030" } }), 0);
	assert.equal(right([{ version: "1.148", until: "x" }, { version: "1.71", until: "y" }]), 0);
	assert.equal(right([{ price: "2.50", until: "x" }, { price: "3.75", until: "y" }]), 2, "amounts are at the right");
});

test("values that are missing do not make paths to text", () => {
	const column = [undefined, undefined, "Source/Playground/Door.h:6", "", null];
	const cell = reading("header", undefined, column, []).show(column[2]);
	assert.match(cell.attributes?.class ?? cell.className ?? "", /path/);
});

test("texts are recognised by their form", () => {
	for (const [value, tag, part] of [
		["2026-03-01T10:00:00Z", "time", "1 Mar 2026"],
		["2026-03-01 10:00:00+00:00", "time", "1 Mar 2026"],
		["Sun Mar 01 2026 10:00:00 GMT+0000 (Coordinated Universal Time)", "time", "1 Mar 2026"],
		["Sun, 01 Mar 2026 10:00:00 GMT", "time", "1 Mar 2026"],
		["https://example.com/a", "button", "https://example.com/a"],
		["ada@example.com", "button", "ada@example.com"],
		["PT1H30M", "span", "1 h 30 min"]
	]) {
		const element = shown("x", value);
		assert.equal(element.tag, tag, value);
		assert.ok(element.textContent.includes(part), element.textContent);
	}
	assert.equal(titleOf(shown("x", "Sun Mar 01 2026 10:00:00 GMT-0500")), "Sun Mar 01 2026 10:00:00 GMT-0500");
	assert.match(shown("x", "Sun Mar 01 2026 10:00:00 GMT-0500").textContent, /10:00 -05:00/);
	for (const [value, kind] of [
		["/srv/project/packages/source/InputField.tsx", "path"],
		["src/main.rs", "path"],
		["Source/MyGame/Door.h:6", "path"],
		["C:\\Users\\ada\\file.txt", "path"],
		["ui://portcullis/query_asset/2670c2a4096e18001b5fea6167e041d700c95ca3.html", "path"],
		["2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "hash"],
		["123e4567-e89b-12d3-a456-426614174000", "hash"],
		["v2.3.1-rc.1", "mono"]
	]) {
		const element = shown("x", value);
		assert.match(element.attributes.class, new RegExp(kind), value);
		assert.equal(element.textContent, value, "whole for who copies it or has it read aloud");
	}
	for (const value of ["and/or", "1/2", "He said: a/b testing is fine", "n/a", "either / or", "#hello", "3.5", "TCP/IP"]) {
		assert.doesNotMatch(shown("x", value).attributes.class ?? "", /path|hash|mono/, value);
	}
	assert.equal(shown("x", "#3366ff").children[0].style.background, "#3366ff");
	assert.equal(shown("x", "url(https://evil.example/)").children[0].style, undefined);
});

test("booleans are marks with words, states are tags, secrets stay secret", () => {
	assert.match(shown("ok", true).textContent, /✓.*Yes/);
	assert.match(shown("ok", false).textContent, /✕.*No/);
	assert.equal(shown("status", "failed").attributes.class, "tag bad");
	assert.equal(shown("name", "failed").attributes.class ?? "", "");
	assert.equal(shown("token", "hush", { writeOnly: true }), "••••••");
	assert.equal(shown("token", null).textContent, "—");
});

test("values that stand together are shown as paths if half of them are", () => {
	const kinds = (values) => {
		const read = reading("name", undefined, values);
		return values.map((value) => /path/.test(read.show(value, () => {}, true).attributes.class ?? ""));
	};
	assert.deepEqual(kinds([".git", "app", "docs/", "notes"]), [false, false, false, false]);
	assert.deepEqual(kinds(["docs/", "app", "src/main.rs", null]), [true, false, true, false]);
	const chips = new Viewer(reader({}).look, () => {}, { canSave: () => false, canAsk: () => false }).chips([".cache/", "a.js", "b.js"], "files");
	assert.ok(chips.all("span").every((one) => !/path/.test(one.attributes.class ?? "")), "also in a short list");
});

test("lines of a path end after a separator", () => {
	const [first, last] = shown("path", "/srv/app/Content/Main.uasset").children;
	assert.deepEqual(first.children.map((one) => one.tag ?? one), ["/srv/", "wbr", "app/", "wbr", "Content", "wbr"]);
	assert.equal(last.textContent, "/Main.uasset");
	const breaks = (text) => shown("remark", text).all("wbr").length;
	assert.equal(breaks("it is at webapp/test/integration/opaTests.qunit.ts now"), 4);
	assert.equal(breaks("it is at https://example.com/a-long-name-of-a-page.html now"), 2, "none within the scheme");
	assert.equal(breaks("it is at /srv/orders/webapp/manifest.json now"), 0, "it fits into a line");
});

test("code between backticks is shown as code in sentences only", () => {
	const codes = (text) => shown("remark", text).all("code").map((one) => one.textContent);
	assert.deepEqual(codes("the compilation ended with `Failure`"), ["Failure"]);
	assert.deepEqual(codes("`detail` `full` also has these texts (`a.b`, `c`): x."), ["detail", "full", "a.b", "c"]);
	assert.deepEqual(codes("文件在 `config.json` 中"), ["config.json"]);
	for (const text of ["SELECT `id` FROM `users`", "=`date`", "a ` alone in some longer words", "it is 5`3`x in these words"]) {
		assert.deepEqual([codes(text), shown("remark", text).textContent], [[], text]);
	}
	const notice = view.show({ warning: "Do not trust `this` at all", id: 1, kind: 2 });
	assert.deepEqual(notice.all("code").map((one) => one.textContent), ["this"]);
	const [cell] = view.show([{ rule: "a", text: "names such as `sap.m` are gone" }, { rule: "b", text: "x" }]).all("code");
	assert.equal(cell.textContent, "sap.m");
});

test("the reader's time has a date only if its date differs", () => {
	assert.equal(shown("at", "2026-03-01T10:00:00+02:00").textContent, "1 Mar 2026, 10:00 +02:00 (08:00 UTC)");
	assert.equal(shown("at", "2026-03-01T01:00:00+02:00").textContent, "1 Mar 2026, 01:00 +02:00 (28 Feb 2026, 23:00 UTC)");
});
