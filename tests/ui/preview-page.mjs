// Tools and views for tests of `portcullis preview`, and its page in a tab.

import { startPreview } from "./preview-server.mjs";
import { makePage } from "./pages.mjs";
import { DELETE, FORECAST, WEATHER } from "./tools.mjs";

const READS = { readOnlyHint: true };

/** A tool with a view at `ui://tests/<name>.html`. */
export const viewed = (name, more = {}, visibility = ["model", "app"]) => ({
	name,
	inputSchema: { type: "object" },
	annotations: READS,
	...more,
	_meta: { ui: { resourceUri: `ui://tests/${name}.html`, visibility } }
});

/** A view that starts correctly and then runs `script`. `ask` and `tell` send requests and notifications to its host. */
export const view = (script, { begin = true } = {}) => `<!doctype html>
<html lang="en"><title>Test</title><main><h1>Test</h1><p id="said" style="white-space: pre-wrap"></p></main><script>
let last = 0;
const waiting = new Map();
const say = (text) => (document.querySelector("#said").textContent += text + "\\n");
const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const tell = (method, params = {}) => post({ method, params });
const ask = (method, params = {}) => new Promise((then) => {
	waiting.set(++last, then);
	post({ id: last, method, params });
});
const call = async (name, args = {}) => say(name + ": " + JSON.stringify(await ask("tools/call", { name, arguments: args })));
let heard = () => {};
addEventListener("message", ({ data }) => {
	if (data.method === "ui/resource-teardown") {
		post({ id: data.id, result: {} });
	} else if (data.method) {
		heard(data);
	} else {
		waiting.get(data.id)?.(data.result ?? data.error);
	}
});
${
	begin
		? `ask("ui/initialize", { appInfo: { name: "test", version: "1" }, appCapabilities: {}, protocolVersion: "2026-01-26" }).then(async (host) => {
	tell("ui/notifications/initialized");
	tell("ui/notifications/size-changed", { height: 240 });
	${script}
});`
		: script
}
</script></html>`;

export const text = (words, more) => ({ content: [{ type: "text", text: words }], ...more });

/** A server with the tools of the tests: some have views by Portcullis, others have views of their own. */
export async function startWorld(t, views = {}, more = {}) {
	const weather = { ...WEATHER, _meta: { ui: { resourceUri: "ui://tests/weather.html" } } };
	const erase = { ...DELETE, _meta: { ui: { resourceUri: "ui://tests/erase.html", visibility: ["model"] } } };
	const world = {
		tools: [weather, erase, { name: "plain", inputSchema: { type: "object" }, annotations: READS }],
		resources: {
			"ui://tests/weather.html": { text: await makePage(weather) },
			"ui://tests/erase.html": { text: await makePage(erase) }
		},
		answers: {
			get_weather: ({ city }) => text(`Weather of ${city}`, { structuredContent: { ...FORECAST, city } }),
			delete_file: () => text("gone"),
			plain: () => text("plain words")
		}
	};
	for (const [name, script] of Object.entries(views)) {
		world.tools.push(viewed(name));
		world.resources[`ui://tests/${name}.html`] = { text: script };
		world.answers[name] = () => text(`${name} answers`);
	}
	Object.assign(world.answers, more.answers);
	world.tools.push(...(more.tools ?? []));
	return { world, server: await startPreview(t, world, Object.keys(views)[0] ?? "get_weather") };
}

/** The page in a tab, with records of its requests and errors. */
export async function visit(t, browser, server, options) {
	const page = await browser.newPage({ viewport: { width: 1400, height: 1000 }, ...options });
	t.after(() => page.close());
	page.setDefaultTimeout(20_000);
	const errors = [];
	const outside = [];
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("request", (request) => {
		const { origin, protocol } = new URL(request.url());
		const own = [new URL(server.url).origin, new URL(server.sandbox).origin].includes(origin);
		return own || ["about:", "data:"].includes(protocol) || outside.push(request.url());
	});
	await page.goto(server.url);
	await page.getByText("Connected", { exact: true }).waitFor();
	return {
		page,
		errors,
		outside,
		view: (at = 0) => page.frameLocator("figure iframe").nth(at).frameLocator("iframe"),
		log: page.getByRole("region", { name: /^What the view did/ }),
		findings: page.getByRole("region", { name: /^Findings/ }),
		answer: page.getByRole("region", { name: "Answer" }),
		dialog: page.getByRole("dialog"),
		ready: () =>
			page
				.getByText(/^Ready in/)
				.first()
				.waitFor(),
		call: async (args) => {
			await page.getByLabel("Arguments, as JSON").fill(typeof args === "string" ? args : JSON.stringify(args));
			await page.getByRole("button", { name: "Call", exact: true }).click();
		}
	};
}
