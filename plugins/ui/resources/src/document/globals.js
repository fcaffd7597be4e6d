// The globals of an interpreted script that do not concern the page: `Math`, `JSON`, `Object`, `Intl` and others.

import { locales, options, parts } from "./builtins.js";
import {
	bounded,
	call,
	Callable,
	ERROR,
	errorOf,
	exported,
	Facade,
	failure,
	get,
	hasOwn,
	imported,
	isNothing,
	isObject,
	isPlain,
	iterate,
	keysOf,
	LONGEST_ARRAY,
	make,
	Native,
	numberOf,
	set,
	Stop,
	table,
	textOf,
	tick
} from "./values.js";

/** A native function that does not need `this`. */
export const native = (run, more) => new Native((_, args) => run(...args), more);
/** A frozen object of functions. */
export const library = (functions) =>
	Object.freeze(
		make(Object.entries(functions).map(([name, run]) => [name, typeof run === "function" ? native(run) : run]))
	);

const MATH_VALUES = ["E", "LN10", "LN2", "LOG10E", "LOG2E", "PI", "SQRT1_2", "SQRT2"];
const MATH = (
	"abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 floor fround hypot imul log log10 log1p " +
	"log2 max min pow random round sign sin sinh sqrt tan tanh trunc"
).split(" ");
const math = Object.freeze(
	make([
		...MATH_VALUES.map((name) => [name, Math[name]]),
		...MATH.map((name) => [name, native((...numbers) => Math[name](...numbers.map(numberOf)))])
	])
);

function parsed(text, revive) {
	if (revive !== undefined) {
		throw failure("TypeError", "`JSON.parse` has no second argument here");
	}
	return imported(JSON.parse(textOf(text)));
}

function written(value, filter, indent) {
	const text = JSON.stringify(exported(value), Array.isArray(filter) ? filter.map((one) => textOf(one)) : null, typeof indent === "string" ? indent : numberOf(indent ?? 0));
	text && bounded(text.length);
	return text;
}

function assigned(to, ...from) {
	for (const one of from.filter((value) => !isNothing(value))) {
		keysOf(one).forEach((key) => set(to, key, get(one, key)));
	}
	return to;
}

const grouped = (list, then) => {
	const groups = make();
	iterate(list).forEach((one, index) => {
		const key = textOf(call(then, undefined, [one, index]));
		(groups[key] ??= []).push(one);
	});
	return groups;
};

const OBJECT = {
	assign: assigned,
	entries: (value) => keysOf(value).map((key) => [key, get(value, key)]),
	freeze: (value) => (isPlain(value) ? Object.freeze(value) : value),
	fromEntries: (entries) =>
		make(
			iterate(entries).map((one) => {
				const [key, value] = iterate(one);
				return [textOf(key), value];
			})
		),
	groupBy: grouped,
	hasOwn: (value, key) => hasOwn(value, textOf(key)),
	is: (a, b) => Object.is(a, b),
	isFrozen: (value) => !isPlain(value) || Object.isFrozen(value),
	keys: keysOf,
	values: (value) => keysOf(value).map((key) => get(value, key))
};

function filled(length) {
	const count = numberOf(length);
	if (!(count >= 0 && count <= LONGEST_ARRAY) || count % 1) {
		throw new Stop("its script makes a list that is too long");
	}
	tick(count);
	return Array.from({ length: count }, () => undefined);
}

function arrayFrom(value, then) {
	const isList = Array.isArray(value) || typeof value === "string" || value instanceof Map || value instanceof Set;
	const list = isList ? iterate(value) : filled(get(value, "length"));
	return then === undefined ? list : list.map((one, index) => call(then, undefined, [one, index]));
}

const members = (functions) => make(Object.entries(functions).map(([name, run]) => [name, native(run)]));

function date(args) {
	if (args.length > 1) {
		return new Date(...args.map(numberOf));
	}
	const [value] = args;
	return args.length === 0 ? new Date() : new Date(typeof value === "string" || value instanceof Date ? value : numberOf(value));
}

const made = (create, owns, more) => new Native((_, args) => create(args), { create, owns, members: members(more ?? {}) });

function errorClass(name) {
	const create = ([message]) => errorOf(name, isNothing(message) ? "" : textOf(message));
	return made(create, (value) => isObject(value) && Object.prototype.isPrototypeOf.call(ERROR, value) && (name === "Error" || value.name === name));
}

function expression([source, flags]) {
	return new RegExp(source instanceof RegExp ? source : textOf(source), flags === undefined ? undefined : textOf(flags));
}

