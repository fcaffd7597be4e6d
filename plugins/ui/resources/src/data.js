// Shows any JSON as tables, trees, lists of names and values, and text, depending on its shape and the output schema.

import { clean, cut, h, has, isObject, pretty } from "./dom.js";
import { arrange, GENERIC, isScalar, isShortList, plain } from "./order.js";
import { parts } from "./parts.js";
import { recordsIn } from "./records.js";
import { say } from "./say.js";
import { shapeOf } from "./schema.js";
import { table } from "./table.js";
import { code, jsonIn, textOf } from "./text.js";
import { reading, spoken } from "./values.js";
import { labelOf } from "./words.js";

const DEPTH = 10;
const COLUMNS = 30;

const NAMED = /^(name|title|label|display_?name|login|email|id|key|path|url)$/i;

/** The short text for a value that does not fit. */
function summary(value) {
	const count = Object.keys(value).length;
	if (Array.isArray(value)) {
		return say("items", { count });
	}
	const name = Object.keys(value).find((key) => NAMED.test(key) && isScalar(value[key]) && value[key] !== null);
	return name ? String(value[name]) : say("fields", { count });
}

/**
 * Shows data.
 *
 * @param look reads the output schema's parts
 * @param open called with the URL that the user wants to open
 * @param deeds the user's other actions: `copy(text)`, and if `canSave()` and `canAsk()` say so, `save(name, mimeType, text)` and
 *   `ask(anchor, value)`
 */
export class Viewer {
	constructor(look, open, deeds) {
		Object.assign(this, { look, open, deeds });
	}

	/** The schema of a part, if there is one. */
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

	/** A schema with the title at its place: a referenced schema has a title of its own, and the place says more. */
	placed(schema) {
		return schema && { ...this.about(schema), title: schema.title };
	}

	/** One scalar value. `near` are the values that stand together with it. */
	scalar(value, name = "", schema, beside, near) {
		return reading(name, this.placed(schema), [value], beside && [beside], near).show(value, this.open);
	}

	/** All values of a record as `shown`, with a button to ask the assistant about the record. */
	whole(record, shown) {
		const ask = h("button", { type: "button", class: "small", onclick: () => this.deeds.ask(ask, record) }, say("askAbout"));
		return this.deeds.canAsk() ? h("div", { class: "data" }, shown, ask) : shown;
	}

	/** A value in a cell of a table. It is shortened; the details of the row have the rest. */
	cell(value, name, schema, read) {
		if (isScalar(value)) {
			return read.show(value, this.open, true);
		}
		return isShortList(value) ? this.chips(value, name, schema) : h("span", { class: "hint" }, summary(value));
	}

	chips(value, name, schema) {
		return value.length
			? h("span", { class: "chips" }, value.map((one, index) => h("span", { class: "chip" }, this.scalar(one, name, this.within(schema, index), undefined, value))))
			: h("span", { class: "none" }, say("none"));
	}

	/** Any value. */
	show(value, name = "", schema, depth = 0) {
		if (typeof value === "string" && (value.length > 400 || value.includes("\n")) && !this.about(schema).writeOnly) {
			return textOf(value, this, { depth, level: Math.min(6, depth + 2) });
		}
		if (isScalar(value)) {
			return h("p", { class: /.{12}\s|.{40}/.test(value) ? "text" : "value" }, this.scalar(value, name, schema));
		}
		if (depth > DEPTH) {
			return code(pretty(value), "JSON");
		}
		const shape = parts.shape?.(value, this, schema, depth);
		if (shape) {
			return shape;
		}
		const rows = recordsIn(value, this, schema, name);
		if (rows) {
			const columns = rows.columns.slice(0, COLUMNS);
			const [first, second] = rows.records;
			// A single record that does not fit into a row is shown as names and values.
			const isAlone = Array.isArray(value) && !second && (columns[4] || columns.some(({ key }) => !isScalar(first[key])));
			return h(
				"div",
				{ class: "data" },
				isAlone ? this.whole(first, this.object(first, this.within(schema, 0), depth)) : this.table(rows.records, columns, depth, name && labelOf(name)),
				parts.pictures?.(rows.records, columns, rows.ordinal)
			);
		}
		return Array.isArray(value) ? this.sequence(value, name, schema, depth) : this.object(value, schema, depth, name);
	}

	sequence(value, name, schema, depth, isList) {
		if (!value.length) {
			return h("p", { class: "none" }, say("noEntries"));
		}
		if (isShortList(value) && !isList) {
			return this.chips(value, name, schema);
		}
		return cut(
			h("ul", { class: "list" }),
			value.map((one, index) => [one, index]),
			50,
			(some) =>
				some.map(([one, index]) =>
					h(
						"li",
						{},
						isScalar(one) && !/\n/.test(one)
							? this.scalar(one, name, this.within(schema, index))
							: this.show(one, name, this.within(schema, index), depth + 1)
					)
				)
		);
	}

