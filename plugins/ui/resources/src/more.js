// The parts that only some tools need: charts, trees, maps, differences, texts with a structure, pagination; in forms, lists,
// alternatives, undeclared properties, and files.

import { chips, isOfChips } from "./chips.js";
import { chartOf, draw, ticks } from "./chart.js";
import { changeOf, compare } from "./diff.js";
import { array, entries, union } from "./lists.js";
import { mapOf, places } from "./map.js";
import { pagesOf } from "./paging.js";
import { moreRecords } from "./more-records.js";
import { nested } from "./nested.js";
import { parts } from "./parts.js";
import { readText, words } from "./texts.js";
import { isTree, tree } from "./tree.js";
import { areAmounts, measured } from "./units.js";
import { upload } from "./upload.js";

Object.assign(parts, {
	shape: (value, view, schema, depth) => (isTree(value) ? tree(value, view, depth) : (changeOf(value, view, schema, depth) ?? nested(value, view, schema, depth))),
	records: moreRecords,
	text: readText,
	words,
	pictures: (...table) => [chartOf(...table), mapOf(...table)],
	areAmounts,
	measured,
	compare,
	draw,
	places,
	ticks,
	pages: pagesOf,
	groups: { array, entries, union },
	chips: { chips, isOfChips },
	upload
});
