// Interprets the script of a model's document: an ESTree with the kinds of nodes that the plugin accepts.
//
// The browser never runs the script. Each property, call and global of the script goes through the tables of
// values.js, so that the script reaches only what the tables offer.

import {
	Accessor,
	call,
	Callable,
	construct,
	failure,
	get,
	isNothing,
	iterate,
	keysOf,
	make,
	remove,
	Script,
	set,
	Thrown,
	tick,
	toKey,
	typeName,
	unknown
} from "./values.js";
import { BINARY, UNARY } from "./operators.js";

const BREAK = { kind: "break" };
const CONTINUE = { kind: "continue" };
/** The value of an optional chain that ends early. */
const ENDED = Symbol("ended");
/** Keys of a scope. They begin with a space, so that no identifier is equal to them. */
const THIS = " this";
const HOME = " home";

class Returned {
	constructor(value) {
		this.value = value;
	}
}

/**
 * Runs a program in a new scope above `globals`.
 *
 * @param program an ESTree `Program` @param globals an object without a prototype
 */
export function interpret(program, globals) {
	const scope = inner(globals);
	scope[THIS] = undefined;
	for (const name of declaredByVar(program.body)) {
		scope[name] = undefined;
	}
	block(program.body)(scope);
}

const inner = (scope) => Object.create(scope);

function find(scope, name) {
	for (let one = scope; one; one = Object.getPrototypeOf(one)) {
		if (Object.hasOwn(one, name)) {
			return one;
		}
	}
	throw failure("ReferenceError", `“${name}” is not defined`);
}

function assign(scope, name, value) {
	const owner = find(scope, name);
	if (!Object.getPrototypeOf(owner)) {
		throw failure("TypeError", `“${name}” cannot be changed`);
	}
	owner[name] = value;
}

const expression = (node) => (EXPRESSIONS[node.type] ?? unknown)(node);
const statement = (node) => {
	const run = (STATEMENTS[node.type] ?? unknown)(node);
	return (scope) => {
		tick();
		return run(scope);
	};
};

/** The names that `var` declares in a function's body. Their scope is the function, not a block. */
function declaredByVar(node, names = new Set()) {
	if (Array.isArray(node)) {
		node.forEach((one) => declaredByVar(one, names));
	} else if (node && typeof node === "object" && !/^(Function|Arrow|Class)/.test(node.type)) {
		if (node.type === "VariableDeclaration" && node.kind === "var") {
			node.declarations.forEach(({ id }) => namesOf(id).forEach((name) => names.add(name)));
		}
		Object.values(node).forEach((one) => declaredByVar(one, names));
	}
	return names;
}

/** The names that a pattern binds. */
function namesOf(pattern) {
	switch (pattern?.type) {
		case "Identifier":
			return [pattern.name];
		case "ArrayPattern":
			return pattern.elements.flatMap(namesOf);
		case "ObjectPattern":
			return pattern.properties.flatMap(namesOf);
		case "Property":
			return namesOf(pattern.value);
		case "AssignmentPattern":
			return namesOf(pattern.left);
		case "RestElement":
			return namesOf(pattern.argument);
		default:
			return [];
	}
}

/** Statements that run in an existing scope. Functions are declared before the first statement runs. */
function block(body) {
	const functions = body
		.filter(({ type }) => type === "FunctionDeclaration")
		.map((node) => [node.id.name, functionOf(node)]);
	const statements = body.filter(({ type }) => type !== "FunctionDeclaration").map(statement);
	return (scope) => {
		for (const [name, makeFunction] of functions) {
			scope[name] = makeFunction(scope);
		}
		for (const run of statements) {
			const end = run(scope);
			if (end) {
				return end;
			}
		}
		return undefined;
	};
}

/** Binds a value to a pattern: calls `put(scope, name, value)` for each name, and assigns to members. */
function binder(pattern, put) {
	switch (pattern.type) {
		case "Identifier":
			return (scope, value) => put(scope, pattern.name, value);
		case "MemberExpression": {
			const [object, key] = [expression(pattern.object), keyOf(pattern.property, pattern.computed)];
			return (scope, value) => set(object(scope), key(scope), value);
		}
		case "AssignmentPattern": {
			const [bind, init] = [binder(pattern.left, put), named(pattern.right, pattern.left)];
			return (scope, value) => bind(scope, value === undefined ? init(scope) : value);
		}
		case "ArrayPattern": {
			const binds = pattern.elements.map((one) => one && [binder(one.argument ?? one, put), one.type === "RestElement"]);
			return (scope, value) => {
				const list = iterate(value);
				binds.forEach((one, index) => one?.[0](scope, one[1] ? list.slice(index) : list[index]));
			};
		}
		case "ObjectPattern":
			return objectBinder(pattern, put);
		default:
			return unknown(pattern);
	}
}

