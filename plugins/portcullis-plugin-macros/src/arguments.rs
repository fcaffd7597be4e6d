//! Expands `#[arguments]` and `#[data]`: derives traits of serde and a JSON Schema for a Rust type.

use crate::{
    names::{Case, SerdeAttributes},
    path::{self, Named},
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Field, Fields, Ident, ItemStruct, spanned::Spanned};

/// Expands `#[arguments]`.
pub fn arguments(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !options.is_empty() {
        return Err(syn::Error::new(options.span(), "`#[arguments]` takes no options"));
    }
    let mut item: ItemStruct = syn::parse2(item)
        .map_err(|error| syn::Error::new(error.span(), "`#[arguments]` is for a struct"))?;
    let Fields::Named(_) = item.fields else {
        return Err(syn::Error::new(
            item.ident.span(),
            format!(
                "arguments need names: write a struct with named fields, `struct {} {{ .. }}`",
                item.ident
            ),
        ));
    };
    if !item.generics.params.is_empty() {
        return Err(syn::Error::new(item.generics.span(), "arguments cannot be generic"));
    }

    let container = SerdeAttributes::of(&item.attrs)?;
    let case = container.rename_all.as_ref().map_or(Ok(Case::Camel), Case::parse)?;
    let mut named = Vec::new();
    for field in &item.fields {
        named.push(Named { field, name: name_of(field, case)? });
    }
    // If a path has an error, the rest still expands, so that the compiler reports nothing else.
    let (paths, path_error) = match path::collect(&named) {
        Ok(paths) => (paths, TokenStream::new()),
        Err(error) => (Vec::new(), error.into_compile_error()),
    };

    for field in &mut item.fields {
        field.attrs.retain(|attribute| !path::is_path(attribute));
    }
    let serde = serde_attributes(&container, &quote!(deny_unknown_fields,), &TokenStream::new());
    let name = &item.ident;
    Ok(quote! {
        #path_error

        #[derive(
            ::portcullis_plugin::serde::Deserialize,
            ::portcullis_plugin::schemars::JsonSchema,
        )]
        #serde
        #item

        impl ::portcullis_plugin::Arguments for #name {
            const PATHS: &'static [::portcullis_plugin::PathArgument] = &[#(#paths),*];
        }
    })
}

/// Expands `#[data]` and `#[data(open)]`.
pub fn data(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let allows_unknown = is_open(options)?;
    let item: DeriveInput = syn::parse2(item)
        .map_err(|error| syn::Error::new(error.span(), "`#[data]` is for a struct or an enum"))?;
    let (fields, is_enum): (Vec<&Field>, bool) = match &item.data {
        Data::Struct(data) => (data.fields.iter().collect(), false),
        Data::Enum(data) => (data.variants.iter().flat_map(|v| &v.fields).collect(), true),
        Data::Union(data) => {
            return Err(syn::Error::new(
                data.union_token.span,
                "`#[data]` is for a struct or an enum",
            ));
        }
    };
    for field in fields {
        refuse_path(field)?;
        if !allows_unknown {
            refuse_flatten(field, &SerdeAttributes::of(&field.attrs)?)?;
        }
    }
    let strict = if allows_unknown { TokenStream::new() } else { quote!(deny_unknown_fields,) };
    let inner = if is_enum { quote!(rename_all_fields = "camelCase",) } else { TokenStream::new() };
    let serde = serde_attributes(&SerdeAttributes::of(&item.attrs)?, &strict, &inner);
    Ok(quote! {
        #[derive(
            ::portcullis_plugin::serde::Deserialize,
            ::portcullis_plugin::serde::Serialize,
            ::portcullis_plugin::schemars::JsonSchema,
        )]
        #serde
        #item
    })
}

fn is_open(options: TokenStream) -> syn::Result<bool> {
    if options.is_empty() {
        return Ok(false);
    }
    let span = options.span();
    match syn::parse2::<Ident>(options) {
        Ok(word) if word == "open" => Ok(true),
        _ => Err(syn::Error::new(span, "the only option is `open`, which accepts unknown fields")),
    }
}

/// The `serde` and `schemars` attributes to add: the paths of both crates, and the attributes that the author did not
/// write.
fn serde_attributes(
    container: &SerdeAttributes,
    strict: &TokenStream,
    inner: &TokenStream,
) -> TokenStream {
    let has = |word: &str| container.has(word);
    let strict = if has("deny_unknown_fields") { &TokenStream::new() } else { strict };
    let inner = if has("rename_all_fields") { &TokenStream::new() } else { inner };
    let camel = if container.rename_all.is_some() {
        TokenStream::new()
    } else {
        quote!(rename_all = "camelCase",)
    };
    quote! {
        #[serde(#camel #inner #strict crate = "::portcullis_plugin::serde")]
        #[schemars(crate = "::portcullis_plugin::schemars")]
    }
}

