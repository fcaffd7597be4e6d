//! Finds the modules of a crate, and which module uses which other modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

use super::sources::{Source, sources};

/// The path of a module in its crate: the names of the enclosing modules and its own name. Empty for the crate's
/// root.
pub type Module = Vec<String>;

/// The modules of a crate, without those that are only for tests.
pub struct Modules {
    modules: BTreeMap<Module, Contents>,
}

/// The contents of a module.
struct Contents {
    /// The file that contains the module, given as the path of the outermost module in that file.
    file: Module,
    /// Names that `use` declarations import, and the paths that they stand for.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules that are imported with `*`.
    globs: Vec<Vec<String>>,
    /// All paths in the module that can lead to another module.
    paths: BTreeSet<Vec<String>>,
}

impl Modules {
    /// Reads the modules of a crate in `host/`.
    pub fn of(folder: &str) -> Self {
        let sources = sources(&format!("host/{folder}/src"));
        let by_path: BTreeMap<&Path, &Source> =
            sources.iter().map(|source| (source.path.as_path(), source)).collect();
        let mut this = Self { modules: BTreeMap::new() };
        for root in ["lib.rs", "main.rs"] {
            let root =
                sources.iter().find(|source| source.shown == format!("host/{folder}/src/{root}"));
            if let Some(root) = root {
                this.add_file(&by_path, root, Vec::new());
            }
        }
        assert!(!this.modules.is_empty(), "host/{folder} has a root");
        this
    }

    fn add_file(&mut self, by_path: &BTreeMap<&Path, &Source>, source: &Source, module: Module) {
        let folder = folder_of_children(&source.path);
        self.add_items(by_path, &source.file.items, &folder, module.clone(), &module);
    }

    fn add_items(
        &mut self,
        by_path: &BTreeMap<&Path, &Source>,
        items: &[syn::Item],
        folder: &Path,
        module: Module,
        file: &Module,
    ) {
        let mut contents = Contents {
            file: file.clone(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
            paths: BTreeSet::new(),
        };
        let mut tokens = TokenStream::new();
        let mut children = BTreeSet::new();
        for item in items.iter().filter(|item| !is_test(item)) {
            let syn::Item::Mod(child) = item else {
                if let syn::Item::Use(import) = item {
                    contents.import(&import.tree, &mut Vec::new());
                }
                item.to_tokens(&mut tokens);
                continue;
            };
            let name = child.ident.to_string();
            let mut inner = module.clone();
            inner.push(name.clone());
            // `#[path]` names a file of another crate, which uses nothing of this crate.
            let is_elsewhere =
                child.attrs.iter().any(|attribute| attribute.path().is_ident("path"));
            if is_elsewhere {
                children.insert(name);
                continue;
            }
            if let Some((_, items)) = &child.content {
                self.add_items(by_path, items, &folder.join(&name), inner, file);
            } else {
                let beside = folder.join(format!("{name}.rs"));
                let inside = folder.join(&name).join("mod.rs");
                let source =
                    by_path.get(beside.as_path()).or_else(|| by_path.get(inside.as_path()));
                let source = source.unwrap_or_else(|| panic!("{} is missing", beside.display()));
                self.add_file(by_path, source, inner);
            }
            children.insert(name);
        }
        let imported: BTreeSet<_> = contents.imports.keys().cloned().collect();
        let begins = |name: &str| {
            matches!(name, "crate" | "super" | "self")
                || children.contains(name)
                || imported.contains(name)
        };
        paths(tokens, &begins, &mut contents.paths);
        self.modules.insert(module, contents);
    }

    /// For each file, the other files that declare names that it uses. A re-exported name counts as a name of the
    /// module that declares it. A file is given as the path of its outermost module.
    pub fn uses(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let mut uses: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (module, contents) in &self.modules {
            let used = uses.entry(&contents.file).or_default();
            for path in contents.paths.iter().chain(&contents.globs) {
                let to = self.resolve(module, path, 0);
                used.extend(
                    to.map(|to| &self.modules[&to].file).filter(|to| **to != contents.file),
                );
            }
        }
        uses
    }

    /// The module that declares the item of a path. `None`: the item is not in this crate, or it is re-exported through
    /// too many modules.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        // Modules that import names from each other could make this recursion endless.
        if depth > 16 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Module::new(),
            "self" => from.clone(),
            "super" => from.split_last()?.1.to_vec(),
            _ => {
                rest = path;
                from.clone()
            }
        };
        let is_relative = rest.len() < path.len();
        while let Some((name, after)) = rest.split_first() {
            let contents = &self.modules[&at];
            let mut inner = at.clone();
            inner.push(name.clone());
            if name == "super" {
                at.pop();
            } else if self.modules.contains_key(&inner) {
                at = inner;
            } else if let Some(target) = contents.imports.get(name) {
                let whole: Vec<_> = target.iter().chain(after).cloned().collect();
                // Another crate, imported under its own name: `use name;` or `use name::{self, …}`.
                if target.first() == Some(name) && target.len() == 1 {
                    return None;
                }
                return self.resolve(&at, &whole, depth + 1);
            } else if !is_relative && after.len() + 1 == path.len() {
                // The first name is neither a module nor imported: another crate.
                return None;
            } else {
                let found = contents.globs.iter().find_map(|glob| {
                    let to = self.resolve(&at, glob, depth + 1)?;
                    let known = self.modules[&to].imports.contains_key(name);
                    known.then(|| self.resolve(&to, rest, depth + 1)).flatten()
                });
                return Some(found.unwrap_or(at));
            }
            rest = after;
        }
        Some(at)
    }
}

