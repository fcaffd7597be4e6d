// Tools for the tests, from very simple to very difficult ones.

export const WEATHER = {
	name: "get_weather",
	title: "Weather forecast",
	description: "Forecast for a city, day by day.",
	inputSchema: {
		type: "object",
		properties: {
			city: { type: "string", description: "City to look up", examples: ["Lisbon"] },
			days: { type: "integer", minimum: 1, maximum: 14, default: 5 },
			units: { enum: ["metric", "imperial"], enumNames: ["Celsius", "Fahrenheit"], default: "metric" },
			alerts: { type: "boolean", default: false }
		},
		required: ["city"]
	},
	outputSchema: {
		type: "object",
		properties: {
			city: { type: "string", title: "City" },
			updated: { type: "string", format: "date-time", title: "Updated" },
			days: {
				type: "array",
				title: "Days",
				items: {
					type: "object",
					properties: {
						date: { type: "string", format: "date", title: "Date" },
						high: { type: "number", title: "High °C" },
						low: { type: "number", title: "Low °C" },
						rain: { type: "number", title: "Rain mm" },
						sky: { type: "string", title: "Sky" }
					}
				}
			}
		}
	},
	annotations: { readOnlyHint: true }
};

const SKIES = ["Sunny", "Cloudy", "Showers", "Clear", "Fog", "Sunny", "Rain"];

export const FORECAST = {
	city: "Lisbon",
	updated: "2026-03-01T07:30:00Z",
	days: SKIES.map((sky, index) => ({
		date: `2026-03-0${index + 1}`,
		high: 18.5 + (index % 3),
		low: 9 + (index % 4),
		rain: index * 0.6,
		sky
	}))
};

export const DELETE = {
	name: "delete_file",
	title: "Delete a file",
	inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
	annotations: { destructiveHint: true }
};

const $defs = {
	address: {
		type: "object",
		title: "Address",
		properties: { street: { type: "string" }, zip: { type: "string", pattern: "^\\d{5}$" } },
		required: ["street"]
	},
	node: {
		type: "object",
		properties: { label: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
		required: ["label"]
	},
	card: {
		type: "object",
		title: "Card",
		properties: { kind: { const: "card" }, number: { type: "string", minLength: 4 } },
		required: ["kind", "number"]
	},
	bank: {
		type: "object",
		title: "Bank transfer",
		properties: { kind: { const: "bank" }, iban: { type: "string" } },
		required: ["kind", "iban"]
	},
	tagged: { $anchor: "tagged", type: "string", title: "Tagged" }
};

/** A tool with every kind of parameter. */
export const HARD = {
	name: "hard",
	title: "Everything at once",
	description: "A schema with all that JSON Schema offers.",
	inputSchema: {
		$schema: "https://json-schema.org/draft/2020-12/schema",
		type: "object",
		$defs,
		properties: {
			text: { type: "string", minLength: 2, maxLength: 40 },
			empty: { type: "string", default: "" },
			zero: { type: "integer", default: 0 },
			off: { type: "boolean", default: false },
			must: { type: "boolean" },
			ratio: { type: "number", exclusiveMinimum: 0, maximum: 1, multipleOf: 0.25 },
			mixed: { enum: ["a", 1, true, null, { deep: [1] }], title: "Mixed choices" },
			titled: {
				oneOf: [
					{ const: 1, title: "One" },
					{ const: 2, title: "Two" }
				]
			},
			fixed: { const: "v1" },
			maybe: { type: ["string", "null"] },
			optional: { anyOf: [{ type: "integer" }, { type: "null" }], default: null, title: "Optional number" },
			either: { type: ["string", "number", "array"], items: { type: "string" } },
			home: { $ref: "#/$defs/address", description: "Where to send it" },
			work: { $ref: "#/$defs/address" },
			payment: { oneOf: [{ $ref: "#/$defs/card" }, { $ref: "#/$defs/bank" }] },
			tree: { $ref: "#/$defs/node" },
			tags: { type: "array", items: { type: "string", enum: ["red", "green", "blue"] }, uniqueItems: true },
			people: {
				type: "array",
				minItems: 1,
				maxItems: 3,
				items: {
					type: "object",
					properties: { name: { type: "string" }, age: { type: "integer", minimum: 0 } },
					required: ["name"]
				}
			},
			pair: {
				type: "array",
				prefixItems: [
					{ type: "string", title: "Name" },
					{ type: "number", title: "Weight" }
				],
				items: false,
				minItems: 2
			},
			labels: { type: "object", additionalProperties: { type: "string" } },
			counts: { type: "object", patternProperties: { "^n_": { type: "integer" } }, additionalProperties: false },
			both: {
				allOf: [
					{ type: "object", properties: { a: { type: "string" } }, required: ["a"] },
					{ properties: { b: { type: "integer" } } }
				]
			},
			day: { type: "string", format: "date" },
			at: { type: "string", format: "date-time" },
			clock: { type: "string", format: "time" },
			mail: { type: "string", format: "email" },
			site: { type: "string", format: "uri" },
			key: { type: "string", format: "uuid" },
			paint: { type: "string", format: "color" },
			secret: { type: "string", format: "password" },
			notes: { type: "string", maxLength: 2000 },
			anchor: { $ref: "#tagged" },
			anything: {},
			free: { type: "object" },
			mode: { enum: ["simple", "advanced"] },
			born: { type: "string", readOnly: true }
		},
		required: ["text", "must", "fixed", "home", "payment", "people", "pair"],
		if: { properties: { mode: { const: "advanced" } }, required: ["mode"] },
		then: { properties: { level: { type: "integer", minimum: 1 } }, required: ["level"] },
		dependentRequired: { mail: ["site"] }
	},
	annotations: { readOnlyHint: true }
};

export const HARD_INPUT = {
	text: "hello",
	empty: "",
	zero: 0,
	off: false,
	must: true,
	ratio: 0.25,
	mixed: { deep: [1] },
	titled: 2,
	fixed: "v1",
	maybe: null,
	optional: null,
	either: ["x", ""],
	home: { street: "Rua 1", zip: "12345" },
	payment: { kind: "bank", iban: "PT50 0000" },
	tree: {
		label: "root",
		children: [
			{ label: "leaf", children: [] },
			{ label: "other", children: [{ label: "deep" }] }
		]
	},
	tags: ["blue", "red"],
	people: [{ name: "Ada", age: 36 }, { name: "Bo" }],
	pair: ["w", 1.5],
	labels: { a: "1", "constructor": "x", "": "no name" },
	counts: { n_a: 1 },
	both: { a: "x", b: 2 },
	day: "2026-02-28",
	at: "2026-02-28T10:11:12.345678+05:30",
	clock: "10:11:12Z",
	mail: "a@b.example",
	site: "https://example.com/?q=1",
	key: "123e4567-e89b-12d3-a456-426614174000",
	paint: "#A1B2C3",
	secret: "hush",
	notes: "line 1\r\nline 2\n",
	anchor: "t",
	anything: { x: [null, 1e21] },
	free: { any: true },
	mode: "advanced",
	level: 3,
	born: "2020"
};
