// Shows a document of a model. Its markup is rebuilt from lists of allowed parts, and its script is interpreted: the browser runs neither.

import { globals, library, native } from "./document/globals.js";
import { computed, Elements } from "./document/elements.js";
import { interpret } from "./document/interpret.js";
import LOOKS from "./document/looks.css";
import { build, SVG_NAMESPACE, sheetOf } from "./document/markup.js";
import { beginTurn, call, Callable, exported, Facade, failure, imported, make, numberOf, Stop, table, textOf } from "./document/values.js";

/** For users who want less motion: animations are at their end at once. */
const STILL =
	"@media (prefers-reduced-motion){*,*::before,*::after{animation-duration:1ms!important;animation-delay:0s!important;animation-iteration-count:1!important;transition-duration:1ms!important;transition-delay:0s!important}}";

/** A second line of defence: the page runs no further scripts, and loads images, media and fonts only from `data:` and `blob:`. */
const POLICY =
	"default-src 'none'; script-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'";
/** How long after a click the script may call the tool, in milliseconds. */
const AFTER_CLICK = 5000;
/** Clicks within this time, in milliseconds, count as one: a click on a label also clicks its field. */
const SAME_CLICK = 60;
/** Maximum length of a call's arguments, in characters of JSON. */
const LARGEST = 100_000;
/** Maximum number of timers at a time, and the shortest delay, in milliseconds. */
const TIMERS = 50;
const SHORTEST = 15;

/** The document of a page: its elements, its script, and the functions that the script may use. */
class Shown {
	listeners = new Set();
	timers = new Map();
	ticket = 0;
	/** The time of the last click within the document that has not led to a call. */
	clicked = -Infinity;
	/** The click events that were counted already: several listeners get the same event, some of them later. */
	granted = new WeakSet();
	/** When the last click was counted. */
	granting = -Infinity;
	isAsking = false;
	isOver = false;
	waiting = [];

	constructor({ call: run, clean, h, isObject, page, plain, say, state }) {
		Object.assign(this, { run, clean, isObject, message: say, plain, state });
		document.head.append(h("style", {}, LOOKS), h("meta", { "http-equiv": "Content-Security-Policy", content: POLICY }));
		const { root, styles } = build(page.document.markup);
		this.host = h("div", { class: "document" });
		this.said = h("p", { class: "said", role: "status" });
		const shadow = this.host.attachShadow({ mode: "open" });
		shadow.adoptedStyleSheets = [...styles, STILL].map(sheetOf);
		shadow.addEventListener("submit", (event) => event.preventDefault(), true);
		shadow.append(root);
		this.element = h(
			"section",
			{ class: "face data", "aria-label": say("view") },
			this.host,
			this.said,
			h("button", { type: "button", class: "link", onclick: () => plain("") }, say("plainForm"))
		);
		this.elements = new Elements(root, (work, event) => this.turn(work, event));
		this.program = page.document.program;
	}

	/** Runs the work that an event or a timer begins. While the user is asked for consent, the work waits. */
	turn(work, event) {
		if (this.isOver) {
			return;
		}
		if (this.isAsking) {
			this.waiting.length < TIMERS && this.waiting.push([work, event]);
			return;
		}
		if (event?.isTrusted && event.type === "click" && !this.granted.has(event)) {
			const isFirst = performance.now() - this.granting > SAME_CLICK;
			this.granted.add(event);
			this.granting = performance.now();
			this.clicked = isFirst ? this.granting : this.clicked;
		}
		this.elements.isActing = Boolean(event?.isTrusted);
		try {
			beginTurn();
			work();
		} catch (problem) {
			if (problem instanceof Stop) {
				this.plain(problem.message);
			} else {
				this.say(`The view could not do that: ${problem.value?.message ?? problem.message}`);
			}
		} finally {
			this.elements.isActing = false;
		}
	}

	/** Runs the script once; throws if it fails. */
	begin() {
		beginTurn();
		interpret(this.program, this.#globals());
	}

	/** Gives the script the current input and result; throws if a listener fails. */
	update() {
		if (this.isAsking) {
			this.waiting.push([() => this.update()]);
			return;
		}
		this.api.input = imported(this.state.input);
		this.api.result = imported(this.state.result);
		beginTurn();
		this.#tell();
	}

	/** Adopts the page's theme. */
	dress() {
		this.turn(() => this.#tell());
	}

	/** Shows the user a line below the document. */
	say(text) {
		this.said.textContent = this.clean(text);
	}

	/** Ends the script for good. */
	end() {
		this.isOver = true;
		this.timers.forEach(clearTimeout);
	}

	#tell() {
		this.#theme();
		this.listeners.forEach((then) => call(then, undefined, [this.api]));
	}

	#theme() {
		const theme = document.documentElement.dataset.theme ?? "light";
		this.api.theme = theme;
		this.elements.root.dataset.theme = theme;
		this.elements.root.style.colorScheme = theme;
	}

