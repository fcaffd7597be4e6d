// Makes elements from untrusted text.

/** Characters that reorder or hide the text around them, and control characters. */
const DECEIVING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const escaped = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Sanitises untrusted text for display: writes deceptive characters as escapes. */
export const clean = (text) => String(text).replaceAll("\r\n", "\n").replace(DECEIVING, escaped);

/** Sanitises a text and cuts it to a maximum length. */
export const cut = (text, most) => {
	const whole = clean(text);
	return whole.length <= most ? whole : `${whole.slice(0, most)} … (${whole.length - most} more characters)`;
};

/** JSON for people. */
export const pretty = (value) => clean(JSON.stringify(value, null, 2) ?? "");

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A number of bytes for people. */
export const bytes = (count) =>
	count < 1000
		? `${count} B`
		: count < 1_000_000
			? `${(count / 1000).toFixed(1)} KB`
			: `${(count / 1e6).toFixed(1)} MB`;

/**
 * Makes an element. Strings become text, never markup; a function given as `onX` listens to X; `undefined`, `null`
 * and `false` leave an attribute or a child out.
 */
export function h(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (typeof value === "function") {
			element.addEventListener(name.slice(2), value);
		} else if (value !== undefined && value !== null && value !== false) {
			element.setAttribute(name, value === true ? "" : clean(value));
		}
	}
	const shown = children.flat().filter((child) => child !== undefined && child !== null && child !== false);
	element.append(...shown.map((child) => (child instanceof Node ? child : clean(child))));
	return element;
}

/** A text in a box of its own. A long text is cut, with a button that shows the rest. */
export function block(text, most = 4000) {
	const whole = clean(text);
	const shown = h("pre", { tabindex: "0" }, whole.slice(0, most));
	if (whole.length <= most) {
		return shown;
	}
	const more = h("button", { type: "button", class: "quiet", onclick: () => grow() }, "");
	const box = h("div", {}, shown, more);
	let length = most;
	const label = () => (more.textContent = `Show more (${whole.length - length} characters are left)`);
	const grow = () => {
		length += 100_000;
		shown.textContent = whole.slice(0, length);
		if (length < whole.length) {
			label();
		} else {
			shown.focus();
			more.remove();
		}
	};
	label();
	return box;
}
