// `portcullis preview` in Chromium: what people do with it, and what views may not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readable, startBrowser } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { startPreview, startTrap } from "./preview-server.mjs";
import { DELETE, FORECAST, WEATHER } from "./tools.mjs";

const READS = { readOnlyHint: true };

/** A tool with a view at `ui://tests/<name>.html`. */
const viewed = (name, more = {}, visibility = ["model", "app"]) => ({
	name,
	inputSchema: { type: "object" },
	annotations: READS,
	...more,
	_meta: { ui: { resourceUri: `ui://tests/${name}.html`, visibility } }
});

/** A view that begins as it should, and then does what `script` says; `ask` and `tell` speak to its host. */
const view = (script, { begin = true } = {}) => `<!doctype html>
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

const text = (words, more) => ({ content: [{ type: "text", text: words }], ...more });

/** What the tests look at: tools whose views are ours, and such as are not. */
async function startWorld(t, views = {}, more = {}) {
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

/** The page in a tab, with everything that left it or went wrong in it. */
async function visit(t, browser, server, options) {
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
		ready: () => page.getByText(/^Ready in/).first().waitFor(),
		call: async (args) => {
			await page.getByLabel("Arguments, as JSON").fill(typeof args === "string" ? args : JSON.stringify(args));
			await page.getByRole("button", { name: "Call", exact: true }).click();
		}
	};
}

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
		assert.deepEqual(server.calls, [{ name: "get_weather", arguments: { city: "Faro", days: 5, units: "metric", alerts: false } }]);
		await log.getByText("tools/call get_weather").click();
		await log.getByText('"city": "Faro"').first().waitFor();
		await log.getByText(/^done/).waitFor();
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
			const colour = (at) => view(at).locator("body").evaluate((body) => getComputedStyle(body).color);
			await page.getByText("Both", { exact: true }).click();
			await page.locator("figure").nth(1).getByText(/^Ready in/).waitFor();
			await page.locator("figure").nth(0).getByText("Light", { exact: true }).waitFor();
			assert.notEqual(await colour(0), await colour(1));
			await page.getByText("Phone", { exact: true }).click();
			await page.getByText(/^360 × /).first().waitFor();
			await call({ city: "Lisbon" });
			await answer.getByText("Weather of Lisbon").waitFor();
			await readable(page.mainFrame());
			await page.close();
		}
	});

	await part("the view of one theme becomes the other's without losing what was typed", async (t) => {
		const { server } = await startWorld(t);
		const { page, view, ready } = await visit(t, browser, server, { colorScheme: "light" });
		await ready();
		await view().getByLabel("City").fill("Braga");
		const colour = () => view().locator("body").evaluate((body) => getComputedStyle(body).color);
		const before = await colour();
		await page.getByText("Dark", { exact: true }).click();
		await page.locator("figure.dark").waitFor();
		await page.waitForFunction(() => document.querySelectorAll("figure").length === 1);
		await view().locator("body").evaluate(
			(body, was) =>
				new Promise((done) => {
					const look = () => (getComputedStyle(body).color === was ? requestAnimationFrame(look) : done());
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
						colour: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] },
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
				say("script: " + (await ask("ui/open-link", { url: "javascript:alert(1)" })).code);
				say("no: " + JSON.stringify(await ask("ui/open-link", { url: "https://example.com/secret" })));
				say("again: " + JSON.stringify(await ask("ui/open-link", { url: "https://example.com/secret" })));
				console.error("it went wrong");
				setTimeout(() => { throw new Error("it was thrown"); });
				fetch("https://example.com/stolen").catch(() => say("not fetched"));
			`)
		});
		const { page, view: shown, log, findings, dialog, outside } = await visit(t, browser, server, { colorScheme: "light" });
		await dialog.getByText("https://example.com/secret").waitFor();
		await page.locator("figure.full").waitFor();
		assert.equal(await dialog.getByRole("button", { name: "Do not open" }).evaluate((one) => one === document.activeElement), true);
		await dialog.getByRole("button", { name: "Do not open" }).click();
		await shown().getByText("not fetched").waitFor();
		const said = (await shown().locator("#said").innerText()).split("\n");
		assert.deepEqual(said.slice(0, 4), ['["talker","light","inline"]', "{}", "nonsense: -32601", "read: 1"]);
		assert.ok(said.includes('mode: {"mode":"fullscreen"}'), said.join("\n"));
		assert.ok(said.includes("ui/notifications/host-context-changed fullscreen"), said.join("\n"));
		assert.ok(said.includes("script: -32602"));
		assert.ok(said.includes('no: {"isError":true}') && said.includes('again: {"isError":true}'));
		await page.getByRole("button", { name: "Leave full screen" }).click();
		await log.getByText("ui/message").waitFor();
		await log.getByText("ui/update-model-context").waitFor();
		for (const found of [/it went wrong/, /it was thrown/, /connect-src does not allow https:\/\/example.com/, /ui\/nonsense/]) {
			await findings.getByText(found).first().waitFor();
		}
		assert.deepEqual(outside, []);
		assert.equal(browser.contexts().flatMap((one) => one.pages()).filter((one) => /example/.test(one.url())).length, 0);
	});

	await part("a link that the person agrees to opens in a tab that knows nothing of the page", async (t) => {
		const { server: other } = await startWorld(t);
		const { server } = await startWorld(t, {
			linker: view(`ask("ui/open-link", { url: ${JSON.stringify(other.url)} }).then((answer) => say(JSON.stringify(answer)))`)
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

	await part("asks before a view does what nobody pressed", async (t) => {
		const erase = viewed("erase_all", { annotations: { destructiveHint: true } });
		const { server } = await startWorld(
			t,
			{
				caller: view(`
					await call("hidden");
					await call("no_such_tool");
					await call("plain");
					await call("erase_all", { what: "everything" });
					await call("erase_all", { what: "more" });
				`)
			},
			{
				tools: [viewed("hidden", {}, ["model"]), erase],
				answers: { hidden: () => text("never"), erase_all: () => text("erased") }
			}
		);
		const { page, view: shown, dialog } = await visit(t, browser, server);
		await dialog.getByText('"what": "everything"').waitFor();
		await readable(page.mainFrame());
		await shown().getByText(/plain: .*plain words/).waitFor();
		assert.deepEqual(server.calls.map(({ name }) => name), ["plain"]);
		await page.keyboard.press("Escape");
		await shown().getByText(/erase_all: .*refused/).waitFor();
		await page.waitForFunction(() => document.querySelectorAll("#log li .outcome[data-kind]").length === 5);
		assert.deepEqual(server.calls.map(({ name }) => name), ["plain"], "refused once is refused");
		await shown().getByText(/hidden: .*views may not call/).waitFor();

		await page.getByRole("button", { name: "Reload the view" }).click();
		await dialog.getByRole("button", { name: "Allow until it is reloaded" }).click();
		await shown().getByText(/erase_all: .*erased/).waitFor();
		await page.waitForFunction(() => document.querySelectorAll("#log li .outcome[data-kind]").length === 5);
		assert.deepEqual(server.calls.map(({ name }) => name), ["plain", "plain", "erase_all", "erase_all"]);
	});

	await part("what the person pressed in the view is not asked about", async (t) => {
		const { world, server } = await startWorld(t, {
			writer: view(`
				const button = document.createElement("button");
				button.textContent = "Write";
				button.onclick = () => call("writer");
				document.body.append(button);
			`)
		});
		world.tools.find(({ name }) => name === "writer").annotations = { readOnlyHint: false };
		const { view: shown, dialog } = await visit(t, browser, server);
		await shown().getByRole("button", { name: "Write" }).click();
		await shown().getByText(/^writer: .*writer answers/).waitFor();
		assert.equal(await dialog.count(), 0);
	});

	await part("a view of a server behind this one may use the names it knows", async (t) => {
		const { server } = await startWorld(
			t,
			{ far_show: view(`await call("look"); await call("other_look"); await call("ok")`) },
			{
				tools: [viewed("far_look"), viewed("other_lo")],
				answers: { far_look: () => text("looked from afar") }
			}
		);
		const { view: shown } = await visit(t, browser, server);
		await shown().getByText(/^look: .*looked from afar/).waitFor();
		await shown().getByText(/other_look: .*there is no tool/).waitFor();
		await shown().getByText(/ok: .*there is no tool/).waitFor();
		assert.deepEqual(server.calls.map(({ name }) => name), ["far_look"]);
	});

	const trap = await startTrap(t);
	const away = `${trap.url}/away`;
	/** A script that does something so many times, and then again. */
	const always = (what, times) => `const go = () => {
		for (let time = 0; time < ${times}; time++) {
			${what};
		}
		setTimeout(go);
	};
	go();`;
	const HOSTILE = {
		"leaves its page": [view(`location = "${away}?secret"`), /tried to leave its page/],
		"leaves its page at once": [`<!doctype html><script>location = "${away}"</script>`, /tried to leave its page/],
		"loads itself anew": [view(`location.reload()`), /tried to leave its page/],
		"floods its host": [view(always(`tell("ui/notifications/size-changed", { height: 1 })`, 1000)), /more than 300 messages/],
		"floods the page": [view(always(`top.postMessage(1, "*")`, 1000)), /more than 300 messages/],
		"sends too much": [view(`tell("m", { much: "x".repeat(9e6) })`), /more than 8\.0 MB/],
		"pretends that its frame is new": [view(`tell("ui/notifications/sandbox-proxy-ready")`), /loaded anew/]
	};
	for (const [what, [html, why]] of Object.entries(HOSTILE)) {
		await part(`cuts off a view that ${what}`, async (t) => {
			const { server } = await startWorld(t, { hostile: html });
			const { page, findings, errors } = await visit(t, browser, server);
			await page.getByText(/^The view was cut off/).waitFor();
			await findings.getByText(why).waitFor();
			assert.equal(await page.locator("iframe").count(), 0);
			await page.getByRole("button", { name: /Weather/ }).click();
			await page.getByText(/^Ready in/).waitFor();
			assert.deepEqual(server.calls, []);
			assert.deepEqual(trap.hits, []);
			assert.deepEqual(errors, []);
		});
	}

	await part("nothing of the page is within a view's reach", async (t) => {
		const { server } = await startWorld(t, {
			hostile: view(`
				const attempt = (name, run) => {
					try {
						const got = run();
						say(name + (got ? " worked" : " came to nothing"));
					} catch (error) {
						say(name + " failed");
					}
				};
				attempt("parent", () => parent.document);
				attempt("top", () => top.document);
				attempt("top navigation", () => void (top.location = "${away}"));
				attempt("parent navigation", () => void (parent.location = "${away}"));
				attempt("window", () => open("${away}"));
				attempt("storage", () => localStorage);
				attempt("cookie", () => document.cookie);
				attempt("alert", () => alert(1) || confirm(1));
				top.postMessage({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "plain" } }, "*");
				parent.parent.postMessage({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "plain" } }, "*");
				const inner = document.createElement("iframe");
				inner.srcdoc = "<script>top.postMessage({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'plain' } }, '*'); fetch('${away}').catch(() => {})<" + "/script>";
				document.body.append(inner);
				const framed = document.createElement("iframe");
				framed.src = "${away}";
				document.body.append(framed);
				document.body.append(Object.assign(document.createElement("img"), { src: "${away}" }));
				fetch("/mcp").catch(() => say("no fetch"));
				import("${away}").catch(() => say("no import"));
				const form = Object.assign(document.createElement("form"), { action: "${away}" });
				document.body.append(form);
				form.submit();
				ping();
				async function ping() {
					await ask("ping");
					say("over");
				}
			`)
		});
		const { page, view: shown, findings, log, errors } = await visit(t, browser, server);
		await shown().getByText("no import").waitFor();
		await shown().getByText("over").waitFor();
		await shown().getByText("no fetch").waitFor();
		const said = await shown().locator("#said").innerText();
		assert.doesNotMatch(said, /worked/);
		await findings.getByText(/posts to this page past its frame/).waitFor();
		await findings.getByText(/img-src does not allow/).waitFor();
		await findings.getByText(/frame-src does not allow/).waitFor();
		assert.equal(await log.getByRole("listitem").count(), 0);
		assert.deepEqual(server.calls, []);
		assert.deepEqual(trap.hits, []);
		assert.deepEqual(errors, []);
		assert.equal(page.context().pages().length, 1);
	});

	await part("says so of a view that never answers, or answers wrongly", async (t) => {
		const { world, server } = await startWorld(t, {
			mute: view("", { begin: false }),
			busy: view("for (;;);", { begin: false }),
			wrong: view(`ask("ui/initialize", { appInfo: { name: "w" } }).then(({ code }) => say("code " + code)); post({ id: 9, method: "tools/call", params: { name: "plain" } })`, { begin: false })
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
		const { world, server } = await startWorld(t, {
			declares: view(`
				fetch("https://api.example/x").catch(() => say("asked for the declared"));
				fetch("https://other.example/x").catch(() => say("asked for the other"));
			`)
		});
		world.resources["ui://tests/declares.html"].meta = {
			csp: { connectDomains: ["https://api.example", "https://x.example; script-src *", "'unsafe-eval'"] },
			permissions: { camera: {} }
		};
		const { page, findings, view: shown, outside } = await visit(t, browser, server);
		await shown().getByText("asked for the declared").waitFor();
		await shown().getByText("asked for the other").waitFor();
		await findings.getByText(/connect-src does not allow https:\/\/other.example/).waitFor();
		await findings.getByText(/no origin, which is left out: connectDomains: "https:\/\/x.example; script-src \*"/).waitFor();
		await findings.getByText(/declares `camera`/).waitFor();
		await page.getByText("Policy of the view").click();
		await page.getByText("connect-src https://api.example;").waitFor();
		assert.deepEqual(outside, ["https://api.example/x"]);
	});
});
