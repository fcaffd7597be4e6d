// Finds rows and columns in data that have them only by their shape: numbers, lists of lists, GeoJSON points, maps of similar objects.

import { has, isObject } from "./dom.js";
import { isScalar } from "./order.js";

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

/** A list without objects as a table. */
function listed(value, name) {
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

/** Data as a table. The parameters are those of `recordsIn`, and `columnsOf(records, schema)`, which finds columns. */
export function moreRecords(value, view, schema, name, columnsOf) {
	if (Array.isArray(value)) {
		return listed(value, name);
	}
	const points = pointsIn(value);
	if (points) {
		return { records: points, columns: columnsOf(points) };
	}
	const all = Object.entries(value);
	if (all.length < 2 || view.about(schema).properties) {
		return undefined;
	}
	// A map of counts, or of similar objects, whose names no schema declares.
	if (all.length > 2 && (all.length > 7 || COUNTS.test(name)) && all.every(([, part]) => typeof part === "number")) {
		return { records: all.map(([key, part]) => ({ name: key, value: part })), columns: [{ key: "name" }, { key: "value" }] };
	}
	if (all.every(([, part]) => isObject(part) && Object.keys(part).length) && areAlike(all.map(([, part]) => part))) {
		const columns = columnsOf(all.map(([, part]) => part), view.within(schema, all[0][0]));
		// Records that already contain their names need no column of keys.
		if (columns.some((column) => all.every(([key, part]) => part[column.key] === key))) {
			return { records: all.map(([, part]) => part), columns };
		}
		const first = ["name", "key", "entry"].find((key) => all.every(([, part]) => !has(part, key))) ?? "#";
		const records = all.map(([key, part]) => ({ [first]: key, ...part }));
		return { records, columns: [{ key: first }, ...columns] };
	}
	return undefined;
}
