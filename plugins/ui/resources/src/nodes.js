// The nodes of a form, one for each part of a schema: named, optional and nullable values.

import { checker, TYPES } from "./check.js";
import { canon, clean, equal, freshId, h, has, isObject } from "./dom.js";
import { constant, FIELDS, fixed, hasDefault, json, title, unseen } from "./fields.js";
import { object } from "./groups.js";
import { parts } from "./parts.js";
import { say } from "./say.js";
import { reader, shapeOf } from "./schema.js";

const DEPTH = 16;
const NODES = 1500;

/** The groups of fields that this page has. Most pages need only objects. */
const GROUPS = { object, ...parts.groups };

/** The fields of whole numbers also show other numbers. */
const FITS = { ...TYPES, integer: TYPES.number };

/** Kinds of values that have a single field. */
const SINGLE = ["const", "null", ...Object.keys(FIELDS)];

const PARTS = ["properties", "patternProperties", "required", "conditions"];

/** Whether a schema is an object without declared contents. */
const isFree = ({ kind, schema }) =>
	kind === "object" && !PARTS.some((key) => has(schema, key)) && !isObject(schema.additionalProperties);

/** Whether the field of a shape can show a value. */
function fits({ kind, choices, schema, nullable }, value) {
	if (value === undefined || kind === "union" || kind === "any" || (nullable && value === null)) {
		return true;
	}
	return kind === "enum"
		? choices.some((one) => equal(one.value, value))
		: kind === "const"
			? equal(schema.const, value)
			: Boolean(FITS[kind]?.(value));
}

/**
 * Makes nodes. A node has its `element` or `parts`, `get(problems, path)` for its value (`undefined`: no value),
 * `child(key)`, `say(message)` and `focus()`. `ask` has the `name` of the value, whether it is `required`, its `depth`, and
 * whether the form is `fresh` (defaults are filled in) or `partial` (the model still writes the input).
 */
export class Nodes {
	constructor(root) {
		const { look, follow } = reader(root);
		Object.assign(this, { look, ...checker(follow) });
		this.renew();
	}

	/** Renews the budget of nodes, since the user asked for more of them. */
	renew() {
		this.budget = NODES;
	}

	/** A node with its label. */
	build(schema, given, ask) {
		try {
			return this.named(schema, given, ask);
		} catch {
			// Whatever the schema, the user can always enter the value as JSON.
			return json({}, given, ask);
		}
	}

	named(schema, given, ask) {
		// A referenced schema has a title of its own. The title at this place says more.
		const whole = isObject(schema) ? { ...this.look(schema), title: schema.title } : this.look(schema);
		const shape = shapeOf(whole, this.look);
		const value =
			given === undefined && ask.fresh && has(whole, "default") && !hasDefault(whole, ask)
				? structuredClone(whole.default)
				: given;
		if (whole.readOnly) {
			return fixed(whole, value, ask);
		}
		const group =
			has(GROUPS, shape.kind) &&
			!isFree(shape) &&
			fits(shape, value) &&
			!this.ofChips(shape, value) &&
			!this.isSpent(ask);
		return group
			? this.fieldset(whole, shape, value, ask)
			: shape.nullable
				? this.orNull(shape, value, ask)
				: this.plain(shape, value, ask);
	}

	/** Whether the form has so many or so deep nodes already that the rest is shown as JSON. */
	isSpent(ask) {
		return --this.budget < 0 || ask.depth > DEPTH;
	}

	/** The shape of a list's items, if the list is shown as chips. */
	ofChips({ kind, schema }, value) {
		const each = kind === "array" && shapeOf(this.look(schema.items ?? true), this.look);
		return each && parts.chips?.isOfChips(schema, each, value ?? undefined) ? each : undefined;
	}

	plain(shape, given, ask) {
		const { kind, schema, choices } = shape;
		const bad = !fits(shape, given);
		const value = bad && ask.partial ? undefined : given;
		const each = this.ofChips(shape, value);
		if (each) {
			return parts.chips.chips(schema, value, ask, each);
		}
		if (!SINGLE.includes(kind) || (bad && !ask.partial)) {
			return kind === "never" && value === undefined
				? unseen(() => undefined)
				: json(
						schema,
						value,
						ask,
						bad && say("unexpectedKind")
					);
		}
		if (kind === "const" || kind === "null") {
			return constant(kind === "null" ? { ...schema, const: null } : schema, value, ask);
		}
		return FIELDS[kind](schema, value, ask, choices);
	}

