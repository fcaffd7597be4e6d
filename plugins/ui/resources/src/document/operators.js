// The operators of an interpreted script, on the values of values.js.

import {
	bounded,
	Callable,
	Facade,
	failure,
	isNothing,
	isObject,
	Native,
	numberOf,
	primitive,
	Script,
	textOf,
	toKey,
	typeName
} from "./values.js";

function add(a, b) {
	const [left, right] = [primitive(a, a instanceof Date), primitive(b, b instanceof Date)];
	if (typeof left === "string" || typeof right === "string") {
		const [start, end] = [String(left), String(right)];
		bounded(start.length + end.length);
		return start + end;
	}
	return Number(left) + Number(right);
}

function equals(a, b) {
	if (isObject(a) === isObject(b) || isNothing(a) || isNothing(b)) {
		return isObject(a) || isObject(b) ? a === b : a == b;
	}
	return isObject(a) ? primitive(a) == b : a == primitive(b);
}

const compare = (test) => (a, b) => test(primitive(a), primitive(b));
const count = (apply) => (a, b) => apply(numberOf(a), numberOf(b));

function has(key, object) {
	if (!isObject(object)) {
		throw failure("TypeError", "`in` needs an object");
	}
	const name = toKey(key);
	if (object instanceof Facade) {
		return name in object.table || name in object.extra;
	}
	if (object instanceof Callable) {
		return name in object.members;
	}
	return Array.isArray(object) ? name === "length" || Object.hasOwn(object, name) : name in object;
}

function isInstance(value, of) {
	if (of instanceof Native && of.owns) {
		return of.owns(value);
	}
	if (!(of instanceof Script)) {
		throw failure("TypeError", "`instanceof` needs a class");
	}
	return isObject(value) && !(value instanceof Callable) && Object.prototype.isPrototypeOf.call(of.instances, value);
}

export const BINARY = {
	__proto__: null,
	text: (value) => textOf(value),
	"+": add,
	"-": count((a, b) => a - b),
	"*": count((a, b) => a * b),
	"/": count((a, b) => a / b),
	"%": count((a, b) => a % b),
	"**": count((a, b) => a ** b),
	"|": count((a, b) => a | b),
	"&": count((a, b) => a & b),
	"^": count((a, b) => a ^ b),
	"<<": count((a, b) => a << b),
	">>": count((a, b) => a >> b),
	">>>": count((a, b) => a >>> b),
	"==": equals,
	"!=": (a, b) => !equals(a, b),
	"===": (a, b) => a === b,
	"!==": (a, b) => a !== b,
	"<": compare((a, b) => a < b),
	">": compare((a, b) => a > b),
	"<=": compare((a, b) => a <= b),
	">=": compare((a, b) => a >= b),
	in: has,
	instanceof: isInstance
};

export const UNARY = {
	__proto__: null,
	"!": (value) => !value,
	"-": (value) => -numberOf(value),
	"+": numberOf,
	"~": (value) => ~numberOf(value),
	typeof: typeName,
	void: () => undefined,
	delete: () => true
};
