// Makes what is shipped in plugins/ui/resources from plugins/ui/resources/src: bundled, minified, and the runtime packed.
//
//   npm run build        writes it; a test holds that it is what the sources make

import { build } from "esbuild";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync, inflateRawSync } from "node:zlib";

export const shipped = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../plugins/ui/resources");

const PROGRAMS = {
	"runtime.js": "main.js",
	"runtime.css": "runtime.css",
	"view.js": "view.js",
	"document.js": "document.js"
};

const HEAD =
	"/* runtime.css and runtime.js, deflated; how to read them: plugins/ui/resources/README.md */\n" +
	'(async()=>{const[s,j]=(await new Response(new Blob([Uint8Array.from(atob("';
const TAIL =
	'"),c=>c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text()).split("\\0");' +
	'for(const[n,t]of[["style",s],["script",j]]){const e=document.createElement(n);e.textContent=t;document.head.append(e)}})()\n';

const pack = (style, script) => HEAD + deflateRawSync(`${style}\0${script}`, { level: 9 }).toString("base64") + TAIL;

/** The looks and the script within a packed runtime. */
export const unpack = (text) =>
	inflateRawSync(Buffer.from(text.slice(HEAD.length, -TAIL.length), "base64"))
		.toString()
		.split("\0");

/** What each file that is shipped must hold. */
export async function make() {
	const files = Object.entries(PROGRAMS).map(async ([name, source]) => {
		const { outputFiles } = await build({
			entryPoints: [path.join(shipped, "src", source)],
			bundle: true,
			minify: true,
			write: false,
			format: "iife",
			target: "es2023",
			charset: "utf8",
			legalComments: "none",
			logLevel: "error"
		});
		return [name, outputFiles[0].text];
	});
	const made = Object.fromEntries(await Promise.all(files));
	return {
		...made,
		"packed.js": pack(made["runtime.css"], made["runtime.js"]),
		"packed-document.js": pack(made["runtime.css"], made["document.js"] + made["runtime.js"])
	};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	for (const [name, text] of Object.entries(await make())) {
		await writeFile(path.join(shipped, name), text);
		console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
	}
}