impl Contents {
    fn import(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix);
                prefix.pop();
            }
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                let (bound, last) = if name == "self" {
                    (prefix.last().cloned().unwrap_or_default(), None)
                } else {
                    (name.clone(), Some(name))
                };
                self.imports.insert(bound, prefix.iter().cloned().chain(last).collect());
            }
            syn::UseTree::Rename(rename) => {
                let last = Some(rename.ident.to_string()).filter(|name| name != "self");
                let target = prefix.iter().cloned().chain(last).collect();
                self.imports.insert(rename.rename.to_string(), target);
            }
            syn::UseTree::Glob(_) => self.globs.push(prefix.clone()),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix);
                }
            }
        }
    }
}

/// The folder with the files of a file's child modules.
fn folder_of_children(file: &Path) -> PathBuf {
    let folder = file.parent().expect("a file is in a folder");
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => folder.to_owned(),
        Some(stem) => folder.join(stem),
        None => unreachable!("a source has a name"),
    }
}

fn is_test(item: &syn::Item) -> bool {
    let (syn::Item::Mod(syn::ItemMod { attrs, .. }) | syn::Item::Fn(syn::ItemFn { attrs, .. })) =
        item
    else {
        return false;
    };
    attrs.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("cfg") && list.is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

/// Adds every path of two or more names whose first name `begins` accepts. Paths in braces are expanded.
fn paths(tokens: TokenStream, begins: &dyn Fn(&str) -> bool, into: &mut BTreeSet<Vec<String>>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(name) if begins(&name.to_string()) && !follows_path(&tokens, at) => {
                if is_separator(&tokens, at + 1) {
                    expand(&tokens, at + 3, &[name.to_string()], into);
                }
            }
            TokenTree::Group(group) => paths(group.stream(), begins, into),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize, joint: bool| {
        matches!(tokens.get(at), Some(TokenTree::Punct(punct))
            if punct.as_char() == ':' && (!joint || punct.spacing() == Spacing::Joint))
    };
    colon(at, true) && colon(at + 1, false)
}

/// Whether the name at this place does not begin a path: it is a later part of a path, a field, a method or a lifetime.
fn follows_path(tokens: &[TokenTree], at: usize) -> bool {
    let is = |at: usize, of: &[char]| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if of.contains(&p.as_char()));
    at > 0 && (is(at - 1, &['.', '\'']) || is(at - 1, &[':']) && at > 1 && is(at - 2, &[':']))
}

fn expand(tokens: &[TokenTree], at: usize, prefix: &[String], into: &mut BTreeSet<Vec<String>>) {
    match tokens.get(at) {
        Some(TokenTree::Ident(name)) => {
            let mut path = prefix.to_vec();
            if name != "self" {
                path.push(name.to_string());
            }
            if is_separator(tokens, at + 1) {
                expand(tokens, at + 3, &path, into);
            } else {
                into.insert(path);
            }
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            let comma =
                |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
            for part in inner.split(comma).filter(|part| !part.is_empty()) {
                expand(part, 0, prefix, into);
            }
        }
        _ => drop(into.insert(prefix.to_vec())),
    }
}
