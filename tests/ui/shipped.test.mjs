// What is shipped is what the sources make, small enough, and safe to put into a page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { make, shipped } from "./build.mjs";

const files = await make();

for (const [name, text] of Object.entries(files)) {
	test(`${name} is what its sources make`, async () => {
		assert.equal(await readFile(path.join(shipped, name), "utf8"), text, "run: npm run build");
	});
	test(`${name} neither ends its element nor reaches out`, () => {
		assert.doesNotMatch(text, /<\/(script|style)|<!--/i);
		assert.doesNotMatch(text, /\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|localStorage|sessionStorage|document\.write|fetch\(|XMLHttpRequest|import\(/);
		assert.doesNotMatch(text.replaceAll("http://www.w3.org/2000/svg", "").replaceAll("https://example.com", ""), /https?:\/\/[a-z]/);
	});
}

test("the runtime is under 30 KB, script and looks together", () => {
	const size = Buffer.byteLength(files["runtime.js"]) + Buffer.byteLength(files["runtime.css"]);
	assert.ok(size < 30 * 1024, `${size} bytes`);
});
