// The panels beside a view: the list of tools, the answer as text, and details of a tool.

import { viewOf, visibleTo } from "./calls.js";
import { block, bytes, cut, h, isObject, pretty } from "./text.js";

/** The kinds of tools by which the list can be filtered. */
const KINDS = {
	view: (tool) => viewOf(tool) !== undefined,
	none: (tool) => viewOf(tool) === undefined,
	reads: ({ annotations }) => annotations?.readOnlyHint === true,
	changes: ({ annotations }) => annotations?.readOnlyHint !== true && annotations?.destructiveHint === false,
	destroys: ({ annotations }) => annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false
};

/**
 * Shows the tools that match a filter.
 *
 * @param wanted the filter: `words`, which must all be in a tool's name, title or description, and `kind`, one of `KINDS` or empty
 * @param select is called with the name of the selected tool
 */
export function showTools(place, count, tools, chosen, wanted, select) {
	const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
	const text = (tool) => [tool.name, tool.title, tool.description].join(" ").toLowerCase();
	const ofKind = tools.filter(KINDS[wanted.kind] ?? (() => true));
	const found = ofKind.filter((tool) => words.every((word) => text(tool).includes(word)));
	const label = (tool) => cut(tool.title ?? tool.annotations?.title ?? tool.name, 100);
	const button = (tool) =>
		h(
			"button",
			{
				"type": "button",
				"data-name": tool.name,
				"aria-current": tool.name === chosen && "true",
				"onclick": () => select(tool.name)
			},
			h("span", { class: "label" }, label(tool)),
			label(tool) !== tool.name && h("code", {}, tool.name),
			h("span", { class: "marks" }, ...marksOf(tool))
		);
	place.replaceChildren(...found.map((tool) => h("li", {}, button(tool))));
	place.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
	const views = tools.filter(viewOf).length;
	count.textContent =
		words.length > 0 || wanted.kind ? `${found.length} of ${tools.length}` : `${tools.length} tools, ${views} with a view`;
	place.onkeydown = (event) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step) {
			event.preventDefault();
			const all = [...place.querySelectorAll("button")];
			all[all.indexOf(document.activeElement) + step]?.focus();
		}
	};
}

function marksOf(tool) {
	const mark = (kind, text) => h("span", { class: `badge ${kind}` }, text);
	const who = visibleTo(tool);
	return [
		viewOf(tool) === undefined ? mark("", "no view") : mark("good", "view"),
		!who.includes("app") && mark("warn", "not callable by views"),
		!who.includes("model") && mark("", "only for views"),
		tool.annotations?.readOnlyHint === true
			? mark("", "reads")
			: tool.annotations?.destructiveHint === false
				? mark("", "changes")
				: mark("warn", "may destroy")
	];
}

/** Shows an answer as clients without views show it, or the reason why there is none. */
export function showAnswer(place, result, failure, waiting) {
	if (result === undefined) {
		const words = failure === undefined ? (waiting ?? "None yet.") : `The call failed: ${cut(failure, 2000)}`;
		place.replaceChildren(h("p", { class: failure === undefined ? "hint" : "error" }, words));
		return;
	}
	const content = Array.isArray(result.content) ? result.content : [];
	place.replaceChildren(
		...(result.isError ? [h("p", { class: "error" }, "The tool answered with an error:")] : []),
		...content.slice(0, 50).map(shown),
		...(content.length > 50 ? [h("p", { class: "hint" }, `… and ${content.length - 50} more blocks`)] : []),
		...(content.length === 0 ? [h("p", { class: "hint" }, "No text: clients without views see nothing.")] : []),
		fold("As JSON", () => block(pretty(result)))
	);
}

function shown(item) {
	if (item?.type === "text") {
		return block(String(item.text));
	}
	if (item?.type === "resource_link") {
		return h("p", {}, "Link: ", h("code", {}, cut(item.uri, 1000)));
	}
	if (item?.type === "resource" && typeof item.resource?.text === "string") {
		return h("div", {}, h("p", { class: "hint" }, cut(item.resource.uri, 1000)), block(item.resource.text));
	}
	const data = item?.data ?? item?.resource?.blob ?? "";
	const type = item?.mimeType ?? item?.resource?.mimeType ?? item?.type;
	return h(
		"p",
		{ class: "hint" },
		`${cut(type ?? "content", 100)}, ${bytes(Math.floor((String(data).length * 3) / 4))}`
	);
}

/** A part that can be opened. Its content is made when it is opened first. */
function fold(label, make) {
	const details = h("details", {}, h("summary", {}, label));
	details.addEventListener("toggle", () => details.append(make()), { once: true });
	return details;
}

/** Shows the details of a tool and of its view, for reviewers. */
export function showFacts(place, tool, page) {
	if (!tool) {
		place.replaceChildren();
		return;
	}
	const row = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
	const who = visibleTo(tool).map((one) => ({ model: "the model", app: "views" })[one] ?? one);
	place.replaceChildren(
		h(
			"dl",
			{},
			...row("Name", h("code", {}, tool.name)),
			...row("May be called by", who.join(" and ") || "nobody"),
			...(page ? row("View", h("code", {}, cut(page.uri, 1000))) : []),
			...(page ? row("Size", page.words) : [])
		),
		...(page ? [fold("Policy of the view", () => block(page.policy.replaceAll("; ", ";\n")))] : []),
		...(page?.meta ? [fold("What the view declares", () => block(pretty(page.meta)))] : []),
		...(page ? [fold("HTML of the view", () => block(page.html))] : []),
		fold("Input schema", () => block(pretty(tool.inputSchema))),
		...(tool.outputSchema ? [fold("Output schema", () => block(pretty(tool.outputSchema)))] : []),
		fold("The whole definition", () => block(pretty(tool)))
	);
}

/** Example arguments: the required properties, with the values that the schema proposes. */
export function example(schema, root = schema, depth = 0) {
	if (!isObject(schema) || depth > 8) {
		return null;
	}
	if (typeof schema.$ref === "string") {
		return example(pointed(root, schema.$ref), root, depth + 1);
	}
	const [proposed] = Array.isArray(schema.examples) ? schema.examples : [];
	const [first] = Array.isArray(schema.enum) ? schema.enum : [];
	const given = schema.const ?? schema.default ?? proposed ?? first;
	if (given !== undefined) {
		return given;
	}
	const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	switch (type) {
		case "string":
			return "";
		case "integer":
		case "number":
			return schema.minimum ?? 0;
		case "boolean":
			return false;
		case "array":
			return [];
		case "object": {
			const required = Array.isArray(schema.required) ? schema.required : [];
			return Object.fromEntries(required.map((key) => [key, example(schema.properties?.[key], root, depth + 1)]));
		}
		default:
			return depth === 0 ? {} : null;
	}
}

/** The target of a reference within a schema, if it is in the same schema. */
function pointed(root, reference) {
	const steps = reference.startsWith("#/") ? reference.slice(2).split("/") : [];
	const name = (step) => step.replaceAll("~1", "/").replaceAll("~0", "~");
	return steps.map(name).reduce((at, step) => (isObject(at) ? at[step] : undefined), root);
}
