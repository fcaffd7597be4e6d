// Makes a page by the rules of plugins/ui/resources/README.md, like the plugin.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { shipped } from "./build.mjs";

const read = (name) => readFile(path.join(shipped, name), "utf8");

/**
 * @param tool as MCP lists it; @param more `view`, a specification, or `document`, the markup and the program of a model's HTML;
 *   `callable`, `false` if views may not call the tool
 * @param languages the languages whose messages are in the page
 * @param plain whether the runtime is in the page unpacked
 * @param usual whether the page has the usual runtime, which is enough for most tools
 * @returns the page
 */
export async function makePage(tool, more = {}, plain = false, languages = [], usual = false) {
	const face = more.view ? "view" : more.document ? "document" : "";
	const escaped = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
	const element = (name, text) => text && `<${name}>${text}</${name}>\n`;
	const words = tool.name.replace(/[_-]/g, " ");
	const scripts = [
		(await Promise.all(languages.map((language) => read(`messages/${language}.js`)))).join(""),
		plain && face ? await read(`${face}.js`) : "",
		await read(plain ? "runtime.js" : face ? `packed-${face}.js` : usual ? "packed.js" : "packed-more.js")
	];
	const places = {
		lang: "en",
		title: escaped(tool.title ?? tool.name),
		heading: escaped(tool.title ?? words.charAt(0).toUpperCase() + words.slice(1)),
		style: element("style", plain ? await read("runtime.css") : ""),
		data: JSON.stringify({ tool, ...more }).replaceAll("<", "\\u003c"),
		scripts: scripts.map((script) => element("script", script)).join("")
	};
	return (await read("page.html")).replace(/\{\{(\w+)\}\}/g, (_, name) => places[name]);
}