/** The formatters of `Intl` that are offered, each with its methods. */
const FORMATTERS = {
	Collator: { compare: (thing, a, b) => thing.compare(textOf(a), textOf(b)) },
	DateTimeFormat: {
		format: (thing, value) => thing.format(moment(value)),
		formatToParts: (thing, value) => parts(thing.formatToParts(moment(value))),
		formatRange: (thing, from, to) => thing.formatRange(moment(from), moment(to))
	},
	ListFormat: { format: (thing, list) => thing.format(iterate(list).map((one) => textOf(one))) },
	NumberFormat: {
		format: (thing, value) => thing.format(numberOf(value)),
		formatToParts: (thing, value) => parts(thing.formatToParts(numberOf(value)))
	},
	PluralRules: { select: (thing, value) => thing.select(numberOf(value)) },
	RelativeTimeFormat: { format: (thing, value, unit) => thing.format(numberOf(value), textOf(unit)) }
};
const moment = (value) => (value instanceof Date || value === undefined ? value : numberOf(value));

function formatter(name) {
	const entries = table({
		...FORMATTERS[name],
		resolvedOptions: (thing) => imported({ ...thing.resolvedOptions() })
	});
	return made(([locale, how]) => new Facade(new Intl[name](locales(locale), options(how)), entries));
}

const silent = () => undefined;

/** The globals that do not concern the page. */
export function globals() {
	const all = {
		Array: made(
			(args) => (args.length === 1 && typeof args[0] === "number" ? filled(args[0]) : args),
			Array.isArray,
			{ from: arrayFrom, isArray: (value) => Array.isArray(value), of: (...values) => values }
		),
		Boolean: native((value) => Boolean(value)),
		Date: new Native(() => String(new Date()), {
			create: date,
			owns: (value) => value instanceof Date,
			members: members({ now: () => Date.now(), parse: (text) => Date.parse(textOf(text)), UTC: (...values) => Date.UTC(...values.map(numberOf)) })
		}),
		Error: errorClass("Error"),
		Infinity,
		Intl: Object.freeze(make(Object.keys(FORMATTERS).map((name) => [name, formatter(name)]))),
		JSON: library({ parse: parsed, stringify: written }),
		Map: made(
			([entries]) => new Map(isNothing(entries) ? [] : iterate(entries).map((one) => iterate(one).slice(0, 2))),
			(value) => value instanceof Map
		),
		Math: math,
		NaN,
		Number: new Native((_, [value = 0]) => numberOf(value), {
			members: make([
				...["EPSILON", "MAX_SAFE_INTEGER", "MAX_VALUE", "MIN_SAFE_INTEGER", "MIN_VALUE"].map((name) => [name, Number[name]]),
				...["isFinite", "isInteger", "isNaN", "isSafeInteger"].map((name) => [name, native((value) => Number[name](value))]),
				["parseFloat", native((text) => parseFloat(textOf(text)))],
				["parseInt", native((text, base) => parseInt(textOf(text), numberOf(base)))]
			])
		}),
		Object: new Native((_, [value]) => (isNothing(value) ? make() : value), {
			create: ([value]) => (isObject(value) ? value : make()),
			owns: (value) => isObject(value),
			members: members(OBJECT)
		}),
		RangeError: errorClass("RangeError"),
		RegExp: made(expression, (value) => value instanceof RegExp),
		Set: made(([values]) => new Set(isNothing(values) ? [] : iterate(values)), (value) => value instanceof Set),
		String: new Native((_, args) => (args.length ? textOf(args[0]) : ""), {
			members: members({
				fromCharCode: (...codes) => String.fromCharCode(...codes.map(numberOf)),
				fromCodePoint: (...codes) => String.fromCodePoint(...codes.map(numberOf))
			})
		}),
		TypeError: errorClass("TypeError"),
		console: library({ debug: silent, error: silent, info: silent, log: silent, table: silent, trace: silent, warn: silent }),
		decodeURIComponent: native((text) => decodeURIComponent(textOf(text))),
		encodeURIComponent: native((text) => encodeURIComponent(textOf(text))),
		isFinite: native((value) => isFinite(numberOf(value))),
		isNaN: native((value) => isNaN(numberOf(value))),
		parseFloat: native((text) => parseFloat(textOf(text))),
		parseInt: native((text, base) => parseInt(textOf(text), numberOf(base))),
		structuredClone: native((value) => imported(exported(value))),
		undefined
	};
	return make(Object.entries(all));
}
