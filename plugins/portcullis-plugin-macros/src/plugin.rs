//! Expands `plugin! { .. }`: the plugin's name, its tools and other features, and the capabilities it wants.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Expr, Ident, LitStr, Token, Type, bracketed,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
};

const KEYS: &str = "`name`, `tools`, `prompts`, `resources`, `views`, `jobs`, `title`, \
     `description`, `website`, `instructions`, `wants`";

/// Expands `plugin!`.
pub fn plugin(input: TokenStream) -> syn::Result<TokenStream> {
    let Plugin {
        name,
        tools,
        prompts,
        resources,
        views,
        jobs,
        title,
        description,
        website,
        instructions,
        wants,
    } = syn::parse2(input)?;
    let exports = exports(&[
        (tools.is_some(), "tools"),
        (prompts.is_some(), "prompts"),
        (resources.is_some(), "resources"),
        (prompts.is_some() || resources.is_some(), "completions"),
        (views.is_some(), "views"),
        (jobs.is_some(), "jobs"),
    ]);
    let tools: Vec<_> = tools.iter().flatten().collect();
    let prompts: Vec<_> = prompts.iter().flatten().collect();
    let or_unit = |part: Option<Type>| part.map_or_else(|| quote!(()), |part| quote!(#part));
    let (resources, views, jobs) = (or_unit(resources), or_unit(views), or_unit(jobs));
    let checks = tools.iter().map(|tool| {
        quote_spanned! {tool.span()=>
            const _: () =
                ::portcullis_plugin::export::check_name(<#tool as ::portcullis_plugin::Tool>::NAME);
        }
    });
    let about = about(&name, title, description, website, instructions, wants);
    Ok(quote! {
        const _: () = {
            struct ThisPlugin;

            impl ::portcullis_plugin::export::Plugin for ThisPlugin {
                const TOOLS: &'static [::portcullis_plugin::export::Entry] =
                    &[#(::portcullis_plugin::export::Entry::of::<#tools>()),*];
                const PROMPTS: &'static [::portcullis_plugin::export::PromptEntry] =
                    &[#(::portcullis_plugin::export::PromptEntry::of::<#prompts>()),*];
                type Resources = #resources;
                type Views = #views;
                type Jobs = #jobs;

                fn about() -> ::portcullis_plugin::export::About {
                    #about
                }
            }

            #(#checks)*
            ::portcullis_plugin::export::check_distinct(
                <ThisPlugin as ::portcullis_plugin::export::Plugin>::TOOLS,
            );

            #exports
        };
    })
}

/// The `About` of the plugin: the manifest without tools, prompts, resources, views and jobs.
fn about(
    name: &LitStr,
    title: Option<Expr>,
    description: Option<Expr>,
    website: Option<Expr>,
    instructions: Option<Expr>,
    wants: Option<Expr>,
) -> TokenStream {
    let optional = |value: Option<Expr>| match value {
        Some(value) => quote!(::core::option::Option::Some((#value).into())),
        None => quote!(::core::option::Option::None),
    };
    let (title, instructions) = (optional(title), optional(instructions));
    let or_cargo = |value: Option<Expr>, variable: &str| match value {
        Some(value) => quote!(::core::option::Option::Some((#value).into())),
        None => quote!(::portcullis_plugin::export::unless_empty(::core::env!(#variable))),
    };
    let description = or_cargo(description, "CARGO_PKG_DESCRIPTION");
    let website = or_cargo(website, "CARGO_PKG_HOMEPAGE");
    let wants = wants.map_or_else(
        || quote!(::std::vec::Vec::new()),
        |wants| quote!(::std::vec::Vec::from(#wants)),
    );
    quote! {
        ::portcullis_plugin::export::About {
            name: #name,
            version: ::core::env!("CARGO_PKG_VERSION"),
            title: #title,
            description: #description,
            website: #website,
            instructions: #instructions,
            wants: #wants,
        }
    }
}

/// Exports the interfaces of the features that the plugin uses, and no others.
fn exports(features: &[(bool, &str)]) -> TokenStream {
    let exports = features.iter().filter(|(has, _)| *has).map(|(_, feature)| {
        let (export, types) = (format_ident!("export_{feature}"), format_ident!("with_{feature}"));
        quote! {
            #[cfg(target_family = "wasm")]
            ::portcullis_plugin::export::#export!(
                ThisPlugin with_types_in ::portcullis_plugin::export::#types
            );
        }
    });
    quote! {
        #[cfg(target_family = "wasm")]
        ::portcullis_plugin::export::export_manifest!(
            ThisPlugin with_types_in ::portcullis_plugin::export
        );
        #(#exports)*
    }
}

struct Plugin {
    name: LitStr,
    tools: Option<Punctuated<Type, Token![,]>>,
    prompts: Option<Punctuated<Type, Token![,]>>,
    resources: Option<Type>,
    views: Option<Type>,
    jobs: Option<Type>,
    title: Option<Expr>,
    description: Option<Expr>,
    website: Option<Expr>,
    instructions: Option<Expr>,
    wants: Option<Expr>,
}

impl Parse for Plugin {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let (mut name, mut tools) = (None, None);
        let (mut prompts, mut resources) = (None, None);
        let (mut views, mut jobs) = (None, None);
        let (mut title, mut description, mut website) = (None, None, None);
        let (mut instructions, mut wants) = (None, None);
        while !input.is_empty() {
            let key: Ident = input.parse().map_err(|error| {
                syn::Error::new(error.span(), format!("expected one of {KEYS}"))
            })?;
            input.parse::<Token![:]>()?;
            match key.to_string().as_str() {
                "name" => set_once(&key, &mut name, plugin_name(input)?)?,
                "tools" => {
                    let list;
                    bracketed!(list in input);
                    set_once(&key, &mut tools, Punctuated::parse_terminated(&list)?)?;
                }
                "prompts" => {
                    let list;
                    bracketed!(list in input);
                    set_once(&key, &mut prompts, Punctuated::parse_terminated(&list)?)?;
                }
                "resources" => set_once(&key, &mut resources, input.parse()?)?,
                "views" => set_once(&key, &mut views, input.parse()?)?,
                "jobs" => set_once(&key, &mut jobs, input.parse()?)?,
                "title" => set_once(&key, &mut title, input.parse()?)?,
                "description" => set_once(&key, &mut description, input.parse()?)?,
                "website" => set_once(&key, &mut website, input.parse()?)?,
                "instructions" => set_once(&key, &mut instructions, input.parse()?)?,
                "wants" => set_once(&key, &mut wants, input.parse()?)?,
                other => {
                    return Err(syn::Error::new(
                        key.span(),
                        format!("`plugin!` has no key `{other}`; its keys are {KEYS}"),
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let missing = |key| input.error(format!("a plugin needs {key}"));
        if tools.is_none() && prompts.is_none() && resources.is_none() && views.is_none() {
            return Err(missing("`tools`, `prompts`, `resources` or `views`"));
        }
        Ok(Self {
            name: name.ok_or_else(|| missing("`name`"))?,
            tools,
            prompts,
            resources,
            views,
            jobs,
            title,
            description,
            website,
            instructions,
            wants,
        })
    }
}

fn set_once<T>(key: &Ident, slot: &mut Option<T>, value: T) -> syn::Result<()> {
    if slot.replace(value).is_some() {
        return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
    }
    Ok(())
}

/// Parses the name, refusing those that the host refuses.
fn plugin_name(input: ParseStream) -> syn::Result<LitStr> {
    let name: LitStr = input.parse()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !(1..=64).contains(&name.value().len()) || !name.value().chars().all(is_plain) {
        return Err(syn::Error::new(
            name.span(),
            "a plugin's name is 1 to 64 letters, digits, `-` and `_`",
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn complaint(input: TokenStream) -> String {
        plugin(input).expect_err("it is wrong").to_string()
    }

    #[test]
    fn few_keys_and_all_keys_are_accepted() {
        plugin(quote!(name: "a", tools: [])).expect("it is right");
        plugin(quote!(name: "a", prompts: [A], resources: B)).expect("it is right");
        plugin(quote!(name: "a", views: A, jobs: B)).expect("it is right");
        plugin(quote! {
            instructions: "b",
            wants: [Want::store(1, "c")],
            tools: [A, b::C,],
            title: concat!("d", "e"),
            website: "f",
            description: "g",
            name: "h-1_i",
        })
        .expect("it is right");
    }

    #[test]
    fn errors_name_the_key() {
        assert!(complaint(quote!(name: "a")).contains("needs `tools`"));
        assert!(complaint(quote!(tools: [A])).contains("needs `name`"));
        assert!(complaint(quote!(nmae: "a")).contains("no key `nmae`"));
        assert!(complaint(quote!(name: "a", name: "b")).contains("twice"));
        assert!(complaint(quote!(name: "a b", tools: [])).contains("letters"));
    }
}
