// Tests of the gallery: every component has a screenshot, the page shows all screenshots, and their total size is small.

import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { components, examples, files as wanted, gallery, guide, pictures, written } from "./gallery.mjs";

/** Maximum size of all screenshots together, in bytes. */
const MOST = 1_500_000;

test("the gallery shows every component and every shape", async () => {
	const all = await gallery();
	const { parts, compared } = all;
	assert.ok(compared.length >= 6);
	assert.deepEqual((await components()).filter((name) => !examples.includes(name)), [], "each has an example");
	assert.deepEqual(parts.map(({ about }) => about), await components());
	const files = (await readdir(pictures)).sort();
	assert.deepEqual(files, wanted(all).sort(), "run: node gallery.mjs");
	const shown = [...(await readFile(guide, "utf8")).matchAll(/\]\(pictures\/([^)]+)\)/g)].map(([, name]) => name).sort();
	assert.deepEqual(shown, files, "the page shows each picture once");
	assert.equal(await readFile(guide, "utf8"), await written(), "run: node gallery.mjs");
	const sizes = await Promise.all(files.map(async (name) => (await stat(path.join(pictures, name))).size));
	const whole = sizes.reduce((sum, size) => sum + size);
	assert.ok(whole < MOST, `${whole} bytes`);
	assert.ok(sizes.every((size) => size > 300));
});
