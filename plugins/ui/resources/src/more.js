// What few tools need: trees, maps, differences, texts that are something, and leafing from page to page.

import { changeOf } from "./diff.js";
import { mapOf } from "./map.js";
import { pagesOf } from "./paging.js";
import { parts } from "./parts.js";
import { readText } from "./texts.js";
import { isTree, tree } from "./tree.js";

Object.assign(parts, {
	shape: (value, view, schema, depth) => (isTree(value) ? tree(value, view, depth) : changeOf(value, view, schema, depth)),
	text: readText,
	map: mapOf,
	pages: pagesOf
});
