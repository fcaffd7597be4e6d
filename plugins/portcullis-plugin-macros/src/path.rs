//! Parses `#[path(..)]` attributes, which declare that an argument is a path, its kind and the access to it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Field, GenericArgument, Ident, LitStr, PathArguments, Token, Type,
    parse::{Parse, ParseStream},
};

const KINDS: &str = "`file`, `file_in_directory` or `directory`";
const OPTIONS: &str = "`when = \"..\"` or `nearest = [..]`";
const ACCESSES: &str = "`read`, `write` or `create`";

/// The parsed content of `#[path(..)]`.
pub struct PathAttribute {
    kind: Kind,
    access: Access,
    when: Option<LitStr>,
    nearest: Vec<LitStr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    FileInDirectory,
    Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    Create,
}

impl Parse for PathAttribute {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let kind = word(input, KINDS, |word| match word {
            "file" => Some(Kind::File),
            "file_in_directory" => Some(Kind::FileInDirectory),
            "directory" => Some(Kind::Directory),
            _ => None,
        })?;
        if !input.peek(Token![,]) {
            return Err(input.error(format!(
                "the access is missing: write `, ` and {ACCESSES}, as in `#[path(file, read)]`"
            )));
        }
        input.parse::<Token![,]>()?;
        let access = word(input, ACCESSES, |word| match word {
            "read" => Some(Access::Read),
            "write" => Some(Access::Write),
            "create" => Some(Access::Create),
            _ => None,
        })?;
        let (mut when, mut nearest) = (None, Vec::new());
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let at = input.span();
            let more = word(input, OPTIONS, |word| match word {
                "when" => Some(PathOption::When),
                "nearest" => Some(PathOption::Nearest),
                _ => None,
            })?;
            input.parse::<Token![=]>()?;
            match more {
                PathOption::When => when = Some(input.parse()?),
                PathOption::Nearest if kind == Kind::Directory => {
                    let list;
                    syn::bracketed!(list in input);
                    nearest.extend(list.parse_terminated(<LitStr as Parse>::parse, Token![,])?);
                }
                PathOption::Nearest => {
                    return Err(syn::Error::new(at, "`nearest` is for a `directory`"));
                }
            }
        }
        if !input.is_empty() {
            return Err(input.error("nothing more is expected here"));
        }
        Ok(Self { kind, access, when, nearest })
    }
}

enum PathOption {
    When,
    Nearest,
}

/// Parses one of a few keywords; the error lists them.
fn word<T>(
    input: ParseStream,
    expected: &str,
    choose: impl Fn(&str) -> Option<T>,
) -> syn::Result<T> {
    let complaint = format!("expected {expected}");
    let word: Ident = input.parse().map_err(|error| syn::Error::new(error.span(), &complaint))?;
    choose(&word.to_string()).ok_or_else(|| syn::Error::new(word.span(), complaint))
}

/// A path argument, from which the macro writes a `PathArgument` of the SDK.
#[derive(Debug, PartialEq, Eq)]
pub struct PathArgument {
    pointer: String,
    kind: Kind,
    access: Access,
    when: Option<String>,
    nearest: Vec<String>,
}

impl ToTokens for PathArgument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let pointer = &self.pointer;
        let kind = match self.kind {
            Kind::File => quote!(File),
            Kind::FileInDirectory => quote!(FileInDirectory),
            Kind::Directory => quote!(Directory),
        };
        let access = match self.access {
            Access::Read => quote!(Read),
            Access::Write => quote!(Write),
            Access::Create => quote!(Create),
        };
        let when = match &self.when {
            Some(pointer) => quote!(::core::option::Option::Some(#pointer)),
            None => quote!(::core::option::Option::None),
        };
        let nearest = &self.nearest;
        tokens.extend(quote! {
            ::portcullis_plugin::PathArgument {
                pointer: #pointer,
                kind: ::portcullis_plugin::PathKind::#kind,
                access: ::portcullis_plugin::PathAccess::#access,
                when: #when,
                nearest: &[#(#nearest),*],
            }
        });
    }
}

/// A field and its name in JSON.
pub struct Named<'a> {
    /// The field as written in the struct.
    pub field: &'a Field,
    /// The name in JSON.
    pub name: String,
}

