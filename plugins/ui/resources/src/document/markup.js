// Builds the elements of a model's document, with the elements, attributes and styles that documents may have.
//
// An inert parser reads the document. Each element that is in the lists below is then made again. Nothing else in the
// document becomes an element, an attribute or a CSS rule. Nothing in the lists can load something, navigate or run code.

import { failure } from "./values.js";

const words = (text) => new Set(text.split(/\s+/));

const HTML = words(
	"a abbr address article aside b bdi bdo blockquote body br button canvas caption cite code col colgroup data datalist dd del " +
		"details dfn div dl dt em fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html i img input ins " +
		"kbd label legend li main mark menu meter nav ol optgroup option output p pre progress q rp rt ruby s samp search section " +
		"select small span strong sub summary sup table tbody td textarea tfoot th thead time tr u ul var wbr"
);
const SVG = words(
	"svg circle clipPath defs desc ellipse g line linearGradient marker mask path pattern polygon polyline radialGradient rect " +
		"stop text title tspan use"
);
/** Elements that are left out with their contents. Of other elements that are not in the lists, the contents stay. */
const LEFT_OUT = words("head script style template noscript iframe frame object embed link meta base audio video source track");

const ATTRIBUTES = words(
	"alt autocomplete checked class cols colspan datetime dir disabled focusable for headers height hidden high id inputmode label lang list low max " +
		"maxlength min minlength multiple name open optimum pattern placeholder readonly required reversed role rows rowspan scope " +
		"selected size span spellcheck start step tabindex title type value width wrap " +
		// SVG.
		"clip-path clip-rule clipPathUnits color cx cy d display dominant-baseline dx dy fill fill-opacity fill-rule font-family " +
		"font-size font-style font-weight gradientTransform gradientUnits letter-spacing marker-end marker-mid marker-start " +
		"markerHeight markerUnits markerWidth mask maskUnits offset opacity orient pathLength patternTransform patternUnits points " +
		"preserveAspectRatio r refX refY rotate rx ry shape-rendering spreadMethod stop-color stop-opacity stroke stroke-dasharray " +
		"stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor " +
		"text-decoration textLength transform transform-origin vector-effect viewBox visibility word-spacing x x1 x2 y y1 y2"
);
const INPUTS = words("button checkbox color date datetime-local email month number radio range reset search tel text time url week");
const PICTURE = /^data:image\/(png|jpeg|gif|webp)[;,]/i;
export const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Parts of CSS that can load something or reach beyond the document. A backslash is included, since it can hide each of them. */
const REACHES = /\\|@import|@font-face|@namespace|@property|:host|::part|url\(|image-set\(|image\(|src\(|cross-fade\(|element\(|paint\(|expression\(|-moz-binding/i;
const WITHIN = /url\([ \t\r\n\f]*(["']?)(#[\w-]+|data:image\/(?:png|jpeg|gif|webp)[;,][\w+/=;,%.-]*)\1[ \t\r\n\f]*\)/gi;

/** Whether CSS stays within the document. */
export const isContained = (css) => !REACHES.test(css.replace(WITHIN, " "));

/** Makes an element by its name; `undefined` if the lists do not have the name. */
export function makeElement(name, isSvg) {
	const tag = isSvg ? name : name.toLowerCase();
	if (!(isSvg ? SVG : HTML).has(tag)) {
		return undefined;
	}
	return isSvg ? document.createElementNS(SVG_NAMESPACE, tag) : document.createElement(tag);
}

/**
 * Reads, writes and calls the members that an element has from its class. They go through the prototype, since the
 * fields of a form are properties of the form under their names, and would hide the members of the class.
 */
export const read = (node, name) => Reflect.get(Object.getPrototypeOf(node), name, node);
export const write = (node, name, value) => Reflect.set(Object.getPrototypeOf(node), name, value, node);
export const act = (node, name, ...args) => Reflect.apply(Object.getPrototypeOf(node)[name], node, args);

/** Sets an attribute; throws if an element of a document may not have it. */
export function setAttribute(element, given, value) {
	const isSvg = read(element, "namespaceURI") === SVG_NAMESPACE;
	const name = isSvg ? given : given.toLowerCase();
	if (!mayHave(element, name, value)) {
		throw failure("TypeError", `“${given}” cannot be set to “${value.slice(0, 40)}”`);
	}
	if (name === "style") {
		read(element, "style").cssText = value;
	} else {
		act(element, "setAttribute", name, value);
	}
}

function mayHave(element, name, value) {
	if (/^(aria|data)-[\w.-]+$/.test(name)) {
		return true;
	}
	if (name === "style") {
		return isContained(value);
	}
	if (name === "src") {
		return read(element, "localName") === "img" && PICTURE.test(value);
	}
	if (name === "href") {
		return read(element, "localName") === "use" && /^#[\w-]+$/.test(value);
	}
	if (name === "type" && read(element, "localName") === "input") {
		return INPUTS.has(value.toLowerCase()) || value.toLowerCase() === "submit" || value === "";
	}
	const isSvg = read(element, "namespaceURI") === SVG_NAMESPACE;
	if (name === "autocomplete") {
		return value === "off";
	}
	return ATTRIBUTES.has(name) && (!isSvg || isContained(value)) && (name !== "tabindex" || /^(0|-1)$/.test(value));
}

/** Builds the elements of a document's markup. Returns its `html` and the text of its style sheets. */
export function build(markup) {
	const parsed = new DOMParser().parseFromString(markup, "text/html");
	const styles = [...parsed.querySelectorAll("style")].map(({ textContent }) => textContent);
	const root = document.createElement("html");
	attributesOf(parsed.documentElement, root);
	root.append(rebuilt(parsed.body, 0) ?? document.createElement("body"));
	return { root, styles };
}

function rebuilt(from, level) {
	const name = read(from, "localName");
	if (from instanceof Text) {
		return document.createTextNode(from.data);
	}
	if (!(from instanceof Element) || LEFT_OUT.has(name) || level > 200) {
		return undefined;
	}
	const isSvg = read(from, "namespaceURI") === SVG_NAMESPACE;
	const to = makeElement(name, isSvg) ?? document.createElement("span");
	attributesOf(from, to);
	for (const child of read(from, "childNodes")) {
		const made = rebuilt(child, level + 1);
		made && act(to, "append", made);
	}
	return to;
}

function attributesOf(from, to) {
	for (const { name, value } of read(from, "attributes")) {
		try {
			setAttribute(to, name, value);
		} catch {
			// An attribute that the element may not have is left out.
		}
	}
}

/** A style sheet for the document's shadow root, without the rules that reach beyond it. */
export function sheetOf(text) {
	const sheet = new CSSStyleSheet();
	// The author means the document's own `html` element by `:root`. Within a shadow root, `:root` would not match it.
	sheet.replaceSync(text.replace(/:root\b/g, "html"));
	for (let index = sheet.cssRules.length - 1; index >= 0; index--) {
		const rule = sheet.cssRules[index];
		if (!isContained(rule.cssText) || !isKnown(rule)) {
			sheet.deleteRule(index);
		}
	}
	return sheet;
}

const RULES = ["CSSStyleRule", "CSSMediaRule", "CSSSupportsRule", "CSSContainerRule", "CSSLayerBlockRule", "CSSKeyframesRule", "CSSKeyframeRule", "CSSNestedDeclarations"];

const isKnown = (rule) =>
	RULES.some((name) => globalThis[name] && rule instanceof globalThis[name]) && [...(rule.cssRules ?? [])].every(isKnown);
