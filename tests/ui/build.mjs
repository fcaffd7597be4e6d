// Builds the shipped files in plugins/ui/resources from plugins/ui/resources/src: bundles, minifies, and packs the runtime.
//
//   npm run build              writes the files; a test checks that they are up to date
//   node build.mjs --read FILE writes the unpacked contents of FILE to stdout

import { build, transform } from "esbuild";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { inflateRawSync } from "node:zlib";
import { minify } from "terser";

export const shipped = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../plugins/ui/resources");

/** The files that are shipped unpacked: the whole runtime, and the parts beside it. */
const PROGRAMS = {
	"runtime.js": "main-more.js",
	"runtime.css": "more.css",
	"view.js": "view.js",
	"document.js": "document.js"
};

const READ = "node tests/ui/build.mjs --read";

/** The digits: 91 characters from `#` on, which need no escapes in scripts, JSON and HTML. Two digits hold 13 bits. */
const BASE = 91;
const FIRST = 35;

/** Encodes bytes as text in base 91. `<` and `\` are written as `!` and `~`. The text is a twelfth shorter than base64. */
function dense(bytes) {
	let [text, bits, count] = ["", 0, 0];
	const put = (pair) =>
		(text += String.fromCharCode(FIRST + (pair % BASE), FIRST + Math.floor(pair / BASE))
			.replaceAll("<", "!")
			.replaceAll("\\", "~"));
	for (const byte of bytes) {
		bits |= byte << count;
		count += 8;
		if (count >= 13) {
			put(bits & 8191);
			bits >>= 13;
			count -= 13;
		}
	}
	count && put(bits);
	return text;
}

/** Decodes such a text. The pages contain the same code, minified (see `MIDDLE`). */
function sparse(text) {
	const all = text.replaceAll("!", "<").replaceAll("~", "\\");
	const bytes = [];
	for (let [at, bits, count] = [0, 0, 0]; at < all.length; at += 2) {
		bits |= (all.charCodeAt(at) - FIRST + (all.charCodeAt(at + 1) - FIRST) * BASE) << count;
		for (count += 13; count > 7; count -= 8) {
			bytes.push(bits & 255);
			bits >>= 8;
		}
	}
	return Buffer.from(bytes);
}

/** The parts of a script that unpacks the data within it. */
const HEAD =
	'(async()=>{const o=[],d="';
const MIDDLE =
	'".replace(/!/g,"<").replace(/~/g,"\\\\");for(let i=0,b=0,n=0;i<d.length;i+=2){b|=(d.charCodeAt(i)-35+(d.charCodeAt(i+1)-35)*91)<<n;for(n+=13;n>7;n-=8)o.push(b&255),b>>=8}' +
	'return new Response(new Response(Uint8Array.from(o).slice(0,';
const END = ')).body.pipeThrough(new DecompressionStream("deflate-raw"))).text()})()';

async function packed(text) {
	// This package installs handlers for the errors of the process, so it is loaded only when it is needed.
	const { default: zopfli } = await import("@gfx/zopfli");
	const bytes = await zopfli.deflateAsync(Buffer.from(text), { numiterations: 50 });
	return HEAD + dense(bytes) + MIDDLE + bytes.length + END;
}

/** A minified script. */
const small = async (script) =>
	(await minify(script, { ecma: 2020, compress: { ecma: 2020, passes: 3, unsafe_arrows: true }, format: { ascii_only: false } })).code;

/** The text within a packed file. */
export function unpack(file) {
	const [, data, length] = /const o=\[\],d="([^"]*)"[^]*?\.slice\(0,(\d+)/.exec(file);
	return inflateRawSync(sparse(data).subarray(0, Number(length))).toString();
}

/** The style sheet and the script, deflated, with the code that puts them into the page. */
const program = async (style, script) =>
	`/* to read this: ${READ} FILE */\n` +
	`${await packed(`${style}\0${script}`)}.then(t=>{t.split("\\0").map((t,i)=>{const e=document.createElement(i?"script":"style");e.textContent=t;document.head.append(e)})})\n`;

/** A script that adds the messages of a language, deflated, as a promise. */
const messages = async (language, text) =>
	`(globalThis.portcullisMessages??={}).${language}=${await packed(text)}.then(JSON.parse)\n`;

/** A plugin for esbuild: a style sheet that a script imports becomes a minified text. */
const LOOKS = {
	name: "looks",
	setup: ({ onLoad }) =>
		onLoad({ filter: /view.looks\.css$/ }, async ({ path: file }) => {
			const { code } = await transform(await readFile(file, "utf8"), { loader: "css", minify: true });
			return { contents: code.trim(), loader: "text" };
		})
};

/** The contents that each shipped file must have. */
export async function make() {
	const bundle = async (source) => {
		const { outputFiles } = await build({
			entryPoints: [path.join(shipped, "src", source)],
			bundle: true,
			minify: true,
			write: false,
			format: "iife",
			target: "es2023",
			charset: "utf8",
			plugins: [LOOKS],
			legalComments: "none",
			logLevel: "error"
		});
		return outputFiles[0].text;
	};
	const files = Object.entries(PROGRAMS).map(async ([name, source]) => [name, await bundle(source)]);
	const made = Object.fromEntries(await Promise.all(files));
	// The usual runtime, which is enough for most tools and smaller than the whole one.
	const [script, looks] = [await small(await bundle("main.js")), await bundle("runtime.css")];
	const folder = path.join(shipped, "src/messages");
	for (const file of (await readdir(folder)).filter((name) => name !== "en.json")) {
		const text = JSON.stringify(JSON.parse(await readFile(path.join(folder, file), "utf8")));
		const language = path.basename(file, ".json");
		made[`messages/${language}.js`] = await messages(language, text);
	}
	return {
		...made,
		"packed.js": await program(looks, script),
		"packed-more.js": await program(made["runtime.css"], await small(made["runtime.js"])),
		"packed-view.js": await program(made["runtime.css"], (await small(made["view.js"])) + (await small(made["runtime.js"]))),
		"packed-document.js": await program(looks, (await small(made["document.js"])) + script)
	};
}

if (process.argv[2] === "--read") {
	process.stdout.write(unpack(await readFile(process.argv[3], "utf8")));
} else if (process.argv[1] === fileURLToPath(import.meta.url)) {
	await mkdir(path.join(shipped, "messages"), { recursive: true });
	for (const [name, text] of Object.entries(await make())) {
		await writeFile(path.join(shipped, name), text);
		console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
	}
}
