// A form field for a list of short texts or of choices: chips that the user adds and removes one by one.

import { clean, freshId, h } from "./dom.js";
import { frame, hasDefault, nameOf } from "./fields.js";
import { say } from "./say.js";

/** A longer text has a line of its own instead of a chip. */
const LONG = 80;

const isShort = (value) => typeof value === "string" && value !== "" && value.length <= LONG && !/[\r\n]/.test(value);

const isPlain = ({ format, maxLength, contentEncoding, contentMediaType }) =>
	!/^(date|time|date-time|color|textarea|markdown|html|code|password)$/.test(format) &&
	!contentEncoding &&
	!contentMediaType &&
	!(maxLength > LONG);

/**
 * Whether a list is shown as chips.
 *
 * @param each the shape of its items; @param value the given list
 */
export const isOfChips = (schema, each, value = []) =>
	!schema.prefixItems &&
	!(schema.uniqueItems && each.kind === "enum") &&
	!Array.isArray(schema.items) &&
	!each.nullable &&
	Array.isArray(value) &&
	(each.kind === "string"
		? isPlain(each.schema) && value.every(isShort)
		: each.kind === "enum" &&
			each.choices.every((one) => isShort(one.value)) &&
			value.every((one) => each.choices.some((other) => other.value === one)));

/** A list as chips; `each` is the shape of its items. */
export function chips(schema, value, ask, each) {
	const id = freshId();
	const nameIn = (one) => nameOf(each.choices?.find((other) => other.value === one) ?? { value: one });
	let all = [...(value ?? [])];
	const list = h("ul", { class: "chips" });
	const input = each.choices
		? h(
				"select",
				{ id, onkeydown: key },
				h("option", { value: "" }, say("choose")),
				each.choices.map((one) => h("option", { value: one.value }, nameOf(one)))
			)
		: h("input", {
				id,
				type: "text",
				class: "middle",
				dir: "auto",
				autocomplete: "off",
				placeholder: hasDefault(schema, ask)
					? say("isDefault", { value: [schema.default].flat().join(", ") })
					: say("enterAdds"),
				onkeydown: key,
				onpaste: paste,
				onblur: () => add()
			});
	const more = h("button", { type: "button", onclick: () => (input.value ? add() : input.focus()) }, say("addItem"));
	const box = h("div", { class: "field" }, list, h("div", { class: "pair" }, input, more));
	const typed = () => (input.value ? [input.value] : []);

	function draw() {
		list.hidden = !all.length;
		list.replaceChildren(
			...all.map((one, index) =>
				h(
					"li",
					{ class: "chip" },
					h("bdi", {}, nameIn(one)),
					h(
						"button",
						{
							type: "button",
							class: "link",
							"aria-label": say("removeWhat", { name: nameIn(one) }),
							onclick: () => remove(index)
						},
						"×"
					)
				)
			)
		);
	}

	function change(next) {
		all = next;
		draw();
		box.dispatchEvent(new Event("change", { bubbles: true }));
	}

	function add(next = typed()) {
		if (next.length) {
			input.value = "";
			change([...all, ...next]);
		}
	}

	function remove(index) {
		change(all.filter((_, place) => place !== index));
		(list.children[Math.min(index, all.length - 1)]?.querySelector("button") ?? input).focus();
	}

	function key(event) {
		if (event.key === "Enter" && !event.isComposing && input.value) {
			// Enter in an empty field sends the form, as in all other fields.
			event.preventDefault();
			event.stopPropagation();
			add();
		} else if (event.key === "Backspace" && !input.value && all.length) {
			event.preventDefault();
			input.value = all.at(-1);
			change(all.slice(0, -1));
		}
	}

	function paste(event) {
		const lines = event.clipboardData
			.getData("text")
			.split(/[\r\n]+/)
			.filter((line) => line.trim());
		if (lines.length > 1) {
			event.preventDefault();
			add([...typed(), ...lines]);
		}
	}

	draw();
	const shown = frame(schema, ask, box, id);
	return {
		...shown,
		get() {
			const now = [...all, ...typed()];
			return now.length || ask.required || value !== undefined ? now : undefined;
		},
		child: (index) => ({
			element: list.children[index] ?? input,
			say(message) {
				list.children[index]?.classList.toggle("wrong", Boolean(message));
				shown.say(message && `${clean([...all, ...typed()][index])}: ${message}`);
			},
			focus: () => (list.children[index]?.querySelector("button") ?? input).focus()
		})
	};
}
