// Shows answers of real tools in several widths and both themes. No part may be missing, overlap another or be out of reach.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, behaved, open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "answers");
const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));

/** The faults in the layout of a page. */
async function faults() {
	// Waits for a view to adapt to its new size. Tables do so in the frame after the one in which they get it.
	for (let frame = 0; frame < 3; frame++) {
		await new Promise((resolve) => requestAnimationFrame(resolve));
	}
	const found = [];
	const { scrollWidth, clientWidth } = document.documentElement;
	scrollWidth > clientWidth && found.push(`the page is ${scrollWidth} wide in ${clientWidth}`);
	for (const row of document.querySelectorAll("tbody tr:not(.detail)")) {
		row.offsetHeight > 110 && found.push(`a row is ${row.offsetHeight} high: ${row.textContent.slice(0, 60)}`);
	}
	// Texts of different elements that overlap where they are drawn.
	const boxes = [...document.querySelectorAll("td, th, dt, dd, h1, h2, h3, h4, p, li, summary, figcaption, svg text")]
		.filter((one) => !one.querySelector("td, dd, p, li, summary, table, dl, pre") && one.textContent.trim() && !one.closest(".unseen, .scroll, [hidden]"))
		.map((one) => [one, one.getBoundingClientRect()])
		.filter(([, box]) => box.width > 1 && box.height > 1);
	boxes.forEach(([one, a], index) =>
		boxes.slice(index + 1).forEach(([other, b]) => {
			const [wide, high] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
			wide > 2 && high > 2 && !one.contains(other) && !other.contains(one) && found.push(`“${one.textContent.slice(0, 30)}” is over “${other.textContent.slice(0, 30)}”`);
		})
	);
	for (const cell of document.querySelectorAll("tr:not(.detail) > :is(td, th)")) {
		cell.scrollWidth > cell.clientWidth + 1 && found.push(`“${cell.textContent.slice(0, 30)}” goes beyond its cell`);
	}
	for (const row of document.querySelectorAll("dl > div")) {
		const [label, value] = [...row.children].map((one) => one.getBoundingClientRect());
		value.top >= label.bottom - 1 && label.width < row.clientWidth - 1 && found.push(`the label “${row.firstChild.textContent}” has not the whole line above its value`);
	}
	for (const { lastChild: end } of document.querySelectorAll("td .clip")) {
		const range = document.createRange();
		const text = end.firstChild.firstChild;
		range.setStart(text, text.length - 1);
		range.setEnd(text, text.length);
		const [letter, box] = [range, end].map((one) => one.getBoundingClientRect());
		(letter.right > box.right + 1 || letter.left < box.left - 1) && found.push(`the end of “${end.parentElement.title}” is cut off`);
	}
	for (const cell of document.querySelectorAll("td.right > *")) {
		const [box, outer] = [cell, cell.parentElement].map((one) => one.getBoundingClientRect());
		Math.abs(outer.right - box.right - parseFloat(getComputedStyle(cell.parentElement).paddingRight)) > 1 && cell.parentElement.cellIndex && found.push(`“${cell.textContent}” is not at the right`);
	}
	for (const drawing of document.querySelectorAll("svg[viewBox]")) {
		const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
		Math.abs(scale - 1) > 0.1 && found.push(`“${drawing.getAttribute("aria-label")}” is drawn ${scale.toFixed(2)} times as large as its text should be`);
	}
	for (const { firstChild } of document.querySelectorAll("th button")) {
		const range = document.createRange();
		range.selectNodeContents(firstChild);
		const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
		lines > firstChild.data.split(/[\s/-]+/).length && found.push(`the heading “${firstChild.data}” is broken within a word`);
	}
	const linesOf = (node) => {
		const range = document.createRange();
		range.selectNodeContents(node);
		return [...range.getClientRects()].filter(({ width }) => width > 0);
	};
	for (const { firstChild, parentElement: row } of document.querySelectorAll("dt")) {
		const lines = new Set(linesOf(firstChild).map(({ top }) => Math.round(top))).size;
		lines > firstChild.data.split(/[\s/-]+/).length && row.firstChild.offsetWidth < row.clientWidth - 1 && found.push(`the label “${firstChild.data}” is broken within a word`);
	}
	for (const { firstChild } of document.querySelectorAll("th.right button")) {
		const ends = linesOf(firstChild).map(({ right }) => right);
		Math.max(...ends) - Math.min(...ends) > 2 && found.push(`lines of the heading “${firstChild.data}” are not at the right`);
	}
	for (const box of document.querySelectorAll(".scroll.on")) {
		const end = box.getBoundingClientRect().right;
		for (const row of box.querySelectorAll("tr:not(.detail)")) {
			const seen = [...row.children].filter((cell) => cell.getBoundingClientRect().left < end - 8).flatMap(linesOf);
			const [top, bottom] = [Math.min(...seen.map((one) => one.top)), Math.max(...seen.map((one) => one.bottom))];
			row.offsetHeight - (bottom - top) > 32 && found.push(`a row has room for lines out of sight: ${row.textContent.slice(0, 60)}`);
		}
	}
	for (const all = document.createTreeWalker(document.querySelector(".answer"), NodeFilter.SHOW_TEXT); all.nextNode(); ) {
		const { data, parentElement } = all.currentNode;
		/\p{Ll} \p{Ll}+ \p{Ll}/u.test(data) && /\B`[^`\n]+`\B/.test(data) && !parentElement.closest("pre, code") && found.push(`backticks are shown: ${data.slice(0, 60)}`);
	}
	for (const box of document.querySelectorAll(".scroll.on")) {
		const edge = Math.max(...[...box.querySelectorAll("tr:first-child > *")].map((cell) => cell.getBoundingClientRect().right));
		edge < box.getBoundingClientRect().right + 1 && found.push("a table fades out at its edge, and no column goes on there");
	}
	for (const box of document.querySelectorAll("*")) {
		const { overflowX, overflowY } = getComputedStyle(box);
		const scrolls = (/auto|scroll/.test(overflowX) && box.scrollWidth > box.clientWidth) || (/auto|scroll/.test(overflowY) && box.scrollHeight > box.clientHeight);
		scrolls && box !== document.documentElement && box.tabIndex < 0 && found.push(`no keyboard scrolls ${box.className || box.tagName}`);
	}
	return found;
}

const ends = [];
let hosts;
before(async () => (hosts = await startHosts({ after: (end) => ends.unshift(end) }, { reuse: true })));
after(async () => {
	for (const end of ends) {
		await end();
	}
});

for (const file of files) {
	test(file, { timeout: 300_000, concurrency: 3 }, async (t) => {
		const answers = JSON.parse(await readFile(path.join(folder, file), "utf8"));
		const all = Object.entries(answers).map(([name, { tool, input, result }]) =>
			t.test(name, { timeout: 60_000 }, async (t) => {
				const view = await open(t, hosts, await makePage(tool), { viewport: { width: 320, height: 600 } });
				await view.send("sendToolInput", { arguments: input });
				await view.send("sendToolResult", result);
				await view.app.locator("section.answer > .data").waitFor();
				const frame = view.host.frames().find((one) => one.parentFrame()?.parentFrame() === view.host.mainFrame());
				assert.deepEqual(await frame.evaluate(faults), [], "320");
				await accessible(view);
				const said = await view.app.locator("section.answer").innerText();
				for (const fault of ["[object ", "undefined", "NaN", "Invalid Date", "Cannot be shown"]) {
					assert.ok(!said.includes(fault) || JSON.stringify(result).includes(fault), fault);
				}
				await view.host.setViewportSize({ width: 480, height: 600 });
				assert.deepEqual(await frame.evaluate(faults), [], "480");
				await view.host.setViewportSize({ width: 800, height: 600 });
				await view.send("sendHostContextChange", { theme: "dark" });
				await view.app.locator("html[data-theme=dark]").waitFor();
				assert.deepEqual(await frame.evaluate(faults), [], "800");
				// Checks the colours of the dark theme on all shapes.
				file === "shapes.json" && (await accessible(view));
				await behaved(view);
			})
		);
		await Promise.all(all);
	});
}
