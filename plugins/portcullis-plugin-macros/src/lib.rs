//! The procedural macros of `portcullis-plugin`; use them through that crate.

mod arguments;
mod names;
mod path;
mod plugin;

use proc_macro::TokenStream;

/// Makes a struct the arguments of a tool.
///
/// Derives deserialization and a JSON Schema. The doc comment of the struct becomes the description
/// of the tool, the doc comments of the fields become the descriptions of the arguments. Names are
/// `camelCase` in JSON; unknown arguments are refused. The attributes of `serde` and `schemars`
/// keep their meaning.
///
/// `#[path(KIND, ACCESS)]` on a field declares that the argument is a path, which the host checks
/// and opens for the call:
///
/// - `KIND` is `file`, `file_in_directory` (the file and the whole directory that holds it) or
///   `directory`;
/// - `ACCESS` is `read`, `write` or `create` (the path may be missing);
/// - `when = "field"` limits it to calls where that `bool` argument is true;
/// - `nearest = ["package.json", ".."]` opens, instead of the path, the nearest directory at or
///   above it that has an entry with one of these names. If there is none, the directory itself is
///   opened.
///
/// The field is a `String`, a `PathBuf`, or an `Option` or a `Vec` of one. The attribute may be
/// repeated: the widest access that applies counts.
#[proc_macro_attribute]
pub fn arguments(options: TokenStream, item: TokenStream) -> TokenStream {
    answer(arguments::arguments(options.into(), item.into()))
}

/// Makes a struct or an enum usable in arguments, in the answer to a form, or in a result.
///
/// Derives serialization, deserialization and a JSON Schema, with `camelCase` names. Unknown fields
/// are refused, except with `#[data(open)]`, which is for data of foreign servers.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    answer(arguments::data(options.into(), item.into()))
}

/// Makes this crate a plugin: declares its name, what it offers and the capabilities it wants.
///
/// ```text
/// plugin! {
///     name: "weather",                      // required, with `tools`, `prompts`, `resources` or `views`
///     tools: [Forecast, Stations],          // types that implement `Tool`
///     prompts: [Greeting],                  // types that implement `Prompt`
///     resources: Maps,                      // a type that implements `Resources`
///     views: Faces,                         // a type that implements `Views`
///     jobs: Chores,                         // a type that implements `Jobs`
///     title: "Weather",
///     description: "Forecasts.",            // default: `description` of Cargo.toml
///     website: "https://example.org",       // default: `homepage` of Cargo.toml
///     instructions: "Ask for stations first.",
///     wants: [Want::http("api.example.org", "GET", "to fetch forecasts")],
/// }
/// ```
///
/// The access that path arguments need is wanted automatically. The version is that of Cargo.toml.
#[proc_macro]
pub fn plugin(input: TokenStream) -> TokenStream {
    answer(plugin::plugin(input.into()))
}

fn answer(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(syn::Error::into_compile_error).into()
}
