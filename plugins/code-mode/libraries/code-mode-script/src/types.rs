//! Removes TypeScript's types from a program. A space replaces each byte of a type: lines stay the same, and columns
//! too if the types are ASCII.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AccessorProperty, Class, Decorator, FormalParameter, Function, MethodDefinition,
    MethodDefinitionType, ModuleDeclaration, PropertyDefinition, PropertyDefinitionType,
    TSAsExpression, TSEnumDeclaration, TSExternalModuleDeclaration, TSGlobalDeclaration,
    TSImportEqualsDeclaration, TSIndexSignature, TSInstantiationExpression, TSInterfaceDeclaration,
    TSNamespaceDeclaration, TSNonNullExpression, TSSatisfiesExpression, TSThisParameter,
    TSTypeAliasDeclaration, TSTypeAnnotation, TSTypeAssertion, TSTypeParameterDeclaration,
    TSTypeParameterInstantiation, VariableDeclaration, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{Parser, ParserReturn};
use oxc_span::{GetSpan, SourceType};
use oxc_syntax::scope::ScopeFlags;

use crate::ProgramError;

/// Text before the program while it is parsed: the program is the body of an async function.
const BEFORE: &str = "(async () => {\n";
const AFTER: &str = "\n})";

/// The program without types. A program in JavaScript stays as it is.
///
/// # Errors
///
/// The program is not valid JavaScript or TypeScript, or has something that programs cannot have, such as an enum or a
/// decorator.
pub fn removed(program: &str) -> Result<String, ProgramError> {
    let whole = format!("{BEFORE}{program}{AFTER}");
    let allocator = Allocator::default();
    let tree = match parsed(&allocator, &whole, SourceType::script()) {
        Ok(tree) => tree,
        Err(_) => {
            parsed(&allocator, &whole, SourceType::ts().with_script(true)).map_err(|fault| {
                let fault = fault.unwrap_or_else(|| ("the program cannot be read".into(), 0));
                syntax_error(&whole, &hint(&fault.0, program), fault.1)
            })?
        }
    };
    let mut eraser =
        TypeEraser { source: &whole, bytes: whole.clone().into_bytes(), refused: None };
    eraser.visit_program(&tree.program);
    if let Some((what, offset)) = eraser.refused {
        let why = format!("programs cannot have {what}");
        return Err(syntax_error(&whole, &why, offset));
    }
    let erased = String::from_utf8(eraser.bytes)
        .map_err(|_| syntax_error(&whole, "the types of the program cannot be removed", 0))?;
    Ok(erased[BEFORE.len()..erased.len() - AFTER.len()].to_owned())
}

/// Parses a program. An error is the first fault with its offset, or `None` if the parser names no fault.
fn parsed<'a>(
    allocator: &'a Allocator,
    source: &'a str,
    kind: SourceType,
) -> Result<ParserReturn<'a>, Option<(String, usize)>> {
    let parsed = Parser::new(allocator, source, kind).parse();
    if !parsed.panicked && !parsed.diagnostics.has_errors() {
        return Ok(parsed);
    }
    let first = parsed.diagnostics.errors().next();
    Err(first.map(|fault| {
        let offset = fault.labels.iter().next().map_or(0, |label| label.offset());
        (fault.message.to_string(), usize::try_from(offset).unwrap_or(0))
    }))
}

/// The message of a fault, with a hint if the program seems to have an import or export.
fn hint(message: &str, program: &str) -> String {
    let is_module = |line: &str| {
        let line = line.trim_start();
        ["import ", "import{", "export "].iter().any(|start| line.starts_with(start))
    };
    if program.lines().any(is_module) {
        return format!(
            "{message}; a program has no modules: it is the body of an async function, and `tools` is available"
        );
    }
    message.to_owned()
}

fn syntax_error(whole: &str, message: &str, offset: usize) -> ProgramError {
    let before = whole.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let place = u32::try_from(line).ok().filter(|line| *line > 0);
    let place = place.zip(u32::try_from(column).ok());
    ProgramError { name: "SyntaxError".into(), message: message.into(), place }
}

/// Overwrites types with spaces.
struct TypeEraser<'s> {
    source: &'s str,
    bytes: Vec<u8>,
    /// The first thing that programs cannot have, and its offset.
    refused: Option<(&'static str, usize)>,
}

