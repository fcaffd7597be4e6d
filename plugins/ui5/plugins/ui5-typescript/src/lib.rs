//! The tool `get_typescript_conversion_guidelines`: converting a UI5 project to TypeScript.

mod latest;
mod prompt;
mod versioned;
mod versions;

use latest::Npm;
use portcullis_plugin::prelude::*;
use ui5::{Detail, detail, guide};

/// Gets the guidelines for the conversion of UI5 (SAPUI5 or OpenUI5) applications, controls and tests from JavaScript to TypeScript. This tool MUST be called once before such a conversion, whether of a whole project or of single files, and the guidelines MUST be followed: they name the setup, the dependencies with their versions, and the pitfalls that are particular to UI5.
#[arguments]
struct Guidelines {
    /// Number or heading of one section, instead of the whole guide.
    section: Option<String>,
    /// 'brief': about 2,000 tokens at most, if need be without code. 'full': all. Default: 'brief', unless the operator set 'full'.
    detail: Option<Detail>,
}

impl Tool for Guidelines {
    const NAME: &'static str = "get_typescript_conversion_guidelines";
    const TITLE: Option<&'static str> = Some("Get TypeScript Conversion Guidelines");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(true);
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let detail = Detail::of(self.detail).map_err(Failure::new)?;
        guide::answer(&text(request), self.section.as_deref(), detail).map_err(Failure::new)
    }
}

/// The guide with current versions.
fn text(request: &Request) -> String {
    let npm = Npm::new(request);
    versioned::with(&versions::choose(|package| npm.ask(package), latest::SOURCE))
}

/// The guide as a resource, for clients whose users choose the resources to read.
struct Texts;

const URI: &str = "ui5://guidelines/typescript.md";

impl Resources for Texts {
    fn fixed() -> Vec<Resource> {
        vec![
            Resource::new(URI, "ui5-typescript-guidelines")
                .title("From JavaScript to TypeScript in UI5")
                .description("The whole guide of get_typescript_conversion_guidelines.")
                .mime_type("text/markdown"),
        ]
    }

    fn read(request: &Request, uri: &str) -> Result<Contents, Failure> {
        match uri {
            URI => Ok(Contents::text(uri, "text/markdown", text(request))),
            _ => Err(Failure::not_found(uri)),
        }
    }
}

plugin! {
    name: "ui5-typescript",
    title: "UI5 and TypeScript",
    description: "Tells how UI5 projects are converted to TypeScript.",
    tools: [Guidelines],
    prompts: [prompt::Convert],
    resources: Texts,
    wants: [
        Want::settings(detail::SETTING, "`full`: calls without `detail` get the whole guide; `brief` or unset: they get the brief version"),
        Want::process(latest::COMMAND, "to ask npm for the newest versions of the packages that the guide recommends"),
        Want::cache(100_000, "to ask npm only once a day"),
    ],
}

#[cfg(test)]
mod tests;
