// The fields of a form that hold one value: text, numbers, choices, times, and JSON for all other values.

import { canon, clean, equal, freshId, h, has, isObject, pretty, showNumber } from "./dom.js";
import { parts } from "./parts.js";
import { say } from "./say.js";
import { labelOf } from "./words.js";

/**
 * A field with its label, its description and its error message.
 *
 * @param ask `name`, `required`, and `item` if the name is an index in a list
 * @returns the `element`, and `say`, which shows an error message
 */
export function frame(schema, ask, control, id, ...extras) {
	const error = h("p", { class: "error", id: `${id}-e`, hidden: true });
	const description = schema.description && h("p", { class: "hint", id: `${id}-d` }, schema.description);
	const label = h(
		"label",
		{ for: id, class: ask.required && "must" },
		h("span", { "data-name": ask.item }, title(schema, ask))
	);
	const targets = control.id === id ? [control] : [...control.querySelectorAll("input,select,textarea")];
	const describe = () =>
		targets.forEach((target) => {
			target.setAttribute(
				"aria-describedby",
				[description && `${id}-d`, !error.hidden && `${id}-e`].filter(Boolean).join(" ")
			);
			target.setAttribute("aria-invalid", String(!error.hidden));
		});
	ask.required &&
		targets.forEach((target) => target.type === "checkbox" || target.setAttribute("aria-required", "true"));
	describe();
	const check = control.type === "checkbox";
	return {
		element: h(
			"div",
			{ class: check ? "field check" : "field" },
			check ? [control, label, error] : [h("div", { class: "head" }, label, error), control],
			extras,
			description
		),
		say(message) {
			error.textContent = clean(message ?? "");
			error.hidden = !message;
			describe();
		},
		focus: () => (targets.find((target) => !target.disabled) ?? targets[0])?.focus()
	};
}

export const title = (schema, ask) => {
	const name = ask.item ? ask.name : ask.name === undefined ? (schema.title ?? say("value")) : labelOf(ask.name, schema, /number|integer/.test(schema.type));
	return schema.deprecated ? say("deprecated", { name }) : name;
};

const brief = (value) => (typeof value === "string" ? value : canon(value));

/** Whether the tool uses a default value if no value is sent. */
export const hasDefault = (schema, ask) =>
	!ask.required && has(schema, "default") && schema.default !== null && schema.default !== "";

/** The placeholder of an empty field: the default value or an example. */
const hint = (schema, ask) => {
	const example = schema.examples?.[0] ?? schema.example;
	return hasDefault(schema, ask)
		? say("isDefault", { value: brief(schema.default) })
		: example === undefined || example === null
			? undefined
			: brief(example);
};

/** The width of a text field, by the texts that it is for. */
const widthOf = ({ format, maxLength }) =>
	maxLength <= 16 || /^(date|time|ipv4|color)$/.test(format)
		? "short"
		: maxLength <= 50 || /^(email|uuid|password|hostname)$/.test(format)
			? "middle"
			: undefined;

/**
 * A field. Its value is exactly the given value until the user changes it.
 *
 * @param read gives the value in the control. If it throws, the error is shown
 * @param put shows another given value, and gives whether it could
 */
function leaf(schema, given, ask, control, read, extras = [], id = control.id, put = () => false) {
	let touched = false;
	let value = given;
	const shown = frame(schema, ask, control, id, ...extras);
	const touch = () => (touched = true);
	shown.element.addEventListener("input", touch);
	shown.element.addEventListener("change", touch);
	return {
		...shown,
		get(problems, path) {
			try {
				return touched ? read() : value;
			} catch (problem) {
				problems.push({ path, message: problem.message });
				return undefined;
			}
		},
		set(next) {
			const done = !touched && put(next);
			value = done ? next : value;
			return done;
		}
	};
}

const LONG = 120;

/** How a text is entered: attributes of an `<input>`. */
const INPUTS = {
	password: { type: "password", autocomplete: "off" },
	email: { inputmode: "email" },
	uri: { inputmode: "url" },
	date: { type: "date" }
};

