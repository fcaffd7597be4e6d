// The members of strings, numbers, arrays, maps, sets, dates and regular expressions in an interpreted script.

import {
	bounded,
	call,
	Callable,
	failure,
	get,
	imported,
	isNothing,
	iterate,
	joined,
	keysOf,
	LONGEST_ARRAY,
	numberOf,
	offer,
	Stop,
	textOf,
	tick
} from "./values.js";

/** An optional number. */
const optional = (value) => (value === undefined ? undefined : numberOf(value));

/** Options for the browser's formatters: data of the script without functions. */
export function options(value) {
	if (isNothing(value)) {
		return undefined;
	}
	const plain = {};
	for (const key of keysOf(value)) {
		const one = get(value, key);
		if (!isNothing(one)) {
			plain[key] = typeof one === "object" || one instanceof Callable ? textOf(one) : one;
		}
	}
	return plain;
}

export const locales = (value) => (isNothing(value) ? undefined : Array.isArray(value) ? value.map((one) => textOf(one)) : textOf(value));

const pattern = (value) => (value instanceof RegExp ? value : textOf(value));
const replacement = (value) =>
	value instanceof Callable ? (...found) => textOf(call(value, undefined, found)) : textOf(value);

function replace(text, from, to, all) {
	const made = replacement(to);
	if (typeof made === "string" && made.length * text.length > 400_000_000) {
		throw new Stop("its script makes a text that is too long");
	}
	tick(text.length >> 6);
	const result = all ? text.replaceAll(pattern(from), made) : text.replace(pattern(from), made);
	bounded(result.length);
	return result;
}

function repeated(text, count) {
	const times = numberOf(count);
	bounded(text.length * times);
	return text.repeat(times);
}

const padded = (side) => (text, length, fill) => {
	const wanted = bounded(numberOf(length) || 0);
	return text[side](wanted, fill === undefined ? " " : textOf(fill));
};

function allMatches(text, at) {
	const all = [];
	for (const found of text.matchAll(pattern(at))) {
		grown(all, found.length);
		all.push(found);
	}
	return all;
}

function split(text, at, limit) {
	const parts = at === undefined ? [text] : text.split(pattern(at), optional(limit));
	if (parts.length > LONGEST_ARRAY) {
		throw new Stop("its script makes a list that is too long");
	}
	return parts;
}

offer((value) => typeof value === "string", {
	length: [(text) => text.length],
	at: (text, index) => text.at(numberOf(index)),
	charAt: (text, index) => text.charAt(numberOf(index)),
	charCodeAt: (text, index) => text.charCodeAt(numberOf(index)),
	codePointAt: (text, index) => text.codePointAt(numberOf(index)),
	concat: (text, ...more) => {
		const result = [text, ...more.map((one) => textOf(one))];
		bounded(result.reduce((sum, one) => sum + one.length, 0));
		return result.join("");
	},
	endsWith: (text, end, at) => text.endsWith(textOf(end), optional(at)),
	includes: (text, part, from) => text.includes(textOf(part), optional(from)),
	indexOf: (text, part, from) => text.indexOf(textOf(part), optional(from)),
	lastIndexOf: (text, part) => text.lastIndexOf(textOf(part)),
	localeCompare: (text, other, locale, how) => text.localeCompare(textOf(other), locales(locale), options(how)),
	match: (text, at) => text.match(pattern(at)),
	matchAll: allMatches,
	normalize: (text, form) => text.normalize(form === undefined ? undefined : textOf(form)),
	padEnd: padded("padEnd"),
	padStart: padded("padStart"),
	repeat: repeated,
	replace: (text, from, to) => replace(text, from, to, false),
	replaceAll: (text, from, to) => replace(text, from, to, true),
	search: (text, at) => text.search(pattern(at)),
	slice: (text, from, to) => text.slice(optional(from), optional(to)),
	split,
	startsWith: (text, start, at) => text.startsWith(textOf(start), optional(at)),
	substring: (text, from, to) => text.substring(numberOf(from), optional(to)),
	substr: (text, from, length) => text.substr(numberOf(from), optional(length)),
	toLocaleLowerCase: (text, locale) => text.toLocaleLowerCase(locales(locale)),
	toLocaleUpperCase: (text, locale) => text.toLocaleUpperCase(locales(locale)),
	toLowerCase: (text) => text.toLowerCase(),
	toString: (text) => text,
	toUpperCase: (text) => text.toUpperCase(),
	trim: (text) => text.trim(),
	trimEnd: (text) => text.trimEnd(),
	trimStart: (text) => text.trimStart(),
	valueOf: (text) => text
});

