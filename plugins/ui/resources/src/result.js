// Shows what a tool answered: its data, its texts, pictures, sounds and links, and always the JSON itself.

import { equal, h, isObject, longText, pretty, showNumber } from "./dom.js";

/** Base64 longer than this is not decoded: some 24 MB. */
const LARGEST = 32e6;

const note = (text) => h("p", { class: "none" }, text);

function bytes(base64) {
	if (base64.length > LARGEST) {
		throw new Error("too large");
	}
	return Uint8Array.from(atob(base64.replace(/\s/g, "")), (char) => char.charCodeAt(0));
}

/** JSON in a text; whole numbers that would be rounded stay as they are written. */
export function jsonIn(text) {
	try {
		return /^\s*[[{]/.test(text)
			? JSON.parse(text, (_, value, context) =>
					typeof value === "number" &&
					Number.isInteger(value) &&
					!Number.isSafeInteger(value) &&
					/^-?\d+$/.test(context?.source)
						? context.source
						: value
				)
			: undefined;
	} catch {
		return undefined;
	}
}

/** A picture, drawn: hosts forbid addresses of data, but none forbids a canvas. */
export function image(data, mimeType, label = "Picture") {
	const box = h("div", { class: "picture" });
	(async () => {
		const bitmap = await createImageBitmap(new Blob([bytes(data)], { type: mimeType }));
		const scale = Math.min(1, 2048 / Math.max(bitmap.width, bitmap.height));
		const canvas = h("canvas", { role: "img", "aria-label": `${label}, ${bitmap.width} × ${bitmap.height}` });
		canvas.width = Math.max(1, bitmap.width * scale);
		canvas.height = Math.max(1, bitmap.height * scale);
		canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
		bitmap.close();
		box.append(canvas);
	})().catch(() => box.append(note(`${label}: ${mimeType} cannot be shown here.`)));
	return box;
}

/** A sound, played by the page itself: hosts forbid media of data. */
function audio(data, mimeType) {
	let context;
	let source;
	const button = h("button", { type: "button", onclick: play }, "Play");
	const box = h("div", { class: "sound" }, button, h("span", { class: "hint" }, mimeType));
	async function play() {
		if (source) {
			source.stop();
			return;
		}
		try {
			context ??= new AudioContext();
			const decoded = await context.decodeAudioData(bytes(data).buffer);
			source = context.createBufferSource();
			source.buffer = decoded;
			source.connect(context.destination);
			source.onended = () => {
				source = undefined;
				button.textContent = "Play";
			};
			source.start();
			button.textContent = "Stop";
		} catch {
			box.replaceChildren(note(`${mimeType} cannot be played here.`));
		}
	}
	return box;
}

function resource({ uri, mimeType = "", text, blob = "" }) {
	const body =
		text !== undefined
			? longText(text)
			: mimeType.startsWith("image/")
				? image(blob, mimeType, uri)
				: note(`${mimeType || "Data"}, about ${showNumber(Math.round(blob.length * 0.75))} bytes`);
	return h("figure", {}, h("figcaption", {}, uri), body);
}

/** One item of an answer's content. */
function block(item, view, schema) {
	switch (item?.type) {
		case "text": {
			const data = jsonIn(item.text);
			return data === undefined
				? longText(item.text, item.text.includes("\n") ? "pre" : "p")
				: view.show(data, "", schema);
		}
		case "image":
			return image(item.data, item.mimeType);
		case "audio":
			return audio(item.data, item.mimeType);
		case "resource":
			return resource(item.resource);
		case "resource_link":
			return h(
				"div",
				{ class: "card" },
				h("strong", {}, item.title ?? item.name),
				item.description && h("p", { class: "hint" }, item.description),
				/^https?:\/\//i.test(item.uri) ? view.link(item.uri) : h("code", {}, item.uri)
			);
		default:
			return longText(pretty(item));
	}
}

/** Whether a text only says again, for clients that know no data, what the data says. */
function repeats(text, data) {
	const told = [data, ...(isObject(data) && Object.keys(data).length === 1 ? Object.values(data) : [])];
	try {
		return told.includes(text) || told.some((one) => equal(JSON.parse(text), one));
	} catch {
		return false;
	}
}

/** Shown, or its JSON with what went wrong: no answer may leave the page empty. */
function safely(make, value) {
	try {
		return make();
	} catch (problem) {
		return h("div", {}, note(`Cannot be shown otherwise: ${problem.message}`), longText(pretty(value)));
	}
}

/** The JSON of an answer, written when it is opened. */
export function raw(result) {
	const box = h("details", { class: "raw" }, h("summary", {}, "Raw JSON"));
	box.addEventListener("toggle", () => box.children.length < 2 && box.append(longText(pretty(result))));
	return box;
}

/**
 * A tool's answer.
 *
 * @param result a CallToolResult, or what a host made of one
 * @param view what shows data, and links
 */
export function resultOf(result, view, schema) {
	const content = Array.isArray(result?.content) ? result.content : [];
	const data = result?.structuredContent;
	const parts = content
		.filter((item) => data === undefined || item?.type !== "text" || !repeats(item.text, data))
		.map((item) =>
			safely(() => block(item, view, data === undefined && !result.isError ? schema : undefined), item)
		);
	const shown = [data !== undefined && safely(() => view.show(data, "", schema), data), parts].flat().filter(Boolean);
	const body = result?.isError
		? h("div", { class: "alert", role: "alert" }, h("strong", {}, "The tool reports an error"), shown)
		: h(
				"div",
				{ class: "data" },
				shown.length
					? shown
					: note(isObject(result) ? "Done. The tool answered without content." : "The tool answered nothing.")
			);
	return h("div", { class: "data" }, body, raw(result));
}
