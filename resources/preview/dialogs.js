// Dialogs that ask the user: for consent to actions of a view, and for input that a server requests.

import { Failure } from "./mcp.js";
import { cut, h, isObject, pretty } from "./text.js";

let last = Promise.resolve();

/** Shows a dialog, after those before it are closed. `build(done)` makes its content, and `done` closes it with a result. */
function dialog(title, build, none, signal) {
	const shown = last.then(
		() =>
			new Promise((resolve) => {
				if (signal?.aborted) {
					resolve(none);
					return;
				}
				const element = h("dialog", { "aria-labelledby": "dialog-title" });
				const done = (answer) => {
					element.close();
					element.remove();
					resolve(answer);
				};
				element.append(h("h2", { id: "dialog-title" }, title), ...build(done));
				element.addEventListener("cancel", (event) => {
					event.preventDefault();
					done(none);
				});
				signal?.addEventListener("abort", () => element.isConnected && done(none), { once: true });
				document.body.append(element);
				element.showModal();
			})
	);
	last = shown;
	return shown;
}

const button = (label, kind, onclick) => h("button", { type: "button", class: kind, onclick }, label);

/** Asks whether a view may open a URL. */
export const mayOpen = (url, view, signal) =>
	dialog(
		"Open this address?",
		(done) => [
			h("p", {}, `The view of `, h("code", {}, view), " asks to open an address in a new tab:"),
			h("pre", { tabindex: "0" }, cut(url, 4000)),
			h(
				"div",
				{ class: "choices" },
				h("button", { type: "button", autofocus: true, onclick: () => done(false) }, "Do not open"),
				button("Open", "main", () => done(true))
			)
		],
		false,
		signal
	);

/** Asks whether a view may call a tool: "no", "once" or "always". */
export const mayCall = (tool, args, view, signal) =>
	dialog(
		"Let the view call a tool?",
		(done) => [
			h(
				"p",
				{},
				"The view of ",
				h("code", {}, view),
				" calls ",
				h("code", {}, tool.name),
				tool.name === view ? ", and nothing was pressed in it just now." : ", which is not its own tool.",
				tool.annotations?.destructiveHint === false ? " It changes something." : " It may destroy something."
			),
			h("pre", { tabindex: "0" }, cut(pretty(args), 10_000)),
			h(
				"div",
				{ class: "choices" },
				h("button", { type: "button", autofocus: true, onclick: () => done("no") }, "Refuse"),
				button("Allow until it is reloaded", "", () => done("always")),
				button("Allow once", "main", () => done("once"))
			)
		],
		"no",
		signal
	);

/** Answers a question that the server asks the user during a request. */
export function answer(question, signal) {
	const params = isObject(question?.params) ? question.params : {};
	if (question?.method !== "elicitation/create") {
		throw new Failure(`the server asks for \`${question?.method}\`, which this page did not offer`);
	}
	return params.mode === "url" ? visit(params, signal) : fill(params, signal);
}

const CANCEL = { action: "cancel" };

const visit = ({ message, url }, signal) =>
	dialog(
		"The server asks you to visit an address",
		(done) => [
			h("p", { class: "message" }, cut(message ?? "", 10_000)),
			h("pre", { tabindex: "0" }, cut(url ?? "", 4000)),
			h(
				"div",
				{ class: "choices" },
				h("button", { type: "button", autofocus: true, onclick: () => done({ action: "decline" }) }, "Decline"),
				button("Open", "main", () => done({ action: openTab(url) ? "accept" : "decline" }))
			)
		],
		CANCEL,
		signal
	);

/** Opens a web URL in a new tab without access to this one. `false`: the URL is not a web URL. */
export function openTab(url) {
	if (!isWeb(url)) {
		return false;
	}
	open(url, "_blank", "noopener,noreferrer");
	return true;
}

/** Whether a value is an HTTP or HTTPS URL. */
export const isWeb = (url) =>
	typeof url === "string" && URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);

