// The form of a tool: made of its schema, checked before it is sent, with all that is wrong in one place.

import { canon, h, isObject } from "./dom.js";
import { Nodes } from "./nodes.js";

/**
 * The form of a tool.
 *
 * @returns its `element`; `fill(value, ask)`; `read()`, what it yields; `submit()`, the same, or `undefined` once it has
 *          shown what is wrong; `part(name)`, the element of one argument
 */
export function makeForm(schema) {
	const root = asObject(schema);
	const nodes = new Nodes(root);
	const summary = h("div", { class: "summary", tabindex: -1, hidden: true });
	const element = h("div", { class: "form" });
	let node;
	let wrong = [];
	let judging = false;

	function fill(value, ask) {
		nodes.renew();
		node = nodes.inside(root, value, { required: true, depth: 0, ...ask });
		element.replaceChildren(summary, ...node.parts);
		judging = false;
		show([]);
	}

	const nodeAt = (path) => {
		let found = node;
		for (const key of path) {
			const next = found.child?.(key);
			if (!next) {
				break;
			}
			found = next;
		}
		return found;
	};

	function show(problems) {
		wrong.forEach((one) => one.say?.());
		const byNode = new Map();
		problems.forEach(({ path, message }) => {
			const at = nodeAt(path);
			byNode.has(at) || byNode.set(at, { path, message });
		});
		const inOrder = [...byNode].sort(([a], [b]) =>
			a.element && b.element ? (b.element.compareDocumentPosition(a.element) & 4 ? -1 : 1) : 0
		);
		wrong = [...byNode.keys()];
		byNode.forEach(({ message }, at) => at.say?.(message));
		summary.hidden = byNode.size === 0;
		summary.replaceChildren(
			h("p", {}, byNode.size === 1 ? "One thing needs attention:" : `${byNode.size} things need attention:`),
			h(
				"ul",
				{},
				inOrder
					.slice(0, 20)
					.map(([at, { path, message }]) =>
						h(
							"li",
							{},
							h(
								"button",
								{ type: "button", class: "link", onclick: () => at.focus?.() },
								path.join(" › ") || "Input"
							),
							` ${message}`
						)
					)
			)
		);
	}

	function judge() {
		const problems = [];
		const value = node.get(problems, []);
		const bad = problems.map(({ path }) => canon(path));
		const more = nodes.check(root, value).filter(({ path }) => !bad.includes(canon(path)));
		const all = [...problems, ...more];
		show(all);
		return all.length ? undefined : { value };
	}

	const again = () => judging && judge();
	element.addEventListener("input", again);
	element.addEventListener("change", again);
	return {
		element,
		fill,
		read: () => node.get([], []),
		submit() {
			judging = true;
			const done = judge();
			done || summary.focus();
			return done;
		},
		part: (name) => node.named?.get(name)?.element
	};
}

/** The root of an input schema is an object even where it does not say so. */
const asObject = (schema) => (isObject(schema) ? { type: "object", ...schema } : { type: "object" });
