// Answers requests to lint the UI5 project in the working directory: a line of JSON in, a line of JSON out.
//
// The linter is the project's own, or else the one whose program $UI5LINT names. A configuration of the
// project is code, and is not run unless the first argument says "with-project-config".
//
// What the linter would write to fix findings is part of the answer: whoever asked writes all files together.
//
// in:  {"filePatterns": ["webapp/**"]?, "fix": false?}
// out: {"version": "1.23.6", "results": […], "fixes": [{"path": "/abs/a.js", "sha256": "…", "contents": "…"}]}
//      | {"missing": true} | {"error": "…"}

import { createHash } from "node:crypto";
import { createRequire, syncBuiltinESMExports } from "node:module";
import fs, { readFileSync, statSync } from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const write = process.stdout.write.bind(process.stdout);
// Whatever else prints must not be taken for an answer.
process.stdout.write = process.stderr.write.bind(process.stderr);

const root = process.cwd();
const noConfig = process.argv[1] !== "with-project-config";
let linter;

function find() {
	const froms = [path.join(root, "package.json"), process.env.UI5LINT].filter(Boolean);
	for (const from of froms) {
		try {
			const file = createRequire(from).resolve("@ui5/linter/package.json");
			return { file, description: JSON.parse(readFileSync(file, "utf8")) };
		} catch {
			// The next one, then. A package may keep its description to itself: look above the program.
			for (let folder = path.dirname(from); folder !== path.dirname(folder); folder = path.dirname(folder)) {
				try {
					const file = path.join(folder, "package.json");
					const description = JSON.parse(readFileSync(file, "utf8"));
					if (description.name === "@ui5/linter") return { file, description };
				} catch {
					// Nothing here.
				}
			}
		}
	}
	return undefined;
}

async function load() {
	const found = find();
	if (!found) return undefined;
	const { file, description } = found;
	const target = description.exports?.["."] ?? description.main ?? "./index.js";
	const entry = typeof target === "string" ? target : target.import ?? target.default;
	const module = await import(pathToFileURL(path.join(path.dirname(file), entry)).href);
	// One engine keeps what it knows of the framework's types from one request to the next.
	const engine = module.UI5LinterEngine ? new module.UI5LinterEngine() : undefined;
	const lint = engine ? (options) => engine.lint(options) : module.ui5lint;
	return { lint, version: description.version };
}

// What the linter has written since it was asked last, by path.
let fixes = new Map();
let asked = 0;

// The linter writes each file with this function, all at once: killed in between, it would leave half of them.
fs.promises.writeFile = async (file, contents) => {
	const path = String(file);
	if (!fixes.has(path)) {
		// From here on the contents are known, and whoever writes them compares.
		if (statSync(path).mtimeMs > asked) throw new Error(`${path} was changed while it was linted: nothing was fixed`);
		fixes.set(path, { sha256: createHash("sha256").update(readFileSync(path)).digest("hex") });
	}
	fixes.get(path).contents = String(contents);
};
syncBuiltinESMExports();

async function answer(line) {
	const { filePatterns, fix = false } = JSON.parse(line);
	linter ??= await load();
	if (!linter) return { missing: true };
	fixes = new Map();
	asked = Date.now();
	const results = await linter.lint({ rootDir: root, filePatterns, fix, details: true, noConfig });
	return { version: linter.version, results, fixes: [...fixes].map(([path, fix]) => ({ path, ...fix })) };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
	let reply;
	try {
		reply = await answer(line);
	} catch (error) {
		reply = { error: error instanceof Error ? error.message : String(error) };
	}
	write(`${JSON.stringify(reply)}\n`);
}
