// The environment of a view: its Content Security Policy, and the host context.

import { isObject } from "./text.js";

/** The host capabilities of this page, in the terms of MCP Apps. */
const CAPABILITIES = {
	openLinks: {},
	serverTools: {},
	serverResources: {},
	logging: {},
	downloadFile: {},
	updateModelContext: { text: {}, structuredContent: {} },
	message: { text: {} }
};

const FULL = { capabilities: CAPABILITIES, modes: ["inline", "fullscreen"] };
const DATA = "'self' data:";
const INLINE = { "script-src": "'unsafe-inline'", "style-src": "'unsafe-inline'", "img-src": "", "media-src": "" };
const WIDE = { "img-src": "'self' data: blob:", "media-src": "'self' data: blob:", "font-src": "'self' data:" };

/**
 * Kinds of hosts, with what they were observed to allow views. `sources`: sources of the policy that differ from the
 * specification. `forms`: views get `submit` events. Not imitated: an own origin of the view, `eval`, and `data:` scripts.
 */
export const HOSTS = {
	"specification": { ...FULL, sources: {} },
	"basic-host": { ...FULL, forms: true, sources: WIDE },
	"claude": { ...FULL, forms: true, sources: WIDE },
	"inspector": { ...FULL, forms: true, sources: INLINE },
	"mcpjam": { ...FULL, forms: true, sources: { ...INLINE, "img-src": "data:" } },
	"goose": { ...FULL, sources: { ...INLINE, "img-src": "data:", "media-src": "data:" } },
	"strict": { capabilities: { openLinks: {}, serverTools: {} }, modes: ["inline"], sources: INLINE }
};

/** The locales to choose from. The empty one is the browser's. */
export const LOCALES = ["", "en-GB", "de-DE", "fr-FR", "es-ES", "ja-JP", "zh-CN", "ar-EG", "he-IL"];

/** Maximum height of a view, in pixels. */
export const MAX_HEIGHT = 4000;

/** A source of a policy: an origin, or an origin with a wildcard for subdomains. */
const SOURCE = /^(https?|wss?):\/\/(\*\.)?[a-z\d.-]+(:(\d+|\*))?\/?$/i;

/**
 * The Content Security Policy for a view, as the specification of MCP Apps defines it for what the view declares.
 *
 * @param declared `_meta.ui.csp` of the resource; @param host one of `HOSTS`
 * @returns `policy`, the value of the header, and `refused`, the declared sources that are not origins
 */
export function policyOf(declared, { sources: own } = HOSTS.specification) {
	const refused = [];
	const sources = (key) => {
		const all = isObject(declared) && Array.isArray(declared[key]) ? declared[key] : [];
		const good = all.filter((one) => typeof one === "string" && SOURCE.test(one));
		refused.push(...all.filter((one) => !good.includes(one)).map((one) => `${key}: ${JSON.stringify(one)}`));
		return good.map((one) => ` ${one}`).join("");
	};
	const from = sources("resourceDomains");
	const [connect, frames, bases] = ["connectDomains", "frameDomains", "baseUriDomains"].map(sources);
	const loads = {
		"script-src": "'self' 'unsafe-inline'",
		"style-src": "'self' 'unsafe-inline'",
		"img-src": DATA,
		"media-src": DATA,
		"font-src": "",
		...own
	};
	const policy = [
		"default-src 'none'",
		...Object.entries(loads).map(([name, usual]) => `${name} ${`${usual}${from}`.trim() || "'none'"}`),
		`connect-src ${connect.trim() || "'none'"}`,
		`frame-src ${frames.trim() || "'none'"}`,
		`base-uri ${bases.trim() || "'none'"}`,
		"object-src 'none'",
		"form-action 'none'"
	].join("; ");
	return { policy, refused };
}

/** The host context that a view gets: display mode, size, locale, theme and tool. */
export const contextOf = ({ theme, width, height, mode, tool, id, locale, host }) => ({
	theme,
	styles: { variables: VARIABLES[theme] },
	displayMode: mode,
	availableDisplayModes: HOSTS[host].modes,
	containerDimensions: { width, ...(height === undefined ? { maxHeight: MAX_HEIGHT } : { height }) },
	locale: locale || navigator.language,
	timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
	userAgent: "portcullis-preview/1",
	platform: "web",
	deviceCapabilities: { touch: navigator.maxTouchPoints > 0, hover: matchMedia("(hover: hover)").matches },
	safeAreaInsets: { top: 0, right: 0, bottom: 0, left: 0 },
	toolInfo: { ...(id !== undefined && { id }), tool }
});

