// Tests of views by a specification: components, bindings and calls, and the reason that is shown if a view is faulty.

import assert from "node:assert/strict";
import Ajv from "ajv/dist/2020.js";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { shipped } from "./build.mjs";
import { accessible, behaved, open, PROFILES, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { FORECAST, WEATHER } from "./tools.mjs";
import { PIXEL, TRIP, TRIP_VIEW, VIEW } from "./views.mjs";

const valid = new Ajv({ strict: false }).compile(
	JSON.parse(await readFile(path.join(shipped, "view.schema.json"), "utf8"))
);
const result = {
	content: [{ type: "image", data: PIXEL, mimeType: "image/png" }],
	structuredContent: { ...FORECAST, next: "page2" }
};

test("view specifications", { timeout: 240_000 }, async (t) => {
	const hosts = await startHosts(t, { reuse: true });
	assert.ok(valid(VIEW), JSON.stringify(valid.errors));
	for (const profile of Object.keys(PROFILES)) {
		await t.test(`in ${profile}`, { timeout: 60_000 }, async (t) => {
			const view = await open(t, hosts, await makePage(WEATHER, { view: VIEW }), { profile });
			const { app } = view;
			await app.getByRole("button", { name: "Look it up" }).waitFor();
			assert.equal(await app.getByText("Warmest day").count(), 0, "what needs a result waits for one");
			await view.send("sendToolInput", { arguments: { city: "Lisbon" } });
			await view.send("sendToolResult", result);
			await app.getByText("Forecast for Lisbon").waitFor();
			assert.equal(await app.getByText("Only with a storm").count(), 0);
			await app.getByRole("img", { name: /Bar chart/ }).waitFor();
			await app.getByRole("img", { name: /A map, 1 × 1/ }).waitFor();
			await app.getByText("€18.50").waitFor();
			await app.getByRole("tab", { name: "Table" }).click();
			await app.getByRole("cell", { name: "Showers" }).waitFor();
			await accessible(view);

			await view.answers(result);
			await app.getByLabel("City").fill("Faro");
			await app.getByRole("button", { name: "Look it up" }).click();
			await app.getByText("Done.").waitFor({ state: "attached" });
			await app.getByRole("button", { name: "Next page" }).click();
			assert.deepEqual(await view.calls(2), [
				{ name: "get_weather", arguments: { city: "Faro" } },
				{ name: "get_weather", arguments: { city: "Faro", days: 2, cursor: "page2" } }
			]);
			await behaved(view);
		});
	}

	assert.ok(valid(TRIP_VIEW), JSON.stringify(valid.errors));
	for (const profile of Object.keys(PROFILES)) {
		await t.test(`with everything else, in ${profile}`, { timeout: 60_000 }, async (t) => {
			const view = await open(t, hosts, await makePage(WEATHER, { view: TRIP_VIEW }), { profile });
			const { app } = view;
			await app.getByRole("slider", { name: "Days" }).waitFor();
			assert.equal(await app.getByRole("img", { name: /Map/ }).count(), 0, "what needs a result waits for one");
			await view.send("sendToolInput", { arguments: { city: "Lisbon", days: 3 } });
			await view.send("sendToolResult", { content: [], structuredContent: TRIP });
			await app.getByRole("img", { name: /^Map between 38\.\d+° N and 41\.\d+° N, .*; points: 5\./ }).waitFor();
			assert.equal(await app.locator(".places circle").count(), 5);
			assert.ok((await app.locator(".places .grid").count()) > 4, "there is a grid");
			await app.getByRole("img", { name: /^Area chart of Cost by Place: 5 values from 8 to 95/ }).waitFor();
			await app.getByRole("listitem").filter({ hasText: "Porto: 95 (58.8%)" }).waitFor();
			assert.equal(await app.getByRole("list").filter({ hasText: "The old town" }).getByRole("listitem").count(), 5);
			assert.deepEqual(await app.locator(".code :is(b, u, i)").allTextContents(), [
				"# The day",
				'"08:00"',
				"# early",
				"120",
				'"Lisbon"',
				'"Porto"'
			]);
			await app.getByText("1 line added · 1 line removed").waitFor();
			assert.deepEqual(await app.locator(".diff del").allTextContents(), ["− Peniche"]);
			assert.deepEqual(await app.locator(".diff ins").allTextContents(), ["+ Aveiro"]);
			assert.equal(await app.locator(".icon svg[aria-hidden=true] path").count(), 3);
			assert.equal(await app.locator("hr").count(), 1);
			await accessible(view);

			// By keyboard: the slider sets the argument, the dialog opens, and the focus returns from it.
			await app.getByRole("slider", { name: "Days" }).press("ArrowRight");
			await app.getByRole("slider", { name: "Days" }).press("ArrowRight");
			const opener = app.getByRole("button", { name: "What it costs" });
			await opener.press("Enter");
			const dialog = app.getByRole("dialog", { name: "Costs" });
			await dialog.getByRole("img", { name: /^Pie chart of Cost by Place; parts: 5/ }).waitFor();
			await accessible(view);
			await dialog.getByRole("button", { name: "Close" }).press("Escape");
			await dialog.waitFor({ state: "hidden" });
			assert.ok(await opener.evaluate((element) => element === element.ownerDocument.activeElement));
			await app.getByRole("button", { name: "Look it up" }).press("Enter");
			assert.deepEqual((await view.calls(1))[0].arguments.days, 5);
			await behaved(view);
		});
	}

	await t.test("what cannot be drawn says so", { timeout: 60_000 }, async (t) => {
		const rows = { rows: "/result/rows", x: { path: "@/a", label: "A" }, y: [{ path: "@/b", label: "B" }] };
		const root = {
			component: "Column",
			children: [
				{ component: "Chart", kind: "pie", ...rows },
				{ component: "Chart", kind: "area", ...rows },
				{ component: "Map", points: "/result/rows", latitude: "@/b", longitude: "@/b" },
				{ component: "Timeline", items: "/result/none", time: { path: "@/a" }, title: "{@/a}" },
				{ component: "Code", text: { path: "/result/rows" } },
				{ component: "Diff", before: "same", after: "same" }
			]
		};
		const view = await open(t, hosts, await makePage(WEATHER, { view: { version: 1, root } }));
		const hostile = "<img src=x onerror=alert(1)>";
		await view.send("sendToolResult", { content: [], structuredContent: { rows: [{ a: hostile, b: -500 }], none: [] } });
		await view.app.getByText("Nothing to draw").waitFor();
		await view.app.getByText("No places").waitFor();
		await view.app.getByText("No entries").waitFor();
		await view.app.getByText("Nothing differs.").waitFor();
		await view.app.getByRole("img", { name: /^Area chart of B by A: 1 values/ }).waitFor();
		assert.equal(await view.app.locator("img").count(), 0);
		await behaved(view);
	});

	const wrong = {
		"there is no icon “unicorn”": { version: 1, root: { component: "Icon", name: "unicorn" } },
		"the tool takes no number “nowhere”": {
			version: 1,
			root: { component: "Slider", path: "/input/nowhere", label: "a" }
		},
		"Nothing is no component": { version: 1, root: { component: "Nothing" } },
		"is of version 2": { version: 2, root: { component: "Form" } },
		"leads neither into the input nor into the result": {
			version: 1,
			root: { component: "Text", text: { path: "/secrets" } }
		},
		"takes no": { version: 1, root: { component: "Field", path: "/input/nowhere" } },
		"constructor is no component": { version: 1, root: { component: "constructor" } },
		"root (Details)": { version: 1, root: { component: "Details", rows: {} } }
	};
	await t.test("given up where the answer has nothing of it", { timeout: 60_000 }, async (t) => {
		const root = { component: "Column", children: [{ component: "Text", text: "Wind: {/result/wind}, {/result/gusts}" }] };
		const view = await open(t, hosts, await makePage(WEATHER, { view: { version: 1, root } }));
		await view.send("sendToolResult", { content: [], structuredContent: { wind: 3 } });
		await view.app.getByText("Wind: 3, —").waitFor();
		await view.send("sendToolResult", { content: [], structuredContent: { city: "Faro" } });
		await view.app.getByText("nothing of what it shows is in the answer: /result/wind, /result/gusts").waitFor();
		await view.app.getByText("Faro").first().waitFor();
		await behaved(view);
	});

	for (const [reason, spec] of Object.entries(wrong)) {
		await t.test(`given up: ${reason}`, { timeout: 60_000 }, async (t) => {
			const view = await open(t, hosts, await makePage(WEATHER, { view: spec }));
			await view.app.getByText(reason).waitFor();
			await view.app.getByLabel("City").fill("Faro");
			await view.app.getByRole("button", { name: "Run", exact: true }).click();
			assert.equal((await view.calls(1))[0].arguments.city, "Faro");
			await behaved(view);
		});
	}
});
