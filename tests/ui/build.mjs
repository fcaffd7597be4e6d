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

/** The digits: the 93 printable characters of ASCII without `"` and `\\`, which need no escapes in scripts and JSON. */
const BASE = 93;
const digit = (value) => String.fromCharCode(32 + value + (value > 1) + (value > 58));

/** The values that two digits hold beyond 13 bits. The least of their 13 bits say whether two digits hold 14 bits. */
const MORE = BASE ** 2 - 8192;

/** Encodes bytes as text in base 93. The text is an eighth shorter than base64. */
function dense(bytes) {
	let [text, bits, count] = ["", 0, 0];
	const put = () => {
		const isWide = (bits & 8191) < MORE;
		const pair = bits & (isWide ? 16383 : 8191);
		text += digit(pair % BASE) + digit(Math.floor(pair / BASE));
		bits >>= isWide ? 14 : 13;
		count -= isWide ? 14 : 13;
	};
	for (const byte of bytes) {
		bits |= byte << count;
		count += 8;
		count > 13 && put();
	}
	while (count > 0) {
		put();
	}
	return text;
}

/** Decodes such a text. The pages contain the same code, minified (see `MIDDLE`). */
function sparse(text) {
	const bytes = [];
	let [first, bits, count] = [-1, 0, 0];
	for (const byte of Buffer.from(text)) {
		const value = byte - 32 - (byte > 34) - (byte > 92);
		if (first < 0) {
			first = value;
			continue;
		}
		const pair = first + value * BASE;
		bits |= pair << count;
		for (count += (pair & 8191) < MORE ? 14 : 13; count > 7; count -= 8) {
			bytes.push(bits & 255);
			bits >>= 8;
		}
		first = -1;
	}
	return Buffer.from(bytes);
}

/** The parts of a script that unpacks the data within it, as a promise of the text. */
const HEAD = '{let o=[],v=-1,b=0,n=0;for(let c of new TextEncoder().encode("';
const MIDDLE = `"))if(c-=32+(c>34)+(c>92),v<0)v=c;else{for(v+=c*93,b|=v<<n,n+=(v&8191)<${MORE}?14:13;n>7;n-=8)o.push(b),b>>=8;v=-1}`;
const RESPONSE = "new Response(new Response(new Uint8Array(o).slice(0,";
const END = ')).body.pipeThrough(new DecompressionStream("deflate-raw"))).text()';

/** A script that unpacks a text and uses its promise, with what stands before and after the promise. */
async function packed(text, before, after) {
	// This package installs handlers for the errors of the process, so it is loaded only when it is needed.
	const { default: zopfli } = await import("@gfx/zopfli");
	const bytes = await zopfli.deflateAsync(Buffer.from(text), { numiterations: 100 });
	return `${HEAD}${dense(bytes)}${MIDDLE}${before}${RESPONSE}${bytes.length}${END}${after}}`;
}

/** A minified script. */
const small = async (script) =>
	(await minify(script, { ecma: 2020, compress: { ecma: 2020, passes: 3, unsafe: true, unsafe_arrows: true, sequences: false }, format: { ascii_only: false } })).code;

/** The text within a packed file. */
export function unpack(file) {
	const [, data, length] = /\.encode\("([^"]*)"[^]*?\.slice\(0,(\d+)/.exec(file);
	return inflateRawSync(sparse(data).subarray(0, Number(length))).toString();
}

/**
 * The style sheet and the script, deflated, with the code that puts them into the page. The text is smaller if the script stands first, except
 * with `packed-view.js`, whose script begins with more of the style sheet.
 */
const program = async (style, script, isStyleFirst = false) =>
	`/* to read this: ${READ} FILE */\n` +
	(await packed(
		isStyleFirst ? `${style}\0${script}` : `${script}\0${style}`,
		"",
		`.then(t=>t.split("\\0")${isStyleFirst ? "" : ".reverse()"}.map((t,i)=>{let e=document.createElement(i?"script":"style");e.textContent=t;document.head.append(e)}))`
	)) +
	"\n";

/** A script that adds the messages of a language, deflated, as a promise. */
const messages = async (language, text) => `${await packed(text, `(globalThis.portcullisMessages??={}).${language}=`, ".then(JSON.parse)")}\n`;

/** A plugin for esbuild: a style sheet that a script imports becomes a minified text. */
const LOOKS = {
	name: "looks",
	setup: ({ onLoad }) =>
		onLoad({ filter: /looks\.css$/ }, async ({ path: file }) => {
			const { code } = await transform(await readFile(file, "utf8"), { loader: "css", minify: true });
			return { contents: code.trim(), loader: "text" };
		})
};

/** A plugin for esbuild: the English messages are these. */
const speaking = (messages) => ({
	name: "messages",
	setup: ({ onLoad }) => onLoad({ filter: /en\.json$/ }, () => ({ contents: JSON.stringify(messages), loader: "json" }))
});

/** A source and all that it imports as one minified text. With `messages`, these are the English ones. */
async function bundle(source, messages) {
	const { outputFiles } = await build({
		entryPoints: [path.join(shipped, "src", source)],
		bundle: true,
		minify: true,
		write: false,
		format: "iife",
		target: "es2023",
		charset: "utf8",
		plugins: [LOOKS, ...(messages ? [speaking(messages)] : [])],
		legalComments: "none",
		logLevel: "error"
	});
	return outputFiles[0].text;
}

/** The script of a source, without the English messages whose keys neither it nor another script has. */
async function concise(source, other = "") {
	const code = (await bundle(source, {})) + other;
	const all = JSON.parse(await readFile(path.join(shipped, "src/messages/en.json"), "utf8"));
	const said = Object.entries(all).filter(([key]) => new RegExp(`(["'\`])${key}\\1`).test(code));
	return small(await bundle(source, Object.fromEntries(said)));
}

/** The contents that each shipped file must have. */
export async function make() {
	const files = Object.entries(PROGRAMS).map(async ([name, source]) => [name, await bundle(source)]);
	const made = Object.fromEntries(await Promise.all(files));
	// The usual runtime, which is enough for most tools and smaller than the whole one.
	const [script, looks] = [await concise("main.js"), await bundle("runtime.css")];
	const folder = path.join(shipped, "src/messages");
	for (const file of (await readdir(folder)).filter((name) => name !== "en.json")) {
		const text = JSON.stringify(JSON.parse(await readFile(path.join(folder, file), "utf8")));
		const language = path.basename(file, ".json");
		made[`messages/${language}.js`] = await messages(language, text);
	}
	return {
		...made,
		"packed.js": await program(looks, script),
		"packed-more.js": await program(made["runtime.css"], await concise("main-more.js")),
		"packed-view.js": await program(made["runtime.css"], (await small(made["view.js"])) + (await small(made["runtime.js"])), true),
		"packed-document.js": await program(looks, (await small(made["document.js"])) + (await concise("main.js", made["document.js"])))
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
