// A form made of a schema: what it yields is what was given, until the user changes it.

import { tuple, checker, extra } from "./check.js";
import { canon, clean, equal, freshId, h, has, isObject } from "./dom.js";
import { constant, FIELDS, fixed, json, several, title } from "./fields.js";
import { branchTitle, reader, shapeOf } from "./schema.js";

const DEPTH = 16;
const NODES = 1500;
const COMPOUND = ["object", "array", "union"];

const FITS = {
	string: (value) => typeof value === "string",
	number: (value) => typeof value === "number",
	integer: (value) => typeof value === "number",
	boolean: (value) => typeof value === "boolean",
	null: (value) => value === null,
	array: Array.isArray,
	object: isObject
};

const change = (element) => element.dispatchEvent(new Event("change", { bubbles: true }));
const button = (text, onclick, attributes) => h("button", { type: "button", ...attributes, onclick }, text);

/**
 * The nodes of a form, for one schema. A node has its `element` or `parts`, `get(problems, path)` for its value
 * (`undefined`: not there), `child(key)`, `say(message)` and `focus()`.
 */
function maker(root) {
	const { look, follow } = reader(root);
	const { check, best } = checker(follow);
	let budget = NODES;

	/** A node with its name around it. */
	function build(schema, given, ask) {
		try {
			return named(schema, given, ask);
		} catch {
			// No schema, however odd, may leave the user without a way to give the value.
			return json({}, given, ask);
		}
	}

	function named(schema, given, ask) {
		// A referenced schema is named for what it is; here its place tells more.
		const whole = isObject(schema) ? { ...look(schema), title: schema.title } : look(schema);
		const shape = shapeOf(whole, look);
		const value = given === undefined && ask.fresh && has(whole, "default") ? structuredClone(whole.default) : given;
		if (whole.readOnly) {
			return fixed(whole, value, ask);
		}
		const group = COMPOUND.includes(shape.kind) && !isFree(shape) && fits(shape, value) && !isSpent(ask);
		return group ? fieldset(whole, shape, value, ask) : shape.nullable ? orNull(shape, value, ask) : plain(shape, value, ask);
	}

	/** There is so much of it already, or so deep, that the rest is shown as JSON. */
	const isSpent = (ask) => --budget < 0 || ask.depth > DEPTH;

	/** Nothing is known of what is in it. */
	const isFree = ({ kind, schema }) => kind === "object" && !["properties", "patternProperties", "required", "conditions"].some((key) => has(schema, key)) && !isObject(schema.additionalProperties);

	function fits({ kind, choices, schema, nullable }, value) {
		return value === undefined || kind === "union" || kind === "any" || (nullable && value === null)
			|| (kind === "enum" ? choices.some((one) => equal(one.value, value)) : kind === "const" ? equal(schema.const, value) : Boolean(FITS[kind]?.(value)));
	}

	function plain(shape, given, ask) {
		const { kind, schema, choices } = shape;
		const bad = !fits(shape, given);
		const value = bad && ask.partial ? undefined : given;
		if (COMPOUND.includes(kind) || kind === "any" || kind === "never" || bad && !ask.partial) {
			return kind === "never" && value === undefined
				? { element: h("span", { hidden: true }), get: () => undefined, say() {}, focus() {} }
				: json(schema, value, ask, bad && "What was given is not of the expected kind, so it is shown as JSON.");
		}
		if (kind === "const" || kind === "null") {
			return constant(kind === "null" ? { ...schema, const: null } : schema, value, ask);
		}
		return FIELDS[kind](schema, value, ask, choices);
	}

	/** What is within a node, without a name around it. */
	function inside(schema, value, ask) {
		const whole = look(schema);
		const shape = shapeOf(whole, look);
		if (!COMPOUND.includes(shape.kind) || value === null || !fits(shape, value) || isFree(shape) && ask.depth) {
			const node = build(schema, value, { ...ask, name: "Value", item: true });
			return { ...node, parts: [node.element] };
		}
		return { object, array, union }[shape.kind](shape.kind === "union" ? shape : shape.schema, value, ask);
	}

	function orNull(shape, value, ask) {
		const node = plain(shape, value === null ? undefined : value, ask);
		const tick = h("input", { type: "checkbox" });
		const element = h("div", { class: "nullable" }, node.element, h("label", { class: "tick" }, tick, "null"));
		const apply = () => node.element.querySelectorAll("input,select,textarea").forEach((control) => (control.disabled = tick.checked));
		tick.checked = value === null;
		tick.addEventListener("change", apply);
		apply();
		return { ...node, element, get: (...where) => tick.checked ? null : node.get(...where), focus: () => tick.checked ? tick.focus() : node.focus() };
	}

	/** A group under its name: with a switch if it may be left out, with a tick if it may be null. */
	function fieldset(schema, shape, value, ask) {
		const id = freshId();
		let node;
		const error = h("p", { class: "error", id, hidden: true });
		const body = h("div", { class: "body" });
		const on = !ask.required && h("input", { type: "checkbox", role: "switch", oninput: apply });
		const none = shape.nullable && h("input", { type: "checkbox", oninput: apply });
		const name = h("span", { "data-name": ask.item }, title(schema, ask));
		const element = h("fieldset", { "aria-describedby": id },
			h("legend", { class: ask.required && "must" }, on ? h("label", { class: "tick" }, on, name) : name),
			schema.description && h("p", { class: "hint" }, schema.description),
			none && h("label", { class: "tick" }, none, "null"), body, error);
		if (on) {
			on.checked = value !== undefined;
		}
		if (none) {
			none.checked = value === null;
		}
		const there = () => (!on || on.checked) && !none?.checked;
		function apply(event) {
			// Built when it is first wanted: a schema that holds itself has no end.
			if (there() && !node) {
				budget = event ? NODES : budget;
				node = inside(schema, value ?? undefined, { ...ask, depth: ask.depth + 1, fresh: ask.fresh || Boolean(event) });
				body.append(...node.parts);
			}
			body.hidden = !there();
			if (none) {
				none.parentNode.hidden = Boolean(on && !on.checked);
			}
		}
		apply();
		return {
			element,
			get: (problems, path) => on && !on.checked ? undefined : none?.checked ? null : node.get(problems, path),
			child: (key) => there() ? node.child?.(key) : undefined,
			say(message) {
				error.textContent = clean(message ?? "");
				error.hidden = !message;
				node?.parts && !node.child && node.say?.();
			},
			focus: () => element.querySelector("input,select,textarea,button")?.focus()
		};
	}

	/** The schema with what its conditions add, as the value stands. */
	function effective(schema, value, level = 0) {
		const { conditions = [], ...rest } = schema;
		return conditions.reduce((all, { when, then, otherwise }) => {
			const more = look((check(when, value).length ? otherwise : then) ?? true);
			return isObject(more) && level < 8 ? { ...all, ...mergeInto(all, effective(more, value, level + 1)) } : all;
		}, rest);
	}

	const mergeInto = (all, more) => look({ allOf: [all, more] });

	function object(schema, value = {}, ask) {
		const box = h("div", { class: "fields" });
		const nodes = new Map();
		const known = (now) => [...new Set([...Object.keys(now.properties ?? {}), ...now.required ?? []])];
		function lay(current, fresh) {
			const now = schema.conditions ? effective(schema, current) : schema;
			const wanted = known(now);
			[...nodes.keys()].filter((name) => !wanted.includes(name)).forEach((name) => {
				nodes.get(name).element.remove();
				nodes.delete(name);
			});
			wanted.forEach((name, index) => {
				const part = has(now.properties, name) ? now.properties[name] : true;
				const required = now.required?.includes(name) ?? false;
				const key = canon([part, required]);
				const old = nodes.get(name);
				if (old?.key !== key) {
					const held = old?.element.contains(document.activeElement);
					old?.element.remove();
					const node = build(part, has(current, name) ? current[name] : undefined, { name, required, fresh, partial: ask.partial, marks: ask.marks, depth: ask.depth });
					nodes.set(name, { ...node, key });
					held && setTimeout(node.focus);
				}
				const { element } = nodes.get(name);
				box.children[index] === element || box.insertBefore(element, box.children[index] ?? null);
			});
		}
		lay(value, ask.fresh);
		const open = schema.patternProperties || (has(schema, "additionalProperties") ? schema.additionalProperties : schema.unevaluatedProperties);
		const others = Object.entries(value).filter(([name]) => !nodes.has(name));
		const rest = (open || others.length > 0) && entries(schema, others, ask);
		const get = (problems, path) => Object.fromEntries([
			...[...nodes].map(([name, node]) => [name, node.get(problems, [...path, name])]).filter(([, part]) => part !== undefined),
			...rest ? rest.get(problems, path, nodes) : []
		]);
		if (schema.conditions) {
			const again = () => lay(get([], []), true);
			box.addEventListener("input", again);
			box.addEventListener("change", again);
		}
		return { parts: rest ? [box, rest.element] : [box], get, child: (name) => nodes.get(name) ?? rest?.child?.(name), nodes };
	}

	/** What an object holds beside its listed properties: names and values. */
	function entries(schema, given, ask) {
		let all = [];
		const element = h("div", { class: "entries" });
		const first = isObject(schema.additionalProperties) ? schema.additionalProperties : Object.values(schema.patternProperties ?? {})[0] ?? extra(schema, "");
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
					entry.node = build(part, current, { name: "Value", item: true, required: true, fresh, depth: ask.depth + 1, partial: ask.partial });
					slot.replaceChildren(entry.node.element);
				}
			};
			set(value);
			input.addEventListener("change", () => set(entry.node.get([], [])));
			const row = h("div", { class: "item" }, h("div", { class: "field" }, h("label", { for: id }, "Name"), input), slot, button("Remove", () => {
				all = all.filter((other) => other !== entry);
				row.remove();
				more.focus();
				change(element);
			}, { class: "link", "aria-label": "Remove entry" }));
			all.push(entry);
			more.before(row);
			return input;
		}
		const more = button("Add entry", () => {
			add("", undefined, true).focus();
			change(element);
		}, { class: "add" });
		element.append(more);
		given.forEach(([name, value]) => add(name, value));
		return {
			element,
			get: (problems, path, nodes) => all.flatMap((entry, index) => {
				const name = entry.name();
				const taken = nodes.has(name) || all.findIndex((other) => other.name() === name) < index;
				(taken || name === "" && given[index]?.[0] !== "") && problems.push({ path: [...path, name], message: taken ? "This name is there already." : "Needs a name." });
				const value = entry.node.get(problems, [...path, name]);
				value === undefined && problems.push({ path: [...path, name], message: "Required." });
				return value === undefined ? [] : [[name, value]];
			}),
			child: (name) => all.findLast((entry) => entry.name() === name)?.node
		};
	}

	function array(schema, value, ask) {
		const { first, rest } = tuple(schema);
		const each = shapeOf(look(rest ?? true), look);
		if (!first.length && schema.uniqueItems && each.kind === "enum" && each.choices.length <= 30 && (value ?? []).every((one, index, all) => each.choices.some((other) => equal(one, other.value)) && all.findIndex((other) => equal(one, other)) === index)) {
			const { box, get } = several(schema, value ?? [], ask, each.choices);
			return { parts: [box], get };
		}
		const list = h("div", { class: "items" });
		let items = [];
		const least = schema.minItems ?? 0;
		const may = () => items.length < (schema.maxItems ?? Infinity) && (items.length < first.length || rest !== false);
		const more = button("Add item", () => {
			budget = NODES;
			add(undefined, true).node.focus();
			change(list);
		}, { class: "add" });
		function number() {
			items.forEach(({ row, remove, own }, index) => {
				own || (row.querySelector("[data-name]").textContent = `Item ${index + 1}`);
				remove.setAttribute("aria-label", `Remove item ${index + 1}`);
				remove.hidden = items.length <= least || first.length > 0 && index < items.length - 1;
			});
			more.hidden = !may();
		}
		function add(given, fresh) {
			const part = items.length < first.length ? first[items.length] : rest ?? true;
			const own = items.length < first.length && look(part).title;
			const node = build(part, given, { name: own || `Item ${items.length + 1}`, item: true, required: true, fresh, partial: ask.partial, depth: ask.depth + 1 });
			const remove = button("Remove", () => {
				items = items.filter((other) => other !== item);
				row.remove();
				number();
				(more.hidden ? list : more).focus();
				change(list);
			}, { class: "link" });
			const row = h("div", { class: "item" }, h("div", { class: "grow" }, node.element), remove);
			const item = { node, row, remove, own: own || !row.querySelector("[data-name]") };
			items.push(item);
			list.append(row);
			number();
			return item;
		}
		list.tabIndex = -1;
		const start = value ?? Array(Math.min(Math.max(least, first.length), 50)).fill(undefined);
		start.forEach((one) => add(one, value === undefined));
		number();
		return {
			parts: [list, more],
			get: (problems, path) => items.map(({ node }, index) => {
				const before = problems.length;
				const one = node.get(problems, [...path, index]);
				one === undefined && problems.length === before && problems.push({ path: [...path, index], message: "Required." });
				return one;
			}),
			child: (index) => items[index]?.node
		};
	}

	function union({ branches }, value, ask) {
		const body = h("div", { class: "body" });
		const id = freshId();
		const select = h("select", { id }, branches.map((branch, index) => h("option", { value: index }, branchTitle(branch, branches, look))));
		let node;
		const show = (current, fresh) => {
			node = inside(branches[select.value], current, { ...ask, fresh, marks: true, depth: ask.depth + 1, required: true });
			body.replaceChildren(...node.parts);
		};
		select.value = String(value === undefined ? 0 : branches.indexOf(best(branches, value)));
		select.addEventListener("change", () => {
			const branch = branches[select.value];
			const current = node.get([], []);
			// What both have in common is kept.
			const kept = isObject(current) && isObject(branch.properties)
				? Object.fromEntries(Object.entries(current).filter(([name, part]) => has(branch.properties, name) && !check(branch.properties[name], part).length))
				: undefined;
			show(kept, true);
		});
		show(value, ask.fresh);
		return {
			parts: [h("div", { class: "field" }, h("label", { for: id }, "Kind"), select), body],
			get: (...where) => node.get(...where),
			child: (key) => node.child?.(key),
			say: (message) => node.child || node.say?.(message)
		};
	}

	return { check, inside: (value, ask) => {
		budget = NODES;
		return inside(root, value, ask);
	} };
}

