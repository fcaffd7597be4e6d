// Takes the screenshots of docs/guides/gallery.md and writes this page: node gallery.mjs [NAME...]
//
// Every component of view specifications and every shape of forms and answers is here once. Some answers of real tools are
// shown beside their display in a client without views. With names, only these screenshots are taken.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateSync } from "node:zlib";
import { shipped } from "./build.mjs";
import { open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { DELETE, FORECAST, WEATHER } from "./tools.mjs";

const guides = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../docs/guides");

/** The folder of the screenshots. */
export const pictures = path.join(guides, "pictures");

/** Answers of real tools. */
const answers = path.join(path.dirname(fileURLToPath(import.meta.url)), "answers");

/** The page that shows the screenshots. */
export const guide = path.join(guides, "gallery.md");

/** An image to show: a gradient, as PNG in base64. */
const PICTURE = (() => {
	const [width, height] = [200, 80];
	const rows = Array.from({ length: height }, (_, y) => [
		0,
		...Array.from({ length: width }, (_, x) => [40 + x, 90 + y, 220 - x]).flat()
	]);
	const chunk = (type, body) => {
		const whole = Buffer.concat([Buffer.from(type), body]);
		const [length, sum] = [body.length, crc32(whole)].map((number) => {
			const four = Buffer.alloc(4);
			four.writeUInt32BE(number);
			return four;
		});
		return Buffer.concat([length, whole, sum]);
	};
	const head = Buffer.alloc(13);
	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	head.set([8, 2, 0, 0, 0], 8);
	const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
	const data = deflateSync(Buffer.from(rows.flat()));
	return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]).toString("base64");
})();

const reading = (title, properties = {}, more) => ({
	name: title.toLowerCase().replaceAll(" ", "_"),
	title,
	inputSchema: { type: "object", properties, ...more },
	annotations: { readOnlyHint: true }
});
const data = (structuredContent) => ({ content: [], structuredContent });
const text = (...texts) => ({ content: texts.map((one) => ({ type: "text", text: one })) });
const days = FORECAST.days;

const BOOKS = {
	found: 3,
	books: [
		{ title: "The Left Hand of Darkness", year: 1969, price: 12.5, inStock: true, size_bytes: 1_482_112, isbn: "9780441478125" },
		{ title: "Kindred", year: 1979, price: 10, inStock: false, size_bytes: 924_001, isbn: "9780807083697" },
		{ title: "Solaris", year: 1961, price: 9.95, inStock: true, size_bytes: 802_440, isbn: "9780156027601" }
	]
};

