// Takes a screenshot of a view in `portcullis preview`: node picture.mjs URL FILE [WIDTH]
//
// URL is the URL of the preview with the choices there, such as
// http://127.0.0.1:PORT/#tool=get_weather&theme=dark&locale=ar-EG. No tool is called.

import { startBrowser } from "./host.mjs";

const [address, file, width = "480"] = process.argv.slice(2);
if (!file) {
	console.error("usage: node picture.mjs URL FILE [WIDTH]");
	process.exit(2);
}
const ends = [];
try {
	const browser = await startBrowser({ after: (end) => ends.unshift(end) });
	const page = await browser.newPage({ viewport: { width: Number(width), height: 600 }, deviceScaleFactor: 2 });
	const url = new URL(address);
	const chosen = new URLSearchParams(url.hash.slice(1));
	chosen.set("bare", "1");
	url.hash = String(chosen);
	await page.goto(url.href);
	const frame = page.locator("figure[data-state=ready]");
	await frame.waitFor();
	// Waits until the view has reported its size and has got the room.
	await page.waitForTimeout(700);
	await page.locator("#stage").screenshot({ path: file });
} finally {
	for (const end of ends) {
		await end();
	}
}
