// The gallery: every component has its picture, the page shows all of them, and together they are small.

import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { components, examples, gallery, guide, pictures, written } from "./gallery.mjs";

/** Most bytes of all pictures together. */
const MOST = 1_000_000;

test("the gallery shows every component and every shape", async () => {
	const { shapes, parts } = await gallery();
	assert.deepEqual((await components()).filter((name) => !examples.includes(name)), [], "each has an example");
	assert.deepEqual(parts.map(({ about }) => about), await components());
	const files = (await readdir(pictures)).sort();
	assert.deepEqual(files, [...shapes, ...parts].map(({ name }) => `${name}.png`).sort(), "run: node gallery.mjs");
	assert.equal(await readFile(guide, "utf8"), await written(), "run: node gallery.mjs");
	const sizes = await Promise.all(files.map(async (name) => (await stat(path.join(pictures, name))).size));
	const whole = sizes.reduce((sum, size) => sum + size);
	assert.ok(whole < MOST, `${whole} bytes`);
	assert.ok(sizes.every((size) => size > 300));
});
