// Prepares JSON Schema for forms and answers: follows references, merges parts, and finds the kind of each value.

import { canon, equal, has, isObject } from "./dom.js";
import { say } from "./say.js";

const MORE = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const LESS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const MAPS = ["properties", "patternProperties"];
const SCHEMAS = ["items", "additionalProperties", "propertyNames", "contains"];

/** Keywords of a schema that do not influence its field. */
const ANNOTATIONS = /^(\$|title$|description$|default$|examples$|deprecated$|readOnly$|writeOnly$|x-)/;

const list = (value) => (value === undefined ? [] : [value].flat());

/** Merges two schemas into one, as far as a form can show it. `check` enforces the rest. */
export function merge(a, b) {
	if (a === false || b === false) {
		return false;
	}
	if (!isObject(a) || !isObject(b)) {
		return isObject(a) ? a : b;
	}
	const all = { ...a };
	for (const [key, value] of Object.entries(b)) {
		const old = all[key];
		if (!has(all, key)) {
			all[key] = value;
		} else if (MAPS.includes(key)) {
			all[key] = Object.fromEntries(
				[...new Set([...Object.keys(old), ...Object.keys(value)])].map((name) => [
					name,
					has(old, name) && has(value, name)
						? { allOf: [old[name], value[name]] }
						: has(old, name)
							? old[name]
							: value[name]
				])
			);
		} else if (key === "required" || key === "conditions") {
			all[key] = [...new Set([...old, ...value])];
		} else if (key === "enum") {
			all[key] = old.filter((one) => value.some((other) => equal(one, other)));
		} else if (key === "type") {
			all[key] = list(old).flatMap((one) =>
				list(value).includes(one)
					? one
					: one === "number" && list(value).includes("integer")
						? "integer"
						: one === "integer" && list(value).includes("number")
							? one
							: []
			);
		} else if (MORE.includes(key)) {
			all[key] = Math.max(old, value);
		} else if (LESS.includes(key)) {
			all[key] = Math.min(old, value);
		} else if (SCHEMAS.includes(key)) {
			all[key] = key === "additionalProperties" ? merge(old, value) : { allOf: [old, value] };
		} else if (key === "oneOf" || key === "anyOf") {
			all[has(all, "anyOf") ? "oneOf" : "anyOf"] = value;
		} else {
			all[key] = value;
		}
	}
	return all;
}

/** Every `$anchor` and `$id` of a schema. */
function names(root) {
	const found = new Map();
	const seen = new Set();
	const walk = (schema) => {
		if (typeof schema !== "object" || schema === null || seen.has(schema)) {
			return;
		}
		seen.add(schema);
		for (const key of ["$anchor", "$dynamicAnchor"]) {
			typeof schema[key] === "string" && found.set(`#${schema[key]}`, schema);
		}
		typeof schema.$id === "string" && found.set(schema.$id, schema);
		Object.values(schema).forEach(walk);
	};
	walk(root);
	return found;
}

const unescape = (part) => {
	try {
		return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
	} catch {
		return part;
	}
};

/** The target of a JSON pointer within `value`. */
export const point = (value, pointer, decode = unescape) =>
	pointer
		.split("/")
		.slice(1)
		.map(decode)
		.reduce(
			(inner, key) =>
				typeof inner === "object" && inner !== null && Object.hasOwn(inner, key) ? inner[key] : undefined,
			value
		);

