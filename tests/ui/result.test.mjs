// Tests of the display of answers, and of the page while there is no answer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, behaved, open, PROFILES, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";
import { WEATHER } from "./tools.mjs";
import { PIXEL } from "./views.mjs";

const tool = { name: "t", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
const data = (structuredContent) => ({ content: [], structuredContent });
const text = (said) => ({ content: [{ type: "text", text: said }] });

/** Twenty milliseconds of silence. */
const SOUND = (() => {
	const samples = Buffer.alloc(320);
	const head = Buffer.alloc(44);
	head.write("RIFF", 0);
	head.writeUInt32LE(36 + samples.length, 4);
	head.write("WAVEfmt ", 8);
	head.writeUInt32LE(16, 16);
	head.writeUInt16LE(1, 20);
	head.writeUInt16LE(1, 22);
	head.writeUInt32LE(8000, 24);
	head.writeUInt32LE(16000, 28);
	head.writeUInt16LE(2, 32);
	head.writeUInt16LE(16, 34);
	head.write("data", 36);
	head.writeUInt32LE(samples.length, 40);
	return Buffer.concat([head, samples]).toString("base64");
})();

const HOSTILE =
	"</script><img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe\u2066<b>bold</b>{{data}}<!--";

test("answers", { timeout: 300_000 }, async (t) => {
	const hosts = await startHosts(t, { reuse: true });
	const show = async (t, result, options, shown = tool) => {
		const view = await open(t, hosts, await makePage(shown), options);
		result && (await view.send("sendToolResult", result));
		return view;
	};

	await t.test("characters that reorder text are shown as such in every kind of text", { timeout: 30_000 }, async (t) => {
		const mark = "a\u202eb\u2066";
		const texts = [`A sentence with ${mark}. And another.`, `line\t${mark};\n  next();`, `Two of them:\n\n- ${mark}\n  ${mark}\n- **x** ${mark}`, `| a | b |\n|---|---|\n| ${mark} | **${mark}** |`, `{"a":"${"long ".repeat(90)}${mark}"}`];
		const view = await show(t, { content: texts.map((text) => ({ type: "text", text })) });
		await view.app.locator("li").first().waitFor();
		const said = await view.app.locator("main").evaluate((main) => main.textContent);
		assert.equal(said.match(/a\ufffdb\ufffd/g).length, 8);
		assert.doesNotMatch(said, /[\u202e\u2066]/);
	});

	await t.test("a table is sorted, and its rows are looked into", { timeout: 30_000 }, async (t) => {
		const view = await show(
			t,
			data(
				Array.from({ length: 45 }, (_, index) => ({
					id: index,
					name: `n${(index * 7) % 45}`,
					deep: { a: [index] }
				}))
			)
		);
		const cells = () => view.app.locator("tbody td:nth-child(3)").allTextContents();
		assert.equal((await cells()).length, 45);
		await view.app.getByRole("button", { name: "Name" }).click();
		assert.deepEqual((await cells()).slice(0, 3), ["n0", "n1", "n2"]);
		await view.app.getByRole("button", { name: "Name" }).click();
		assert.deepEqual((await cells()).slice(0, 2), ["n44", "n43"]);
		await view.app.getByRole("button", { name: "Name" }).click();
		assert.deepEqual((await cells()).slice(0, 2), ["n0", "n7"], "as they came");
		await view.app.getByText("45 rows").waitFor();
		await view.app.getByRole("button", { name: "Details of row 1", exact: true }).click();
		await view.app.locator("tr.detail dl").first().waitFor();
		await accessible(view);
		await behaved(view);
	});

	const charts = {
		"Line chart": [
			[1, 3, 2, 5, 4, 6, 8],
			{ hourly: { time: ["2026-03-01T00:00Z", "2026-03-01T01:00Z", "2026-03-01T02:00Z"], temp: [1, 2, 1] } },
			[
				{ day: "2026-03-01", n: -5 },
				{ day: "2026-03-02", n: 5 },
				{ day: "2026-03-03", n: 0 }
			]
		],
		"Bar chart": [
			{ votes: { apples: 3, pears: 5, plums: 0 } },
			[
				{ name: "a", size: 1 },
				{ name: "b", size: 2 },
				{ name: "c", size: 5 }
			]
		]
	};
	for (const [kind, all] of Object.entries(charts)) {
		for (const one of all) {
			await t.test(`${kind} of ${JSON.stringify(one)}`, { timeout: 30_000 }, async (t) => {
				const view = await show(t, data(one));
				await view.app.getByRole("img", { name: new RegExp(kind) }).waitFor();
				await view.app.getByRole("table").waitFor();
				assert.equal((await view.app.locator("svg").innerHTML()).includes("NaN"), false);
				await accessible(view);
			});
		}
	}

	await t.test("an axis of days has days at it, and one of hours has hours", { timeout: 30_000 }, async (t) => {
		for (const [times, hours] of [
			[["2026-03-01", "2026-03-02", "2026-03-03"], false],
			[["2026-03-01T00:00Z", "2026-03-01T01:00Z", "2026-03-01T02:00Z"], true]
		]) {
			const view = await show(t, data(times.map((time, n) => ({ time, size: 5 - n }))));
			await view.app.getByRole("img", { name: /Line chart/ }).waitFor();
			const words = await view.app.locator("svg > text").allTextContents();
			assert.equal(words.length, 3, words.join());
			assert.ok(words.every((one) => one.includes(":") === hours), words.join());
		}
	});

	for (const profile of Object.keys(PROFILES)) {
		await t.test(`pictures, sounds, links and files in ${profile}`, { timeout: 30_000 }, async (t) => {
			const view = await show(
				t,
				{
					content: [
						{ type: "text", text: "A summary." },
						{ type: "image", data: PIXEL, mimeType: "image/png" },
						{ type: "image", data: "bm8=", mimeType: "image/png" },
						{ type: "audio", data: SOUND, mimeType: "audio/wav" },
						{
							type: "resource_link",
							uri: "https://example.com/report",
							name: "report",
							title: "The report"
						},
						{ type: "resource_link", uri: "javascript:alert(1)", name: "bad" },
						{
							type: "resource",
							resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "file text" }
						},
						{
							type: "resource",
							resource: { uri: "file:///a.bin", mimeType: "application/zip", blob: "AAAA" }
						},
						{ type: "hologram", what: 1 }
					]
				},
				{ profile }
			);
			const { app } = view;
			await app.getByRole("img", { name: "Picture, 1 × 1" }).waitFor();
			await app.getByText("image/png cannot be shown here").waitFor();
			await app.getByRole("button", { name: "Play" }).click();
			await app.getByText("file text").waitFor();
			await app.getByText("hologram").waitFor();
			assert.deepEqual((await view.log()).links, [], "nothing is opened before the user acts");
			await app.getByRole("button", { name: "https://example.com/report" }).click();
			await view.host.waitForFunction(() => window.log.links.length > 0);
			assert.deepEqual((await view.log()).links, ["https://example.com/report"]);
			assert.equal(await app.getByRole("button", { name: /javascript/ }).count(), 0);
			await accessible(view);
			await behaved(view);
		});
	}

	await t.test("text from outside harms nobody", { timeout: 30_000 }, async (t) => {
		const bad = {
			name: HOSTILE,
			title: HOSTILE,
			description: HOSTILE.repeat(100),
			inputSchema: {
				type: "object",
				properties: {
					[HOSTILE]: {
						type: "string",
						title: HOSTILE,
						description: HOSTILE,
						examples: [HOSTILE],
						enum: [HOSTILE]
					}
				}
			}
		};
		const view = await show(
			t,
			{ ...data({ [HOSTILE]: HOSTILE, rows: [{ [HOSTILE]: HOSTILE }] }), isError: true },
			{},
			bad
		);
		await view.app.getByRole("alert").waitFor();
		assert.equal(await view.app.locator("main img, main script, main b").count(), 0);
		assert.equal((await view.app.locator("main").innerText()).includes("\u202e"), false);
		await view.app.getByRole("button", { name: /^Edit input/ }).click();
		await view.app.locator("select").selectOption({ index: 1 });
		await view.app.getByRole("button", { name: "Run…" }).click();
		await view.app.getByRole("button", { name: "Run it" }).click();
		assert.deepEqual(await view.calls(1), [{ name: HOSTILE, arguments: { [HOSTILE]: HOSTILE } }]);
		await behaved(view);
	});

	await t.test("much is cut, and there for who asks", { timeout: 60_000 }, async (t) => {
		const view = await show(t, {
			...data({
				long: "x".repeat(1e6),
				many: Array.from({ length: 20_000 }, (_, index) => `item ${index}`),
				wide: Object.fromEntries(
					Array.from({ length: 3000 }, (_, index) => [`k${index}`, index % 2 ? "s" : index])
				)
			})
		});
		await view.app.getByText("item 49", { exact: true }).waitFor();
		assert.ok((await view.app.locator("*").count()) < 2000);
		assert.equal(await view.app.getByText("item 50", { exact: true }).count(), 0);
		await view.app.getByRole("button", { name: /Show more \(19,950 left\)/ }).click();
		await view.app.getByText("item 50", { exact: true }).waitFor();
		await view.app.getByText("Raw JSON").click();
		await view.app.locator("details.raw pre").first().waitFor();
		await behaved(view);
	});

	await t.test("JSON in a text is data, and large numbers in it stay exact", { timeout: 30_000 }, async (t) => {
		const view = await show(t, text('{"id": 12345678901234567890, "secret": "hush"}'));
		await view.app.locator("dd", { hasText: "12345678901234567890" }).waitFor();
	});

	await t.test("an error, a failure, a cancelled call, and one that is stopped", { timeout: 30_000 }, async (t) => {
		const view = await show(t, { ...text("no such city"), isError: true });
		const { app } = view;
		await app.getByRole("alert").getByText("no such city").waitFor();
		await view.send("sendToolInput", { arguments: {} });
		await view.send("sendToolCancelled", { reason: "enough" });
		await app.getByText("Cancelled: enough").waitFor();
		await view.answers(null, { fail: "broken pipe" });
		await app.getByRole("button", { name: "Run", exact: true }).click();
		await app.getByText(/broken pipe/).waitFor();
		await view.answers(null, { hang: true });
		await app.getByRole("button", { name: "Run", exact: true }).click();
		await app.getByRole("progressbar").waitFor();
		await view.host.waitForFunction(() => window.log.calls.length === 2);
		await view.host.evaluate(() => window.progress({ progress: 3, total: 4, message: "three of four" }));
		await app.getByText("three of four").waitFor();
		assert.equal(await app.getByRole("progressbar").getAttribute("value"), "3");
		await app.getByRole("button", { name: "Stop" }).click();
		await app.getByText(/Stopped/).waitFor();
		assert.equal(await app.getByRole("button", { name: "Run", exact: true }).isEnabled(), true);
		await accessible(view);
		await behaved(view);
	});

	await t.test("an answer that comes twice is shown once", { timeout: 30_000 }, async (t) => {
		const view = await show(t, undefined, {}, WEATHER);
		const result = data([{ a: 1 }, { a: 2 }]);
		await view.answers(result);
		await view.app.getByLabel("City").fill("x");
		await view.app.getByRole("button", { name: "Run", exact: true }).click();
		await view.app.getByText("Done.").waitFor();
		await view.app.locator("table").evaluate((table) => (table.dataset.mark = "1"));
		await view.send("sendToolResult", result);
		await view.send("sendHostContextChange", { theme: "dark" });
		await view.app.locator("html[data-theme=dark]").waitFor();
		assert.equal(await view.app.locator("table[data-mark]").count(), 1);
		assert.equal(await view.app.locator("table").count(), 1);
	});

	await t.test("what is referenced twice keeps the names of its places", { timeout: 30_000 }, async (t) => {
		// The schema that Pydantic writes for a model that contains another model twice.
		const place = { title: "Place", type: "object", properties: { city: { title: "City", type: "string" } } };
		const schema = {
			type: "object",
			properties: {
				source: { $ref: "#/$defs/Place" },
				target: { anyOf: [{ $ref: "#/$defs/Place" }, { type: "null" }], default: null },
				via: { title: "Stops on the way", type: "array", items: { $ref: "#/$defs/Place" } }
			},
			required: ["source", "target"],
			$defs: { Place: place }
		};
		const shown = { ...tool, inputSchema: schema, outputSchema: schema };
		const answer = data({ source: { city: "Faro" }, target: { city: "Porto" }, via: [{ city: "Beja" }] });
		const view = await show(t, answer, {}, shown);
		const input = await view.app.locator("section.input").textContent();
		const result = await view.app.locator("section.answer").textContent();
		for (const [where, text] of Object.entries({ input, result })) {
			assert.match(text, /Source/, where);
			assert.match(text, /Target/, where);
			assert.doesNotMatch(text.replace(/\{[\s\S]*/, ""), /Place/, where);
		}
		await behaved(view);
	});

	await t.test("numbers and times are written as the user writes them", { timeout: 30_000 }, async (t) => {
		const view = await show(t, data({
			size: 1234567.5,
			at: "2026-03-01T23:30:00Z",
			departs: "2026-03-01T10:00:00-05:00",
			arrives: "2026-03-02T10:00:00+09:00",
			noted: "2026-03-01T10:00:00",
			ok: true
		}), {
			context: {
				locale: "de-DE",
				timeZone: "Asia/Tokyo",
				theme: "dark",
				styles: {
					variables: {
						"--color-text-primary": "#fafafa",
						"--color-background-primary": "url(https://evil.example/)"
					}
				}
			}
		});
		await view.app.getByText("1.234.567,5").waitFor();
		await view.app.getByText("02.03.2026, 08:30 GMT+9", { exact: true }).waitFor();
		// An offset is not changed. The user's time is shown beside it if it differs.
		await view.app.getByText("01.03.2026, 10:00 -05:00 (02.03.2026, 00:00 GMT+9)", { exact: true }).waitFor();
		await view.app.getByText("02.03.2026, 10:00 +09:00", { exact: true }).waitFor();
		await view.app.getByText("01.03.2026, 10:00", { exact: true }).waitFor();
		await view.send("sendHostContextChange", { locale: "he-IL" });
		await view.app.locator("html[dir=rtl]").waitFor();
		await accessible(view);
		await behaved(view, ["onreadresource"]);
	});
});
