// Shows records with a list of records each, such as findings by file, as one table of the inner records.

import { h, isObject } from "./dom.js";
import { isScalar } from "./order.js";

/** Maximum number of outer columns, which are repeated in the rows of their list. */
const REPEATED = 3;

/** The table; `undefined` for other data, and if inner and outer records have members of the same name. */
export function nested(value, view, schema, depth) {
	if (!Array.isArray(value) || value.length < 2 || !value.every(isObject)) {
		return undefined;
	}
	const keysOf = (records) => [...new Set(records.flatMap(Object.keys))];
	const all = keysOf(value);
	const [list, ...others] = all.filter((key) => value.some((record) => Array.isArray(record[key])));
	const outer = all.filter((key) => key !== list);
	const items = value.map((record) => record[list] ?? []);
	if (!list || others.length || !outer.length || !items.every((some) => Array.isArray(some) && some.every(isObject)) || !value.every((record) => outer.every((key) => isScalar(record[key])))) {
		return undefined;
	}
	const rows = items.flat();
	const isSentence = (key) => rows.every((row) => /.{12}\s.{8}/.test(row[key]));
	// A sentence, such as the message of a finding, says most.
	const first = keysOf(rows).find(isSentence);
	const inner = keysOf(rows).sort((a, b) => (b === first) - (a === first));
	if (!inner.length || inner.some((key) => outer.includes(key)) || outer.length > REPEATED) {
		return undefined;
	}
	const item = view.within(schema, 0);
	const columns = [
		...outer.map((key) => ({ key, schema: view.within(item, key) })),
		...inner.map((key) => ({ key, schema: view.within(view.within(view.within(item, list), 0), key) }))
	];
	const records = value.flatMap(({ [list]: some, ...rest }) => (some?.length ? some : [{}]).map((one) => ({ ...rest, ...one })));
	return h("div", { class: "data" }, view.table(records, columns, depth));
}