/** Reads the schemas within `root`. `follow` gives the schema that a `$ref` names. `look` also merges `allOf`. */
export function reader(root) {
	const anchors = names(root);
	const looked = new WeakMap();
	// Schemas outside the root are never fetched. They count as `true`, which accepts any value.
	const follow = (ref) => anchors.get(ref) ?? (/^#(\/|$)/.test(ref) ? point(root, ref.slice(1)) : undefined) ?? true;

	function look(schema, within = []) {
		if (!isObject(schema)) {
			return schema ?? true;
		}
		if (within.includes(schema)) {
			return true;
		}
		const known = looked.get(schema);
		if (known !== undefined) {
			return known;
		}
		const inner = [...within, schema];
		const {
			$ref,
			$dynamicRef,
			allOf,
			if: when,
			then,
			else: otherwise,
			dependentRequired,
			dependentSchemas,
			dependencies,
			...rest
		} = schema;
		const conditions = when === undefined ? [] : [{ when, then, otherwise }];
		for (const [name, needs] of Object.entries({ ...dependencies, ...dependentRequired, ...dependentSchemas })) {
			conditions.push({ when: { required: [name] }, then: Array.isArray(needs) ? { required: needs } : needs });
		}
		const own = conditions.length ? { ...rest, conditions } : rest;
		const parts = [...list(allOf), ...list($ref ?? $dynamicRef).map(follow)].map((part) => look(part, inner));
		const sum = [...parts, own].reduce((all, part) => merge(all, part));
		// Annotations beside a `$ref` take precedence over those of its target.
		const all = isObject(sum) ? { ...sum, ...pick(own) } : sum;
		within.length || looked.set(schema, all);
		return all;
	}

	return { look, follow };
}

const pick = (schema) =>
	Object.fromEntries(
		Object.entries(schema).filter(([key]) => ["title", "description", "default", "examples"].includes(key))
	);

const typed = (type) => (schema) => schema.type === type;

/** The types of schemas without `type`, by their keywords. */
const HINTS = [
	[
		"object",
		/^(properties|patternProperties|additionalProperties|required|propertyNames|m(in|ax)Properties|conditions)$/
	],
	["array", /^(items|prefixItems|uniqueItems|contains|m(in|ax)Items)$/],
	["string", /^(pattern|format|m(in|ax)Length|content(Encoding|MediaType))$/],
	["number", /^(multipleOf|(exclusiveM|m)(in|ax)imum)$/]
];

/** Whether a schema only has conditions, and does not describe a value. */
const onlyHolds = (schema) =>
	isObject(schema) && Object.keys(schema).every((key) => ["required", "not"].includes(key) || ANNOTATIONS.test(key));

/** The choices of an enumeration, with their titles; `undefined` if the schema is not an enumeration. */
function choicesOf(schema, look) {
	if (Array.isArray(schema.enum)) {
		const titles = schema.enumNames ?? schema["x-enumNames"] ?? schema["x-enum-varnames"] ?? [];
		return schema.enum.map((value, index) => ({ value, title: titles[index] }));
	}
	const branches = (schema.oneOf ?? schema.anyOf)?.map((branch) => look(branch));
	if (
		branches?.length &&
		branches.every((branch) => has(branch, "const") || (isObject(branch) && Array.isArray(branch.enum)))
	) {
		return branches.flatMap((branch) =>
			has(branch, "const")
				? { value: branch.const, title: branch.title ?? branch.description }
				: choicesOf(branch, look)
		);
	}
	return undefined;
}

/**
 * The kind of value that a schema describes.
 *
 * @param schema as `look` gives it
 * @returns `kind`, whether the value is `nullable`, the `schema` (without its parts for `null`), and
 *          the `choices` of an enumeration or the `branches` of a union
 */
export function shapeOf(schema, look) {
	if (!isObject(schema)) {
		return { kind: schema === false ? "never" : "any", schema: {} };
	}
	if (has(schema, "const")) {
		return { kind: "const", schema };
	}
	const choices = choicesOf(schema, look);
	if (choices) {
		return { kind: "enum", schema, choices };
	}
	for (const key of ["oneOf", "anyOf"]) {
		const { [key]: branches, ...base } = schema;
		if (!Array.isArray(branches) || !branches.length || branches.map((branch) => look(branch)).every(onlyHolds)) {
			continue;
		}
		const open = branches
			.map((branch) => look(branch))
			.filter((branch) => !typed("null")(branch) && !(has(branch, "const") && branch.const === null));
		const nullable = open.length < branches.length;
		const whole = open.map((branch) =>
			look({ ...merge(base, branch), ...(branch.title && { title: branch.title }) })
		);
		if (whole.length === 1) {
			const one = { ...whole[0], ...pick(base) };
			return { ...shapeOf(one, look), nullable: nullable || shapeOf(one, look).nullable };
		}
		return { kind: "union", schema: base, branches: whole, nullable };
	}
	const types = list(schema.type);
	const open = types.filter((type) => type !== "null");
	const nullable = open.length < types.length;
	if (open.length > 1 && !(open.length === 2 && open.includes("number") && open.includes("integer"))) {
		const { title, description, default: _, examples, ...base } = schema;
		return { kind: "union", schema, branches: open.map((type) => ({ ...base, type })), nullable };
	}
	const said = open.includes("number") ? "number" : open[0];
	const keys = Object.keys(schema);
	const kind = has(KINDS, said)
		? said
		: nullable
			? "null"
			: (HINTS.find(([, hint]) => keys.some((key) => hint.test(key)))?.[0] ?? "any");
	return { kind, schema: { ...schema, type: kind }, nullable: nullable && open.length > 0 };
}

const KINDS = {
	string: "kindText",
	number: "kindNumber",
	integer: "kindWhole",
	boolean: "kindBoolean",
	array: "kindList",
	object: "kindGroup",
	null: "kindNothing",
	any: "kindAny"
};

/** The label of a branch of a union: its title, the value that distinguishes it from the others, or its kind. */
export function branchTitle(branch, all, look) {
	const constants = (one) =>
		Object.entries(one.properties ?? {})
			.map(([name, inner]) => [name, look(inner)])
			.filter(([, inner]) => has(inner, "const") || inner.enum?.length === 1)
			.map(([name, inner]) => [name, has(inner, "const") ? inner.const : inner.enum[0]]);
	const mark = constants(branch).find(([name, value]) =>
		all.every(
			(other) => other === branch || !constants(other).some(([key, same]) => key === name && equal(same, value))
		)
	);
	return (
		branch.title ??
		(mark
			? String(mark[1])
			: has(branch, "const")
				? canon(branch.const)
				: (branch.description?.slice(0, 60) ?? say(KINDS[shapeOf(branch, look).kind] ?? "kindChoice")))
	);
}
