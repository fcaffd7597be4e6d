// Finds members that describe their neighbours: units of numbers (`hourly_units` beside `hourly`), and names of columns beside rows.

import { isObject } from "./dom.js";
import { plain } from "./order.js";

const isUnits = (value) => isObject(value) && Object.keys(value).length > 0 && Object.values(value).every((unit) => typeof unit === "string");

/** A schema whose members have units. The members may be values, lists of values, or members of objects in a list. */
function withUnits(schema, units) {
	const properties = Object.fromEntries(
		Object.entries(units).map(([key, unit]) => {
			const known = schema?.properties?.[key];
			return [key, { ...known, unit, items: { ...known?.items, unit } }];
		})
	);
	return { ...schema, properties: { ...schema?.properties, ...properties }, items: { ...schema?.items, properties: { ...schema?.items?.properties, ...properties } } };
}

/** Records from rows of values, and from the names of their columns in a neighbouring member, as in answers of databases. */
function headed(entries) {
	const rows = entries.find(([, value]) => Array.isArray(value) && value.length > 0 && value.every((row) => Array.isArray(row) && row.length === value[0].length));
	const names =
		rows &&
		entries.find(
			([key, value]) =>
				/^(columns?|cols|column_names|headers?|fields|names)$/.test(plain(key)) && Array.isArray(value) && value.length === rows[1][0].length && new Set(value).size === value.length && value.every((one) => typeof one === "string" && one)
		)?.[1];
	return names
		? entries
				.filter(([, value]) => value !== names)
				.map((entry) => (entry === rows ? [rows[0], rows[1].map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])))] : entry))
		: entries;
}

/**
 * The members of an object, without members that only name units or columns of others.
 *
 * @param given `[key, value, schema]` each
 * @returns the same, with `unit` in the schemas of members with a unit, and with records for rows with named columns
 */
export function measured(given) {
	const entries = headed(given);
	const found = entries.flatMap(([key, units]) => {
		const [, base] = /^(?:(\w+)_)?units$/.exec(plain(key)) ?? [];
		const isBeside = isUnits(units) && entries.some(([other, value]) => (base ? plain(other) === base && typeof value === "object" : Object.hasOwn(units, other)));
		return isBeside ? [{ key, base, units }] : [];
	});
	return found.length
		? entries
				.filter(([key]) => !found.some((one) => one.key === key))
				.map(([key, value, schema]) => {
					const own = found.find(({ base }) => base && base === plain(key));
					const all = found.find(({ base, units }) => !base && Object.hasOwn(units, key));
					return [key, value, own ? withUnits(schema, own.units) : all ? { ...schema, unit: all.units[key], items: { ...schema?.items, unit: all.units[key] } } : schema];
				})
		: entries;
}

/** Whether the values of a column are amounts that were sent as texts: "2.50", "74 B", "12%". */
export const areAmounts = (values) => values.length > 1 && values.every((value) => /^-?\d[\d,]*(\.\d+|(\.\d+)? ?([kKMGT]?i?B|m?s|%))$/.test(value));
