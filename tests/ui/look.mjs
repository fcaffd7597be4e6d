// Takes screenshots of views for people to look at: node look.mjs FOLDER

import { mkdir } from "node:fs/promises";
import path from "node:path";
import { open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { DELETE, FORECAST, HARD, HARD_INPUT, WEATHER } from "./tools.mjs";
import { PIXEL, TRIP, TRIP_VIEW, VIEW } from "./views.mjs";

const folder = process.argv[2] ?? "/tmp/portcullis-views";
await mkdir(folder, { recursive: true });
const ends = [];
const t = { after: (end) => ends.unshift(end) };
const hosts = await startHosts(t);

async function take(name, tool, steps, { width = 760, ...options } = {}, more = {}) {
	const view = await open(t, hosts, await makePage(tool, more), { viewport: { width, height: 700 }, ...options });
	await steps(view);
	await view.host.waitForTimeout(300);
	await view.host.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
}

const result = { content: [], structuredContent: FORECAST };
const weather = async (view) => {
	await view.send("sendToolInput", { arguments: { city: "Lisbon", days: 7, units: "metric" } });
	await view.send("sendToolResult", result);
};

await take("form", WEATHER, async () => {});
await take("weather", WEATHER, weather);
await take("weather-dark", WEATHER, weather, { context: { theme: "dark" } });
await take("weather-wide", WEATHER, weather, { width: 1200 });
await take("weather-narrow-rtl", WEATHER, weather, { width: 360, context: { locale: "ar-EG" } });
await take("hard", HARD, (view) => view.send("sendToolInput", { arguments: HARD_INPUT }));
await take("hard-empty-dark", HARD, ({ app }) => app.getByRole("button", { name: "Run", exact: true }).click(), {
	context: { theme: "dark" }
});
await take("delete", DELETE, async ({ app }) => {
	await app.getByLabel("Path").fill("/tmp/x");
	await app.getByRole("button", { name: "Run…" }).click();
});
await take(
	"view",
	WEATHER,
	(view) =>
		view.send("sendToolResult", { ...result, content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] }),
	{},
	{ view: VIEW }
);
await take(
	"view-dark",
	WEATHER,
	(view) => view.send("sendToolResult", result),
	{ width: 1000, context: { theme: "dark" } },
	{ view: VIEW }
);
for (const theme of ["light", "dark"]) {
	for (const width of [320, 800]) {
		await take(
			`trip-${theme}-${width}`,
			WEATHER,
			(view) => view.send("sendToolResult", { content: [], structuredContent: TRIP }),
			{ width, context: { theme } },
			{ view: TRIP_VIEW }
		);
	}
}
await take("error", WEATHER, (view) =>
	view.send("sendToolResult", { isError: true, content: [{ type: "text", text: "No such city: Atlantis" }] })
);
await take(
	"bars",
	{ ...DELETE, title: "Disk use", annotations: { readOnlyHint: true }, description: "How much each folder holds." },
	(view) =>
		view.send("sendToolResult", {
			content: [],
			structuredContent: {
				total: 73400,
				healthy: true,
				tags: ["ssd", "raid"],
				folders: [
					{ folder: "photos", size: 42000, owner: { name: "Ada", mail: "ada@example.com" } },
					{ folder: "music", size: 21500, owner: { name: "Bo" } },
					{ folder: "documents", size: 9900, owner: null }
				]
			}
		}),
	{ context: { theme: "dark" } }
);
for (const end of ends) {
	await end();
}
