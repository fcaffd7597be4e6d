// Tests that the runtime and Ajv agree about the validity of every value here against every schema here.

import assert from "node:assert/strict";
import Ajv from "ajv/dist/2020.js";
import { test } from "node:test";
import { checker } from "../../plugins/ui/resources/src/check.js";
import { reader, shapeOf } from "../../plugins/ui/resources/src/schema.js";
import { HARD, HARD_INPUT } from "./tools.mjs";

// `multipleOf: 0.1` is left out: Ajv refuses 4.3, since binary fractions are not exact. The runtime accepts it.
const SCHEMAS = [
	true,
	false,
	{},
	{ type: "integer" },
	{ type: ["string", "null"] },
	{ const: { a: [1], b: 2 } },
	{ enum: [1, "1", null, { b: 2, a: [1] }] },
	{ minimum: 1, exclusiveMaximum: 5, multipleOf: 0.5 },
	{ minLength: 2, maxLength: 3, pattern: "^[a-c😀]+$" },
	{ prefixItems: [{ type: "string" }], items: { type: "integer" } },
	{ minItems: 1, maxItems: 2, uniqueItems: true },
	{ contains: { type: "integer" }, minContains: 1, maxContains: 1 },
	{ items: false },
	{ properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false },
	{ patternProperties: { "^n_": { type: "integer" } }, additionalProperties: { type: "string" } },
	{ propertyNames: { maxLength: 2 }, minProperties: 1, maxProperties: 2 },
	{ dependentRequired: { a: ["b"] } },
	{ dependentSchemas: { a: { required: ["b"] } } },
	{ if: { properties: { a: { const: 1 } }, required: ["a"] }, then: { required: ["b"] }, else: { type: "object" } },
	{ not: { type: "string" } },
	{ allOf: [{ type: "object" }, { required: ["a"] }] },
	{ anyOf: [{ type: "integer" }, { minLength: 3 }] },
	{ oneOf: [{ type: "integer" }, { minimum: 2 }] },
	{ $ref: "#/$defs/n", $defs: { n: { type: "object", properties: { a: { $ref: "#/$defs/n" } }, required: ["b"] } } },
	{ $ref: "#here", $defs: { x: { $anchor: "here", type: "array" } } },
	{ $defs: { "a/b~c": { type: "boolean" } }, $ref: "#/$defs/a~1b~0c" }
];

const VALUES = [
	null,
	true,
	0,
	1,
	2,
	4.3,
	5,
	-1.5,
	"",
	"a",
	"ab",
	"😀😀",
	"abcd",
	[],
	[1],
	[1, 1],
	["a", 1],
	["a", "b"],
	[
		{ a: 1, b: 2 },
		{ b: 2, a: 1 }
	],
	{},
	{ a: 1 },
	{ a: [1], b: 2 },
	{ a: 1, b: "x" },
	{ b: 1, a: { b: 1 } },
	{ n_x: "1" },
	{ n_x: 1, o: "s" },
	{ long: "s" },
	{ constructor: "s" },
	{ a: 1, b: 2, c: 3 }
];

const ours = (schema) => checker(reader(schema).follow).check;

for (const schema of SCHEMAS) {
	test(`the verdicts agree with Ajv: ${JSON.stringify(schema)}`, () => {
		const validate = new Ajv({ strict: false }).compile(schema);
		for (const value of VALUES) {
			assert.equal(ours(schema)(schema, value).length === 0, validate(value), JSON.stringify(value));
		}
	});
}

test("the verdicts about missing and wrong arguments agree with Ajv", () => {
	const validate = new Ajv({ strict: false, validateFormats: false }).compile(HARD.inputSchema);
	const check = ours(HARD.inputSchema);
	assert.deepEqual(check(HARD.inputSchema, HARD_INPUT), []);
	for (const name of Object.keys(HARD_INPUT)) {
		for (const value of [undefined, null, {}, [], 99, false]) {
			const { [name]: _, ...input } = HARD_INPUT;
			const changed = value === undefined ? input : { ...input, [name]: value };
			assert.equal(
				check(HARD.inputSchema, changed).length === 0,
				validate(changed),
				`${name}: ${JSON.stringify(value)}`
			);
		}
	}
});

test("nested alternatives are checked quickly", () => {
	const schema = {
		$defs: {
			e: {
				oneOf: [
					{ type: "integer" },
					...["a", "b", "c"].map((op) => ({
						properties: { op: { const: op }, l: { $ref: "#/$defs/e" } },
						required: ["op", "l"]
					}))
				]
			}
		},
		$ref: "#/$defs/e"
	};
	let value = "wrong";
	for (let depth = 0; depth < 7; depth += 1) {
		value = { op: "b", l: value };
	}
	const found = ours(schema)(schema, value);
	assert.equal(found.at(-1).path.length, 7);
});

test("kinds are found without `type`", () => {
	const { look } = reader({});
	const kinds = [{ properties: {} }, { items: {} }, { pattern: "" }, { minimum: 1 }, {}, { type: "nonsense" }];
	assert.deepEqual(
		kinds.map((schema) => shapeOf(look(schema), look).kind),
		["object", "array", "string", "number", "any", "any"]
	);
});
