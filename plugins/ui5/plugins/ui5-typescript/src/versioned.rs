//! The guide to TypeScript conversion, with current versions of packages.

use crate::versions::Choice;

const GUIDE: &str = include_str!("../../../resources/guides/typescript.md");

/// The guide as Markdown, with the chosen versions of packages.
pub fn with(choice: &Choice) -> String {
    let guide = GUIDE.replace("{{note}}", &choice.note);
    choice.versions.iter().fold(guide, |guide, (package, version)| {
        guide.replace(&format!("{{{{{package}}}}}"), version)
    })
}
