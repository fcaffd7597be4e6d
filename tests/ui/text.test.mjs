// Tests of texts with a structure: Markdown, tables, data, diffs, pairs. No text becomes markup.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modules } from "./modules.mjs";

const { Viewer, reader, textOf, user } = await modules("more", "data", "schema", "text", "dom");
user.locale = "en-GB";
user.timeZone = "UTC";

const opened = [];
const view = new Viewer(reader({}).look, (address) => opened.push(address), { canSave: () => false, canAsk: () => false });
const made = (text, about) => textOf(text, view, about);
const texts = (element, tag) => element.all(tag).map((one) => one.textContent);

test("Markdown", () => {
	const element = made(
		"# One\n\nA **bold** and _slanted_ `code` with [a link](https://example.com/a) and https://example.com/b.\nNext line\n\n### Three\n\n1. first\n2. second\n   - inner\n\n> said\n\n```rust\nfn main() {}\n```\n\n| A | B |\n|---|--:|\n| x | 1 |\n| **y** | 2 |\n\n- [x] done\n- [ ] open\n\n---\n"
	);
	assert.deepEqual(texts(element, "h2"), ["One"]);
	assert.deepEqual(texts(element, "h3"), ["Three"], "no level of headings is left out");
	assert.deepEqual(texts(element, "strong"), ["bold", "y"]);
	assert.deepEqual(texts(element, "em"), ["slanted"]);
	assert.deepEqual(texts(element, "code"), ["code"]);
	assert.deepEqual(texts(element, "button").filter((one) => /link|example/.test(one)), ["a link", "https://example.com/b"]);
	assert.equal(element.all("ol")[0].all("ul").length, 1);
	assert.deepEqual(texts(element, "blockquote"), ["said"]);
	assert.deepEqual(texts(element, "figcaption"), ["rust"]);
	assert.equal(element.all("pre")[0].attributes.tabindex, "0", "a keyboard can scroll it");
	assert.deepEqual(texts(element, "td").filter(Boolean), ["x", "1", "y", "2"]);
	assert.equal(element.all("hr").length, 1);
	assert.equal(element.all("br").length, 1, "newlines are kept");
});

test("code spans in a sentence are code, a line of code is not changed", () => {
	assert.deepEqual(texts(made("invalid arguments for `find`: `path` is missing"), "code"), ["find", "path"]);
	assert.deepEqual(texts(made("Write it with the changes in `wishes`:\n\n{\"a\":1}"), "code"), ["wishes"]);
	assert.deepEqual(texts(made("The page is at /srv/app.\nIt was written by `make`."), "code"), ["make"]);
	for (const line of ["const a = `x ${b}`;", "=`date`", "a ` alone"]) {
		assert.ok(made(line).textContent.startsWith(line));
	}
});

test("lines within an item of a list stay lines, sentences are wrapped", () => {
	const item = (...lines) => made(`**Found**:\n\n1. ${lines.join("\n   ")}\n2. other`).all("li")[0];
	const found = item("**Lists and binding, as they are used in applications of all kinds**", "ui5://docs/lists", "How lists are bound.");
	assert.equal(found.all("br").length, 2, found.textContent);
	assert.equal(item("a sentence that is long enough to be wrapped at the end of", "the line").all("br").length, 0);
	assert.equal(item("Name: Ada", "born: 1815").all("br").length, 1, "a short line was not wrapped");
});

test("prose with tags of HTML is formatted, text about HTML is not", () => {
	const prose = made("Starts an action.\n\n<h3>Usage</h3>\n<p>Set the <code>text</code>, or <b>both</b> &amp; more.</p><ul><li>one</li><li>two</li></ul>See {@link sap.m.Button the button} and {@link sap.m.Link}.");
	assert.deepEqual(["h2", "code", "strong", "li"].map((tag) => texts(prose, tag)), [["Usage"], ["text"], ["both"], ["one", "two"]]);
	assert.match(prose.textContent, /both & more/);
	assert.match(prose.textContent, /See the button and sap\.m\.Link\./);
	for (const text of ["Some text with <div>a box</div>\nand <b>bold</b>.", "Write `<b>` and `</b>`.\n\nThat is **all**.", "a < b and c > d\nand so on", "<script>x</script> in <b>it</b>\nand more"]) {
		assert.match(made(text).textContent.replace(/\s+/g, " "), new RegExp(text.match(/<[^<>]+>|a < b/)[0]), text);
	}
	const list = view.show(["press - Fired when the <code>Button</code> is pressed", "tap - see <b>press</b>, which <code>replaces</code> it", "other words of it"]);
	assert.deepEqual(texts(list, "code"), ["Button", "replaces"]);
});