function objectBinder({ properties }, put) {
	const binds = properties.map((one) =>
		one.type === "RestElement"
			? [undefined, binder(one.argument, put)]
			: [keyOf(one.key, one.computed), binder(one.value, put)]
	);
	return (scope, value) => {
		if (isNothing(value)) {
			throw failure("TypeError", `${value} has no properties`);
		}
		const taken = [];
		for (const [key, bind] of binds) {
			if (key) {
				const name = toKey(key(scope));
				taken.push(name);
				bind(scope, get(value, name));
			} else {
				const rest = make();
				for (const name of keysOf(value)) {
					taken.includes(name) || (rest[name] = get(value, name));
				}
				bind(scope, rest);
			}
		}
	};
}

const declare = (scope, name, value) => (scope[name] = value);

function keyOf(node, computed) {
	if (computed) {
		return expression(node);
	}
	const key = node.type === "Identifier" ? node.name : String(node.value);
	return () => key;
}

/** An expression. A function without a name gets the name of the variable that it is assigned to. */
function named(node, target) {
	const isNameless = /^(FunctionExpression|ArrowFunctionExpression|ClassExpression)$/.test(node.type) && !node.id;
	return isNameless && target?.type === "Identifier" ? expression({ ...node, given: target.name }) : expression(node);
}

/** Compiles a function. The result, called with a scope (and with its class if it is a method), makes the function's value. */
function functionOf(node) {
	const isArrow = node.type === "ArrowFunctionExpression";
	const rest = node.params.findIndex(({ type }) => type === "RestElement");
	const defaulted = node.params.findIndex(({ type }) => type === "AssignmentPattern" || type === "RestElement");
	const length = defaulted < 0 ? node.params.length : defaulted;
	const params = node.params.map((one) => binder(one.argument && one.type === "RestElement" ? one.argument : one, declare));
	const vars = [...declaredByVar(node.body)];
	const name = node.id?.name ?? node.given ?? "";
	const body = node.expression ? expression(node.body) : block(node.body.body);
	return (outer, home) => {
		let closure = outer;
		const made = new Script(name, length, isArrow, (self, args) => {
			const scope = inner(closure);
			if (!isArrow) {
				scope[THIS] = self;
				home && (scope[HOME] = home);
			}
			vars.forEach((one) => (scope[one] = undefined));
			params.forEach((bind, index) => bind(scope, index === rest ? args.slice(index) : args[index]));
			const end = body(scope);
			return node.expression ? end : end instanceof Returned ? end.value : undefined;
		});
		if (node.type === "FunctionExpression" && node.id) {
			closure = inner(outer);
			closure[name] = made;
		}
		return made;
	};
}

function classOf(node) {
	const parent = node.superClass && expression(node.superClass);
	const members = node.body.body.map((one) => ({
		...one,
		at: keyOf(one.key, one.computed),
		make: one.type === "MethodDefinition" ? functionOf(one.value) : one.value && functionOf(fieldOf(one.value))
	}));
	const name = node.id?.name ?? node.given ?? "";
	return (outer) => {
		const scope = inner(outer);
		const above = parent?.(scope);
		if (parent && !(above instanceof Script)) {
			throw failure("TypeError", "a class extends a class or a function of the document, nothing else");
		}
		const made = new Script(name, 0, false, undefined);
		made.becomeClass(above);
		node.id && (scope[name] = made);
		for (const { at, kind, make: makeMember, static: isStatic, type } of members) {
			const [key, target] = [toKey(at(scope)), isStatic ? made.members : made.instances];
			const value = makeMember?.(scope, made);
			if (type === "PropertyDefinition") {
				isStatic ? (target[key] = value && call(value, made, [])) : made.fields.push([key, value]);
			} else if (kind === "constructor") {
				made.body = value;
			} else {
				define(target, key, kind, value);
			}
		}
		return made;
	};
}

