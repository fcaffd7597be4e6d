//! Bounds the depth and size of a parsed script's tree, and checks that JSON can hold its values.
//!
//! `a + a + a + …` and `a.b.c.…` nest the tree without nesting the text. The parser handles such chains
//! without recursion, but the later readers of the tree, in this crate and in the page, are recursive.

use oxc_ast::{
    AstKind,
    ast::{Expression, NumericLiteral, Program, Statement, StringLiteral, TemplateElement},
};
use oxc_ast_visit::{Visit, walk};

/// Maximum depth of the tree, in expressions and statements.
const DEPTH: usize = 500;
#[derive(Default)]
struct Bounds {
    depth: usize,
    nodes: usize,
    fault: Option<&'static str>,
}

/// Checks the depth and the values of a program, and that it has at most [`MAX_NODES`](super::MAX_NODES) nodes.
pub fn check(program: &Program<'_>) -> Result<(), String> {
    let mut bounds = Bounds::default();
    bounds.visit_program(program);
    match bounds.fault {
        Some(fault) => Err(fault.to_owned()),
        None if bounds.nodes > super::MAX_NODES => Err(super::too_long()),
        None => Ok(()),
    }
}

impl Bounds {
    /// Calls `walk` one level deeper, or records a fault if the tree is too deep.
    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.depth == DEPTH {
            self.fault = Some(super::TOO_DEEP);
            return;
        }
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }

    fn half(&mut self, has_half: bool) {
        if has_half {
            self.fault.get_or_insert(
                "a script has half of a character in a text, such as `\\uD83D`: write it whole",
            );
        }
    }
}

impl<'a> Visit<'a> for Bounds {
    fn enter_node(&mut self, _: AstKind<'a>) {
        self.nodes += 1;
    }

    fn visit_expression(&mut self, expression: &Expression<'a>) {
        self.within(|bounds| walk::walk_expression(bounds, expression));
    }

    fn visit_statement(&mut self, statement: &Statement<'a>) {
        self.within(|bounds| walk::walk_statement(bounds, statement));
    }

    fn visit_string_literal(&mut self, literal: &StringLiteral<'a>) {
        self.nodes += 1;
        self.half(literal.lone_surrogates);
    }

    fn visit_template_element(&mut self, element: &TemplateElement<'a>) {
        self.nodes += 1;
        self.half(element.lone_surrogates);
    }

    fn visit_numeric_literal(&mut self, literal: &NumericLiteral<'a>) {
        self.nodes += 1;
        if !literal.value.is_finite() {
            self.fault.get_or_insert("a script has a number that is too large: write `Infinity`");
        }
    }
}
