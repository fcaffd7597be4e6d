// Loads the modules of the runtime for tests without a browser. Plain objects replace the elements that they make.

import { build } from "esbuild";
import path from "node:path";
import { shipped } from "./build.mjs";

/** The part of the DOM's `Element` that the display of answers uses before it is put into a page. */
class Element {
	constructor(tag) {
		Object.assign(this, { tag, tagName: tag.toUpperCase(), children: [], attributes: {}, style: {}, dataset: {}, classList: { remove() {}, toggle() {} } });
	}

	append(...all) {
		this.children.push(...all);
		all.filter((one) => one instanceof Element).forEach((one) => (one.parent = this));
	}

	before(...all) {
		this.parent.children.splice(this.parent.children.indexOf(this), 0, ...all);
		all.filter((one) => one instanceof Element).forEach((one) => (one.parent = this.parent));
	}

	insertBefore(element, next) {
		this.append(element);
		next && (this.children = [...this.children.slice(0, -1).flatMap((one) => (one === next ? [element, one] : [one]))]);
	}

	replaceChildren(...all) {
		this.children = [];
		this.append(...all);
	}

	setAttribute(name, value) {
		this.attributes[name] = String(value);
	}

	removeAttribute(name) {
		delete this.attributes[name];
	}

	addEventListener() {}

	contains(other) {
		return other === this;
	}

	focus() {}

	get firstChild() {
		return this.children[0];
	}

	set textContent(text) {
		this.children = [text];
	}

	get textContent() {
		return this.children.map((one) => (one instanceof Element ? one.textContent : String(one))).join("");
	}

	/** All elements with a tag, in order, including this one. */
	all(tag) {
		return [this.tag === tag ? [this] : [], ...this.children.filter((one) => one instanceof Element).map((one) => one.all(tag))].flat();
	}

	querySelector(tag) {
		return this.all(tag)[0];
	}

	querySelectorAll(tag) {
		return this.all(tag);
	}
}

globalThis.Node = Element;
globalThis.document = {
	createElement: (tag) => new Element(tag),
	createElementNS: (_, tag) => new Element(tag),
	activeElement: null
};
globalThis.innerWidth = 800;
globalThis.ResizeObserver = class {
	observe() {}
};

/** The exports of the named modules of the runtime. The modules share their state. */
export async function modules(...names) {
	const { outputFiles } = await build({
		stdin: {
			contents: names.map((name) => `export * from ${JSON.stringify(`./${name}.js`)};`).join("\n"),
			resolveDir: path.join(shipped, "src")
		},
		bundle: true,
		write: false,
		format: "esm",
		logLevel: "error"
	});
	return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
