// Puts text where the user can paste it, also where the host gives the page no clipboard.

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
