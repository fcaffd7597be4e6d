// Checks values against JSON Schema 2020-12, and against keywords of older drafts.

import { canon, equal, has, isObject, showNumber } from "./dom.js";
import { say } from "./say.js";

const LEVELS = 40;

export const TYPES = {
	string: (value) => typeof value === "string",
	number: (value) => typeof value === "number",
	integer: (value) => Number.isInteger(value),
	boolean: (value) => typeof value === "boolean",
	null: (value) => value === null,
	array: Array.isArray,
	object: isObject
};

/** The messages that name each expected type. */
const CALLED = {
	string: "aText",
	number: "aNumber",
	integer: "aWhole",
	boolean: "aBoolean",
	null: "aNothing",
	array: "aList",
	object: "aGroup"
};

const isDate = (text) =>
	/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);
const isTime = (text) => /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i.test(text);

/** The formats that are checked, each with the message that names the expected text. */
const FORMATS = {
	date: [isDate, "aDate"],
	time: [isTime, "aTime"],
	"date-time": [
		(text) => isDate(text.slice(0, 10)) && /^t/i.test(text[10] ?? "") && isTime(text.slice(11)),
		"aDateTime"
	],
	email: [(text) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/.test(text), "anEmail"],
	uri: [(text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text), "anAddress"],
	uuid: [(text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text), "aUuid"],
	ipv4: [(text) => /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/.test(text), "anIp"],
	color: [(text) => /^#([\da-f]{3}|[\da-f]{6})$/i.test(text), "aColour"]
};

/** A pattern as a regular expression; `undefined` if it is not valid. */
function expression(pattern) {
	for (const flags of ["u", ""]) {
		try {
			return new RegExp(pattern, flags);
		} catch {
			// Without the flag `u`, unknown escapes are allowed.
		}
	}
	return undefined;
}

/** The limits of a value: the keyword (also the name of the message), the type that it applies to, and whether a value breaks it. */
const LIMITS = [
	["minimum", "number", (value, limit) => value < limit],
	["maximum", "number", (value, limit) => value > limit],
	["exclusiveMinimum", "number", (value, limit) => value <= limit],
	["exclusiveMaximum", "number", (value, limit) => value >= limit],
	["multipleOf", "number", (value, step) => Math.abs(value / step - Math.round(value / step)) > 1e-9],
	["minLength", "string", (value, limit) => [...value].length < limit],
	["maxLength", "string", (value, limit) => [...value].length > limit],
	["pattern", "string", (value, pattern) => expression(pattern)?.test(value) === false],
	["minItems", "array", (value, limit) => value.length < limit],
	["maxItems", "array", (value, limit) => value.length > limit],
	["uniqueItems", "array", (value, on) => on === true && new Set(value.map(canon)).size < value.length],
	["minProperties", "object", (value, limit) => Object.keys(value).length < limit],
	["maxProperties", "object", (value, limit) => Object.keys(value).length > limit]
];

/**
 * Makes a function that checks values against schemas which may refer to each other.
 *
 * @param follow gives the schema that a `$ref` names
 * @returns `check(schema, value)`, which gives the faults as `{ path, message }`, and `best(branches, value)`,
 *          the branch that a value is most likely meant for
 */
export function checker(follow) {
	function check(schema, value, path = [], level = 0) {
		if (schema === false) {
			return [{ path, message: say("notThere") }];
		}
		if (!isObject(schema) || level > LEVELS) {
			return [];
		}
		const found = [];
		const fault = (message, ...more) => found.push({ path: [...path, ...more], message });
		const also = (inner, part = value, ...more) => found.push(...check(inner, part, [...path, ...more], level + 1));
		const holds = (inner, part = value) => check(inner, part, [], level + 1).length === 0;

		const types = [schema.type ?? []].flat();
		if (types.length && !types.some((type) => TYPES[type]?.(value))) {
			const names = types.map((type) => (has(CALLED, type) ? say(CALLED[type]) : String(type)));
			const what = names.reduce((one, other) => say("or", { one, other }));
			return [{ path, kind: true, message: say("mustBe", { what }) }];
		}
		has(schema, "const") && !equal(schema.const, value) && fault(say("mustBe", { what: canon(schema.const) }));
		schema.enum?.some?.((one) => equal(one, value)) === false && fault(say("oneOfChoices"));
		const called = LIMITS.filter(
			([keyword, type, broken]) => has(schema, keyword) && TYPES[type](value) && broken(value, schema[keyword])
		);
		called.forEach(([keyword]) => {
			const limit = schema[keyword];
			fault(say(keyword, { limit: typeof limit === "number" ? showNumber(limit) : limit }));
		});
		const format = typeof value === "string" && has(FORMATS, schema.format) && FORMATS[schema.format];
		format && !format[0](value) && fault(say("mustBe", { what: say(format[1]) }));

		const reference = schema.$ref ?? schema.$dynamicRef;
		reference === undefined || also(follow(reference));
		schema.allOf?.forEach((part) => also(part));
		has(schema, "not") && holds(schema.not) && fault(say("notThis"));
		has(schema, "if") && also((holds(schema.if) ? schema.then : schema.else) ?? true);
		for (const key of ["anyOf", "oneOf"]) {
			const each = schema[key]?.map?.((part) => check(part, value, path, level + 1)) ?? [];
			const fits = each.filter((faults) => faults.length === 0).length;
			fits > 1 && key === "oneOf" && fault(say("fitsMore"));
			each.length && !fits && found.push(...each[nearest(schema[key], value, each, path.length)]);
		}
		Array.isArray(value) && ofList(schema, value, also, holds, fault);
		isObject(value) && ofObject(schema, value, also, fault);
		return found;
	}

	function ofList(schema, value, also, holds, fault) {
		const { first, rest } = tuple(schema);
		value.forEach((item, index) => also(index < first.length ? first[index] : (rest ?? true), item, index));
		if (has(schema, "contains")) {
			const count = value.filter((item) => holds(schema.contains, item)).length;
			count < (schema.minContains ?? 1) && fault(say("missesItem"));
			count > (schema.maxContains ?? Infinity) && fault(say("manyOfKind"));
		}
	}

	function ofObject(schema, value, also, fault) {
		const missing = (names) => names.filter((name) => !has(value, name)).forEach((name) => fault(say("required"), name));
		Array.isArray(schema.required) && missing(schema.required);
		for (const [name, needs] of Object.entries({
			...schema.dependencies,
			...schema.dependentRequired,
			...schema.dependentSchemas
		})) {
			has(value, name) && (Array.isArray(needs) ? missing(needs) : also(needs));
		}
		for (const [name, inner] of Object.entries(value)) {
			const patterns = Object.entries(schema.patternProperties ?? {}).filter(([pattern]) =>
				expression(pattern)?.test(name)
			);
			has(schema.properties, name) && also(schema.properties[name], inner, name);
			patterns.forEach(([, part]) => also(part, inner, name));
			patterns.length || has(schema.properties, name) || also(schema.additionalProperties ?? true, inner, name);
			has(schema, "propertyNames") && also(schema.propertyNames, name, name);
		}
	}

	/** The index of the branch with the least grave faults. */
	function nearest(branches, value, each, depth) {
		const constants = (schema) =>
			isObject(schema)
				? [schema, schema.$ref !== undefined && follow(schema.$ref)]
						.flatMap((one) => Object.entries(one?.properties ?? {}))
						.filter(([, part]) => has(part, "const"))
				: [];
		const graves = each.map((faults, index) => {
			const other = constants(branches[index]).some(
				([name, part]) => has(value, name) && !equal(value[name], part.const)
			);
			// A wrong type is worse than a wrong constant. A wrong constant is worse than any number of other faults.
			return faults.length + 1e4 * other + 1e6 * faults.some(({ path, kind }) => kind && path.length === depth);
		});
		return graves.indexOf(Math.min(...graves));
	}

	const best = (branches, value) =>
		branches[
			nearest(
				branches,
				value,
				branches.map((branch) => check(branch, value)),
				0
			)
		];

	return { check, best };
}

/** The schemas of the first items, and of the rest. */
export const tuple = (schema) =>
	Array.isArray(schema.items)
		? { first: schema.items, rest: schema.additionalItems }
		: { first: schema.prefixItems ?? [], rest: schema.items };

/** The schema of a property that is not listed. */
export const extra = (schema, name) => {
	const patterns = Object.entries(schema.patternProperties ?? {})
		.filter(([pattern]) => expression(pattern)?.test(name))
		.map(([, part]) => part);
	return patterns.length
		? { allOf: patterns }
		: (schema.additionalProperties ?? schema.unevaluatedProperties ?? true);
};
