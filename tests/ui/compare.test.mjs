// Tests of `compare`: both texts can be made from the difference, and equal lines are marked as equal.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "../../plugins/ui/resources/src/chart.js";
import { compare } from "../../plugins/ui/resources/src/diff.js";

/** Pseudo-random numbers that are the same each time. */
function* numbers(seed) {
	for (;;) {
		seed = (seed * 1103515245 + 12345) % 2 ** 31;
		yield seed / 2 ** 31;
	}
}

test("both texts can be made of the difference", () => {
	const random = numbers(7);
	for (let round = 0; round < 300; round++) {
		const text = () =>
			Array.from({ length: Math.floor(random.next().value * 12) }, () => "abc"[Math.floor(random.next().value * 3)]).join("\n");
		const [before, after] = [text(), text()];
		const rows = compare(before, after);
		const of = (kinds) => rows.filter(([kind]) => kinds.includes(kind)).map(([, line]) => line).join("\n");
		assert.equal(of("=-"), before);
		assert.equal(of("=+"), after);
	}
});

test("the difference is minimal", () => {
	const kinds = (before, after) => compare(before.split("").join("\n"), after.split("").join("\n")).map(([kind]) => kind).join("");
	assert.equal(kinds("abcd", "abcd"), "====");
	assert.equal(kinds("abcd", "acd"), "=-==");
	assert.equal(kinds("acd", "abcd"), "=+==");
	assert.equal(kinds("abcabba", "cbabac").replaceAll("=", "").length, 5);
});

test("texts that are too long to compare are shown", () => {
	const many = (letter) => Array.from({ length: 4000 }, (_, index) => letter + index).join("\n");
	const rows = compare(many("a"), many("b"));
	assert.equal(rows.length, 8000);
	assert.ok(compare(`x\n${many("a")}`, `x\n${many("b")}`)[0][0] === "=");
});

test("marks are round and enclose the range", () => {
	for (const [low, high] of [[0, 95], [-3, 3], [38.7, 41.2], [5, 5], [0, 0], [1e9, 2e9], [-0.002, 0.001]]) {
		const all = ticks(low, high);
		assert.ok(all[0] <= low && all.at(-1) >= high, `${low} ${high}: ${all}`);
		assert.ok(all.length <= 7, `${all}`);
	}
});