const fieldOf = (value) => ({ type: "FunctionExpression", params: [], body: value, expression: true });

function define(target, key, kind, value) {
	if (kind !== "get" && kind !== "set") {
		target[key] = value;
		return;
	}
	const old = Object.hasOwn(target, key) && target[key] instanceof Accessor ? target[key] : new Accessor();
	old[kind] = value;
	target[key] = old;
}

/** The values of arguments or elements, with spread values inserted. */
function list(nodes) {
	const all = nodes.map((one) => one && [expression(one.type === "SpreadElement" ? one.argument : one), one.type === "SpreadElement"]);
	return (scope) => {
		const values = [];
		for (const one of all) {
			if (one?.[1]) {
				for (const value of iterate(one[0](scope))) {
					values.push(value);
				}
			} else {
				values.push(one?.[0](scope));
			}
		}
		return values;
	};
}

/** The object and the key of a member. `super.x` is looked up in the parent class, with `this` as the receiver. */
function place(node) {
	const key = keyOf(node.property, node.computed);
	if (node.object.type === "Super") {
		return (scope) => {
			const above = scope[HOME]?.parent?.instances ?? make();
			return [above, key(scope), scope[THIS]];
		};
	}
	const object = expression(node.object);
	return (scope) => {
		const value = object(scope);
		if (value === ENDED || (node.optional && isNothing(value))) {
			return undefined;
		}
		return [value, key(scope), value];
	};
}

const EXPRESSIONS = {
	__proto__: null,
	Literal: (node) => {
		if (node.regex) {
			return () => new RegExp(node.regex.pattern, node.regex.flags);
		}
		const value = node.value ?? null;
		return () => value;
	},
	Identifier: ({ name }) => {
		if (name === "undefined") {
			return () => undefined;
		}
		return (scope) => (name in scope ? scope[name] : find(scope, name));
	},
	ThisExpression: () => (scope) => scope[THIS],
	TemplateLiteral: ({ quasis, expressions }) => {
		const values = expressions.map(expression);
		return (scope) =>
			values.reduce(
				(text, value, index) => BINARY["+"](text, BINARY["+"](BINARY.text(value(scope)), quasis[index + 1].value.cooked)),
				quasis[0].value.cooked
			);
	},
	ArrayExpression: ({ elements }) => list(elements),
	ObjectExpression: ({ properties }) => {
		const all = properties.map((one) =>
			one.type === "SpreadElement"
				? [undefined, expression(one.argument)]
				: [keyOf(one.key, one.computed), named(one.value, one.key), one.kind]
		);
		return (scope) => {
			const object = make();
			for (const [key, value, kind] of all) {
				if (key) {
					define(object, toKey(key(scope)), kind, value(scope));
				} else {
					copy(value(scope), object);
				}
			}
			return object;
		};
	},
	FunctionExpression: functionOf,
	ArrowFunctionExpression: functionOf,
	ClassExpression: classOf,
	UnaryExpression: ({ operator, argument }) => {
		if (operator === "delete" && argument.type === "MemberExpression") {
			const at = place(argument);
			return (scope) => {
				const found = at(scope);
				return !found || remove(found[0], found[1]);
			};
		}
		if (operator === "typeof" && argument.type === "Identifier") {
			return (scope) => (argument.name in scope ? typeName(scope[argument.name]) : "undefined");
		}
		const [value, apply] = [expression(argument), UNARY[operator] ?? unknown({ type: operator })];
		return (scope) => apply(value(scope));
	},
	UpdateExpression: ({ operator, prefix, argument }) => {
		const change = operator === "++" ? 1 : -1;
		return target(argument, (old) => {
			const before = UNARY["+"](old);
			return [before + change, prefix ? before + change : before];
		});
	},
	BinaryExpression: ({ operator, left, right }) => {
		const [a, b, apply] = [expression(left), expression(right), BINARY[operator] ?? unknown({ type: operator })];
		return (scope) => apply(a(scope), b(scope));
	},
	LogicalExpression: ({ operator, left, right }) => {
		const [a, b] = [expression(left), expression(right)];
		return (scope) => {
			const value = a(scope);
			return decides(operator, value) ? value : b(scope);
		};
	},
	AssignmentExpression: ({ operator, left, right }) => {
		if (operator === "=") {
			const [bind, value] = [binder(left, assign), named(right, left)];
			return (scope) => {
				const made = value(scope);
				bind(scope, made);
				return made;
			};
		}
		const [value, short] = [named(right, left), operator.slice(0, -1)];
		if (/^(&&|\|\||\?\?)$/.test(short)) {
			return target(left, (old, scope) => (decides(short, old) ? [old, old] : twice(value(scope))));
		}
		const apply = BINARY[short] ?? unknown({ type: operator });
		return target(left, (old, scope) => twice(apply(old, value(scope))));
	},
	ConditionalExpression: ({ test, consequent, alternate }) => {
		const [when, yes, no] = [test, consequent, alternate].map(expression);
		return (scope) => (when(scope) ? yes(scope) : no(scope));
	},
	MemberExpression: (node) => {
		const at = place(node);
		return (scope) => {
			const found = at(scope);
			return found ? get(found[0], found[1], found[2]) : ENDED;
		};
	},
	ChainExpression: (node) => {
		const value = expression(node.expression);
		return (scope) => {
			const end = value(scope);
			return end === ENDED ? undefined : end;
		};
	},
	CallExpression: ({ callee, arguments: given, optional }) => {
		const args = list(given);
		if (callee.type === "Super") {
			return (scope) => {
				const home = scope[HOME];
				home.parent.begin(scope[THIS], args(scope));
				home.fill(scope[THIS]);
			};
		}
		const at = callee.type === "MemberExpression" && place(callee);
		const value = at ? undefined : expression(callee);
		return (scope) => {
			const found = at && at(scope);
			const called = at ? (found ? get(found[0], found[1], found[2]) : ENDED) : value(scope);
			if (called === ENDED || (optional && isNothing(called))) {
				return ENDED;
			}
			if (!(called instanceof Callable)) {
				throw failure("TypeError", `“${at ? toKey(found[1]) : (callee.name ?? "this")}” is not a function`);
			}
			return call(called, found?.[2], args(scope));
		};
	},
	NewExpression: ({ callee, arguments: given }) => {
		const [value, args] = [expression(callee), list(given)];
		return (scope) => construct(value(scope), args(scope));
	},
	SequenceExpression: ({ expressions }) => {
		const all = expressions.map(expression);
		return (scope) => all.reduce((_, one) => one(scope), undefined);
	}
};