/// Collects the `#[path(..)]` attributes of all fields, or all their errors.
pub fn collect(fields: &[Named]) -> syn::Result<Vec<PathArgument>> {
    let mut found = Vec::new();
    let mut all_errors: Option<syn::Error> = None;
    for named in fields {
        for attribute in named.field.attrs.iter().filter(|a| is_path(a)) {
            match read(attribute, named, fields) {
                Ok(argument) => found.push(argument),
                Err(error) => match &mut all_errors {
                    Some(errors) => errors.combine(error),
                    None => all_errors = Some(error),
                },
            }
        }
    }
    all_errors.map_or(Ok(found), Err)
}

fn read(attribute: &Attribute, named: &Named, fields: &[Named]) -> syn::Result<PathArgument> {
    let PathAttribute { kind, access, when, nearest } = attribute.parse_args()?;
    let item = if is_list_of_paths(&named.field.ty)? { "/-" } else { "" };
    let pointer = pointer_to(&named.name) + item;
    let when = when.map(|name| condition(&name, fields)).transpose()?;
    let nearest = nearest.iter().map(LitStr::value).collect();
    Ok(PathArgument { pointer, kind, access, when, nearest })
}

/// Whether the attribute is `#[path(..)]`. Rust's own `#[path = ".."]` cannot be on a field.
pub fn is_path(attribute: &Attribute) -> bool {
    attribute.path().is_ident("path")
}

fn condition(name: &LitStr, fields: &[Named]) -> syn::Result<String> {
    let named = fields
        .iter()
        .find(|named| named.field.ident.as_ref().is_some_and(|i| *i == name.value()))
        .ok_or_else(|| {
            syn::Error::new(
                name.span(),
                format!("there is no field `{}` in this struct", name.value()),
            )
        })?;
    let is_bool = |ty: &Type| last_word(ty).is_some_and(|(word, _)| word == "bool");
    let ty = &named.field.ty;
    if is_bool(ty) || type_argument(ty, "Option").is_some_and(is_bool) {
        Ok(pointer_to(&named.name))
    } else {
        Err(syn::Error::new(
            name.span(),
            format!("`{}` is the condition of `when`, so it must be a `bool`", name.value()),
        ))
    }
}

fn pointer_to(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Whether the field is a list of paths. Both a path and a list of paths may be optional. Fails for any other field.
fn is_list_of_paths(ty: &Type) -> syn::Result<bool> {
    let present = type_argument(ty, "Option").unwrap_or(ty);
    let (item, is_list) = match type_argument(present, "Vec") {
        Some(item) => (item, true),
        None => (present, false),
    };
    match last_word(item) {
        Some((word, PathArguments::None)) if word == "String" || word == "PathBuf" => Ok(is_list),
        _ => Err(syn::Error::new(
            span_of(ty),
            "a path argument is a `String` or a `PathBuf`, or an `Option` or a `Vec` of one",
        )),
    }
}

/// `T` of `Wrapper<T>`.
fn type_argument<'a>(ty: &'a Type, wrapper: &str) -> Option<&'a Type> {
    let (word, arguments) = last_word(ty)?;
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if word == wrapper => Some(inner),
        _ => None,
    }
}

fn last_word(ty: &Type) -> Option<(&Ident, &PathArguments)> {
    // A type passed through `macro_rules!` is wrapped in an invisible group.
    if let Type::Group(group) = ty {
        return last_word(&group.elem);
    }
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    path.qself.is_none().then_some((&last.ident, &last.arguments))
}

