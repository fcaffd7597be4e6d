//! Tests of programs that call fake tools.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::*;

/// What a program asked of the fake tools.
#[derive(Default)]
struct Seen {
    calls: Vec<(String, String)>,
    asked: u32,
    lines: Vec<String>,
}

/// Fake tools that answer with their arguments. Of several calls, the one that started last ends first.
struct Tools {
    seen: Rc<RefCell<Seen>>,
    ended: VecDeque<FinishedCall>,
    /// How often the program asked for the names.
    asked: u32,
}

impl HostFunctions for Tools {
    fn names(&mut self) -> Vec<(String, String)> {
        self.asked += 1;
        self.seen.borrow_mut().asked = self.asked;
        let mut names =
            vec![("a_list", "a"), ("a_fail", "a"), ("list-all", "my-server"), ("1st", "my-server")];
        if self.asked > 1 {
            // Tools of plugins that were still being compiled.
            names.extend([("a_late", "a"), ("fail", "a"), ("late-one", "late")]);
        }
        names.into_iter().map(|(name, source)| (name.to_owned(), source.to_owned())).collect()
    }

    fn start(&mut self, tool: &str, arguments: &str) -> u32 {
        let mut seen = self.seen.borrow_mut();
        let call = u32::try_from(seen.calls.len()).unwrap();
        seen.calls.push((tool.to_owned(), arguments.to_owned()));
        let answer = match tool {
            "a_fail" => Err(("tool-error".to_owned(), "there is no such row".to_owned())),
            _ => Ok(arguments.to_owned()),
        };
        let milliseconds = 2000 + u64::from(call);
        self.ended.push_front(FinishedCall { call, milliseconds, answer });
        call
    }

    fn next(&mut self) -> Option<FinishedCall> {
        self.ended.pop_front()
    }

    fn log(&mut self, level: &str, line: &str) {
        self.seen.borrow_mut().lines.push(format!("{level}: {line}"));
    }

    fn search(&mut self, query: &str, limit: usize) -> String {
        format!(r#"[{{"name":"{query}","limit":{limit}}}]"#)
    }

    fn describe(&mut self, names: &[String]) -> String {
        names.join(",")
    }
}

fn played(program: &str) -> (Result<String, ProgramError>, Rc<RefCell<Seen>>) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let tools = Tools { seen: seen.clone(), ended: VecDeque::new(), asked: 0 };
    let beginning = RunSeed { milliseconds: 1000, seed: 7 };
    (run(program, beginning, tools), seen)
}

