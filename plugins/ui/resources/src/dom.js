// Makes elements from untrusted text, and shows numbers and times in the format of the host's user.

import { say } from "./say.js";

/** The user's locale and time zone, as the host sends them. `settle` in context.js sets them. */
export const user = { locale: undefined, timeZone: undefined };

/** Characters that reorder or hide the text around them, and control characters. */
const DECEIVING = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Sanitises untrusted text for display: replaces deceptive characters by a visible mark. */
export const clean = (text) => String(text).replace(DECEIVING, "\ufffd");

const SVG = ["svg", "g", "path", "line", "rect", "circle", "text", "title"];

/** Elements, and sanitised text, for an element to hold. */
export const nodes = (children) =>
	children
		.flat()
		.filter((child) => (child ?? false) !== false)
		.map((child) => (child instanceof Node ? child : clean(child)));

/**
 * Makes an element. Strings become text, never markup. A function given as `onX` listens to X;
 * `undefined`, `null` and `false` leave an attribute or a child out.
 */
export function h(tag, attributes, ...children) {
	const element = SVG.includes(tag)
		? document.createElementNS("http://www.w3.org/2000/svg", tag)
		: document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (typeof value === "function") {
			element.addEventListener(name.slice(2), value);
		} else if (value !== undefined && value !== null && value !== false) {
			element.setAttribute(name, value === true ? "" : clean(value));
		}
	}
	element.append(...nodes(children));
	return element;
}

let ids = 0;

/** An id for an element, unique in the page. */
export const freshId = () => `p${++ids}`;

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

export const has = (object, key) => isObject(object) && Object.hasOwn(object, key);

/** The same text for the same JSON, whatever the order of its keys. */
export const canon = (value) =>
	JSON.stringify(value, (_, inner) =>
		isObject(inner)
			? Object.fromEntries(
					Object.keys(inner)
						.sort()
						.map((key) => [key, inner[key]])
				)
			: inner
	);

export function equal(a, b) {
	try {
		return canon(a) === canon(b);
	} catch {
		// Values nested deeper than the stack allows count as different.
		return false;
	}
}

/** JSON for people. Deceptive characters stay escaped. */
export const pretty = (value) =>
	(JSON.stringify(value, null, 2) ?? "").replace(
		DECEIVING,
		(char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
	);

export function showNumber(value, options) {
	try {
		return new Intl.NumberFormat(user.locale, {
			maximumFractionDigits: 20,
			useGrouping: "min2",
			...options
			// Removes the rounding errors of binary fractions.
		}).format(Number.isInteger(value) ? value : Number(value.toPrecision(15)));
	} catch {
		return String(value);
	}
}

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** An ISO date or time in milliseconds since 1970; `undefined` for other values. */
export const timeOf = (value) => {
	const time = typeof value === "string" && TIME.test(value) ? Date.parse(value) : NaN;
	return Number.isNaN(time) ? undefined : time;
};

const inZone = (time, timeZone, options) => new Intl.DateTimeFormat(user.locale, { timeZone, ...options }).format(time);

/** The name of the user's time zone at a time, such as `CET` or `GMT+9`. */
const zoneName = (time) =>
	new Intl.DateTimeFormat(user.locale, { timeZone: user.timeZone, timeZoneName: "short" })
		.formatToParts(time)
		.find(({ type }) => type === "timeZoneName").value;

/**
 * An ISO date or time in the user's format. A time without a zone is not converted. A time with an offset keeps the offset,
 * and the user's time is shown beside it if it differs, with its date if that differs. A time in UTC is shown in the user's time zone, with the zone's name.
 * With `options`, as on the axis of a chart, times with a zone are shown in the user's time zone, without its name.
 */
export function showTime(value, options) {
	const time = timeOf(value);
	const zone = /(Z|[+-]\d\d:\d\d)$/.exec(value.split("T")[1] ?? "")?.[1];
	try {
		if (!value.includes("T")) {
			return inZone(time, "UTC", options ?? { dateStyle: "medium" });
		}
		const style = { dateStyle: "medium", timeStyle: "short" };
		if (!zone || options) {
			return inZone(time, zone && user.timeZone, options ?? style);
		}
		const users = `${inZone(time, user.timeZone, style)} ${zoneName(time)}`;
		if (/^(Z|[+-]00:00)$/.test(zone)) {
			return users;
		}
		const offset = (zone[0] === "-" ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))) * 60_000;
		const theirs = inZone(time + offset, "UTC", style);
		if (inZone(time, user.timeZone, style) === theirs) {
			return `${theirs} ${zone}`;
		}
		const day = { dateStyle: "medium" };
		const isSameDay = inZone(time, user.timeZone, day) === inZone(time + offset, "UTC", day);
		return `${theirs} ${zone} (${isSameDay ? `${inZone(time, user.timeZone, { timeStyle: "short" })} ${zoneName(time)}` : users})`;
	} catch {
		return value;
	}
}

/** Puts `items` into `box` in portions: the first `size` at once, further ones when the user asks. */
export function cut(box, items, size, make) {
	let shown = 0;
	const more = h("button", {
		type: "button",
		class: "link",
		onclick: () => {
			grow();
			// The focus does not stay on a hidden button.
			if (more.hidden) {
				box.tabIndex = -1;
				box.focus({ preventScroll: true });
			}
		}
	});
	const grow = () => {
		const next = items.slice(shown, shown + size);
		shown += next.length;
		more.before(...nodes([make(next)]));
		more.textContent = say("more", { count: items.length - shown });
		more.hidden = shown >= items.length;
	};
	box.append(more);
	grow();
	return box;
}

/** The path of an element within a box: the indices of its ancestors and of itself. */
function wayTo(box, element) {
	const way = [];
	for (let at = element; at !== box; at = at.parentNode) {
		way.unshift([...at.parentNode.children].indexOf(at));
	}
	return way;
}

/** Has `work` fill a box again, and keeps the focus: on the element at the same place, or else on the box. */
export function steady(box, work) {
	const held = document.activeElement;
	const way = box.contains(held) && held !== box && wayTo(box, held);
	work();
	if (way && !held.isConnected) {
		const same = way.reduce((at, place) => at?.children[place], box);
		(same?.tagName === held.tagName ? same : box).focus({ preventScroll: true });
	}
}

/** A long text, shown in portions. */
export const longText = (text, tag = "pre") => cut(h(tag, { class: "text", ...(tag === "pre" && { "tabindex": 0, "role": "group", "aria-label": say("text") }) }), text, 4000, clean);
