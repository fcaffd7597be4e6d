// Shows any JSON: tables, trees, lists of names and values, and text, by its shape and by what the output schema says.

import { clean, cut, h, has, isObject, pretty } from "./dom.js";
import { arrange, GENERIC, isScalar, isShortList, plain } from "./order.js";
import { parts } from "./parts.js";
import { recordsIn } from "./records.js";
import { say } from "./say.js";
import { shapeOf } from "./schema.js";
import { table } from "./table.js";
import { code, textOf } from "./text.js";
import { reading } from "./values.js";
import { labelOf } from "./words.js";

const DEPTH = 10;
const COLUMNS = 30;

const NAMED = /^(name|title|label|display_?name|login|email|id|key|path|url)$/i;

/** What a value that does not fit says of itself. */
function summary(value) {
	const count = Object.keys(value).length;
	if (Array.isArray(value)) {
		return say("items", { count });
	}
	const name = Object.keys(value).find((key) => NAMED.test(key) && isScalar(value[key]) && value[key] !== null);
	return name ? String(value[name]) : say("fields", { count });
}

/**
 * What shows data.
 *
 * @param look reads the output schema's parts
 * @param open called with an address that the user wants to open
 * @param deeds what else the user can do: `copy(text)`, and where `canSave()` and `canAsk()` say so, `save(name, mimeType, text)` and
 *   `ask(anchor, value)`
 */
export class Viewer {
	constructor(look, open, deeds) {
		Object.assign(this, { look, open, deeds });
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

	/** A schema as it stands at its place: a referenced one is named for what it is, and its place tells more. */
	placed(schema) {
		return schema && { ...this.about(schema), title: schema.title };
	}

	/** One value, in a word or a sentence. */
	scalar(value, name = "", schema, beside) {
		return reading(name, this.placed(schema), [value], beside && [beside]).show(value, this.open);
	}

	/** A whole record of a table, with a way to ask the assistant about it. */
	whole(record, depth, schema) {
		const shown = this.object(record, schema, depth + 1);
		const ask = h("button", { type: "button", class: "small", onclick: () => this.deeds.ask(ask, record) }, say("askAbout"));
		return this.deeds.canAsk() ? h("div", { class: "data" }, shown, ask) : shown;
	}

	/** A value within a table: short, with what is left out in the details of its row. */
	cell(value, name, schema, read) {
		if (isScalar(value)) {
			return read.show(value, this.open, true);
		}
		return isShortList(value) ? this.chips(value, name, schema) : h("span", { class: "hint" }, summary(value));
	}

	chips(value, name, schema) {
		return value.length
			? h("span", { class: "chips" }, value.map((one, index) => h("span", { class: "chip" }, this.scalar(one, name, this.within(schema, index)))))
			: h("span", { class: "none" }, say("none"));
	}

	/** Any value. */
	show(value, name = "", schema, depth = 0) {
		if (typeof value === "string" && (value.length > 400 || value.includes("\n")) && !this.about(schema).writeOnly) {
			return textOf(value, this, { depth: depth + 1, level: Math.min(6, depth + 2) });
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
			// One record of which a row shows only a part stands as names and values.
			const isAlone = Array.isArray(value) && !second && (columns[4] || columns.some(({ key }) => !isScalar(first[key])));
			return h(
				"div",
				{ class: "data" },
				isAlone ? this.whole(first, depth - 1, this.within(schema, 0)) : this.table(rows.records, columns, depth, name && labelOf(name)),
				parts.pictures?.(rows.records, columns, rows.ordinal)
			);
		}
		return Array.isArray(value) ? this.sequence(value, name, schema, depth) : this.object(value, schema, depth);
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

	object(value, schema, depth) {
		const order = Object.keys(this.about(schema).properties ?? {});
		const entries = Object.entries(value).map(([key, part]) => [key, part, this.within(schema, key)]);
		const all = (parts.measured?.(entries) ?? entries)
			.sort(([a], [b]) => (order.indexOf(a) + 1 || 1e6) - (order.indexOf(b) + 1 || 1e6));
		if (!all.length) {
			return h("p", { class: "none" }, say("noEntries"));
		}
		const { title, pieces } = arrange(all, ([key, part, inner]) => Boolean(recordsIn(part, this, inner, key)), depth === 0);
		const sections = pieces.filter(({ kind }) => kind === "section");
		const level = `h${Math.min(6, depth + 2)}`;
		const body = pieces.filter(({ kind }) => kind !== "book");
		// A part alone, or the first if its name is "items", needs no heading of its own.
		const isPlain = (key) => (sections.length < 2 || body[0].entries[0][0] === key) && (body.length < 2 || GENERIC.test(plain(key)));
		const isSentence = ({ entries: [[key, one], ...more] }) => body.length < 2 && !more.length && isScalar(one) && GENERIC.test(plain(key));
		return h(
			"div",
			{ class: "data" },
			title && h(level, { class: "name", dir: "auto" }, title[1]),
			cut(h("div", { class: "data" }), pieces, 20, (some) =>
				some.flatMap((part) =>
					part.kind === "notice"
						? part.entries.map(([, one]) => h("p", { class: "notice" }, one))
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

	/** Counts, offsets, sources: one quiet line. */
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
			detail: columns.some(({ show }) => show) ? undefined : (record) => this.whole(record, depth)
		};
		return table(records, columns, tools, name && clean(name));
	}

}
