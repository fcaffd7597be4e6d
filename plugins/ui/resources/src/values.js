// Recognises the meaning of a value by its name and form, and shows it in a format for people. The `title` has the exact value.

import { h, has, showNumber, showTime, timeOf } from "./dom.js";
import { parts } from "./parts.js";
import { say } from "./say.js";
import { labelOf, measure, tokens } from "./words.js";

const isMissing = (value) => value === undefined || value === null || value === "";

const SIZES = ["bytes", "kB", "MB", "GB", "TB", "PB"];

const fraction = (digits, least = 0) => ({ minimumFractionDigits: least, maximumFractionDigits: digits });

/** Bytes, scaled: 12.3 kB. */
export function showBytes(value) {
	const power = Math.min(5, Math.max(0, Math.floor(Math.log10(Math.abs(value) || 1) / 3)));
	return `${showNumber(value / 1000 ** power, fraction(power ? 1 : 2, power ? 1 : 0))} ${SIZES[power]}`;
}

const STEPS = [
	[86400, "d"],
	[3600, "h"],
	[60, "min"],
	[1, "s"]
];

/** Seconds, as the two largest units: 2 h 5 min, 3.2 s, 40 ms. */
export function showDuration(seconds) {
	const size = Math.abs(seconds);
	if (size < 60) {
		const [factor, unit] = size >= 1 || !size ? [1, "s"] : size >= 1e-3 ? [1e3, "ms"] : size >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
		return `${showNumber(seconds * factor, fraction(unit === "s" ? 2 : 1))} ${unit}`;
	}
	const place = STEPS.findIndex(([step]) => size >= step);
	const [[large, name], [small, other]] = [STEPS[place], STEPS[place + 1]];
	const rounded = Math.round(size / small) * small;
	const rest = Math.round((rounded % large) / small);
	return `${seconds < 0 ? "−" : ""}${showNumber(Math.floor(rounded / large))} ${name}${rest ? ` ${showNumber(rest)} ${other}` : ""}`;
}

const PERIOD = /^P(?=\d|T\d)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** An ISO 8601 duration in its own units: "PT1H30M" is 1 h 30 min. */
export function showPeriod(text) {
	const parts = PERIOD.exec(text)?.slice(1) ?? [];
	return ["y", "mo", "wk", "d", "h", "min", "s"]
		.map((unit, index) => parts[index] && `${showNumber(Number(parts[index]))} ${unit}`)
		.filter(Boolean)
		.join(" ");
}

/** The number of decimal digits of a number, without rounding errors of binary fractions. */
const digitsOf = (value) => {
	const [, part = "", power = 0] = /^-?\d+(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(Number(value.toPrecision(15)))) ?? [];
	return Math.max(0, part.length - Number(power));
};

/** The number of decimal digits for all numbers of a column: as many as the longest number has, up to a maximum. */
function digitsFor(numbers, least = 0) {
	const most = Math.max(...numbers.map(digitsOf));
	const largest = Math.max(...numbers.map(Math.abs));
	return most <= 4 ? most : Math.min(most, 12, Math.max(2, least, 3 - Math.floor(Math.log10(largest || 1))));
}

const TIME_WORD =
	/^(time|timestamp|ts|date|datetime|at|on|created|updated|modified|expires|expiry|expiration|epoch|since|until|mtime|ctime|atime|birthtime|iat|exp|nbf)$/;
const EPOCHS = [
	[1, 3e8, 5e9],
	[1e3, 3e11, 5e12],
	[1e6, 3e14, 5e15]
];

/** Converts numbers to milliseconds since 1970 if their name means a time; `undefined` for other numbers. */
function epochOf(parts, numbers) {
	const named = parts.some((part) => TIME_WORD.test(part));
	const [factor] = (named && EPOCHS.find(([, from, to]) => numbers.every((one) => one > from && one < to))) || [];
	return factor && ((value) => (value / factor) * 1000);
}

/** A time in ISO 8601, also from the formats of Python, databases, JavaScript and email. */
function isoOf(text) {
	const [, day, clock, zone = ""] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|[+-]\d\d:?\d\d)?$/.exec(text) ?? [];
	if (day) {
		return `${day}T${clock}${zone.replace(/(\d\d)(\d\d)$/, "$1:$2")}`;
	}
	const [, sign, hours, minutes] = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b.*\d\d:\d\d:\d\d.*?(?:([+-])(\d\d)(\d\d)\b|GMT$)/.exec(text) ?? [];
	const time = sign || /^\w{3}, .*GMT$/.test(text) ? Date.parse(text) : NaN;
	if (Number.isNaN(time)) {
		return text;
	}
	const offset = Number(`${sign ?? ""}1`) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 6e4;
	return new Date(time + offset).toISOString().replace("Z", sign ? `${sign}${hours}:${minutes}` : "Z");
}

