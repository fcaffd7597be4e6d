// A table that can be filtered, sorted and copied, with details for each row. Of a long table, only visible rows are rendered.

import { freshId, h, has, user } from "./dom.js";
import { say } from "./say.js";
import { reading } from "./values.js";

/** Maximum number of rows of a table that is rendered as a whole. Longer tables render rows as they are scrolled. */
const WHOLE = 100;
const AHEAD = 400;
const FILTERED = 7;

const isMissing = (value) => value === undefined || value === null;
const asText = (value) => (isMissing(value) ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** Compares values for sorting. Missing values come last in both directions. */
function compared(sign) {
	const { compare } = new Intl.Collator(user.locale, { numeric: true });
	return ([a], [b]) =>
		isMissing(a) || isMissing(b)
			? isMissing(a) - isMissing(b)
			: sign * (typeof a === "number" && typeof b === "number" ? a - b : compare(asText(a), asText(b)));
}

/** Records as text with separators, with unchanged values. */
export const separated = (records, columns, mark) => {
	const part = (text) => (/["\n\r]/.test(text) || text.includes(mark) ? `"${text.replaceAll('"', '""')}"` : text);
	return [columns.map(({ label }) => part(String(label))), ...records.map((record) => columns.map(({ key }) => part(asText(record[key]))))]
		.map((row) => row.join(mark))
		.join("\r\n");
};

/** Whether a cell cannot show all of a value. */
const isMore = (value) => (typeof value === "object" ? value !== null : typeof value === "string" && value.length > 40);

/**
 * A table.
 *
 * @param columns `key`, `label`, `schema`, and `show(record)` if a cell is not shown by its value
 * @param view `about(schema)` reads a schema, `cell(value, key, schema, read)` shows a value, `detail(record)` a whole record; `deeds` as of the viewer; @param given its name, if it has one
 */
export function table(records, columns, view, given) {
	const name = given || say("table");
	let order = records;
	let [by, wanted] = [undefined, ""];
	const all = columns.map((column) => {
		const read = reading(column.key, view.about(column.schema), records.map((record) => record[column.key]), records);
		return {
			...column,
			read,
			label: column.label ?? read.label,
			empty: !column.show && records.every((record) => isMissing(record[column.key]) || record[column.key] === ""),
			on: true
		};
	});
	all.forEach((column) => (column.on = !column.empty || all.every(({ empty }) => empty)));
	const seen = () => all.filter(({ on }) => on);
	const isLong = records.length > WHOLE;
	const isDeep = view.deeds.canAsk() || all.some(({ empty, on }) => !empty && !on) || records.slice(0, 1000).some((record) => all.some(({ key }) => isMore(record[key])));

	const rows = new Map();
	const open = new Map();
	let height = 38;
	const [above, below] = [0, 1].map(() => h("tbody", { "aria-hidden": "true" }, h("tr", {}, h("td", { class: "space" }))));
	const head = h("tr", {});
	const body = h("tbody", {});
	const inner = h("table", {}, h("thead", {}, head), isLong && above, body, isLong && below);
	const scroll = h("div", { class: isLong ? "scroll long" : "scroll", tabindex: 0, role: "group", "aria-label": name }, inner);
	const count = h("span", { role: "status", class: "count" });

	function headings() {
		head.replaceChildren(
			...(isDeep ? [h("td", { class: "look" })] : []),
			...seen().map((column) => {
				const cell = h(
					"th",
					{ scope: "col", class: column.read.right && "right" },
					h("button", { type: "button", onclick: () => sort(column) }, column.label, h("span", { "aria-hidden": "true", "class": "arrow" }))
				);
				by?.column === column && cell.setAttribute("aria-sort", by.sign > 0 ? "ascending" : "descending");
				return cell;
			})
		);
	}

	function sort(column) {
		by = by?.column !== column ? { column, sign: 1 } : by.sign > 0 ? { column, sign: -1 } : undefined;
		arrange();
		headings();
		[...head.querySelectorAll("th button")][seen().indexOf(column)]?.focus();
	}

	function arrange() {
		const said = wanted.toLowerCase();
		const found = said ? records.filter((record) => all.some(({ key }) => asText(record[key]).toLowerCase().includes(said))) : records;
		order = by
			? found
					.map((record) => [record[by.column.key], record])
					.sort(compared(by.sign))
					.map(([, record]) => record)
			: found;
		count.textContent = found.length < records.length ? say("rowsOf", { found: found.length, count: records.length }) : say("rows", { count: records.length });
		renew();
	}

	function renew() {
		rows.clear();
		body.replaceChildren();
		scroll.scrollTop = 0;
		inner.setAttribute("aria-rowcount", order.length + 1);
		draw();
		fit();
	}

	function row(record, index) {
		const id = freshId();
		const line = h(
			"tr",
			{ "aria-rowindex": index + 2 },
			isDeep &&
				h(
					"td",
					{ class: "look" },
					h("button", { "type": "button", "aria-expanded": String(open.has(record)), "aria-label": say("rowDetails", { count: index + 1 }), "aria-controls": id, "onclick": (event) => look(record, index, id, event.currentTarget) })
				),
			seen().map((column) =>
				h(
					"td",
					{ class: column.read.right && "right" },
					column.show?.(record) ?? view.cell(has(record, column.key) ? record[column.key] : undefined, column.key, column.schema, column.read)
				)
			)
		);
		return open.has(record) ? [line, detail(record, id)] : [line];
	}

	const detail = (record, id) => h("tr", { class: "detail", id }, h("td", { colspan: seen().length + 1 }, view.detail(record)));

	function look(record, index, id, button) {
		const there = rows.get(record);
		if (open.delete(record)) {
			there.pop().remove();
		} else {
			there.push(detail(record, id));
			there[0].after(there[1]);
			open.set(record, there[1].offsetHeight);
		}
		button.setAttribute("aria-expanded", String(open.has(record)));
	}

	function draw() {
		let [from, to, before, behind] = [0, order.length, 0, 0];
		if (isLong) {
			const [top, bottom] = [scroll.scrollTop - AHEAD, scroll.scrollTop + (scroll.clientHeight || 520) + AHEAD];
			to = 0;
			let place = 0;
			order.forEach((record, index) => {
				const end = place + height + (open.get(record) ?? 0);
				if (end < top) {
					[from, before] = [index + 1, end];
				} else if (place < bottom) {
					to = index + 1;
				} else {
					behind += end - place;
				}
				place = end;
			});
		}
		const wantedRows = new Set(order.slice(from, to));
		for (const [record, elements] of rows) {
			if (!wantedRows.has(record)) {
				elements.some((element) => element.contains(document.activeElement)) && scroll.focus({ preventScroll: true });
				elements.forEach((element) => element.remove());
				rows.delete(record);
			}
		}
		let next = body.firstChild;
		for (let index = from; index < to; index++) {
			const there = rows.get(order[index]);
			if (there) {
				next = there.at(-1).nextSibling;
			} else {
				const made = row(order[index], index);
				rows.set(order[index], made);
				made.forEach((element) => body.insertBefore(element, next));
			}
		}
		above.hidden = !before;
		below.hidden = !behind;
		above.querySelector("td").style.height = `${before}px`;
		below.querySelector("td").style.height = `${behind}px`;
	}

	if (isLong) {
		let due = 0;
		const settle = () => {
			due ||= requestAnimationFrame(() => {
				due = 0;
				// All rows have one height, which is known once they are in the page.
				height = rows.values().next().value?.[0].offsetHeight || height;
				[...head.children].forEach((cell) => (cell.style.minWidth = `${cell.offsetWidth}px`));
				draw();
			});
		};
		scroll.addEventListener("scroll", settle);
		settle();
	}
	// Columns that continue beyond the edge fade out there.
	const { classList } = scroll;
	const hidden = () => scroll.scrollWidth - scroll.clientWidth;
	const fade = () => classList.toggle("on", hidden() - Math.abs(scroll.scrollLeft) > 2);
	/** Columns that begin beyond `edge` have one line, so that they do not make the rows higher that the user sees. */
	const far = (edge) => {
		let start = 0;
		const are = [...head.children].map((cell) => (start += cell.offsetWidth) - cell.offsetWidth > edge);
		[head, ...body.children].forEach(({ children }) => are.forEach((is, at) => children[at]?.classList.toggle("far", is)));
	};
	const fit = () => {
		// If there is no room, paths and URLs are shortened first, by no more than it takes.
		classList.remove("tight");
		far(Infinity);
		if (hidden() > 2) {
			classList.add("tight");
			const fits = (width) => (scroll.style.setProperty("--room", `${width}ch`), hidden() < 3);
			let room = 34;
			for (let step = fits(room) && 32; step > 1; step /= 2) {
				room += fits(room + step) && step;
			}
			fits(room);
			far(scroll.clientWidth - 60);
		}
		fade();
	};
	scroll.addEventListener("scroll", fade);
	// In the next frame, since `fit` changes the height of the page, which is observed, too.
	new ResizeObserver(() => requestAnimationFrame(fit)).observe(scroll);
	headings();
	arrange();
	return h("div", { class: "table" }, records.length > 1 && tools(), scroll);

	/** The toolbar above the table. */
	function tools() {
		const { deeds } = view;
		const said = h("span", { role: "status", class: "hint" });
		const done = (promise, text) => promise.then(() => (said.textContent = text), (problem) => (said.textContent = problem.message));
		const button = (text, onclick) => h("button", { type: "button", class: "small", onclick }, text);
		const options = h("div", { class: "options", hidden: true });
		const more = h(
			"button",
			{
				"type": "button",
				"class": "small",
				"aria-expanded": "false",
				"aria-label": say("options", { name }),
				"onclick": () => {
					options.hidden = !options.hidden;
					more.setAttribute("aria-expanded", String(!options.hidden));
					options.children.length || fill();
				}
			},
			"⋯"
		);
		const csv = () => separated(order, seen(), ",");
		function fill() {
			options.append(
				h(
					"fieldset",
					{},
					h("legend", {}, say("columns")),
					all.map((column) => {
						const tick = h("input", {
							type: "checkbox",
							onchange: () => {
								column.on = tick.checked || seen().length < 2;
								tick.checked = column.on;
								headings();
								renew();
							}
						});
						tick.checked = column.on;
						return h("label", { class: "tick" }, tick, column.label);
					})
				),
				h(
					"div",
					{ class: "actions" },
					button(say("copy"), () => done(deeds.copy(separated(order, seen(), "\t")), say("copied"))),
					deeds.canSave()
						? button(say("downloadCsv"), () => deeds.save(`${name}.csv`, "text/csv", csv()))
						: button(say("copyCsv"), () => done(deeds.copy(csv()), say("copied"))),
					said
				)
			);
		}
		return [
			h(
				"div",
				{ class: "tools" },
				records.length > FILTERED &&
					h("input", {
						"type": "search",
						"placeholder": say("filter"),
						"aria-label": say("filterWhat", { name }),
						"oninput": (event) => {
							wanted = event.target.value.trim();
							arrange();
						}
					}),
				count,
				more
			),
			options
		];
	}
}

