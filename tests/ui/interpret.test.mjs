// Tests of the interpreter for scripts of documents: it computes the same as a browser, and a script reaches only what the
// interpreter offers.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { parse } from "acorn";
import { build } from "esbuild";
import { shipped } from "./build.mjs";

const { outputFiles } = await build({
	stdin: {
		contents: ["interpret", "values", "globals"].map((name) => `export * from "./${name}.js";`).join("\n"),
		resolveDir: path.join(shipped, "src/document")
	},
	bundle: true,
	write: false,
	format: "esm"
});
const { interpret, globals, exported, make, Native, beginTurn, Stop } = await import(
	`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
);

/** Runs a script that calls `give(value)`, and returns the given values. */
function run(script) {
	const given = [];
	const program = parse(script, { ecmaVersion: 2024 });
	const all = globals();
	all.give = new Native((_, [value]) => void given.push(value === undefined ? "undefined" : exported(value)));
	beginTurn();
	interpret(program, all);
	return given;
}

/** Does the same with the JavaScript engine of Node. */
function native(script) {
	const given = [];
	new Function("give", script)((value) => given.push(value === undefined ? "undefined" : structuredClone(value)));
	return given;
}

const plain = (value) => JSON.parse(JSON.stringify(value));

const SAME = [
	"give(1 + 2 * 3 - 4 / 5 % 6 ** 2); give('a' + 1 + true + null + undefined); give(+'3' - '1'); give(7 & 3 | 8 ^ 1); give(-9 >>> 28); give(~5)",
	"give(1 == '1'); give(null == undefined); give(null == 0); give([1] == 1); give(NaN === NaN); give('b' > 'a'); give([2] > 1); give({} == '[object Object]')",
	"let a = 1; { let a = 2; give(a) } give(a); var b = 1; { var b = 2 } give(b); const [x, , y = 5, ...z] = [1, 2, undefined, 4, 5]; give([x, y, z])",
	"const { a, b: { c = 3, ...rest }, ...others } = { a: 1, b: { d: 4, e: 5 }, f: 6, g: 7 }; give([a, c, rest, others]); const { length } = 'four'; give(length)",
	"const fs = []; for (let i = 0; i < 3; i++) { fs.push(() => i); } give(fs.map((f) => f())); const gs = []; for (var j = 0; j < 3; j++) { gs.push(() => j); } give(gs.map((f) => f()))",
	"for (const [k, v] of Object.entries({ a: 1, b: 2 })) { give(k + v); } for (const k in { x: 1, y: 2 }) give(k); for (const c of 'añ😀') give(c)",
	"let n = 0; while (true) { n++; if (n === 2) continue; if (n > 4) break; give(n) } do { n-- } while (n > 0); give(n)",
	"function f(a, b = a + 1, ...more) { return [a, b, more]; } give(f(1)); give(f(1, 2, 3, 4)); give(f(...[7, 8], 9)); give(f.length); give(f.name)",
	"give(late()); function late() { return inner(); function inner() { return 'hoisted' } } var fact = function me(n) { return n < 2 ? 1 : n * me(n - 1) }; give(fact(10))",
	"class A { #p = 1; static made = 0; x = this.start(); constructor(y) { this.y = y; A.made++ } start() { return 5 } get sum() { return this.x + this.y } set sum(v) { this.y = v - this.x } static of(v) { return new this(v) } } const a = new A(2); a.sum = 10; give([a.x, a.y, a.sum, A.made, A.of(1).sum, a instanceof A])",
	"class A { constructor(n) { this.n = n } hi() { return 'A' + this.n } } class B extends A { m = 1; constructor(n) { super(n + 1); this.o = this.m } hi() { return super.hi() + 'B' } } class C extends B {} const c = new C(1); give([c.hi(), c.m, c.o, c instanceof A, c.constructor === C])",
	"function Old(n) { this.n = n } Old.prototype.twice = function () { return this.n * 2 }; give(new Old(4).twice()); give(new Old(1) instanceof Old)",
	"const o = { a: 1, get b() { return this.a + 1 }, set b(v) { this.a = v }, c() { return this.b }, ['d' + 1]: 4, 'e-f': 5, ...{ g: 6 } }; o.b = 9; give([o.a, o.b, o.c(), o.d1, o['e-f'], o.g, 'a' in o, delete o.a, 'a' in o])",
	"const n = null; give(n?.a); give(n?.a.b.c()); give(n?.[0]); const o = { f: () => 3, g: null }; give(o.f?.()); give(o.g?.()); give(o.h?.().x); give(n ?? 'd'); let q; q ??= 5; q ||= 6; q &&= 7; give(q)",
	"try { null.x } catch (e) { give(e instanceof TypeError) } try { missing } catch (e) { give(e.name) } try { throw { code: 5 } } catch ({ code }) { give(code) } finally { give('end') }",
	"function f() { try { return 1 } finally { give('f') } } give(f()); function g() { for (const x of [1, 2]) { try { continue } finally { give(x) } } return 'g' } give(g())",
	"switch (3) { case 1: give(1); case 3: give(3); case 4: give(4); break; default: give('d') } switch ('z') { default: give('d'); case 'y': give('y') } const h = (x) => { switch (x) { case 1: return 'one' } return 'none' }; give([h(1), h(2)])",
	"give(`a${1 + 1}b${[1, 2]}c${{}}`); give(typeof undefined + typeof 1 + typeof '' + typeof {} + typeof [] + typeof null + typeof (() => 1) + typeof missing); give(void 0)",
	"give([3, 1, 2].sort()); give([10, 9, 1].sort()); give([3, 1, 2].sort((a, b) => b - a)); give([1, [2, [3, [4]]]].flat()); give([1, [2, [3, [4]]]].flat(Infinity)); give([1, 2, 3].reduce((a, b) => a + b)); give([1, 2].flatMap((x) => [x, x])); give(Array.from({ length: 3 }, (_, i) => i * i))",
	"give([1, 2, 3, 4].filter((x) => x % 2).map((x, i) => x * i)); give([1, 2, 3].includes(2)); give([..'abc'].join === undefined)".replace("[..'abc'].join === undefined", "[...'abc'].join('-')"),
	"const a = [1, 2, 3, 4, 5]; give(a.splice(1, 2)); give(a); a.length = 1; give(a); a[3] = 9; give(a.length); give([,1].length); give([1, 2, 3].at(-1)); give([1, 2, 3].indexOf(4)); give(a.concat([1], 2, [[3]]))",
	"give('Hello'.replace('l', 'L')); give('a-b-c'.split('-')); give('abc'.replace(/(b)/, (m, p, i) => p + i)); give('x'.padStart(3, '0')); give('aXbX'.replaceAll('X', '.')); give('The Cat'.match(/(?<first>\\w)at/).groups.first); give([...'a1b2'.matchAll(/\\d/g)].map((m) => m[0] + m.index)); give('%'.repeat(3)); give('abc'[1] + 'abc'.at(-1) + 'abc'.length)",
	"give((1234.5678).toFixed(2)); give((255).toString(16)); give(parseInt('12px', 10)); give(Number('x') === Number('x')); give(Number.isInteger(5)); give(Math.max(...[1, 5, 3])); give(Math.round(2.5)); give(Math.PI > 3)",
	"give(JSON.stringify({ a: [1, { b: null }], c: undefined, d: new Date(0) })); give(JSON.parse('{\"a\":[1,{\"__proto__\":2}]}').a[0]); give(JSON.stringify([1], null, 2)); try { JSON.parse('{') } catch (e) { give(e.name) }",
	"const m = new Map([['a', 1]]); m.set('b', 2); give([...m.entries()].map(([k, v]) => k + v)); give(m.get('b') + m.size); for (const [k] of m) give(k); m.forEach((v, k) => give(k + v)); const s = new Set([1, 1, 2]); give([...s]); give(s.has(2)); s.delete(2); give(s.size)",
	"const d = new Date(Date.UTC(2026, 1, 3)); give(d.toISOString()); give(d.getTime()); give(new Date('2026-01-01') < new Date('2026-01-02')); give(new Date(0) - 0); d.setUTCDate(1); give(d.getUTCDate())",
	"give(Object.keys({ b: 1, a: 2 })); give(Object.values('ab')); give(Object.fromEntries([['a', 1]])); give(Object.assign({}, { a: 1 }, null, { b: 2 })); give(Object.hasOwn({ a: 1 }, 'a')); give({ a: 1 }.hasOwnProperty('b')); give(String({}) + [1, [2, 3]])",
	"give(new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }).format(1234.5)); give(new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long' }).format(new Date(0))); give((1e6).toLocaleString('en-US')); give(['ä', 'a', 'z'].sort(new Intl.Collator('de').compare)); give(new Intl.PluralRules('en').select(1)); give(new Intl.ListFormat('en').format(['a', 'b']))".replace("new Intl.Collator('de').compare", "(a, b) => new Intl.Collator('de').compare(a, b)"),
	"const add = (a) => (b) => a + b; give(add(1)(2)); const o = { n: 3, f: function () { return (() => this.n)() } }; give(o.f()); give(o.f.call({ n: 4 })); give(o.f.apply({ n: 5 }, [])); give(o.f.bind({ n: 6 })()); give(Math.max.apply(null, [1, 2]))",
	"let i = 0; const o = { get k() { i++; return 'a' }, a: 1 }; o[o.k] += 5; give([o.a, i]); let x = 5; give(x++ + ++x); give(x--); const arr = [1]; arr[0]++; give(arr)",
	"[a, b] = [1, 2]; ".replace("[a, b] = [1, 2]; ", "let a, b; [a, b] = [1, 2]; [a, b] = [b, a]; give([a, b]); const o = {}; ({ x: o.y, z: o['w'] = 3 } = { x: 1 }); give(o)"),
	"const text = { toString() { return 'T' } }; give('' + text); give(`${text}`); const num = { valueOf() { return 4 } }; give(num * 2); give(num + 1); give([1, 2] + ''); give(String([null, undefined, 1]))",
	"const e = new Error('bad'); give(e.message); give(e.name); give(String(e)); give(e instanceof Error); give(new RangeError('x') instanceof TypeError); class Own extends Object {} ".replace("class Own extends Object {} ", ""),
	"give([1, 2, 3].some((x) => x > 2)); give([1, 2, 3].every(Boolean)); give(['1', '2', '3'].map(Number)); give([3, 4].findLast((x) => x < 4)); give([1, 2, 3].toSorted((a, b) => b - a)); give(['b', undefined, 'a'].sort()); give([5, 1].reverse()); give(Object.entries({}).length)",
	"label(); function label() { let out = ''; for (let i = 0, j = 10; i < j; i += 3, j--) { out += i + ':' + j + ' ' } give(out) } give((1, 2)); if (0) give('no'); else if (1) give('yes')",
	"give(structuredClone({ a: [1, { b: 2 }] })); give(isNaN('x')); give([NaN].includes(NaN)); give(encodeURI === undefined)".replace("; give(encodeURI === undefined)", ""),
	"const state = { rows: [{ n: 'b', v: 2 }, { n: 'a', v: 1 }], key: 'n' }; const by = (k) => (a, b) => (a[k] < b[k] ? -1 : a[k] > b[k] ? 1 : 0); give([...state.rows].sort(by(state.key)).map((r) => r.v)); const groups = state.rows.reduce((all, r) => { (all[r.n] ??= []).push(r.v); return all }, {}); give(groups)"
];

test("a script computes what a browser computes", () => {
	for (const script of SAME) {
		assert.deepEqual(plain(run(script)), plain(native(script)), script);
	}
});

test("a list of numbers of any size is computed within the steps of a turn", (t) => {
	// Only steps are measured: the clock is stopped, since the time of a step depends on the machine.
	t.mock.method(performance, "now", () => 0);
	const [sum] = run("let sum = 0; for (let i = 0; i < 200000; i++) { sum += i % 7; } give(sum)");
	assert.equal(sum, 599_994);
});

/** Scripts that try to reach objects of the browser. Each gives what it found: nothing, or an object of the script. */
const NOTHING = [
	"give([].constructor)",
	"give(''.constructor)",
	"give((1).constructor)",
	"give((() => 1).constructor)",
	"give(give.constructor)",
	"give(Math.max.constructor)",
	"give(JSON['const' + 'ructor'])",
	"give({}['constructor'])",
	"give({}.__proto__)",
	"give([]['__pro' + 'to__'])",
	"give(new Map().constructor)",
	"give(new Date()['constructor'])",
	"give(/x/.constructor)",
	"give(new Error('x').constructor)",
	"try { null.x } catch (e) { give(e.constructor) }",
	"try { JSON.parse('{') } catch (e) { give(e.constructor ?? e.stack ?? e.cause) }",
	"give('x'.match(/x/).constructor)",
	"give('x'.match(/(?<a>x)/).groups.constructor)",
	"give(JSON.parse('{\"a\":1}').constructor)",
	"give(JSON.parse('{\"__proto__\":{\"polluted\":1}}').polluted ?? ({}).polluted)",
	"give(new Intl.NumberFormat().formatToParts(1)[0].constructor)",
	"give(new Intl.NumberFormat().constructor)",
	"give(new Intl.DateTimeFormat().resolvedOptions().constructor)",
	"give((function () { return this })())",
	"give((() => this)())",
	"give([1].map(function () { return this })[0])",
	"give('x'.replace(/x/, function () { give(this); return '' }) || undefined)",
	"class A {} give(Object.keys(A.prototype).includes('toString') || undefined)",
	"give(Object.getPrototypeOf)",
	"give(Object.getOwnPropertyDescriptor)",
	"give(Object.defineProperty)",
	"give(Object.prototype)",
	"give(Array.prototype?.map?.constructor)",
	"give([].map.call.constructor)",
	"give([].map.apply.call.bind.constructor)",
	"give([].entries().constructor)",
	"give(new Set([1]).values().next)",
	"give([][Symbol])".replace("[][Symbol]", "[]['@@iterator']"),
	"give(({ toString: () => 'constructor' }) in {} || undefined)",
	"give([][{ toString: () => 'constructor' }])",
	"give([][['constructor']])",
	"give(''[{ toString: 5 }])",
	"const { constructor } = []; give(constructor)",
	"const { constructor: { constructor: F } = {} } = ''; give(F)",
	"give(console.log.constructor)",
	"give(Reflect)".replace("Reflect", "undefined"),
	"class A extends A0 {} function A0() {} give(new A().constructor.constructor)".replace("class A extends A0 {} function A0() {}", "function A0() {} class A extends A0 {}"),
	"const o = {}; o.__proto__ = []; give(o.map)",
	"const o = { __proto__: [] }; give(o.push)",
	"const o = { ['__proto__']: '' }; give(o.trim)"
];

test("a script reaches no object of the browser", () => {
	for (const script of NOTHING) {
		let given;
		try {
			given = run(script);
		} catch {
			given = [];
		}
		assert.ok(given.every((value) => value === "undefined" || value === undefined), `${script}: ${JSON.stringify(given)}`);
	}
	assert.equal({}.polluted, undefined);
});

const ENDLESS = [
	"while (true) {}",
	"for (;;) {}",
	"do {} while (1)",
	"while (true) { try { throw 1 } catch {} }",
	"try { while (true) {} } catch {} finally { while (true) {} }",
	"let s = 'x'; while (true) { s += s }",
	"'x'.repeat(1e9)",
	"'x'.padEnd(1e9)",
	"new Array(1e9)",
	"const a = []; a[1e9 - 1] = 1; a.length = 4e9",
	"const a = [1]; while (true) { for (const x of [...a]) { a.push(x) } }",
	"let a = [1]; while (true) { a = a.concat(a) }",
	"let a = [1]; while (true) { a = [...a, ...a] }",
	"Array.from({ length: 1e9 })",
	"let s = 'xx'; for (let i = 0; i < 50; i++) { s = s.replaceAll('x', 'xx') }",
	"const a = new Array(1e6).fill('x'.repeat(1e6)); a.join('')",
	"[1, 2, 3].sort(() => { while (true) {} })",
	"'x'.replace(/x/, () => { while (true) {} })",
	"const m = new Map(); for (let i = 0; ; i++) { m.set(i, i) }",
	"let o = {}; while (true) { o = { o } }",
	// Scripts with steps that take long.
	"const a = new Array(300000).fill(0).map((_, i) => i % 977); while (true) { a.toSorted() }",
	"const a = new Array(1e6).fill(0); while (true) { a.includes(1) }",
	"const s = 'x'.repeat(4e6); while (true) { s.toUpperCase() }",
	"const a = new Array(1e6).fill('x'); while (true) { `${a}` }"
];

/** Maximum CPU time until a script is ended, in milliseconds. The limit of a turn is 1,500 ms, and its last step may exceed the limit. */
const ENDED = 10_000;

/** The CPU time of this process in milliseconds. */
const worked = () => {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
};

test("an endless script is ended in time, and cannot catch it", () => {
	for (const script of ENDLESS) {
		const start = worked();
		assert.throws(() => run(script), Stop, script);
		const took = worked() - start;
		assert.ok(took < ENDED, `${Math.round(took)} ms: ${script}`);
	}
});

test("the depth of calls is limited by an error that a script can catch", () => {
	assert.deepEqual(run("function f() { return f() } try { f() } catch (e) { give(e.name) }"), ["RangeError"]);
	assert.deepEqual(run("class A { get x() { return this.x } } try { new A().x } catch (e) { give(e.name) }"), ["RangeError"]);
	assert.deepEqual(run("const o = { toString() { return '' + o } }; try { '' + o } catch (e) { give(e.name) }"), ["RangeError"]);
});

test("data of the page and of the script do not share objects", () => {
	const value = make([["list", [make([["a", 1]])]]]);
	const copy = exported(value);
	copy.list[0].a = 2;
	assert.equal(value.list[0].a, 1);
});