const isIn = (low, high) => (one) => one >= low && one <= high;
const AXES = { latitude: 90, lat: 90, longitude: 180, lon: 180, lng: 180, long: 180 };

/** The axis that numbers of this name are coordinates of, such as `lat`; `undefined` if they are not coordinates. */
export const axisOf = (key) => (has(AXES, tokens(key).at(-1)?.toLowerCase()) ? tokens(key).at(-1).toLowerCase() : undefined);

const CURRENCY = /^(currency|currency_?code)$/i;
const PRICE = /^(price|amount|total|subtotal|cost|fee|balance|revenue|tax|discount|value|paid|due|salary)$/;

/** The currency of amounts, from a currency code in the same record. A code in lower case is ignored: its amounts may be in cents. */
function currencyOf(parts, numbers, records) {
	const key = Object.keys(records?.[0] ?? {}).find((one) => CURRENCY.test(one));
	const code = key && records[0][key];
	return parts.some((part) => PRICE.test(part)) &&
		/^[A-Z]{3}$/.test(code) &&
		records.every((record) => record[key] === code)
		? code
		: undefined;
}

/** Names of values that identify something rather than measure it. */
const NUMBERED = /^(ids?|lines?|row|column|year|code|zip|port|version|number|pid|uid|gid|index|changelist|build|revision|release|name|key|entry)$/;

/** Whether a record describes a file, whose size is in bytes. */
const isFile = (record) => ["isFile", "path", "permissions", "mimeType", "mtime"].some((key) => has(record, key));

/** How numbers of one name are read. */
function numeric(key, schema, numbers, records, isName) {
	const parts = tokens(key).map((part) => part.toLowerCase());
	const found = measure(key, schema?.unit);
	const plain = (unit, least) => {
		const digits = digitsFor(numbers, least);
		const column = numbers.length > 1 && { minimumFractionDigits: digits, ...(numbers.some((one) => Math.abs(one) >= 1e4) && !isName && { useGrouping: true }) };
		const show = (value) => showNumber(value, { maximumFractionDigits: digits, ...column, ...(isName && { useGrouping: false }) });
		return { right: true, unit, text: (value) => show(value) + (unit ? (unit === "%" || unit === "°" ? unit : ` ${unit}`) : ""), bare: show };
	};
	const money = (currency) => {
		const { maximumFractionDigits: usual } = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
		const most = Math.max(usual, Math.min(4, digitsFor(numbers)));
		return {
			right: true,
			text: (value) => showNumber(value, { style: "currency", currency, useGrouping: true, ...fraction(most, usual) })
		};
	};
	if (found?.kind === "bytes" || (!found && (/\bin bytes\b|^bytes\b/i.test(schema?.description ?? "") || (key === "size" && records?.some(isFile))))) {
		return { right: true, text: showBytes };
	}
	if (found?.kind === "seconds") {
		return { right: true, text: (value) => showDuration(value * found.factor) };
	}
	if (found?.kind === "money") {
		return money(found.unit);
	}
	if (found) {
		return plain(found.unit);
	}
	const epoch = epochOf(parts, numbers);
	if (epoch) {
		return { time: epoch, text: (value) => showTime(new Date(epoch(value)).toISOString()) };
	}
	const axis = axisOf(key);
	if (axis && numbers.every(isIn(-AXES[axis], AXES[axis]))) {
		return plain("°", 5);
	}
	const currency = currencyOf(parts, numbers, records);
	if (currency) {
		return money(currency);
	}
	if (
		/^(ratio|fraction|probability|confidence|likelihood|share)$/.test(parts.at(-1)) &&
		numbers.every(isIn(0, 1)) &&
		numbers.some((one) => one % 1)
	) {
		const digits = Math.max(0, digitsFor(numbers) - 2);
		return { right: true, text: (value) => showNumber(value, { style: "percent", ...fraction(Math.min(1, digits), Math.min(1, digits)) }) };
	}
	return { ...plain(), isName };
}

