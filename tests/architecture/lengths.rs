//! Checks that files and functions are short, and that each file begins with a sentence about its purpose.

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::sources::{assert_none, sources};

/// Maximum number of lines of a file, tests included.
const FILE_LINES: usize = 500;

/// Maximum number of lines of a function.
const FUNCTION_LINES: usize = 70;

/// The functions of a file, with the number of their lines.
#[derive(Default)]
struct Functions(Vec<(String, usize)>);

impl Functions {
    fn add(&mut self, name: &syn::Ident, from: proc_macro2::Span, block: &syn::Block) {
        let lines = block.span().end().line - from.start().line + 1;
        self.0.push((name.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig.ident, function.sig.span(), &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig.ident, function.sig.span(), &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig.ident, function.sig.span(), block);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

#[test]
fn files_and_functions_are_short_and_files_begin_with_their_purpose() {
    let mut faults = Vec::new();
    for source in ["host", "plugins", "tests"].into_iter().flat_map(sources) {
        let file = &source.shown;
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            faults.push(format!("{file} has {lines} lines; at most {FILE_LINES} are allowed"));
        }
        let first = source.text.lines().find(|line| !line.starts_with("#!"));
        if !first.is_some_and(|line| line.starts_with("//! ") && line.len() > 10) {
            faults.push(format!("{file} does not begin with a sentence in `//!`"));
        }
        let mut functions = Functions::default();
        functions.visit_file(&source.file);
        for (name, lines) in functions.0.into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES) {
            faults.push(format!(
                "{file}: `{name}` has {lines} lines; at most {FUNCTION_LINES} are allowed"
            ));
        }
    }
    assert_none(&faults);
}
