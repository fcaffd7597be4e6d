// Shows the answer of a tool: its data, texts, images, audio and links, and always the JSON itself.

import { equal, h, isObject, pretty } from "./dom.js";
import { plain } from "./order.js";
import { say } from "./say.js";
import { code, jsonIn, textOf } from "./text.js";
import { showBytes } from "./values.js";

/** Maximum length of base64 that is decoded: about 24 MB of data. */
const LARGEST = 32e6;

const note = (text) => h("p", { class: "none" }, text);

function bytes(base64) {
	if (base64.length > LARGEST) {
		throw new Error("too large");
	}
	return Uint8Array.from(atob(base64.replace(/\s/g, "")), (char) => char.charCodeAt(0));
}

/** An image, drawn on a canvas: hosts may forbid `data:` URLs, but not a canvas. */
export function image(data, mimeType, label = say("picture")) {
	const box = h("div", { class: "picture" });
	(async () => {
		const bitmap = await createImageBitmap(new Blob([bytes(data)], { type: mimeType }));
		const scale = Math.min(1, 2048 / Math.max(bitmap.width, bitmap.height));
		const canvas = h("canvas", { role: "img", "aria-label": `${label}, ${bitmap.width} × ${bitmap.height}` });
		canvas.width = Math.max(1, bitmap.width * scale);
		canvas.height = Math.max(1, bitmap.height * scale);
		canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
		// An image of a few pixels is enlarged.
		canvas.width < 32 && (canvas.style.cssText = "width:64px;image-rendering:pixelated");
		bitmap.close();
		box.append(canvas);
	})().catch(() => box.append(note(say("pictureFailed", { name: label, type: mimeType }))));
	return box;
}

/** Audio, played by the Web Audio API: hosts may forbid media from `data:` URLs. */
function audio(data, mimeType) {
	let context;
	let source;
	const button = h("button", { type: "button", onclick: play }, say("play"));
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
				button.textContent = say("play");
			};
			source.start();
			button.textContent = say("stop");
		} catch {
			box.replaceChildren(note(say("soundFailed", { type: mimeType })));
		}
	}
	return box;
}

/** The last segment of a URI if it is the name of a file, or else the whole URI. */
const nameIn = (uri) => /[^/]+\.\w+$/.exec(uri)?.[0] ?? uri;

function resource({ uri = "", mimeType = "", text, blob = "" }, view) {
	const body =
		text !== undefined
			? textOf(text, view, { name: uri, mimeType })
			: mimeType.startsWith("image/")
				? image(blob, mimeType, nameIn(uri))
				: mimeType.startsWith("audio/")
					? audio(blob, mimeType)
					: note([mimeType, showBytes(Math.round(blob.length * 0.75))].filter(Boolean).join(" · "));
	return h("figure", {}, h("figcaption", { title: uri }, nameIn(uri)), body);
}

function link({ uri = "", name, title, description, mimeType, size }, view) {
	const facts = [description, mimeType, typeof size === "number" && showBytes(size)].filter(Boolean).join(" · ");
	return h(
		"div",
		{ class: "card" },
		h("strong", {}, title ?? name),
		facts && h("p", { class: "hint" }, facts),
		/^https?:\/\//i.test(uri) ? view.scalar(uri) : h("code", {}, uri)
	);
}

const BLOCKS = {
	text: ({ text = "" }, view, about) => textOf(text, view, about),
	image: ({ data, mimeType }) => image(data, mimeType),
	audio: ({ data, mimeType }) => audio(data, mimeType),
	resource: (item, view) => resource(item.resource ?? {}, view),
	resource_link: link
};

/** One item of an answer's content. */
const block = (item, view, about) => (Object.hasOwn(BLOCKS, item?.type) ? BLOCKS[item.type](item, view, about) : code(pretty(item), "JSON"));

/** Whether an item is for the user. Some items are only for the assistant. */
const isForUser = (item) => !Array.isArray(item?.annotations?.audience) || item.annotations.audience.includes("user");

