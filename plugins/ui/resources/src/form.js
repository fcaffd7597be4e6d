// The form of a tool. It is made from the tool's schema and checked before it is sent. Faults are shown beside the labels.

import { canon, h, isObject } from "./dom.js";
import { Nodes } from "./nodes.js";
import { say } from "./say.js";
import { labelOf } from "./words.js";

/**
 * The form of a tool.
 *
 * @returns its `element`; `fill(value, ask)`; `read()`, which gives the arguments; `submit()`, which gives the arguments, or
 *          shows the faults and gives `undefined`; `part(name)`, the element of one argument; `isEmpty()`, whether there is
 *          nothing to fill in
 */
export function makeForm(schema) {
	const root = asObject(schema);
	const nodes = new Nodes(root);
	const summary = h("div", { class: "summary", tabindex: -1, hidden: true });
	const element = h("div", { class: "form" });
	let node;
	let wrong = [];
	let judging = false;
	let partial;

	function fill(value, ask) {
		// While the model still writes the input, unchanged parts of the form are kept.
		if (ask?.partial && partial && node.update?.(value)) {
			return;
		}
		partial = ask?.partial;
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

	/** Shows each fault beside its label, and a list of all above the form if there are several. Gives the nodes in order. */
	function show(problems) {
		wrong.forEach((one) => one.say?.());
		const byNode = new Map();
		problems.forEach(({ path, message }) => {
			const at = nodeAt(path);
			byNode.has(at) || byNode.set(at, { path, message });
		});
		const inOrder = [...byNode].sort(([a], [b]) =>
			a.element && b.element ? (a.element.compareDocumentPosition(b.element) & 4 ? -1 : 1) : 0
		);
		wrong = [...byNode.keys()];
		byNode.forEach(({ message }, at) => at.say?.(message));
		summary.hidden = byNode.size === 0 || (byNode.size === 1 && Boolean(wrong[0].say));
		summary.replaceChildren(
			h("p", {}, say("attention", { count: byNode.size })),
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
								path.map((key) => (typeof key === "number" ? key + 1 : labelOf(key))).join(" › ") || say("input")
							),
							` ${message}`
						)
					)
			)
		);
		return inOrder.map(([at]) => at);
	}

	function judge() {
		const problems = [];
		const value = node.get(problems, []);
		const bad = problems.map(({ path }) => canon(path));
		const more = nodes.check(root, value).filter(({ path }) => !bad.includes(canon(path)));
		const all = [...problems, ...more];
		return { value, faulty: show(all) };
	}

	const again = () => judging && judge();
	element.addEventListener("input", again);
	element.addEventListener("change", again);
	return {
		element,
		fill,
		read: () => node.get([], []),
		isDrafted() {
			const problems = [];
			node.get(problems, []);
			return problems.length > 0;
		},
		submit() {
			judging = true;
			const { value, faulty } = judge();
			if (!faulty.length) {
				return { value };
			}
			const [first] = faulty;
			first.focus ? first.focus() : summary.focus();
			return undefined;
		},
		part: (name) => node.named?.get(name)?.element,
		isEmpty: () => !element.querySelector("input,select,textarea,button,output")
	};
}

/** The input schema with `type: object`, even if it does not declare a type. */
const asObject = (schema) => (isObject(schema) ? { type: "object", ...schema } : { type: "object" });
