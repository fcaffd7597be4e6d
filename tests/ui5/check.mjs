// Tests the apps that create_ui5_app makes: installs, lints, compiles, builds and runs apps with the model of OData V2,
// with that of V4, and without a model. It tests four of the six combinations with both languages, which takes minutes.
//
//   PORTCULLIS=target/debug/portcullis npm test
//
// PORTCULLIS         the binary
// PORTCULLIS_CONFIG  a configuration for the binary; without it, the binary uses its own
// CHROMIUM           the browser; default: `chromium`
// KEEP               a directory to work in, which is kept; default: a temporary one
// ALL                set it to test all six
// REFRESH_LOCKS      set it to write the lock files again after a change of a template

import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";
import { run, serve } from "./processes.mjs";
import { PATHS, startService } from "./service.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const portcullis = process.env.PORTCULLIS;
const chromium = process.env.CHROMIUM ?? "chromium";

/** A version whose libraries are all on npm. */
const UI5 = "1.152.0";

/** Polls by time. The default polls by animation frames, and OPA5 waits until no frame is requested. */
const POLLING = { polling: 250 };

const APPS = [
	{ name: "com.example.ts", typescript: true },
	{ name: "com.example.tsv2", typescript: true, odata: "V2" },
	{ name: "com.example.js", typescript: false },
	{ name: "com.example.jsv4", typescript: false, odata: "V4" },
	...process.env.ALL ? [
		{ name: "com.example.tsv4", typescript: true, odata: "V4" },
		{ name: "com.example.jsv2", typescript: false, odata: "V2" }
	] : []
];

assert.ok(portcullis, "PORTCULLIS must say where the binary is");

const kept = process.env.KEEP && path.resolve(process.env.KEEP);
const base = kept ?? await mkdtemp(path.join(os.tmpdir(), "portcullis-ui5-"));
if (kept) {
	await mkdir(kept, { recursive: true });
}

test("apps made by create_ui5_app work", { timeout: 15 * 60_000 }, async (t) => {
	t.after(() => kept ?? rm(base, { recursive: true, force: true }));
	const browser = await puppeteer.launch({
		executablePath: await which(chromium),
		args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
	});
	t.after(() => browser.close());
	for (const app of APPS) {
		await t.test(app.name, async (t) => {
			const service = app.odata && await startService();
			t.after(() => service?.stop());
			await check(t, app, browser, service);
		});
	}
});

/** The path of a program, which puppeteer requires. */
async function which(program) {
	const { stdout } = await run("sh", ["-c", "command -v \"$1\"", "sh", program], { seconds: 10 });
	return stdout.trim();
}

/** Checks one app. */
async function check(t, app, browser, service) {
	const directory = path.join(base, app.name);
	await t.test("is created", () => create(app, service));
	await t.test("installs", () => install(app, directory));
	await t.test("has no findings of the UI5 linter", () => run("node", [
		path.join(here, "node_modules/@ui5/linter/bin/ui5lint.js")
	], { cwd: directory, seconds: 180 }));
	await t.test("has no findings of ESLint", () => npm(directory, ["run", "lint", "--", "--max-warnings", "0"]));
	if (app.typescript) {
		await t.test("compiles", () => npm(directory, ["run", "ts-typecheck"]));
	}
	await t.test("builds", () => builds(directory));
	await t.test("runs", async (t) => {
		const served = await serve(directory, service);
		t.after(() => served.stop());
		const look = (action) => withPage(browser, action);
		await t.test("as an app", () => look((page, complaints) => shows(app, page, served.url, complaints, service)));
		for (const name of ["unit/unitTests", "integration/opaTests"]) {
			await t.test(name, () => look((page, complaints) => passes(app, name, page, served.url, complaints)));
		}
	});
}

async function create({ name, typescript, odata }, service) {
	const args = {
		appNamespace: name,
		basePath: base,
		framework: "OpenUI5",
		frameworkVersion: UI5,
		typescript,
		runNpmInstall: false,
		initializeGitRepository: false,
		...odata && { oDataV4Url: `http://localhost:${service.port}${PATHS[odata]}`, oDataEntitySet: "Books" }
	};
	await rm(path.join(base, name), { recursive: true, force: true });
	const file = process.env.PORTCULLIS_CONFIG;
	const config = file ? ["--config", file] : [];
	const command = [...config, "call", "create_ui5_app", "--root", base, JSON.stringify(args)];
	const { stdout } = await run(portcullis, command, { seconds: 60 });
	const language = typescript ? "TypeScript" : "JavaScript";
	assert.match(stdout, new RegExp(`Successfully created a OpenUI5 ${language} application`));
	if (odata) {
		assert.ok(stdout.includes(`The service speaks OData ${odata} (found in its metadata).`), stdout);
		assert.ok(stdout.includes("the entity set 'Books': ID, title, price, published."), stdout);
	}
}

