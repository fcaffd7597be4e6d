// Makes an api.json from the sources of each OpenUI5 library, with the UI5 builder's JSDoc plugin and
// template: node jsdoc.mjs SOURCES TARGET LIBRARY...
//
// SOURCES has a folder for each library: its npm package. The libraries are given in the order of their
// dependencies. The builder's own task stops at the first error about a visibility; JSDoc itself
// writes the file despite such errors.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [sources, target, ...libraries] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const modules = process.env.NODE_MODULES ?? path.join(here, "node_modules");
const extension = path.join(modules, "@ui5/builder/lib/processors/jsdoc/lib/ui5");

/** Libraries with third-party ES modules, which the plugin does not parse. */
const WITHOUT_THIRD_PARTY = ["sap.ui.integration"];

function makeFolder(folder) {
	fs.mkdirSync(folder, { recursive: true });
	return folder;
}

/** Writes the version in the sources, as the builder does before it runs JSDoc. */
function nameVersion(folder, version) {
	for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
		const file = path.join(entry.parentPath ?? entry.path, entry.name);
		if (entry.isFile() && /\.(js|library)$/.test(file)) {
			const text = fs.readFileSync(file, "utf8");
			if (text.includes("${version}")) {
				fs.writeFileSync(file, text.replaceAll("${version}", version));
			}
		}
	}
}

for (const library of libraries) {
	const place = path.join(sources, library);
	const { version } = JSON.parse(fs.readFileSync(path.join(place, "package.json")));
	nameVersion(path.join(place, "src"), version);
	const work = makeFolder(path.join(place, "jsdoc"));
	const config = {
		plugins: [path.join(extension, "plugin.js")],
		source: WITHOUT_THIRD_PARTY.includes(library) ? { excludePattern: "/thirdparty/" } : {},
		opts: {
			recurse: true,
			lenient: true,
			template: path.join(extension, "template"),
			ui5: { saveSymbols: true },
			destination: work,
		},
		templates: {
			ui5: {
				variants: ["apijson"],
				version,
				uilib: library,
				apiJsonFolder: makeFolder(path.join(sources, "dependencies")),
				apiJsonFile: path.join(work, "api.json"),
			},
		},
	};
	fs.writeFileSync(path.join(work, "jsdoc.json"), JSON.stringify(config));
	const args = [path.join(modules, "jsdoc/jsdoc.js"), "-c", path.join(work, "jsdoc.json"), path.join(place, "src")];
	try {
		execFileSync(process.execPath, args, { stdio: "ignore", maxBuffer: 1 << 30 });
	} catch {
		// JSDoc exits with an error if it has messages about the sources. The file is complete nevertheless.
	}
	const made = fs.readFileSync(path.join(work, "api.json"), "utf8");
	JSON.parse(made);
	fs.writeFileSync(path.join(target, `${library}.api.json`), made);
	fs.writeFileSync(path.join(sources, "dependencies", `api-${libraries.indexOf(library)}.json`), made);
	console.error(`${library} ${version}: ${made.length} characters`);
}