offer((value) => typeof value === "number", {
	toExponential: (number, digits) => number.toExponential(optional(digits)),
	toFixed: (number, digits) => number.toFixed(optional(digits)),
	toLocaleString: (number, locale, how) => number.toLocaleString(locales(locale), options(how)),
	toPrecision: (number, digits) => number.toPrecision(optional(digits)),
	toString: (number, base) => number.toString(optional(base)),
	valueOf: (number) => number
});

offer((value) => typeof value === "boolean", {
	toString: (value) => String(value),
	valueOf: (value) => value
});

/** A method of lists that calls a function for each element. */
const calling = (name) => (list, then, self) => {
	need(then);
	return list[name]((value, index) => call(then, self, [value, index, list]));
};

function need(then) {
	if (!(then instanceof Callable)) {
		throw failure("TypeError", `${textOf(then)} is not a function`);
	}
}

const reducing = (name) => (list, then, ...first) => {
	need(then);
	if (list.length === 0 && first.length === 0) {
		throw failure("TypeError", "an empty list has no first value to reduce from");
	}
	return list[name]((before, value, index) => call(then, undefined, [before, value, index, list]), ...first);
};

const order = (then) =>
	then === undefined
		? (a, b) => {
				tick();
				const [left, right] = [textOf(a), textOf(b)];
				return left < right ? -1 : left > right ? 1 : 0;
			}
		: (a, b) => numberOf(call(then, undefined, [a, b]));

function grown(list, more) {
	if (list.length + more > LONGEST_ARRAY) {
		throw new Stop("its script makes a list that is too long");
	}
	tick(more);
}

function flat(list, depth = 1) {
	const all = [];
	for (const one of list) {
		tick();
		const inner = Array.isArray(one) && depth >= 1 ? flat(one, Math.min(depth, 100) - 1) : [one];
		grown(all, inner.length);
		inner.forEach((value) => all.push(value));
	}
	return all;
}

function concatenated(list, ...more) {
	const all = [...list];
	for (const one of more) {
		const inner = Array.isArray(one) ? one : [one];
		grown(all, inner.length);
		inner.forEach((value) => all.push(value));
	}
	return all;
}

function spliced(list, from, count, ...more) {
	grown(list, more.length);
	return count === undefined && more.length === 0
		? list.splice(numberOf(from))
		: list.splice(numberOf(from), numberOf(count), ...more);
}

const slice = (list, from, to) => list.slice(optional(from), optional(to));

