// Finds units that data names beside its numbers, such as `hourly_units` beside `hourly`.

import { isObject } from "./dom.js";
import { plain } from "./order.js";

const isUnits = (value) => isObject(value) && Object.keys(value).length > 0 && Object.values(value).every((unit) => typeof unit === "string");

/** A schema whose members have units too, whether they are values, lists of values, or members of the objects of a list. */
function withUnits(schema, units) {
	const properties = Object.fromEntries(
		Object.entries(units).map(([key, unit]) => {
			const known = schema?.properties?.[key];
			return [key, { ...known, unit, items: { ...known?.items, unit } }];
		})
	);
	return { ...schema, properties: { ...schema?.properties, ...properties }, items: { ...schema?.items, properties: { ...schema?.items?.properties, ...properties } } };
}

/**
 * The members of an object without those that only name units of others.
 *
 * @param entries `[key, value, schema]` each
 * @returns the same, with `unit` in the schemas of what is measured in one
 */
export function measured(entries) {
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
