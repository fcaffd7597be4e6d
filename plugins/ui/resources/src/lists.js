// The groups of fields that only some forms have: lists, alternatives, and undeclared properties of objects.

import { extra, tuple } from "./check.js";
import { canon, equal, freshId, h, has, isObject } from "./dom.js";
import { several } from "./fields.js";
import { say } from "./say.js";
import { branchTitle, shapeOf } from "./schema.js";

const CHECKBOXES = 30;
const START = 50;

const change = (element) => element.dispatchEvent(new Event("change", { bubbles: true }));
const button = (text, onclick, attributes) => h("button", { type: "button", ...attributes, onclick }, text);

/** The group for undeclared properties of an object: names and values. */
export function entries(nodes, schema, given, ask) {
	let all = [];
	const element = h("div", { class: "entries" });
	const first = isObject(schema.additionalProperties)
		? schema.additionalProperties
		: (Object.values(schema.patternProperties ?? {})[0] ?? extra(schema, ""));
	function add(name, value, fresh) {
		const id = freshId();
		const input = h("input", { id, type: "text", dir: "auto", autocomplete: "off" });
		input.value = name;
		const slot = h("div", { class: "grow" });
		const entry = { input, name: () => input.value, node: undefined, part: undefined };
		const set = (current) => {
			const part = fresh && !input.value ? first : extra(schema, input.value);
			if (canon(part) !== canon(entry.part)) {
				entry.part = part;
				entry.node = nodes.build(part, current, {
					name: say("value"),
					item: true,
					required: true,
					fresh,
					depth: ask.depth + 1,
					partial: ask.partial
				});
				slot.replaceChildren(entry.node.element);
			}
		};
		set(value);
		input.addEventListener("change", () => set(entry.node.get([], [])));
		const row = h(
			"div",
			{ class: "item" },
			h("div", { class: "field" }, h("label", { for: id }, say("name")), input),
			slot,
			button(
				say("remove"),
				() => {
					all = all.filter((other) => other !== entry);
					row.remove();
					more.focus();
					change(element);
				},
				{ class: "link", "aria-label": say("removeEntry") }
			)
		);
		all.push(entry);
		more.before(row);
		return input;
	}
	const more = button(
		say("addEntry"),
		() => {
			add("", undefined, true).focus();
			change(element);
		},
		{ class: "add" }
	);
	element.append(more);
	given.forEach(([name, value]) => add(name, value));
	return {
		element,
		get: (problems, path, named) =>
			all.flatMap((entry, index) => {
				const name = entry.name();
				const taken = named.has(name) || all.findIndex((other) => other.name() === name) < index;
				(taken || (name === "" && given[index]?.[0] !== "")) &&
					problems.push({
						path: [...path, name],
						message: taken ? say("nameTaken") : say("needsName")
					});
				const value = entry.node.get(problems, [...path, name]);
				value === undefined && problems.push({ path: [...path, name], message: say("required") });
				return value === undefined ? [] : [[name, value]];
			}),
		child: (name) => all.findLast((entry) => entry.name() === name)?.node
	};
}

export function array(nodes, schema, value, ask) {
	const { first, rest } = tuple(schema);
	const each = shapeOf(nodes.look(rest ?? true), nodes.look);
	if (
		!first.length &&
		schema.uniqueItems &&
		each.kind === "enum" &&
		each.choices.length <= CHECKBOXES &&
		(value ?? []).every(
			(one, index, all) =>
				each.choices.some((other) => equal(one, other.value)) &&
				all.findIndex((other) => equal(one, other)) === index
		)
	) {
		const { box, get } = several(value ?? [], each.choices);
		return { parts: [box], get };
	}
	const list = h("div", { class: "items" });
	let items = [];
	const least = schema.minItems ?? 0;
	const may = () => items.length < (schema.maxItems ?? Infinity) && (items.length < first.length || rest !== false);
	const more = button(
		say("addItem"),
		() => {
			nodes.renew();
			add(undefined, true).node.focus();
			change(list);
		},
		{ class: "add" }
	);
	function number() {
		items.forEach(({ row, remove, own }, index) => {
			own || (row.querySelector("[data-name]").textContent = say("item", { count: index + 1 }));
			remove.setAttribute("aria-label", say("removeWhat", { name: say("item", { count: index + 1 }) }));
			remove.hidden = items.length <= least || (first.length > 0 && index < items.length - 1);
		});
		more.hidden = !may();
	}
	function add(given, fresh) {
		const part = items.length < first.length ? first[items.length] : (rest ?? true);
		const own = items.length < first.length && nodes.look(part).title;
		const node = nodes.build(part, given, {
			name: own || say("item", { count: items.length + 1 }),
			item: true,
			required: true,
			fresh,
			partial: ask.partial,
			depth: ask.depth + 1
		});
		const remove = button(
			say("remove"),
			() => {
				items = items.filter((other) => other !== item);
				row.remove();
				number();
				(more.hidden ? list : more).focus();
				change(list);
			},
			{ class: "link" }
		);
		const row = h("div", { class: "item" }, h("div", { class: "grow" }, node.element), remove);
		const item = { node, row, remove, own: own || !row.querySelector("[data-name]") };
		items.push(item);
		list.append(row);
		number();
		return item;
	}
	list.tabIndex = -1;
	const start = value ?? Array(Math.min(Math.max(least, first.length), START)).fill(undefined);
	start.forEach((one) => add(one, value === undefined));
	number();
	return {
		parts: [list, more],
		get: (problems, path) =>
			items.map(({ node }, index) => {
				const before = problems.length;
				const one = node.get(problems, [...path, index]);
				one === undefined &&
					problems.length === before &&
					problems.push({ path: [...path, index], message: say("required") });
				return one;
			}),
		child: (index) => items[index]?.node
	};
}

export function union(nodes, { branches }, value, ask) {
	const body = h("div", { class: "body" });
	const id = freshId();
	const select = h(
		"select",
		{ id },
		branches.map((branch, index) => h("option", { value: index }, branchTitle(branch, branches, nodes.look)))
	);
	let node;
	const show = (current, fresh) => {
		node = nodes.inside(branches[select.value], current, {
			...ask,
			fresh,
			marks: true,
			depth: ask.depth + 1,
			required: true
		});
		body.replaceChildren(...node.parts);
	};
	select.value = String(value === undefined ? 0 : branches.indexOf(nodes.best(branches, value)));
	select.addEventListener("change", () => {
		const branch = branches[select.value];
		const current = node.get([], []);
		// Values of properties that both branches have are kept.
		const kept =
			isObject(current) && isObject(branch.properties)
				? Object.fromEntries(
						Object.entries(current).filter(
							([name, part]) =>
								has(branch.properties, name) && !nodes.check(branch.properties[name], part).length
						)
					)
				: undefined;
		show(kept, true);
	});
	show(value, ask.fresh);
	return {
		parts: [h("div", { class: "field" }, h("label", { for: id }, say("kind")), select), body],
		get: (...where) => node.get(...where),
		child: (key) => node.child?.(key),
		say: (message) => node.child || node.say?.(message)
	};
}