/** The colours in the light and the dark theme. */
const COLOURS = {
	"background-primary": ["#ffffff", "#1b1d20"],
	"background-secondary": ["#f5f6f7", "#25282c"],
	"background-tertiary": ["#eceef0", "#2f3338"],
	"background-inverse": ["#1b1d20", "#f5f6f7"],
	"background-ghost": ["transparent", "transparent"],
	"background-info": ["#e7f0fb", "#16304d"],
	"background-danger": ["#fcebea", "#4a1d1b"],
	"background-success": ["#e6f4ea", "#173a22"],
	"background-warning": ["#fdf3dc", "#43330d"],
	"background-disabled": ["#eceef0", "#2f3338"],
	"text-primary": ["#1b1d20", "#eceef0"],
	"text-secondary": ["#545b63", "#a9b0b8"],
	"text-tertiary": ["#656c75", "#959da6"],
	"text-inverse": ["#ffffff", "#1b1d20"],
	"text-ghost": ["#545b63", "#a9b0b8"],
	"text-info": ["#14539a", "#8dbdf3"],
	"text-danger": ["#a5231c", "#f3a19c"],
	"text-success": ["#1c6b35", "#8ad3a2"],
	"text-warning": ["#7a5300", "#ecc76d"],
	"text-disabled": ["#8b929a", "#6f767e"],
	"border-primary": ["#868e96", "#7b838b"],
	"border-secondary": ["#d5d9dd", "#3c4147"],
	"border-tertiary": ["#e5e8ea", "#2f3338"],
	"border-inverse": ["#545b63", "#a9b0b8"],
	"border-ghost": ["transparent", "transparent"],
	"border-info": ["#5b95d6", "#3a72b0"],
	"border-danger": ["#d9746e", "#9c4640"],
	"border-success": ["#5da877", "#3a7a50"],
	"border-warning": ["#c79a3a", "#8d6c22"],
	"border-disabled": ["#d5d9dd", "#3c4147"],
	"ring-primary": ["#1f6f5c", "#6cc3ad"],
	"ring-secondary": ["#868e96", "#7b838b"],
	"ring-inverse": ["#ffffff", "#1b1d20"],
	"ring-info": ["#14539a", "#8dbdf3"],
	"ring-danger": ["#a5231c", "#f3a19c"],
	"ring-success": ["#1c6b35", "#8ad3a2"],
	"ring-warning": ["#7a5300", "#ecc76d"]
};

const SHARED = {
	"--font-sans": "system-ui, sans-serif",
	"--font-mono": "ui-monospace, monospace",
	"--font-weight-normal": "400",
	"--font-weight-medium": "500",
	"--font-weight-semibold": "600",
	"--font-weight-bold": "700",
	"--font-text-xs-size": "0.75rem",
	"--font-text-sm-size": "0.875rem",
	"--font-text-md-size": "1rem",
	"--font-text-lg-size": "1.125rem",
	"--font-heading-xs-size": "0.875rem",
	"--font-heading-sm-size": "1rem",
	"--font-heading-md-size": "1.25rem",
	"--font-heading-lg-size": "1.5rem",
	"--font-heading-xl-size": "1.875rem",
	"--font-heading-2xl-size": "2.25rem",
	"--font-heading-3xl-size": "3rem",
	"--font-text-xs-line-height": "1.4",
	"--font-text-sm-line-height": "1.4",
	"--font-text-md-line-height": "1.5",
	"--font-text-lg-line-height": "1.5",
	"--font-heading-xs-line-height": "1.4",
	"--font-heading-sm-line-height": "1.4",
	"--font-heading-md-line-height": "1.3",
	"--font-heading-lg-line-height": "1.25",
	"--font-heading-xl-line-height": "1.2",
	"--font-heading-2xl-line-height": "1.15",
	"--font-heading-3xl-line-height": "1.1",
	"--border-radius-xs": "2px",
	"--border-radius-sm": "4px",
	"--border-radius-md": "6px",
	"--border-radius-lg": "10px",
	"--border-radius-xl": "14px",
	"--border-radius-full": "9999px",
	"--border-width-regular": "1px",
	"--shadow-hairline": "0 0 0 1px rgb(0 0 0 / 8%)",
	"--shadow-sm": "0 1px 2px rgb(0 0 0 / 12%)",
	"--shadow-md": "0 2px 8px rgb(0 0 0 / 14%)",
	"--shadow-lg": "0 8px 24px rgb(0 0 0 / 18%)"
};

const VARIABLES = Object.fromEntries(
	["light", "dark"].map((theme, index) => [
		theme,
		{
			...Object.fromEntries(Object.entries(COLOURS).map(([name, both]) => [`--color-${name}`, both[index]])),
			...SHARED
		}
	])
);
