//! The procedural macros of `portcullis-plugin`; use them through that crate.

mod arguments;
mod names;
mod path;
mod plugin;

use proc_macro::TokenStream;

/// Declares a struct as the arguments of a tool or a prompt.
///
/// Derives deserialization and a JSON Schema. The doc comment of the struct becomes the description of the
/// tool or prompt. The doc comments of the fields become the descriptions of the arguments. Names are `camelCase` in
/// JSON; unknown arguments are refused. The attributes of `serde` and `schemars` keep their meaning, but
/// `#[serde(flatten)]` is refused.
///
/// `#[path(KIND, ACCESS)]` on a field declares that the argument is a path, which the host checks
/// and opens for the call:
///
/// - `KIND` is `file`, `file_in_directory` (the file and the whole directory that holds it) or
///   `directory`;
/// - `ACCESS` is `read`, `write` or `create` (the path may be missing);
/// - `when = "field"` limits the declaration to calls in which that `bool` argument is true;
/// - `nearest = ["package.json", "src"]`, for a `directory`, opens the nearest directory at or above the path that
///   has an entry with one of these names. If there is no such directory, it opens the path itself or, if the path
///   is a file, the file's directory.
///
/// The field is a `String`, a `PathBuf`, a `Vec` of one of these, or an `Option` of any of them. If several attributes
/// of a field apply, the widest access counts.
#[proc_macro_attribute]
pub fn arguments(options: TokenStream, item: TokenStream) -> TokenStream {
    answer(arguments::arguments(options.into(), item.into()))
}

/// Makes a struct or an enum usable in arguments, in the answer to a form, or in a result.
///
/// Derives serialization, deserialization and a JSON Schema, with `camelCase` names. Unknown fields are
/// refused. `#[data(open)]`, for data of foreign servers, ignores unknown fields.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    answer(arguments::data(options.into(), item.into()))
}

/// Makes this crate a plugin: declares its name, its tools and other features, and the capabilities it wants.
///
/// ```text
/// plugin! {
///     name: "weather",                      // required, as is one of `tools`, `prompts`, `resources`, `views`
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
/// The macro adds the want for the files that path arguments need. The plugin's version is that of Cargo.toml.
#[proc_macro]
pub fn plugin(input: TokenStream) -> TokenStream {
    answer(plugin::plugin(input.into()))
}

fn answer(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(syn::Error::into_compile_error).into()
}