function text(schema, value, ask) {
	const { format } = schema;
	const id = freshId();
	const said = value ?? "";
	const long =
		schema.maxLength > LONG ||
		said.length > LONG ||
		/\n/.test(said) ||
		/^(textarea|multiline|multi-line|markdown|html|code)$/.test(format) ||
		/^text\//.test(schema.contentMediaType) ||
		schema.contentEncoding;
	const secret = format === "password" || schema.writeOnly;
	const attributes = { id, placeholder: hint(schema, ask), dir: "auto", spellcheck: "false", autocomplete: "off" };
	const input =
		long && !secret
			? h("textarea", { ...attributes, rows: schema.maxLength > 1000 ? 8 : 4 })
			: h("input", {
					type: secret ? "password" : "text",
					class: widthOf(schema),
					...attributes,
					...INPUTS[format]
				});
	input.value = said;
	// If the browser's control cannot show the given value, a text field shows it.
	if (!long && input.value !== said) {
		input.type = "text";
		input.value = said;
	}
	let empty = value === "" || schema.default === "";
	const allow = h(
		"button",
		{
			type: "button",
			class: "link",
			hidden: true,
			onclick: () => {
				empty = true;
				allow.hidden = true;
				input.focus();
				input.dispatchEvent(new Event("change", { bubbles: true }));
			}
		},
		say("sendEmpty")
	);
	const extras = [allow];
	const file = schema.contentEncoding === "base64" ? parts.upload?.(schema, input, title(schema, ask)) : undefined;
	file && extras.push(file.element);
	if (format === "color") {
		const picker = h("input", {
			type: "color",
			"aria-label": say("pick", { name: title(schema, ask) }),
			oninput: () => (input.value = picker.value)
		});
		picker.value = /^#[\da-f]{6}$/i.test(said) ? said : "#000000";
		extras.push(picker);
	}
	const field = leaf(
		schema,
		value,
		ask,
		input,
		() => file?.content() ?? (input.value || (empty ? "" : undefined)),
		extras,
		id,
		(next) => {
			const fits = typeof next === "string" && (input.rows || (next.length <= LONG && !/\n/.test(next)));
			input.value = fits ? next : input.value;
			return fits && input.value === next;
		}
	);
	return {
		...field,
		say(message) {
			field.say(message);
			allow.hidden = !message || input.value !== "" || empty || Boolean(schema.minLength || schema.format);
		}
	};
}

/** The offset of the user's time from UTC, in the format of RFC 3339. */
function offsetOf(local) {
	const minutes = -new Date(local || Date.now()).getTimezoneOffset();
	const two = (number) => String(Math.trunc(Math.abs(number))).padStart(2, "0");
	return minutes ? `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}` : "Z";
}

/** The field for a time of day, or for a date and time, with an offset. */
function time(schema, value, ask) {
	const id = freshId();
	const both = schema.format === "date-time";
	const input = h("input", { id, type: both ? "datetime-local" : "time", step: 1 });
	const offset = h("input", {
		type: "text",
		class: "short",
		"aria-label": say("offset", { name: title(schema, ask) }),
		placeholder: say("offsetHint"),
		dir: "ltr"
	});
	const read = () => {
		const local = input.value && input.value + (/:\d\d:\d\d/.test(input.value) ? "" : ":00");
		return local ? local + (offset.value.trim() || "Z") : undefined;
	};
	const [, local, zone] = value?.match(/^(.*?)(Z|[+-]\d\d:\d\d)$/) ?? [];
	input.value = local ?? "";
	offset.value = zone ?? "";
	if (value !== undefined && read() !== value) {
		return text({ ...schema, format: undefined }, value, ask);
	}
	const fill = () => (offset.value ||= offsetOf(both && input.value));
	input.addEventListener("input", fill);
	return leaf(schema, value, ask, h("div", { class: "pair" }, input, offset), read, [], id);
}

const INTEGER = /^[+-]?\d+$/;

/** Parses a typed number. A number that JSON parsers would round is refused. */
export function parseNumber(typed) {
	const number = Number(typed);
	if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed) || !Number.isFinite(number)) {
		throw new Error(say("mustNumber"));
	}
	if (INTEGER.test(typed) && !Number.isSafeInteger(number)) {
		throw new Error(say("notExact", { limit: showNumber(Number.MAX_SAFE_INTEGER) }));
	}
	return number;
}

function number(schema, value, ask) {
	const input = h("input", {
		id: freshId(),
		type: "text",
		class: "short",
		dir: "ltr",
		autocomplete: "off",
		inputmode: schema.minimum >= 0 ? (schema.type === "integer" ? "numeric" : "decimal") : undefined,
		placeholder: hint(schema, ask) ?? range(schema)
	});
	input.value = value === undefined ? "" : String(value);
	return leaf(schema, value, ask, input, () => (input.value.trim() ? parseNumber(input.value.trim()) : undefined));
}

