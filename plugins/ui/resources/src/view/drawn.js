// What is drawn beside a table that holds the same: pies, areas and places.

const WIDE = 640;
const NARROW = 360;
const COLOURS = 5;

const width = () => (innerWidth < 520 ? NARROW : WIDE);

/** Round numbers from the first at or below `low` to the first at or above `high`, about four steps. */
export function marks(low, high) {
	const raw = (high - low || Math.abs(high) || 1) / 4;
	const unit = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= raw) * unit;
	const first = Math.floor(low / step);
	return Array.from({ length: Math.ceil(high / step) - first + 1 }, (_, index) =>
		Number(((first + index) * step).toPrecision(12))
	);
}

/** A pie of the first numbers and, where there are more than five, of all others together. */
export function pie({ h, showNumber }, records, label) {
	const sorted = records.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
	const parts =
		sorted.length > COLOURS + 1
			? [
					...sorted.slice(0, COLOURS),
					{ name: "Other", value: sorted.slice(COLOURS).reduce((sum, { value }) => sum + value, 0) }
				]
			: sorted;
	const whole = parts.reduce((sum, { value }) => sum + value, 0);
	if (!(whole > 0) || !Number.isFinite(whole)) {
		return undefined;
	}
	const says = ({ name, value }) =>
		`${name}: ${showNumber(value)} (${showNumber(value / whole, "", { style: "percent", maximumFractionDigits: 1 })})`;
	const spot = (turn) => `${(100 + 96 * Math.sin(turn)).toFixed(2)} ${(100 - 96 * Math.cos(turn)).toFixed(2)}`;
	let from = 0;
	const slices = parts.map((part, index) => {
		const to = from + (part.value / whole) * 2 * Math.PI;
		const slice =
			parts.length === 1
				? "M100 4a96 96 0 1 1-.01 0z"
				: `M100 100L${spot(from)}A96 96 0 ${to - from > Math.PI ? 1 : 0} 1 ${spot(to)}z`;
		from = to;
		return h("path", { class: `s${index}`, d: slice }, h("title", {}, says(part)));
	});
	return h(
		"div",
		{ class: "pie" },
		h(
			"svg",
			{
				viewBox: "0 0 200 200",
				role: "img",
				"aria-label": `Pie chart of ${label}: ${parts.length} parts. The list beside it says the same.`
			},
			slices
		),
		h(
			"ul",
			{ "aria-label": label },
			parts.map((part, index) => h("li", { class: `s${index}` }, says(part)))
		)
	);
}

