// A view specification with every component, and a picture of one point.

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
