// A table that can be sorted and leafed through.

import { h, has, pretty, showNumber } from "./dom.js";

const PAGE = 20;

/** What is not there stands last, whichever way it is sorted. */
function compare(a, b, sign) {
	const isMissing = (value) => value === undefined || value === null;
	if (isMissing(a) || isMissing(b)) {
		return isMissing(a) - isMissing(b);
	}
	const text = (value) => (typeof value === "object" ? pretty(value) : String(value));
	return (
		sign *
		(typeof a === "number" && typeof b === "number"
			? a - b
			: text(a).localeCompare(text(b), undefined, { numeric: true }))
	);
}

/**
 * A table that can be sorted and leafed through.
 *
 * @param columns `key`, `label`, and `show(record)` for what is shown otherwise; @param cell shows a value
 */
export function table(records, columns, cell) {
	let order = records;
	let page = 0;
	let by;
	const isNumeric = ({ key }) =>
		records.every((record) => record[key] === undefined || record[key] === null || typeof record[key] === "number");
	const numeric = columns.map(
		(column) => isNumeric(column) && records.some((record) => typeof record[column.key] === "number")
	);
	const heads = columns.map((column, index) =>
		h(
			"th",
			{ scope: "col", class: numeric[index] && "right" },
			h(
				"button",
				{ type: "button", onclick: () => sort(index) },
				column.label,
				h("span", { "aria-hidden": "true", class: "arrow" })
			)
		)
	);
	const body = h("tbody", {});
	const where = h("span", { role: "status" });
	const [back, on] = [
		["Previous", -1],
		["Next", 1]
	].map(([text, step]) =>
		h(
			"button",
			{
				type: "button",
				onclick: () => {
					page += step;
					draw();
				}
			},
			text
		)
	);
	function sort(index) {
		by = { index, sign: by?.index === index ? -by.sign : 1 };
		const { key } = columns[index];
		order = [...records].sort((a, b) => compare(a[key], b[key], by.sign));
		heads.forEach((head, place) =>
			place === index
				? head.setAttribute("aria-sort", by.sign > 0 ? "ascending" : "descending")
				: head.removeAttribute("aria-sort")
		);
		page = 0;
		draw();
	}
	function draw() {
		const from = page * PAGE;
		body.replaceChildren(
			...order.slice(from, from + PAGE).map((record) =>
				h(
					"tr",
					{},
					columns.map((column, index) =>
						h(
							"td",
							{ class: numeric[index] && "right" },
							column.show
								? column.show(record)
								: cell(
										has(record, column.key) ? record[column.key] : undefined,
										column.key,
										column.schema
									)
						)
					)
				)
			)
		);
		where.textContent = `${showNumber(from + 1)}–${showNumber(Math.min(from + PAGE, order.length))} of ${showNumber(order.length)}`;
		back.disabled = page === 0;
		on.disabled = from + PAGE >= order.length;
	}
	draw();
	return h(
		"div",
		{ class: "table" },
		h(
			"div",
			{ class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
			h("table", {}, h("thead", {}, h("tr", {}, heads)), body)
		),
		records.length > PAGE && h("div", { class: "pages" }, back, where, on)
	);
}
