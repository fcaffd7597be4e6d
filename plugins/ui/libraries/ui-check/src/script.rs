//! Checks JavaScript: reports access to the outside and evaluation of text as code.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums have a variant for each of JavaScript"
)]

mod names;

use names::{ASSIGNED, CLOSED, ELEMENTS, GLOBALS, MEMBERS, WINDOWS};
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, BindingProperty, CallExpression, Class,
    ComputedMemberExpression, Expression, Function, IdentifierReference, ImportExpression,
    ModuleDeclaration, ObjectProperty, PropertyKey, StaticMemberExpression, ThisExpression,
    WithStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;
use oxc_syntax::scope::ScopeFlags;

/// Deepest nesting of brackets: the parser is recursive.
const DEPTH: usize = 200;

const MODULE: &str = "a script imports or exports something: write everything into the document";

/// The result of checking a script.
#[derive(Default)]
pub struct Found {
    pub faults: Vec<String>,
    /// Whether the script calls `portcullis.listen`.
    pub listens: bool,
}

/// Checks a script.
pub fn check(source: &str) -> Found {
    let mut search = Search::default();
    if depth(source) > DEPTH {
        search.fault("a script nests brackets too deep");
        return search.found;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::script()).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        let why =
            parsed.diagnostics.iter().next().map_or_else(String::new, |one| format!(": {one}"));
        search.fault(format!("a script is not JavaScript{why}"));
        return search.found;
    }
    search.visit_program(&parsed.program);
    search.found
}

fn depth(source: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => now += 1,
            b')' | b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[derive(Default)]
struct Search {
    found: Found,
    /// Number of enclosing functions and classes with their own `this`.
    own_this: usize,
    /// Whether the assigned value is text without markup.
    is_text: bool,
}

impl Search {
    fn fault(&mut self, what: impl Into<String>) {
        self.found.faults.push(what.into());
    }

    fn reaches_out(&mut self, name: &str) {
        self.fault(format!("a script uses `{name}`, which is not there or leads out of the document; if it is a name of your own, choose another"));
    }

    /// Checks access to a member by name.
    fn member(&mut self, object: &Expression<'_>, name: &str) {
        let of = identifier(object);
        if MEMBERS.contains(&name) {
            self.reaches_out(&format!(".{name}"));
        }
        match of {
            Some(window)
                if WINDOWS.contains(&window)
                    && (GLOBALS.contains(&name) || WINDOWS.contains(&name)) =>
            {
                self.reaches_out(&format!("{window}.{name}"));
            }
            Some("document")
                if matches!(
                    name,
                    "location" | "domain" | "open" | "forms" | "execCommand" | "implementation"
                ) =>
            {
                self.reaches_out(&format!("document.{name}"));
            }
            Some(event @ ("e" | "ev" | "evt" | "event")) if matches!(name, "view" | "source") => {
                self.reaches_out(&format!("{event}.{name}"));
            }
            Some("portcullis") if name == "listen" => self.found.listens = true,
            _ => {}
        }
    }

    /// Checks the expression before a dot or a bracket, the only place where the window may stand.
    fn object<'a>(&mut self, object: &Expression<'a>) {
        if !identifier(object).is_some_and(|name| WINDOWS.contains(&name)) {
            self.visit_expression(object);
        }
    }

    fn called(&mut self, call: &CallExpression<'_>) {
        let first = call.arguments.first().and_then(|one| one.as_expression());
        let second = call.arguments.get(1).and_then(|one| one.as_expression());
        let name = match call.callee.without_parentheses() {
            Expression::StaticMemberExpression(member) => member.property.name.as_str(),
            Expression::Identifier(name) => name.name.as_str(),
            _ => return,
        };
        match name {
            "setTimeout" | "setInterval" if first.and_then(text).is_some() => {
                self.fault(format!("a script gives `{name}` a text: give it a function"));
            }
            "createElement" => self.made(first),
            "createElementNS" => self.made(second),
            "setAttribute" | "toggleAttribute" => self.attribute(first),
            "setAttributeNS" | "setAttributeNode" | "setAttributeNodeNS" | "createAttribute" => {
                self.fault(format!("a script uses `{name}`: use `setAttribute` with a name that stands there"));
            }
            "addEventListener" => match first.and_then(text).as_deref() {
                Some("message" | "messageerror") => self.reaches_out("addEventListener(\"message\")"),
                Some(_) => {}
                None => self.fault("a script listens for an event whose name does not stand there: write it as a text"),
            },
            _ => {}
        }
    }

    fn made(&mut self, tag: Option<&Expression<'_>>) {
        match tag.and_then(text).map(|tag| tag.to_ascii_lowercase()) {
            Some(tag) => {
                let tag = tag.rsplit(':').next().unwrap_or_default();
                if ELEMENTS.contains(&tag) {
                    self.fault(format!("a script makes a `<{tag}>`, which is not allowed here"));
                }
            }
            None => self.fault(
                "a script makes an element whose name does not stand there: write it as a text",
            ),
        }
    }

    fn attribute(&mut self, name: Option<&Expression<'_>>) {
        match name.and_then(text).map(|name| name.to_ascii_lowercase()) {
            Some(name) => {
                let is_address = matches!(
                    name.as_str(),
                    "href"
                        | "xlink:href"
                        | "action"
                        | "formaction"
                        | "srcdoc"
                        | "srcset"
                        | "target"
                        | "ping"
                        | "style"
                );
                if is_address || name.starts_with("on") {
                    self.fault(format!("a script sets the attribute `{name}`: use what the element offers instead, or leave it out"));
                }
            }
            None => self.fault(
                "a script sets an attribute whose name does not stand there: write it as a text",
            ),
        }
    }
}