/// The name of the field in JSON.
fn name_of(field: &Field, case: Case) -> syn::Result<String> {
    let attributes = SerdeAttributes::of(&field.attrs)?;
    refuse_flatten(field, &attributes)?;
    let is_skipped = attributes.has("skip") || attributes.has("skip_deserializing");
    if is_skipped && field.attrs.iter().any(path::is_path) {
        return Err(syn::Error::new(
            field.span(),
            "a skipped field is not an argument, so it cannot name a path",
        ));
    }
    let written = field.ident.as_ref().map_or_else(String::new, ToString::to_string);
    let written = written.strip_prefix("r#").unwrap_or(&written);
    Ok(attributes.rename.map_or_else(|| case.apply(written), |name| name.value()))
}

fn refuse_flatten(field: &Field, attributes: &SerdeAttributes) -> syn::Result<()> {
    if attributes.has("flatten") {
        return Err(syn::Error::new(
            field.span(),
            "with `flatten`, unknown fields cannot be refused: write the fields of the inner type here, or remove `flatten`, so that they are nested in JSON",
        ));
    }
    Ok(())
}

fn refuse_path(field: &Field) -> syn::Result<()> {
    match field.attrs.iter().find(|attribute| path::is_path(attribute)) {
        Some(attribute) => Err(syn::Error::new(
            attribute.span(),
            "paths are declared on the fields of the tool's own `#[arguments]`",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(result: syn::Result<TokenStream>) -> String {
        result.expect_err("it is wrong").to_string()
    }

    fn of_arguments(item: TokenStream) -> syn::Result<TokenStream> {
        arguments(TokenStream::new(), item)
    }

    fn pointers(item: TokenStream) -> String {
        of_arguments(item).expect("it is right").to_string()
    }

    #[test]
    fn pointers_use_the_names_in_json() {
        let camel = pointers(quote!(
            struct A {
                #[path(file, read)]
                my_file: String,
            }
        ));
        assert!(camel.contains(r#""/myFile""#), "{camel}");
        let own = pointers(quote! {
            struct A { #[serde(rename = "my-file")] #[path(file, read)] my_file: String }
        });
        assert!(own.contains(r#""/my-file""#), "{own}");
        let case = pointers(quote! {
            #[serde(rename_all = "kebab-case")]
            struct A { #[path(directory, write, when = "do_it")] the_dir: String, do_it: bool }
        });
        assert!(case.contains(r#""/the-dir""#) && case.contains(r#""/do-it""#), "{case}");
        assert!(!case.contains("camelCase"), "{case}");
        let raw = pointers(quote!(
            struct A {
                #[path(file, read)]
                r#type: String,
            }
        ));
        assert!(raw.contains(r#""/type""#), "{raw}");
    }

    #[test]
    fn the_path_attribute_is_removed() {
        let expanded = pointers(quote!(
            struct A {
                #[path(file, read)]
                my_file: String,
            }
        ));
        assert!(!expanded.contains("# [path"), "{expanded}");
        assert!(expanded.contains("deny_unknown_fields"), "{expanded}");
    }

    #[test]
    fn wrong_arguments_are_refused_with_the_reason() {
        assert!(
            complaint(of_arguments(quote!(
                struct A;
            )))
            .contains("with named fields, `struct A {")
        );
        assert!(
            complaint(of_arguments(quote!(
                struct A(String);
            )))
            .contains("names")
        );
        assert!(
            complaint(of_arguments(quote!(
                enum A {
                    B,
                }
            )))
            .contains("for a struct")
        );
        assert!(
            complaint(of_arguments(quote!(
                struct A<T> {
                    a: T,
                }
            )))
            .contains("generic")
        );
        let flatten = quote!(
            struct A {
                #[serde(flatten)]
                a: B,
            }
        );
        assert!(complaint(of_arguments(flatten)).contains("`flatten`"));
        let skipped = quote!(
            struct A {
                #[serde(skip)]
                #[path(file, read)]
                a: String,
            }
        );
        assert!(complaint(of_arguments(skipped)).contains("skipped"));
        assert!(
            complaint(arguments(
                quote!(open),
                quote!(
                    struct A {}
                )
            ))
            .contains("no options")
        );
    }

    #[test]
    fn data_is_strict_unless_it_is_open() {
        let item = quote!(
            struct A {
                a: String,
            }
        );
        let strict = data(TokenStream::new(), item.clone()).expect("it is right").to_string();
        assert!(strict.contains("deny_unknown_fields"), "{strict}");
        let open = data(quote!(open), item).expect("it is right").to_string();
        assert!(!open.contains("deny_unknown_fields"), "{open}");
        let path = quote!(
            struct A {
                #[path(file, read)]
                a: String,
            }
        );
        assert!(complaint(data(TokenStream::new(), path)).contains("`#[arguments]`"));
        assert!(
            complaint(data(
                quote!(closed),
                quote!(
                    struct A {}
                )
            ))
            .contains("`open`")
        );
        assert!(
            complaint(data(
                TokenStream::new(),
                quote!(
                    fn a() {}
                )
            ))
            .contains("a struct or an enum")
        );
    }
}