offer(Array.isArray, {
	length: [(list) => list.length],
	// The properties that `match` and `exec` add to an array.
	index: [(list) => list.index],
	input: [(list) => list.input],
	groups: [(list) => list.groups],
	at: (list, index) => list.at(numberOf(index)),
	concat: concatenated,
	entries: (list) => list.map((value, index) => [index, value]),
	every: calling("every"),
	fill: (list, value, from, to) => list.fill(value, optional(from), optional(to)),
	filter: calling("filter"),
	find: calling("find"),
	findIndex: calling("findIndex"),
	findLast: calling("findLast"),
	findLastIndex: calling("findLastIndex"),
	flat: (list, depth) => flat(list, depth === undefined ? 1 : numberOf(depth)),
	flatMap: (list, then) => {
		need(then);
		return flat(list.map((value, index) => call(then, undefined, [value, index, list])));
	},
	forEach: calling("forEach"),
	includes: (list, value) => list.includes(value),
	indexOf: (list, value, from) => list.indexOf(value, optional(from)),
	item: (list, index) => list[numberOf(index)] ?? null,
	join: (list, by) => joined(list, by === undefined ? "," : textOf(by)),
	keys: (list) => [...list.keys()],
	lastIndexOf: (list, value) => list.lastIndexOf(value),
	map: calling("map"),
	pop: (list) => list.pop(),
	push: (list, ...values) => {
		grown(list, values.length);
		return list.push(...values);
	},
	reduce: reducing("reduce"),
	reduceRight: reducing("reduceRight"),
	reverse: (list) => list.reverse(),
	shift: (list) => list.shift(),
	slice,
	some: calling("some"),
	sort: (list, then) => list.sort(order(then)),
	splice: spliced,
	toReversed: (list) => list.toReversed(),
	toSorted: (list, then) => [...list].sort(order(then)),
	toString: (list) => textOf(list),
	unshift: (list, ...values) => {
		grown(list, values.length);
		return list.unshift(...values);
	},
	values: (list) => [...list],
	with: (list, index, value) => list.with(numberOf(index), value)
});

const inMap = {
	clear: (map) => map.clear(),
	delete: (map, key) => map.delete(key),
	entries: (map) => [...map.entries()],
	has: (map, key) => map.has(key),
	keys: (map) => [...map.keys()],
	size: [(map) => map.size],
	values: (map) => [...map.values()],
	forEach: (map, then) => {
		need(then);
		[...map].forEach((one) => {
			const [key, value] = map instanceof Map ? one : [one, one];
			call(then, undefined, [value, key, map]);
		});
	}
};

function small(map) {
	tick(2);
	if (map.size >= LONGEST_ARRAY) {
		throw new Stop("its script keeps too much");
	}
	return map;
}

offer((value) => value instanceof Map, {
	...inMap,
	get: (map, key) => map.get(key),
	set: (map, key, value) => small(map).set(key, value)
});
offer((value) => value instanceof Set, { ...inMap, add: (set, value) => small(set).add(value) });

const FIELDS = ["Date", "Day", "FullYear", "Hours", "Milliseconds", "Minutes", "Month", "Seconds"];
const dates = {};
for (const field of FIELDS.flatMap((one) => [one, `UTC${one}`])) {
	dates[`get${field}`] = (date) => date[`get${field}`]();
	if (!field.endsWith("Day")) {
		dates[`set${field}`] = (date, ...values) => date[`set${field}`](...values.map(numberOf));
	}
}
const inDate = (name) => (date) => date[name]();
const localDate = (name) => (date, locale, how) => date[name](locales(locale), options(how));

offer((value) => value instanceof Date, {
	...dates,
	getTime: inDate("getTime"),
	getTimezoneOffset: inDate("getTimezoneOffset"),
	setTime: (date, time) => date.setTime(numberOf(time)),
	toDateString: inDate("toDateString"),
	toISOString: inDate("toISOString"),
	toJSON: inDate("toJSON"),
	toLocaleDateString: localDate("toLocaleDateString"),
	toLocaleString: localDate("toLocaleString"),
	toLocaleTimeString: localDate("toLocaleTimeString"),
	toString: inDate("toString"),
	toTimeString: inDate("toTimeString"),
	toUTCString: inDate("toUTCString"),
	valueOf: inDate("getTime")
});

offer((value) => value instanceof RegExp, {
	exec: (expression, text) => expression.exec(textOf(text)),
	flags: [(expression) => expression.flags],
	global: [(expression) => expression.global],
	lastIndex: [(expression) => expression.lastIndex],
	source: [(expression) => expression.source],
	test: (expression, text) => expression.test(textOf(text)),
	toString: (expression) => String(expression)
});

/** The parts that a formatter gives, as objects of the script. */
export const parts = (value) => imported(value);