/** The data of an answer: its structured content, or else the first JSON in its texts. */
export const dataIn = (result) => result?.structuredContent ?? result?.content?.map?.((one) => jsonIn(one?.text ?? "")).find((one) => one !== undefined);

/** Whether a text only repeats the data, for clients that do not support structured content. */
function repeats(text, data) {
	const parts = isObject(data) ? Object.values(data) : [];
	const told = [data, ...(parts.length === 1 ? parts : [])];
	try {
		return parts.includes(text) || told.includes(text) || told.some((one) => equal(JSON.parse(text), one));
	} catch {
		return false;
	}
}

const wordsIn = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Whether data have most of the words of a text, which then says the same to readers without the data. */
function tells(data, text = "") {
	const said = wordsIn(text);
	const known = new Set(wordsIn(JSON.stringify(data).replace(/\\[nrt]/g, " ")));
	return said.length > 7 && said.filter((one) => known.has(one)).length > said.length * 0.8;
}

/** The element that `make` makes. If it fails, the error and the JSON, so that the page is never empty. */
function safely(make, value) {
	try {
		return make();
	} catch (problem) {
		return h("div", {}, note(say("otherwise", { reason: problem.message })), code(pretty(value), "JSON"));
	}
}

/** The JSON of an answer. It is written when the user opens it. */
export function raw(result) {
	const box = h("details", { class: "raw" }, h("summary", {}, say("raw")));
	box.addEventListener("toggle", () => box.children.length < 2 && box.append(code(pretty(result), "JSON")));
	return box;
}

/**
 * A tool's answer.
 *
 * @param result a CallToolResult, perhaps changed by the host
 * @param view shows data and links; @param input of the call, which may name a file; what repeats the input is bookkeeping
 */
export function resultOf(result, view, schema, input) {
	view.file = Object.entries(input ?? {}).find(([key, value]) => /^(file_?)?(path|name)$|^(file|uri)$/i.test(key) && typeof value === "string")?.[1];
	view.input = Object.fromEntries(Object.entries(input ?? {}).map(([key, value]) => [plain(key), value]));
	const content = Array.isArray(result?.content) ? result.content : [];
	const { structuredContent } = result ?? {};
	// Some servers repeat the content blocks in the structured content.
	const data = isObject(structuredContent) && content.length > 0 && Object.values(structuredContent).some((one) => equal(one, content)) ? undefined : structuredContent;
	const mine = content.filter(isForUser);
	const shown = mine
		.filter((item) => data === undefined || item?.type !== "text" || !repeats(item.text, data))
		.map((item) => [item, safely(() => block(item, view, { schema: data === undefined && !result.isError ? schema : undefined }), item)]);
	const twice = data !== undefined && !result.isError ? shown.filter(([item]) => tells(data, item?.text)) : [];
	const isSeen = ([{ type, resource: inner }]) => type === "image" || /^image\//.test(inner?.mimeType);
	const pictures = shown.filter(isSeen).map(([, element]) => element);
	const facts = [
		data !== undefined && safely(() => view.show(data, "", schema), data),
		...shown.filter((one) => !isSeen(one) && !twice.includes(one)).map(([, element]) => element)
	].filter(Boolean);
	// An image comes first, and the data about it beside it.
	const all = pictures.length && facts.length ? [h("div", { class: "beside" }, h("div", { class: "data" }, pictures), h("div", { class: "data" }, facts))] : [...pictures, ...facts];
	const empty = !isObject(result)
		? say("noAnswer")
		: content.length > mine.length
			? say("forAssistant")
			: say("noContent");
	const body = result?.isError
		? h("div", { class: "alert", role: "alert" }, h("strong", {}, say("toolError")), all)
		: h("div", { class: "data" }, all.length ? all : note(empty));
	const asText = twice.length > 0 && h("details", {}, h("summary", {}, say("asText")), h("div", { class: "data" }, twice.map(([, element]) => element)));
	return h("div", { class: "data" }, body, asText, raw(result));
}
