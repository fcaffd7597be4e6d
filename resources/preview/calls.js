// Which tools a view may call, and whether the person is asked before.

import { Refusal } from "./view.js";

/** Calls of one view at a time, and within a minute. */
const AT_ONCE = 8;
const PER_MINUTE = 120;

/** Who may call a tool; everybody, unless it says so. */
export const visibleTo = (tool) => {
	const named = tool._meta?.ui?.visibility;
	return Array.isArray(named) ? named : ["model", "app"];
};

/** Where a tool's view is, if it has one; older servers say it at the second place. */
export const viewOf = (tool) => {
	const named = tool._meta?.ui?.resourceUri ?? tool._meta?.["ui/resourceUri"];
	return typeof named === "string" ? named : undefined;
};

/**
 * The tool that a view means. A view of a server behind this one may know its tools by the names they have there: to
 * those, what stands before the name of the view's own tool is put.
 *
 * @throws `Refusal` where views may not call it, or there is none
 */
export function called(tools, own, name) {
	const prefixed = (tool) => tool.name.endsWith(name) && own.name.startsWith(tool.name.slice(0, -name.length));
	const exact = tools.filter((tool) => tool.name === name);
	const meant = exact.length > 0 || !name ? exact : tools.filter(prefixed);
	if (meant.length !== 1) {
		throw new Refusal(`there is no tool \`${name}\``);
	}
	if (!visibleTo(meant[0]).includes("app")) {
		throw new Refusal(
			`views may not call \`${meant[0].name}\`: its visibility is ${visibleTo(meant[0]).join(", ")}`
		);
	}
	return meant[0];
}

/** Whether it is the view's own doing: a person who has just pressed something in the view meant its tool. */
export const needsConsent = (tool, own, pressed) =>
	tool.annotations?.readOnlyHint !== true && !(tool.name === own.name && pressed);

/** Counts a view's calls. */
export class Allowance {
	#running = 0;
	#minute = { since: 0, count: 0 };

	/** Runs a call within what the view may. @throws `Refusal` where it has had its share */
	async spend(run) {
		const now = performance.now();
		if (now - this.#minute.since > 60_000) {
			this.#minute = { since: now, count: 0 };
		}
		this.#minute.count += 1;
		if (this.#running >= AT_ONCE || this.#minute.count > PER_MINUTE) {
			throw new Refusal(`a view may make ${AT_ONCE} calls at once and ${PER_MINUTE} a minute`);
		}
		this.#running += 1;
		try {
			return await run();
		} finally {
			this.#running -= 1;
		}
	}
}
