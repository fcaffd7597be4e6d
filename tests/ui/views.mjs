// A view specification with every component, and an image of one pixel.

export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const VIEW = {
	version: 1,
	root: {
		component: "Column",
		children: [
			{
				component: "Row",
				children: [
					{ component: "Field", path: "/input/city" },
					{ component: "Button", label: "Look it up" }
				]
			},
			{ component: "Text", variant: "heading", text: "Forecast for {/result/city}" },
			{ component: "Text", variant: "caption", text: { path: "/result/updated" } },
			{ component: "Text", text: "Only with a storm", when: { path: "/result/storm" } },
			{ component: "Text", variant: "markdown", text: "**Mostly** dry:\n\n- `mild`\n- calm" },
			{
				component: "Row",
				children: [
					{
						component: "Card",
						title: "Warmest day",
						children: [
							{
								component: "Metric",
								label: "High",
								value: { path: "/result/days/2/high", format: "number" },
								unit: "°C"
							}
						]
					},
					{
						component: "Card",
						title: "Price",
						children: [
							{
								component: "Metric",
								label: "A day",
								value: { path: "/result/days/0/high", format: "EUR" }
							}
						]
					}
				]
			},
			{
				component: "Tabs",
				tabs: [
					{
						title: "Chart",
						child: {
							component: "Chart",
							kind: "bar",
							rows: "/result/days",
							x: { path: "@/sky", label: "Sky" },
							y: [
								{ path: "@/high", label: "High" },
								{ path: "@/low", label: "Low" }
							]
						}
					},
					{
						title: "Table",
						child: {
							component: "Table",
							rows: "/result/days",
							columns: [
								{ label: "Day", path: "@/date" },
								{ label: "Sky", path: "@/sky" },
								{ label: "Rain", path: "@/rain", format: "percent" }
							]
						}
					}
				]
			},
			{
				component: "List",
				items: "/result/days",
				child: {
					component: "Card",
					children: [
						{ component: "Text", variant: "badge", text: "{@/sky}" },
						{ component: "Details", rows: [{ label: "High", value: { path: "@/high" } }] }
					]
				}
			},
			{ component: "Details", path: "/result/days/0" },
			{ component: "Image", path: "/content/0", alt: "A map" },
			{ component: "Button", label: "Next page", arguments: { days: 2, cursor: { path: "/result/next" } } }
		]
	}
};

/** An answer for the components that `VIEW` lacks. */
export const TRIP = {
	title: "Lisbon to Porto",
	stops: [
		{ place: "Lisbon", lat: 38.7223, lon: -9.1393, at: "2026-03-01T08:00:00Z", note: "Breakfast", cost: 12.5 },
		{ place: "Óbidos", lat: 39.3606, lon: -9.1575, at: "2026-03-01T10:30:00Z", note: "The old town", cost: 8 },
		{ place: "Nazaré", lat: 39.6018, lon: -9.0703, at: "2026-03-01T13:00:00Z", note: "Lunch by the sea", cost: 31 },
		{ place: "Coimbra", lat: 40.2033, lon: -8.4103, at: "2026-03-01T16:00:00Z", note: "The university", cost: 15 },
		{ place: "Porto", lat: 41.1579, lon: -8.6291, at: "2026-03-01T19:30:00Z", note: "A bed", cost: 95 }
	],
	plan: '# The day\nstart = "08:00"  # early\nlimit = 120\nstops = ["Lisbon", "Porto"]\n',
	before: "Lisbon\nÓbidos\nPeniche\nNazaré\nLeiria\nPombal\nSoure\nCondeixa\nAntanhol\nCernache\nCoimbra\nPorto",
	after: "Lisbon\nÓbidos\nNazaré\nLeiria\nPombal\nSoure\nCondeixa\nAntanhol\nCernache\nCoimbra\nAveiro\nPorto"
};

/** A view with the components that `VIEW` lacks. */
export const TRIP_VIEW = {
	version: 1,
	root: {
		component: "Column",
		children: [
			{
				component: "Row",
				children: [
					{ component: "Slider", path: "/input/days", label: "Days", min: 1, max: 14 },
					{ component: "Button", label: "Look it up" }
				]
			},
			{ component: "Text", variant: "heading", text: "{/result/title}" },
			{
				component: "Row",
				children: [
					{ component: "Icon", name: "sun", label: "Sunny" },
					{ component: "Icon", name: "clock", label: "11 hours" },
					{ component: "Icon", name: "place" },
					{
						component: "Modal",
						label: "What it costs",
						title: "Costs",
						children: [
							{
								component: "Chart",
								kind: "pie",
								rows: "/result/stops",
								x: { path: "@/place", label: "Place" },
								y: [{ path: "@/cost", label: "Cost" }]
							}
						]
					}
				]
			},
			{
				component: "Map",
				points: "/result/stops",
				latitude: "@/lat",
				longitude: "@/lon",
				label: "{@/place}"
			},
			{ component: "Divider" },
			{
				component: "Timeline",
				items: "/result/stops",
				time: { path: "@/at" },
				title: "{@/place}",
				text: "{@/note}"
			},
			{
				component: "Chart",
				kind: "area",
				rows: "/result/stops",
				x: { path: "@/place", label: "Place" },
				y: [{ path: "@/cost", label: "Cost" }]
			},
			{
				component: "Chart",
				kind: "pie",
				rows: "/result/stops",
				x: { path: "@/place", label: "Place" },
				y: [{ path: "@/cost", label: "Cost" }]
			},
			{ component: "Code", text: { path: "/result/plan" }, language: "toml" },
			{ component: "Diff", before: { path: "/result/before" }, after: { path: "/result/after" } }
		]
	}
};