impl TypeEraser<'_> {
    fn blank(&mut self, from: u32, to: u32) {
        for byte in &mut self.bytes[from as usize..to as usize] {
            // Line breaks stay, so that lines keep their numbers.
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }

    /// Overwrites a whole statement or class member. A semicolon keeps its neighbours apart.
    fn blank_statement(&mut self, from: u32, to: u32) {
        self.blank(from, to);
        self.bytes[from as usize] = b';';
    }

    /// Overwrites the first character in a range that is one of `marks`.
    fn blank_mark(&mut self, from: u32, to: u32, marks: &[u8]) {
        let range = from as usize..to as usize;
        let found = self.source.as_bytes()[range].iter().position(|byte| marks.contains(byte));
        if let Some(byte) = found.and_then(|at| self.bytes.get_mut(from as usize + at)) {
            *byte = b' ';
        }
    }

    /// Overwrites these words in a range. All other words in the range stay.
    fn blank_words(&mut self, from: u32, to: u32, words: &[&str]) {
        let text = &self.source[from as usize..to as usize];
        let mut at = 0;
        let mut found = Vec::new();
        for word in text.split(|one: char| !one.is_alphanumeric() && one != '_' && one != '$') {
            if words.contains(&word) {
                found.push((at, at + word.len()));
            }
            at += word.len();
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
        for (start, end) in found {
            let offset = |at: usize| from.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            self.blank(offset(start), offset(end));
        }
    }

    fn refuse(&mut self, what: &'static str, offset: u32) {
        self.refused.get_or_insert((what, offset as usize));
    }
}

/// The modifiers of class members that TypeScript adds to JavaScript.
const MODIFIERS: &[&str] =
    &["public", "private", "protected", "readonly", "override", "declare", "abstract"];

impl<'a> Visit<'a> for TypeEraser<'_> {
    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        self.blank_statement(it.span.start, it.span.end);
    }

    fn visit_ts_interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        self.blank_statement(it.span.start, it.span.end);
    }

    fn visit_ts_index_signature(&mut self, it: &TSIndexSignature<'a>) {
        self.blank_statement(it.span.start, it.span.end);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.blank(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.blank(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.blank(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.blank(it.span.start, it.expression.span().start);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.blank(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span.start, it.span.end);
        let rest = &self.source[it.span.end as usize..];
        if rest.trim_start().starts_with(',') {
            let comma = it.span.end + u32::try_from(rest.find(',').unwrap_or(0)).unwrap_or(0);
            self.blank(comma, comma + 1);
        }
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse("parameter properties: write a field and assign it", it.span.start);
        }
        if it.optional {
            self.blank_mark(it.pattern.span().end, it.span.end, b"?");
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_mark(it.id.span().end, it.span.end, b"!");
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if it.declare {
            return self.blank_statement(it.span.start, it.span.end);
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if it.declare || it.body.is_none() {
            return self.blank_statement(it.span.start, it.span.end);
        }
        walk::walk_function(self, it, flags);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.declare {
            return self.blank_statement(it.span.start, it.span.end);
        }
        if it.r#abstract {
            let end = it.id.as_ref().map_or(it.body.span.start, |id| id.span.start);
            self.blank_words(it.span.start, end, &["abstract"]);
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let before = &self.source[..first.span.start as usize];
            let word = u32::try_from(before.rfind("implements").unwrap_or(before.len()));
            self.blank(word.unwrap_or(first.span.start), last.span.end);
        }
        walk::walk_class(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let is_type = it.r#type == MethodDefinitionType::TSAbstractMethodDefinition;
        if is_type || it.value.body.is_none() {
            return self.blank_statement(it.span.start, it.span.end);
        }
        self.blank_words(it.span.start, it.key.span().start, MODIFIERS);
        if it.optional {
            self.blank_mark(it.key.span().end, it.value.span.end, b"?");
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let is_type = it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition;
        if is_type || it.declare {
            return self.blank_statement(it.span.start, it.span.end);
        }
        self.blank_words(it.span.start, it.key.span().start, MODIFIERS);
        if it.optional || it.definite {
            self.blank_mark(it.key.span().end, it.span.end, b"?!");
        }
        walk::walk_property_definition(self, it);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.refuse("`accessor` fields: write a getter and a setter", it.span.start);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse("decorators", it.span.start);
    }

    fn visit_module_declaration(&mut self, it: &ModuleDeclaration<'a>) {
        self.refuse(
            "an import or export: a program has no modules, and `tools` is available",
            it.span().start,
        );
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.refuse("an enum: write a constant object", it.span.start);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.refuse("a namespace: write an object", it.span.start);
    }

    fn visit_ts_external_module_declaration(&mut self, it: &TSExternalModuleDeclaration<'a>) {
        self.refuse("a module", it.span.start);
    }

    fn visit_ts_global_declaration(&mut self, it: &TSGlobalDeclaration<'a>) {
        self.refuse("a declaration of globals", it.span.start);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.refuse("an import: use `tools`, which is there without one", it.span.start);
    }
}
