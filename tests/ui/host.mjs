// Hosts for the tests: seven ways in which hosts embed views, in Chromium, without other machines.

import assert from "node:assert/strict";
import Ajv from "ajv/dist/2020.js";
import { build } from "esbuild";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url));
const read = (name) => readFile(path.join(here, name), "utf8");

const INLINE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";
const LAX =
	"default-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; style-src 'self' 'unsafe-inline' blob: data:; img-src 'self' data: blob:; font-src 'self' data: blob:; media-src 'self' data: blob:; connect-src 'self'; frame-src 'none'; object-src 'none'; base-uri 'none'";

/** What hosts allow a page, and how they deliver it. */
export const PROFILES = {
	"basic-host": { written: true, sandbox: "allow-scripts allow-same-origin allow-forms", csp: LAX },
	claude: {
		written: true,
		sandbox: "allow-scripts allow-same-origin allow-forms",
		csp: LAX.replace("connect-src 'self'", "connect-src 'none'")
	},
	inspector: { sandbox: "allow-scripts allow-forms", csp: `${INLINE}; form-action 'none'` },
	mcpjam: {
		sandbox: "allow-scripts allow-same-origin allow-forms",
		csp: `${INLINE}; img-src data:; connect-src 'none'`
	},
	goose: { sandbox: "allow-scripts", csp: `${INLINE}; img-src data:; media-src data:; form-action 'none'` },
	strict: { sandbox: "allow-scripts", csp: `${INLINE}; form-action 'none'; base-uri 'none'` },
	spec: {
		written: true,
		sandbox: "allow-scripts allow-same-origin",
		csp: "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
	}
};