/** Answers and forms by their shape: the name of the screenshot, its caption, the tool, and the steps before the screenshot. */
const SHAPES = [
	["form", "A form: fields of fitting size, defaults in empty fields", WEATHER, {}],
	[
		"form-lists",
		"A form with lists, a group that may be left out, a time, and a file",
		reading(
			"Send a report",
			{
				to: { type: "array", items: { type: "string", format: "email" }, description: "Who receives it" },
				labels: { type: "array", items: { enum: ["draft", "final", "secret"] }, uniqueItems: true },
				at: { type: "string", format: "date-time" },
				notes: { type: "string", maxLength: 500 },
				cover: {
					type: "object",
					properties: { title: { type: "string" }, pages: { type: "integer", minimum: 1 } },
					required: ["title"]
				},
				file: { type: "string", contentEncoding: "base64", contentMediaType: "application/pdf" }
			},
			{ required: ["to"] }
		),
		{ input: { to: ["ada@example.com", "bo@example.com"], labels: ["draft"], cover: { title: "Year" } } }
	],
	[
		"form-errors",
		"Errors stand beside their labels, and the focus is at the first",
		WEATHER,
		{
			steps: async ({ app }) => {
				await app.getByLabel("Days").fill("15");
				await app.getByRole("button", { name: "Run", exact: true }).click();
			}
		}
	],
	["assistant", "A tool that only the assistant may call", DELETE, { more: { callable: false }, ask: true, input: { path: "/srv/old.log" } }],
	[
		"confirm",
		"A tool that may destroy asks first",
		DELETE,
		{
			input: { path: "/srv/old.log" },
			steps: async ({ app }) => app.getByRole("button", { name: "Run…" }).click()
		}
	],
	["series", "A time series: its table and its chart; the form is folded", WEATHER, { input: { city: "Lisbon", days: 7 }, result: data(FORECAST) }],
	[
		"series-dark",
		"The same in dark, in German, with the form unfolded",
		WEATHER,
		{
			input: { city: "Lisbon" },
			result: data(FORECAST),
			context: { theme: "dark", locale: "de-DE" },
			languages: ["de"],
			steps: async ({ app }) => app.getByRole("button", { name: /^Eingabe/ }).click()
		}
	],
	[
		"records-arabic",
		"Records, for a reader of Arabic",
		reading("كتب"),
		{ result: data(BOOKS), context: { locale: "ar-EG" }, languages: ["ar"] }
	],
	["records", "Records: money, bytes, flags and numbers by what they are", reading("Find books"), { result: data(BOOKS) }],
	[
		"object",
		"One object: names and values",
		reading("Server status"),
		{
			result: data({
				name: "web-3",
				healthy: true,
				uptime_ms: 86_461_000,
				memory_bytes: 3_221_225_472,
				load: 0.42,
				version: "2.14.1",
				started: "2026-03-01T07:30:00Z",
				home: "https://web-3.example.com/status",
				tags: ["eu", "blue"]
			})
		}
	],
	[
		"map",
		"A map of like objects: one table",
		reading("Compare regions"),
		{
			result: data({
				north: { orders: 120, returns: 4, revenue: 15_200.5 },
				south: { orders: 98, returns: 9, revenue: 11_020 },
				west: { orders: 143, returns: 2, revenue: 19_875.25 }
			})
		}
	],
	[
		"tree",
		"A tree",
		reading("List files"),
		{
			result: data({
				name: "src",
				children: [
					{ name: "main.rs", size_bytes: 4120, children: [] },
					{ name: "cli", children: [{ name: "serve.rs", size_bytes: 3756, children: [] }, { name: "wrap.rs", size_bytes: 1752, children: [] }] }
				]
			})
		}
	],
	["markdown", "Markdown in a text", reading("Explain"), { result: text("# Results\n\nThe build is **green**:\n\n- `core` in 12 s\n- `ui` in 3 s\n\n> Cached.\n\n```js\nconst a = 1;\n```") }],
	["csv", "Lines with commas are a table", reading("Export"), { result: text("city,high,low\nLisbon,18.5,9\nFaro,20,11\nPorto,16,8") }],
	["diff", "A difference", reading("Show change"), { result: text("--- a/app.js\n+++ b/app.js\n@@ -1,3 +1,3 @@\n const port = 1;\n-listen(port);\n+listen(port, \"localhost\");\n done();\n") }],
	[
		"change",
		"Before and after",
		reading("Rename"),
		{ result: data({ before: { name: "old", size: 4, open: true }, after: { name: "new", size: 4, open: false } }) }
	],
	[
		"places",
		"Places, without a network",
		reading("Find stations"),
		{
			result: data([
				{ name: "Rossio", latitude: 38.7143, longitude: -9.1403 },
				{ name: "Oriente", latitude: 38.7678, longitude: -9.0991 },
				{ name: "Belém", latitude: 38.6976, longitude: -9.2033 }
			])
		}
	],
	[
		"media",
		"A picture, a link and a file",
		reading("Draw"),
		{
			result: {
				content: [
					{ type: "text", text: "A slope of colours." },
					{ type: "image", data: PICTURE, mimeType: "image/png" },
					{ type: "resource_link", uri: "https://example.com/report", name: "report", title: "The report", description: "As a page" },
					{ type: "resource", resource: { uri: "file:///notes.txt", mimeType: "text/plain", text: "first\nsecond" } }
				]
			}
		}
	],
	["error", "An error of the tool", reading("Look up"), { result: { ...text("No such city: Atlantis"), isError: true } }]
];

/** Answers of real tools, by their file and name in `answers/`, with a caption. */
const COMPARED = [
	["filesystem", "edit_file", "A file was changed: the difference"],
	["git", "git_log", "Lines of text that are a table"],
	["duckdb", "query", "Rows of a database, and their chart"],
	["eslint", "lint", "Findings of a linter, in JSON within prose"],
	["shapes", "stats", "A weather forecast: units stand beside the numbers"],
	["filesystem", "read_multiple_files", "Two files, each by what it is"],
	["time", "convert_time", "Times with their zones"],
	["portcullis", "find_unused_assets", "A long list of paths"],
	["portcullis", "run_ui5_linter", "Findings by file, said twice: one table, and the text folded away"],
	["portcullis", "get_api_reference_class", "Prose with tags of HTML"],
	["editor", "compile_code", "A failure, and its reasons before the log"]
];

const binding = (place) => ({ path: place });
const texts = (component, more) => ({ component, ...more });

