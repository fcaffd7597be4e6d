// A file of the user's as an argument: its bytes, as base64.

import { clean, h, showNumber } from "./dom.js";
import { say } from "./say.js";

/** Most bytes of a file: as base64 it is within the 4 MiB of arguments that Portcullis takes. */
const LARGEST = 3_000_000;

const kilobytes = (bytes) => `${showNumber(Math.ceil(bytes / 1000))} kB`;

/**
 * A button that takes a file for a text of base64.
 *
 * @param input the field of the text, which the file stands for
 * @returns its `element`, and `content()`, the file's base64, if one was taken
 */
export function upload(schema, input, name) {
	const limit = Math.min(LARGEST, Math.floor(((schema.maxLength ?? Infinity) / 4) * 3));
	let content;
	const said = h("span", { class: "hint", role: "status" });
	const picker = h("input", { type: "file", accept: schema.contentMediaType, hidden: true, onchange: take });
	const choose = h(
		"button",
		{ type: "button", "aria-label": `${name}: ${say("chooseFile")}`, onclick: () => picker.click() },
		say("chooseFile")
	);
	const drop = h("button", { type: "button", class: "link", hidden: true, onclick: clear }, say("remove"));

	function show(text, next) {
		content = next;
		said.textContent = clean(text);
		drop.hidden = !content;
		input.hidden = Boolean(content);
		picker.value = "";
		input.dispatchEvent(new Event("change", { bubbles: true }));
	}

	function clear() {
		show("");
		choose.focus();
	}

	function take() {
		const [file] = picker.files;
		if (!file) {
			return;
		}
		if (file.size > limit) {
			show(say("fileTooLarge", { name: file.name, limit: kilobytes(limit) }));
			return;
		}
		const reader = new FileReader();
		reader.onload = () => show(`${file.name}, ${kilobytes(file.size)}`, reader.result.split(",")[1] ?? "");
		reader.onerror = () => show(say("fileUnread", { name: file.name }));
		reader.readAsDataURL(file);
	}

	return { element: h("div", { class: "pair" }, choose, said, drop, picker), content: () => content };
}
