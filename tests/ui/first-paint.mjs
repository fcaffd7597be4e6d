// Compares the time of the first paint of views in several revisions, in turns: node first-paint.mjs ROUNDS REVISION...
//
// A revision is a git revision, or `.` for the current files. `:packed-more.js` after it takes that runtime instead of `packed.js`. The times are from the first byte of the page that is read
// until Chromium has painted any text of the page, and until the form is painted, in the host of `host.mjs`. The page is
// that of a usual tool.

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { shipped } from "./build.mjs";
import { open, startHosts } from "./host.mjs";
import { WEATHER } from "./tools.mjs";

const [rounds, ...revisions] = process.argv.slice(2);
if (!revisions.length) {
	console.error("usage: node first-paint.mjs ROUNDS REVISION...");
	process.exit(2);
}

const read = async (revision, name) =>
	revision === "."
		? readFile(path.join(shipped, name), "utf8")
		: execFileSync("git", ["show", `${revision}:./${name}`], { cwd: shipped, encoding: "utf8", maxBuffer: 1e7 });

/** The script that records when the page begins, and when its form has been painted. */
const CLOCK = `<script>
window.begun = performance.now();
new MutationObserver((_, observer) => {
	if (document.querySelector("main")) {
		observer.disconnect();
		requestAnimationFrame(() => setTimeout(() => (window.formAt = performance.now())));
	}
}).observe(document, { childList: true, subtree: true });
</script>`;

/** The page of a revision, with the clock. */
async function pageOf(wanted) {
	const [revision, file = "packed.js"] = wanted.split(":");
	const runtime = await read(revision, file);
	// `runtime` is for pages of revisions that had no `scripts`.
	const places = {
		lang: "en",
		title: "t",
		heading: "Weather",
		data: JSON.stringify({ tool: WEATHER }).replaceAll("<", "\\u003c"),
		runtime,
		scripts: `<script>${runtime}</script>\n`
	};
	const page = (await read(revision, "page.html")).replace(/\{\{(\w+)\}\}/g, (_, name) => places[name] ?? "");
	return { page: page.replace(/<head>|<meta/, (tag) => `${CLOCK}${tag}`), bytes: Buffer.byteLength(page) };
}

/** Milliseconds until a part of the page is painted, and until its form is. */
async function measure(hosts, page) {
	const ends = [];
	const view = await open({ after: (end) => ends.push(end) }, hosts, page);
	const frame = view.host.frames().find((one) => one.parentFrame()?.parentFrame() === view.host.mainFrame());
	await frame.waitForFunction(() => window.formAt);
	const wait = await frame.evaluate(
		() =>
			new Promise((resolve) => {
				new PerformanceObserver((list) => {
					const [first] = list.getEntries().filter(({ name }) => name === "first-contentful-paint");
					first && resolve({ first: first.startTime - window.begun, form: window.formAt - window.begun });
				}).observe({ type: "paint", buffered: true });
			})
	);
	await Promise.all(ends.map((end) => end()));
	return wait;
}

const ends = [];
try {
	const hosts = await startHosts({ after: (end) => ends.unshift(end) });
	const pages = await Promise.all(revisions.map(pageOf));
	const waits = revisions.map(() => []);
	// The first round is for warming up and does not count.
	for (let round = 0; round <= Number(rounds); round++) {
		for (const [index, { page }] of pages.entries()) {
			const wait = await measure(hosts, page);
			round && waits[index].push(wait);
		}
	}
	revisions.forEach((revision, index) => {
		const times = (what) => {
			const sorted = waits[index].map((wait) => wait[what]).sort((a, b) => a - b);
			const at = (part) => Math.round(sorted[Math.floor((sorted.length - 1) * part)]);
			return `${at(0.5)} ms (quarters ${at(0.25)} and ${at(0.75)})`;
		};
		console.log(`${revision}: ${pages[index].bytes} bytes, first paint after ${times("first")}, form after ${times("form")}; medians of ${waits[index].length}`);
	});
} finally {
	for (const end of ends) {
		await end();
	}
}
