// Tests of `portcullis preview` in Chromium: forbidden actions of views, and actions that need the user's consent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readable, startBrowser } from "./host.mjs";
import { startWorld, text, view, viewed, visit } from "./preview-page.mjs";
import { startTrap } from "./preview-server.mjs";

test("views in the preview", { timeout: 300_000 }, async (t) => {
	const browser = await startBrowser(t);
	const part = (name, run) => t.test(name, { timeout: 60_000 }, run);

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
		await shown()
			.getByText(/plain: .*plain words/)
			.waitFor();
		assert.deepEqual(
			server.calls.map(({ name }) => name),
			["plain"]
		);
		await page.keyboard.press("Escape");
		await shown()
			.getByText(/erase_all: .*refused/)
			.waitFor();
		await page.waitForFunction(() => document.querySelectorAll("#log li .outcome[data-kind]").length === 5);
		assert.deepEqual(
			server.calls.map(({ name }) => name),
			["plain"],
			"refused once is refused"
		);
		await shown()
			.getByText(/hidden: .*views may not call/)
			.waitFor();

		await page.getByRole("button", { name: "Reload the view" }).click();
		await dialog.getByRole("button", { name: "Allow until it is reloaded" }).click();
		await shown()
			.getByText(/erase_all: .*erased/)
			.waitFor();
		await page.waitForFunction(() => document.querySelectorAll("#log li .outcome[data-kind]").length === 5);
		assert.deepEqual(
			server.calls.map(({ name }) => name),
			["plain", "plain", "erase_all", "erase_all"]
		);
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
		await shown()
			.getByText(/^writer: .*writer answers/)
			.waitFor();
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
		await shown()
			.getByText(/^look: .*looked from afar/)
			.waitFor();
		await shown()
			.getByText(/other_look: .*there is no tool/)
			.waitFor();
		await shown()
			.getByText(/ok: .*there is no tool/)
			.waitFor();
		assert.deepEqual(
			server.calls.map(({ name }) => name),
			["far_look"]
		);
	});

	const trap = await startTrap(t);
	const away = `${trap.url}/away`;
	/** A script that does something `times` times, again and again. */
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
		"floods its host": [
			view(always(`tell("ui/notifications/size-changed", { height: 1 })`, 1000)),
			/more than 300 messages/
		],
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
});
