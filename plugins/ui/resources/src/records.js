// Finds rows and columns in data: lists of objects, lists of equal length side by side, maps of similar objects, GeoJSON points.

import { has, isObject } from "./dom.js";
import { isScalar } from "./order.js";

/** The number of records that are read to find the columns. */
const SAMPLE = 1000;

/** Names of maps from names to numbers that are shown as a table. */
const COUNTS = /count|total|by[A-Z_]|per[A-Z_]|distribution|histogram|stat|size|usage|votes|score/i;

/** Whether objects are similar: most of their keys are the same. */
function areAlike(all) {
	const counts = new Map();
	all.forEach((one) => Object.keys(one).forEach((key) => counts.set(key, (counts.get(key) ?? 0) + 1)));
	const shared = [...counts.values()].filter((count) => count > all.length / 2).length;
	return shared > 0 && (all.length === 2 ? shared === counts.size : shared * 2 >= counts.size);
}

/** GeoJSON points as records. */
function pointsIn({ type, features }) {
	return type === "FeatureCollection" && Array.isArray(features) && features.length && features.every(({ geometry }) => geometry?.type === "Point")
		? features.map(({ id, properties, geometry }) => ({ ...(id === undefined ? {} : { id }), ...properties, latitude: geometry.coordinates[1], longitude: geometry.coordinates[0] }))
		: undefined;
}

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
	if (Array.isArray(value)) {
		if (!value.length) {
			return undefined;
		}
		if (value.every(isObject)) {
			return { records: value, columns: columnsOf(value, view.within(schema, 0)) };
		}
		if (value.length > 6 && value.every((one) => typeof one === "number") && !/ids?$|lines?$|numbers?$/i.test(name)) {
			return {
				records: value.map((one, index) => ({ "#": index + 1, value: one })),
				columns: [{ key: "#" }, { key: "value" }],
				ordinal: true
			};
		}
		const width = value[0]?.length;
		return width && value.length > 1 && value.every((row) => Array.isArray(row) && row.length === width && row.every(isScalar))
			? {
					records: value.map((row) => ({ ...row })),
					columns: value[0].map((_, index) => ({ key: String(index), label: String(index + 1) }))
				}
			: undefined;
	}
	if (!isObject(value)) {
		return undefined;
	}
	const points = pointsIn(value);
	if (points) {
		return { records: points, columns: columnsOf(points) };
	}
	const parts = Object.entries(value);
	const length = parts[0]?.[1]?.length;
	// Lists of equal length side by side, as in many measurements.
	if (
		parts.length > 1 &&
		length > 1 &&
		parts.every(([, part]) => Array.isArray(part) && part.length === length && part.every(isScalar)) &&
		(length > 2 || parts.length > 2)
	) {
		return {
			records: parts[0][1].map((_, index) => Object.fromEntries(parts.map(([key, part]) => [key, part[index]]))),
			columns: parts.map(([key]) => ({ key, schema: view.within(view.within(schema, key) ?? {}, 0) }))
		};
	}
	if (parts.length < 2 || view.about(schema).properties) {
		return undefined;
	}
	// A map of counts, or of similar objects, whose names no schema declares.
	if (parts.length > 2 && (parts.length > 7 || COUNTS.test(name)) && parts.every(([, part]) => typeof part === "number")) {
		return { records: parts.map(([key, part]) => ({ name: key, value: part })), columns: [{ key: "name" }, { key: "value" }] };
	}
	if (parts.every(([, part]) => isObject(part) && Object.keys(part).length) && areAlike(parts.map(([, part]) => part))) {
		const columns = columnsOf(parts.map(([, part]) => part), view.within(schema, parts[0][0]));
		// Records that already contain their names need no column of keys.
		if (columns.some((column) => parts.every(([key, part]) => part[column.key] === key))) {
			return { records: parts.map(([, part]) => part), columns };
		}
		const first = ["name", "key", "entry"].find((key) => parts.every(([, part]) => !has(part, key))) ?? "#";
		const records = parts.map(([key, part]) => ({ [first]: key, ...part }));
		return { records, columns: [{ key: first }, ...columns] };
	}
	return undefined;
}
