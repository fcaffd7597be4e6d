// Shows points on a plain map: a grid of degrees without coastlines, since the page may not fetch anything.

import { ends, ticks } from "./chart.js";
import { h, showNumber } from "./dom.js";
import { say } from "./say.js";
import { axisOf } from "./values.js";

const LEFT = 76;
const MOST = 500;

const degrees = (number, [plus, minus]) =>
	`${showNumber(Math.abs(number), { maximumFractionDigits: 3 })}°${number > 0 ? ` ${plus}` : number < 0 ? ` ${minus}` : ""}`;

/** A map of points, each with `lat` and `lon` in degrees and a `name`, which may be empty. */
export function places(points) {
	// Longitudes continue across the date line if that makes the map narrower.
	const across = (turn) => points.map(({ lon }) => (turn && lon < 0 ? lon + 360 : lon));
	const span = (numbers) => ends(numbers)[1] - ends(numbers)[0];
	const lons = span(across(true)) < span(across(false)) ? across(true) : across(false);
	const lats = points.map(({ lat }) => lat);
	const [[south, north], [west, east]] = [ends(lats), ends(lons)];
	const [lat, lon] = [(south + north) / 2, (west + east) / 2];
	const squeeze = Math.max(0.15, Math.cos((lat * Math.PI) / 180));
	// The map is as wide as the page, so that its text has the size of other text.
	const all = Math.min(860, Math.max(260, innerWidth - 32));
	const room = all - LEFT - 36;
	const tall = Math.max(0.02, span(lats)) * 1.25;
	const wide = Math.max(0.02, span(lons)) * squeeze * 1.25;
	const scale = Math.min(room / wide, 300 / tall);
	const high = Math.max(180, Math.min(380, tall * scale + 60));
	const x = (number) => LEFT + room / 2 + (number - lon) * squeeze * scale;
	const y = (number) => 12 + (high - 44) / 2 - (number - lat) * scale;
	const inside = (number, from, to) => number >= from && number <= to;
	const half = [(high - 44) / 2 / scale, room / 2 / scale / squeeze];
	const rows = ticks(lat - half[0], lat + half[0]).filter((mark) => inside(y(mark), 12, high - 32) && Math.abs(mark) <= 90);
	const columns = ticks(lon - half[1], lon + half[1]).filter((mark) => inside(x(mark), LEFT, LEFT + room));
	const name = (mark, sides) => degrees(mark > 180 ? mark - 360 : mark, sides);
	const named = [];
	const drawn = h(
		"svg",
		{
			class: "places",
			viewBox: `0 0 ${all} ${high}`,
			role: "img",
			"aria-label": say("mapOf", {
				count: points.length,
				south: degrees(south, "NS"),
				north: degrees(north, "NS"),
				west: name(west, "EW"),
				east: name(east, "EW")
			}),
			direction: "ltr"
		},
		h("rect", { x: LEFT, y: 12, width: room, height: high - 44, rx: 6 }),
		rows.flatMap((mark) => [
			h("line", { class: "grid", x1: LEFT, x2: LEFT + room, y1: y(mark), y2: y(mark) }),
			h("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end" }, name(mark, "NS"))
		]),
		columns.flatMap((mark, index) => [
			h("line", { class: "grid", x1: x(mark), x2: x(mark), y1: 12, y2: high - 32 }),
			(all > 500 || index % 2 === 0) &&
				h("text", { x: x(mark), y: high - 12, "text-anchor": "middle" }, name(mark, "EW"))
		]),
		points.map((point, index) => {
			const [left, top] = [x(lons[index]), y(point.lat)];
			// Names that would overlap others are left out: the table has them.
			const text = point.name.length > 24 ? `${point.name.slice(0, 23)}…` : point.name;
			const box = [left + 9, top, left + 9 + text.length * 7];
			const flipped = box[2] > LEFT + room;
			const place = flipped ? [left - 9 - text.length * 7, top, left - 9] : box;
			const free = named.every(
				([from, at, to]) => Math.abs(at - place[1]) > 14 || to < place[0] || from > place[2]
			);
			free && text && named.push(place);
			return h(
				"g",
				{ class: "s0" },
				h("circle", { cx: left, cy: top, r: 6 }, h("title", {}, `${point.name && `${point.name} · `}${degrees(point.lat, "NS")}, ${degrees(point.lon, "EW")}`)),
				free &&
					text &&
					h(
						"text",
						{ class: "name", x: flipped ? left - 9 : left + 9, y: top + 4, "text-anchor": flipped ? "end" : "start" },
						text
					)
			);
		})
	);
	const size = innerWidth;
	const observer = new ResizeObserver(() => {
		if (innerWidth !== size) {
			observer.disconnect();
			drawn.replaceWith(places(points));
		}
	});
	observer.observe(drawn);
	return drawn;
}

/** A map of records that each have a latitude and a longitude; `undefined` for other records. */
export function mapOf(records, columns) {
	const find = (axis, limit) =>
		columns.find(({ key }) => axis.test(axisOf(key)) && records.every((record) => typeof record[key] === "number" && Math.abs(record[key]) <= limit));
	const [north, east] = [find(/^lat/, 90), find(/^lo?ng?/, 180)];
	if (records.length < 2 || records.length > MOST || !north || !east) {
		return undefined;
	}
	const name = columns.find(({ key }) => records.every((record) => typeof record[key] === "string"));
	return places(records.map((record) => ({ lat: record[north.key], lon: record[east.key], name: name ? String(record[name.key]) : "" })));
}
