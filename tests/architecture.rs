//! Tests of the architecture: dependencies between modules, owners of foreign crates, and the
//! length of files and functions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::support::workspace;

/// Which of the host's modules each of them may use. From top to bottom: what stands higher may
/// use what stands lower, and nothing points up.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("cli", &["bindings", "call", "catalog", "config", "mcp", "plugins", "sandbox", "transport"]),
    ("transport", &["mcp"]),
    ("mcp", &["bindings", "call", "catalog", "plugins", "sandbox"]),
    ("catalog", &["bindings", "plugins", "sandbox"]),
    ("call", &["bindings", "capabilities", "gate", "plugins", "sandbox"]),
    ("plugins", &["bindings", "capabilities", "config", "gate", "sandbox"]),
    ("config", &["capabilities"]),
    ("sandbox", &["bindings", "capabilities", "gate"]),
    ("capabilities", &["bindings", "gate"]),
    ("gate", &[]),
    // The leaves, which anyone may use.
    ("bindings", &[]),
];

/// What points up all the same: single names, each for a reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("gate", "capabilities::Capability", "a grant is found by its capability"),
    ("gate", "capabilities::Grants", "the policy of a plugin is its grants"),
    ("capabilities", "sandbox::State", "an import is a function on the store's data"),
    ("bindings", "sandbox::Request", "the generated code names the types of resources"),
    ("bindings", "capabilities::store::Keyspace", "the same"),
    ("bindings", "capabilities::cache::Claim", "the same"),
    ("bindings", "capabilities::process::Running", "the same"),
];

