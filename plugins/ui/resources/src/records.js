// Finds rows and columns in data: lists of objects, and lists of equal length side by side. more-records.js finds them in other data.

import { has, isObject } from "./dom.js";
import { isScalar } from "./order.js";
import { parts } from "./parts.js";

/** The number of records that are read to find the columns. */
const SAMPLE = 1000;

/**
 * Data as a table.
 *
 * @param view reads the schema's parts
 * @param name of the data, if it has one
 * @returns its `records` and `columns`, and `ordinal` for a list of numbers; `undefined` if the data is not a table
 */
export function recordsIn(value, view, schema, name = "") {
	const columnsOf = (records, item) =>
		[
			...new Set([
				...Object.keys(view.about(item).properties ?? {}),
				...records.slice(0, SAMPLE).flatMap((record) => Object.keys(record))
			])
		]
			.filter((key) => records.some((record) => has(record, key)))
			.map((key) => ({ key, schema: view.within(item, key) }));
	const all = typeof value === "object" && value ? Object.entries(value) : [];
	if (!all.length) {
		return undefined;
	}
	if (Array.isArray(value) && value.every(isObject)) {
		return { records: value, columns: columnsOf(value, view.within(schema, 0)) };
	}
	const length = all[0][1]?.length;
	// Lists of equal length side by side, as in many measurements.
	if (
		!Array.isArray(value) &&
		all.length > 1 &&
		length > 1 &&
		all.every(([, part]) => Array.isArray(part) && part.length === length && part.every(isScalar)) &&
		(length > 2 || all.length > 2)
	) {
		return {
			records: all[0][1].map((_, index) => Object.fromEntries(all.map(([key, part]) => [key, part[index]]))),
			columns: all.map(([key]) => ({ key, schema: view.within(view.within(schema, key) ?? {}, 0) }))
		};
	}
	return parts.records?.(value, view, schema, name, columnsOf);
}
