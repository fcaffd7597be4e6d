// Draws numbers beside a table that holds them: a line over time, bars otherwise.

import { h, has, showNumber, showTime, timeOf } from "./dom.js";

const HEIGHT = 240;
const LEFT = 56;
const BOTTOM = 28;
const TOP = 10;
const MOST = 300;
const SERIES = 5;

/** Round numbers that divide a range: about four of them. */
function ticks(low, high) {
	const raw = (high - low) / 4;
	const unit = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= raw) * unit;
	const from = Math.floor(low / step);
	return Array.from({ length: Math.ceil(high / step) - from + 1 }, (_, index) =>
		Number(((from + index) * step).toPrecision(12))
	);
}

const short = (value) =>
	showNumber(value, "", { notation: Math.abs(value) >= 1e5 ? "compact" : "standard", maximumFractionDigits: 3 });

/** A chart of records, if they are fit for one: a column of names that are all different, and numbers. */
export function chartOf(records, columns, ordinal) {
	if (records.length < 2 || records.length > MOST) {
		return undefined;
	}
	const numbers = columns.filter(
		({ key }) =>
			records.every((record) => typeof record[key] === "number" && Number.isFinite(record[key])) &&
			key !== "#" &&
			!/(^|_)id$/i.test(key)
	);
	const unique = ({ key }) =>
		records.every((record) => has(record, key) && typeof record[key] === "string") &&
		new Set(records.map((record) => record[key])).size === records.length;
	const named = columns.filter((column) => unique(column));
	const across = ordinal
		? columns[0]
		: (named.find(({ key }) => records.every((record) => timeOf(record[key]) !== undefined)) ?? named[0]);
	const timed = across && records.every((record) => timeOf(record[across.key]) !== undefined);
	if (!across || !numbers.length || (!timed && !ordinal && records.length > 30)) {
		return undefined;
	}
	return draw(records, across, numbers.slice(0, SERIES), timed || ordinal ? "line" : "bar");
}

/**
 * A chart with a switch for each series.
 *
 * @param across the column of names or times; @param series the columns of numbers; @param kind `line` or `bar`
 */
export function draw(records, across, series, kind) {
	const size = ({ key }) => Math.max(...records.map((record) => Math.abs(Number(record[key]) || 0)));
	// What is of another magnitude would lie flat on the axis: it is there when the user wants it.
	const on = new Set(
		series.filter((column) => size(column) <= 5 * size(series[0]) && size(column) * 5 >= size(series[0]))
	);
	const slot = h("div", {});
	const paint = () => slot.replaceChildren(picture(records, across, series, on, kind));
	const switches = series.map((column, index) => {
		const button = h(
			"button",
			{
				type: "button",
				class: `series s${index}`,
				"aria-pressed": String(on.has(column)),
				onclick: () => {
					on.has(column) && on.size > 1 ? on.delete(column) : on.add(column);
					button.setAttribute("aria-pressed", on.has(column));
					paint();
				}
			},
			column.label
		);
		return button;
	});
	paint();
	return h(
		"div",
		{ class: "chart" },
		series.length > 1
			? h("div", { class: "legend", role: "group", "aria-label": "Series" }, switches)
			: h("p", { class: "legend" }, series[0].label),
		slot
	);
}

function picture(records, across, series, on, kind) {
	const shown = series.filter((column) => on.has(column));
	const value = (record, { key }) => (Number.isFinite(Number(record[key] ?? NaN)) ? Number(record[key]) : undefined);
	const all = shown
		.flatMap((column) => records.map((record) => value(record, column)))
		.filter((one) => one !== undefined);
	const [least, most] = [Math.min(...all), Math.max(...all)];
	const zero = kind === "bar" || (least >= 0 && least < most / 2);
	const marks = ticks(
		zero ? Math.min(0, least) : least,
		(zero ? Math.max(0, most) : most) + (least === most && !most ? 1 : least === most && !zero ? Math.abs(most) : 0)
	);
	const [low, high] = [marks[0], marks.at(-1)];
	const y = (number) => TOP + ((HEIGHT - BOTTOM - TOP) * (high - number)) / (high - low || 1);
	const times = records.map((record) => timeOf(record[across.key]));
	const timed = kind === "line" && times.every((time) => time !== undefined);
	const [first, last] = [Math.min(...times), Math.max(...times)];
	const width = innerWidth < 520 ? 360 : 640;
	const room = width - LEFT - 12;
	const x = (index) =>
		LEFT +
		(timed ? (room * (times[index] - first)) / (last - first || 1) : (room * (index + 0.5)) / records.length);
	const name = (index) =>
		timed
			? showTime(
					records[index][across.key],
					last - first > 3 * 864e5 || !records.some((record) => record[across.key].includes("T"))
						? { month: "short", day: "numeric" }
						: { hour: "numeric", minute: "numeric" }
				)
			: String(records[index][across.key]);
	const fit = Math.max(1, Math.floor(room / 88));
	const step = Math.ceil(records.length / fit);
	const letters = Math.floor(room / Math.min(records.length, fit) / 7);

	const grid = marks.map((mark) =>
		h(
			"g",
			{},
			h("line", { class: "grid", x1: LEFT, x2: width - 12, y1: y(mark), y2: y(mark) }),
			h("text", { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" }, short(mark))
		)
	);
	const labels = records.map(
		(_, index) =>
			index % step === 0 &&
			h(
				"text",
				{
					x: x(index),
					y: HEIGHT - 8,
					"text-anchor": timed && !index ? "start" : timed && x(index) > width - 50 ? "end" : "middle"
				},
				name(index).length > letters ? `${name(index).slice(0, letters - 1)}…` : name(index)
			)
	);
	const tip = (record, column) =>
		h(
			"title",
			{},
			`${timed ? showTime(record[across.key]) : record[across.key]} · ${column.label}: ${showNumber(value(record, column))}`
		);
	const body = shown.map((column) => {
		const place = series.indexOf(column);
		const points = records
			.map((record, index) => [index, record, value(record, column)])
			.filter(([, , number]) => number !== undefined);
		if (kind === "line") {
			const sorted = timed ? [...points].sort(([a], [b]) => times[a] - times[b]) : points;
			return h(
				"g",
				{ class: `s${place}` },
				h("path", {
					d: sorted
						.map(
							([index, , number], at) => `${at ? "L" : "M"}${x(index).toFixed(1)} ${y(number).toFixed(1)}`
						)
						.join("")
				}),
				points.map(([index, record, number]) =>
					h("circle", { cx: x(index), cy: y(number), r: points.length > 60 ? 1.5 : 3.5 }, tip(record, column))
				)
			);
		}
		const wide = Math.min(48, (room / records.length) * 0.7) / shown.length;
		return h(
			"g",
			{ class: `s${place}` },
			points.map(([index, record, number]) =>
				h(
					"rect",
					{
						x: x(index) + wide * (shown.indexOf(column) - shown.length / 2),
						width: Math.max(1, wide - 1),
						y: Math.min(y(number), y(0)),
						height: Math.max(1, Math.abs(y(0) - y(number))),
						rx: 2
					},
					tip(record, column)
				)
			)
		);
	});
	const says = `${kind === "line" ? "Line" : "Bar"} chart of ${shown.map(({ label }) => label).join(", ")} by ${across.label}: ${records.length} values from ${short(least)} to ${short(most)}. The table holds the same.`;
	return h(
		"svg",
		{ viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": says, direction: "ltr" },
		grid,
		labels,
		body
	);
}
