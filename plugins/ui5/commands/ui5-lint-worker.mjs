// Answers requests to lint UI5 projects: a line of JSON in, a line of JSON out.
//
// With "files", the request contains the project's files, and this process needs no access to the project: it writes the
// files beneath its own working directory, which is empty at first. So one process lints all projects, with the linter whose
// program $UI5LINT names.
//
// Without "files", the project is the working directory. The linter is the project's own, or else the one that $UI5LINT names.
// A configuration of the project is code, and is run only here, and only if the first argument is "with-project-config".
//
// The files that the linter would write to fix findings are part of the answer: the plugin writes all of them together.
//
// in:  {"project": "/abs", "files": {"webapp/a.js": "…"}, "others": ["webapp/a.png"], "filePatterns": ["webapp/**"]?, "fix": false?}
//      | {"filePatterns": ["webapp/**"]?, "fix": false?}
// out: {"version": "1.23.6", "results": […], "fixes": [{"path": "webapp/a.js", "sha256": "…", "contents": "…"}]}
//      | {"missing": true} | {"error": "…"}

import { createHash } from "node:crypto";
import { createRequire, syncBuiltinESMExports } from "node:module";
import fs, { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const write = process.stdout.write.bind(process.stdout);
// Only answers are written to stdout. All other output goes to stderr.
process.stdout.write = process.stderr.write.bind(process.stderr);

const cwd = process.cwd();
const noConfig = process.argv[1] !== "with-project-config";
let linter;

function find() {
	const froms = [path.join(cwd, "package.json"), process.env.UI5LINT].filter(Boolean);
	for (const from of froms) {
		try {
			const file = createRequire(from).resolve("@ui5/linter/package.json");
			return { file, description: JSON.parse(readFileSync(file, "utf8")) };
		} catch {
			// A package may not export its package.json: search the folders above the program.
			for (let folder = path.dirname(from); folder !== path.dirname(folder); folder = path.dirname(folder)) {
				try {
					const file = path.join(folder, "package.json");
					const description = JSON.parse(readFileSync(file, "utf8"));
					if (description.name === "@ui5/linter") return { file, description };
				} catch {
					// This folder has no package.json that can be read.
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
	// The engine is reused, since it caches the types of the framework between requests.
	const engine = module.UI5LinterEngine ? new module.UI5LinterEngine() : undefined;
	const lint = engine ? (options) => engine.lint(options) : module.ui5lint;
	return { lint, version: description.version };
}

// The files that the linter has written during this request, by path.
let fixes = new Map();
// The time of the request, if the project is the working directory. 0: the project is a copy, which no other process
// changes.
let asked = 0;

// The linter writes each fixed file with this function. A linter killed in between would leave only some files fixed, so
// nothing is written here.
fs.promises.writeFile = async (file, contents) => {
	const path = String(file);
	if (!fixes.has(path)) {
		// The digest is of the contents that the linter has read. The plugin compares it before it writes the file.
		if (asked && statSync(path).mtimeMs > asked) throw new Error(`${path} was changed while it was linted: nothing was fixed`);
		fixes.set(path, { sha256: digest(readFileSync(path)) });
	}
	fixes.get(path).contents = String(contents);
};
syncBuiltinESMExports();

/** Maximum number of projects whose files are kept. */
const MOST_PROJECTS = 8;

/** The folder of each project, and the digests of the files in it, in the order in which the projects were linted. */
const projects = new Map();
let folders = 0;

const digest = (text) => createHash("sha256").update(text).digest("hex");

/** Writes the new and changed files of a project, and removes the files that are no longer in the project. */
function store(project, files, others) {
	const known = projects.get(project) ?? { folder: path.join(cwd, `project-${(folders += 1)}`), digests: new Map() };
	projects.delete(project);
	projects.set(project, known);
	const { folder, digests } = known;
	const contents = new Map(others.map((name) => [name, ""]));
	Object.entries(files).forEach(([name, text]) => contents.set(name, text));
	for (const name of digests.keys()) {
		if (!contents.has(name)) {
			rmSync(path.join(folder, name), { force: true, recursive: true });
			digests.delete(name);
		}
	}
	for (const [name, text] of contents) {
		const sha256 = digest(text);
		if (digests.get(name) === sha256) continue;
		const file = path.join(folder, name);
		mkdirSync(path.dirname(file), { recursive: true });
		writeFileSync(file, text);
		digests.set(name, sha256);
	}
	for (const [oldest, { folder }] of projects) {
		if (projects.size <= MOST_PROJECTS) break;
		rmSync(folder, { force: true, recursive: true });
		projects.delete(oldest);
	}
	return folder;
}

async function answer(line) {
	const { project, files, others = [], filePatterns, fix = false } = JSON.parse(line);
	// A configuration may load other files of the project.
	if (files && !noConfig) return { missing: true };
	linter ??= await load();
	if (!linter) return { missing: true };
	fixes = new Map();
	const rootDir = files ? store(project, files, others) : cwd;
	asked = files ? 0 : Date.now();
	try {
		const results = await linter.lint({ rootDir, filePatterns, fix, details: true, noConfig });
		const all = [...fixes].map(([file, fix]) => ({ path: files ? path.relative(rootDir, file) : file, ...fix }));
		return { version: linter.version, results, fixes: all };
	} catch (error) {
		const text = error instanceof Error ? error.message : String(error);
		return { error: files ? text.replaceAll(rootDir, project) : text };
	}
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