/** Areas under lines, each from zero. */
export function area({ h, showNumber }, records, across, series) {
	const [all, high, left, low] = [width(), 240, 56, 28];
	const numbers = series.flatMap(({ key }) => records.map((record) => record[key])).filter(Number.isFinite);
	const ticks = marks(Math.min(0, ...numbers), Math.max(0, ...numbers));
	const [least, most] = [ticks[0], ticks.at(-1)];
	const x = (index) => left + ((all - left - 12) * index) / Math.max(1, records.length - 1);
	const y = (number) => 10 + ((high - low - 10) * (most - number)) / (most - least);
	const short = (number) => showNumber(number, "", { notation: Math.abs(number) >= 1e5 ? "compact" : "standard" });
	const letters = Math.floor((all - left) / 3 / 7);
	const labels = [0, Math.floor((records.length - 1) / 2), records.length - 1].filter(
		(one, index, ones) => ones.indexOf(one) === index
	);
	const body = series.map(({ key, label }, place) => {
		const points = records
			.map((record, index) => [index, record[key]])
			.filter(([, number]) => Number.isFinite(number));
		const line = points
			.map(([index, number]) => `${x(index).toFixed(1)} ${y(number).toFixed(1)}`)
			.join("L");
		const end = `L${x(points.at(-1)[0]).toFixed(1)} ${y(0).toFixed(1)}L${x(points[0][0]).toFixed(1)} ${y(0).toFixed(1)}z`;
		return h(
			"g",
			{ class: `s${place}` },
			h("path", { class: "fill", d: `M${line}${end}` }),
			h("path", { d: `M${line}` }, h("title", {}, label))
		);
	});
	return h(
		"div",
		{ class: "drawn" },
		h(
			"svg",
			{
				viewBox: `0 0 ${all} ${high}`,
				role: "img",
				"aria-label": `Area chart of ${series.map(({ label }) => label).join(", ")} by ${across.label}: ${numbers.length} values from ${short(Math.min(...numbers))} to ${short(Math.max(...numbers))}. The table holds the same.`,
				direction: "ltr"
			},
			ticks.map((tick) =>
				h(
					"g",
					{},
					h("line", { class: "grid", x1: left, x2: all - 12, y1: y(tick), y2: y(tick) }),
					h("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, short(tick))
				)
			),
			labels.map((index, place) => {
				const name = String(records[index][across.key]);
				return h(
					"text",
					{
						x: x(index),
						y: high - 8,
						"text-anchor": place === 0 ? "start" : index === records.length - 1 ? "end" : "middle"
					},
					name.length > letters ? `${name.slice(0, letters - 1)}…` : name
				);
			}),
			body
		),
		h(
			"ul",
			{ class: "key" },
			series.map(({ label }, place) => h("li", { class: `s${place}` }, label))
		)
	);
}

const degrees = ({ showNumber }, number, [plus, minus]) =>
	`${showNumber(Math.abs(number), "", { maximumFractionDigits: 3 })}°${number > 0 ? ` ${plus}` : number < 0 ? ` ${minus}` : ""}`;

/** Places by their latitude and longitude, without a network: a grid of degrees and no coasts. */
export function places(kit, points) {
	const { h } = kit;
	// Places on both sides of the date line belong together where that is shorter.
	const across = (turn) => points.map(({ lon }) => (turn && lon < 0 ? lon + 360 : lon));
	const span = (numbers) => Math.max(...numbers) - Math.min(...numbers);
	const lons = span(across(true)) < span(across(false)) ? across(true) : across(false);
	const lats = points.map(({ lat }) => lat);
	const middle = ([least, most]) => (least + most) / 2;
	const ends = (numbers) => [Math.min(...numbers), Math.max(...numbers)];
	const [lat, lon] = [middle(ends(lats)), middle(ends(lons))];
	const squeeze = Math.max(0.15, Math.cos((lat * Math.PI) / 180));
	const all = width();
	const room = all - 96;
	const tall = Math.max(0.02, span(lats)) * 1.25;
	const wide = Math.max(0.02, span(lons)) * squeeze * 1.25;
	const scale = Math.min(room / wide, 300 / tall);
	const high = Math.max(180, Math.min(380, tall * scale + 60));
	const x = (number) => 60 + room / 2 + (number - lon) * squeeze * scale;
	const y = (number) => 12 + (high - 44) / 2 - (number - lat) * scale;
	const inside = (number, from, to) => number >= from && number <= to;
	const half = [(high - 44) / 2 / scale, room / 2 / scale / squeeze];
	const rows = marks(lat - half[0], lat + half[0]).filter((mark) => inside(y(mark), 12, high - 32) && Math.abs(mark) <= 90);
	const columns = marks(lon - half[1], lon + half[1]).filter((mark) => inside(x(mark), 60, 60 + room));
	const name = (mark, sides) => degrees(kit, mark > 180 ? mark - 360 : mark, sides);
	const named = [];
	return h(
		"svg",
		{
			class: "places",
			viewBox: `0 0 ${all} ${high}`,
			role: "img",
			"aria-label": `Map of ${points.length} ${points.length === 1 ? "place" : "places"} around ${degrees(kit, lat, "NS")}, ${name(lon, "EW")}. The table holds the same.`,
			direction: "ltr"
		},
		h("rect", { x: 60, y: 12, width: room, height: high - 44, rx: 6 }),
		rows.flatMap((mark) => [
			h("line", { class: "grid", x1: 60, x2: 60 + room, y1: y(mark), y2: y(mark) }),
			h("text", { x: 54, y: y(mark) + 4, "text-anchor": "end" }, name(mark, "NS"))
		]),
		columns.flatMap((mark, index) => [
			h("line", { class: "grid", x1: x(mark), x2: x(mark), y1: 12, y2: high - 32 }),
			(all === WIDE || index % 2 === 0) &&
				h("text", { x: x(mark), y: high - 12, "text-anchor": "middle" }, name(mark, "EW"))
		]),
		points.map((point, index) => {
			const [left, top] = [x(lons[index]), y(point.lat)];
			// Names that would be written over others are left to the table.
			const text = point.name.length > 24 ? `${point.name.slice(0, 23)}…` : point.name;
			const box = [left + 9, top, left + 9 + text.length * 7];
			const flipped = box[2] > 60 + room;
			const place = flipped ? [left - 9 - text.length * 7, top, left - 9] : box;
			const free = named.every(
				([from, at, to]) => Math.abs(at - place[1]) > 14 || to < place[0] || from > place[2]
			);
			free && text && named.push(place);
			return h(
				"g",
				{ class: "s0" },
				h("circle", { cx: left, cy: top, r: 6 }, h("title", {}, point.name)),
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
}
