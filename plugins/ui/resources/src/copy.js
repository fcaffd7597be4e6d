// Copies text to the clipboard, also if the host does not give the page the Clipboard API.

import { h } from "./dom.js";
import { say } from "./say.js";

export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const back = document.activeElement;
		const area = h("textarea", { "class": "unseen", "aria-hidden": "true" });
		area.value = text;
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		back?.focus();
		if (!done) {
			throw new Error(say("copyFailed"));
		}
	}
}
