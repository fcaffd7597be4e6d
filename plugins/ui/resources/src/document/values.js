// The values of an interpreted script: their properties, calls of functions, and the limits of a script.
//
// A value is a primitive, an array, an object without any of the browser's prototypes, a function of the script
// (`Script`), a native function (`Native`), a `Map`, `Set`, `Date` or `RegExp`, or a `Facade` of something else.
// Only objects of the script have properties of their own. The properties of all other values are in tables.

/** Limits of one turn. The start of the script, an event, a timer and an answer each begin a turn. */
const STEPS = 5_000_000;
const MILLISECONDS = 1500;
const DEPTH = 400;
/** Maximum length of a string, in UTF-16 units, and of an array. */
export const LONGEST_TEXT = 4_000_000;
export const LONGEST_ARRAY = 1_000_000;

let steps = 0;
let depth = 0;
let until = Infinity;

/** Ends a script that exceeds a limit. The script cannot catch it. */
export class Stop extends Error {}

/** Begins a turn. */
export function beginTurn() {
	[steps, depth, until] = [0, 0, performance.now() + MILLISECONDS];
}

/** Counts `amount` steps. */
export function tick(amount = 1) {
	const before = steps;
	steps += amount;
	if (steps > STEPS) {
		throw endless();
	}
	(before ^ steps) & ~4095 && tock();
}

const endless = () => new Stop("its script does not come to an end");

/** Ends a turn whose time is over. Called after work of the browser for a script, since steps do not measure its duration. */
function tock() {
	if (performance.now() > until) {
		throw endless();
	}
}

/** An exception that a script threw. */
export class Thrown extends Error {
	constructor(value) {
		super(`its script failed: ${textOf(value)}`);
		this.value = value;
	}

	/** The value that a `catch` of the script gets. */
	static valueOf(problem) {
		if (problem instanceof Stop) {
			throw problem;
		}
		return problem instanceof Thrown ? problem.value : errorOf(problem?.name, problem?.message);
	}
}

/** The object that all errors of scripts inherit from. */
export const ERROR = make();
ERROR.name = "Error";
ERROR.message = "";

/** An error, as an object of the script. */
export function errorOf(name, message) {
	const error = Object.create(ERROR);
	error.name = String(name ?? "Error");
	error.message = String(message ?? "");
	return error;
}

export const failure = (name, message) => new Thrown(errorOf(name, message));

/** A new object of the script. */
export function make(entries = []) {
	const object = Object.create(null);
	for (const [key, value] of entries) {
		object[key] = value;
	}
	return object;
}

/** A getter, a setter or both, as the value of a property. */
export class Accessor {
	get;
	set;
}

export class Callable {
	name = "";
	length = 0;
}

function mustBePlain(self) {
	if (!isPlain(self)) {
		throw failure("TypeError", "a constructor makes an object of the script");
	}
}

/** A native function. `run(self, args)` is the call, `create(args)` the call with `new`, and `owns(value)` answers `instanceof`. */
export class Native extends Callable {
	constructor(run, { create, owns, members = make() } = {}) {
		super();
		Object.assign(this, { run, create, owns, members });
	}
}

/** A function or class of the script. */
export class Script extends Callable {
	members = make();
	/** The prototype of the objects that `new` makes. */
	instances = make();
	fields = [];
	parent;
	isClass = false;

	constructor(name, length, isArrow, run) {
		super();
		Object.assign(this, { name, length, isArrow, run });
		this.instances.constructor = this;
	}

	becomeClass(parent) {
		this.isClass = true;
		this.parent = parent;
		if (parent) {
			this.instances = Object.create(parent.instances);
			this.instances.constructor = this;
			this.members = Object.create(parent.members);
		}
	}

	/** Sets the fields of a new instance. The instance must be a plain object of the script, even if `super()` is called on something else. */
	fill(self) {
		mustBePlain(self);
		for (const [key, value] of this.fields) {
			self[key] = value && call(value, self, []);
		}
	}