	/** The parts of an object. Its heading is the name of the thing, or else the `name` of the object if no other heading says it. */
	object(value, schema, depth, name) {
		const order = Object.keys(this.about(schema).properties ?? {});
		const entries = Object.entries(value).map(([key, part]) => [key, (typeof part === "string" && jsonIn(part)) || part, this.within(schema, key)]);
		const isEcho = ([key, part]) => !depth && part !== "" && this.input?.[plain(key)] === part;
		const isRequest = (part) => isObject(part) && Object.values(part).every(isScalar) && Object.entries(part).filter(isEcho).length * 2 > Object.keys(part).length;
		// A list that is a column of the rows beside it says nothing more.
		const isColumn = (list) =>
			Array.isArray(list) && list.length && list.every((one) => typeof one === "string") &&
			entries.some(([, rows]) => Array.isArray(rows) && rows.length === list.length && isObject(rows[0]) && Object.keys(rows[0]).some((key) => rows.every((row, at) => row?.[key] === list[at])));
		const all = (parts.measured?.(entries) ?? entries)
			.filter(([, part]) => !isColumn(part))
			// Of an object that mostly repeats the input, all members are taken for such repetitions.
			.flatMap(([key, part, inner]) => (isRequest(part) ? Object.entries(part).map(([name, one]) => [name, one, this.within(inner, name), true]) : [[key, part, inner]]))
			.sort(([a], [b]) => (order.indexOf(a) + 1 || 1e6) - (order.indexOf(b) + 1 || 1e6));
		if (!all.length) {
			return h("p", { class: "none" }, say("noEntries"));
		}
		const { title, pieces } = arrange(all, ([key, part, inner]) => Boolean(recordsIn(part, this, inner, key)), depth === 0, (entry) => entry[3] || isEcho(entry));
		const sections = pieces.filter(({ kind }) => kind === "section");
		const heading = title?.[1] ?? (!depth && name && !GENERIC.test(plain(name)) && labelOf(name, schema));
		const level = `h${Math.min(6, depth + 2)}`;
		const body = pieces.filter(({ kind }) => kind !== "book");
		// A single part with a general name, such as "items", needs no heading of its own.
		const isPlain = (key) => (sections.length < 2 || body[0].entries[0][0] === key) && (body.length < 2 || GENERIC.test(plain(key)));
		const isSentence = ({ entries: [[key, one], ...more] }) => body.length < 2 && !more.length && isScalar(one) && GENERIC.test(plain(key));
		return h(
			"div",
			{ class: "data" },
			heading && h(level, { class: "name", dir: "auto" }, heading),
			cut(h("div", { class: "data" }), pieces, 20, (some) =>
				some.flatMap((part) =>
					part.kind === "notice"
						? part.entries.map(([, one]) => h("p", { class: "notice" }, spoken(one)))
						: part.kind === "facts" && !isSentence(part)
						? this.details(part.entries.map((entry) => this.fact(entry, value, depth)))
						: part.kind === "book"
							? (this.book(part.entries, value) ?? [])
							: part.entries.map(([key, one, inner]) =>
									isPlain(key)
										? this.show(one, key, inner, depth)
										: h("section", {}, h(level, {}, labelOf(key, inner)), this.show(one, key, inner, depth + 1))
								)
				)
			)
		);
	}

	fact([key, part, inner], beside, depth) {
		const read = reading(key, this.placed(inner), [isScalar(part) ? part : ""], [beside]);
		return {
			label: read.label,
			hint: this.about(inner).description,
			value: isScalar(part)
				? read.show(part, this.open)
				: Array.isArray(part)
					? this.chips(part, key, inner)
					: Object.keys(part).length
						? this.show(part, key, inner, depth + 1)
						: h("span", { class: "none" }, say("none"))
		};
	}

	/** Bookkeeping, such as counts, offsets and sources, in one unobtrusive line. */
	book(entries, beside) {
		const said = entries.map(([key, part, inner]) => {
				const { label, value } = this.fact([key, part, inner], beside, 0);
				return h("span", {}, typeof part === "object" && part && !Object.keys(part).length ? `${label}: ${say("none")}` : [`${label} `, value]);
		});
		return said.length ? h("p", { class: "book" }, said) : undefined;
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

	table(records, columns, depth = 0, name) {
		const tools = {
			about: (schema) => this.placed(schema),
			cell: (...given) => this.cell(...given),
			deeds: this.deeds,
			detail: (record) =>
				this.whole(
					record,
					columns[0].label
						? this.details(columns.map(({ key, label, schema, show }) => ({ label, value: show?.(record) ?? this.fact([key, record[key], schema], record, depth).value })))
						: this.object(record, undefined, depth + 1)
				)
		};
		return table(records, columns, tools, name && clean(name));
	}

}
