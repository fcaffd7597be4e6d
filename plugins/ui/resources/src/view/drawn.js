// Pie and area charts. A table beside them has the same data.

const COLOURS = 5;

/** A pie chart of the largest numbers. If there are more than five, the rest is one part. */
export function pie({ h, say, showNumber }, records, label) {
	const sorted = records.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
	const parts =
		sorted.length > COLOURS + 1
			? [
					...sorted.slice(0, COLOURS),
					{ name: say("others"), value: sorted.slice(COLOURS).reduce((sum, { value }) => sum + value, 0) }
				]
			: sorted;
	const whole = parts.reduce((sum, { value }) => sum + value, 0);
	if (!(whole > 0) || !Number.isFinite(whole)) {
		return undefined;
	}
	const says = ({ name, value }) =>
		`${name}: ${showNumber(value)} (${showNumber(value / whole, { style: "percent", maximumFractionDigits: 1 })})`;
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
				"aria-label": say("pieChart", { what: label, count: parts.length })
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

/** An area chart. Each area begins at zero. */
export function area({ h, say, showNumber, ticks: divide }, records, across, series) {
	const [all, high, left, low] = [Math.min(860, Math.max(260, innerWidth - 32)), 240, 56, 28];
	const numbers = series.flatMap(({ key }) => records.map((record) => record[key])).filter(Number.isFinite);
	const ticks = divide(Math.min(0, ...numbers), Math.max(0, ...numbers));
	const [least, most] = [ticks[0], ticks.at(-1)];
	const x = (index) => left + ((all - left - 12) * index) / Math.max(1, records.length - 1);
	const y = (number) => 10 + ((high - low - 10) * (most - number)) / (most - least);
	const short = (number) => showNumber(number, { notation: Math.max(-least, most) >= 1e5 ? "compact" : "standard" });
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
				"aria-label": say("areaChart", {
					what: series.map(({ label }) => label).join(", "),
					across: across.label,
					count: numbers.length,
					low: short(Math.min(...numbers)),
					high: short(Math.max(...numbers))
				}),
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