/**
 * The form of a tool.
 *
 * @returns its `element`; `fill(value, ask)`; `read()`, what it yields; `submit()`, the same, or `undefined` once it has
 *          shown what is wrong; `part(name)`, the element of one argument
 */
export function makeForm(schema) {
	const root = look(schema);
	const { check, inside } = maker(root);
	const summary = h("div", { class: "summary", tabindex: -1, hidden: true });
	const element = h("div", { class: "form" });
	let node;
	let wrong = [];
	let judging = false;

	function fill(value, ask) {
		node = inside(value, { required: true, depth: 0, ...ask });
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
		const inOrder = [...byNode].sort(([a], [b]) => a.element && b.element ? b.element.compareDocumentPosition(a.element) & 4 ? -1 : 1 : 0);
		wrong = [...byNode.keys()];
		byNode.forEach(({ message }, at) => at.say?.(message));
		summary.hidden = byNode.size === 0;
		summary.replaceChildren(h("p", {}, byNode.size === 1 ? "One thing needs attention:" : `${byNode.size} things need attention:`),
			h("ul", {}, inOrder.slice(0, 20).map(([at, { path, message }]) => h("li", {},
				h("button", { type: "button", class: "link", onclick: () => at.focus?.() }, path.join(" › ") || "Input"), ` ${message}`))));
	}

	function judge() {
		const problems = [];
		const value = node.get(problems, []);
		const bad = problems.map(({ path }) => canon(path));
		const more = check(root, value).filter(({ path }) => !bad.includes(canon(path)));
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
		part: (name) => node.nodes?.get(name)?.element
	};
}

/** The root of an input schema is an object even where it does not say so. */
const look = (schema) => isObject(schema) ? { type: "object", ...schema } : { type: "object" };
