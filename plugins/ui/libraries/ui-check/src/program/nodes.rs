//! The kinds of nodes that a program can have, and the faults for other kinds.

use super::names::Names;
use serde_json::{Map, Value};

/// The kinds of nodes of ESTree that the interpreter knows, each with the fields that it reads.
const NODES: &[(&str, &[&str])] = &[
    ("ArrayExpression", &["elements"]),
    ("ArrayPattern", &["elements"]),
    ("ArrowFunctionExpression", &["params", "body", "expression"]),
    ("AssignmentExpression", &["operator", "left", "right"]),
    ("AssignmentPattern", &["left", "right"]),
    ("BinaryExpression", &["operator", "left", "right"]),
    ("BlockStatement", &["body"]),
    ("BreakStatement", &[]),
    ("CallExpression", &["callee", "arguments", "optional"]),
    ("CatchClause", &["param", "body"]),
    ("ChainExpression", &["expression"]),
    ("ClassBody", &["body"]),
    ("ClassDeclaration", &["id", "superClass", "body"]),
    ("ClassExpression", &["id", "superClass", "body"]),
    ("ConditionalExpression", &["test", "consequent", "alternate"]),
    ("ContinueStatement", &[]),
    ("DoWhileStatement", &["test", "body"]),
    ("EmptyStatement", &[]),
    ("ExpressionStatement", &["expression"]),
    ("ForInStatement", &["left", "right", "body"]),
    ("ForOfStatement", &["left", "right", "body"]),
    ("ForStatement", &["init", "test", "update", "body"]),
    ("FunctionDeclaration", &["id", "params", "body"]),
    ("FunctionExpression", &["id", "params", "body"]),
    ("Identifier", &["name"]),
    ("IfStatement", &["test", "consequent", "alternate"]),
    ("Literal", &["value", "regex"]),
    ("LogicalExpression", &["operator", "left", "right"]),
    ("MemberExpression", &["object", "property", "computed", "optional"]),
    ("MethodDefinition", &["key", "computed", "kind", "static", "value"]),
    ("NewExpression", &["callee", "arguments"]),
    ("ObjectExpression", &["properties"]),
    ("ObjectPattern", &["properties"]),
    ("Property", &["key", "computed", "kind", "method", "shorthand", "value"]),
    ("PropertyDefinition", &["key", "computed", "static", "value"]),
    ("RestElement", &["argument"]),
    ("ReturnStatement", &["argument"]),
    ("SequenceExpression", &["expressions"]),
    ("SpreadElement", &["argument"]),
    ("Super", &[]),
    ("SwitchCase", &["test", "consequent"]),
    ("SwitchStatement", &["discriminant", "cases"]),
    ("TemplateElement", &["value"]),
    ("TemplateLiteral", &["quasis", "expressions"]),
    ("ThisExpression", &[]),
    ("ThrowStatement", &["argument"]),
    ("TryStatement", &["block", "handler", "finalizer"]),
    ("UnaryExpression", &["operator", "argument"]),
    ("UpdateExpression", &["operator", "prefix", "argument"]),
    ("VariableDeclaration", &["kind", "declarations"]),
    ("VariableDeclarator", &["id", "init"]),
    ("WhileStatement", &["test", "body"]),
];

const LATER: &str = "a script waits for something (`async`, `await`, a generator): nothing is asynchronous here; \
                     `portcullis.call(arguments)` brings its answer to the function given to `portcullis.listen`";

/// Kinds of nodes that models often write, but that a document cannot have. Each has advice about what to write
/// instead.
const INSTEAD: &[(&str, &str)] = &[
    ("AwaitExpression", LATER),
    ("YieldExpression", LATER),
    ("ImportDeclaration", MODULE),
    ("ImportExpression", MODULE),
    ("ExportNamedDeclaration", MODULE),
    ("ExportDefaultDeclaration", MODULE),
    ("ExportAllDeclaration", MODULE),
    ("LabeledStatement", "a script has a label: write a function and return from it"),
    ("WithStatement", "a script has a `with` statement: name what you use"),
    ("TaggedTemplateExpression", "a script has a tagged template: call a function with a text"),
    ("MetaProperty", "a script uses `new.target` or `import.meta`: leave it out"),
    ("DebuggerStatement", "a script has a `debugger` statement: leave it out"),
    ("StaticBlock", "a class has a static block: write the statements after the class"),
];

const MODULE: &str = "a script imports or exports something: write everything into the document";

/// Members that the interpreter does not offer, each with what to use instead. The list is only advice to
/// models.
const MEMBERS: &[(&str, &str)] = &[
    ("constructor", "name the class itself"),
    ("__proto__", "use a class"),
    ("innerHTML", "make elements, and use `textContent`"),
    ("outerHTML", "make elements, and use `replaceWith`"),
    ("insertAdjacentHTML", "make elements, and use `append`"),
    ("srcdoc", "everything must be in the one document"),
    ("cookie", "leave it out"),
    ("attachShadow", "leave it out"),
    ("ownerDocument", "use `document`"),
    ("defaultView", "use `window`"),
    ("contentWindow", "leave it out"),
];

