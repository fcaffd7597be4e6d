//! Tests of compiled scripts, and of the faults of scripts that cannot be compiled.

use super::*;
use serde_json::json;

fn program(script: &str) -> serde_json::Value {
    parts(&with_script(script)).expect("it is right").program["body"][1].clone()
}

#[test]
fn a_program_is_an_estree_with_the_fields_that_the_interpreter_reads() {
    assert_eq!(
        program("const a = { b: 1, ...c }, c = [, /x/g];"),
        json!({ "type": "VariableDeclaration", "kind": "const", "declarations": [
            { "type": "VariableDeclarator", "id": { "type": "Identifier", "name": "a" },
              "init": { "type": "ObjectExpression", "properties": [
                { "type": "Property", "kind": "init", "key": { "type": "Identifier", "name": "b" },
                  "value": { "type": "Literal", "value": 1 } },
                { "type": "SpreadElement", "argument": { "type": "Identifier", "name": "c" } } ] } },
            { "type": "VariableDeclarator", "id": { "type": "Identifier", "name": "c" },
              "init": { "type": "ArrayExpression", "elements": [null,
                { "type": "Literal", "value": null, "regex": { "pattern": "x", "flags": "g" } } ] } } ] })
    );
    assert_eq!(
        program("(a?.b)((1 + 2) * 3, null); var a;"),
        json!({ "type": "ExpressionStatement", "expression": { "type": "CallExpression",
            "callee": { "type": "ChainExpression", "expression": { "type": "MemberExpression", "optional": true,
                "object": { "type": "Identifier", "name": "a" }, "property": { "type": "Identifier", "name": "b" } } },
            "arguments": [
                { "type": "BinaryExpression", "operator": "*",
                  "left": { "type": "BinaryExpression", "operator": "+",
                    "left": { "type": "Literal", "value": 1 }, "right": { "type": "Literal", "value": 2 } },
                  "right": { "type": "Literal", "value": 3 } },
                { "type": "Literal", "value": null } ] } })
    );
    let class = program("class A { #x = 1; get x() { return this.#x } }").to_string();
    assert!(class.contains(r##""name":"#x""##) && class.contains(r#""kind":"get""#), "{class}");
}

#[test]
fn super_is_allowed_in_a_class_that_extends_another() {
    let script = "class A { m() {} } class B extends A { x = super.m(); constructor(a = 1) { (() => super(a))(); } \
                  m() { return () => super.m(); } static s() { return super.name; } }";
    assert_eq!(faults(&with_script(script)), "");
}

#[test]
fn a_url_in_css_cannot_hide_behind_a_comment() {
    for style in [
        "p { content: \"/*\"; background: url(http://127.0.0.1/a) } /* */",
        "p { background: url(#a/*); color: red } q { background: url(http://127.0.0.1) } /* */",
        "p { content: '/*' } @import 'x'; /* */",
    ] {
        assert!(
            !faults(&format!("<style>{style}</style>{}", with_script(""))).is_empty(),
            "{style}"
        );
    }
}

#[test]
fn scripts_share_one_scope_and_become_one_program() {
    let html = "<script>const a = 1;</script><p>x</p>\
                <script>\"use strict\"; portcullis.listen(() => a);</script>";
    assert_eq!(check(html, MAX_BYTES).faults, [] as [&str; 0]);
    let document = parts(html).expect("it is right");
    assert_eq!(document.program["body"].as_array().map(Vec::len), Some(2));
    assert_eq!(document.markup, "<p>x</p>");
}

#[test]
fn scripts_that_cannot_be_compiled_are_faults_with_advice() {
    let table = [
        ("async function f() {}", "portcullis.listen"),
        ("const f = async () => {}", "portcullis.listen"),
        ("function* f() { yield 1 }", "portcullis.listen"),
        ("portcullis.call({}).then(() => {})", "portcullis.listen"),
        ("import('x')", "imports or exports"),
        ("out: for (;;) { break out }", "label"),
        ("with ({}) {}", "`with` statement"),
        ("String.raw`x`", "tagged template"),
        ("function F() { new.target }", "new.target"),
        ("const n = 1n", "BigInt"),
        ("const n = 1e400", "Infinity"),
        ("const n = \"\\uD83D\"", "half of a character"),
        ("const n = {}\n/1/2", "two ways"),
        ("const d = 1; @d class A {}", "decorator"),
        ("using x = 1", "using"),
        ("super()", "`super`"),
        ("super.x", "`super`"),
        ("class A {} class B extends A { m() { super() } }", "`super`"),
        ("class A {} class B extends A { x = super() }", "`super`"),
        ("class A {} class B extends A { get x() { return () => super() } }", "`super`"),
        (
            "class A {} class B extends A { constructor() { super(); function f() { super() } f() } }",
            "`super`",
        ),
        ("class A {} class B extends A { [super()]() {} }", "`super`"),
        ("class A { constructor() { super() } }", "`super`"),
        (
            "class A {} class B extends A { constructor(a = { f() { super() } }) { super() } }",
            "`super`",
        ),
        ("const o = { m() { super.x } }", "`super`"),
        ("debugger", "debugger"),
        ("class A { static { 1 } }", "static block"),
        ("class A { #x; is(o) { return #x in o } }", "instanceof"),
        ("function f() { return arguments }", "rest parameters"),
        ("p.textContent = 'x'", "document.getElementById(\"p\")"),
        ("missing()", "`missing`"),
        ("p.innerHTML = '<b>x</b>'; var p", "innerHTML"),
        ("document.createElement('iframe')", "<iframe>"),
        ("window.addEventListener('message', () => {})", "message"),
        ("document.cookie", "cookie"),
        ("a.href = 'x'; var a", "href"),
    ];
    for (script, expected) in table {
        let said = faults(&with_script(script));
        assert!(said.contains(expected), "{script}: {said}");
    }
    assert!(faults("<script type=application/json>{}</script>").contains("as an object"));
}

#[test]
fn scripts_that_are_nested_too_deep_are_faults() {
    for script in [
        "(".repeat(100_000),
        format!("const a = {}1", "1 + ".repeat(50_000)),
        format!("const a = Math{}", ".a".repeat(50_000)),
        format!("const a = {}1", "!".repeat(50_000)),
        format!("const a = {}1", "typeof ".repeat(50_000)),
        format!("const a = {}1", "x => ".repeat(50_000)),
        format!("const a = {}1", "1 ? 2 : ".repeat(50_000)),
        format!("const a = {}1", "-\n".repeat(50_000)),
        format!("if (1) {{}} {}", "else if (1) {}".repeat(10_000)),
        format!("const a = {}1{}", "[".repeat(201), "]".repeat(201)),
        format!("const f = 1; f({}", "\")\",f(".repeat(20_000)),
        format!("const f = 1, t = `\"`; {}f", "!".repeat(50_000)),
        format!("const f = 1, r = /'/; {}f", "!".repeat(50_000)),
        format!("const f = 1; if (f) /\"/; f({}", "\")\",f(".repeat(20_000)),
        format!("const f = 1; f++ / 2; {}f", "f = ".repeat(50_000)),
        format!("const f = 1; <!-- \"\nf({}", "\")\",f(".repeat(20_000)),
        format!("const f = 1, t = `$\\{{\"`; {}f", "new ".repeat(50_000)),
        format!("{}f", "async x => ".repeat(40_000)),
        format!("function* f() {{ {}1 }}", "yield ".repeat(50_000)),
        format!("const f = class {}{}", "extends class ".repeat(20_000), "{}".repeat(20_000)),
        format!("{};{}", "do ".repeat(40_000), "while (1);".repeat(10)),
        format!("{} 1", "a:\n".repeat(50_000)),
        "(() => { ".repeat(150),
        "`${".repeat(50_000),
        "if (1)\n".repeat(50_000),
    ] {
        let said = faults(&with_script(&script));
        assert!(said.contains("too deep"), "{}: {said}", &script[..30]);
    }
    for script in [
        format!("const a = [{}]", "1.5, ".repeat(20_000)),
        format!("const a = {}1{}", "[".repeat(190), "]".repeat(190)),
        format!("const a = 1, s = \"x\"{};", " + a + \"y\"".repeat(200)),
        format!("const a = 1; if (a) {{}} {}", "else if (a) {} ".repeat(300)),
        "let a = 0\n".to_owned() + &"a = a + 1\n".repeat(5000),
        "let a = 0;\n".to_owned() + &"if (a) a = 1\nelse a = !a\n".repeat(5000),
        "let a = 0;\n".to_owned()
            + &"while (a) { a++ }\na = /[)/\"]/.test(`${a}/`) ? a / 2 : a++ / 3\n".repeat(2000),
        format!("const a = (x) => {{ switch (x) {{ {} return 1; }} }}", "case 1:\n".repeat(3000)),
        format!(
            "const a = {{ {} }}",
            "b: { c: (x) => -x / 2, 'd': [/x/g, `(((${1}`] }, ".repeat(3000)
        ),
        format!("const a = \"data:image/png;base64,{}\"", "iVBORw0+/(((((".repeat(5000)),
    ] {
        assert_eq!(faults(&with_script(&script)), "", "{}", &script[..40]);
    }
}

#[test]
fn too_many_nodes_are_a_fault() {
    let script = format!("let a = 0; {}", "a++;".repeat(70_000));
    assert!(faults(&with_script(&script)).contains("200000 nodes"));
}
