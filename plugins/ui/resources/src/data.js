// Shows any JSON: tables, lists of names and values, and text, by its shape and by what the output schema says.

import { chartOf } from "./chart.js";
import { cut, h, has, isObject, longText, pretty, showNumber, showTime, timeOf, words } from "./dom.js";
import { shapeOf } from "./schema.js";
import { table } from "./table.js";

const DEPTH = 10;
const COLUMNS = 30;

/** As many records say which columns there are. */
const SAMPLE = 1000;

const isScalar = (value) => typeof value !== "object" || value === null;

/**
 * What shows data.
 *
 * @param look reads the output schema's parts
 * @param open called with an address that the user wants to open
 */
export class Viewer {
	constructor(look, open) {
		Object.assign(this, { look, open });
	}

	/** The schema of a part, as far as there is one. */
	within(schema, key) {
		const { schema: known } = shapeOf(this.look(schema), this.look);
		const part =
			typeof key === "number"
				? known.items
				: has(known.properties, key)
					? known.properties[key]
					: isObject(known.additionalProperties)
						? known.additionalProperties
						: undefined;
		return isObject(part) ? part : undefined;
	}

	about(schema) {
		return schema ? this.look(schema) : {};
	}

	nameOf(key, schema) {
		// A referenced schema is named for what it is; the name of its place tells more.
		return (isObject(schema) && schema.title) || words(key);
	}

	link(address) {
		return h("button", { type: "button", class: "link", onclick: () => this.open(address) }, address);
	}

	/** One value, in a word or a sentence. */
	scalar(value, name, schema) {
		const { format, writeOnly } = this.about(schema);
		if (writeOnly || format === "password") {
			return "••••••";
		}
		if (value === null || value === undefined || value === "") {
			return h("span", { class: "none" }, value === "" ? "empty" : "—");
		}
		if (typeof value === "number") {
			return h(
				"span",
				{
					class: "number",
					title: Number.isInteger(value) && !Number.isSafeInteger(value) && "may have been rounded on its way"
				},
				showNumber(value, name)
			);
		}
		if (typeof value === "boolean") {
			return h("span", { class: value ? "badge yes" : "badge" }, value ? "Yes" : "No");
		}
		if (timeOf(value) !== undefined) {
			return h("time", { datetime: value, title: value }, showTime(value));
		}
		if (/^https?:\/\/\S{1,2000}$/i.test(value)) {
			return this.link(value);
		}
		return value.length > 400 ? longText(value, "p") : h("span", { dir: "auto" }, value);
	}

	/** A value within a table or a list. */
	cell(value, name, schema, depth) {
		if (isScalar(value)) {
			return this.scalar(value, name, schema);
		}
		const keys = Object.keys(value);
		if (
			Array.isArray(value) &&
			value.length <= 6 &&
			value.every((one) => isScalar(one) && String(one).length < 40)
		) {
			return value.length
				? h(
						"span",
						{ class: "chips" },
						value.map((one, index) =>
							h("span", { class: "chip" }, this.scalar(one, name, this.within(schema, index)))
						)
					)
				: this.scalar(null);
		}
		const count = `${showNumber(keys.length)} ${Array.isArray(value) ? "item" : "field"}${keys.length === 1 ? "" : "s"}`;
		const box = h("details", {}, h("summary", {}, count));
		box.addEventListener(
			"toggle",
			() => box.children.length < 2 && box.append(this.show(value, name, schema, depth + 1))
		);
		return box;
	}

	/** Any value. */
	show(value, name = "", schema, depth = 0) {
		if (isScalar(value)) {
			return typeof value === "string" &&
				(value.length > 400 || value.includes("\n")) &&
				!this.about(schema).writeOnly
				? longText(value)
				: h("p", { class: "value" }, this.scalar(value, name, schema));
		}
		if (depth > DEPTH) {
			return longText(pretty(value));
		}
		const rows = this.rowsOf(value, schema);
		if (rows) {
			const { records, columns, ordinal } = rows;
			return h("div", { class: "data" }, chartOf(records, columns, ordinal), this.table(records, columns, depth));
		}
		return Array.isArray(value) ? this.sequence(value, name, schema, depth) : this.object(value, schema, depth);
	}

