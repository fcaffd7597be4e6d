// Tests of `portcullis preview` in Chromium: the user's actions, and what the page shows about views.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readable, startBrowser } from "./host.mjs";
import { startWorld, text, view, viewed, visit } from "./preview-page.mjs";
import { startTrap } from "./preview-server.mjs";

test("the preview", { timeout: 300_000 }, async (t) => {
	const browser = await startBrowser(t);
	const part = (name, run) => t.test(name, { timeout: 60_000 }, run);

	await part("shows tools and views, and calls from within a view and from the box", async (t) => {
		const { server } = await startWorld(t);
		const { page, view, log, findings, answer, call, ready, errors } = await visit(t, browser, server);
		await ready();
		assert.deepEqual(server.calls, [], "nothing is called before the person acts");

		await view().getByLabel("City").fill("Faro");
		await view().getByRole("button", { name: "Run", exact: true }).click();
		await view().getByText("Faro", { exact: true }).waitFor();
		assert.deepEqual(server.calls, [
			{ name: "get_weather", arguments: { city: "Faro" } }
		]);
		await log.getByText("tools/call get_weather").click();
		await log.getByText('"city": "Faro"').first().waitFor();
		await log.getByText(/^done/).first().waitFor();
		await answer.getByText("Weather of Faro").waitFor();

		await call({ city: "Porto", days: 3 });
		await answer.getByText("Weather of Porto").waitFor();
		await view().getByText("Porto", { exact: true }).waitFor();
		assert.equal(await view().getByLabel("City").inputValue(), "Porto", "the view learns with what it was called");
		await call("{ no JSON");
		await page.getByText(/^This cannot be sent/).waitFor();
		assert.equal(server.calls.length, 2);

		await page.getByLabel("Find a tool").fill("plain");
		await page.getByText("1 of 3").waitFor();
		await page.getByRole("button", { name: /plain/ }).press("Enter");
		await page.getByText("This tool has no view").waitFor();
		await call({});
		await answer.getByText("plain words").waitFor();
		assert.equal(await findings.getByRole("listitem").count(), 0);
		assert.deepEqual(server.wrong, []);
		assert.deepEqual(errors, []);
	});

	await part("in both themes, in each width, for everybody", async (t) => {
		const { server } = await startWorld(t);
		for (const colorScheme of ["light", "dark"]) {
			const { page, view, ready, call, answer } = await visit(t, browser, server, { colorScheme });
			await ready();
			await readable(page.mainFrame());
			const colour = (at) =>
				view(at)
					.locator("body")
					.evaluate((body) => getComputedStyle(body).color);
			await page.getByText("Both", { exact: true }).click();
			await page
				.locator("figure")
				.nth(1)
				.getByText(/^Ready in/)
				.waitFor();
			await page.locator("figure").nth(0).getByText("Light", { exact: true }).waitFor();
			assert.notEqual(await colour(0), await colour(1));
			await page.getByText("Phone", { exact: true }).click();
			await page
				.getByText(/^360 × /)
				.first()
				.waitFor();
			await call({ city: "Lisbon" });
			await answer.getByText("Weather of Lisbon").waitFor();
			await readable(page.mainFrame());
			await page.close();
		}
	});

	await part("tools are filtered by kind", async (t) => {
		const { server } = await startWorld(t);
		const { page } = await visit(t, browser, server);
		const names = () => page.locator("#tools button").evaluateAll((all) => all.map((one) => one.dataset.name));
		for (const [kind, found] of [
			["Only read", ["get_weather", "plain"]],
			["May destroy", ["delete_file"]],
			["Without a view", ["plain"]],
			["May change", []],
			["All tools", ["get_weather", "delete_file", "plain"]]
		]) {
			await page.getByLabel("Kind").selectOption(kind);
			assert.deepEqual(await names(), found, kind);
		}
	});

	await part("in another locale, and in each kind of host", async (t) => {
		const { server } = await startWorld(t);
		const { page, view, ready, findings, errors } = await visit(t, browser, server);
		await ready();
		await view().getByLabel("City").fill("Faro");
		await page.getByLabel("Locale").selectOption("ar-EG");
		await view().locator("html[dir=rtl]").waitFor();
		assert.equal(await view().getByLabel("City").inputValue(), "Faro", "the view is not loaded anew");
		for (const host of ["basic-host", "claude", "inspector", "mcpjam", "goose", "strict"]) {
			await page.locator("#host").selectOption(host);
			await view().getByRole("button", { name: "Run", exact: true }).waitFor();
			await page.getByText("Policy of the view").click();
			const policy = await page.locator("#facts pre").first().textContent();
			assert.equal(/blob:/.test(policy), /basic-host|claude/.test(host), host);
			assert.equal(/img-src 'none'/.test(policy), /inspector|strict/.test(host), host);
			assert.match(policy, /connect-src 'none'/, host);
			assert.match(page.url(), new RegExp(`host=${host}`));
		}
		assert.equal(await findings.getByRole("listitem").count(), 0);
		assert.deepEqual(errors, []);
	});

	await part("hostile answers: nothing is called, and our view shows each of them", async (t) => {
		const { server } = await startWorld(t);
		const { page, view, ready, findings, log, errors } = await visit(t, browser, server);
		await ready();
		await page.getByLabel("Answers").selectOption("hostile, made up");
		await page.getByText("Nothing is called").waitFor();
		await view().getByLabel("City").fill("Faro");
		await view().getByRole("button", { name: "Run", exact: true }).click();
		const edit = view().getByRole("button", { name: /^Edit input/ });
		await edit.click();
		for (let count = 1; count <= 11; count++) {
			await log.getByText(/^(done|error)/).nth(count - 1).waitFor();
			await view().locator("main:not([aria-busy])").waitFor();
			assert.ok((await view().locator(".answer").textContent()).length > 0);
			await view().getByRole("button", { name: "Run", exact: true }).click();
		}
		assert.deepEqual(server.calls, []);
		assert.equal(await findings.getByRole("listitem").count(), 0, await findings.textContent());
		assert.deepEqual(errors, []);
	});

	await part("the view alone, for a picture", async (t) => {
		const { server } = await startWorld(t);
		const page = await browser.newPage({ viewport: { width: 480, height: 600 } });
		t.after(() => page.close());
		await page.goto(`${server.url}#tool=get_weather&theme=dark&bare=1`);
		await page.frameLocator("figure iframe").frameLocator("iframe").getByLabel("City").waitFor();
		for (const around of ["header", "nav", "aside", ".bar", "figcaption"]) {
			assert.equal(await page.locator(around).first().isVisible(), false, around);
		}
	});

	await part("the view of one theme becomes the other's without losing what was typed", async (t) => {
		const { server } = await startWorld(t);
		const { page, view, ready } = await visit(t, browser, server, { colorScheme: "light" });
		await ready();
		await view().getByLabel("City").fill("Braga");
		const colour = () =>
			view()
				.locator("body")
				.evaluate((body) => getComputedStyle(body).color);
		const before = await colour();
		await page.getByText("Dark", { exact: true }).click();
		await page.locator("figure.dark").waitFor();
		await page.waitForFunction(() => document.querySelectorAll("figure").length === 1);
		await view()
			.locator("body")
			.evaluate(
				(body, was) =>
					new Promise((done) => {
						const look = () =>
							getComputedStyle(body).color === was ? requestAnimationFrame(look) : done();
						look();
					}),
				before
			);
		assert.equal(await view().getByLabel("City").inputValue(), "Braga");
	});

	await part("reloads when a view or the tools change, and when the server comes back", async (t) => {
		const { world, server } = await startWorld(t, { own: view(`say("first")`) });
		const { page, view: shown, ready } = await visit(t, browser, server);
		await ready();
		await shown().getByText("first").waitFor();
		world.resources["ui://tests/own.html"].text = view(`say("second")`);
		await server.heard("ui://tests/own.html");
		server.news("notifications/resources/updated", { uri: "ui://tests/own.html" });
		await shown().getByText("second").waitFor();

		world.resources["ui://tests/own-2.html"] = { text: view(`say("third")`) };
		world.tools.find(({ name }) => name === "own")._meta.ui.resourceUri = "ui://tests/own-2.html";
		world.tools.push(viewed("newcomer"));
		server.news("notifications/tools/list_changed");
		await shown().getByText("third").waitFor();
		await page.getByRole("button", { name: "newcomer" }).waitFor();
		await server.heard("ui://tests/own-2.html");

		await server.stop();
		await page.getByText(/^Not connected/).waitFor();
		world.resources["ui://tests/own-2.html"].text = view(`say("fourth")`);
		await server.start();
		await shown().getByText("fourth").waitFor();
		await page.getByText("Connected", { exact: true }).waitFor();

		await server.stop();
		await page.getByText(/^Not connected/).waitFor();
		server.sandbox = server.sandbox.replace("127.0.0.1", "localhost");
		await server.start();
		await page.locator(`body[data-sandbox="${server.sandbox}"]`).waitFor();
		await shown().getByText("fourth").waitFor();
		assert.deepEqual(server.wrong, []);
	});

	await part("a call tells of its progress, can be cancelled, and asks the person", async (t) => {
		const form = {
			method: "elicitation/create",
			params: {
				mode: "form",
				message: "Who is it?",
				requestedSchema: {
					type: "object",
					properties: {
						name: { type: "string", title: "Name" },
						age: { type: "integer", minimum: 0 },
						colour: {
							type: "string",
							oneOf: [
								{ const: "r", title: "Red" },
								{ const: "g", title: "Green" }
							]
						},
						member: { type: "boolean", default: true }
					},
					required: ["name"]
				}
			}
		};
		const { server } = await startWorld(
			t,
			{ slow: view(`heard = ({ method, params }) => say(method + " " + JSON.stringify(params))`) },
			{
				answers: {
					slow: async (_, { progress, closed }) => {
						progress({ progress: 3, total: 10, message: "a third is done" });
						await closed;
					},
					plain: (_, { inputs, state }) =>
						inputs
							? text(`${state} ${JSON.stringify(inputs)}`)
							: { resultType: "input_required", inputRequests: { who: form }, requestState: "sealed" }
				}
			}
		);
		const { page, view: shown, ready, call, answer, dialog } = await visit(t, browser, server);
		await ready();
		await call({ a: 1 });
		await page.getByText("a third is done").waitFor();
		await shown().getByText('ui/notifications/tool-input {"arguments":{"a":1}}').waitFor();
		await page.getByRole("button", { name: "Cancel" }).click();
		await shown().getByText("ui/notifications/tool-cancelled").waitFor();
		await answer.getByText("The call failed: it was cancelled").waitFor();
		await server.closed(1);

		await page.getByRole("button", { name: /^plain/ }).click();
		await page.getByText("This tool has no view").waitFor();
		await call({});
		await dialog.getByText("Who is it?").waitFor();
		await readable(page.mainFrame());
		await dialog.getByRole("button", { name: "Accept" }).click();
		await dialog.getByText("This is required.").waitFor();
		await dialog.getByLabel(/^Name/).fill("Ada");
		await dialog.getByLabel("age").fill("36");
		await dialog.getByLabel("colour").selectOption("Green");
		await dialog.getByRole("button", { name: "Accept" }).click();
		const content = { name: "Ada", age: 36, colour: "g", member: true };
		await answer.getByText(`sealed ${JSON.stringify({ who: { action: "accept", content } })}`).waitFor();
		await call({});
		await dialog.getByText("Who is it?").waitFor();
		await page.keyboard.press("Escape");
		await answer.getByText('sealed {"who":{"action":"cancel"}}').waitFor();
	});

	await part("says what went wrong with a call, and sends what headers have to say", async (t) => {
		const headed = {
			type: "object",
			properties: { city: { "type": "string", "x-mcp-header": "City" } },
			required: ["city"]
		};
		const broken = view(`heard = ({ method, params }) => say(method + " " + JSON.stringify(params))`);
		const { server } = await startWorld(
			t,
			{ broken },
			{
				tools: [{ name: "grüße", inputSchema: headed }],
				answers: {
					broken: ({ how }) => {
						if (how === "result") {
							return text("it is broken", { isError: true });
						}
						throw new Error("it broke");
					},
					grüße: ({ city }) => text(`Hello, ${city}`)
				}
			}
		);
		const { page, view: shown, answer, call, ready } = await visit(t, browser, server);
		await ready();
		await call({ how: "result" });
		await answer.getByText("The tool answered with an error").waitFor();
		await shown()
			.getByText(/tool-result .*it is broken/)
			.waitFor();
		await call({ how: "error" });
		await answer.getByText("The call failed: it broke").waitFor();
		await shown()
			.getByText(/tool-cancelled .*it broke/)
			.waitFor();
		await page.getByRole("button", { name: /^broken/ }).focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		assert.equal(await page.getByLabel("Arguments, as JSON").inputValue(), '{\n  "city": ""\n}');
		await call({ city: "Köln" });
		await answer.getByText("Hello, Köln").waitFor();
		assert.deepEqual(server.wrong, []);
	});

	await part("hears what a view has to say, and opens links when the person agrees", async (t) => {
		const { server } = await startWorld(t, {
			talker: view(`
				say(JSON.stringify([host.hostContext.toolInfo.tool.name, host.hostContext.theme, host.hostContext.displayMode]));
				say(JSON.stringify(await ask("ui/message", { role: "user", content: [{ type: "text", text: "a message" }] })));
				await ask("ui/update-model-context", { structuredContent: { context: 7 } });
				say("nonsense: " + (await ask("ui/nonsense")).code);
				say("read: " + (await ask("resources/read", { uri: "ui://tests/weather.html" })).contents.length);
				heard = ({ method, params }) => say(method + " " + params.displayMode);
				say("mode: " + JSON.stringify(await ask("ui/request-display-mode", { mode: "fullscreen" })));
				const button = document.createElement("button");
				button.textContent = "Large";
				document.body.append(button);
				await new Promise((pressed) => (button.onclick = pressed));
				say("now: " + JSON.stringify(await ask("ui/request-display-mode", { mode: "fullscreen" })));
				say("script: " + (await ask("ui/open-link", { url: "javascript:alert(1)" })).code);
				say("no: " + JSON.stringify(await ask("ui/open-link", { url: "https://example.com/secret" })));
				say("again: " + JSON.stringify(await ask("ui/open-link", { url: "https://example.com/secret" })));
				console.error("it went wrong");
				setTimeout(() => { throw new Error("it was thrown"); });
				fetch("https://example.com/stolen").catch(() => say("not fetched"));
			`)
		});
		const {
			page,
			view: shown,
			log,
			findings,
			dialog,
			outside
		} = await visit(t, browser, server, { colorScheme: "light" });
		await shown().getByRole("button", { name: "Large" }).click();
		await page.locator("figure.full").waitFor();
		await dialog.getByText("https://example.com/secret").waitFor();
		assert.equal(
			await dialog.getByRole("button", { name: "Do not open" }).evaluate((one) => one === document.activeElement),
			true
		);
		await dialog.getByRole("button", { name: "Do not open" }).click();
		await shown().getByText("not fetched").waitFor();
		const said = (await shown().locator("#said").innerText()).split("\n");
		assert.deepEqual(said.slice(0, 4), ['["talker","light","inline"]', "{}", "nonsense: -32601", "read: 1"]);
		assert.ok(said.includes('mode: {"mode":"inline"}'), said.join("\n"));
		assert.ok(said.includes('now: {"mode":"fullscreen"}'), said.join("\n"));
		assert.ok(said.includes("ui/notifications/host-context-changed fullscreen"), said.join("\n"));
		assert.ok(said.includes("script: -32602"));
		assert.ok(said.includes('no: {"isError":true}') && said.includes('again: {"isError":true}'));
		await page.getByRole("button", { name: "Leave full screen" }).click();
		await log.getByText("ui/message").waitFor();
		await log.getByText("ui/update-model-context").waitFor();
		for (const found of [
			/it went wrong/,
			/it was thrown/,
			/connect-src does not allow https:\/\/example.com/,
			/ui\/nonsense/
		]) {
			await findings.getByText(found).first().waitFor();
		}
		assert.deepEqual(outside, []);
		assert.equal(
			browser
				.contexts()
				.flatMap((one) => one.pages())
				.filter((one) => /example/.test(one.url())).length,
			0
		);
	});

	await part("a link that the person agrees to opens in a tab that knows nothing of the page", async (t) => {
		const { server: other } = await startWorld(t);
		const { server } = await startWorld(t, {
			linker: view(
				`ask("ui/open-link", { url: ${JSON.stringify(other.url)} }).then((answer) => say(JSON.stringify(answer)))`
			)
		});
		const { page, view: shown, dialog } = await visit(t, browser, server);
		await dialog.getByRole("button", { name: "Open", exact: true }).waitFor();
		const opened = page.context().waitForEvent("page");
		await dialog.getByRole("button", { name: "Open", exact: true }).click();
		const tab = await opened;
		await tab.waitForLoadState();
		assert.equal(tab.url().split("#")[0], other.url);
		assert.equal(await tab.evaluate(() => window.opener), null);
		await shown().getByText("{}").waitFor();
		await tab.close();
	});

	await part("says so of a view that never answers, or answers wrongly", async (t) => {
		const { world, server } = await startWorld(t, {
			mute: view("", { begin: false }),
			busy: view("for (;;);", { begin: false }),
			wrong: view(
				`ask("ui/initialize", { appInfo: { name: "w" } }).then(({ code }) => say("code " + code)); post({ id: 9, method: "tools/call", params: { name: "plain" } })`,
				{ begin: false }
			)
		});
		world.resources["ui://tests/plain.html"] = { text: "x", mimeType: "text/plain" };
		world.tools.push(viewed("typed"), viewed("lost"));
		world.tools.find(({ name }) => name === "typed")._meta.ui.resourceUri = "ui://tests/plain.html";
		const { page, findings, view: shown } = await visit(t, browser, server);
		const silent = /has not asked for `ui\/initialize`/;
		await findings.getByText(silent).waitFor();
		await page.getByRole("button", { name: "busy" }).click();
		await page.locator("iframe[title^='View of busy']").waitFor();
		await findings.getByText(silent).waitFor();
		await page.getByRole("button", { name: "wrong" }).click();
		await shown().getByText("code -32602").waitFor();
		await findings.getByText(/without `appInfo.version`, `appCapabilities`, `protocolVersion`/).waitFor();
		await findings.getByText(/`tools\/call` was asked before/).waitFor();
		await page.getByRole("button", { name: "typed" }).click();
		await page.getByText(/its type is `text\/plain`/).waitFor();
		await page.getByRole("button", { name: "lost" }).click();
		await page.getByText(/no such resource/).waitFor();
		assert.deepEqual(server.calls, []);
	});

	await part("a view gets what it declares, and no more", async (t) => {
		const [declared, other] = [await startTrap(t), await startTrap(t)];
		const { world, server } = await startWorld(t, {
			declares: view(`
				fetch("${declared.url}/x").catch(() => say("asked for the declared"));
				fetch("${other.url}/x").catch(() => say("asked for the other"));
			`)
		});
		world.resources["ui://tests/declares.html"].meta = {
			csp: { connectDomains: [declared.url, "https://x.example; script-src *", "'unsafe-eval'"] },
			permissions: { camera: {} }
		};
		const { page, findings, view: shown } = await visit(t, browser, server);
		await shown().getByText("asked for the declared").waitFor();
		await shown().getByText("asked for the other").waitFor();
		await findings.getByText(`connect-src does not allow ${other.url}/x`).waitFor();
		await findings
			.getByText(/no origin, which is left out: connectDomains: "https:\/\/x.example; script-src \*"/)
			.waitFor();
		await findings.getByText(/declares `camera`/).waitFor();
		await page.getByText("Policy of the view").click();
		await page.getByText(`connect-src ${declared.url};`).waitFor();
		assert.deepEqual(declared.hits, ["/x"]);
		assert.deepEqual(other.hits, []);
	});
});