	/** Calls the tool, if the user has just clicked within the document. The listeners get the answer. */
	#request(args) {
		const given = exported(args);
		const text = JSON.stringify(given) ?? "";
		if (!this.isObject(given) || text.length > LARGEST) {
			throw failure("TypeError", "`portcullis.call` takes an object of arguments, which is not too large");
		}
		if (performance.now() - this.clicked > AFTER_CLICK) {
			throw failure("Error", "the tool is called when the user clicks something in the view, once for each click");
		}
		this.clicked = -Infinity;
		this.#ask(JSON.parse(text), text).catch((problem) => this.say(`The view could not call the tool: ${problem.message}`));
	}

	/** Has the page call the tool. If the tool needs consent, the page asks the user first. */
	async #ask(args, text) {
		// While the user reads the question, the document is inert and keeps its height.
		this.isAsking = true;
		this.host.inert = true;
		this.host.style.height = `${this.host.getBoundingClientRect().height}px`;
		const release = () => {
			this.isAsking = this.host.inert = false;
			this.host.style.height = "";
			this.waiting.splice(0).forEach(([work, event]) => this.turn(work, event));
		};
		try {
			const result = await this.run(args, this.element, true, () => {
				this.say(this.message("sent", { what: text.slice(0, 500) }));
				release();
			});
			if (result?.isError) {
				this.api.result = imported(result);
				this.turn(() => this.#tell());
			}
		} finally {
			release();
		}
	}

	#later(then, wait, again, args) {
		if (!(then instanceof Callable)) {
			throw failure("TypeError", "a timer takes a function");
		}
		if (this.timers.size >= TIMERS) {
			throw new Stop("its script has too many timers");
		}
		const pause = Math.max(SHORTEST, numberOf(wait ?? 0) || 0);
		const id = ++this.ticket;
		const begin = () =>
			this.timers.set(
				id,
				setTimeout(() => {
					again ? begin() : this.timers.delete(id);
					this.turn(() => call(then, undefined, args ?? [performance.now()]));
				}, pause)
			);
		begin();
		return id;
	}

	#stop = (id) => {
		clearTimeout(this.timers.get(id));
		this.timers.delete(id);
	};

	#globals() {
		const all = globals();
		const later = native((then, wait, ...args) => this.#later(then, wait, false, args));
		this.api = make([
			["input", undefined],
			["result", undefined],
			["theme", "light"],
			["call", native((args) => this.#request(args))],
			[
				"listen",
				native((then) => {
					if (!(then instanceof Callable)) {
						throw failure("TypeError", "`portcullis.listen` takes a function");
					}
					this.listeners.add(then);
					call(then, undefined, [this.api]);
				})
			]
		]);
		this.api.input = imported(this.state.input);
		this.api.result = imported(this.state.result);
		this.#theme();
		Object.assign(all, {
			portcullis: this.api,
			document: this.#document(),
			getComputedStyle: native((element) => computed(this.elements.node(element))),
			setTimeout: later,
			setInterval: native((then, wait, ...args) => this.#later(then, wait, true, args)),
			requestAnimationFrame: native((then) => this.#later(then, 0, false)),
			clearTimeout: native(this.#stop),
			clearInterval: native(this.#stop),
			cancelAnimationFrame: native(this.#stop)
		});
		all.matchMedia = native((query) => this.#media(query));
		all.window = this.#window(all);
		return all;
	}

	/** Adds a listener to the document or the window. Events that are over before the script begins are delivered at once. */
	#listen = (_, type, then) => {
		const name = textOf(type);
		if (name === "DOMContentLoaded" || name === "load") {
			this.#later(then, 0, false);
		} else if (name === "resize") {
			let width;
			new ResizeObserver(([{ contentRect }]) => {
				if (width !== undefined && width !== contentRect.width) {
					this.turn(() => call(then, undefined, [make([["type", "resize"]])]));
				}
				width = contentRect.width;
			}).observe(this.host);
		} else {
			this.elements.listen(this.elements.root, name, then);
		}
	};

	#document() {
		const { elements } = this;
		const { root } = elements;
		return new Facade(
			{},
			table({
				activeElement: [() => elements.wrap(root.getRootNode().activeElement)],
				body: [() => elements.wrap(root.querySelector("body"))],
				documentElement: [() => elements.wrap(root)],
				hidden: [() => document.hidden],
				readyState: [() => "complete"],
				title: [() => "", () => undefined],
				addEventListener: this.#listen,
				createComment: () => elements.wrap(elements.text("")),
				createDocumentFragment: () => elements.wrap(document.createDocumentFragment()),
				createElement: (_, name) => elements.create(name, false),
				createElementNS: (_, space, name) => elements.create(name, space === SVG_NAMESPACE),
				createTextNode: (_, text) => elements.wrap(elements.text(text)),
				getElementById: (_, id) => elements.wrap(root.querySelector(`#${CSS.escape(textOf(id))}`)),
				getElementsByClassName: (_, name) => elements.list(root.getElementsByClassName(textOf(name))),
				getElementsByTagName: (_, name) => elements.list(root.getElementsByTagName(textOf(name))),
				querySelector: (_, selector) => elements.wrap(this.#find(selector)[0]),
				querySelectorAll: (_, selector) => elements.list(this.#find(selector)),
				removeEventListener: () => undefined
			})
		);
	}

	/** Finds elements; `:root` is the document's own `html`. */
	#find(selector) {
		const text = textOf(selector).replace(/:root\b/g, "html");
		const found = this.elements.select(this.elements.root, text);
		return this.elements.root.matches(text) ? [this.elements.root, ...found] : found;
	}

	#media(query) {
		const { matches } = matchMedia(textOf(query));
		return library({ matches, media: textOf(query), addEventListener: () => undefined, addListener: () => undefined });
	}

	#window(all) {
		const entries = Object.fromEntries(Object.keys(all).map((name) => [name, [() => all[name]]]));
		return new Facade(
			{},
			table({
				...entries,
				addEventListener: this.#listen,
				devicePixelRatio: [() => devicePixelRatio],
				innerHeight: [() => innerHeight],
				innerWidth: [() => innerWidth],
				removeEventListener: () => undefined
			})
		);
	}
}

globalThis.portcullisFace = (tools) => {
	const shown = new Shown(tools);
	shown.begin();
	return shown;
};
