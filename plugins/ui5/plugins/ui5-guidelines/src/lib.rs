//! The tools `get_guidelines` and `get_integration_cards_guidelines`: guidelines for UI5 and cards;
//! skills as prompts.

mod skills;

use portcullis_plugin::prelude::*;
use skills::SKILLS;
use ui5::{Detail, detail, guide};

const APPLICATIONS: &str = include_str!("../../../resources/guides/guidelines.md");
const CARDS: &str = include_str!("../../../resources/guides/cards.md");

const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);

/// Gets the UI5 guidelines. This tool MUST be called once before any work on a UI5 (SAPUI5 or OpenUI5) task or project, and before a UI5 project is created. The guidelines MUST be followed: they are the best practices of UI5 development and keep you from its common pitfalls.
#[arguments]
struct Guidelines {
    /// Number or heading of one section, instead of the whole guide.
    section: Option<String>,
    /// 'brief': about 2,000 tokens at most, if need be without code. 'full': all. Default: 'brief', unless the operator set 'full'.
    detail: Option<Detail>,
}

impl Tool for Guidelines {
    const NAME: &'static str = "get_guidelines";
    const TITLE: Option<&'static str> = Some("Get UI5 Guidelines");
    const HINTS: Hints = HINTS;
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        answer(APPLICATIONS, self.section.as_deref(), self.detail)
    }
}

/// Gets the guidelines for Integration Cards, which are also called UI Integration Cards or UI5 Integration Cards. This tool MUST be called once before any work on an Integration Card, and before one is created. The guidelines MUST be followed: they are the best practices of card development and keep you from its common pitfalls.
#[arguments]
struct CardGuidelines {
    /// Number or heading of one section, instead of the whole guide.
    section: Option<String>,
    /// 'brief': about 2,000 tokens at most, if need be without code. 'full': all. Default: 'brief', unless the operator set 'full'.
    detail: Option<Detail>,
}

impl Tool for CardGuidelines {
    const NAME: &'static str = "get_integration_cards_guidelines";
    const TITLE: Option<&'static str> = Some("Get Integration Cards Guidelines");
    const HINTS: Hints = HINTS;
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        answer(CARDS, self.section.as_deref(), self.detail)
    }
}

fn answer(text: &str, section: Option<&str>, detail: Option<Detail>) -> Result<String, Failure> {
    let detail = Detail::of(detail).map_err(Failure::new)?;
    guide::answer(text, section, detail).map_err(Failure::new)
}

/// The guidelines as resources, for clients whose users choose the resources to read.
struct Texts;

const APPLICATIONS_URI: &str = "ui5://guidelines/applications.md";
const CARDS_URI: &str = "ui5://guidelines/integration-cards.md";
const MARKDOWN: &str = "text/markdown";

impl Resources for Texts {
    fn fixed() -> Vec<Resource> {
        let resource = |uri: &str, name: &str, title: &str, text: &str| {
            Resource::new(uri, name).title(title).mime_type(MARKDOWN).size(text.len() as u64)
        };
        let skills = SKILLS.iter().map(|skill| {
            resource(&skill.uri(), &format!("ui5-skill-{}", skill.name), skill.title(), skill.text)
                .description("A skill: how one kind of task is done from start to end.")
        });
        let guides = [
            resource(APPLICATIONS_URI, "ui5-guidelines", "UI5 guidelines", APPLICATIONS)
                .description("How UI5 applications are written: all guidelines of get_guidelines."),
            resource(CARDS_URI, "ui5-card-guidelines", "Guidelines for integration cards", CARDS)
                .description(
                    "How integration cards are written: all guidelines of get_integration_cards_guidelines.",
                ),
        ];
        guides.into_iter().chain(skills).collect()
    }

    fn read(_request: &Request, uri: &str) -> Result<Contents, Failure> {
        match uri {
            APPLICATIONS_URI => Ok(Contents::text(uri, MARKDOWN, APPLICATIONS)),
            CARDS_URI => Ok(Contents::text(uri, MARKDOWN, CARDS)),
            _ => {
                let skill = SKILLS.iter().find(|skill| skill.uri() == uri);
                let skill = skill.ok_or_else(|| Failure::not_found(uri))?;
                Ok(Contents::text(uri, MARKDOWN, skill.text))
            }
        }
    }
}

plugin! {
    name: "ui5-guidelines",
    title: "UI5 guidelines",
    description: "Tells how UI5 applications and integration cards are written. Reaches nothing.",
    tools: [Guidelines, CardGuidelines],
    prompts: [
        skills::Modernize,
        skills::Tables,
        skills::Tests,
        skills::Accessibility,
        skills::MetadataControls,
        skills::WebComponents,
    ],
    resources: Texts,
    wants: [
        Want::settings(detail::SETTING, "`full`: calls without `detail` get the whole guidelines; `brief` or unset: they get the brief version"),
    ],
}

#[cfg(test)]
mod tests;
