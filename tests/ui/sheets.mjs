// Takes screenshots of the answers of `answers/` and arranges them on sheets, for people to look at:
// node sheets.mjs FOLDER WIDTH THEME [FILE...]
//
// Each answer is WIDTH pixels wide. THEME is `light` or `dark`. With FILEs (`git`, `shapes` …), only the answers of these
// files are taken; `git:log` is one answer of a file. LOCALE=ar-EG shows them in Arabic. A screenshot is cut at 1,100 pixels.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { open, startHosts } from "./host.mjs";
import { makePage } from "./pages.mjs";

const [folder, width, theme, ...wanted] = process.argv.slice(2);
if (!theme) {
	console.error("usage: node sheets.mjs FOLDER WIDTH THEME [FILE...]");
	process.exit(2);
}
/** The size of a sheet, in pixels. */
const SHEET = { width: 1632, height: 1240 };
const answers = path.join(path.dirname(fileURLToPath(import.meta.url)), "answers");
const WIDTH = Number(width);
const { LOCALE: locale = "en-GB" } = process.env;
const language = locale.split("-")[0];

/** Screenshots of the answers of a file, with their names and heights. */
async function take(hosts, file) {
	const taken = [];
	const of = path.basename(file, ".json");
	for (const [name, { tool, input, result }] of Object.entries(JSON.parse(await readFile(path.join(answers, file), "utf8")))) {
		if (wanted.length && !wanted.includes(of) && !wanted.includes(`${of}:${name}`)) {
			continue;
		}
		const ends = [];
		const view = await open({ after: (end) => ends.push(end) }, hosts, await makePage(tool, {}, false, language === "en" ? [] : [language]), {
			viewport: { width: WIDTH, height: 1100 },
			context: { theme, locale }
		});
		await view.send("sendToolInput", { arguments: input });
		await view.send("sendToolResult", result);
		await view.host.waitForTimeout(350);
		const box = await view.host.locator("iframe").boundingBox();
		const height = Math.min(1100, Math.ceil(box.height));
		const picture = await view.host.screenshot({ clip: { x: 0, y: 0, width: WIDTH, height } });
		taken.push({ name: `${of} ${name}`, picture, height: height + 22 });
		await Promise.all(ends.map((end) => end()));
	}
	return taken;
}

/** Arranges screenshots in columns: one list for each sheet, with as many as fit. */
function sheets(taken) {
	const columns = Math.floor(SHEET.width / WIDTH);
	const laid = [[[]]];
	for (const one of taken) {
		const used = laid.at(-1).at(-1).reduce((sum, { height }) => sum + height, 0);
		if (used && used + one.height > SHEET.height) {
			laid.at(-1).length < columns ? laid.at(-1).push([]) : laid.push([[]]);
		}
		laid.at(-1).at(-1).push(one);
	}
	return laid;
}

const html = (sheet) =>
	`<body style="margin:0;display:flex;gap:8px;background:#b08">${sheet
		.map(
			(column) =>
				`<div>${column.map(({ name, picture }) => `<div style="font:bold 13px/20px sans-serif;color:#fff">${name}</div><img style="display:block;margin-bottom:2px" src="data:image/png;base64,${picture.toString("base64")}">`).join("")}</div>`
		)
		.join("")}`;

await mkdir(folder, { recursive: true });
const ends = [];
try {
	const hosts = await startHosts({ after: (end) => ends.unshift(end) });
	const files = (await readdir(answers)).filter((name) => name.endsWith(".json") && (!wanted.length || wanted.some((one) => one.split(":")[0] === path.basename(name, ".json"))));
	const taken = [];
	for (const file of files) {
		taken.push(...(await take(hosts, file)));
	}
	const page = await hosts.browser.newPage({ viewport: SHEET });
	for (const [index, sheet] of sheets(taken).entries()) {
		await page.setContent(html(sheet));
		await page.waitForFunction(() => [...document.images].every((one) => one.complete));
		await writeFile(path.join(folder, `${WIDTH}-${theme}${language === "en" ? "" : `-${language}`}-${String(index + 1).padStart(2, "0")}.png`), await page.screenshot());
	}
	console.log(`${taken.length} answers on ${sheets(taken).length} sheets`);
} finally {
	for (const end of ends) {
		await end();
	}
}