const SUPER: &str = "a script has `super` where it means nothing: call `super(…)` in the constructor of a class that \
                     extends another, and `super.method(…)` in its methods";

/// Whether `super` is allowed at the current node. Elsewhere, `super` could set the fields of a class on any
/// object.
#[derive(Clone, Copy, Default)]
struct SuperScope {
    /// Whether the class extends another.
    is_derived: bool,
    /// Whether the next function is a method.
    is_method: bool,
    /// Whether `super(…)` is allowed.
    calls: bool,
    /// Whether `super.x` is allowed.
    reads: bool,
}

/// Reads the tree of one script.
pub struct Reader<'a> {
    names: &'a mut Names,
    faults: &'a mut Vec<String>,
    /// The number of nodes that were read.
    pub nodes: usize,
    /// Whether the script calls `portcullis.listen`.
    pub listens: bool,
    /// Whether the script assigns a text without markup to the next member.
    is_harmless: bool,
    place: SuperScope,
}

impl<'a> Reader<'a> {
    /// Starts a reader that adds to these names and faults.
    pub fn new(names: &'a mut Names, faults: &'a mut Vec<String>) -> Self {
        Self {
            names,
            faults,
            nodes: 0,
            listens: false,
            is_harmless: false,
            place: SuperScope::default(),
        }
    }