/** A server on this machine, which runs until the tests end. */
function serve(t, answer) {
	const server = http.createServer((request, response) => {
		const { type = "text/html; charset=utf-8", headers, body } = answer(new URL(request.url, "http://localhost"));
		response.writeHead(200, { "content-type": type, ...headers });
		response.end(body);
	});
	t.after(() => {
		server.closeAllConnections();
		server.close();
	});
	return new Promise((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`))
	);
}

/**
 * Chromium, and the two origins of a host. With `reuse`, a host's page shows one view after the other, which takes a third of the time: for
 * tests that leave no trace in the host's page.
 */
export const startHosts = async (t, { reuse = false } = {}) => ({
	browser: await startBrowser(t, existsSync(SHELL) ? SHELL : CHROMIUM),
	...(await startOrigins(t)),
	free: reuse ? [] : undefined
});

/** The origin of a host's page, and the origin of its sandbox. */
export async function startOrigins(t) {
	const proxy = await read("proxy.html");
	const {
		outputFiles: [bundle]
	} = await build({
		entryPoints: [path.join(here, "host-page.js")],
		bundle: true,
		write: false,
		format: "iife",
		logLevel: "error"
	});
	const page = `<!doctype html><html lang="en"><title>host</title><style>body { margin: 0 } iframe { width: 100%; height: 700px; border: 0; display: block }</style><body><script>${bundle.text.replaceAll("</script", "<\\/script")}</script></body></html>`;
	const hosts = await serve(t, () => ({ body: page }));
	const sandboxes = await serve(t, ({ pathname, searchParams }) =>
		pathname === "/blank"
			? { body: "<!doctype html>", headers: { "content-security-policy": searchParams.get("csp") } }
			: { body: proxy }
	);
	return { hosts, sandboxes };
}

/** The URL of the sandbox of a kind of host. */
export const sandboxOf = (sandboxes, profile) => `${sandboxes}/#${encodeURIComponent(JSON.stringify(PROFILES[profile]))}`;

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** Chromium without its windows (Debian's package `chromium-headless-shell`), which takes a third less time. It does not give each sandboxed frame a process of its own. */
const SHELL = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

/** A browser, which runs until the tests end: Chromium itself, or `executablePath`. */
export async function startBrowser(t, executablePath = CHROMIUM) {
	const browser = await chromium.launch({
		executablePath,
		args: [
			"--headless",
			"--no-sandbox",
			"--disable-gpu",
			"--disable-background-networking",
			"--disable-component-update",
			"--disable-sync",
			"--no-first-run"
		]
	});
	t.after(() => browser.close());
	return browser;
}

const validate = await (async () => {
	const schema = JSON.parse(await read("node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json"));
	const ajv = new Ajv({ strict: false, validateFormats: false });
	ajv.addSchema(schema, "apps");
	const names = {
		"ui/initialize": "McpUiInitializeRequest",
		"ui/open-link": "McpUiOpenLinkRequest",
		"ui/message": "McpUiMessageRequest",
		"ui/update-model-context": "McpUiUpdateModelContextRequest",
		"ui/download-file": "McpUiDownloadFileRequest",
		"ui/request-display-mode": "McpUiRequestDisplayModeRequest",
		"ui/notifications/initialized": "McpUiInitializedNotification",
		"ui/notifications/size-changed": "McpUiSizeChangedNotification"
	};
	return Object.fromEntries(
		Object.entries(names).map(([method, name]) => [method, ajv.getSchema(`apps#/$defs/${name}`)])
	);
})();

/**
 * Opens a view within a host.
 *
 * @param more `profile`, `context` (the host context), `capabilities` (of the host, besides calls and links),
 *   and options for Playwright's page
 * @returns `app`, the frame of the view; `host`, the page; and records of what happened there
 */
export async function open(
	t,
	{ browser, hosts, sandboxes, free },
	html,
	{ profile = "spec", context = {}, capabilities = {}, ...options } = {}
) {
	const isShared = free && Object.keys(options).every((name) => name === "viewport");
	const used = isShared && free.pop();
	used && (await used.setViewportSize(options.viewport ?? { width: 1280, height: 720 }));
	const host = used || (await browser.newPage(options));
	t.after(async () => {
		if (!isShared) {
			return host.close();
		}
		await host.evaluate(() => window.end());
		["console", "pageerror", "request", "dialog", "filechooser"].forEach((event) => host.removeAllListeners(event));
		free.push(host);
	});
	host.setDefaultTimeout(20_000 * Number(process.env.SLOWNESS ?? 1));
	const violations = [];
	const requests = [];
	host.on("console", (message) => {
		// The specification itself leads to both of these messages.
		if (
			["error", "warning"].includes(message.type()) &&
			!/allow-scripts and allow-same-origin/.test(message.text())
		) {
			violations.push(message.text());
		}
	});
	host.on("pageerror", (error) => violations.push(String(error)));
	host.on(
		"request",
		(request) =>
			[hosts, sandboxes, "data:", "blob:", "about:"].some((known) => request.url().startsWith(known)) ||
			requests.push(request.url())
	);
	used || (await host.goto(hosts));
	const address = sandboxOf(sandboxes, profile);
	await host.evaluate(
		(given) => window.start(...given),
		[html, address, { theme: "light", locale: "en-GB", timeZone: "UTC", ...context }, capabilities]
	);
	await host.waitForFunction(() => window.log.ready && window.log.sizes.length > 0);
	const app = host.frameLocator("iframe[title=view]").frameLocator("iframe[title=app]");
	return {
		host,
		app,
		violations,
		requests,
		log: () => host.evaluate(() => window.log),
		send: (what, params) => host.evaluate(([name, given]) => window.send(name, given), [what, params]),
		answers: (...what) => host.evaluate((given) => window.answers(...given), what),
		/** Waits until the host has given the view the height that the view needs. Until then, a button may move away from under a click. */
		settled: async () => {
			for (;;) {
				const needed = await app.locator("body").evaluate((body) => Math.ceil(body.getBoundingClientRect().height));
				if (needed === (await host.evaluate(() => window.log.sizes.at(-1).height))) {
					return;
				}
				await host.waitForTimeout(50);
			}
		},
		/** Waits for `count` calls of tools and gives all calls. Without them, the error says what the view shows. */
		calls: async (count) => {
			try {
				await host.waitForFunction((wanted) => window.log.calls.length >= wanted, count);
			} catch (cause) {
				throw new Error(`${count} calls did not come; the view shows: ${await app.locator("body").innerText()}`, { cause });
			}
			return (await host.evaluate(() => window.log.calls)).map(({ name, arguments: args }) => ({
				name,
				arguments: args
			}));
		}
	};
}

/** Asserts that the view caused no violations, fetched nothing and sent only messages of the specification. Of the host's log, only `expected` may be there. */
export async function behaved({ violations, requests, log }, expected = []) {
	assert.deepEqual(violations, []);
	assert.deepEqual(requests, []);
	const { messages, others } = await log();
	assert.deepEqual([...new Set(others.map(([name]) => name))], expected);
	assert.equal(messages.filter(({ method }) => method === "ui/initialize").length, 1);
	for (const message of messages) {
		assert.equal(message.jsonrpc, "2.0");
		const { jsonrpc, id, ...rest } = message;
		const check = validate[message.method];
		assert.ok(!check || check(rest), `${JSON.stringify(message)}: ${JSON.stringify(check?.errors)}`);
		assert.ok(
			!message.method ||
				check ||
				[
					"tools/call",
					"resources/read",
					"notifications/cancelled",
					"ui/notifications/sandbox-proxy-ready"
				].includes(message.method),
			message.method
		);
	}
}

const axe = await read("node_modules/axe-core/axe.min.js");

/** Asserts that axe finds nothing in the frame of the view. With `impacts`, only such findings count: for views that others wrote in part. */
export const accessible = ({ host }, impacts) =>
	readable(host.frames().find((one) => one.parentFrame()?.parentFrame() === host.mainFrame()), impacts);

/** Asserts that axe finds nothing in a frame. */
export async function readable(frame, impacts) {
	await frame.evaluate(axe);
	const findings = await frame.evaluate(async (wanted) =>
		(await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations
			.filter(({ impact }) => !wanted || wanted.includes(impact))
			.map(
				({ id, nodes }) =>
					`${id}: ${nodes
						.slice(0, 3)
						.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`)
						.join(" | ")}`
			),
		impacts
	);
	assert.deepEqual(findings, []);
}