/** One example of each component of view specifications. */
const COMPONENTS = {
	Column: { children: [texts("Text", { text: "First" }), texts("Text", { text: "Second" })] },
	Row: { children: [texts("Field", { path: "/input/city" }), texts("Button", { label: "Look it up" })] },
	Card: { title: "Warmest day", children: [texts("Text", { text: "{/result/days/2/date}" })] },
	Tabs: { tabs: [{ title: "Today", child: texts("Text", { text: "Sunny" }) }, { title: "Tomorrow", child: texts("Text", { text: "Cloudy" }) }] },
	Text: { variant: "markdown", text: "**Mostly** dry:\n\n- `mild`\n- calm" },
	Metric: { label: "High", value: { path: "/result/days/2/high", format: "number" }, unit: "°C" },
	Details: { rows: [{ label: "Low", value: binding("/result/days/0/low") }, { label: "Sky", value: binding("/result/days/0/sky") }] },
	Table: { rows: "/result/days", columns: [{ label: "Day", path: "@/date" }, { label: "Sky", path: "@/sky" }] },
	Chart: {
		kind: "bar",
		rows: "/result/days",
		x: { path: "@/sky", label: "Sky" },
		y: [{ path: "@/high", label: "High" }, { path: "@/low", label: "Low" }]
	},
	List: { items: "/result/days", child: texts("Card", { children: [texts("Text", { variant: "badge", text: "{@/sky}" })] }) },
	Image: { path: "/content/0", alt: "A slope of colours" },
	Form: {},
	Field: { path: "/input/days" },
	Button: { label: "Next week", arguments: { days: 7 } },
	Map: { points: "/result/places", latitude: "@/lat", longitude: "@/lon", label: binding("@/name") },
	Timeline: { items: "/result/days", time: binding("@/date"), title: binding("@/sky") },
	Code: { text: "const port = 1;\nlisten(port);", language: "js" },
	Diff: { before: "one\ntwo\nthree", after: "one\n2\nthree" },
	Icon: { name: "sun", label: "Sunny" },
	Divider: {},
	Modal: { label: "More", title: "More about it", children: [texts("Text", { text: "Within" })] },
	Slider: { path: "/input/days", label: "Days" }
};

const ANSWER = {
	...data({
		...FORECAST,
		days: days.slice(0, 4),
		places: [
			{ name: "Rossio", lat: 38.7143, lon: -9.1403 },
			{ name: "Oriente", lat: 38.7678, lon: -9.0991 }
		]
	}),
	content: [{ type: "image", data: PICTURE, mimeType: "image/png" }]
};

/** The root of a view that shows a component. A divider alone would show nothing, so texts surround it. */
function rootOf(component) {
	const one = { component, ...COMPONENTS[component] };
	const [above, below] = ["Above", "Below"].map((said) => texts("Text", { text: said }));
	return component === "Divider" ? texts("Column", { children: [above, one, below] }) : one;
}

/** The components that have an example. */
export const examples = Object.keys(COMPONENTS);

/** The components in `view.schema.json`. */
export async function components() {
	const schema = JSON.parse(await readFile(path.join(shipped, "view.schema.json"), "utf8"));
	return Object.values(schema.$defs)
		.map((part) => part.properties?.component?.const)
		.filter(Boolean);
}

/** All screenshots: the name of the file, the caption, and how it is made. */
export async function gallery() {
	const shapes = SHAPES.map(([name, about, tool, how]) => ({ name, about, tool, how }));
	const parts = (await components()).map((component) => ({
		name: `component-${component.toLowerCase()}`,
		about: component,
		tool: WEATHER,
		how: {
			input: { city: "Lisbon", days: 4 },
			result: ANSWER,
			more: { view: { version: 1, root: rootOf(component) } },
			isPart: true
		}
	}));
	const compared = await Promise.all(
		COMPARED.map(async ([file, answer, about]) => {
			const { tool, input, result } = JSON.parse(await readFile(path.join(answers, `${file}.json`), "utf8"))[answer];
			return { name: `${file}-${answer.replaceAll("_", "-")}`, about, tool, how: { input, result, width: 400, most: 560 } };
		})
	);
	return { shapes, parts, compared };
}

/** The two screenshots of an answer: without a view and with one. */
const pair = (name) => ["before", "after"].map((when) => `${when}-${name}`);

