//! The guide, with versions.

use crate::versions::Choice;

const GUIDE: &str = include_str!("../../../resources/ui5-guides/typescript.md");

/// The guide as Markdown, with the chosen versions where it names packages.
pub fn with(choice: &Choice) -> String {
    let guide = GUIDE.replace("{{note}}", &choice.note);
    choice.versions.iter().fold(guide, |guide, (package, version)| {
        guide.replace(&format!("{{{{{package}}}}}"), version)
    })
}
