// Tests the values that forms give, refuse and show, for many schemas.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, behaved, open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { HARD, HARD_INPUT } from "./tools.mjs";

const tool = (inputSchema) => ({ name: "t", inputSchema, annotations: { readOnlyHint: true } });
const object = (properties, more) => ({ type: "object", properties, ...more });
async function run({ app, settled }) {
	await settled();
	await app.getByRole("button", { name: "Run", exact: true }).click();
}

/** A schema and a value. The form of the schema must give the value back unchanged. */
const ROUND = {
	"a union by its mark": [
		object({
			shape: {
				anyOf: [
					{ properties: { type: { const: "a" }, size: { type: "number" } } },
					{ properties: { type: { const: "b" }, size: { type: "string" } } }
				]
			}
		}),
		{ shape: { type: "b", size: "5" } }
	],
	"what the schema does not know": [
		object({ a: { type: "string" } }),
		{ a: "x", extra: { deep: [1, "2"] }, more: null }
	],
	"a wrong kind": [object({ a: {}, n: { type: "string" } }), { a: 12345.5, n: "12" }],
	"old tuples": [
		object({
			pair: {
				type: "array",
				items: [{ type: "string" }, { type: "integer" }],
				additionalItems: { type: "boolean" }
			}
		}),
		{ pair: ["x", 1, true, false] }
	],
	"definitions and $id": [
		{
			...object({ a: { $ref: "#/definitions/x" }, b: { $ref: "https://example.com/y" } }),
			definitions: { x: { type: "integer" }, y: { $id: "https://example.com/y", enum: [1, "1"] } }
		},
		{ a: 0, b: "1" }
	],
	"a root that is a union": [
		{
			type: "object",
			oneOf: [
				object({ q: { type: "string" } }, { required: ["q"], title: "Search" }),
				object({ id: { type: "integer" } }, { required: ["id"], title: "Look up" })
			]
		},
		{ id: 5 }
	],
	"a map of maps": [
		object({
			m: { type: "object", additionalProperties: { type: "object", additionalProperties: { type: "integer" } } }
		}),
		{ m: { a: { b: 1 }, "": {} } }
	],
	"repeated choices": [object({ list: { type: "array", items: { enum: ["a", "b"] } } }), { list: ["a", "a", "b"] }],
	"null in many places": [
		object({
			o: { type: ["object", "null"], properties: { x: { type: "integer" } } },
			l: { anyOf: [{ type: "array", items: { type: ["integer", "null"] } }, { type: "null" }] },
			n: { type: "null" }
		}),
		{ o: null, l: [1, null], n: null }
	],
	"times without an offset": [
		object({ t: { type: "string" }, d: { type: "string", format: "date-time" } }),
		{ t: "", d: "2026-03-01T10:00:00-08:00" }
	],
	// `__proto__` is left out, since the host's library drops it.
	"dangerous names": [
		object({ constructor: { type: "string" }, toString: { type: "integer" } }),
		JSON.parse('{"constructor": "c", "toString": 1}')
	],
	"a schema that holds itself": [
		{ type: "object", properties: { next: { $ref: "#" }, v: { type: "integer" } } },
		{ v: 1, next: { v: 2, next: { v: 3 } } }
	],
	"parts put together": [
		object(
			{ x: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }], description: "both" } },
			{
				$defs: {
					a: object({ p: { type: "number", minimum: 1 } }),
					b: object({ p: { maximum: 5 }, q: { type: "string" } })
				}
			}
		),
		{ x: { p: 3, q: "s" } }
	]
};

/** Defaults of optional values are shown, but not sent: the tool applies them. */
const DEFAULTS = [
	object(
		{
			zero: { type: "number", default: 0 },
			no: { type: "boolean", default: false },
			unit: { enum: ["m", "ft"], enumNames: ["Metres", "Feet"], default: "ft" },
			names: { type: "array", items: { type: "string" }, default: ["a", "b"] },
			list: { type: "array", items: { type: "integer" }, default: [0] },
			must: { type: "integer", default: 3 },
			blank: { type: "string", default: "" },
			nothing: { type: ["string", "null"], default: null },
			unset: { type: "string" }
		},
		{ required: ["must"] }
	),
	{ must: 3, blank: "", nothing: null }
];

