// A file of the user as an argument, in base64.

import { clean, h } from "./dom.js";
import { say } from "./say.js";
import { showBytes } from "./values.js";

/** Maximum size of a file, in bytes. In base64 it fits into the 4 MiB of arguments that Portcullis accepts. */
const LARGEST = 3_000_000;

/**
 * A button that lets the user choose a file instead of entering base64.
 *
 * @param input the text field that the file replaces
 * @returns its `element`, and `content()`, the base64 of the file, if the user chose one
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
			show(say("fileTooLarge", { name: file.name, limit: showBytes(limit) }));
			return;
		}
		const reader = new FileReader();
		reader.onload = () => show(`${file.name}, ${showBytes(file.size)}`, reader.result.split(",")[1] ?? "");
		reader.onerror = () => show(say("fileUnread", { name: file.name }));
		reader.readAsDataURL(file);
	}

	return { element: h("div", { class: "pair" }, choose, said, drop, picker), content: () => content };
}