fn value(program: &str) -> String {
    played(program).0.unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn error(program: &str) -> String {
    played(program).0.expect_err(program).to_string()
}

#[test]
fn the_value_that_a_program_returns_is_the_answer() {
    for (program, expected) in [
        ("return 1 + 1", "2"),
        ("", "null"),
        ("return undefined", "null"),
        ("return { a: [1, 'b', null], c: undefined }", r#"{"a":[1,"b",null]}"#),
        ("return 10n", r#""10""#),
        ("return await Promise.all([1, 2].map(async (n) => n * 2))", "[2,4]"),
        ("```js\nreturn 3\n```", "3"),
        ("return new Date(0).toISOString()", r#""1970-01-01T00:00:00.000Z""#),
        ("const { a = 1, ...rest } = { b: 2 }; return [a, rest]", r#"[1,{"b":2}]"#),
    ] {
        assert_eq!(value(program), expected, "{program}");
    }
}

#[test]
fn a_tool_can_be_called_by_its_name_and_by_its_aliases() {
    let program = r#"
        const one = await tools.a.a_list({ n: 1 });
        const two = await tools.a.list({ n: 2 });
        const three = await tools["my-server"]["list-all"]({ n: 3 });
        const four = await tools.my_server.list_all({ n: 4 });
        const five = await tools.my_server._1st();
        return [one, two, three, four, five];
    "#;
    let (outcome, seen) = played(program);
    assert_eq!(outcome.unwrap(), r#"[{"n":1},{"n":2},{"n":3},{"n":4},{}]"#);
    let names: Vec<_> = seen.borrow().calls.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, ["a_list", "a_list", "list-all", "list-all", "1st"]);
}

#[test]
fn names_are_fetched_at_first_use_and_again_when_one_is_missing() {
    for (program, expected, asked) in [
        ("return 1", "1", 0),
        ("return typeof tools.a.list", r#""function""#, 1),
        ("return tools.then === undefined && tools.a[Symbol.iterator] === undefined", "true", 1),
        ("return await tools.a.late({ n: 1 })", r#"{"n":1}"#, 2),
        ("return await tools.late.late_one({ n: 2 })", r#"{"n":2}"#, 2),
        (
            "const before = tools.a; tools.late; return await before.a_late({ n: 3 })",
            r#"{"n":3}"#,
            2,
        ),
        // `fail` was an alias of `a_fail`. It becomes the name of a tool that is known only later.
        ("tools.late; return await tools.a.fail({})", "{}", 2),
        ("return Object.keys(tools)", r#"["a","my-server"]"#, 1),
    ] {
        let (outcome, seen) = played(program);
        assert_eq!(outcome.as_deref(), Ok(expected), "{program}");
        assert_eq!(seen.borrow().asked, asked, "{program}");
    }
}

#[test]
fn an_engine_that_was_made_in_advance_runs_one_program() {
    let program = "globalThis.left = 1; return [Math.random(), Date.now(), typeof tools.a.list]";
    let fresh = value(program);
    engine::prepare();
    assert_eq!(value(program), fresh, "time and seed are those of the run");
    assert_eq!(value("return typeof left"), r#""undefined""#, "earlier globals are gone");
}

#[test]
fn calls_may_end_in_any_order() {
    let all = "return await Promise.all([1, 2, 3].map((n) => tools.a.list({ n })))";
    assert_eq!(value(all), r#"[{"n":1},{"n":2},{"n":3}]"#);
    let order = "const seen = []; await Promise.all([1, 2].map(async (n) => { await tools.a.list({ n }); seen.push(n); })); return seen";
    assert_eq!(value(order), "[2,1]", "the last call ends first here");
    let (_, seen) = played("tools.a.list({ n: 1 }); return 1");
    assert_eq!(seen.borrow().calls.len(), 1, "a call that nobody waits for is made");
}

#[test]
fn a_failed_call_throws_an_error_that_says_which_and_why() {
    let caught = "try { await tools.a.fail({}) } catch (error) { return [error.name, error.kind, error.tool, error.message, error instanceof ToolError] }";
    assert_eq!(
        value(caught),
        r#"["ToolError","tool-error","a_fail","a_fail: there is no such row",true]"#
    );
    let uncaught = error("const a = 1;\nawait tools.a.fail({});");
    assert!(
        uncaught.starts_with("ToolError: a_fail: there is no such row (line 2, column "),
        "{uncaught}"
    );
}

#[test]
fn errors_have_a_name_a_message_and_a_place() {
    for (program, start, line) in [
        ("let a;\nreturn a.b;", "TypeError: ", 2),
        ("\nthrow new RangeError('too far')", "RangeError: too far", 2),
        ("const a = ;", "SyntaxError: ", 1),
        ("let x = 1;\nlet y: = 2;", "SyntaxError: ", 2),
        ("tools.b.list()", "TypeError: tools has no \"b\"; it has a, my-server, late", 1),
    ] {
        let message = error(program);
        assert!(message.starts_with(start), "{program}: {message}");
        assert!(message.contains(&format!("(line {line}, ")), "{program}: {message}");
    }
    // The engine does not know the place of every error.
    for (program, start) in [
        ("return b;", "ReferenceError: b is not defined"),
        (
            "tools.a.lost()",
            "TypeError: tools.a has no \"lost\"; it has a_list, a_fail, fail, a_late",
        ),
        ("tools.a.list(1)", "TypeError: the arguments of a_list are one object"),
    ] {
        let message = error(program);
        assert!(message.starts_with(start), "{program}: {message}");
    }
    assert_eq!(error("throw { code: 1 }"), r#"the program threw {"code":1}"#);
    assert!(error("await new Promise(() => {})").contains("can never be fulfilled"));
    assert!(error("const a = {}; a.a = a; return a").starts_with("TypeError: "));
    assert!(
        error("const f = () => f(); f()").starts_with("RangeError: ")
            || error("const f = () => f(); f()").contains("recursion")
    );
}

#[test]
fn a_program_cannot_run_code_from_a_string() {
    for program in [
        "return eval('1')",
        "return Function('return 1')()",
        "return (() => {}).constructor('return 1')()",
        "return (async () => {}).constructor('return 1')()",
        "return (function* () {}).constructor('yield 1')().next()",
        "return globalThis.eval('1')",
        "return await import('a')",
    ] {
        let message = error(program);
        assert!(!message.is_empty(), "{program}: {message}");
    }
    assert_eq!(
        value(
            "return [typeof eval, typeof Function, typeof process, typeof fetch, typeof require, typeof setTimeout]"
        ),
        r#"["undefined","undefined","undefined","undefined","undefined","undefined"]"#
    );
}

#[test]
fn a_program_that_changes_built_ins_breaks_only_itself() {
    let poisoned = r#"
        JSON.parse = JSON.stringify = () => { throw new Error("poisoned") };
        Object.prototype.hasOwnProperty = () => true;
        String.prototype.startsWith = String.prototype.replace = () => "x";
        Array.prototype.map = Array.prototype.push = null;
        Object.keys = null;
        const answer = await tools.a.list({ n: 1 });
        globalThis.console.log("still there");
        return answer;
    "#;
    let (outcome, seen) = played(poisoned);
    assert_eq!(outcome.unwrap(), r#"{"n":1}"#);
    assert_eq!(seen.borrow().lines, ["info: still there"]);
    for program in [
        "Object.prototype.toJSON = () => 1; return { a: 1 }",
        "Promise.prototype.then = null; return await tools.a.list({})",
        "Object.defineProperty(Object.prototype, 'then', { get() { throw 1 } }); return await tools.a.list({})",
        "tools.a = 1; return typeof tools.a.list",
        "delete globalThis.tools; return 1",
    ] {
        // The program must end, with a value or an error.
        drop(played(program).0);
    }
}

#[test]
fn time_and_random_numbers_are_the_same_in_each_round() {
    let program = "const before = Date.now(); await tools.a.list({}); return [before, Date.now(), new Date().getTime(), Math.random(), Math.random()]";
    let first = value(program);
    assert!(first.starts_with("[1000,2000,2000,0."), "{first}");
    assert_eq!(first, value(program));
}

#[test]
fn logged_values_become_text() {
    let (_, seen) = played(
        "console.log('a', 1, { b: [2] }, null, undefined); console.warn(new TypeError('t')); console.error(() => 1); const c = {}; c.c = c; console.debug(c)",
    );
    let lines = seen.borrow().lines.clone();
    assert_eq!(lines[0], r#"info: a 1 {"b":[2]} null undefined"#);
    assert_eq!(lines[1], "warning: TypeError: t");
    assert!(lines[2].starts_with("error: ") && lines[3].starts_with("debug: ("), "{lines:?}");
}

#[test]
fn a_program_can_search_and_read_declarations() {
    assert_eq!(value("return tools.search('rows', 3)"), r#"[{"name":"rows","limit":3}]"#);
    assert_eq!(value("return tools.describe(['a', 'b'])"), r#""a,b""#);
    assert_eq!(value("return tools.describe('a')"), r#""a""#);
}

#[test]
fn types_become_spaces() {
    for (program, expected) in [
        ("const a: number = 1; return a", "const a         = 1; return a"),
        ("interface A { b: string }\nreturn 1", ";                        \nreturn 1"),
        ("type A<T> = T[];\nreturn 1", ";               \nreturn 1"),
        (
            "const f = <T,>(a: T, b?: T): T => a; return f<number>(1)",
            "const f =     (a   , b    )    => a; return f        (1)",
        ),
        ("return (x as unknown as { a: 1 })!.a", "return (x                       ) .a"),
        (
            "const a = { b: 1 } satisfies object; return a",
            "const a = { b: 1 }                 ; return a",
        ),
        ("const a = <string>b; return a", "const a =         b; return a"),
        ("let a!: string; return a", "let a         ; return a"),
        ("declare const a: string;\nreturn 1", ";                       \nreturn 1"),
        (
            "function f(this: Date, a: number): void {}\nreturn 1",
            "function f(            a        )       {}\nreturn 1",
        ),
        (
            "function f(a: string): string;\nfunction f(a: any) { return a }\nreturn f",
            ";                             \nfunction f(a     ) { return a }\nreturn f",
        ),
        (
            "for (const [a, b] of Object.entries(c as Record<string, number>)) {}",
            "for (const [a, b] of Object.entries(c                          )) {}",
        ),
        ("try {} catch (error: unknown) {}", "try {} catch (error         ) {}"),
        (
            "const m = new Map<string, number[]>(); return m",
            "const m = new Map                  (); return m",
        ),
    ] {
        let erased = types::removed(program).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert_eq!(erased, expected);
    }
    let class = "abstract class A<T> extends B<T> implements C, D {\n  private readonly a: T;\n  static b?: string = 'x';\n  [key: string]: any;\n  declare d: number;\n  abstract e(): void;\n  constructor(a: T) { super(); this.a = a }\n  protected override f(): T { return this.a }\n}\nreturn 1";
    let erased = types::removed(class).unwrap();
    assert_eq!(erased.lines().count(), class.lines().count());
    assert!(
        erased.contains("constructor(a   )") && erased.contains("static b          = 'x'"),
        "{erased}"
    );
    assert!(!erased.contains("implements") && !erased.contains("private"), "{erased}");
}

#[test]
fn typescript_runs_and_errors_keep_their_places() {
    let program = "interface Row { id: number; name?: string }\nconst rows: Row[] = [{ id: 2 }, { id: 1 }];\nconst ids = rows.map((row: Row): number => row.id).sort((a: number, b: number) => a - b);\nreturn ids as number[];";
    assert_eq!(value(program), "[1,2]");
    let late =
        error("type A = {\n  b: string\n};\nconst a: A | undefined = undefined;\nreturn a!.b;");
    assert!(late.contains("(line 5, column "), "{late}");
}

#[test]
fn typescript_features_that_are_more_than_types_are_refused_with_advice() {
    for (program, expected) in [
        ("enum A { B }\nreturn A.B", "an enum: write a constant object (line 1, column 1)"),
        (
            "const a: number = 1;\nnamespace N { export const b = 1 }",
            "a namespace: write an object (line 2, column 1)",
        ),
        (
            "class A { constructor(private a: string) {} }",
            "parameter properties: write a field and assign it",
        ),
        ("function d(x: any) {}\n@d class A {}", "decorators"),
        ("import a from 'a';\nreturn a", "has no modules"),
    ] {
        let message = error(program);
        assert!(message.starts_with("SyntaxError: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn only_markdown_fences_are_removed() {
    assert_eq!(without_fences("```ts\nreturn 1\n```"), "return 1\n");
    assert_eq!(without_fences("\n```\nreturn 1\n```\n"), "return 1\n");
    assert_eq!(without_fences("return `a`"), "return `a`");
    assert_eq!(without_fences("```"), "```");
}
