// Tests of the page around the form and the answer: folding, focus, the host's language and styles, and the conversation.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { shipped } from "./build.mjs";
import { accessible, behaved, open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { DELETE, FORECAST, WEATHER } from "./tools.mjs";

const object = (properties, more) => ({ type: "object", properties, ...more });
const reading = (inputSchema) => ({ name: "t", inputSchema, annotations: { readOnlyHint: true } });
const answer = { content: [{ type: "text", text: "seven days" }], structuredContent: FORECAST };
const messages = (language) => readFile(path.join(shipped, `src/messages/${language}.json`), "utf8");

test("the shell of views", { timeout: 300_000 }, async (t) => {
	const hosts = await startHosts(t, { reuse: true });
	const part = (name, run) => t.test(name, { timeout: 45_000 }, run);
	const show = async (t, tool, options, more, languages) =>
		open(t, hosts, await makePage(tool, more, false, languages), options);
	const focused = ({ app }) => app.locator(":focus").evaluate((one) => one.textContent || one.id || one.tagName);

	await part("an answer folds the form; who opens it has it open, with what was typed", async (t) => {
		const view = await show(t, WEATHER);
		const { app } = view;
		await view.answers(answer);
		await app.locator(".form").getByLabel("City").fill("Faro");
		await app.locator(".form").getByLabel("City").press("Enter");
		const toggle = app.getByRole("button", { name: "Edit input (1 set)" });
		await toggle.waitFor();
		assert.equal(await app.locator(".form").getByLabel("City").isVisible(), false);
		assert.equal(await toggle.getAttribute("aria-expanded"), "false");
		assert.equal(await focused(view), "Edit input (1 set)", "the focus is where the form was");
		await accessible(view);
		await view.host.keyboard.press("Enter");
		assert.equal(await app.locator(".form").getByLabel("City").inputValue(), "Faro");
		await app.locator(".form").getByLabel("Days").fill("3");
		await app.getByRole("button", { name: "Edit input (2 set)" }).waitFor();
		await app.locator(".form").getByLabel("Days").press("Enter");
		await view.calls(2);
		await app.getByText("Done.").waitFor();
		assert.equal(await app.locator(".form").getByLabel("Days").isVisible(), true, "it stays open");
		assert.equal(await app.locator(".form").getByLabel("Days").evaluate((one) => one === document.activeElement), true);
		await app.getByRole("button", { name: "Run", exact: true }).press("Enter");
		await view.calls(3);
		await app.getByText("Done.").waitFor();
		assert.equal(await focused(view), "Run", "the focus stays at the button");
		await behaved(view);
	});

	await part("an error leaves the form open, and a tool without input has none to fold", async (t) => {
		const view = await show(t, WEATHER);
		await view.answers({ isError: true, content: [{ type: "text", text: "no such city" }] });
		await view.app.locator(".form").getByLabel("City").fill("X");
		await view.app.locator(".form").getByLabel("City").press("Enter");
		await view.app.getByText("no such city").waitFor();
		assert.equal(await view.app.locator(".form").getByLabel("City").isVisible(), true);
		const told = await show(t, WEATHER);
		await told.send("sendToolInput", { arguments: { city: "X" } });
		await told.send("sendToolResult", { isError: true, content: [{ type: "text", text: "no such city" }] });
		await told.app.getByText("no such city").waitFor();
		assert.equal(await told.app.locator(".form").getByLabel("City").isVisible(), false, "what the assistant ran is read first");
		const bare = await show(t, reading({ type: "object" }));
		await bare.answers(answer);
		await bare.app.getByRole("button", { name: "Run", exact: true }).click();
		await bare.app.getByText("Lisbon").first().waitFor();
		assert.equal(await bare.app.getByRole("button", { name: /^Edit input/ }).count(), 0);
		const again = bare.app.locator("header").getByRole("button", { name: "Run", exact: true });
		assert.equal(await again.isVisible(), true, "in the head, so that the answer stands first");
		assert.equal(await focused(bare), "Run", "the focus went with it");
		await again.press("Enter");
		await bare.calls(2);
	});

	await part("the focus within an answer stays where it was when the answer is another", async (t) => {
		const view = await show(t, reading({ type: "object" }));
		await view.send("sendToolResult", answer);
		await view.app.getByRole("button", { name: "Sky" }).focus();
		await view.send("sendToolResult", { ...answer, structuredContent: { ...FORECAST, city: "Faro" } });
		await view.app.getByText("Faro").waitFor();
		assert.equal(await view.app.getByRole("button", { name: "Sky" }).evaluate((one) => one === document.activeElement), true);
	});

	await part("the host hears of the size a few times a second, and of the last one", async (t) => {
		const view = await show(t, WEATHER);
		await view.host.waitForTimeout(600);
		const before = (await view.log()).sizes.length;
		const [height, took] = await view.app.locator("body").evaluate(async (body) => {
			const began = performance.now();
			const box = document.createElement("div");
			body.append(box);
			for (let step = 1; step <= 50; step++) {
				box.style.height = `${step * 7}px`;
				await new Promise((next) => setTimeout(next, 20));
			}
			return [body.getBoundingClientRect().height, performance.now() - began];
		});
		await view.host.waitForFunction((wanted) => window.log.sizes.at(-1).height === Math.ceil(wanted), height);
		const reports = (await view.log()).sizes.length - before;
		// On a busy machine, the fifty steps take longer than a second.
		assert.ok(reports >= 2 && reports <= 2 + took / 200, `${reports} reports in ${took} ms`);
	});

	await part("the host's user reads the page in their language, read from the server or from the page", async (t) => {
		for (const [locale, word, direction] of [
			["de-DE", "Ausführen", "ltr"],
			["ja-JP", "実行", "ltr"],
			["ar-EG", "تشغيل", "rtl"]
		]) {
			const language = locale.slice(0, 2);
			const within = await show(t, WEATHER, { context: { locale } }, {}, [language]);
			await within.app.getByRole("button", { name: word, exact: true }).waitFor();
			assert.deepEqual(
				await within.app.locator("html").evaluate((root) => [root.lang, root.dir]),
				[language, direction]
			);
			await accessible(within);
			await behaved(within);
		}
		const view = await show(t, WEATHER);
		await view.host.evaluate(
			(text) => window.reply("onreadresource", { contents: [{ uri: "ui://portcullis/messages/fr.json", text }] }),
			await messages("fr")
		);
		await view.app.locator(".form").getByLabel("City").fill("Évora");
		await view.send("sendHostContextChange", { locale: "fr-FR" });
		await view.app.getByRole("button", { name: "Exécuter" }).waitFor();
		assert.equal(await view.app.locator(".form").getByLabel("City").inputValue(), "Évora", "what was typed stays");
		assert.equal(await view.app.locator(".form").getByLabel("Units").locator("option").first().textContent(), "Celsius (par défaut)");
		const { others } = await view.log();
		assert.deepEqual(others, [["onreadresource", { uri: "ui://portcullis/messages/fr.json" }]]);
		await behaved(view, ["onreadresource"]);
	});

	await part("a host that reads nothing, or a language that there is not, has English", async (t) => {
		for (const [locale, direction] of [
			["de-DE", "ltr"],
			["he-IL", "rtl"],
			["no locale", "ltr"]
		]) {
			const view = await show(t, WEATHER, { context: { locale } });
			await view.app.getByRole("button", { name: "Run", exact: true }).waitFor();
			assert.deepEqual(await view.app.locator("html").evaluate((root) => [root.lang, root.dir]), ["en", direction]);
		}
	});

	await part("values have the direction of their content", async (t) => {
		const view = await show(t, reading(object({ a: { type: "string", title: "שם" } })), { context: { locale: "ar" } });
		await view.app.getByLabel("שם").fill("left to right");
		assert.equal(await view.app.getByLabel("שם").evaluate((one) => getComputedStyle(one).direction), "ltr");
		await view.app.getByLabel("שם").fill("من اليمين");
		assert.equal(await view.app.getByLabel("שם").evaluate((one) => getComputedStyle(one).direction), "rtl");
	});

	await part("code, differences and colours run from the left for readers of Arabic too, and prose as it is written", async (t) => {
		const view = await show(t, reading(object({})), { context: { locale: "ar-EG" } });
		const said = { warning: "Signature is not verified.", colours: { of_text: "#3366ff" } };
		await view.send("sendToolResult", { content: [{ type: "text", text: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-}\n+};" }], structuredContent: said });
		await view.app.locator("pre.diff").waitFor();
		const styles = (selector) => view.app.locator(selector).first().evaluate((one) => [getComputedStyle(one).direction, getComputedStyle(one).unicodeBidi]);
		assert.deepEqual(await styles("pre.diff"), ["ltr", "plaintext"]);
		assert.equal((await styles("pre.diff .add"))[0], "ltr");
		assert.equal((await styles(".notice"))[1], "plaintext");
		assert.equal((await styles("span:has(> .swatch)"))[0], "ltr");
		assert.equal((await styles("main"))[0], "rtl");
	});

	await part("the host's colours, sizes and fonts", async (t) => {
		const font = "data:font/woff2;base64,d09GMgABAAAAAA==";
		const view = await show(t, WEATHER, {
			profile: "basic-host",
			context: {
				styles: {
					variables: {
						"--color-background-inverse": "#123456",
						"--color-text-inverse": "#fefefe",
						"--font-heading-md-size": "31px",
						"--border-width-regular": "3px"
					},
					css: {
						fonts: `@import url(https://evil.example/a.css); @font-face { font-family: "Of the host"; src: url(${font}) } body { display: none } main { background: url(https://evil.example/b) }`
					}
				}
			}
		});
		await view.app.locator("html[data-theme]").waitFor();
		const { run, size, border } = await view.app.locator("main").evaluate((main) => ({
			run: getComputedStyle(main.querySelector(".primary")).backgroundColor,
			size: getComputedStyle(main.querySelector("h1")).fontSize,
			border: getComputedStyle(main.querySelector("select")).borderTopWidth
		}));
		assert.deepEqual([run, size, border], ["rgb(18, 52, 86)", "31px", "3px"]);
		const rules = await view.app
			.locator("main")
			.evaluate(() => document.adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.constructor.name)));
		assert.deepEqual(rules, ["CSSFontFaceRule"], "fonts, and nothing else");
		await behaved(view);
	});

	await part("who wants more contrast has it", async (t) => {
		const view = await show(t, WEATHER, { contrast: "more" });
		const [hint, ink] = await view.app
			.locator(".hint")
			.last()
			.evaluate((one) => [one, document.body].map((each) => getComputedStyle(each).color));
		assert.equal(hint, ink);
		await accessible(view);
	});

	await part("who wants less motion has it: nothing moves, and the status says that the tool runs", async (t) => {
		for (const [reducedMotion, isSeen] of [["reduce", false], ["no-preference", true]]) {
			const view = await show(t, reading({ type: "object" }), { reducedMotion });
			await view.answers(null, { hang: true });
			await view.app.getByRole("button", { name: "Run", exact: true }).click();
			await view.app.getByText("Running…").waitFor();
			assert.equal(await view.app.locator("progress").isVisible(), isSeen, "a bar without a value moves");
			await view.host.waitForFunction(() => window.log.calls.length === 1);
			await view.host.evaluate(() => window.progress({ progress: 3, total: 4 }));
			await view.app.locator("progress[value]").waitFor();
			assert.equal(await view.app.locator("html").evaluate(() => document.getAnimations().length), 0);
		}
	});

	await part("a tool that only the assistant may call: asked for where the host can, read-only elsewhere", async (t) => {
		const view = await show(t, DELETE, { capabilities: { message: { text: {} } } }, { callable: false });
		const { app } = view;
		await app.getByText("Only the assistant can run this tool.").waitFor();
		assert.equal(await app.getByRole("button", { name: /^Run/ }).count(), 0);
		await app.getByRole("button", { name: "Ask the assistant" }).click();
		await app.locator("p.error", { hasText: "Required." }).waitFor();
		await app.getByLabel("Path").fill("/tmp/x");
		await app.getByLabel("Path").press("Enter");
		await app.getByText("The assistant was asked.").waitFor();
		const { others, calls } = await view.log();
		assert.deepEqual(calls, []);
		const [[, { role, content }]] = others;
		assert.equal(role, "user");
		assert.match(content[0].text, /`delete_file`[^]*"path": "\/tmp\/x"/);
		await accessible(view);
		await behaved(view, ["onmessage"]);

		const mute = await show(t, DELETE, {}, { callable: false });
		await mute.app.getByText("Only the assistant can run this tool.").waitFor();
		assert.equal(await mute.app.getByRole("button").filter({ visible: true }).count(), 0);
		assert.equal(await mute.app.locator(".input[inert]").count(), 1);
		const told = await show(t, DELETE, {
			context: { toolInfo: { tool: { ...DELETE, _meta: { ui: { visibility: ["model"] } } } } }
		});
		await told.app.getByText("Only the assistant can run this tool.").waitFor();
	});

	await part("the user asks about a row, by keyboard, and saves a table, where the host can", async (t) => {
		const view = await show(t, reading({ type: "object" }), { capabilities: { message: { text: {} }, downloadFile: {} } });
		const { app, host } = view;
		await view.send("sendToolResult", answer);
		const opener = app.locator("tbody button[aria-expanded]").first();
		await opener.focus();
		await host.keyboard.press("Enter");
		const ask = app.getByRole("button", { name: "Ask about this" });
		await ask.focus();
		await host.keyboard.press("Enter");
		await app.getByRole("group", { name: "Ask about this" }).waitFor();
		await accessible(view);
		await host.keyboard.press("Escape");
		assert.equal(await ask.evaluate((one) => one === document.activeElement), true, "the focus is where it was");
		await host.keyboard.press("Enter");
		await host.keyboard.type("Will it rain?");
		await host.keyboard.press("Enter");
		await app.getByText("The assistant was asked.").waitFor();
		await app.getByRole("button", { name: /options/i }).first().click();
		await app.getByRole("button", { name: /CSV/ }).click();
		await view.host.waitForFunction(() => window.log.others.length > 1);
		const [[, message], [, file]] = (await view.log()).others;
		assert.match(message.content[0].text, /^Will it rain\?\n\n```json\n\{\n {2}"date": "2026-03-01"/);
		assert.match(file.contents[0].resource.text, /2026-03-01/);
		assert.equal(file.contents[0].resource.mimeType, "text/csv");
		await behaved(view, ["onmessage", "ondownloadfile"]);
		const other = await show(t, reading({ type: "object" }));
		await other.send("sendToolResult", answer);
		await other.app.getByRole("table").waitFor();
		assert.equal(await other.app.getByRole("button", { name: "Ask about this" }).count(), 0);
		assert.equal(await other.app.locator("tbody button[aria-expanded]").count(), 0);
	});

	await part("the model learns of a call by the user, in short, where the host can", async (t) => {
		const view = await show(t, WEATHER, { capabilities: { updateModelContext: { text: {} } } });
		await view.send("sendToolResult", answer);
		await view.answers({ content: [{ type: "text", text: "x".repeat(100_000) }] });
		await view.app.getByRole("button", { name: /^Edit input/ }).or(view.app.locator(".form").getByLabel("City")).first().click();
		await view.app.locator(".form").getByLabel("City").fill("Faro");
		await view.app.getByRole("button", { name: "Run", exact: true }).click();
		await view.app.getByText("Done.").waitFor();
		const { others } = await view.log();
		assert.equal(others.length, 1, "of the user's call, not of the host's own");
		const { text } = others[0][1].content[0];
		assert.match(text, /`get_weather`.*"Faro"[^]*x{100}/);
		assert.ok(text.length < 9000, `${text.length} characters`);
		await behaved(view, ["onupdatemodelcontext"]);
	});

	await part("full screen where the host offers it, and back", async (t) => {
		const view = await show(t, reading({ type: "object" }), {
			context: { availableDisplayModes: ["inline", "fullscreen"], displayMode: "inline" }
		});
		assert.equal(await view.app.getByRole("button", { name: "Full screen" }).count(), 0, "there is no table yet");
		await view.send("sendToolResult", answer);
		await view.app.getByRole("button", { name: "Full screen" }).click();
		await view.app.getByRole("button", { name: "Leave full screen" }).click();
		await view.app.getByRole("button", { name: "Full screen" }).waitFor();
		assert.deepEqual((await view.log()).modes, ["fullscreen", "inline"]);
		await behaved(view);
		const other = await show(t, reading({ type: "object" }));
		await other.send("sendToolResult", answer);
		await other.app.getByRole("table").waitFor();
		assert.equal(await other.app.getByRole("button", { name: "Full screen" }).count(), 0);
	});

	await part("a list of words is made of chips, by keyboard alone", async (t) => {
		const view = await show(
			t,
			reading(object({ tags: { type: "array", items: { type: "string", maxLength: 5 } }, kinds: { type: "array", items: { enum: ["a", "b"], enumNames: ["Alpha", "Beta"] } } }))
		);
		const { app, host } = view;
		const tags = app.getByLabel("Tags");
		await tags.focus();
		for (const key of ["r", "e", "d", "Enter", "t", "o", "o", "l", "o", "n", "g", "Enter"]) {
			await host.keyboard.press(key);
		}
		await app.getByLabel("Kinds").focus();
		await host.keyboard.press("ArrowDown");
		await host.keyboard.press("ArrowDown");
		await host.keyboard.press("Enter");
		await app.locator("li", { hasText: "Beta" }).waitFor();
		await accessible(view);
		await host.keyboard.press("Enter");
		await app.locator("p.error", { hasText: "toolong: Must have 5 characters or fewer." }).waitFor();
		assert.equal(await app.locator(":focus").getAttribute("aria-label"), "Remove toolong");
		await host.keyboard.press("Enter");
		await app.getByRole("button", { name: "Remove red" }).waitFor();
		await tags.fill("blue");
		await tags.press("Enter");
		await tags.fill("left");
		await app.getByRole("button", { name: "Run", exact: true }).press("Enter");
		assert.deepEqual((await view.calls(1))[0].arguments, { tags: ["red", "blue", "left"], kinds: ["b"] });
	});

	await part("a file of the user's is sent as base64, if it is not too large", async (t) => {
		const view = await show(
			t,
			reading(object({ data: { type: "string", contentEncoding: "base64", contentMediaType: "image/png" } }, { required: ["data"] }))
		);
		const { app } = view;
		await app.getByRole("button", { name: "Data: Choose a file" }).waitFor();
		const give = (name, buffer) => app.locator("input[type=file]").setInputFiles({ name, mimeType: "image/png", buffer });
		await give("large.png", Buffer.alloc(3_000_001));
		await app.getByText("“large.png” is larger than 3.0 MB.").waitFor();
		await give("small.png", Buffer.from("abc"));
		await app.getByText("small.png, 3 bytes").waitFor();
		await accessible(view);
		await app.getByRole("button", { name: "Run", exact: true }).click();
		assert.deepEqual((await view.calls(1))[0].arguments, { data: "YWJj" });
		await app.getByRole("button", { name: /^Edit input/ }).or(app.getByRole("button", { name: "Remove" })).first().click();
		await app.getByRole("button", { name: "Remove" }).click();
		assert.equal(await app.getByRole("textbox").isVisible(), true);
		await behaved(view);
	});

	await part("input that is being written does not flicker", async (t) => {
		const view = await show(t, WEATHER);
		await view.send("sendToolInputPartial", { arguments: { city: "L" } });
		await view.app.getByText("The input is being written").waitFor();
		const changes = await view.app.locator(".form").evaluate((form) => {
			window.seen = 0;
			new MutationObserver((all) => (window.seen += all.filter(({ type }) => type === "childList").length)).observe(form, {
				childList: true,
				subtree: true
			});
			form.querySelector("input").dataset.mark = "1";
			return window.seen;
		});
		assert.equal(changes, 0);
		for (const city of ["Li", "Lis", "Lisb", "Lisbo", "Lisbon"]) {
			await view.send("sendToolInputPartial", { arguments: { city } });
		}
		await view.app.locator("input[data-mark]").and(view.app.locator(".form").getByLabel("City")).waitFor();
		await view.app.locator(".form").evaluate(
			(form) => new Promise((done) => {
				const look = () => (form.querySelector("input").value === "Lisbon" ? done() : requestAnimationFrame(look));
				look();
			})
		);
		assert.equal(await view.app.locator(".form").evaluate(() => window.seen), 0);
	});
});