test("code that begins with a comment keeps its lines", () => {
	assert.equal(made("/** Adds. */\nadd(a: number, b: number): number").all("pre").length, 1);
	assert.equal(made("/srv/app is a folder.\nIt has 3 files").all("pre").length, 0);
});

test("columns without a name are numbered", () => {
	assert.deepEqual(texts(made("| | B |\n|---|---|\n| x | 1 |\n| y | 2 |"), "th"), ["1", "B"]);
});

test("a list may have one item, if the line before it says so", () => {
	assert.deepEqual(texts(made("Found 1 document in .:\n- report.docx (35.93 KB)"), "li"), ["report.docx (35.93 KB)"]);
	assert.deepEqual(texts(made("feature/zero\n* main"), "li"), []);
	assert.deepEqual(texts(made("They are:\n\n• a • b\n• c"), "li"), ["a • b", "c"]);
});

test("a row of a table in a text has details with all of its cells", () => {
	const all = "a sentence of **many words** that does not fit into a cell ".repeat(3).trim();
	const [head] = made(`| | Meaning |\n|---|---|\n| x | ${all} |\n| y | short |`).all("tr");
	assert.equal(head.all("td").length, 1, "a column for the buttons");
	assert.equal(made("| A | B |\n|---|---|\n| x | y |\n| u | v |").all("tr")[0].all("td").length, 0);
});

test("nothing of a link or a row is left out", () => {
	assert.equal(made("- [Snapshot](.out/page.yml)\n- [Log](.out/a.log)").textContent, "Snapshot (.out/page.yml)Log (.out/a.log)");
	const [table] = made("| A | B |\n|---|---|\n| x | y | z |\n| u | v |").all("table");
	assert.deepEqual(texts(table, "th"), ["A", "B", "3"], "a row may have more cells than the head");
	assert.match(table.textContent, /xyz/);
});

test("no markup, no scheme but http, https and mailto, nothing fetched", () => {
	const element = made(
		"# Hi\n\n<img src=x onerror=alert(1)> <script>alert(2)</script> [run](javascript:alert(3)) [file](file:///etc/passwd) ![pic](https://example.com/p.png) [d](data:text/html,x)\n\n<b>bold</b> \\*not\\*\n"
	);
	assert.equal(["img", "script", "a", "b", "iframe", "em"].flatMap((tag) => element.all(tag)).length, 0);
	assert.match(element.textContent, /<script>alert\(2\)<\/script>/);
	assert.deepEqual(texts(element, "button"), ["pic"]);
	assert.match(element.textContent, /\*not\*/);
});

test("hostile Markdown is parsed quickly", () => {
	for (const text of ["*".repeat(3000), "[".repeat(3000), "`".repeat(3001), "**a".repeat(1500), "- ".repeat(2000), "> ".repeat(800), "|".repeat(3000) + "\n|-|-|", "_a".repeat(2000), "[a](".repeat(1000), "~~".repeat(1500)]) {
		const start = performance.now();
		made(`# T\n\n${text}`);
		assert.ok(performance.now() - start < 1500, text.slice(0, 10));
	}
});

test("tables in texts", () => {
	const csv = made('name,size,ok\n"a, b",10,true\nc,,false\n');
	assert.deepEqual(texts(csv, "th"), ["Name", "Size", "Ok"]);
	assert.match(csv.textContent, /a, b/);
	const aligned = made("NAME        READY   STATUS\nweb-1       1/1     Running\nweb-2       0/1     Pending\n");
	assert.deepEqual(texts(aligned, "th"), ["Name", "Ready", "Status"]);
	assert.deepEqual(texts(aligned, "td").filter(Boolean), ["web-1", "1/1", "Running", "web-2", "0/1", "Pending"]);
	for (const prose of ["Hello, Ada, and Bo\nGood bye, Ada, and Cy", "One line, two parts", "a,b\n1,2,3\n4,5", "First, this\nThen, that"]) {
		assert.equal(made(prose).all("table").length, 0, prose);
	}
	const leading = made("code,count\n007,1\n008,2\n009,3");
	assert.deepEqual(texts(leading, "td").filter(Boolean).slice(0, 2), ["007", "1"], "a text that is no number stays as it is");
});