test("forms", { timeout: 300_000 }, async (t) => {
	const hosts = await startHosts(t, { reuse: true });
	const show = async (t, schema) => open(t, hosts, await makePage(tool(schema)));

	for (const [name, [schema, value]] of Object.entries(ROUND)) {
		await t.test(`comes back: ${name}`, { timeout: 30_000 }, async (t) => {
			const view = await show(t, schema);
			// Sent as text, since names with a meaning in JavaScript would otherwise be lost.
			await view.host.evaluate(
				(text) => window.send("sendToolInput", { arguments: JSON.parse(text) }),
				JSON.stringify(value)
			);
			await run(view);
			await view.calls(1);
			assert.deepEqual(
				JSON.parse(await view.host.evaluate(() => JSON.stringify(window.log.calls[0].arguments))),
				value
			);
			await accessible(view);
		});
	}

	await t.test("defaults are shown where nothing is set, and left to the tool", { timeout: 30_000 }, async (t) => {
		const view = await show(t, DEFAULTS[0]);
		const { app } = view;
		assert.equal(await app.getByLabel("Zero").getAttribute("placeholder"), "0 (default)");
		assert.equal(await app.getByLabel("No", { exact: true }).locator("option").first().textContent(), "No (default)");
		assert.equal(await app.getByLabel("Unit").locator("option").first().textContent(), "Feet (default)");
		assert.equal(await app.getByLabel("Names").getAttribute("placeholder"), "a, b (default)");
		await app.getByText("Default: [0]").waitFor();
		await run(view);
		assert.deepEqual((await view.calls(1))[0].arguments, DEFAULTS[1]);
		await app.getByRole("button", { name: "Edit input" }).click();
		await app.getByRole("switch", { name: "List" }).check();
		await run(view);
		assert.deepEqual((await view.calls(2))[1].arguments, { ...DEFAULTS[1], list: [0] }, "switched on, it begins with it");
	});

	await t.test("filled in by hand", { timeout: 60_000 }, async (t) => {
		const view = await open(t, hosts, await makePage(HARD));
		const { app } = view;
		await run(view);
		await app.getByText(/things need attention/).waitFor();
		assert.deepEqual((await view.log()).calls, []);
		await app.getByRole("button", { name: "Text", exact: true }).click();
		await view.host.keyboard.type("hi");
		await app.getByLabel("Must").check();
		await app.getByLabel("Street").fill("Rua 1");
		await app.getByLabel("Kind").selectOption("Bank transfer");
		await app.getByLabel("Iban").fill("PT50");
		const people = app.getByRole("group", { name: "People" });
		await people.getByLabel("Name").fill("Ada");
		await people.getByRole("button", { name: "Add item" }).click();
		await people.getByRole("group", { name: "Item 2" }).getByLabel("Name").fill("Bo");
		await people.getByRole("button", { name: "Remove item 1" }).click();
		await people.getByRole("group", { name: "Item 1" }).getByLabel("Age").fill("7");
		await app.getByRole("group", { name: "Pair" }).getByLabel("Weight").fill("1.5");
		await app.getByRole("group", { name: "Pair" }).getByLabel("Name").fill("w");
		await app.getByRole("switch", { name: "Tags" }).check();
		await app.getByLabel("blue").check();
		await app.getByLabel("red").check();
		await app.getByRole("switch", { name: "Labels" }).check();
		const labels = app.getByRole("group", { name: "Labels" });
		await labels.getByRole("button", { name: "Add entry" }).click();
		await labels.getByLabel("Name").fill("a");
		await labels.getByLabel("Value").fill("1");
		await app.getByLabel("Mode").selectOption("advanced");
		await app.getByLabel("Level").fill("2");
		await app.getByLabel("Maybe").fill("m");
		await app.getByLabel("At", { exact: true }).fill("2026-03-01T10:20:30");
		await app.getByRole("switch", { name: "Tree" }).check();
		await app.getByRole("group", { name: "Tree" }).getByLabel("Label").fill("root");
		await run(view);
		const sent = (await view.calls(1))[0].arguments;
		assert.match(sent.at, /^2026-03-01T10:20:30(Z|[+-]\d\d:\d\d)$/);
		assert.deepEqual(
			{ ...sent, at: "" },
			{
				text: "hi",
				empty: "",
				must: true,
				fixed: "v1",
				optional: null,
				home: { street: "Rua 1" },
				payment: { kind: "bank", iban: "PT50" },
				tree: { label: "root" },
				people: [{ name: "Bo", age: 7 }],
				pair: ["w", 1.5],
				tags: ["blue", "red"],
				labels: { a: "1" },
				mode: "advanced",
				level: 2,
				maybe: "m",
				at: ""
			}
		);
		await behaved(view);
	});

	const refused = {
		"Must be 14 or less.": [object({ n: { type: "integer", maximum: 14 } }), "15"],
		"Must be a whole number.": [object({ n: { type: "integer" } }), "1.5"],
		"Must be a number, such as 12 or 0.5.": [object({ n: { type: "number" } }), "1,5"],
		"Cannot be sent exactly": [object({ n: { type: "integer" } }), "9007199254740993"],
		"Must be an e-mail address.": [object({ n: { type: "string", format: "email" } }), "nobody"],
		"Must match ^[A-Z]+$": [object({ n: { type: "string", pattern: "^[A-Z]+$" } }), "abc"],
		"Must not be this.": [object({ n: { type: "string", not: { const: "no" } } }), "no"],
		"Is not JSON": [object({ n: {} }), "{"],
		"Holds a whole number that cannot be sent exactly.": [object({ n: {} }), "[9007199254740993]"],
		"Must be a date and time": [
			object({ n: { type: "string", format: "date-time" } }),
			undefined,
			"2026-02-30T10:00:00Z"
		],
		"Fits more than one of the alternatives.": [
			object({
				n: {
					oneOf: [
						{ type: "string", minLength: 1 },
						{ type: "string", maxLength: 9 }
					]
				}
			}),
			undefined,
			"x"
		],
		"Needs 2 or more.": [
			object({ n: { type: "array", items: { type: "string" }, minItems: 2 } }),
			undefined,
			["x"]
		],
		"Each may be there only once.": [
			object({
				n: {
					type: "array",
					items: { type: "object", properties: { a: { type: "integer" } } },
					uniqueItems: true
				}
			}),
			undefined,
			[{ a: 1 }, { a: 1 }]
		]
	};
	for (const [message, [schema, typed, given]] of Object.entries(refused)) {
		await t.test(`refused: ${message}`, { timeout: 30_000 }, async (t) => {
			const view = await show(t, schema);
			if (given === undefined) {
				await view.app.locator("input,textarea").first().fill(typed);
			} else {
				await view.send("sendToolInput", { arguments: { n: given } });
			}
			await run(view);
			await view.app.locator("p.error", { hasText: message }).waitFor();
			assert.deepEqual((await view.log()).calls, []);
			const label = view.app.locator(".head, legend", { has: view.app.locator("label, .tick, span") }).first();
			assert.ok(await label.isVisible());
			const focused = view.app.locator(":focus");
			assert.ok(await focused.evaluate((one) => one.matches("input, textarea, button, select")), "the focus is at it");
			await accessible(view);
		});
	}

	await t.test("fields have sizes that fit their values", { timeout: 30_000 }, async (t) => {
		const properties = { count: { type: "integer" }, day: { type: "string", format: "date" }, mail: { type: "string", format: "email" }, kind: { enum: ["a", "b"] }, about: { type: "string" }, code: { type: "string", maxLength: 8 } };
		const view = await show(t, { type: "object", properties });
		const widths = {};
		for (const [key, label] of Object.entries({ count: "Count", day: "Day", mail: "Mail", kind: "Kind", about: "About", code: "Code" })) {
			widths[key] = (await view.app.getByLabel(label, { exact: true }).boundingBox()).width;
		}
		for (const key of ["count", "day", "kind", "code"]) {
			assert.ok(widths[key] < 260, `${key}: ${JSON.stringify(widths)}`);
		}
		assert.ok(widths.mail > widths.count && widths.about > widths.mail, JSON.stringify(widths));
	});

	await t.test("what needs attention is named by the labels", { timeout: 30_000 }, async (t) => {
		const size = { type: "integer", maximum: 5 };
		const view = await show(t, object({ pageSize: size, rows: { type: "array", items: object({ "user_id": size, "7": size }) } }));
		await view.send("sendToolInput", { arguments: { pageSize: 9, rows: [{ user_id: 1 }, { "user_id": 9, "7": 9 }] } });
		await run(view);
		await view.app.locator(".summary li").nth(2).waitFor();
		assert.deepEqual(await view.app.locator(".summary li button").allTextContents(), ["Page size", "Rows › 2 › 7", "Rows › 2 › User ID"]);
	});

	await t.test("an empty text is sent when the user says so", { timeout: 30_000 }, async (t) => {
		const view = await show(t, object({ s: { type: "string" } }, { required: ["s"] }));
		await run(view);
		await view.app.getByRole("button", { name: "Send it empty" }).click();
		await run(view);
		assert.deepEqual((await view.calls(1))[0].arguments, { s: "" });
	});

	await t.test(
		"what the model writes is shown as it comes, and what the user writes stays",
		{ timeout: 30_000 },
		async (t) => {
			const view = await open(t, hosts, await makePage(HARD));
			await view.send("sendToolInputPartial", {
				arguments: { text: "he", mode: "adv", home: { street: "R" }, people: [{}] }
			});
			await view.app.getByText("The input is being written").waitFor();
			assert.equal(await view.app.getByLabel("Text", { exact: true }).inputValue(), "he");
			await view.send("sendToolInput", { arguments: HARD_INPUT });
			assert.equal(await view.app.getByLabel("Text", { exact: true }).inputValue(), "hello");
			await view.app.getByLabel("Text", { exact: true }).fill("mine");
			await view.send("sendToolInput", { arguments: { text: "theirs" } });
			assert.equal(await view.app.getByLabel("Text", { exact: true }).inputValue(), "mine");
		}
	);

	await t.test("schemas without end, and without sense", { timeout: 60_000 }, async (t) => {
		const endless = {
			type: "object",
			properties: { a: { $ref: "#/$defs/n" } },
			required: ["a"],
			$defs: {
				n: {
					type: "object",
					properties: { l: { $ref: "#/$defs/n" }, r: { $ref: "#/$defs/n" } },
					required: ["l", "r"]
				},
				loop: { $ref: "#/$defs/loop" }
			}
		};
		const senseless = object(
			{
				a: { $ref: "#/$defs/loop" },
				b: { $ref: "https://example.com/nowhere" },
				c: { allOf: [{ $ref: "#/properties/c" }] },
				d: { type: "nonsense" },
				e: { enum: [] },
				f: false,
				g: true,
				h: { oneOf: [] },
				i: { type: "string", pattern: "(" },
				j: { type: "array", items: false },
				k: { properties: { x: null } }
			},
			{ $defs: { loop: { $ref: "#/$defs/loop" } } }
		);
		for (const schema of [
			endless,
			senseless,
			{},
			{ type: "object" },
			true,
			null,
			{
				type: "object",
				properties: Object.fromEntries(
					Array.from({ length: 400 }, (_, index) => [`p${index}`, { type: "string" }])
				)
			}
		]) {
			const view = await show(t, schema);
			await view.app.getByRole("button", { name: "Run", exact: true }).waitFor();
			await behaved(view);
		}
	});
});