const twice = (value) => [value, value];

/** Whether the left side of `&&`, `||` or `??` is the value of the expression. */
const decides = (operator, value) => (operator === "??" ? !isNothing(value) : operator === "&&" ? !value : Boolean(value));

function copy(from, to) {
	if (isNothing(from)) {
		return;
	}
	for (const key of keysOf(from)) {
		to[key] = get(from, key);
	}
}

/** Changes a variable or a member. `change(old, scope)` gives the new value and the value of the expression. */
function target(node, change) {
	if (node.type === "Identifier") {
		return (scope) => {
			const [value, result] = change(find(scope, node.name)[node.name], scope);
			assign(scope, node.name, value);
			return result;
		};
	}
	const at = place(node);
	return (scope) => {
		const [object, key, self] = at(scope);
		const name = toKey(key);
		const [value, result] = change(get(object, name, self), scope);
		set(self, name, value);
		return result;
	};
}

const STATEMENTS = {
	__proto__: null,
	EmptyStatement: () => () => undefined,
	ExpressionStatement: (node) => {
		const value = expression(node.expression);
		return (scope) => void value(scope);
	},
	BlockStatement: ({ body }) => {
		const run = block(body);
		return (scope) => run(inner(scope));
	},
	VariableDeclaration: ({ kind, declarations }) => {
		const all = declarations.map(({ id, init }) => [
			binder(id, kind === "var" ? assign : declare),
			init && named(init, id),
			kind === "var" && !init
		]);
		return (scope) => {
			for (const [bind, init, isNothingNew] of all) {
				isNothingNew || bind(scope, init?.(scope));
			}
		};
	},
	ClassDeclaration: (node) => {
		const value = classOf(node);
		return (scope) => void (scope[node.id.name] = value(scope));
	},
	// A declaration that is the only statement of an `if` or a `for`.
	FunctionDeclaration: (node) => {
		const value = functionOf(node);
		return (scope) => void (scope[node.id.name] = value(scope));
	},
	ReturnStatement: ({ argument }) => {
		const value = argument && expression(argument);
		return (scope) => new Returned(value?.(scope));
	},
	IfStatement: ({ test, consequent, alternate }) => {
		const [when, yes, no] = [expression(test), statement(consequent), alternate && statement(alternate)];
		return (scope) => (when(scope) ? yes(scope) : no?.(scope));
	},
	ForStatement: forStatement,
	ForOfStatement: (node) => each(node, iterate),
	ForInStatement: (node) =>
		each(node, (value) => (isNothing(value) ? [] : keysOf(value))),
	WhileStatement: ({ test, body }) => {
		const [when, run] = [expression(test), statement(body)];
		return (scope) => repeat(() => when(scope), () => run(scope));
	},
	DoWhileStatement: ({ test, body }) => {
		const [when, run] = [expression(test), statement(body)];
		return (scope) => {
			let isFirst = true;
			return repeat(() => (isFirst ? !(isFirst = false) : when(scope)), () => run(scope));
		};
	},
	BreakStatement: () => () => BREAK,
	ContinueStatement: () => () => CONTINUE,
	SwitchStatement: ({ discriminant, cases }) => {
		const value = expression(discriminant);
		const all = cases.map((one) => [one.test && expression(one.test), one.consequent]);
		const runs = all.map((_, index) => block(all.slice(index).flatMap(([, body]) => body)));
		return (scope) => {
			const [is, within] = [value(scope), inner(scope)];
			let from = all.findIndex(([test]) => test && test(within) === is);
			from = from < 0 ? all.findIndex(([test]) => !test) : from;
			const end = from < 0 ? undefined : runs[from](within);
			return end === BREAK ? undefined : end;
		};
	},
	ThrowStatement: ({ argument }) => {
		const value = expression(argument);
		return (scope) => {
			throw new Thrown(value(scope));
		};
	},
	TryStatement: tryStatement
};