test("data in texts", () => {
	assert.deepEqual(texts(made('Found 2:\n[{"name":"Ada"},{"name":"Bo"}]'), "td"), ["Ada", "Bo"]);
	assert.deepEqual(texts(made('{"n":1}\n{"n":2}'), "td"), ["1", "2"]);
	assert.deepEqual(texts(made("size: 74\nname: a.txt\nisFile: true"), "dt"), ["Size", "File"]);
	const log = made("History:\nCommit: 33c0087500d677aca1af127edbd40f8405604bcc\nAuthor: Ada\n\nCommit: a099df01c2ef6b8f08405604bcc33c0087500d67\nAuthor: Bo");
	assert.deepEqual(texts(log, "th"), ["Commit", "Author"]);
	assert.deepEqual(texts(made("[FILE] a.txt\n[DIR] docs"), "th"), ["Name", "Kind"]);
	const sizes = made("[DIR] docs\n[FILE] a.txt      74 B\n\nTotal: 1 file\nCombined size: 74 B");
	assert.deepEqual(texts(sizes, "th"), ["Name", "Kind", "Size"]);
	assert.match(sizes.textContent, /Total.*1 file/, "what is said beneath stays");
	const files = made("/srv/a.js:\nlet a = 1;\n\n---\n/srv/b.json:\n{\"port\": 80}");
	assert.deepEqual(texts(files, "figcaption"), ["/srv/a.js", "JavaScript", "/srv/b.json"]);
	assert.deepEqual(texts(files, "dt"), ["Port"]);
	assert.deepEqual(texts(made("Allowed directories:\n/srv/a\n/srv/b"), "li"), ["/srv/a", "/srv/b"]);
	assert.equal(made("2026-11-25T01:37:02.088+00:00").all("time").length, 1);
	assert.equal(made("- one\n- two").all("ul").length, 1);
	assert.equal(made('size: 74\nmodified: "2026-11-25T06:02:21.634Z"').all("time").length, 1, "quotes of JSON are no part of a value");
	assert.deepEqual(texts(made('Error calling it: {"success": false, "error": "no such table"}'), "dt"), ["Success", "Error"]);
	// The input names the file that the text describes.
	view.file = "/srv/app.js";
	try {
		assert.deepEqual(texts(made("size: 74\nkind: text"), "dt"), ["Size", "Kind"]);
		assert.ok(made("```diff\n--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+y\n```").all("span").some((one) => one.attributes.class === "add"));
		assert.deepEqual(texts(made("let a = 1;\nlet b = 2;"), "figcaption"), ["JavaScript"]);
		view.file = "https://example.com/page.html";
		assert.deepEqual(texts(made("# Planets\n\nEight of [them](https://example.com/sun)."), "h2"), ["Planets"], "a page that was converted");
		assert.deepEqual(texts(made("<p>Eight</p>\n<p>Nine</p>"), "figcaption"), ["HTML"]);
	} finally {
		view.file = undefined;
	}
});

test("lines with signs and without a header are a diff", () => {
	assert.equal(made("  a\n- b\n+ x\n  c").all("pre")[0].attributes.class, "text diff");
	assert.equal(made("- one\n- two\n- three").all("pre").length, 0, "a list is none");
	assert.equal(made("- one\n+ two\nthree").all(".diff").length, 0);
});

test("differences", () => {
	const text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
	const kinds = made(text).all("span").map((one) => [one.attributes.class, one.textContent.trim()]);
	assert.ok(kinds.some(([kind, line]) => kind === "add" && line === "+new"));
	assert.ok(kinds.some(([kind, line]) => kind === "cut" && line === "-old"));
	assert.equal(made(text).all("pre")[0].textContent.replace(/\n+$/, ""), text.trim(), "all of it, as it was");
	const change = view.show({ before: { port: 8080, host: "a" }, after: { port: 9090, host: "a" } });
	assert.deepEqual(texts(change, "td").filter(Boolean), ["Port", "8080", "9090"]);
	assert.match(view.show({ old: "a\nb\nc", new: "a\nx\nc" }).textContent, / a\n-b\n\+x\n c/);
});

test("code keeps its language, prose is wrapped, and nothing is lost", () => {
	assert.deepEqual(texts(made("fn main() {\n\tx();\n}", { name: "src/main.rs" }), "figcaption"), ["Rust"]);
	assert.deepEqual(texts(made("<a><b>1</b></a>"), "figcaption"), ["XML"]);
	assert.equal(made("Just a sentence.").tag, "p");
	assert.equal(made("  indented\n    more").all("pre").length, 1);
	for (const text of ["# not a heading: a comment\nimport os\nprint(1)", "a: b", "key: value\nno pair", "1. one", "x * y * z", "snake_case_name and other_name_here", "2 < 3 > 1"]) {
		const said = made(text).textContent.replace(/Show more \(0 left\)/g, "");
		assert.equal(said.replace(/\s+/g, " ").trim(), text.replace(/\s+/g, " ").trim(), text);
	}
});
