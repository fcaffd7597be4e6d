// Shows points on the earth: a plain map of degrees without coasts, since nothing may be fetched.

import { h, showNumber } from "./dom.js";
import { say } from "./say.js";
import { axisOf } from "./values.js";

const WIDTH = 640;
const MOST = 500;

const degrees = (value, signs) => `${showNumber(Math.abs(value), "", { maximumFractionDigits: 4 })}° ${signs[Number(value < 0)]}`;

/** A map of records with a latitude and a longitude each; `undefined` for others. */
export function mapOf(records, columns) {
	const find = (axis, limit) =>
		columns.find(({ key }) => axis.test(axisOf(key)) && records.every((record) => typeof record[key] === "number" && Math.abs(record[key]) <= limit));
	const [north, east] = [find(/^lat/, 90), find(/^lo?ng?/, 180)];
	if (records.length < 2 || records.length > MOST || !north || !east) {
		return undefined;
	}
	const name = columns.find(({ key }) => records.every((record) => typeof record[key] === "string"));
	const points = records.map((record) => ({ lat: record[north.key], lon: record[east.key], name: name ? String(record[name.key]) : "" }));
	const middle = points.reduce((sum, { lat }) => sum + lat, 0) / points.length;
	// A degree of longitude is shorter away from the equator.
	const shrink = Math.max(0.2, Math.cos((middle * Math.PI) / 180));
	const range = (pick) => [Math.min(...points.map(pick)), Math.max(...points.map(pick))];
	const [[west, far], [south, top]] = [range(({ lon }) => lon), range(({ lat }) => lat)];
	const span = Math.max((far - west) * shrink, (top - south) * 1.6, 0.01) * 1.25;
	const scale = WIDTH / span;
	const height = Math.round(Math.max(180, Math.min(400, (top - south) * scale + 80)));
	const x = (lon) => WIDTH / 2 + (lon - (west + far) / 2) * shrink * scale;
	const y = (lat) => height / 2 - (lat - (south + top) / 2) * scale;
	const unit = 10 ** Math.floor(Math.log10(span / 3));
	const step = [1, 2, 5, 10].find((factor) => (factor * unit * scale) > 90) * unit || unit * 10;
	const lines = (from, to) => Array.from({ length: Math.min(60, Math.floor(to / step) - Math.ceil(from / step) + 1) }, (_, at) => (Math.ceil(from / step) + at) * step);
	const edge = [(west + far) / 2 - WIDTH / 2 / shrink / scale, (west + far) / 2 + WIDTH / 2 / shrink / scale];
	const tall = height / 2 / scale;
	const taken = [];
	return h(
		"svg",
		{ "class": "map s0", "viewBox": `0 0 ${WIDTH} ${height}`, "role": "img", "direction": "ltr", "aria-label": say("mapOf", { count: points.length, south: degrees(south, "NS"), north: degrees(top, "NS"), west: degrees(west, "EW"), east: degrees(far, "EW") }) },
		lines(...edge).map((lon) => h("g", {}, h("line", { class: "grid", x1: x(lon), x2: x(lon), y1: 0, y2: height }), h("text", { x: x(lon) + 4, y: height - 6 }, degrees(lon, "EW")))),
		lines((south + top) / 2 - tall, (south + top) / 2 + tall).map((lat) => h("g", {}, h("line", { class: "grid", x1: 0, x2: WIDTH, y1: y(lat), y2: y(lat) }), y(lat) > 20 && h("text", { x: 4, y: y(lat) - 4 }, degrees(lat, "NS")))),
		points.map(({ lat, lon, name: said }) => h("circle", { cx: x(lon), cy: y(lat), r: 5 }, h("title", {}, `${said ? `${said} · ` : ""}${degrees(lat, "NS")}, ${degrees(lon, "EW")}`))),
		points.map(({ lat, lon, name: said }) => {
			const short = said.length > 22 ? `${said.slice(0, 21)}…` : said;
			const left = x(lon) > WIDTH * 0.7;
			const box = [x(lon) - (left ? short.length * 7 + 10 : -10), y(lat)];
			// No name is written over another.
			if (!short || taken.some(([ax, ay, wide]) => Math.abs(ay - box[1]) < 14 && box[0] < ax + wide && ax < box[0] + short.length * 7)) {
				return undefined;
			}
			taken.push([...box, short.length * 7]);
			return h("text", { class: "place", x: x(lon) + (left ? -9 : 9), y: y(lat) + 4, "text-anchor": left ? "end" : "start" }, short);
		})
	);
}