impl<'a> Visit<'a> for Search {
    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        let name = name.name.as_str();
        if GLOBALS.contains(&name) {
            self.reaches_out(name);
        }
        // An object before a dot is not visited here: see `object`.
        if WINDOWS.contains(&name) {
            self.fault(format!(
                "a script uses `{name}` as a value: use what you need of it by name"
            ));
        }
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        self.member(&member.object, member.property.name.as_str());
        self.object(&member.object);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        match text(&member.expression) {
            Some(name) => self.member(&member.object, &name),
            None if identifier(&member.object).is_some_and(|name| CLOSED.contains(&name))
                || matches!(member.object, Expression::ThisExpression(_)) =>
            {
                self.fault("a script reaches into `window`, `document` or `this` by a computed name: write the name");
            }
            None => {}
        }
        self.object(&member.object);
        self.visit_expression(&member.expression);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.called(call);
        walk::walk_call_expression(self, call);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        // A literal text without markup is harmless.
        self.is_text = text(&assignment.right).is_some_and(|html| !html.contains('<'));
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_assignment_target(&mut self, target: &AssignmentTarget<'a>) {
        let is_text = std::mem::take(&mut self.is_text);
        let name = match target {
            // `data-` attributes belong to the document, whatever their names.
            AssignmentTarget::StaticMemberExpression(member) => {
                (!is_dataset(&member.object)).then(|| member.property.name.to_string())
            }
            AssignmentTarget::ComputedMemberExpression(member) => text(&member.expression),
            _ => None,
        };
        match name.as_deref() {
            Some("innerHTML") if is_text => {}
            Some("innerHTML") => {
                self.fault(
                    "a script assigns to `.innerHTML`: make elements, and use `textContent`",
                );
            }
            Some(name) if ASSIGNED.contains(&name) => {
                self.fault(format!("a script assigns to `.{name}`: leave it out"));
            }
            _ => {}
        }
        walk::walk_assignment_target(self, target);
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        if let Some(name @ ("href" | "srcdoc" | "formAction" | "innerHTML" | "outerHTML")) =
            key(&property.key).as_deref()
        {
            self.fault(format!(
                "a script has an object with `{name}`, which `Object.assign` could set: call it otherwise"
            ));
        }
        walk::walk_object_property(self, property);
    }

    fn visit_binding_property(&mut self, property: &BindingProperty<'a>) {
        if let Some(name) = key(&property.key)
            && MEMBERS.contains(&name.as_str())
        {
            self.reaches_out(&name);
        }
        walk::walk_binding_property(self, property);
    }

    fn visit_import_expression(&mut self, _: &ImportExpression<'a>) {
        self.fault(MODULE);
    }

    fn visit_module_declaration(&mut self, _: &ModuleDeclaration<'a>) {
        self.fault(MODULE);
    }

    fn visit_with_statement(&mut self, _: &WithStatement<'a>) {
        self.fault("a script has a `with` statement: name what you use");
    }

    fn visit_this_expression(&mut self, _: &ThisExpression) {
        if self.own_this == 0 {
            self.fault(
                "a script uses `this` outside of functions and classes, where it is the window",
            );
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.own_this += 1;
        walk::walk_function(self, function, flags);
        self.own_this -= 1;
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        self.own_this += 1;
        walk::walk_class(self, class);
        self.own_this -= 1;
    }
}

fn identifier<'e>(expression: &'e Expression<'_>) -> Option<&'e str> {
    match expression.without_parentheses() {
        Expression::Identifier(name) => Some(name.name.as_str()),
        _ => None,
    }
}

fn is_dataset(object: &Expression<'_>) -> bool {
    matches!(object, Expression::StaticMemberExpression(member) if member.property.name == "dataset")
}

fn key(key: &PropertyKey<'_>) -> Option<String> {
    match key {
        PropertyKey::StaticIdentifier(name) => Some(name.name.to_string()),
        other => other.as_expression().and_then(text),
    }
}

/// The text of an expression, if it is a literal or a concatenation of literals.
fn text(expression: &Expression<'_>) -> Option<String> {
    match expression.without_parentheses() {
        Expression::StringLiteral(literal) => Some(literal.value.to_string()),
        Expression::NumericLiteral(literal) => Some(literal.value.to_string()),
        Expression::TemplateLiteral(template) => {
            let mut joined = String::new();
            for (index, piece) in template.quasis.iter().enumerate() {
                joined.push_str(piece.value.cooked.as_ref()?.as_str());
                if let Some(inner) = template.expressions.get(index) {
                    joined.push_str(&text(inner)?);
                }
            }
            Some(joined)
        }
        Expression::BinaryExpression(sum) if sum.operator.as_str() == "+" => {
            Some(text(&sum.left)? + &text(&sum.right)?)
        }
        _ => None,
    }
}
