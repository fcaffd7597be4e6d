// Draws the numbers of a table as a chart below the table: a line over time, otherwise bars.

import { clean, h, showNumber, showTime, timeOf } from "./dom.js";
import { say } from "./say.js";
import { axisOf, reading } from "./values.js";

const HEIGHT = 240;
const BOTTOM = 28;
const TOP = 10;
const MOST = 300;
const SERIES = 5;

/** The least and the largest number. */
export const ends = (numbers) => [Math.min(...numbers), Math.max(...numbers)];

/** The marks of an axis: round numbers in about four steps, from at or below `low` to at or above `high`. */
export function ticks(low, high) {
	const raw = (high - low || Math.abs(high) || 1) / 4;
	const unit = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= raw) * unit;
	const from = Math.floor(low / step);
	return Array.from({ length: Math.ceil(high / step) - from + 1 }, (_, index) =>
		Number(((from + index) * step).toPrecision(12))
	);
}

/** A number at an axis. All numbers of an axis are written like the largest one, `most`. */
const short = (value, most) =>
	showNumber(value, { notation: most >= 1e5 ? "compact" : "standard", maximumFractionDigits: 3 });

/** A chart of records that have measured numbers, and times or names that are all different; `undefined` for other records. */
export function chartOf(records, columns, ordinal) {
	if (records.length < 3 || records.length > MOST) {
		return undefined;
	}
	const all = columns.map((column) => {
		const values = records.map((record) => record[column.key]);
		const read = reading(column.key, column.schema, values, records);
		return { ...column, values, read, label: column.label ?? read.label };
	});
	const measures = all.filter(
		({ key, values, read }) =>
			values.every((value) => typeof value === "number" && Number.isFinite(value)) &&
			key !== "#" &&
			!read.isName &&
			!read.time &&
			!axisOf(key) &&
			new Set(values).size > 1
	);
	const named = all.filter(({ values, read }) => !read.tagged && values.every((value) => typeof value === "string" && value.length <= 30 && !/^https?:|^\d{4}-\d\d/.test(value)) && new Set(values).size === records.length);
	// Only a column that comes first or is named like a time is an axis of time: a time of a change is not.
	const time = all.find(({ key, values, read }, index) => (!index || /(date|time|day|hour|minute|week|month|year|timestamp|period|ts)$/i.test(key)) && (read.time || values.every((value) => timeOf(value) !== undefined)) && new Set(values).size === records.length);
	const across = ordinal ? all[0] : (time ?? named[0]);
	// With several measures it is not clear which one to draw, unless all have the same unit.
	const isOne = measures.length === 1 || (measures.length > 1 && measures.every(({ read }) => read.unit && read.unit === measures[0].read.unit));
	if (!across || !measures.length || (across !== time && !ordinal && (records.length > 30 || !isOne))) {
		return undefined;
	}
	const isEpoch = across === time && across.read.time;
	const shown = isEpoch ? records.map((record) => ({ ...record, [across.key]: new Date(across.read.time(record[across.key])).toISOString() })) : records;
	return draw(shown, across, measures.slice(0, SERIES), across === time || ordinal ? "line" : "bar");
}

/**
 * A chart with a switch for each series.
 *
 * @param across the column of names or times; @param series the columns of numbers; @param kind `line` or `bar`
 */
