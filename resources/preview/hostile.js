// Makes hostile answers, to test how a view handles them. No tool is called for them.

import { isObject } from "./text.js";

const MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script></style>{" + "{data}}";
const TURNED = "\u202egnp.exe\u2066\u0000";
const LONG = "long ".repeat(40_000);

const text = (said, more) => ({ content: [{ type: "text", text: said }], ...more });
const data = (value) => text(JSON.stringify(value), { structuredContent: value });

/** A value that fits a schema, in which all texts are `said`. */
function filled(schema, said, depth = 0) {
	if (!isObject(schema) || depth > 6) {
		return said;
	}
	const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	switch (type) {
		case "object":
			return Object.fromEntries(
				Object.entries(schema.properties ?? { [said]: {} }).map(([name, inner]) => [
					name,
					filled(inner, said, depth + 1)
				])
			);
		case "array":
			return [1, 2, 3].map(() => filled(schema.items, said, depth + 1));
		case "integer":
		case "number":
			return -1e300;
		case "boolean":
			return true;
		default:
			return said;
	}
}

const nested = (levels) => Array.from({ length: levels }).reduce((inner) => ({ inner }), "deep");

/** The kinds of hostile answers, by name. Each makes an answer for an output schema. */
const KINDS = {
	"markup in every text": (schema) => data(filled(schema, MARKUP)),
	"text that is turned around": (schema) => data(filled(schema, TURNED)),
	"wrong kinds": () => data({ days: "none", city: [null, { city: 1 }], total: {}, items: 7, rows: [1, "2", null, [], {}] }),
	"odd names": () => data(JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "toString": "x", "": [], " ": null}')),
	"very deep": () => data(nested(400)),
	"very long": (schema) => data(filled(schema, LONG)),
	"very many": () => data(Array.from({ length: 20_000 }, (_, row) => ({ row, name: `row ${row}`, value: row % 7 }))),
	"broken blocks": () => ({
		content: [
			{ type: "image", data: "no base64!", mimeType: "image/png" },
			{ type: "resource_link", uri: "javascript:alert(1)", name: MARKUP },
			{ type: "resource", resource: { uri: "file:///x" } },
			{ type: "hologram" },
			null,
			"text"
		]
	}),
	"an error of markup": () => text(MARKUP, { isError: true }),
	"no answer at all": () => ({ content: "none", structuredContent: "text" })
};

let next = 0;

/** The next hostile answer of a tool: each kind in turn, from the first. */
export function hostile({ outputSchema }) {
	const [name, make] = Object.entries(KINDS)[next++ % Object.keys(KINDS).length];
	return { ...make(outputSchema), _meta: { "portcullis/hostile": name } };
}