/// Which files of the host may use a foreign crate. Every dependency has its owners.
const OWNERS: &[(&str, &[&str])] = &[
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("base64", &["mcp"]),
    ("bytes", &["capabilities", "sandbox"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("futures_util", &["mcp"]),
    ("getrandom", &["call", "mcp"]),
    ("http", &["capabilities/http", "mcp"]),
    ("http_body_util", &["capabilities/http"]),
    ("ipnet", &["capabilities/http"]),
    ("mimalloc", &["main"]),
    ("postcard", &["sandbox"]),
    ("parking_lot", &["mcp", "sandbox"]),
    ("portcullis_audit", &["call", "capabilities", "cli", "gate", "mcp", "sandbox"]),
    ("portcullis_cache", &["capabilities/cache", "plugins", "sandbox"]),
    ("portcullis_file_transaction", &["capabilities/changes", "cli/start"]),
    (
        "portcullis_confine",
        &["capabilities/files", "capabilities/process", "cli", "config", "plugins", "sandbox"],
    ),
    ("portcullis_engine", &["call", "capabilities", "cli", "config", "plugins", "sandbox"]),
    ("portcullis_files", &["call", "capabilities", "plugins", "sandbox"]),
    ("portcullis_http_server", &["cli/preview", "config", "mcp/session", "transport/http"]),
    ("portcullis_stdio_transport", &["transport/stdio"]),
    ("portcullis_metrics", &["transport/http"]),
    ("portcullis_name_collisions", &["catalog"]),
    ("portcullis_core", &["cli", "mcp", "transport"]),
    ("portcullis_mcp_server", &["cli"]),
    ("portcullis_egress", &["capabilities/http", "cli/safety", "transport/http"]),
    ("portcullis_pack", &["cli"]),
    ("portcullis_foreign_components", &["sandbox"]),
    ("portcullis_result_passthrough", &["mcp"]),
    ("portcullis_checked_files", &["capabilities", "cli", "mcp", "plugins", "sandbox"]),
    ("portcullis_roots", &["call", "cli", "mcp"]),
    ("portcullis_sandbox", &["lib"]),
    ("portcullis_schema", &["plugins"]),
    ("portcullis_mcp_client", &["catalog", "cli", "mcp"]),
    ("portcullis_user_dirs", &["cli", "config"]),
    ("portcullis_wrap", &["catalog", "cli", "config", "mcp", "plugins"]),
    ("rmcp", &["mcp", "transport"]),
    ("toml", &["config"]),
    ("tracing_subscriber", &["cli"]),
    ("wasmtime", &["bindings", "capabilities", "sandbox"]),
    ("wasmtime_wasi", &["capabilities", "sandbox"]),
    ("wasmtime_wasi_http", &["capabilities/http", "sandbox"]),
    ("wasmtime_wasi_io", &["sandbox"]),
];

/// What the language itself would be without: everyone's.
const COMMON: &[&str] =
    &["portcullis_sanitize", "serde", "serde_json", "tokio", "tokio_util", "tracing"];

/// Lines of a file, tests included.
const FILE_LINES: usize = 500;

/// Lines of a function.
const FUNCTION_LINES: usize = 70;

/// The gate, the capabilities and what runs plugins: what a reviewer of the sandbox has to read.
const SANDBOX: &str = "host/sandbox/src";

/// A Rust file of ours.
struct Source {
    /// Beneath the folder that was asked for, without its ending.
    name: String,
    path: PathBuf,
    text: String,
    /// Without what is only for tests.
    tokens: TokenStream,
    file: syn::File,
}

fn sources(folder: &str) -> Vec<Source> {
    let root = workspace().join(folder);
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    assert!(!sources.is_empty(), "there are sources in {folder}");
    sources
}

fn collect(root: &Path, folder: &Path, into: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !matches!(name.as_str(), "node_modules" | "target") {
            collect(root, &path, into);
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source is text");
        let mut file = syn::parse_file(&text).expect("a source is Rust");
        let whole = file.clone();
        file.items.retain(|item| !is_test(item));
        let name = path.strip_prefix(root).expect("it was found there").with_extension("");
        into.push(Source {
            name: name.to_str().expect("our names are UTF-8").replace('\\', "/"),
            path,
            text,
            tokens: quote(&file),
            file: whole,
        });
    }
}

fn quote(file: &syn::File) -> TokenStream {
    let mut tokens = TokenStream::new();
    for item in &file.items {
        item.to_tokens(&mut tokens);
    }
    tokens
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

/// The host's sources; a file of tests is none.
fn host() -> Vec<Source> {
    let mut all: Vec<_> = ["host/portcullis/src", "host/mcp-server/src", "host/core/src"]
        .into_iter()
        .flat_map(sources)
        .collect();
    // What stands beneath `call` is a crate of its own: the compiler sees to it that it knows nothing of
    // what is above. The table holds its modules all the same.
    all.extend(sources(SANDBOX).into_iter().filter(|source| source.name != "lib"));
    let mut sources = all;
    sources.retain(|source| !source.name.ends_with("_tests"));
    sources
}

/// The module at the top that a source belongs to.
fn module(source: &Source) -> &str {
    source.name.split('/').next().expect("a name is not empty")
}

/// Every path that begins with one of these names, as `a::b::c`. Those in braces are taken apart.
fn paths(tokens: TokenStream, begins: &dyn Fn(&str) -> bool, into: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(name) if begins(&name.to_string()) && !follows_path(&tokens, at) => {
                if is_separator(&tokens, at + 1) {
                    expand(&tokens, at + 3, &name.to_string(), into);
                }
            }
            TokenTree::Group(group) => paths(group.stream(), begins, into),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize, spacing| {
        matches!(tokens.get(at), Some(TokenTree::Punct(punct))
            if punct.as_char() == ':' && punct.spacing() == spacing)
    };
    colon(at, Spacing::Joint)
        && matches!(tokens.get(at + 1), Some(TokenTree::Punct(p)) if p.as_char() == ':')
}

/// Whether the name at this place is a later part of a path, or a field, or a lifetime.
fn follows_path(tokens: &[TokenTree], at: usize) -> bool {
    at > 0
        && matches!(&tokens[at - 1], TokenTree::Punct(p) if matches!(p.as_char(), ':' | '.' | '\''))
        && (at < 2
            || !matches!(&tokens[at - 1], TokenTree::Punct(p) if p.as_char() == ':')
            || matches!(&tokens[at - 2], TokenTree::Punct(p) if p.as_char() == ':'))
}

fn expand(tokens: &[TokenTree], at: usize, prefix: &str, into: &mut BTreeSet<String>) {
    match tokens.get(at) {
        Some(TokenTree::Ident(name)) => {
            let path = format!("{prefix}::{name}");
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
        _ => drop(into.insert(prefix.to_owned())),
    }
}

#[test]
fn arrows_between_modules_point_down() {
    let table: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let mut faults = Vec::new();
    let mut used = BTreeSet::new();
    for source in host() {
        let from = module(&source);
        if from == "lib" {
            continue;
        }
        let Some(allowed) = table.get(from) else {
            faults.push(format!("`{from}` has no place in the table of arrows"));
            continue;
        };
        let mut found = BTreeSet::new();
        paths(
            source.tokens.clone(),
            &|name| {
                matches!(name, "crate" | "portcullis" | "portcullis_core" | "portcullis_mcp_server")
            },
            &mut found,
        );
        for path in found {
            let Some((_, path)) = path.split_once("::") else { continue };
            let to = path.split("::").next().expect("a path is not empty");
            let is_exception = |(module, name, _): &&(&str, &str, &str)| {
                *module == from && (path == *name || path.starts_with(&format!("{name}::")))
            };
            if let Some(exception) = EXCEPTIONS.iter().find(is_exception) {
                used.insert(exception);
            } else if to != from && !allowed.contains(&to) {
                faults.push(format!("{}: `{from}` may not use `crate::{path}`", source.name));
            }
        }
        let mut up = BTreeSet::new();
        paths(source.tokens.clone(), &|name| name == "super", &mut up);
        // A way around the table.
        let around =
            up.iter().filter(|path| path.starts_with("super::super") || !source.name.contains('/'));
        faults.extend(around.map(|path| format!("{}: write `crate::..` for {path}", source.name)));
    }
    for exception in EXCEPTIONS.iter().filter(|exception| !used.contains(exception)) {
        faults.push(format!("nobody needs the exception {exception:?}"));
    }
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}

#[test]
fn the_arrows_of_the_table_have_no_way_back() {
    for (place, (from, allowed)) in ARROWS.iter().enumerate() {
        for to in *allowed {
            let other = ARROWS.iter().position(|(module, _)| module == to);
            let other = other.unwrap_or_else(|| panic!("`{to}` is no module of the table"));
            // The leaves stand below all; among themselves they are in the order of the alphabet.
            let is_leaf = |at: usize| ARROWS[at].0 >= "bindings" && at > 10;
            assert!(
                other > place || (is_leaf(other) && is_leaf(place)),
                "{from} -> {to} points up"
            );
        }
    }
}

/// What a manifest depends on, as paths name it.
fn dependencies(manifest: &str) -> Vec<String> {
    let manifest = fs::read_to_string(workspace().join(manifest)).expect("a manifest");
    let manifest: toml::Table = toml::from_str(&manifest).expect("a manifest is TOML");
    let mut tables = vec![manifest.get("dependencies")];
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    for (_, target) in targets.into_iter().flatten() {
        tables.push(target.get("dependencies"));
    }
    let tables = tables.into_iter().flatten().filter_map(toml::Value::as_table);
    tables.flat_map(|table| table.keys()).map(|name| name.replace('-', "_")).collect()
}

#[test]
fn foreign_crates_have_their_owners() {
    let dependencies: BTreeSet<String> = ["portcullis", "mcp-server", "core", "sandbox"]
        .map(|name| format!("host/{name}/Cargo.toml"))
        .into_iter()
        .flat_map(|manifest| dependencies(&manifest))
        .collect();
    let owners: BTreeMap<_, _> = OWNERS.iter().copied().collect();
    for name in &dependencies {
        assert!(
            owners.contains_key(name.as_str()) || COMMON.contains(&name.as_str()),
            "the dependency `{name}` has no owner"
        );
    }
    let mut faults = Vec::new();
    for source in host() {
        let mut found = BTreeSet::new();
        paths(source.tokens.clone(), &|name| owners.contains_key(name), &mut found);
        for path in found {
            let name = path.split("::").next().expect("a path is not empty");
            // In this one file, `http` is the module beside it.
            let ours = name == "http" && source.name == "capabilities";
            let owned = owners[name].iter().any(|owner| {
                source.name == *owner || source.name.starts_with(&format!("{owner}/"))
            });
            if !owned && !ours {
                faults.push(format!("{} may not use `{path}`", source.name));
            }
        }
    }
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}

/// The functions of a file, with their lines.
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
fn files_and_functions_are_short_and_files_say_what_they_are_for() {
    let mut faults = Vec::new();
    for source in ["host", "plugins", "tests"].into_iter().flat_map(sources) {
        let file = source.path.strip_prefix(workspace()).expect("it lies there").display();
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            faults.push(format!("{file} has {lines} lines; {FILE_LINES} are the most"));
        }
        let first = source.text.lines().find(|line| !line.starts_with("#!"));
        if !first.is_some_and(|line| line.starts_with("//! ") && line.len() > 10) {
            faults.push(format!("{file} does not begin with a sentence in `//!`"));
        }
        let mut functions = Functions::default();
        functions.visit_file(&source.file);
        for (name, lines) in functions.0.into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES) {
            faults
                .push(format!("{file}: `{name}` has {lines} lines; {FUNCTION_LINES} are the most"));
        }
    }
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}
