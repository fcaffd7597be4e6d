//! The tools `get_guidelines` and `get_integration_cards_guidelines`: what to know before UI5 is written.

use portcullis_plugin::prelude::*;

const APPLICATIONS: &str = include_str!("../../../resources/ui5-guides/guidelines.md");
const CARDS: &str = include_str!("../../../resources/ui5-guides/cards.md");

const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);

/// Gets the UI5 guidelines. This tool MUST be called once before any work on a UI5 (SAPUI5 or OpenUI5) task or project, and before a UI5 project is created. The guidelines MUST be followed: they are the best practices of UI5 development and keep you from its common pitfalls.
#[arguments]
struct Guidelines {}

impl Tool for Guidelines {
    const NAME: &'static str = "get_guidelines";
    const TITLE: Option<&'static str> = Some("Get UI5 Guidelines");
    const HINTS: Hints = HINTS;
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        Ok(APPLICATIONS)
    }
}

/// Gets the guidelines for Integration Cards, which are also called UI Integration Cards or UI5 Integration Cards. This tool MUST be called once before any work on an Integration Card, and before one is created. The guidelines MUST be followed: they are the best practices of card development and keep you from its common pitfalls.
#[arguments]
struct CardGuidelines {}

impl Tool for CardGuidelines {
    const NAME: &'static str = "get_integration_cards_guidelines";
    const TITLE: Option<&'static str> = Some("Get Integration Cards Guidelines");
    const HINTS: Hints = HINTS;
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        Ok(CARDS)
    }
}

plugin! {
    name: "ui5-guidelines",
    title: "UI5 guidelines",
    description: "Tells how UI5 applications and integration cards are written. Reaches nothing.",
    tools: [Guidelines, CardGuidelines],
}

#[cfg(test)]
mod tests;
