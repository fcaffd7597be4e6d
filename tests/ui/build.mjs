// Makes what is shipped in resources/ui from resources/ui/src: each program bundled and minified, nothing else.
//
//   npm run build        writes it; a test holds that it is what the sources make

import { build } from "esbuild";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const shipped = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../resources/ui");

const PROGRAMS = { "runtime.js": "main.js", "runtime.css": "runtime.css", "view.js": "view.js", "shell.js": "shell.js" };

/** What each file that is shipped must hold. */
export async function make() {
	const files = Object.entries(PROGRAMS).map(async ([name, source]) => {
		const { outputFiles } = await build({
			entryPoints: [path.join(shipped, "src", source)],
			bundle: true, minify: true, write: false, format: "iife", target: "es2023", charset: "utf8", legalComments: "none", logLevel: "error"
		});
		return [name, outputFiles[0].text];
	});
	return Object.fromEntries(await Promise.all(files));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	for (const [name, text] of Object.entries(await make())) {
		await writeFile(path.join(shipped, name), text);
		console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
	}
}
