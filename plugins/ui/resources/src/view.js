// Shows a tool by a view specification: components, without code, that are bound to data by JSON pointers.

import { area, pie } from "./view/drawn.js";
import { ICONS } from "./view/icons.js";
import LOOKS from "./view/looks.css";
import { code, diff } from "./view/written.js";

const LEVELS = 20;
const COMPONENTS = 500;
const ROWS = 5000;
const POINTS = 500;

/** Thrown if a component needs an answer that has not come yet. The component is hidden until it comes. */
const PENDING = Symbol("pending");

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** The functions and elements of the runtime. `make` sets them. */
let call, form, h, has, image, input, isObject, jsonIn, page, parts, point, run, say, showNumber, tool, view;

/** The data that pointers lead into, and the number of components shown so far. */
let data;
let count;

/** The pointers into the answer that were followed, and whether each had a target. */
let sought;

/** The target of a path: `/input…`, `/result…`, `/content…`, or `@/…` within the item of a list or table. */
function at(path, item) {
	if (typeof path !== "string" || !/^(@|\/(input|result|content)(\/|$)|@\/)/.test(path)) {
		throw new Error(`“${path}” leads neither into the input nor into the result`);
	}
	if (!path.startsWith("@")) {
		if (!path.startsWith("/input") && data.result === undefined && data.content === undefined) {
			throw PENDING;
		}
		const found = point(data, path);
		path.startsWith("/result") && sought.set(path, found !== undefined);
		return found;
	}
	return point(item, path.slice(1));
}

const FORMATS = {
	number: (value) => showNumber(value, { useGrouping: true }),
	integer: (value) => showNumber(value, { useGrouping: true, maximumFractionDigits: 0 }),
	percent: (value) => showNumber(value, { style: "percent", maximumFractionDigits: 1 }),
	bytes(value) {
		const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(value || 1) / 3)));
		return `${showNumber(value / 1000 ** power, { maximumFractionDigits: 1 })} ${UNITS[power]}`;
	},
	duration: (value) =>
		value < 60
			? `${showNumber(value, { maximumFractionDigits: 1 })} s`
			: `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`
};

function formatted(value, format) {
	if (typeof value !== "number" || format === undefined) {
		return view.scalar(typeof value === "object" && value !== null ? JSON.stringify(value) : value);
	}
	return has(FORMATS, format)
		? FORMATS[format](value)
		: showNumber(value, { style: "currency", currency: format });
}

/** The value of a literal, in which `{/pointer}` is replaced by its target, or of a binding. */
function shown(value, item) {
	if (isObject(value)) {
		return formatted(at(value.path, item), value.format);
	}
	return String(value ?? "").replace(/\{((?:@|\/(?:input|result|content))[^{}]*)\}/g, (_, path) => {
		const found = at(path, item);
		return typeof found === "number" ? showNumber(found) : isObject(found) ? JSON.stringify(found) : (found ?? "—");
	});
}

const isMet = ({ path, equals }, item) => {
	const found = at(path, item);
	return equals === undefined
		? found !== undefined && found !== null && found !== false && found.length !== 0
		: found === equals;
};

const records = (path, item) => {
	const found = at(path, item);
	return Array.isArray(found)
		? found.slice(0, ROWS)
		: found === undefined || found === null
			? []
			: Object.entries(found).map(([key, value]) => ({ key, value }));
};

/** A subset of Markdown: paragraphs, lists, bold, code. */
function markdown(text) {
	const inline = (line) =>
		line
			.split(/(\*\*[^*]+\*\*|`[^`]+`)/)
			.map((part) =>
				part.startsWith("**") && part.length > 4
					? h("strong", {}, part.slice(2, -2))
					: part.startsWith("`") && part.length > 2
						? h("code", {}, part.slice(1, -1))
						: part
			);
	return h(
		"div",
		{ class: "data" },
		text.split(/\n\s*\n/).map((block) => {
			const lines = block.split("\n");
			return lines.every((line) => /^\s*[-*] /.test(line))
				? h(
						"ul",
						{},
						lines.map((line) => h("li", {}, inline(line.replace(/^\s*[-*] /, ""))))
					)
				: h("p", {}, inline(block));
		})
	);
}

