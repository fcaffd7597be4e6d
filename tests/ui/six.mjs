// Takes six screenshots of each answer of `answers/`, at 320, 480 and 800 pixels, light and dark, and puts them into one picture:
// node six.mjs FOLDER [FILE...]
//
// With FILEs (`git`, `git:log`), only these answers are taken. A screenshot is cut at 1,100 pixels.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";

const [folder, ...wanted] = process.argv.slice(2);
if (!folder) {
	console.error("usage: node six.mjs FOLDER [FILE...]");
	process.exit(2);
}
const answers = path.join(path.dirname(fileURLToPath(import.meta.url)), "answers");
const WIDTHS = [320, 480, 800];
const CUT = 1100;

/** The pictures of an answer in one theme, as images in a row. */
async function row(hosts, { tool, input, result }, theme) {
	const ends = [];
	const view = await open({ after: (end) => ends.push(end) }, hosts, await makePage(tool), {
		viewport: { width: WIDTHS[0], height: CUT },
		context: { theme }
	});
	await view.send("sendToolInput", { arguments: input });
	await view.send("sendToolResult", result);
	const images = [];
	for (const width of WIDTHS) {
		await view.host.setViewportSize({ width, height: CUT });
		await view.host.waitForTimeout(350);
		const { height } = await view.host.locator("iframe").boundingBox();
		const picture = await view.host.screenshot({ clip: { x: 0, y: 0, width, height: Math.min(CUT, Math.ceil(height)) } });
		images.push(`<img src="data:image/png;base64,${picture.toString("base64")}">`);
	}
	await Promise.all(ends.map((end) => end()));
	return `<div style="display:flex;gap:8px;align-items:start;margin-bottom:8px">${images.join("")}</div>`;
}

await mkdir(folder, { recursive: true });
const ends = [];
try {
	const hosts = await startHosts({ after: (end) => ends.unshift(end) });
	const page = await hosts.browser.newPage({ viewport: { width: 1616, height: 100 } });
	let count = 0;
	for (const file of (await readdir(answers)).filter((name) => name.endsWith(".json"))) {
		const of = path.basename(file, ".json");
		for (const [name, answer] of Object.entries(JSON.parse(await readFile(path.join(answers, file), "utf8")))) {
			if (wanted.length && !wanted.includes(of) && !wanted.includes(`${of}:${name}`)) {
				continue;
			}
			const rows = [await row(hosts, answer, "light"), await row(hosts, answer, "dark")];
			await page.setContent(`<body style="margin:0;background:#b08">${rows.join("")}`);
			await page.waitForFunction(() => [...document.images].every((one) => one.complete));
			await writeFile(path.join(folder, `${of}-${name}.png`), await page.screenshot({ fullPage: true }));
			count++;
		}
	}
	console.log(`${count} answers`);
} finally {
	for (const end of ends) {
		await end();
	}
}
