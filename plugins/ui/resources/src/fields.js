// The fields of a form that hold one value: text, numbers, choices, times, and JSON for what is left.

import { canon, clean, equal, freshId, h, isObject, pretty, showNumber, words } from "./dom.js";

/**
 * A label, what it is for, what explains it and what is wrong with it.
 *
 * @param ask `name`, `required`, and `item` where the name is a place in a list
 * @returns the `element`, and `say`, which shows what is wrong
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
			check ? [control, label] : [label, control],
			extras,
			description,
			error
		),
		say(message) {
			error.textContent = clean(message ?? "");
			error.hidden = !message;
			describe();
		},
		focus: () => (targets.find((target) => !target.disabled) ?? targets[0])?.focus()
	};
}

export const title = (schema, ask) =>
	(ask.item ? ask.name : (schema.title ?? words(ask.name ?? "Value"))) + (schema.deprecated ? " (deprecated)" : "");

const hint = (schema) => {
	const example = schema.examples?.[0] ?? schema.example;
	return example === undefined || example === null
		? undefined
		: typeof example === "object"
			? canon(example)
			: String(example);
};

/**
 * A field whose value is exactly what was given until the user changes it.
 *
 * @param read gives the value as it stands in the control; what it throws is shown
 */
function leaf(schema, value, ask, control, read, extras = [], id = control.id) {
	let touched = false;
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
	const attributes = { id, placeholder: hint(schema), dir: "auto", spellcheck: "false", autocomplete: "off" };
	const input =
		long && !secret
			? h("textarea", { ...attributes, rows: 4 })
			: h("input", { type: secret ? "password" : "text", ...attributes, ...INPUTS[format] });
	input.value = said;
	// A browser that cannot show what was given shows it as text rather than not at all.
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
				input.dispatchEvent(new Event("change", { bubbles: true }));
			}
		},
		"Send it empty"
	);
	const extras = [allow];
	if (format === "color") {
		const picker = h("input", {
			type: "color",
			"aria-label": `Pick ${title(schema, ask)}`,
			oninput: () => (input.value = picker.value)
		});
		picker.value = /^#[\da-f]{6}$/i.test(said) ? said : "#000000";
		extras.push(picker);
	}
	const field = leaf(schema, value, ask, input, () => input.value || (empty ? "" : undefined), extras);
	return {
		...field,
		say(message) {
			field.say(message);
			allow.hidden = !message || input.value !== "" || empty || Boolean(schema.minLength || schema.format);
		}
	};
}

/** The offset of the user's clock from UTC at a time, as RFC 3339 writes it. */
function offsetOf(local) {
	const minutes = -new Date(local || Date.now()).getTimezoneOffset();
	const two = (number) => String(Math.trunc(Math.abs(number))).padStart(2, "0");
	return minutes ? `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}` : "Z";
}

/** A time of the day, or a date and time, with its offset. */
function time(schema, value, ask) {
	const id = freshId();
	const both = schema.format === "date-time";
	const input = h("input", { id, type: both ? "datetime-local" : "time", step: 1 });
	const offset = h("input", {
		type: "text",
		class: "short",
		"aria-label": `${title(schema, ask)}: offset from UTC`,
		placeholder: "+02:00 or Z",
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

/** A number from what was typed; one that JSON's readers would round is refused. */
export function parseNumber(typed) {
	const number = Number(typed);
	if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed) || !Number.isFinite(number)) {
		throw new Error("Must be a number, such as 12 or 0.5.");
	}
	if (INTEGER.test(typed) && !Number.isSafeInteger(number)) {
		throw new Error(`Cannot be sent exactly: whole numbers go up to ${showNumber(Number.MAX_SAFE_INTEGER)}.`);
	}
	return number;
}

function number(schema, value, ask) {
	const input = h("input", {
		id: freshId(),
		type: "text",
		dir: "ltr",
		autocomplete: "off",
		inputmode: schema.minimum >= 0 ? (schema.type === "integer" ? "numeric" : "decimal") : undefined,
		placeholder: hint(schema) ?? range(schema)
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
		{ value: true, title: "Yes" },
		{ value: false, title: "No" }
	]);
}

function choice(schema, value, ask, choices) {
	const select = h(
		"select",
		{ id: freshId() },
		h("option", { value: "" }, ask.required ? "Choose…" : "Not set"),
		choices.map((one, index) =>
			h("option", { value: index }, one.title ?? (typeof one.value === "string" ? one.value : canon(one.value)))
		)
	);
	select.value = value === undefined ? "" : String(choices.findIndex((one) => equal(one.value, value)));
	return leaf(schema, value, ask, select, () => choices[select.value]?.value);
}

/** Several of a few: in the order in which they were given and chosen. */
export function several(schema, value, ask, choices) {
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
			return h(
				"label",
				{ class: "tick" },
				tick,
				one.title ?? (typeof one.value === "string" ? one.value : canon(one.value))
			);
		})
	);
	return { box, get: () => chosen };
}

/** Whole numbers within JSON that its readers would round. */
const tooLarge = (value) =>
	typeof value === "number"
		? Number.isInteger(value) && !Number.isSafeInteger(value)
		: typeof value === "object" && value !== null && Object.values(value).some(tooLarge);

/** JSON, for what no field can show; `note` says why. */
export function json(schema, value, ask, note) {
	const area = h("textarea", {
		id: freshId(),
		class: "code",
		rows: 4,
		spellcheck: "false",
		dir: "ltr",
		placeholder: hint(schema) ?? (schema.type === "object" ? "{ }" : 'JSON, such as "text", 12 or [1, 2]')
	});
	area.value = value === undefined ? "" : JSON.stringify(value, null, 2);
	const read = () => {
		let parsed;
		try {
			parsed = area.value.trim() ? JSON.parse(area.value) : undefined;
		} catch (problem) {
			throw new Error(`Is not JSON: ${problem.message}`);
		}
		if (tooLarge(parsed)) {
			throw new Error("Holds a whole number that cannot be sent exactly.");
		}
		return parsed;
	};
	return leaf(schema, value, ask, area, read, note ? [h("p", { class: "hint" }, note)] : []);
}

/** What the user cannot change. */
export function fixed(schema, value, ask) {
	const output = h("output", { id: freshId(), tabindex: 0 }, typeof value === "object" ? pretty(value) : value);
	const shown = frame(schema, { ...ask, required: false }, output, output.id);
	return value === undefined
		? { ...shown, element: h("span", { hidden: true }), get: () => undefined }
		: { ...shown, get: () => value };
}

/** A constant: sent as it is, or with a tick where it may be left out. */
export function constant(schema, value, ask) {
	if (ask.required) {
		return {
			element: h("span", { hidden: true }),
			get: () => (value === undefined || ask.fresh ? schema.const : value),
			say() {},
			focus() {}
		};
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