/** A shown value as plain text. */
const words = (shown) => shown.textContent ?? shown;

/** A value as text: a string as it is, other values as JSON. */
function written(value, item) {
	if (!isObject(value)) {
		return words(shown(value, item));
	}
	const found = at(value.path, item);
	return typeof found === "string" ? found : found === undefined ? "" : JSON.stringify(found, null, 2);
}

const asTable = (flat, columns) => h("details", {}, h("summary", {}, say("asTable")), view.table(flat, columns));

const TEXTS = { heading: "h2", subheading: "h3", body: "p", caption: "p", badge: "span" };

/** A box; none if all its components wait for an answer. */
const box = (kind, children, title) => children.length > 0 && h("div", { class: kind }, title, children);

const COMPONENT = {
	Column: ({ children }, item, go) => box("data", go(children)),
	Row: ({ children }, item, go) => box("row", go(children)),
	Card: ({ title, children }, item, go) => box("card", go(children), title && h("h2", {}, shown(title, item))),
	Tabs({ tabs }, item, go) {
		const panel = h("div", { role: "tabpanel" });
		const buttons = tabs.map(({ title }, index) =>
			h(
				"button",
				{
					type: "button",
					role: "tab",
					onclick: () => choose(index),
					onkeydown: ({ key }) => {
						const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
						step && choose((index + step + tabs.length) % tabs.length).focus();
					}
				},
				shown(title, item)
			)
		);
		function choose(index) {
			buttons.forEach((button, place) => {
				button.setAttribute("aria-selected", String(place === index));
				button.tabIndex = place === index ? 0 : -1;
			});
			panel.replaceChildren(...go([tabs[index].child]));
			panel.setAttribute("aria-label", buttons[index].textContent);
			return buttons[index];
		}
		choose(0);
		return h("div", { class: "data" }, h("div", { class: "actions", role: "tablist" }, buttons), panel);
	},
	Text({ text, variant = "body" }, item) {
		const said = shown(text, item);
		return variant === "markdown"
			? markdown(words(said))
			: h(TEXTS[variant] ?? "p", { class: { caption: "hint", badge: "badge" }[variant] }, said);
	},
	Metric: ({ label, value, unit }, item) =>
		h(
			"div",
			{ class: "metric" },
			h("span", { class: "hint" }, shown(label, item)),
			h("p", { class: "value" }, h("strong", {}, shown(value, item)), unit && ` ${shown(unit, item)}`)
		),
	Details: ({ rows, path }, item) =>
		rows
			? view.details(rows.map(({ label, value }) => ({ label: shown(label, item), value: shown(value, item) })))
			: view.show(at(path, item)),
	Table({ rows, columns }, item) {
		const flat = records(rows, item).map((record) =>
			Object.fromEntries(columns.map(({ path }, index) => [index, at(path, record)]))
		);
		return flat.length
			? view.table(
					flat,
					columns.map(({ label, format }, index) => ({
						key: index,
						label,
						show: format && ((record) => formatted(record[index], format))
					}))
				)
			: h("p", { class: "none" }, say("noEntries"));
	},
	Chart({ kind, rows, x, y }, item) {
		const flat = records(rows, item)
			.slice(0, 300)
			.map((record) => ({
				x: String(at(x.path, record) ?? ""),
				...Object.fromEntries(y.map(({ path }, index) => [index, at(path, record)]))
			}));
		const series = y
			.slice(0, 5)
			.map(({ label }, index) => ({ key: index, label }))
			.filter(({ key }) => flat.some((record) => Number.isFinite(record[key])));
		const across = { key: "x", label: x.label };
		const drawn =
			flat.length > 0 &&
			series.length > 0 &&
			(kind === "pie"
				? pie(
						{ h, say, showNumber },
						flat.map((record) => ({ name: record.x, value: Number(record[series[0].key]) })),
						say("whatBy", { what: series[0].label, across: x.label })
					)
				: kind === "area"
					? area({ h, say, showNumber, ticks: parts.ticks }, flat, across, series)
					: parts.draw(flat, across, series, kind));
		return drawn
			? h("div", { class: "data" }, drawn, asTable(flat, [across, ...series]))
			: h("p", { class: "none" }, say("noDrawing"));
	},
	Map({ points, latitude, longitude, label }, item) {
		const found = records(points, item)
			.slice(0, POINTS)
			.map((record) => ({
				lat: at(latitude, record),
				lon: at(longitude, record),
				name: label ? words(shown(label, record)) : ""
			}))
			.filter(
				({ lat, lon }) =>
					Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180
			);
		return found.length
			? h(
					"div",
					{ class: "data" },
					parts.places(found),
					asTable(found, [
						{ key: "name", label: say("place") },
						{ key: "lat", label: say("latitude") },
						{ key: "lon", label: say("longitude") }
					])
				)
			: h("p", { class: "none" }, say("noPlaces"));
	},
	Timeline({ items, time, title, text }, item) {
		const found = records(items, item).slice(0, 200);
		return found.length
			? h(
					"ol",
					{ class: "timeline" },
					found.map((one) =>
						h(
							"li",
							{},
							h("time", {}, formatted(at(time.path, one), time.format)),
							h("strong", {}, shown(title, one)),
							text && h("p", {}, shown(text, one))
						)
					)
				)
			: h("p", { class: "none" }, say("noEntries"));
	},
	Code: ({ text, language }, item) => code({ h, say }, written(text, item), language),
	Diff: ({ before, after }, item) => diff({ h, say }, parts.compare(written(before, item), written(after, item))),
	Divider: () => h("hr", {}),
	Icon: ({ name, label }, item) =>
		h(
			"span",
			{ class: "icon" },
			h(
				"svg",
				{ viewBox: "0 0 24 24", "aria-hidden": "true" },
				h("path", { d: has(ICONS, name) ? ICONS[name] : fail(`there is no icon “${name}”`) })
			),
			label && h("span", {}, shown(label, item))
		),
	Modal({ label, title, children }, item, go) {
		const body = h("div", { class: "data" });
		const name = words(shown(title ?? label, item));
		const dialog = h(
			"dialog",
			{ "aria-label": name, onclose: () => (document.body.style.minHeight = "") },
			h(
				"div",
				{ class: "title" },
				h("h2", {}, name),
				h("button", { type: "button", onclick: () => dialog.close() }, say("close"))
			),
			body
		);
		const open = () => {
			try {
				const shown = go(children);
				body.replaceChildren(...(shown.length ? shown : [h("p", { class: "none" }, say("nothingYet"))]));
			} catch (problem) {
				body.replaceChildren(h("p", { class: "none" }, say("otherwise", { reason: problem.message })));
			}
			dialog.showModal();
			// The page gets a minimum height, so that a host that adapts the frame to it gives the dialog room. The frame may
			// be higher than the screen, so the dialog is shown beside the button.
			document.body.style.minHeight = `${Math.min(dialog.scrollHeight + 64, 600)}px`;
			const top = Math.min(button.getBoundingClientRect().top, innerHeight - dialog.offsetHeight - 12);
			dialog.style.marginTop = `${Math.max(12, top)}px`;
		};
		const button = h("button", { type: "button", onclick: open }, shown(label, item));
		return h("div", { class: "open" }, button, dialog);
	},
	Slider({ path, label, min, max, step }, item) {
		const name = path.replace("/input/", "");
		const field = form.part(name)?.querySelector("input");
		if (!field) {
			fail(`the tool takes no number “${name}”`);
		}
		const schema = tool.inputSchema?.properties?.[name] ?? {};
		const whole = schema.type === "integer";
		const [least, most] = [min ?? schema.minimum ?? 0, max ?? schema.maximum ?? 100];
		const range = h("input", {
			type: "range",
			"aria-label": words(shown(label, item)),
			min: least,
			max: most,
			step: step ?? schema.multipleOf ?? (whole ? 1 : (most - least) / 100 || 1),
			oninput() {
				field.value = range.value;
				field.dispatchEvent(new Event("input", { bubbles: true }));
				told();
			}
		});
		const now = h("output", {});
		const told = () => (now.textContent = field.value.trim() === "" ? say("notSet") : showNumber(Number(range.value)));
		const follow = () => {
			range.value = field.value.trim() === "" ? least : field.value;
			told();
		};
		field.addEventListener("input", follow);
		follow();
		return h("div", { class: "slider" }, h("label", { "aria-hidden": "true" }, shown(label, item)), range, now);
	},
	List: ({ items, child }, item, go) =>
		h(
			"div",
			{ class: "cards" },
			records(items, item)
				.slice(0, 200)
				.flatMap((one) => go([child], one))
		),
	Image({ path, mimeType = "image/png", alt }, item) {
		const found = at(path, item);
		return isObject(found)
			? image(found.data, found.mimeType, shown(alt, item))
			: typeof found === "string"
				? image(found, mimeType, shown(alt, item))
				: undefined;
	},
	Form: () => input,
	Field: ({ path }) => form.part(path.replace("/input/", "")) ?? fail(`the tool takes no “${path}”`),
	Button: ({ label, arguments: args }, item) => {
		const button = h(
			"button",
			{
				type: "button",
				class: "primary",
				onclick: () =>
					args
						? call(
								{
									...form.read(),
									...Object.fromEntries(
										Object.entries(args)
											.map(([name, value]) => [
												name,
												isObject(value) && has(value, "path") ? at(value.path, item) : value
											])
											.filter(([, value]) => value !== undefined)
									)
								},
								button,
								true
							)
						: run(button).then((sent) => sent || reveal())
			},
			shown(label, item)
		);
		return button;
	}
};

