// Decides which tools a view may call, and whether the user is asked first.

import { Refusal } from "./view.js";

/** Maximum number of calls of one view at a time, and per minute. */
const AT_ONCE = 8;
const PER_MINUTE = 120;

/** Who may call a tool: the model and views, unless the tool declares its visibility. */
export const visibleTo = (tool) => {
	const named = tool._meta?.ui?.visibility;
	return Array.isArray(named) ? named : ["model", "app"];
};

/** The URI of a tool's view, if the tool has one. Older servers declare it as `ui/resourceUri`. */
export const viewOf = (tool) => {
	const named = tool._meta?.ui?.resourceUri ?? tool._meta?.["ui/resourceUri"];
	return typeof named === "string" ? named : undefined;
};

/**
 * The tool that a view means by a name. A view of an upstream server may use the names that the tools have there. Such
 * a name matches the tool with the same prefix as the view's own tool.
 *
 * @throws `Refusal` if views may not call the tool, or there is no such tool
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

/** Whether to ask the user before a call: not for read-only tools, and not for the view's own tool right after a click in the view. */
export const needsConsent = (tool, own, pressed) =>
	tool.annotations?.readOnlyHint !== true && !(tool.name === own.name && pressed);

/** Counts a view's calls. */
export class Allowance {
	#running = 0;
	#minute = { since: 0, count: 0 };

	/** Runs a call, if the limits allow it. @throws `Refusal` if a limit is reached */
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