/** Takes a screenshot of an answer as clients without views show it: its text, or else its JSON. */
async function takePlain({ browser }, { name, how: { result, width, most } }) {
	const texts = result.content.map(({ text }) => text).filter(Boolean);
	const said = texts.length ? texts.join("\n") : JSON.stringify(result.structuredContent);
	const host = await browser.newPage({ viewport: { width, height: most } });
	await host.setContent('<body style="margin: 0"><pre style="margin: 0; padding: 16px; font: 13px/1.45 monospace; white-space: pre-wrap; overflow-wrap: anywhere; box-sizing: border-box; color: #191b1f"></pre>');
	await host.locator("pre").evaluate((element, text) => (element.textContent = text), said);
	const { height } = await host.locator("pre").boundingBox();
	await host.screenshot({ path: path.join(pictures, `${name}.png`), clip: { x: 0, y: 0, width, height: Math.min(most, height) } });
	await host.close();
}

/** Shows one of the gallery's views in a host. */
export async function show(t, hosts, { tool, how: { input, result, steps, context, languages, more, ask, isPart, width = isPart ? 360 : 560 } }) {
	const view = await open(t, hosts, await makePage(tool, more, false, languages), {
		viewport: { width, height: 1000 },
		context,
		capabilities: ask ? { message: { text: {} } } : {}
	});
	input && (await view.send("sendToolInput", { arguments: input }));
	result ? await view.send("sendToolResult", result) : input && (await view.send("sendToolCancelled", {}));
	await view.host.waitForTimeout(200);
	await steps?.(view);
	return view;
}

async function take(t, hosts, one) {
	const { isPart, most = Infinity } = one.how;
	const view = await show(t, hosts, one);
	await view.host.waitForTimeout(500);
	const part = view.app.locator(".face > :first-child");
	const box = isPart && (await part.count()) ? await part.boundingBox() : undefined;
	await view.host.screenshot({
		path: path.join(pictures, `${one.name}.png`),
		...(box
			? { clip: { x: 4, y: Math.max(0, box.y - 12), width: 352, height: Math.min(box.height + 24, 500) } }
			: { clip: await view.host.locator("iframe").boundingBox().then((whole) => ({ ...whole, height: Math.min(most, whole.height) })) })
	});
	await view.host.close();
}

const page = ({ shapes, parts, compared }) => `# Gallery of views

Pictures of what [generated UIs](generated-uis.md) look like. \`node tests/ui/gallery.mjs\` takes them and writes this page.

## Before and after

Answers of public MCP servers and of the bundled plugins: at the left as a client shows them that knows no views, at the right as a view.
Long ones are cut. [\`tests/ui/answers\`](../../tests/ui/answers) has all answers, and names the servers.

${compared
	.map(({ name, about, tool }) => {
		const [before, after] = pair(name);
		return `### ${about}\n\n\`${tool.name}\`\n\n| without a view | with a view |\n|---|---|\n| ![${about}, without a view](pictures/${before}.png) | ![${about}, with a view](pictures/${after}.png) |\n`;
	})
	.join("\n")}
## Forms and answers

${shapes.map(({ name, about }) => `### ${about}\n\n![${about}](pictures/${name}.png)\n`).join("\n")}
## Components of view specifications

[\`view.schema.json\`](../../plugins/ui/resources/view.schema.json) describes them.

| component | example |
|---|---|
${parts.map(({ name, about }) => `| \`${about}\` | ![${about}](pictures/${name}.png) |`).join("\n")}
`;

/** The files of all screenshots. */
export const files = ({ shapes, parts, compared }) => [...[...shapes, ...parts].map(({ name }) => name), ...compared.flatMap(({ name }) => pair(name))].map((name) => `${name}.png`);

/** The text of the page. */
export const written = async () => page(await gallery());

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const wanted = process.argv.slice(2);
	const all = await gallery();
	await mkdir(pictures, { recursive: true });
	const ends = [];
	const t = { after: (end) => ends.unshift(end) };
	try {
		const hosts = await startHosts(t);
		for (const one of all.compared) {
			const [before, after] = pair(one.name);
			if (!wanted.length || wanted.includes(one.name)) {
				await takePlain(hosts, { ...one, name: before });
				await take(t, hosts, { ...one, name: after });
			}
		}
		for (const one of [...all.shapes, ...all.parts]) {
			if (!wanted.length || wanted.includes(one.name)) {
				await take(t, hosts, one).catch((error) => {
					console.error(`${one.name}: ${error.message}`);
					process.exitCode = 1;
				});
			}
		}
	} finally {
		for (const end of ends) {
			await end();
		}
	}
	await writeFile(guide, page(all));
}