fn span_of(ty: &Type) -> Span {
    syn::spanned::Spanned::span(ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{ItemStruct, parse_quote};

    fn collected(item: &ItemStruct) -> syn::Result<Vec<PathArgument>> {
        let fields: Vec<Named> = item
            .fields
            .iter()
            .map(|field| Named {
                field,
                name: field.ident.as_ref().expect("it is named").to_string(),
            })
            .collect();
        collect(&fields)
    }

    fn complaint(item: &ItemStruct) -> String {
        collected(item).expect_err("it is wrong").to_string()
    }

    #[test]
    fn every_kind_of_field() {
        let found = collected(&parse_quote! {
            struct A {
                #[path(directory, read)]
                one: String,
                #[path(file, write,)]
                perhaps: Option<std::path::PathBuf>,
                #[path(file_in_directory, create)]
                many: Vec<PathBuf>,
                #[path(file, read)]
                perhaps_many: Option<Vec<String>>,
            }
        })
        .expect("it is right");
        let pointers: Vec<_> = found.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(pointers, ["/one", "/perhaps", "/many/-", "/perhaps_many/-"]);
        assert_eq!(found[2].kind, Kind::FileInDirectory);
        assert_eq!(found[2].access, Access::Create);
    }

    #[test]
    fn one_field_may_have_several_attributes() {
        let found = collected(&parse_quote! {
            struct A {
                #[path(directory, read)]
                #[path(directory, write, when = "fix")]
                dir: String,
                fix: bool,
            }
        })
        .expect("it is right");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].when, None);
        assert_eq!(found[1].when.as_deref(), Some("/fix"));
    }

    #[test]
    fn pointers_are_escaped() {
        assert_eq!(pointer_to("a/b~c"), "/a~1b~0c");
    }

    #[test]
    fn errors_say_what_is_expected() {
        assert!(
            complaint(&parse_quote!(
                struct A {
                    #[path(folder, read)]
                    d: String,
                }
            ))
            .contains(KINDS)
        );
        assert!(
            complaint(&parse_quote!(
                struct A {
                    #[path(file, delete)]
                    d: String,
                }
            ))
            .contains(ACCESSES)
        );
        assert!(
            complaint(&parse_quote!(
                struct A {
                    #[path(file)]
                    d: String,
                }
            ))
            .contains(ACCESSES)
        );
        assert!(
            complaint(&parse_quote!(
                struct A {
                    #[path(file, read, if = "x")]
                    d: String,
                }
            ))
            .contains("when")
        );
        assert!(
            complaint(&parse_quote!(
                struct A {
                    #[path(file, read)]
                    d: u32,
                }
            ))
            .contains("PathBuf")
        );
        assert!(
            complaint(&parse_quote!(
                struct A {
                    #[path(file, read)]
                    d: Vec<Option<String>>,
                }
            ))
            .contains("PathBuf")
        );
    }

    #[test]
    fn nearest_lists_names_and_is_for_directories_only() {
        let item: ItemStruct = parse_quote! {
            struct A { #[path(directory, read, nearest = ["ui5.yaml", "src"],)] d: String }
        };
        let found = collected(&item).expect("it is right");
        assert_eq!(found[0].nearest, ["ui5.yaml", "src"]);
        let file = complaint(&parse_quote! {
            struct A { #[path(file, read, nearest = ["x"])] d: String }
        });
        assert!(file.contains("for a `directory`"), "{file}");
    }

    #[test]
    fn a_condition_is_a_bool_field_of_the_same_struct() {
        let missing = complaint(&parse_quote! {
            struct A { #[path(file, write, when = "fix")] d: String }
        });
        assert!(missing.contains("no field `fix`"), "{missing}");
        let not_a_bool = complaint(&parse_quote! {
            struct A { #[path(file, write, when = "fix")] d: String, fix: String }
        });
        assert!(not_a_bool.contains("must be a `bool`"), "{not_a_bool}");
    }
}
