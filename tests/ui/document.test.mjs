// Documents of a model: they show what they are given, call their tool when the user clicks, and reach nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { contained, documents, listen } from "./documents.mjs";
import { accessible, behaved, open, PROFILES, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { DELETE, FORECAST, WEATHER } from "./tools.mjs";

const answer = (city) => ({ content: [], structuredContent: { ...FORECAST, city } });
const { good, hostile } = await documents();
/** The hosts in which the hostile documents are shown: the one that allows most, all with ALL=1, or those that HOSTS names (`HOSTS=claude,goose`). */
const HOSTS = process.env.ALL ? Object.keys(PROFILES) : (process.env.HOSTS ?? "basic-host").split(",");

/** How many times longer everything may take on a machine that does much else. */
const SLOWNESS = Number(process.env.SLOWNESS ?? 1);

test("documents show answers, and call their tool when the user clicks", { timeout: 300_000 }, async (t) => {
	const hosts = await startHosts(t);
	const profiles = Object.keys(PROFILES);
	for (const [index, [name, document]] of good.entries()) {
		// Each document in one host, and each host with one or more documents.
		const profile = profiles[index % profiles.length];
		await t.test(`${name} in ${profile}`, { timeout: 60_000 }, async (t) => {
			const view = await open(t, hosts, await makePage(WEATHER, { document }, index % 2 === 1), { profile });
			await view.send("sendToolResult", answer("Lisbon"));
			await view.app.locator("#city").getByText("Lisbon").first().waitFor();
			await view.answers(answer("Faro"));
			await view.app.getByRole("button", { name: "Again", exact: true }).click();
			assert.equal((await view.calls(1))[0].name, "get_weather");
			await view.app.locator("#city").getByText("Faro").first().waitFor();
			await view.app.getByText("Sent: {").waitFor();
			await view.send("sendToolResult", { isError: true, content: [{ type: "text", text: "no such city" }] });
			assert.equal(await view.app.locator(".notice").isVisible(), false);
			await view.send("sendToolResult", answer("Porto"));
			await view.app.locator("#city").getByText("Porto").first().waitFor();
			// Colours are judged once nothing fades in any more.
			await view.app
				.locator(".document")
				.evaluate((host) => Promise.all(host.shadowRoot.getAnimations().map(({ finished }) => finished)));
			await accessible(view, ["serious", "critical"]);
			await behaved(view);
			await view.app.getByRole("button", { name: /plain form/ }).click();
			await view.app.getByLabel("City").waitFor();
		});
	}
});

test("a hundred hostile documents and more are shown", () => assert.ok(hostile.length >= 100, `${hostile.length}`));

test("who wants less motion has it in documents too", { timeout: 60_000 }, async (t) => {
	const hosts = await startHosts(t);
	const document = { markup: "<style>@keyframes k { to { opacity: 1 } } p { opacity: 0; animation: k 9s 2s infinite alternate forwards } b { transition: opacity 9s }</style><p>x</p><b>y</b>", program: { type: "Program", body: [] } };
	const timesIn = async (options) => {
		const view = await open(t, hosts, await makePage(WEATHER, { document }), options);
		await view.app.locator(".document p").waitFor({ state: "attached" });
		return view.app.locator(".document").evaluate(({ shadowRoot: root }) => {
			const [moving, fading] = ["p", "b"].map((tag) => getComputedStyle(root.querySelector(tag)));
			return [moving.animationDuration, moving.animationDelay, moving.animationIterationCount, fading.transitionDuration];
		});
	};
	assert.deepEqual(await timesIn({}), ["9s", "2s", "infinite", "9s"]);
	assert.deepEqual(await timesIn({ reducedMotion: "reduce" }), ["0.001s", "0s", "1", "0.001s"]);
});

// Side by side, since each waits for what could happen; each has a page, and a peer, of its own.
test("hostile documents reach nothing", { timeout: 1_800_000 * SLOWNESS, concurrency: 4 }, async (t) => {
	const hosts = await startHosts(t);
	const all = HOSTS.flatMap((profile) =>
		hostile.map(([name, document]) =>
			t.test(`${name} in ${profile}`, { timeout: 60_000 * SLOWNESS }, async (t) => {
				const peer = await listen(t);
				const page = await makePage(WEATHER, { document: peer.placed(document) });
				const view = await open(t, hosts, page, { profile });
				await contained(view, peer);
			})
		)
	);
	await Promise.all(all);
});

/** A document of a script alone, which the plugin would compile so. */
const scripted = (markup, body) => ({ markup, program: { type: "Program", body } });
const name = (text) => ({ type: "Identifier", name: text });
const text = (value) => ({ type: "Literal", value });
const member = (object, key) => ({ type: "MemberExpression", object, property: name(key) });
const called = (callee, ...args) => ({ type: "CallExpression", callee, arguments: args });
const run = (expression) => ({ type: "ExpressionStatement", expression });
const does = (...expressions) => ({
	type: "ArrowFunctionExpression",
	params: [],
	body: { type: "BlockStatement", body: expressions.map(run) }
});
const element = (id) => called(member(name("document"), "getElementById"), text(id));
const on = (id, event, then) => run(called(member(element(id), "addEventListener"), text(event), then));
const callTool = called(member(name("portcullis"), "call"), {
	type: "ObjectExpression",
	properties: [{ type: "Property", kind: "init", key: name("path"), value: text("/") }]
});

test("the user is asked in a place that the document cannot move", { timeout: 120_000 }, async (t) => {
	const hosts = await startHosts(t);
	const grow = {
		type: "AssignmentExpression",
		operator: "=",
		left: member(member(element("top"), "style"), "height"),
		right: {
			type: "ConditionalExpression",
			test: { type: "BinaryExpression", operator: ">", left: called(member(name("Math"), "random")), right: text(0.5) },
			consequent: text("300px"),
			alternate: text("0")
		}
	};
	const document = scripted('<div id="top">x</div><button id="b">Now</button><input id="i" aria-label="Words">', [
		// From the click on, the document would move all that is below it.
		on("b", "click", does(called(name("setInterval"), does(grow), text(40)), callTool))
	]);
	const view = await open(t, hosts, await makePage(DELETE, { document }));
	const button = view.app.locator("#b");
	await button.evaluate((one) => one.click());
	await view.host.waitForTimeout(200);
	assert.equal(await view.app.getByRole("alertdialog").count(), 0, "a click by a script is none");
	// The times, in milliseconds, at which the question appears and at which it can be agreed to.
	await view.app.locator("body").first().evaluate((body) => {
		globalThis.times = {};
		new MutationObserver(() => {
			const yes = body.querySelector(".confirm .danger");
			if (yes) {
				times.appears ??= performance.now();
				times.isEnabledAtOnce ??= !yes.disabled;
				yes.disabled || (times.isEnabled ??= performance.now());
			}
		}).observe(body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
	});
	await button.click();
	const dialog = view.app.getByRole("alertdialog");
	await dialog.getByText('"path": "/"').waitFor();
	const yes = dialog.getByRole("button", { name: "Run it" });
	const place = async () => {
		const { x, y } = await yes.boundingBox();
		return `${x} ${y}`;
	};
	// The question makes the page taller. The page scrolls until the host has made its frame as tall.
	await view.app.locator("html").first().evaluate(async (page) => {
		while (page.scrollTop || page.scrollHeight > page.clientHeight) {
			await new Promise(requestAnimationFrame);
		}
	});
	const first = await place();
	for (let round = 0; round < 5; round++) {
		await view.host.waitForTimeout(60);
		assert.equal(await place(), first, "it stands still");
	}
	assert.equal(await view.app.locator(".document").evaluate((host) => host.inert), true);
	await yes.dblclick();
	await view.host.waitForTimeout(100);
	assert.equal((await view.log()).calls.length, 1, "one call");
	const times = await view.app.locator("body").first().evaluate(() => globalThis.times);
	assert.equal(times.isEnabledAtOnce, false, "not at once");
	// A moment less than 700, since the observer hears of the question after it has appeared.
	assert.ok(times.isEnabled - times.appears >= 690, JSON.stringify(times));
});

test("typing calls nothing, and a refusal is kept", { timeout: 120_000 }, async (t) => {
	const hosts = await startHosts(t);
	const document = scripted('<p id="p">x</p><input id="i" aria-label="Words"><button id="b">Now</button>', [
		on("i", "input", does(callTool)),
		on("i", "keydown", does(callTool)),
		on("b", "click", does(called(name("setTimeout"), does(callTool, callTool), text(20))))
	]);
	const view = await open(t, hosts, await makePage(DELETE, { document }));
	await view.app.getByLabel("Words").fill("secret");
	await view.app.getByLabel("Words").press("Enter");
	await view.app.getByText("when the user clicks something").first().waitFor();
	assert.equal(await view.app.getByRole("alertdialog").count(), 0);
	await view.app.getByRole("button", { name: "Now" }).click();
	await view.app.getByRole("alertdialog").waitFor();
	await view.app.getByRole("button", { name: "Cancel" }).click();
	await view.host.waitForTimeout(100);
	assert.equal(await view.app.getByRole("alertdialog").count(), 0, "one question for one click");
	assert.deepEqual((await view.log()).calls, []);
});
