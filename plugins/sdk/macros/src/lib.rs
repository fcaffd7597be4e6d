//! The macros of `portcullis-plugin`; use them through that crate.

mod arguments;
mod names;
mod path;
mod plugin;

use proc_macro::TokenStream;

/// Makes a struct the arguments of a tool.
///
/// The struct learns to be read from JSON and to describe itself as JSON Schema: its doc comment
/// is the tool's description, the fields' doc comments are the descriptions of the arguments. Names
/// are `camelCase` towards the client, unknown arguments are refused. The attributes of `serde` and
/// `schemars` work as ever.
///
/// `#[path(KIND, ACCESS)]` on a field declares that the argument names a path, which the host
/// checks and opens for the call:
///
/// - `KIND` is `file`, `file_in_directory` (the file and all of the directory it is in) or
///   `directory`;
/// - `ACCESS` is `read`, `write` or `create` (the path need not exist yet);
/// - `when = "field"` limits it to calls where that `bool` argument is true;
/// - `nearest = ["package.json", ".."]` opens, for a path that leads into a directory or to a file in
///   it, the nearest directory at or above it that has an entry of one of these names. If none has,
///   the directory itself.
///
/// It goes on a `String` or a `PathBuf`, or an `Option` or a `Vec` of one, and may be repeated: the
/// widest access that applies counts.
#[proc_macro_attribute]
pub fn arguments(options: TokenStream, item: TokenStream) -> TokenStream {
    answer(arguments::arguments(options.into(), item.into()))
}

/// Makes a struct or an enum that can be part of arguments, an answer to a form, or a result.
///
/// It can be read from and written as JSON and describes itself as JSON Schema, with `camelCase`
/// names. Unknown fields are refused, unless it says `#[data(open)]`, for what other people's
/// servers send.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    answer(arguments::data(options.into(), item.into()))
}

/// Makes this crate a plugin: says what it is called, which tools it has and what it wants.
///
/// ```text
/// plugin! {
///     name: "weather",                      // required; what it calls itself
///     tools: [Forecast, Stations],          // types that are a `Tool`
///     prompts: [Greeting],                  // types that are a `Prompt`
///     resources: Maps,                      // a type that is `Resources`
///     views: Faces,                         // a type that is `Views`
///     jobs: Chores,                         // a type that is `Jobs`
///     title: "Weather",                     // one of those but `jobs` is required; no other is
///     description: "Forecasts.",            // otherwise `description` of Cargo.toml
///     website: "https://example.org",       // otherwise `homepage` of Cargo.toml
///     instructions: "Ask for stations first.",
///     wants: [Want::http("api.example.org", "GET", "to fetch forecasts")],
/// }
/// ```
///
/// What path arguments need is wanted without being listed. The version is that of Cargo.toml.
#[proc_macro]
pub fn plugin(input: TokenStream) -> TokenStream {
    answer(plugin::plugin(input.into()))
}

fn answer(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(syn::Error::into_compile_error).into()
}