    /// Adds a fault, once.
    pub fn fault(&mut self, fault: impl Into<String>) {
        let fault = fault.into();
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// The statements of a `Program`, without directives such as `"use strict"`.
    pub fn program(&mut self, program: &Value) -> Vec<Value> {
        let body = program["body"].as_array().map_or(&[][..], Vec::as_slice);
        let statements = body.iter().filter(|statement| statement["directive"].is_null());
        statements.map(|statement| self.node(statement)).collect()
    }

    fn node(&mut self, node: &Value) -> Value {
        match node {
            Value::Array(all) => all.iter().map(|one| self.node(one)).collect(),
            Value::Object(fields) => self.kept(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => node.clone(),
        }
    }

    /// A node with only the fields that the interpreter reads. Fields that are `null` or `false` are left
    /// out, except those of literals.
    fn kept(&mut self, node: &Map<String, Value>) -> Value {
        let kind = node.get("type").and_then(Value::as_str).unwrap_or_default();
        self.nodes += 1;
        self.judge(kind, node);
        if kind == "PrivateIdentifier" {
            let name = node["name"].as_str().unwrap_or_default();
            return identifier(&format!("#{name}"));
        }
        let Some((_, fields)) = NODES.iter().find(|(known, _)| *known == kind) else {
            let known = INSTEAD.iter().find(|(other, _)| *other == kind);
            self.fault(known.map_or_else(
                || {
                    format!(
                        "a script has a `{kind}`, which is not offered here: write it otherwise"
                    )
                },
                |(_, instead)| (*instead).to_owned(),
            ));
            return Value::Null;
        };
        let mut kept = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        for field in *fields {
            let Some(value) = node.get(*field) else { continue };
            if matches!(value, Value::Null | Value::Bool(false)) && kind != "Literal" {
                continue;
            }
            let outer = self.place;
            self.place = outer.within(kind, field, node);
            let value = if is_data(kind, field) { value.clone() } else { self.node(value) };
            self.place = outer;
            kept.insert((*field).to_owned(), value);
        }
        Value::Object(kept)
    }

    fn judge(&mut self, kind: &str, node: &Map<String, Value>) {
        let is = |field: &str| node.get(field).and_then(Value::as_bool).unwrap_or_default();
        if is("async") || is("generator") || is("await") {
            self.fault(LATER);
        }
        if node.contains_key("bigint") {
            self.fault("a script has a BigInt such as `1n`: use a number");
        }
        if node.get("label").is_some_and(|label| !label.is_null()) {
            self.fault("a script has a label: write a function and return from it");
        }
        let has = |field: &str| {
            node.get(field).and_then(Value::as_array).is_some_and(|all| !all.is_empty())
        };
        if has("decorators") {
            self.fault("a class has a decorator: call the function yourself");
        }
        if node.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("using")) {
            self.fault("a script has a `using` declaration: write `const`");
        }
        self.names.read(kind, node);
        match kind {
            "Super" if !self.place.reads => self.fault(SUPER),
            "CallExpression" if node["callee"]["type"] == "Super" && !self.place.calls => {
                self.fault(SUPER)
            }
            "MemberExpression" => self.member(node),
            "AssignmentExpression" => {
                let is_text =
                    literal(&node["right"]).is_some_and(|text| !text.contains(['<', '&']));
                if let Some(target) = node["left"].as_object()
                    && target["type"] == "MemberExpression"
                {
                    self.assigned(target, is_text);
                }
            }
            "CallExpression" => self.called(node),
            "BinaryExpression" if node["left"]["type"] == "PrivateIdentifier" => {
                self.fault("a script has `#name in object`: use `instanceof`");
            }
            _ => {}
        }
    }

    /// Adds a fault if the interpreter does not offer a member.
    fn member(&mut self, node: &Map<String, Value>) {
        let is_harmless = std::mem::take(&mut self.is_harmless);
        let Some(name) = member_name(node) else { return };
        if is_harmless {
            return;
        }
        if let Some((_, instead)) = MEMBERS.iter().find(|(known, _)| *known == name) {
            self.fault(format!("a script uses `.{name}`, which is not there: {instead}"));
        }
        let object = node["object"]["name"].as_str().unwrap_or_default();
        if object == "window" && !super::names::is_in_window(&name) {
            self.fault(format!("a script uses `window.{name}`, which is not there: leave it out, or declare a variable"));
        }
        if object == "document"
            && matches!(name.as_str(), "location" | "domain" | "open" | "write" | "writeln")
        {
            self.fault(format!(
                "a script uses `document.{name}`, which is not there: leave it out"
            ));
        }
    }

    fn assigned(&mut self, target: &Map<String, Value>, is_text: bool) {
        let name = member_name(target).unwrap_or_default();
        // Assigning a text without markup to `innerHTML` is harmless. The next call of `member` judges this target.
        self.is_harmless = name == "innerHTML" && is_text;
        let is_data = target["object"]["property"]["name"] == "dataset";
        if matches!(name.as_str(), "href" | "action" | "formAction") && !is_data {
            self.fault(format!("a script assigns to `.{name}`: nothing leads out of the document"));
        }
    }

    fn called(&mut self, node: &Map<String, Value>) {
        let callee = &node["callee"];
        let of = |name: &str| {
            callee["object"]["name"] == "portcullis"
                && callee.as_object().and_then(member_name).as_deref() == Some(name)
        };
        self.listens |= of("listen");
        let name = callee.as_object().and_then(member_name).unwrap_or_default();
        let on = &callee["object"]["callee"];
        if matches!(name.as_str(), "then" | "catch" | "finally")
            && on["object"]["name"] == "portcullis"
        {
            self.fault(LATER);
        }
        let first = literal(&node["arguments"][0]);
        match (name.as_str(), first) {
            ("createElement", Some(tag)) if is_forbidden(&tag) => {
                self.fault(format!("a script makes a `<{tag}>`, which is not allowed here"));
            }
            ("addEventListener", Some(event))
                if matches!(event.as_str(), "message" | "messageerror" | "storage") =>
            {
                self.fault(format!("a script listens for `{event}`: nothing sends it here"));
            }
            ("setAttribute", Some(attribute))
                if attribute.to_ascii_lowercase().starts_with("on") =>
            {
                self.fault(format!(
                    "a script sets the attribute `{attribute}`: use `addEventListener`"
                ));
            }
            _ => {}
        }
    }
}

impl SuperScope {
    /// The place of the nodes in a field.
    fn within(self, kind: &str, field: &str, node: &Map<String, Value>) -> Self {
        match (kind, field) {
            ("ClassDeclaration" | "ClassExpression", "body") => {
                Self { is_derived: !node["superClass"].is_null(), ..self }
            }
            ("MethodDefinition", "value") => {
                let calls = self.is_derived && node["kind"] == "constructor";
                Self { is_method: true, calls, reads: true, ..self }
            }
            ("PropertyDefinition", "value") => Self { calls: false, reads: true, ..self },
            ("FunctionExpression", _) if self.is_method => Self { is_method: false, ..self },
            ("FunctionDeclaration" | "FunctionExpression", _) => Self::default(),
            _ => self,
        }
    }
}

fn is_forbidden(tag: &str) -> bool {
    let tag = tag.to_ascii_lowercase();
    let forbidden = [
        "script", "link", "iframe", "frame", "object", "embed", "base", "meta", "portal", "style",
        "template", "audio", "video",
    ];
    forbidden.contains(&tag.rsplit(':').next().unwrap_or_default())
}

/// Whether a field holds plain data and no nodes.
fn is_data(kind: &str, field: &str) -> bool {
    matches!((kind, field), ("Literal", _) | ("TemplateElement", "value"))
}

fn identifier(name: &str) -> Value {
    Value::Object(Map::from_iter([
        ("type".to_owned(), Value::from("Identifier")),
        ("name".to_owned(), Value::from(name)),
    ]))
}

/// The name of a member. `None` if the script computes the name from anything but string literals.
fn member_name(node: &Map<String, Value>) -> Option<String> {
    let property = node.get("property")?;
    match node.get("computed").and_then(Value::as_bool) {
        Some(true) => literal(property),
        Some(false) | None => property["name"].as_str().map(str::to_owned),
    }
}

/// The text of an expression, if it is a string literal or a sum of string literals.
fn literal(node: &Value) -> Option<String> {
    match node["type"].as_str()? {
        "Literal" => node["value"].as_str().map(str::to_owned),
        "BinaryExpression" if node["operator"] == "+" => {
            Some(literal(&node["left"])? + &literal(&node["right"])?)
        }
        "TemplateLiteral" if node["expressions"].as_array().is_some_and(Vec::is_empty) => {
            node["quasis"][0]["value"]["cooked"].as_str().map(str::to_owned)
        }
        _ => None,
    }
}
