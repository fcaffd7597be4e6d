// The elements of a document as an interpreted script sees them: facades, never the elements themselves.

import { act, isContained, makeElement, read, setAttribute, write } from "./markup.js";
import { drawing } from "./canvas.js";
import { call, Callable, Facade, failure, isNothing, make, numberOf, Stop, table, textOf, tick } from "./values.js";

/** Maximum nesting of elements. */
const DEEPEST = 250;
/** Maximum number of elements and texts that a script makes. */
const NODES = 50_000;
const EVENTS = new Set(
	(
		"animationend blur change click contextmenu dblclick focus focusin focusout input keydown keyup mousedown mouseenter mouseleave " +
		"mousemove mouseout mouseover mouseup pointercancel pointerdown pointerenter pointerleave pointermove pointerout " +
		"pointerover pointerup reset scroll submit toggle touchcancel touchend touchmove touchstart transitionend wheel"
	).split(" ")
);

const SUBMITS = "button:not([type=button]):not([type=reset]), input[type=submit]";

const facades = new WeakMap();
const listeners = new WeakMap();

/** The elements of a document. `turn(work, event)` runs the work that an event begins. */
export class Elements {
	made = 0;
	/** Whether the running code handles an action of the user within the document. */
	isActing = false;

	constructor(root, turn) {
		this.root = root;
		this.turn = turn;
		this.tables = [this.#element(), this.#text()];
	}

	/** The facade of a node for the script; `null` for nodes outside its document. */
	wrap(node) {
		if (!(node instanceof Node) || node instanceof Document || node instanceof ShadowRoot || (read(node, "isConnected") && !this.root.contains(node))) {
			return null;
		}
		if (!facades.has(node)) {
			facades.set(node, new Facade(node, node instanceof Element || node instanceof DocumentFragment ? this.tables[0] : this.tables[1]));
		}
		return facades.get(node);
	}

	list = (nodes) => [...nodes].map((node) => this.wrap(node));

	/** Makes an element for the script. */
	create(name, isSvg) {
		this.count();
		const element = makeElement(textOf(name), isSvg);
		if (!element) {
			throw failure("TypeError", `there is no element “${textOf(name).slice(0, 40)}” here`);
		}
		return this.wrap(element);
	}

	count(nodes = 1) {
		tick(10 * nodes);
		this.made += nodes;
		if (this.made > NODES) {
			throw new Stop("its script makes too many elements");
		}
	}

	/** Moves the focus, but only while the user acts within the document. */
	focus(node) {
		this.isActing && act(node, "focus", { preventScroll: true });
	}

	text(value) {
		this.count();
		return document.createTextNode(textOf(value));
	}

	/** The nodes to insert: the nodes of facades, and text nodes for all other values. */
	nodes = (values, target) => {
		const room = DEEPEST - levelOf(target);
		return values.map((value) => {
			const node = value instanceof Facade && value.thing instanceof Node ? this.#beside(value.thing) : this.text(value);
			if (isHigher(node, room)) {
				throw new Stop("its script nests elements too deep");
			}
			return node;
		});
	};

	node(value) {
		if (!(value instanceof Facade && value.thing instanceof Node)) {
			throw failure("TypeError", `${textOf(value)} is not an element`);
		}
		return value.thing;
	}

	select(node, selector) {
		const text = textOf(selector);
		try {
			return act(node, "querySelectorAll", text);
		} catch {
			throw failure("SyntaxError", `“${text}” is not a selector`);
		}
	}

	/** Adds a listener, or replaces the listener of an `on…` property. */
	listen(node, type, then, { once = false, slot = then } = {}) {
		const all = listeners.get(node) ?? new Map();
		listeners.set(node, all);
		const key = all.get(slot) ?? all.set(slot, new Map()).get(slot);
		if (key.has(type)) {
			for (const kind of type === "submit" ? ["click", "keydown"] : [type]) {
				act(node, "removeEventListener", kind, key.get(type));
			}
			key.delete(type);
		}
		if (!(then instanceof Callable)) {
			return;
		}
		if (!EVENTS.has(type)) {
			return;
		}
		tick(20);
		if (type === "submit") {
			this.#submit(node, then, key);
			return;
		}
		const heard = (event) => this.turn(() => call(then, this.wrap(node) ?? undefined, [this.event(event)]), event);
		key.set(type, heard);
		act(node, "addEventListener", type, heard, { once });
	}

	/**
	 * Adds a listener for `submit`. Many hosts do not let views submit forms, so the event is emulated: a click on a
	 * submit button of the form calls the listener, and the Enter key in a field clicks the first submit button.
	 */
	#submit(form, then, key) {
		const heard = (event) => {
			const target = event.target instanceof Element ? event.target : form;
			const isEnter = event.key === "Enter" && target.matches("input") && !event.isComposing;
			const button = act(isEnter ? form : target, isEnter ? "querySelector" : "closest", SUBMITS);
			if (event.type === "keydown" ? isEnter && button : button && act(form, "contains", button)) {
				event.preventDefault();
				if (event.type === "keydown") {
					button.click();
				} else if (!(form instanceof HTMLFormElement) || HTMLFormElement.prototype.reportValidity.call(form)) {
					this.turn(() => call(then, this.wrap(form), [this.event(event, "submit")]), event);
				}
			}
		};
		key.set("submit", heard);
		act(form, "addEventListener", "click", heard);
		act(form, "addEventListener", "keydown", heard);
	}