	/** Runs the constructor on an object. */
	begin(self, args) {
		mustBePlain(self);
		if (!this.isClass) {
			return call(this, self, args);
		}
		this.parent && !this.body && this.parent.begin(self, args);
		this.parent && this.body ? undefined : this.fill(self);
		return this.body && call(this.body, self, args);
	}
}

/**
 * Represents a thing of the browser to the script. The script reaches it only through a table. A function in the table
 * is a method, and gets the thing and the arguments. An array has the getter and the setter of a property. Names that
 * are not in the table go to `*`, an array of functions that read, write, delete and list them, or else to `extra`, the
 * properties that the script adds.
 */
export class Facade {
	constructor(thing, table) {
		Object.assign(this, { thing, table, extra: make() });
	}

	read(key) {
		tock();
		const entry = this.table[key];
		if (entry === undefined) {
			return own(this.extra[key] ?? this.table["*"]?.[0]?.(this.thing, key));
		}
		if (Array.isArray(entry)) {
			return own(entry[0]?.(this.thing));
		}
		return new Native((self, args) =>
			own(entry(self instanceof Facade && self.table[key] === entry ? self.thing : this.thing, ...args))
		);
	}

	write(key, value) {
		tock();
		const entry = this.table[key] ?? this.table["*"];
		if (entry === undefined) {
			this.extra[key] = value;
		} else if (Array.isArray(entry) && entry[1]) {
			entry === this.table["*"] ? entry[1](this.thing, key, value) : entry[1](this.thing, value);
		} else {
			throw failure("TypeError", `“${key}” cannot be set`);
		}
	}
}

/** A table: an object without a prototype. */
export const table = (entries) => Object.assign(Object.create(null), entries);

export const isNothing = (value) => value === undefined || value === null;
export const isObject = (value) => (typeof value === "object" && value !== null) || value instanceof Callable;
/** Whether a value has a prototype of the browser. */
const isForeign = (value) => typeof value === "function" || Object.prototype.isPrototypeOf.call(Object.prototype, value);

/** Checks a value before the script gets it. Objects of the browser end the script, even if a table would give them. */
function own(value) {
	const isKnown = !isObject(value) || value instanceof Callable || value instanceof Facade || tableOf(value);
	if (typeof value === "function" || (!isKnown && isForeign(value))) {
		throw new Stop("its script reaches for something that is not its own");
	}
	return value;
}

/** Whether a value is a plain object of the script: not an array, a function or a native object. */
export const isPlain = (value) =>
	typeof value === "object" &&
	value !== null &&
	!tableOf(value) &&
	!(value instanceof Facade) &&
	!(value instanceof Callable) &&
	!isForeign(value);
export const typeName = (value) => (value instanceof Callable ? "function" : typeof value);

export function unknown({ type }) {
	throw new Stop(`its script has something that is not known here: ${type}`);
}

/** Calls a function of the script or a native function. */
export function call(called, self, args) {
	if (!(called instanceof Callable)) {
		throw failure("TypeError", `${textOf(called)} is not a function`);
	}
	if (called instanceof Native) {
		// A native function can take longer than a step of the script.
		tick(20);
		tock();
	} else {
		tick(5);
	}
	return deeper(() => (called.run ? called.run(self, args) : construct(called, args)));
}

/** Does something one call deeper, if that is not too deep. */
function deeper(work) {
	if (depth >= DEPTH) {
		throw failure("RangeError", "too many calls within each other");
	}
	depth += 1;
	try {
		return work();
	} finally {
		depth -= 1;
	}
}

/** The object that `new` makes. */
export function construct(called, args) {
	tick(5);
	if (called instanceof Native && called.create) {
		tock();
		return called.create(args);
	}
	if (!(called instanceof Script) || called.isArrow) {
		throw failure("TypeError", `${textOf(called)} is not a class`);
	}
	const made = Object.create(called.instances);
	const instead = deeper(() => called.begin(made, args));
	return isObject(instead) ? instead : made;
}

const TABLES = [];

/** Registers the table with the properties of a kind of value. */
export const offer = (owns, entries) => TABLES.push([owns, table(entries)]);

const kindOf = (value) => TABLES.find(([owns]) => owns(value));
const tableOf = (value) => kindOf(value)?.[1];

