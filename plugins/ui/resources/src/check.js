// Says what is wrong with a value, by JSON Schema 2020-12 (and what older drafts wrote otherwise).

import { canon, equal, has, isObject, showNumber } from "./dom.js";

const LEVELS = 40;

const TYPES = {
	string: (value) => typeof value === "string",
	number: (value) => typeof value === "number",
	integer: (value) => Number.isInteger(value),
	boolean: (value) => typeof value === "boolean",
	null: (value) => value === null,
	array: Array.isArray,
	object: isObject
};

const CALLED = {
	string: "text",
	number: "a number",
	integer: "a whole number",
	boolean: "yes or no",
	null: "nothing",
	array: "a list",
	object: "a group"
};

const isDate = (text) =>
	/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);
const isTime = (text) => /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i.test(text);

/** The formats that are checked, with what to write. */
const FORMATS = {
	date: [isDate, "a date such as 2026-03-01"],
	time: [isTime, "a time with its offset such as 14:30:00Z"],
	"date-time": [
		(text) => isDate(text.slice(0, 10)) && /^t/i.test(text[10] ?? "") && isTime(text.slice(11)),
		"a date and time with its offset such as 2026-03-01T14:30:00Z"
	],
	email: [(text) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/.test(text), "an e-mail address"],
	uri: [(text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text), "an address such as https://example.com"],
	uuid: [(text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text), "a UUID"],
	ipv4: [(text) => /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/.test(text), "an IPv4 address"],
	color: [(text) => /^#([\da-f]{3}|[\da-f]{6})$/i.test(text), "a colour such as #3366ff"]
};

/** A pattern as an expression; `undefined` if it is none. */
function expression(pattern) {
	for (const flags of ["u", ""]) {
		try {
			return new RegExp(pattern, flags);
		} catch {
			// Without `u`, escapes that mean nothing are allowed.
		}
	}
	return undefined;
}

/** The limits of a value: keyword, whom it concerns, whether it is broken, and what to say. */
const LIMITS = [
	["minimum", "number", (value, limit) => value < limit, (limit) => `Must be ${limit} or more.`],
	["maximum", "number", (value, limit) => value > limit, (limit) => `Must be ${limit} or less.`],
	["exclusiveMinimum", "number", (value, limit) => value <= limit, (limit) => `Must be more than ${limit}.`],
	["exclusiveMaximum", "number", (value, limit) => value >= limit, (limit) => `Must be less than ${limit}.`],
	[
		"multipleOf",
		"number",
		(value, step) => Math.abs(value / step - Math.round(value / step)) > 1e-9,
		(step) => `Must be a multiple of ${step}.`
	],
	[
		"minLength",
		"string",
		(value, limit) => [...value].length < limit,
		(limit) => `Must have ${limit} characters or more.`
	],
	[
		"maxLength",
		"string",
		(value, limit) => [...value].length > limit,
		(limit) => `Must have ${limit} characters or fewer.`
	],
	[
		"pattern",
		"string",
		(value, pattern) => expression(pattern)?.test(value) === false,
		(pattern) => `Must match ${pattern}`
	],
	["minItems", "array", (value, limit) => value.length < limit, (limit) => `Needs ${limit} or more.`],
	["maxItems", "array", (value, limit) => value.length > limit, (limit) => `Takes ${limit} or fewer.`],
	[
		"uniqueItems",
		"array",
		(value, on) => on === true && new Set(value.map(canon)).size < value.length,
		() => "Each may be there only once."
	],
	[
		"minProperties",
		"object",
		(value, limit) => Object.keys(value).length < limit,
		(limit) => `Needs ${limit} or more entries.`
	],
	[
		"maxProperties",
		"object",
		(value, limit) => Object.keys(value).length > limit,
		(limit) => `Takes ${limit} or fewer entries.`
	]
];

/**
 * Makes a function that checks values against schemas which may refer to each other.
 *
 * @param follow leads to what a `$ref` names
 * @returns `check(schema, value)`, which gives what is wrong as `{ path, message }`, and `best(branches, value)`,
 *          the branch that a value is most likely meant for
 */
export function checker(follow) {
	function check(schema, value, path = [], level = 0) {
		if (schema === false) {
			return [{ path, message: "Must not be there." }];
		}
		if (!isObject(schema) || level > LEVELS) {
			return [];
		}
		const found = [];
		const say = (message, ...more) => found.push({ path: [...path, ...more], message });
		const also = (inner, part = value, ...more) => found.push(...check(inner, part, [...path, ...more], level + 1));
		const holds = (inner, part = value) => check(inner, part, [], level + 1).length === 0;

		const types = [schema.type ?? []].flat();
		if (types.length && !types.some((type) => TYPES[type]?.(value))) {
			return [
				{ path, kind: true, message: `Must be ${types.map((type) => CALLED[type] ?? type).join(" or ")}.` }
			];
		}
		has(schema, "const") && !equal(schema.const, value) && say(`Must be ${canon(schema.const)}.`);
		schema.enum?.some?.((one) => equal(one, value)) === false && say("Must be one of the choices.");
		const called = LIMITS.filter(
			([keyword, type, broken]) => has(schema, keyword) && TYPES[type](value) && broken(value, schema[keyword])
		);
		called.forEach(([keyword, , , message]) =>
			say(message(typeof schema[keyword] === "number" ? showNumber(schema[keyword]) : schema[keyword]))
		);
		const format = typeof value === "string" && has(FORMATS, schema.format) && FORMATS[schema.format];
		format && !format[0](value) && say(`Must be ${format[1]}.`);

		const reference = schema.$ref ?? schema.$dynamicRef;
		reference === undefined || also(follow(reference));
		schema.allOf?.forEach((part) => also(part));
		has(schema, "not") && holds(schema.not) && say("Must not be this.");
		has(schema, "if") && also((holds(schema.if) ? schema.then : schema.else) ?? true);
		for (const key of ["anyOf", "oneOf"]) {
			const each = schema[key]?.map?.((part) => check(part, value, path, level + 1)) ?? [];
			const fits = each.filter((faults) => faults.length === 0).length;
			fits > 1 && key === "oneOf" && say("Fits more than one of the alternatives.");
			each.length && !fits && found.push(...each[nearest(schema[key], value, each, path.length)]);
		}
		Array.isArray(value) && ofList(schema, value, also, holds, say);
		isObject(value) && ofObject(schema, value, also, say);
		return found;
	}

	function ofList(schema, value, also, holds, say) {
		const { first, rest } = tuple(schema);
		value.forEach((item, index) => also(index < first.length ? first[index] : (rest ?? true), item, index));
		if (has(schema, "contains")) {
			const count = value.filter((item) => holds(schema.contains, item)).length;
			count < (schema.minContains ?? 1) && say("Something that must be in it is missing.");
			count > (schema.maxContains ?? Infinity) && say("Has too many of a kind.");
		}
	}

	function ofObject(schema, value, also, say) {
		const missing = (names) => names.filter((name) => !has(value, name)).forEach((name) => say("Required.", name));
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

	/** The place of the branch with the least grave faults. */
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
			// The wrong kind is worse than a wrong mark, and that than any number of details.
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