	/** Data as a table: its records and columns; `undefined` if it is no such thing. */
	rowsOf(value, schema) {
		const columnsOf = (records, item) => {
			const keys = [
				...new Set([
					...Object.keys(this.about(item).properties ?? {}),
					...records.slice(0, SAMPLE).flatMap((record) => Object.keys(record))
				])
			].filter((key) => records.some((record) => has(record, key)));
			return keys.slice(0, COLUMNS).map((key) => ({
				key,
				label: this.nameOf(key, this.within(item, key)),
				schema: this.within(item, key)
			}));
		};
		if (Array.isArray(value)) {
			if (!value.length) {
				return undefined;
			}
			if (value.every(isObject)) {
				const item = this.within(schema, 0);
				return { records: value, columns: columnsOf(value, item) };
			}
			if (value.length > 1 && value.every((one) => typeof one === "number")) {
				return {
					records: value.map((one, index) => ({ "#": index + 1, value: one })),
					columns: [
						{ key: "#", label: "#" },
						{ key: "value", label: "Value" }
					],
					ordinal: true
				};
			}
			const width = value[0]?.length;
			return width && value.every((row) => Array.isArray(row) && row.length === width && row.every(isScalar))
				? {
						records: value.map((row) => ({ ...row })),
						columns: value[0]
							.slice(0, COLUMNS)
							.map((_, index) => ({ key: String(index), label: String(index + 1) }))
					}
				: undefined;
		}
		const parts = Object.entries(value);
		const length = parts[0]?.[1]?.length;
		// Columns side by side, as measurements often come.
		if (
			parts.length > 1 &&
			length > 1 &&
			parts.every(([, part]) => Array.isArray(part) && part.length === length && part.every(isScalar))
		) {
			const records = parts[0][1].map((_, index) =>
				Object.fromEntries(parts.map(([key, part]) => [key, part[index]]))
			);
			return {
				records,
				columns: parts.slice(0, COLUMNS).map(([key]) => ({
					key,
					label: this.nameOf(key, this.within(schema, key)),
					schema: this.within(this.within(schema, key) ?? {}, 0)
				}))
			};
		}
		// A map of counts: names that no schema lists.
		if (parts.length > 2 && !this.about(schema).properties && parts.every(([, part]) => typeof part === "number")) {
			return {
				records: parts.map(([name, part]) => ({ name, value: part })),
				columns: [
					{ key: "name", label: "Name" },
					{ key: "value", label: "Value" }
				]
			};
		}
		return undefined;
	}

	sequence(value, name, schema, depth) {
		if (!value.length) {
			return h("p", { class: "none" }, "No entries");
		}
		return cut(
			h("ul", {}),
			value.map((one, index) => [one, index]),
			50,
			(some) =>
				some.map(([one, index]) =>
					h(
						"li",
						{},
						isScalar(one)
							? this.scalar(one, name, this.within(schema, index))
							: this.show(one, name, this.within(schema, index), depth + 1)
					)
				)
		);
	}

	object(value, schema, depth) {
		const order = Object.keys(this.about(schema).properties ?? {});
		const all = Object.entries(value)
			.map(([key, part]) => [key, part, this.within(schema, key)])
			.sort(([a], [b]) => (order.indexOf(a) + 1 || 1e6) - (order.indexOf(b) + 1 || 1e6));
		if (!all.length) {
			return h("p", { class: "none" }, "No entries");
		}
		const small = all.filter(
			([, part]) =>
				(isScalar(part) && String(part).length <= 400) ||
				(Array.isArray(part) &&
					part.length <= 6 &&
					part.every((one) => isScalar(one) && String(one).length < 40))
		);
		const large = all.filter((one) => !small.includes(one));
		return h(
			"div",
			{ class: "data" },
			small.length > 0 &&
				this.details(
					small.map(([key, part, inner]) => ({
						label: this.nameOf(key, inner),
						hint: this.about(inner).description,
						value: this.cell(part, key, inner, depth)
					}))
				),
			large.length > 0 &&
				cut(h("div", { class: "data" }), large, 20, (some) =>
					some.map(([key, part, inner]) =>
						h(
							"section",
							{},
							h(`h${Math.min(6, depth + 3)}`, {}, this.nameOf(key, inner)),
							this.show(part, key, inner, depth + 1)
						)
					)
				)
		);
	}

	/** Names and values. */
	details(rows) {
		return cut(h("div", { class: "details" }), rows, 60, (some) =>
			h(
				"dl",
				{},
				some.map(({ label, hint, value }) => h("div", {}, h("dt", { title: hint }, label), h("dd", {}, value)))
			)
		);
	}

	table(records, columns, depth = 0) {
		return table(records, columns, (value, name, schema) => this.cell(value, name, schema, depth));
	}
}