	event(event, type = event.type) {
		const seen = make();
		for (const name of EVENT_VALUES) {
			event[name] === undefined || (seen[name] = event[name]);
		}
		seen.type = type;
		const [target, current, related] = [event.composedPath?.()[0] ?? event.target, event.currentTarget, event.relatedTarget];
		return new Facade(
			event,
			table({
				...Object.fromEntries(Object.entries(seen).map(([name, value]) => [name, [() => value]])),
				target: [() => this.wrap(target instanceof Node && this.root.contains(target) ? target : this.root)],
				currentTarget: [() => this.wrap(current instanceof Node ? current : this.root)],
				relatedTarget: [() => this.wrap(related instanceof Node && this.root.contains(related) ? related : null)],
				defaultPrevented: [() => event.defaultPrevented],
				preventDefault: () => event.preventDefault(),
				stopImmediatePropagation: () => event.stopImmediatePropagation(),
				stopPropagation: () => event.stopPropagation()
			})
		);
	}

	#text() {
		const value = [(node) => read(node, "data"), (node, text) => write(node, "data", textOf(text))];
		return table({
			...this.#tree(),
			data: value,
			nodeValue: value,
			textContent: value
		});
	}

	#tree() {
		const step = (name) => [(node) => (node === this.root ? null : this.wrap(read(node, name)))];
		return {
			isConnected: [(node) => read(node, "isConnected")],
			nextElementSibling: step("nextElementSibling"),
			nextSibling: step("nextSibling"),
			nodeName: [(node) => read(node, "nodeName")],
			nodeType: [(node) => read(node, "nodeType")],
			parentElement: step("parentElement"),
			parentNode: step("parentNode"),
			previousElementSibling: step("previousElementSibling"),
			previousSibling: step("previousSibling"),
			after: (node, ...more) => act(this.#beside(node), "after", ...this.nodes(more, node)),
			before: (node, ...more) => act(this.#beside(node), "before", ...this.nodes(more, node)),
			remove: (node) => act(this.#beside(node), "remove"),
			replaceWith: (node, ...more) => act(this.#beside(node), "replaceWith", ...this.nodes(more, node)),
			addEventListener: (node, type, then, how) =>
				this.listen(node, textOf(type), then, { once: Boolean(how && typeof how === "object" && how.once) }),
			removeEventListener: (node, type, then) => this.listen(node, textOf(type), undefined, { slot: then })
		};
	}

	/** A node that may be moved. The root may not. */
	#beside(node) {
		if (node === this.root) {
			throw failure("TypeError", "the document itself cannot be moved");
		}
		return node;
	}

	#element() {
		const children = (name) => [(node) => this.list(read(node, name) ?? [])];
		const one = (name) => [(node) => this.wrap(read(node, name))];
		return table({
			...this.#tree(),
			...reflected(),
			"*": [
				undefined,
				(node, key, value) => {
					if (/^on[a-z]+$/.test(key)) {
						this.listen(node, key.slice(2), value, { slot: key });
					} else if (/^aria[A-Z][A-Za-z]+$/.test(key)) {
						setAttribute(node, `aria-${key.slice(4).toLowerCase()}`, textOf(value));
					} else if (FORBIDDEN.has(key)) {
						throw failure("TypeError", `“${key}” cannot be set here: make elements, and use \`textContent\``);
					} else {
						facades.get(node).extra[key] = value;
					}
				}
			],
			childElementCount: [(node) => read(node, "childElementCount")],
			childNodes: children("childNodes"),
			children: children("children"),
			cells: children("cells"),
			classList: [(node) => new Facade(read(node, "classList"), CLASSES)],
			dataset: [(node) => new Facade(read(node, "dataset"), DATA)],
			firstChild: one("firstChild"),
			firstElementChild: one("firstElementChild"),
			lastChild: one("lastChild"),
			lastElementChild: one("lastElementChild"),
			innerHTML: [undefined, (node, text) => this.#content(node, text)],
			innerText: [(node) => read(node, "textContent"), (node, text) => this.#content(node, text, true)],
			options: children("options"),
			rows: children("rows"),
			selectedOptions: children("selectedOptions"),
			style: [(node) => new Facade(read(node, "style"), STYLE), (node, text) => setAttribute(node, "style", textOf(text))],
			tagName: [(node) => read(node, "tagName")],
			textContent: [(node) => read(node, "textContent"), (node, text) => this.#content(node, text, true)],
			...this.#methods()
		});
	}

	/** Sets the text of a node. `innerHTML` takes only text without markup. */
	#content(node, value, isText) {
		const text = isNothing(value) ? "" : textOf(value);
		if (!isText && /[<&]/.test(text)) {
			throw failure("TypeError", "`innerHTML` takes no markup here: make elements, and use `textContent`");
		}
		write(node, "textContent", text);
	}

	#methods() {
		const put = (name) => (node, ...values) => act(node, name, ...this.nodes(values, node));
		return {
			append: put("append"),
			prepend: put("prepend"),
			replaceChildren: put("replaceChildren"),
			appendChild: (node, child) => {
				act(node, "append", ...this.nodes([child], node));
				return child;
			},
			insertBefore: (node, child, before) => {
				act(node, "insertBefore", ...this.nodes([child], node), isNothing(before) ? null : this.node(before));
				return child;
			},
			removeChild: (node, child) => {
				act(node, "removeChild", this.node(child));
				return child;
			},
			replaceChild: (node, child, old) => {
				act(node, "replaceChild", ...this.nodes([child], node), this.node(old));
				return old;
			},
			cloneNode: (node, deep) => {
				this.count(deep ? sizeOf(node) : 1);
				return this.wrap(act(node, "cloneNode", Boolean(deep)));
			},
			closest: (node, selector) => {
				return this.wrap(act(node, "closest", textOf(selector)));
			},
			contains: (node, other) => other instanceof Facade && other.thing instanceof Node && act(node, "contains", other.thing),
			getAttribute: (node, name) => act(node, "getAttribute", textOf(name)),
			getBoundingClientRect: (node) => {
				const box = act(node, "getBoundingClientRect");
				return make(["x", "y", "left", "top", "right", "bottom", "width", "height"].map((name) => [name, box[name]]));
			},
			getContext: (node, kind) =>
				node instanceof HTMLCanvasElement && kind === "2d" ? drawing(node.getContext("2d"), this.wrap(node)) : null,
			hasAttribute: (node, name) => act(node, "hasAttribute", textOf(name)),
			hasChildNodes: (node) => act(node, "hasChildNodes"),
			matches: (node, selector) => act(node, "matches", textOf(selector)),
			querySelector: (node, selector) => this.wrap(this.select(node, selector)[0]),
			querySelectorAll: (node, selector) => this.list(this.select(node, selector)),
			removeAttribute: (node, name) => act(node, "removeAttribute", textOf(name)),
			setAttribute: (node, name, value) => setAttribute(node, textOf(name), textOf(value)),
			setAttributeNS: (node, _, name, value) => setAttribute(node, textOf(name), textOf(value)),
			toggleAttribute: (node, name, force) => {
				const attribute = textOf(name);
				const is = force === undefined ? !act(node, "hasAttribute", attribute) : Boolean(force);
				is ? setAttribute(node, attribute, "") : act(node, "removeAttribute", attribute);
				return is;
			},
			blur: () => undefined,
			focus: (node) => this.focus(node),
			scrollIntoView: () => undefined,
			select: () => undefined,
			getTotalLength: (node) => (node instanceof SVGGeometryElement ? node.getTotalLength() : 0)
		};
	}
}

/** The depth of a node, in nodes. */
function levelOf(node) {
	let level = 0;
	for (let one = node; one && level <= DEEPEST; one = read(one, "parentNode")) {
		level += 1;
	}
	return level;
}

/** Whether the elements in a node are nested deeper than `room`. */
function isHigher(node, room) {
	if (room <= 0) {
		return true;
	}
	tick();
	for (let child = read(node, "firstElementChild"); child; child = read(child, "nextElementSibling")) {
		if (isHigher(child, room - 1)) {
			return true;
		}
	}
	return false;
}

/** The number of nodes of a tree. */
function sizeOf(node) {
	let size = 0;
	for (const walker = document.createTreeWalker(node); walker.currentNode; ) {
		size += 1;
		tick();
		if (!walker.nextNode()) {
			break;
		}
	}
	return size;
}

const FORBIDDEN = new Set(["outerHTML", "srcdoc", "href", "action", "formAction", "target"]);

const EVENT_VALUES =
	"altKey button buttons clientX clientY code ctrlKey deltaX deltaY deltaMode detail key metaKey movementX movementY newState offsetX offsetY oldState pageX pageY pointerId pointerType repeat shiftKey timeStamp type".split(
		" "
	);

const MEASURES = "clientHeight clientWidth offsetHeight offsetLeft offsetTop offsetWidth scrollHeight scrollWidth".split(" ");

/** Properties that reflect attributes, and measures such as widths. */
function reflected() {
	const entries = {};
	for (const name of MEASURES) {
		entries[name] = [(node) => plainOf(read(node, name))];
	}
	for (const name of ["checked", "disabled", "hidden", "indeterminate", "multiple", "open", "readOnly", "required", "selected"]) {
		entries[name] = [(node) => plainOf(read(node, name)), (node, value) => write(node, name, Boolean(value))];
	}
	for (const name of ["colSpan", "height", "rowSpan", "scrollLeft", "scrollTop", "selectedIndex", "tabIndex", "valueAsNumber", "width"]) {
		entries[name] = [(node) => plainOf(read(node, name)), (node, value) => writeNumber(node, name, value)];
	}
	for (const [name, attribute] of Object.entries(TEXTS)) {
		entries[name] = [(node) => plainOf(read(node, name)), (node, value) => setAttribute(node, attribute, textOf(value))];
	}
	entries.value = [(node) => plainOf(read(node, "value")), (node, value) => write(node, "value", isNothing(value) ? "" : textOf(value))];
	entries.text = [(node) => plainOf(read(node, "text")), (node, value) => write(node, "textContent", textOf(value))];
	entries.type = [(node) => plainOf(read(node, "type")), (node, value) => setAttribute(node, "type", textOf(value))];
	return entries;
}

const TEXTS = {
	alt: "alt",
	className: "class",
	dateTime: "datetime",
	dir: "dir",
	htmlFor: "for",
	id: "id",
	label: "label",
	lang: "lang",
	max: "max",
	min: "min",
	name: "name",
	pattern: "pattern",
	placeholder: "placeholder",
	role: "role",
	scope: "scope",
	src: "src",
	step: "step",
	title: "title"
};

/** The primitive value of a property. SVG has objects where HTML has strings. */
function plainOf(value) {
	const plain = typeof value === "object" ? (value?.baseVal?.value ?? value?.baseVal) : value;
	return typeof plain === "object" || typeof plain === "function" ? null : plain;
}

function writeNumber(node, name, value) {
	const number = numberOf(value);
	if (name === "tabIndex" && number > 0) {
		throw failure("TypeError", "`tabIndex` is 0 or -1 here");
	}
	if (node instanceof HTMLCanvasElement && number > 8192) {
		throw new Stop("its script makes a canvas that is too large");
	}
	write(node, name, number);
}

const CLASSES = table({
	length: [(list) => list.length],
	value: [(list) => list.value, (list, value) => (list.value = textOf(value))],
	add: (list, ...names) => list.add(...names.map((one) => textOf(one))),
	contains: (list, name) => list.contains(textOf(name)),
	item: (list, index) => list.item(numberOf(index)),
	remove: (list, ...names) => list.remove(...names.map((one) => textOf(one))),
	replace: (list, from, to) => list.replace(textOf(from), textOf(to)),
	toggle: (list, name, force) => list.toggle(textOf(name), ...(force === undefined ? [] : [Boolean(force)]))
});

const DATA = table({
	"*": [
		(data, key) => (Object.hasOwn(data, key) ? data[key] : undefined),
		(data, key, value) => (data[key] = textOf(value)),
		(data, key) => delete data[key],
		(data) => Object.keys(data)
	]
});

function writeStyle(style, name, value) {
	const text = isNothing(value) ? "" : textOf(value);
	if (!isContained(text)) {
		throw failure("TypeError", `a style cannot be “${text.slice(0, 40)}”: it would load something`);
	}
	const isImportant = /\s*!important\s*$/.test(text);
	style.setProperty(name, text.replace(/\s*!important\s*$/, ""), isImportant ? "important" : "");
}

const dashed = (name) => (name === "cssFloat" ? "float" : name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));

const STYLE = table({
	cssText: [
		(style) => style.cssText,
		(style, text) => {
			const css = textOf(text);
			if (!isContained(css)) {
				throw failure("TypeError", "a style cannot load anything");
			}
			style.cssText = css;
		}
	],
	getPropertyValue: (style, name) => style.getPropertyValue(textOf(name)),
	removeProperty: (style, name) => style.removeProperty(textOf(name)),
	setProperty: (style, name, value) => writeStyle(style, textOf(name), value),
	"*": [(style, key) => style.getPropertyValue(dashed(key)), (style, key, value) => writeStyle(style, dashed(key), value)]
});

/** The facade of a computed style, for `getComputedStyle`. */
export const computed = (element) =>
	new Facade(
		getComputedStyle(element),
		table({
			getPropertyValue: (style, name) => style.getPropertyValue(textOf(name)),
			"*": [(style, key) => style.getPropertyValue(dashed(key)), () => undefined]
		})
	);