	/** A node without its label. */
	inside(schema, value, ask) {
		const whole = this.look(schema);
		const shape = shapeOf(whole, this.look);
		if (!has(GROUPS, shape.kind) || value === null || !fits(shape, value) || (isFree(shape) && ask.depth)) {
			const node = this.build(schema, value, { ...ask, name: say("value"), item: true });
			return { ...node, parts: [node.element] };
		}
		return GROUPS[shape.kind](this, shape.kind === "union" ? shape : shape.schema, value, ask);
	}

	orNull(shape, value, ask) {
		const node = this.plain(shape, value === null ? undefined : value, ask);
		const tick = h("input", { type: "checkbox" });
		const element = h("div", { class: "nullable" }, node.element, h("label", { class: "tick" }, tick, "null"));
		const apply = () =>
			node.element
				.querySelectorAll("input,select,textarea")
				.forEach((control) => (control.disabled = tick.checked));
		tick.checked = value === null;
		tick.addEventListener("change", apply);
		apply();
		return {
			...node,
			element,
			set: undefined,
			get: (...where) => (tick.checked ? null : node.get(...where)),
			focus: () => (tick.checked ? tick.focus() : node.focus())
		};
	}

	/** A group with its name. An optional group has a switch, and a nullable one has a checkbox. */
	fieldset(schema, shape, value, ask) {
		const id = freshId();
		let node;
		const error = h("p", { class: "error", id, hidden: true });
		const body = h("div", { class: "body" });
		const on = !ask.required && h("input", { type: "checkbox", role: "switch", oninput: (event) => apply(event) });
		const none = shape.nullable && h("input", { type: "checkbox", oninput: (event) => apply(event) });
		const name = h("span", { "data-name": ask.item }, title(schema, ask));
		const element = h(
			"fieldset",
			{ "aria-describedby": id },
			h("legend", { class: ask.required && "must" }, on ? h("label", { class: "tick" }, on, name) : name),
			schema.description && h("p", { class: "hint" }, schema.description),
			hasDefault(schema, ask) &&
				value === undefined &&
				h("p", { class: "hint" }, say("defaultIs", { value: canon(schema.default) })),
			none && h("label", { class: "tick" }, none, "null"),
			body,
			error
		);
		if (on) {
			on.checked = value !== undefined;
		}
		if (none) {
			none.checked = value === null;
		}
		const there = () => (!on || on.checked) && !none?.checked;
		const apply = (event) => {
			// The group is built when it is first needed, since a recursive schema has no end.
			if (there() && !node) {
				event && this.renew();
				node = this.inside(schema, value ?? (event ? schema.default : undefined) ?? undefined, {
					...ask,
					depth: ask.depth + 1,
					fresh: ask.fresh || Boolean(event)
				});
				body.append(...node.parts);
			}
			body.hidden = !there();
			if (none) {
				none.parentNode.hidden = Boolean(on && !on.checked);
			}
		};
		apply();
		return {
			element,
			get: (problems, path) => (on && !on.checked ? undefined : none?.checked ? null : node.get(problems, path)),
			child: (key) => (there() ? node.child?.(key) : undefined),
			say(message) {
				error.textContent = clean(message ?? "");
				error.hidden = !message;
				node?.parts && !node.child && node.say?.();
			},
			focus: () => element.querySelector("input,select,textarea,button")?.focus()
		};
	}

	/** The schema with the parts that its conditions add for the current value. */
	effective(schema, value, level = 0) {
		const { conditions = [], ...rest } = schema;
		return conditions.reduce((all, { when, then, otherwise }) => {
			const more = this.look((this.check(when, value).length ? otherwise : then) ?? true);
			return isObject(more) && level < 8
				? this.look({ allOf: [all, this.effective(more, value, level + 1)] })
				: all;
		}, rest);
	}
}