/** Installs the packages of an app. Apps in one language need the same packages, so the second uses those of the first. */
async function install(app, directory) {
	const first = APPS.find(({ typescript }) => typescript === app.typescript);
	if (first !== app) {
		await symlink(path.join(base, first.name, "node_modules"), path.join(directory, "node_modules"));
		return;
	}
	const lock = path.join(here, "locks", app.typescript ? "typescript.json" : "javascript.json");
	await cp(path.join(here, ".npmrc"), path.join(directory, ".npmrc"));
	if (process.env.REFRESH_LOCKS) {
		await npm(directory, ["install", "--package-lock-only"]);
		await rename(path.join(directory, "package-lock.json"), lock);
	}
	await cp(lock, path.join(directory, "package-lock.json"));
	await npm(directory, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
}

function npm(directory, args) {
	return run("npm", args, { cwd: directory, seconds: 300 });
}

async function builds(directory) {
	await npm(directory, ["run", "build"]);
	const preload = await readFile(path.join(directory, "dist/Component-preload.js"), "utf8");
	assert.match(preload, /sap\.ui\.require\.preload|sap\.ui\.predefine/);
	JSON.parse(await readFile(path.join(directory, "dist/manifest.json"), "utf8"));
}

/** Asserts that the page of the app shows its content without errors. */
async function shows({ name, odata }, page, url, complaints, service) {
	await page.goto(`${url}/index.html`, { timeout: 120_000 });
	const text = odata ? "2 The second book 21.00 Mar 2, 2024" : "The app is up and running";
	// UI5 uses non-breaking spaces, so all spaces are made equal.
	const isThere = (text) => document.body.innerText.replace(/\s+/g, " ").includes(text);
	await page.waitForFunction(isThere, { ...POLLING, timeout: 120_000 }, text);
	if (odata) {
		await changes(odata, page, service);
	}
	if (kept) {
		await page.screenshot({ path: path.join(kept, `${name}.png`) });
	}
	assert.deepEqual(complaints, []);
}

/** Asserts that a title that is typed into the form of the second row reaches the service. */
async function changes(odata, page, service) {
	await page.click("[id$='--table-rowsel1']");
	const find = () => [...document.querySelectorAll("input")].find(({ value }) => value === "The second book");
	const input = await page.waitForFunction(find, { ...POLLING, timeout: 20_000 });
	await input.focus();
	await input.evaluate((input) => input.select());
	await page.keyboard.type("Another book");
	await page.keyboard.press("Tab");
	if (odata === "V2") {
		// The model of V2 collects changes. The model of V4 sends them by itself.
		await input.evaluate((input) => new Promise((success, error) => {
			const Element = sap.ui.require("sap/ui/core/Element");
			Element.closestTo(input).getModel().submitChanges({ success, error });
		}));
	}
	const address = `http://localhost:${service.port}${PATHS[odata]}/Books(2)?$format=json`;
	const until = Date.now() + 20_000;
	let stored;
	do {
		await new Promise((resolve) => setTimeout(resolve, 100));
		stored = await (await fetch(address)).json();
	} while ((stored.d ?? stored).title !== "Another book" && Date.now() < until);
	assert.equal((stored.d ?? stored).title, "Another book", JSON.stringify(stored));
	assert.notDeepEqual(service.tokens, [], "the model asks for a token");
}

/** Asserts that the QUnit page reports tests, and no failed ones. */
async function passes({ name }, suite, page, url, complaints) {
	const testsuite = `test-resources/${name.replaceAll(".", "/")}/testsuite.qunit`;
	await page.goto(`${url}/test/Test.qunit.html?testsuite=${testsuite}&test=${suite}`, { timeout: 120_000 });
	const done = () => document.querySelector("#qunit-testresult .total") &&
		document.querySelector("#qunit-testresult").innerText.includes("completed");
	try {
		await page.waitForFunction(done, { ...POLLING, timeout: 120_000 });
	} catch (error) {
		throw new Error(`${suite} came to no end: ${complaints.join("\n")}`, { cause: error });
	}
	const count = (kind) => page.$eval(`#qunit-testresult .${kind}`, ({ innerText }) => Number(innerText));
	const [total, failed] = [await count("total"), await count("failed")];
	const report = failed && await page.$eval("#qunit-tests", ({ innerText }) => innerText);
	assert.ok(total > 0, `${suite} has no assertions`);
	assert.equal(failed, 0, `${report}\n${complaints.join("\n")}`);
}

/** Runs an action with a new page in the foreground, since pages in the background do not render. */
async function withPage(browser, action) {
	const page = await browser.newPage();
	try {
		await page.setViewport({ width: 1280, height: 900 });
		await page.bringToFront();
		await action(page, listen(page));
	} finally {
		await page.close();
	}
}

/** Records the errors of a page from now on. */
function listen(page) {
	const complaints = [];
	page.on("pageerror", (error) => complaints.push(String(error)));
	page.on("response", (response) => {
		const isMissing = response.status() >= 400 && !response.url().endsWith("/favicon.ico");
		if (isMissing) {
			complaints.push(`${response.status()} ${response.url()}`);
		}
	});
	return complaints;
}