const fail = (reason) => {
	throw new Error(reason);
};

/** Unfolds the form if it has an error. */
const reveal = () => {
	const folded = input.closest("details");
	if (folded && form.element.querySelector(".error:not([hidden])")) {
		folded.open = true;
	}
};

function render(component, item, where, level) {
	if (!isObject(component) || !has(COMPONENT, component.component)) {
		fail(`${where}: ${component?.component ?? "this"} is no component`);
	}
	if (level > LEVELS || ++count > COMPONENTS * 20) {
		fail(`${where}: there are too many components`);
	}
	try {
		if (component.when && !isMet(component.when, item)) {
			return [];
		}
		const go = (children, inner = item) =>
			children.flatMap((child, index) => render(child, inner, `${where}/${index}`, level + 1));
		return [COMPONENT[component.component](component, item, go)].filter(Boolean);
	} catch (problem) {
		if (problem === PENDING) {
			return [];
		}
		throw problem.at
			? problem
			: Object.assign(new Error(`${where} (${component.component}): ${problem.message}`), { at: where });
	}
}

/** Makes the face of the page. The runtime calls this once it is ready. */
function make(kit) {
	({ call, form, h, has, image, input, isObject, jsonIn, page, parts, point, run, say, showNumber, tool, view } = kit);
	const { version, root } = page.view;
	const element = h("section", { class: "face data", "aria-label": say("view") });
	const rest = h("details", { class: "raw" }, h("summary", {}, say("allInput")));
	document.head.append(h("style", {}, LOOKS));
	return {
		element,
		update({ input: args, result }) {
			if (version !== 1) {
				fail(`it is of version ${version}, and this page knows 1`);
			}
			const held = document.activeElement;
			const { structuredContent, content } = result ?? {};
			data = {
				input: args ?? form.read(),
				content,
				result:
					structuredContent ??
					content?.map?.((one) => jsonIn(one?.text ?? "")).find((one) => one !== undefined) ??
					content?.[0]?.text
			};
			count = 0;
			sought = new Map();
			const rendered = render(root, undefined, "root", 0);
			if (sought.size > 0 && ![...sought.values()].some(Boolean)) {
				throw new Error(`nothing of what it shows is in the answer: ${[...sought.keys()].slice(0, 5).join(", ")}`);
			}
			element.replaceChildren(...rendered);
			if (!element.contains(input)) {
				const placed = element.querySelector("button.primary");
				rest.append(input);
				rest.open = !placed;
				element.append(rest);
			}
			held?.isConnected && held.focus();
		}
	};
}

globalThis.portcullisFace = make;