/** A key as a string. */
export const toKey = (key) => (typeof key === "string" ? key : typeof key === "number" ? String(key) : textOf(key));

const INDEX = /^(0|[1-9]\d{0,8})$/;

/** Reads a property. `self`: what a getter sees as `this`. */
export function get(object, key, self = object) {
	if (isNothing(object)) {
		throw failure("TypeError", `“${toKey(key)}” cannot be read: its object is ${object}`);
	}
	const name = toKey(key);
	if ((typeof object === "string" || Array.isArray(object)) && INDEX.test(name)) {
		return Object.hasOwn(Object(object), name) ? object[name] : undefined;
	}
	if (object instanceof Facade) {
		return object.read(name);
	}
	if (object instanceof Callable) {
		return readFunction(object, name, self);
	}
	const [owns, entries] = kindOf(object) ?? [];
	if (!entries) {
		// Ends the script if the object has a prototype of the browser.
		own(object);
		const value = object[name];
		return value instanceof Accessor ? value.get && call(value.get, self, []) : value === undefined ? ofObject(object, name) : value;
	}
	const entry = entries[name];
	if (entry === undefined || Array.isArray(entry)) {
		return own(entry?.[0](object));
	}
	return new Native((of, args) => {
		if (!owns(of)) {
			throw failure("TypeError", `“${name}” is called on something else than it belongs to`);
		}
		return own(entry(of, ...args));
	});
}

/** The members that every object of a script has, unless the object or its class has its own. */
const OBJECT = table({
	hasOwnProperty: (self, key) => hasOwn(self, toKey(key)),
	toString: (self) => textOf(self),
	valueOf: (self) => self
});

const ofObject = (object, name) =>
	typeof object === "object" && OBJECT[name] && !(name in object)
		? new Native((self, args) => OBJECT[name](self, ...args))
		: undefined;

const FUNCTION = table({
	call: (self, of, ...args) => call(self, of, args),
	apply: (self, of, args) => call(self, of, isNothing(args) ? [] : iterate(args)),
	bind: (self, of, ...first) => new Native((_, args) => call(self, of, [...first, ...args]))
});

function readFunction(called, name, self) {
	if (name in called.members) {
		const value = called.members[name];
		return value instanceof Accessor ? value.get && call(value.get, self, []) : value;
	}
	if (name === "name" || name === "length") {
		return called[name];
	}
	if (name === "prototype") {
		return called.instances;
	}
	return FUNCTION[name] && new Native((of, args) => FUNCTION[name](of, ...args));
}

/** The names of an object's own properties. */
export function keysOf(value) {
	if (isNothing(value)) {
		throw failure("TypeError", `${value} has no keys`);
	}
	if (value instanceof Facade) {
		return value.table["*"]?.[3]?.(value.thing) ?? [];
	}
	return Object.keys(value instanceof Callable ? value.members : own(value));
}

/** Whether an object has a property of its own. */
export function hasOwn(object, key) {
	if (object instanceof Facade) {
		return key in object.table || key in object.extra;
	}
	return Object.hasOwn(object instanceof Callable ? object.members : Object(object), key);
}

/** Writes a property. */
export function set(object, key, value) {
	if (isNothing(object)) {
		throw failure("TypeError", `“${toKey(key)}” cannot be set: its object is ${object}`);
	}
	if (Array.isArray(object)) {
		setElement(object, key, value);
		return;
	}
	const name = toKey(key);
	if (object instanceof Facade) {
		object.write(name, value);
		return;
	}
	if (object instanceof Native || !(object instanceof Callable || isPlain(object))) {
		throw failure("TypeError", `“${name}” cannot be set here`);
	}
	const target = object instanceof Callable ? object.members : object;
	const old = target[name];
	if (old instanceof Accessor) {
		old.set && call(old.set, object, [value]);
		return;
	}
	if (Object.isFrozen(target)) {
		throw failure("TypeError", `“${name}” cannot be set: its object is frozen`);
	}
	target[name] = value;
}

