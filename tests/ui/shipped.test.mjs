// Tests that the shipped files are built from the current sources, small enough, and safe within a page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { make, shipped, unpack } from "./build.mjs";
import { makePage } from "./pages.mjs";
import { WEATHER } from "./tools.mjs";

const made = await make();
const read = (name) => readFile(path.join(shipped, name), "utf8");

for (const [name, text] of Object.entries(made)) {
	test(`${name} is up to date with its sources`, async () => {
		// The same text may be packed in more than one way.
		const isPacked = /^(packed|messages)/.test(name);
		const same = isPacked ? [await read(name), text].map(unpack) : [await read(name), text];
		assert.deepEqual(same[0], same[1], "run: npm run build");
	});
	test(`${name} neither ends its element nor uses forbidden functions`, () => {
		assert.doesNotMatch(text, /<\/(script|style)|<!--/i);
		assert.doesNotMatch(
			text,
			/\beval\(|new Function|\.(inner|outer)HTML|insertAdjacentHTML|localStorage|sessionStorage|document\.write|fetch\(|XMLHttpRequest|import\(/
		);
		assert.doesNotMatch(
			text.replaceAll("http://www.w3.org/2000/svg", "").replaceAll("https://example.com", ""),
			/https?:\/\/[a-z]/
		);
	});
}

test("the packed runtimes have the messages that they may say, and no others", async () => {
	const english = JSON.parse(await read("src/messages/en.json"));
	const text = (message) => JSON.stringify(message.other ?? message).slice(1, -1);
	for (const name of ["packed.js", "packed-more.js"]) {
		const script = unpack(await read(name));
		const keys = [...new Set([...script.matchAll(/["'`](\w+)["'`]/g)].map(([, key]) => key))].filter((key) => Object.hasOwn(english, key));
		assert.ok(keys.length > 100);
		assert.deepEqual(keys.filter((key) => !script.includes(text(english[key])) && !script.includes(english[key])), [], name);
	}
	assert.ok(!unpack(await read("packed.js")).includes(english.pieChart), "charts are in the whole runtime alone");
});

test("the runtime is under 39.2 KB, script and styles together", async () => {
	const size = Buffer.byteLength(await read("packed.js"));
	assert.ok(size < 39_200, `${size} bytes`);
});

test("the runtime with view specifications is under 62.6 KB", async () => {
	const size = Buffer.byteLength(await read("packed-view.js"));
	assert.ok(size < 62_600, `${size} bytes`);
});

test("the whole runtime is under 54.6 KB", async () => {
	const size = Buffer.byteLength(await read("packed-more.js"));
	assert.ok(size < 54_600, `${size} bytes`);
});

test("a page of a usual tool is under 40 KB", async () => {
	const { outputSchema, ...weather } = WEATHER;
	const page = await makePage({ ...weather, outputSchema: { type: "object", properties: { sky: { type: "string" } } } }, {}, false, [], true);
	assert.ok(Buffer.byteLength(page) < 40_000, `${Buffer.byteLength(page)} bytes`);
});

test("the runtime with the interpreter of documents is under 60 KB", async () => {
	const size = Buffer.byteLength(await read("packed-document.js"));
	assert.ok(size < 60_000, `${size} bytes`);
});

test("the unpacked runtime is under 122 KB", () => {
	const size = Buffer.byteLength(made["runtime.js"]) + Buffer.byteLength(made["runtime.css"]);
	assert.ok(size < 122_000, `${size} bytes before it is packed`);
});