const fill = ({ message, requestedSchema }, signal) =>
	dialog(
		"The server asks you",
		(done) => {
			const properties = isObject(requestedSchema?.properties) ? Object.entries(requestedSchema.properties) : [];
			const required = Array.isArray(requestedSchema?.required) ? requestedSchema.required : [];
			const fields = properties.map(([key, schema]) =>
				field(key, isObject(schema) ? schema : {}, required.includes(key))
			);
			const accept = () => {
				const wrong = fields.filter(({ complain }) => complain());
				if (wrong.length > 0) {
					wrong[0].control.focus();
					return;
				}
				const all = fields.map(({ key, read }) => [key, read()]).filter(([, one]) => one !== undefined);
				done({ action: "accept", content: Object.fromEntries(all) });
			};
			const onkeydown = (event) => {
				if (event.key === "Enter" && event.target.matches("input:not([type=checkbox])")) {
					event.preventDefault();
					accept();
				}
			};
			return [
				h("p", { class: "message" }, cut(message ?? "", 10_000)),
				h("div", { class: "fields", onkeydown }, ...fields.map(({ row }) => row)),
				h(
					"div",
					{ class: "choices" },
					button("Cancel", "", () => done(CANCEL)),
					h(
						"button",
						{ type: "button", autofocus: fields.length === 0, onclick: () => done({ action: "decline" }) },
						"Decline"
					),
					button("Accept", "main", accept)
				)
			];
		},
		CANCEL,
		signal
	);

let ids = 0;

/** The choices of a schema as values with labels; `undefined` if it has none. */
function choicesOf(schema) {
	const named = schema.oneOf ?? schema.anyOf;
	if (Array.isArray(named)) {
		return named.filter(isObject).map((one) => [String(one.const), String(one.title ?? one.const)]);
	}
	const words = Array.isArray(schema.enumNames) ? schema.enumNames : [];
	return Array.isArray(schema.enum)
		? schema.enum.map((one, at) => [String(one), String(words[at] ?? one)])
		: undefined;
}

/** A field of a form, for the flat schemas of elicitation. */
function field(key, schema, required) {
	const id = `field-${++ids}`;
	const many = schema.type === "array" ? choicesOf(isObject(schema.items) ? schema.items : {}) : undefined;
	const choices = many ?? choicesOf(schema);
	const { control, read, empty } = choices
		? chooser(choices, schema.default, many !== undefined)
		: entry(schema, schema.default);
	const error = h("p", { class: "error", id: `${id}-error`, role: "alert" });
	const hint = schema.description
		? h("p", { class: "hint", id: `${id}-hint` }, cut(schema.description, 1000))
		: undefined;
	control.id = id;
	control.setAttribute("aria-describedby", `${hint ? `${id}-hint ` : ""}${id}-error`);
	const label = h("label", { for: id }, cut(schema.title ?? key, 200), required && " (required)");
	const complain = () => {
		const bounds = many && read()?.length;
		const words =
			required && empty()
				? "This is required."
				: many && bounds < (schema.minItems ?? 0)
					? `At least ${schema.minItems} are wanted.`
					: many && bounds > (schema.maxItems ?? Infinity)
						? `At most ${schema.maxItems} are wanted.`
						: empty()
							? ""
							: control.validationMessage;
		error.textContent = words;
		control.toggleAttribute("aria-invalid", words !== "");
		return words !== "";
	};
	return { key, control, read, complain, row: h("div", { class: "field" }, label, hint, control, error) };
}

function chooser(choices, preset, many) {
	const presets = [preset].flat().map(String);
	const options = choices.map(([value, words]) =>
		h("option", { value, selected: preset !== undefined && presets.includes(value) }, words)
	);
	const control = h("select", { multiple: many }, many ? undefined : h("option", { value: "" }, "–"), ...options);
	const picked = () => options.filter((one) => one.selected).map((one) => choices[options.indexOf(one)][0]);
	return {
		control,
		read: () => (many ? picked() : picked()[0]),
		empty: () => picked().length === 0
	};
}

const KINDS = { "email": "email", "uri": "url", "date": "date", "date-time": "datetime-local" };

function entry(schema, preset) {
	const number = schema.type === "number" || schema.type === "integer";
	if (schema.type === "boolean") {
		const control = h("input", { type: "checkbox", checked: preset === true });
		return { control, read: () => control.checked, empty: () => false };
	}
	const control = h("input", {
		type: number ? "number" : (KINDS[schema.format] ?? "text"),
		step: schema.type === "integer" ? "1" : number || schema.format === "date-time" ? "any" : undefined,
		min: schema.minimum,
		max: schema.maximum,
		minlength: schema.minLength,
		maxlength: schema.maxLength,
		value: preset === undefined || preset === null ? undefined : String(preset)
	});
	const read = () => {
		if (control.value === "") {
			return undefined;
		}
		const instant = schema.format === "date-time" && new Date(control.value);
		return number ? Number(control.value) : instant ? instant.toISOString() : control.value;
	};
	// A number field with invalid text has an empty value, but is not empty.
	return { control, read, empty: () => control.value === "" && !control.validity.badInput };
}
