// Tests the documents of `documents/` in Firefox: good ones show their answer, hostile ones reach nothing.
//
//   npm run firefox      needs Firefox (`firefox-esr` of Debian); FIREFOX names another program

import assert from "node:assert/strict";
import { test } from "node:test";
import puppeteer from "puppeteer-core";
import { documents, listen, SECRET, wrong } from "./documents.mjs";
import { startOrigins, sandboxOf } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { FORECAST, WEATHER } from "./tools.mjs";

const { good, hostile } = await documents();
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Shows a document in the most permissive kind of host. */
async function show(t, browser, { hosts, sandboxes }, document) {
	const page = await browser.newPage();
	t.after(() => page.close().catch(() => {}));
	await page.goto(hosts);
	const given = [await makePage(WEATHER, { document }), sandboxOf(sandboxes, "basic-host"), { theme: "light", locale: "en-GB" }];
	await page.evaluate((...all) => window.start(...all), ...given);
	await page.waitForFunction(() => window.log.ready && window.log.sizes.length > 0, { timeout: 20_000 });
	const result = { content: [], structuredContent: { ...FORECAST, city: SECRET } };
	await page.evaluate((sent) => window.send("sendToolResult", sent), result);
	const frame = page.frames().find((one) => one.parentFrame()?.parentFrame() === page.mainFrame());
	// Waits until the host has given the view the height that the view needs. Until then, a button may move away from under a click.
	// A hostile document may change its height for ever.
	for (let [round, still] = [0, 0]; round < 40 && still < 3; round++) {
		await wait(50);
		const needed = await frame.evaluate(() => Math.ceil(document.body.getBoundingClientRect().height));
		still = needed === (await page.evaluate(() => window.log.sizes.at(-1).height)) ? still + 1 : 0;
	}
	const read = (selector) =>
		frame.evaluate((text) => document.querySelector(".document")?.shadowRoot.querySelector(text)?.textContent, selector);
	/** Clicks an element of the document, by its selector or its text, if the document and the element are shown. */
	const click = async (wanted) => {
		const place = await frame.evaluate((text) => {
			const root = document.querySelector(".document")?.shadowRoot;
			const found = [...(root?.querySelectorAll("button") ?? [])].find(
				(one) => `#${one.id}` === text || one.textContent.trim() === text
			);
			const box = found?.getBoundingClientRect();
			return box && { x: box.x + box.width / 2, y: box.y + box.height / 2 };
		}, wanted);
		for (let one = frame; place && one.parentFrame(); one = one.parentFrame()) {
			const box = await one.parentFrame().evaluate(() => {
				const { x, y } = document.querySelector("iframe").getBoundingClientRect();
				return { x, y };
			});
			place.x += box.x;
			place.y += box.y;
		}
		place && (await page.mouse.click(place.x, place.y));
	};
	return { page, click, read, log: () => page.evaluate(() => window.log) };
}

test("documents in Firefox", { timeout: 1_800_000 }, async (t) => {
	const origins = await startOrigins(t);
	const browser = await puppeteer.launch({
		browser: "firefox",
		executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
		headless: true,
		defaultViewport: null,
		args: ["--width=1000", "--height=2500"]
	});
	t.after(() => browser.close());
	for (const [name, document] of good) {
		await t.test(`good: ${name}`, { timeout: 60_000 }, async (t) => {
			const { page, click, read, log } = await show(t, browser, origins, document);
			assert.match(await read("#city"), new RegExp(SECRET));
			await click("Again");
			await page.waitForFunction(() => window.log.calls.length > 0, { timeout: 10_000 });
			// Waits, since a second call would come soon.
			await wait(300);
			assert.equal((await log()).calls.length, 1);
		});
	}
	for (const [name, document] of hostile) {
		await t.test(`hostile: ${name}`, { timeout: 60_000 }, async (t) => {
			const peer = await listen(t);
			const { page, click, log } = await show(t, browser, origins, peer.placed(document));
			const address = page.url();
			await click("#go").catch(() => {});
			await wait(250);
			assert.deepEqual(wrong(await log()), []);
			assert.deepEqual(peer.seen, []);
			assert.equal(page.url(), address);
		});
	}
});