function repeat(when, run) {
	while (when()) {
		tick();
		const end = run();
		if (end === BREAK) {
			break;
		}
		if (end && end !== CONTINUE) {
			return end;
		}
	}
	return undefined;
}

function forStatement({ init, test, update, body }) {
	const isDeclared = init?.type === "VariableDeclaration" && init.kind !== "var";
	const names = isDeclared ? init.declarations.flatMap(({ id }) => namesOf(id)) : [];
	const begin = init && (init.type === "VariableDeclaration" ? statement(init) : expression(init));
	const [when, step, run] = [test && expression(test), update && expression(update), statement(body)];
	return (outer) => {
		let scope = inner(outer);
		begin?.(scope);
		let isFirst = true;
		return repeat(
			() => {
				if (!isFirst) {
					// Each iteration has variables of its own, which functions made in it keep.
					const next = inner(outer);
					names.forEach((name) => (next[name] = scope[name]));
					scope = next;
					step?.(scope);
				}
				isFirst = false;
				return !when || when(scope);
			},
			() => run(scope)
		);
	};
}

function each({ left, right, body }, items) {
	const isDeclaration = left.type === "VariableDeclaration";
	const bind = isDeclaration
		? binder(left.declarations[0].id, left.kind === "var" ? assign : declare)
		: binder(left, assign);
	const [value, run] = [expression(right), statement(body)];
	return (outer) => {
		const all = items(value(outer));
		let index = 0;
		let scope;
		return repeat(
			() => {
				if (index >= all.length) {
					return false;
				}
				scope = inner(outer);
				bind(scope, all[index++]);
				return true;
			},
			() => run(scope)
		);
	};
}

function tryStatement({ block: tried, handler, finalizer }) {
	const [run, last] = [statement(tried), finalizer && statement(finalizer)];
	const bind = handler?.param && binder(handler.param, declare);
	const caught = handler && statement(handler.body);
	return (scope) => {
		let end;
		try {
			end = run(scope);
		} catch (problem) {
			const value = Thrown.valueOf(problem);
			if (!caught) {
				const instead = last?.(scope);
				if (instead) {
					return instead;
				}
				throw problem;
			}
			const within = inner(scope);
			bind?.(within, value);
			if (!last) {
				return caught(within);
			}
			try {
				end = caught(within);
			} catch (again) {
				Thrown.valueOf(again);
				const instead = last(scope);
				if (instead) {
					return instead;
				}
				throw again;
			}
		}
		return last?.(scope) ?? end;
	};
}