/** A text whose lines may end after the separators of a path. */
const breakable = (text) => text.split(/(?<=[^:/][/\\])/).flatMap((part) => [part, h("wbr")]);

/** A text in words. In sentences, code between backticks is shown as code; commands and other texts keep their backticks. Only paths that are longer than a narrow line are broken. */
export const spoken = (text) =>
	(/\p{Ll} \p{Ll}+ \p{Ll}|\p{Lo}{2}/u.test(text) ? text.split(/\B`([^`\n]+)`\B/) : [text]).flatMap((part, at) =>
		at % 2 ? h("code", {}, part) : part.split(/(\S{38,})/).flatMap((word, is) => (is % 2 ? breakable(word) : word))
	);

/** A text that is shortened in the middle if there is no room. When it is copied or read aloud, it is complete. */
const clipped = (text, end, kind) =>
	h(
		"span",
		{ class: `clip ${kind}`, title: text, dir: "ltr" },
		h("span", {}, breakable(text.slice(0, -end))),
		h("span", {}, h("bdi", {}, text.slice(-end)))
	);

const HEX = /^#([\da-f]{3}|[\da-f]{4}|[\da-f]{6}|[\da-f]{8})$|^(rgb|hsl)a?\([\d.,%/\sdeg]+\)$/i;

function colour(text) {
	const swatch = h("span", { "class": "swatch", "aria-hidden": "true" });
	swatch.style.background = text;
	return h("span", { class: "mono", dir: "ltr" }, swatch, text);
}

/** The kinds of text that are recognised by their form. */
const FORMS = [
	[(text) => timeOf(isoOf(text)) !== undefined, (text) => h("time", { datetime: isoOf(text), title: text }, showTime(isoOf(text)))],
	[(text) => PERIOD.test(text), (text) => h("span", { title: text }, showPeriod(text))],
	[
		(text) => /^https?:\/\/[^\s]{1,2000}$/i.test(text),
		(text, open) => {
			const [, scheme, rest] = /^(https?:\/\/)(.*)$/is.exec(text);
			return h(
				"button",
				{ "type": "button", "class": "link", "title": text, "aria-label": text, "onclick": () => open(text) },
				h("span", { class: "unseen" }, scheme),
				rest
			);
		}
	],
	[
		(text) => /^[\w.+-]+@[\w-]+(\.[\w-]+)*\.[a-z]{2,}$/i.test(text),
		(text, open) => h("button", { type: "button", class: "link", onclick: () => open(`mailto:${text}`) }, text)
	],
	[(text) => HEX.test(text), colour],
	[
		(text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$|^(sha\d+[:-])?([\da-f]{32}|[\da-f]{40}|[\da-f]{64})$/i.test(text),
		(text) => clipped(text, 6, "hash mono")
	],
	[
		(text) => /^(~?\/|\.{1,2}\/|[a-z]:[\\/]|\\\\|[a-z][\w+.-]*:\/\/)?([^\s/\\<>:"|?*]+[\\/]){1,40}[^/\\<>"|?*\n]*$/i.test(text) && /^(~?\/|\.{1,2}\/|[a-z]:[\\/]|[a-z][\w+.-]*:\/\/)|\.\w{1,8}(:\d+){0,2}$|[\\/]$/i.test(text) && text.length > 3 && !text.includes(": "),
		(text) => clipped(text, Math.min(text.length - 1, Math.max(8, Math.min(28, /[^/\\]*[/\\]?$/.exec(text)[0].length + 1))), "path mono")
	],
	[(text) => /^v?\d+\.\d+\.\d+([-+.][\w.+-]+)?$/.test(text), (text) => h("span", { class: "mono still" }, text)]
];

/** The index of the first form that a text has; -1 for other text. */
export const formOf = (text) => FORMS.findIndex(([is]) => text.length <= LONGEST && is(text));

/** Words for the state of something. */
const STATES = {
	good: /^(ok|success(ful)?|succeeded|passed|pass|active|healthy|running|completed?|done|up|online|enabled|merged|ready)$/i,
	bad: /^(error|err|failed|failure|fail|critical|fatal|down|offline|unhealthy|broken|rejected|blocked)$/i,
	warn: /^(warn(ing)?|pending|degraded|high|blocked|stale|unstable|deprecated)$/i
};

const tag = (text) =>
	h("span", { class: `tag ${Object.keys(STATES).find((state) => STATES[state].test(text)) ?? ""}`, dir: "auto" }, text);

const TAGGED = /^(status|state|type|kind|level|severity|priority|category|role|method|mode|phase|stage|visibility|format|language)$/;

/** Whether texts are a few words that repeat. */
const isEnum = (key, schema, texts) =>
	texts.every((text) => text.length <= 24 && /^[\p{L}\d][\p{L}\d _.:/+-]*$/u.test(text) && text.split(" ").length < 4) &&
	(Array.isArray(schema?.enum) ||
		TAGGED.test(tokens(key).at(-1)?.toLowerCase()) ||
		(texts.length >= 6 && new Set(texts).size <= Math.min(6, texts.length / 3)));

/** A boolean as a mark. If there is room, the word is shown beside it. Screen readers always read the word. */
export const mark = (value, narrow) =>
	h(
		"span",
		{ class: value ? "mark good" : "mark" },
		h("span", { "aria-hidden": "true" }, value ? "✓ " : "✕ "),
		h("span", { class: narrow && "unseen" }, say(value ? "yes" : "no"))
	);

const LONGEST = 400;

const PATH = FORMS.at(-2);

/** A long word, such as the name of a class. In a table, lines of its pieces would make the row high. */
const WORD = /^[!-~]{20,}$/;

/**
 * How the values of one name are shown.
 *
 * @param values all values of a column, or one value; @param records the records around them, which may name a currency
 * @param near the values that stand together with them: they are only shown as paths if half of those that are there are
 * @returns `right` if the values are right-aligned, `show(value, open, narrow)`, `text(value)` for charts, `label`, `isName` for
 *          numbers that identify something, and `time(value)`, milliseconds since 1970, for numbers that are times
 */
export function reading(key, schema, values, records, near = values) {
	const there = values.filter((value) => !isMissing(value));
	const isName = NUMBERED.test(tokens(key).at(-1)?.toLowerCase());
	if (schema?.writeOnly || schema?.format === "password") {
		return { label: labelOf(key, schema), text: () => "••••••", show: () => "••••••" };
	}
	const missing = (value) => h("span", { class: "none", title: value === "" && say("empty") }, "—");
	if (there.length && there.every((value) => typeof value === "number")) {
		const read = numeric(key, schema, there, records, isName);
		const found = measure(key, schema?.unit);
		const column = values.length > 1 && read.bare && read.unit;
		const exact = (value) =>
			Number.isInteger(value) && !Number.isSafeInteger(value) ? say("rounded") : String(value);
		return {
			...read,
			label: column || !found ? labelOf(key, schema, column) : labelOf(key, schema, true) === labelOf(key, schema) ? labelOf(key, schema) : found.label,
			show: (value) =>
				typeof value !== "number"
					? missing(value)
					: h("span", { class: "number", title: exact(value) }, column ? read.bare(value) : read.text(value))
		};
	}
	const tagged = there.length > 0 && there.every((value) => typeof value === "string") && isEnum(key, schema, there);
	const sample = near.filter((value) => !isMissing(value)).slice(0, 100);
	const arePaths = sample.filter((value) => PATH[0](value)).length * 2 >= sample.length;
	const one = (value, open, narrow) => {
		if (isMissing(value)) {
			return missing(value);
		}
		if (typeof value === "boolean") {
			return mark(value, narrow);
		}
		if (typeof value !== "string") {
			return h("span", { class: "number", title: value }, showNumber(value, isName && { useGrouping: false }));
		}
		return (
			FORMS.find((form) => value.length <= LONGEST && (arePaths || form !== PATH) && form[0](value))?.[1](value, open) ??
			(tagged ? tag(value) : narrow && WORD.test(value) ? clipped(value, Math.min(28, value.length >> 1), "word") : h("span", { dir: "auto", class: narrow && (/\S{32}/.test(value) ? "lines" : "lines whole") }, parts.words?.(value, open) ?? spoken(value)))
		);
	};
	const label = labelOf(key, schema);
	// The label of a boolean needs no verb: "isPrivate" becomes "Private".
	return {
		label: there.some((value) => typeof value === "boolean") ? label.replace(/^Is (.)/, (_, first) => first.toUpperCase()) : label,
		text: (value) => (timeOf(value) === undefined ? String(value) : showTime(value)),
		show: one,
		tagged,
		right: !isName && parts.areAmounts?.(there)
	};
}