function setElement(array, key, value) {
	const name = toKey(key);
	if (name === "length" || INDEX.test(name)) {
		const length = name === "length" ? numberOf(value) : Number(name) + 1;
		if (!(length <= LONGEST_ARRAY)) {
			throw new Stop("its script makes a list that is too long");
		}
		name === "length" ? (array.length = length) : (array[name] = value);
		return;
	}
	throw failure("TypeError", `“${name}” cannot be set in a list`);
}

/** Deletes a property; `true` if it is gone. */
export function remove(object, key) {
	const name = toKey(key);
	if (object instanceof Facade) {
		object.table["*"]?.[2]?.(object.thing, name);
		return delete object.extra[name];
	}
	if (isPlain(object) && !Object.isFrozen(object)) {
		return delete object[name];
	}
	if (Array.isArray(object) && INDEX.test(name)) {
		return delete object[name];
	}
	return false;
}

/** The elements of an iterable value, as a new array. */
export function iterate(value) {
	if (typeof value === "string" || Array.isArray(value) || value instanceof Set || value instanceof Map) {
		const all = [...value];
		tick(all.length);
		return all;
	}
	throw failure("TypeError", `${textOf(value)} cannot be iterated`);
}

/** A value as a string, like `String(value)`. */
export function textOf(value, level = 0) {
	if (!isObject(value)) {
		return String(value);
	}
	if (level > 20) {
		return "…";
	}
	if (Array.isArray(value)) {
		return joined(value, ",", level);
	}
	if (value instanceof Callable) {
		return `function ${value.name}`;
	}
	if (value instanceof Date || value instanceof RegExp) {
		return String(value);
	}
	const own = isPlain(value) ? value.toString : undefined;
	if (own instanceof Callable) {
		return textOf(call(own, value, []), level + 1);
	}
	return isPlain(value) && "message" in value && Object.prototype.isPrototypeOf.call(ERROR, value)
		? `${textOf(value.name, level + 1)}: ${textOf(value.message, level + 1)}`
		: "[object Object]";
}

/** The elements of an array as strings, joined. */
export function joined(list, between, level = 0) {
	let length = 0;
	const texts = list.map((one) => {
		tick();
		const text = isNothing(one) ? "" : textOf(one, level + 1);
		bounded((length += text.length + between.length));
		return text;
	});
	return texts.join(between);
}

/** A primitive for an operator. */
export function primitive(value, wantsText = false) {
	if (!isObject(value)) {
		return value;
	}
	if (value instanceof Date) {
		return wantsText ? String(value) : Number(value);
	}
	const own = isPlain(value) && !wantsText ? value.valueOf : undefined;
	if (own instanceof Callable) {
		const made = call(own, value, []);
		if (!isObject(made)) {
			return made;
		}
	}
	return textOf(value);
}

export const numberOf = (value) => Number(primitive(value));

/** Checks the length of a string. A length above the maximum ends the script. */
export function bounded(length) {
	if (!(length <= LONGEST_TEXT)) {
		throw new Stop("its script makes a text that is too long");
	}
	return length;
}

/** Data of the page, such as a tool's answer, as objects of the script. */
export function imported(value) {
	if (Array.isArray(value)) {
		return value.map(imported);
	}
	return typeof value === "object" && value !== null
		? make(Object.entries(value).map(([key, one]) => [key, imported(one)]))
		: value;
}

/** Objects of the script as data for the page: values that JSON can express. */
export function exported(value, level = 0) {
	if (level > 100) {
		throw failure("TypeError", "the value is nested too deep");
	}
	tick();
	if (Array.isArray(value)) {
		return value.map((one) => exported(one, level + 1) ?? null);
	}
	if (value instanceof Date) {
		return value.toJSON();
	}
	if (value instanceof Callable || value instanceof Facade || value === undefined) {
		return undefined;
	}
	if (!isPlain(value)) {
		return typeof value === "object" && value !== null ? {} : value;
	}
	if (value.toJSON instanceof Callable) {
		return exported(call(value.toJSON, value, []), level + 1);
	}
	const data = Object.create(null);
	for (const key of Object.keys(value)) {
		const one = exported(get(value, key), level + 1);
		one === undefined || (data[key] = one);
	}
	return data;
}
