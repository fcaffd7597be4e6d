// Shows nested data, such as folders, as a tree that the user can expand.

import { cut, h, has, isObject } from "./dom.js";
import { isScalar } from "./order.js";
import { labelOf } from "./words.js";

const HELD = /^(children|items|nodes|entries|contents|subtasks|replies|kids|subclasses|folders|elements|dependencies|members|sub_?tree)$/i;
const NAMED = /^(name|title|label|text|key|path|id|uri)$/i;

const heldBy = (node) => Object.keys(node).find((key) => HELD.test(key) && Array.isArray(node[key]));
const nameOf = (node) => Object.keys(node).find((key) => NAMED.test(key) && typeof node[key] !== "object");

/** Whether all nodes have names, and some of them contain further nodes. */
export const isTree = (value, nodes = [value].flat()) =>
	nodes.length > 0 &&
	nodes.every((node) => isObject(node) && nameOf(node)) &&
	nodes.some((node) => {
		const key = heldBy(node);
		return key && node[key].length > 0 && node[key].every((one) => isObject(one) && has(one, nameOf(node)));
	});

const PIECE = 200;

/** @param view shows the other members of the nodes */
export function tree(value, view, depth, level = 0) {
	return cut(h("ul", { class: "tree" }), [value].flat(), PIECE, (some) => some.map((node) => branch(node, view, depth, level)));
}

function branch(node, view, depth, level) {
	const [name, held] = [nameOf(node), heldBy(node)];
	const facts = Object.entries(node).filter(([key, value]) => key !== name && isScalar(value) && value !== null && value !== "");
	const head = [
		h("span", { dir: "auto" }, node[name]),
		facts.length > 0 &&
			h(
				"span",
				{ class: "facts" },
				facts.slice(0, 6).map(([key, value]) => h("span", { title: labelOf(key) }, typeof value === "string" ? "" : `${labelOf(key)} `, view.scalar(value, key)))
			)
	];
	const inner = (held && node[held]) || [];
	if (!inner.length) {
		return h("li", {}, head);
	}
	const box = h("details", {}, h("summary", {}, head));
	const fill = () =>
		box.children.length < 2 && box.append(inner.every((one) => isObject(one) && nameOf(one)) ? tree(inner, view, depth, level + 1) : view.show(inner, held, undefined, depth + 1));
	box.addEventListener("toggle", fill);
	if (level < 2 && inner.length <= 50) {
		box.open = true;
		fill();
	}
	return h("li", {}, box);
}