const range = ({ minimum: low, maximum: high }) =>
	low !== undefined && high !== undefined ? `${low} – ${high}` : undefined;

function boolean(schema, value, ask) {
	if (ask.required) {
		const box = h("input", { id: freshId(), type: "checkbox" });
		box.checked = value === true;
		return leaf(schema, value ?? false, ask, box, () => box.checked);
	}
	return choice(schema, value, ask, [
		{ value: true, title: say("yes") },
		{ value: false, title: say("no") }
	]);
}

/** The label of a choice. */
export const nameOf = (one) => one.title ?? brief(one.value);

function choice(schema, value, ask, choices) {
	const own = hasDefault(schema, ask) && choices.find((one) => equal(one.value, schema.default));
	const select = h(
		"select",
		{ id: freshId() },
		h(
			"option",
			{ value: "" },
			own ? say("isDefault", { value: nameOf(own) }) : say(ask.required ? "choose" : "notSet")
		),
		choices.map((one, index) => h("option", { value: index }, nameOf(one)))
	);
	select.value = value === undefined ? "" : String(choices.findIndex((one) => equal(one.value, value)));
	return leaf(schema, value, ask, select, () => choices[select.value]?.value);
}

/** The field for several choices of a few. Their values are in the order in which they were given and chosen. */
export function several(value, choices) {
	let chosen = [...value];
	const box = h(
		"div",
		{ class: "choices" },
		choices.map((one) => {
			const tick = h("input", {
				type: "checkbox",
				onchange: () => {
					chosen = chosen.filter((other) => !equal(other, one.value)).concat(tick.checked ? [one.value] : []);
				}
			});
			tick.checked = chosen.some((other) => equal(other, one.value));
			return h("label", { class: "tick" }, tick, nameOf(one));
		})
	);
	return { box, get: () => chosen };
}

/** Whether JSON contains a whole number that JSON parsers would round. */
const tooLarge = (value) =>
	typeof value === "number"
		? Number.isInteger(value) && !Number.isSafeInteger(value)
		: typeof value === "object" && value !== null && Object.values(value).some(tooLarge);

/** The field for JSON, for values that no other field can show. `note` says why. */
export function json(schema, value, ask, note) {
	const area = h("textarea", {
		id: freshId(),
		class: "code",
		rows: 4,
		spellcheck: "false",
		dir: "ltr",
		placeholder: hint(schema, ask) ?? (schema.type === "object" ? "{ }" : say("jsonHint"))
	});
	area.value = value === undefined ? "" : JSON.stringify(value, null, 2);
	const read = () => {
		let parsed;
		try {
			parsed = area.value.trim() ? JSON.parse(area.value) : undefined;
		} catch (problem) {
			throw new Error(say("notJson", { reason: problem.message }));
		}
		if (tooLarge(parsed)) {
			throw new Error(say("holdsInexact"));
		}
		return parsed;
	};
	return leaf(schema, value, ask, area, read, note ? [h("p", { class: "hint" }, note)] : []);
}

/** A node that shows nothing. */
export const unseen = (get) => ({ element: h("span", { hidden: true }), get, say() {}, focus() {} });

/** A value that the user cannot change. */
export function fixed(schema, value, ask) {
	const output = h("output", { id: freshId(), tabindex: 0 }, typeof value === "object" ? pretty(value) : value);
	return value === undefined ? unseen(() => undefined) : { ...frame(schema, { ...ask, required: false }, output, output.id), get: () => value };
}

/** A constant. If it is optional, a checkbox decides whether it is sent. */
export function constant(schema, value, ask) {
	if (ask.required) {
		return unseen(() => (value === undefined || ask.fresh ? schema.const : value));
	}
	const box = h("input", { id: freshId(), type: "checkbox" });
	const on = value !== undefined || (ask.fresh && ask.marks);
	box.checked = on;
	const shown = schema.const;
	return leaf(
		{ ...schema, title: `${title(schema, ask)}: ${isObject(shown) ? canon(shown) : shown}` },
		on ? shown : undefined,
		ask,
		box,
		() => (box.checked ? shown : undefined)
	);
}

/** The field for each kind of single value. */
export const FIELDS = {
	string: (schema, value, ask) =>
		/^(date-)?time$/.test(schema.format) ? time(schema, value, ask) : text(schema, value, ask),
	number,
	integer: number,
	boolean,
	enum: choice
};
