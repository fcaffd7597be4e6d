// Shows any JSON: tables, lists of names and values, and text, by its shape and by what the output schema says.

import { chartOf } from "./chart.js";
import { cut, h, has, isObject, longText, pretty, showNumber, showTime, timeOf, words } from "./dom.js";
import { shapeOf } from "./schema.js";

const DEPTH = 10;
const PAGE = 20;
const COLUMNS = 30;

const isScalar = (value) => typeof value !== "object" || value === null;

/**
 * What shows data.
 *
 * @param look reads the output schema's parts
 * @param open called with an address that the user wants to open
 */
export function viewer(look, open) {
	/** The schema of a part, as far as there is one. */
	const within = (schema, key) => {
		const { schema: known } = shapeOf(look(schema), look);
		const part = typeof key === "number" ? known.items : has(known.properties, key) ? known.properties[key] : isObject(known.additionalProperties) ? known.additionalProperties : undefined;
		return isObject(part) ? part : undefined;
	};
	const about = (schema) => schema ? look(schema) : {};
	const nameOf = (key, schema) => about(schema).title ?? words(key);

	function link(address) {
		return h("button", { type: "button", class: "link", onclick: () => open(address) }, address);
	}

	/** One value, in a word or a sentence. */
	function scalar(value, name, schema) {
		const { format, writeOnly } = about(schema);
		if (writeOnly || format === "password") {
			return "••••••";
		}
		if (value === null || value === undefined || value === "") {
			return h("span", { class: "none" }, value === "" ? "empty" : "—");
		}
		if (typeof value === "number") {
			return h("span", { class: "number", title: Number.isInteger(value) && !Number.isSafeInteger(value) && "may have been rounded on its way" }, showNumber(value, name));
		}
		if (typeof value === "boolean") {
			return h("span", { class: value ? "badge yes" : "badge" }, value ? "Yes" : "No");
		}
		if (timeOf(value) !== undefined) {
			return h("time", { datetime: value, title: value }, showTime(value));
		}
		if (/^https?:\/\/\S{1,2000}$/i.test(value)) {
			return link(value);
		}
		return value.length > 400 ? longText(value, "p") : h("span", { dir: "auto" }, value);
	}

	/** A value within a table or a list. */
	function cell(value, name, schema, depth) {
		if (isScalar(value)) {
			return scalar(value, name, schema);
		}
		const keys = Object.keys(value);
		if (Array.isArray(value) && value.length <= 6 && value.every((one) => isScalar(one) && String(one).length < 40)) {
			return value.length ? h("span", { class: "chips" }, value.map((one, index) => h("span", { class: "chip" }, scalar(one, name, within(schema, index))))) : scalar(null);
		}
		const count = `${showNumber(keys.length)} ${Array.isArray(value) ? "item" : "field"}${keys.length === 1 ? "" : "s"}`;
		const box = h("details", {}, h("summary", {}, count));
		box.addEventListener("toggle", () => box.children.length < 2 && box.append(show(value, name, schema, depth + 1)));
		return box;
	}

	/** Any value. */
	function show(value, name = "", schema, depth = 0) {
		if (isScalar(value)) {
			return typeof value === "string" && (value.length > 400 || value.includes("\n")) && !about(schema).writeOnly ? longText(value) : h("p", { class: "value" }, scalar(value, name, schema));
		}
		if (depth > DEPTH) {
			return longText(pretty(value));
		}
		const rows = rowsOf(value, schema);
		if (rows) {
			const { records, columns, ordinal } = rows;
			return h("div", { class: "data" }, chartOf(records, columns, ordinal), table(records, columns, depth));
		}
		return Array.isArray(value) ? sequence(value, name, schema, depth) : object(value, schema, depth);
	}

	/** Data as a table: its records and columns; `undefined` if it is no such thing. */
	function rowsOf(value, schema) {
		const columnsOf = (records, item) => {
			const keys = [...new Set([...Object.keys(about(item).properties ?? {}), ...records.flatMap((record) => Object.keys(record))])]
				.filter((key) => records.some((record) => has(record, key)));
			return keys.slice(0, COLUMNS).map((key) => ({ key, label: nameOf(key, within(item, key)), schema: within(item, key) }));
		};
		if (Array.isArray(value)) {
			if (!value.length) {
				return undefined;
			}
			if (value.every(isObject)) {
				const item = within(schema, 0);
				return { records: value, columns: columnsOf(value, item) };
			}
			if (value.length > 1 && value.every((one) => typeof one === "number")) {
				return { records: value.map((one, index) => ({ "#": index + 1, value: one })), columns: [{ key: "#", label: "#" }, { key: "value", label: "Value" }], ordinal: true };
			}
			const width = value[0]?.length;
			return width && value.every((row) => Array.isArray(row) && row.length === width && row.every(isScalar))
				? { records: value.map((row) => ({ ...row })), columns: value[0].slice(0, COLUMNS).map((_, index) => ({ key: String(index), label: String(index + 1) })) }
				: undefined;
		}
		const parts = Object.entries(value);
		const length = parts[0]?.[1]?.length;
		// Columns side by side, as measurements often come.
		if (parts.length > 1 && length > 1 && parts.every(([, part]) => Array.isArray(part) && part.length === length && part.every(isScalar))) {
			const records = parts[0][1].map((_, index) => Object.fromEntries(parts.map(([key, part]) => [key, part[index]])));
			return { records, columns: parts.slice(0, COLUMNS).map(([key]) => ({ key, label: nameOf(key, within(schema, key)), schema: within(within(schema, key) ?? {}, 0) })) };
		}
		// A map of counts: names that no schema lists.
		if (parts.length > 2 && !about(schema).properties && parts.every(([, part]) => typeof part === "number")) {
			return { records: parts.map(([name, part]) => ({ name, value: part })), columns: [{ key: "name", label: "Name" }, { key: "value", label: "Value" }] };
		}
		return undefined;
	}

	function sequence(value, name, schema, depth) {
		if (!value.length) {
			return h("p", { class: "none" }, "No entries");
		}
		return cut(h("ul", {}), value.map((one, index) => [one, index]), 50, (some) => some.map(([one, index]) =>
			h("li", {}, isScalar(one) ? scalar(one, name, within(schema, index)) : show(one, name, within(schema, index), depth + 1))));
	}

	function object(value, schema, depth) {
		const order = Object.keys(about(schema).properties ?? {});
		const all = Object.entries(value).map(([key, part]) => [key, part, within(schema, key)])
			.sort(([a], [b]) => (order.indexOf(a) + 1 || 1e6) - (order.indexOf(b) + 1 || 1e6));
		if (!all.length) {
			return h("p", { class: "none" }, "No entries");
		}
		const small = all.filter(([, part]) => isScalar(part) && String(part).length <= 400 || Array.isArray(part) && part.length <= 6 && part.every((one) => isScalar(one) && String(one).length < 40));
		const large = all.filter((one) => !small.includes(one));
		return h("div", { class: "data" }, small.length > 0 && details(small.map(([key, part, inner]) => ({ label: nameOf(key, inner), hint: about(inner).description, value: cell(part, key, inner, depth) }))),
			large.length > 0 && cut(h("div", { class: "data" }), large, 20, (some) => some.map(([key, part, inner]) => h("section", {},
				h(`h${Math.min(6, depth + 3)}`, {}, nameOf(key, inner)), show(part, key, inner, depth + 1)))));
	}

	/** Names and values. */
	const details = (rows) => cut(h("div", { class: "details" }), rows, 60, (some) => h("dl", {}, some.map(({ label, hint, value }) =>
		h("div", {}, h("dt", { title: hint }, label), h("dd", {}, value)))));

	/** A table that can be sorted and leafed through. */
	function table(records, columns, depth = 0) {
		let order = records;
		let page = 0;
		let by;
		const isNumeric = ({ key }) => records.every((record) => record[key] === undefined || record[key] === null || typeof record[key] === "number");
		const numeric = columns.map((column) => isNumeric(column) && records.some((record) => typeof record[column.key] === "number"));
		const heads = columns.map((column, index) => h("th", { scope: "col", class: numeric[index] && "right" },
			h("button", { type: "button", onclick: () => sort(index) }, column.label, h("span", { "aria-hidden": "true", class: "arrow" }))));
		const body = h("tbody", {});
		const where = h("span", { role: "status" });
		const [back, on] = [["Previous", -1], ["Next", 1]].map(([text, step]) => h("button", { type: "button", onclick: () => {
			page += step;
			draw();
		} }, text));
		function compare(a, b) {
			const missing = (value) => value === undefined || value === null;
			return missing(a) || missing(b) ? missing(a) - missing(b)
				: by.sign * (typeof a === "number" && typeof b === "number" ? a - b : String(isScalar(a) ? a : pretty(a)).localeCompare(String(isScalar(b) ? b : pretty(b)), undefined, { numeric: true }));
		}
		function sort(index) {
			by = { index, sign: by?.index === index ? -by.sign : 1 };
			const { key } = columns[index];
			order = [...records].sort((a, b) => compare(a[key], b[key]));
			heads.forEach((head, place) => place === index ? head.setAttribute("aria-sort", by.sign > 0 ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
			page = 0;
			draw();
		}
		function draw() {
			const from = page * PAGE;
			body.replaceChildren(...order.slice(from, from + PAGE).map((record) => h("tr", {}, columns.map((column, index) =>
				h("td", { class: numeric[index] && "right" }, column.show ? column.show(record) : cell(has(record, column.key) ? record[column.key] : undefined, column.key, column.schema, depth))))));
			where.textContent = `${showNumber(from + 1)}–${showNumber(Math.min(from + PAGE, order.length))} of ${showNumber(order.length)}`;
			back.disabled = page === 0;
			on.disabled = from + PAGE >= order.length;
		}
		draw();
		return h("div", { class: "table" },
			h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)),
			records.length > PAGE && h("div", { class: "pages" }, back, where, on));
	}

	return { show, scalar, table, details, rowsOf, link };
}