export function draw(records, across, series, kind) {
	const greatest = ({ key }) => Math.max(...records.map((record) => Math.abs(Number(record[key]) || 0)));
	// A series of another unit or magnitude does not fit on the same axis. It is off until the user switches it on.
	const on = new Set(
		series.filter((column) => column.read?.unit === series[0].read?.unit && greatest(column) <= 5 * greatest(series[0]) && greatest(column) * 5 >= greatest(series[0]))
	);
	const said = h("p", { "class": "tip", "aria-hidden": "true", "hidden": true });
	const slot = h("div", { class: "plot" });
	const line = h("i", { class: "line", hidden: true });
	let places;
	let at = 0;
	const telling = () =>
		`${timeOf(records[at][across.key]) === undefined ? records[at][across.key] : showTime(records[at][across.key])}: ${series
			.filter((column) => on.has(column))
			.map(({ key, label, read }) => `${label} ${records[at][key] === null || records[at][key] === undefined ? "—" : (read?.bare ?? read?.text ?? showNumber)(Number(records[at][key]))}`)
			.join(", ")}`;
	const cursor = h(
		"div",
		{
			"role": "slider",
			"tabindex": 0,
			"aria-label": say("valuesBy", { across: across.label }),
			"aria-valuemin": 1,
			"aria-valuemax": records.length,
			"onkeydown": (event) => {
				const now = places.findIndex(([, index]) => index === at);
				const next = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: places.length - 1 }[event.key];
				if (next !== undefined) {
					event.preventDefault();
					point((places[next] ?? places[now])[1]);
				}
			},
			"onfocus": () => point(at),
			"onpointermove": ({ clientX }) => {
				const { left, width } = cursor.getBoundingClientRect();
				const near = ([x]) => Math.abs(x - (clientX - left) / width);
				point(places.reduce((best, one) => (near(one) < near(best) ? one : best))[1]);
			}
		},
		line
	);
	/** Shows and announces the values of one record. */
	function point(index) {
		at = index;
		const [place] = places.find(([, one]) => one === at);
		line.hidden = said.hidden = false;
		line.style.left = `${100 * place}%`;
		said.textContent = clean(telling());
		// The values are shown on the side that has room.
		said.style.cssText = place < 0.5 ? `left:${100 * place}%` : `right:${100 - 100 * place}%`;
		tellWhere();
	}
	function tellWhere() {
		cursor.setAttribute("aria-valuenow", places.findIndex(([, one]) => one === at) + 1);
		cursor.setAttribute("aria-valuetext", clean(telling()));
	}
	let size;
	const paint = () => {
		const isHeld = document.activeElement === cursor;
		size = innerWidth;
		const [drawn, where] = picture(records, across, series, on, kind);
		places = where;
		slot.replaceChildren(drawn, cursor, said);
		line.hidden ? tellWhere() : point(at);
		isHeld && cursor.focus();
	};
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
	new ResizeObserver(() => innerWidth === size || paint()).observe(slot);
	return h(
		"div",
		{ class: "chart" },
		series.length > 1
			? h("div", { class: "legend", role: "group", "aria-label": say("series") }, switches)
			: h("p", { class: "legend" }, series[0].label),
		slot
	);
}

function picture(records, across, series, on, kind) {
	const shown = series.filter((column) => on.has(column));
	const value = (record, { key }) => Number(record[key] ?? NaN);
	const all = shown.flatMap((column) => records.map((record) => value(record, column))).filter(Number.isFinite);
	const [least, most] = ends(all);
	const zero = kind === "bar" || (least >= 0 && least < most / 2);
	const marks = ticks(
		zero ? Math.min(0, least) : least,
		(zero ? Math.max(0, most) : most) + (least === most && !most ? 1 : least === most && !zero ? Math.abs(most) : 0)
	);
	const [low, high] = [marks[0], marks.at(-1)];
	const y = (number) => TOP + ((HEIGHT - BOTTOM - TOP) * (high - number)) / (high - low || 1);
	const times = records.map((record) => timeOf(record[across.key]));
	const timed = kind === "line" && times.every((time) => time !== undefined);
	const [first, last] = ends(times);
	const scaled = shown.every(({ read }) => read && !read.bare) && shown[0].read.text;
	const tick = scaled || ((mark) => short(mark, Math.max(-low, high)));
	// The chart is as wide as the page, so that its text has the size of other text.
	const width = Math.min(860, Math.max(260, innerWidth - 32));
	const left = 14 + 7 * Math.max(2, ...marks.map((mark) => tick(mark).length));
	const room = width - left - 12;
	const x = (index) =>
		left +
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
	const fit = Math.max(1, Math.floor(room / (kind === "bar" && records.length < 9 ? 30 : 88)));
	const step = Math.ceil(records.length / fit);
	const letters = Math.floor(room / Math.min(records.length, fit) / 7);

	const grid = marks.map((mark) =>
		h(
			"g",
			{},
			h("line", { class: "grid", x1: left, x2: width - 12, y1: y(mark), y2: y(mark) }),
			h("text", { x: left - 8, y: y(mark) + 4, "text-anchor": "end" }, tick(mark))
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
	const body = shown.map((column) => {
		const place = series.indexOf(column);
		const points = records
			.map((record, index) => [index, record, value(record, column)])
			.filter(([, , number]) => Number.isFinite(number));
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
				points.map(([index, , number]) =>
					h("circle", { cx: x(index), cy: y(number), r: points.length > 60 ? 1.5 : 3.5 })
				)
			);
		}
		const wide = Math.min(48, (room / records.length) * 0.7) / shown.length;
		return h(
			"g",
			{ class: `s${place}` },
			points.map(([index, , number]) =>
				h(
					"rect",
					{
						x: x(index) + wide * (shown.indexOf(column) - shown.length / 2),
						width: Math.max(1, wide - 1),
						y: Math.min(y(number), y(0)),
						height: Math.max(1, Math.abs(y(0) - y(number))),
						rx: 2
					}
				)
			)
		);
	});
	const says = say(kind === "line" ? "lineChart" : "barChart", {
		what: shown.map(({ label }) => label).join(", "),
		across: across.label,
		count: records.length,
		low: tick(least),
		high: tick(most)
	});
	return [
		h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": says, direction: "ltr" }, grid, labels, body),
		records.map((_, index) => [x(index) / width, index]).sort(([a], [b]) => a - b)
	];
}
