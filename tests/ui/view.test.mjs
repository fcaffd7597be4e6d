// Tests every page in every way in which hosts embed pages: handshake, input, call, answer, accessibility.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, behaved, open, PROFILES, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { DELETE, FORECAST, HARD, HARD_INPUT, WEATHER } from "./tools.mjs";

const answer = (data, more) => ({
	content: [{ type: "text", text: JSON.stringify(data) }],
	structuredContent: data,
	...more
});

test("views", { timeout: 300_000 }, async (t) => {
	const hosts = await startHosts(t, { reuse: true });
	const ways = Object.keys(PROFILES).flatMap((profile) => [
		[profile, false],
		[profile, true]
	]);
	for (const [profile, plain] of ways) {
		await t.test(`in ${profile}${plain ? ", not packed" : ""}`, { timeout: 60_000 }, async (t) => {
			const view = await open(t, hosts, await makePage(WEATHER, {}, plain), { profile });
			const { app } = view;
			await view.send("sendToolInput", { arguments: { city: "Lisbon", days: 7 } });
			await view.send("sendToolResult", answer(FORECAST));
			await app.getByRole("cell", { name: "Showers" }).waitFor();
			await app.getByRole("img", { name: /Line chart/ }).waitFor();
			assert.deepEqual((await view.log()).calls, [], "nothing is called before the user acts");

			await app.getByRole("button", { name: "Edit input (2 set)" }).click();
			await app.locator(".form").getByLabel("City").fill("Faro");
			await app.locator(".form").getByLabel("Days").fill("3");
			await view.answers(answer({ ...FORECAST, city: "Faro" }));
			await app.getByRole("button", { name: "Run", exact: true }).click();
			await app.getByText("Faro", { exact: true }).waitFor();
			assert.deepEqual(await view.calls(1), [{ name: "get_weather", arguments: { city: "Faro", days: 3 } }]);
			await app.getByText("Done.").waitFor();

			await app.locator(".form").getByLabel("City").fill("Porto");
			await app.locator(".form").getByLabel("City").press("Enter");
			assert.deepEqual((await view.calls(2))[1].arguments, { city: "Porto", days: 3 });
			await view.send("sendResourceTeardown", {});
			await behaved(view);
			await accessible(view);
		});
	}

	await t.test("what a host gives comes back as it was", { timeout: 60_000 }, async (t) => {
		const view = await open(t, hosts, await makePage(HARD));
		await view.send("sendToolInput", { arguments: HARD_INPUT });
		await view.app.getByRole("button", { name: "Run", exact: true }).click();
		assert.deepEqual((await view.calls(1))[0].arguments, HARD_INPUT);
		await accessible(view);
		await view.send("sendHostContextChange", { theme: "dark" });
		await accessible(view);
		await behaved(view);
	});

	await t.test("a tool that may destroy asks first", { timeout: 60_000 }, async (t) => {
		const view = await open(t, hosts, await makePage(DELETE));
		const { app } = view;
		await app.getByLabel("Path").fill("/tmp/x");
		await app.getByRole("button", { name: "Run…" }).click();
		await accessible(view);
		await app.getByRole("button", { name: "Cancel" }).click();
		await app.getByRole("alertdialog").waitFor({ state: "detached" });
		assert.deepEqual((await view.log()).calls, []);
		await app.getByLabel("Path").press("Enter");
		await app.getByRole("alertdialog").waitFor();
		await app.getByLabel("Path").fill("/tmp/y");
		await app.getByRole("alertdialog").waitFor({ state: "detached" });
		await app.getByLabel("Path").press("Enter");
		await app.getByRole("button", { name: "Run it" }).click();
		assert.deepEqual(await view.calls(1), [{ name: "delete_file", arguments: { path: "/tmp/y" } }]);
		await behaved(view);
	});
});
