//! The tool `_ui`, by which a model inspects and changes views. All actions are in one tool, since each tool's
//! definition takes room in the context of every conversation.

mod apply;
mod inspect;
mod list;
mod refine;
mod refresh;
mod regenerate;

use crate::{
    generate::{self, WaitMode},
    settings::Settings,
    time::WallClock,
    view_assignment,
};
use portcullis_plugin::{
    catalog::Entry,
    prelude::*,
    serde_json::{self, Map, Value},
};
use serde::Serialize;

/// Changes how tools look to the user. Begin with `refine`: if no provider of models is set, its answer has what you need to write a view specification for `apply`.
#[arguments]
pub struct Ui {
    /// `list`: all tools; `inspect`: one view; `refresh`: tools that changed
    action: Action,
    /// The tool; for all actions but `list` and `refresh`
    tool_name: Option<String>,
    /// `refine`: what to change, such as "lead with the warmest day"
    feedback: Option<String>,
    /// `apply`: `{"version": 1, "root": component}`; `inspect` has its JSON Schema
    spec: Option<Map<String, Value>>,
    /// `apply`: HTML instead of `spec`, where the operator allows it
    document: Option<String>,
    /// `regenerate`: also forget all feedback
    clear_refinements: Option<bool>,
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    // The variants have no doc comments, so that the schema has one `enum` of names.
    List,
    Inspect,
    Refine,
    Apply,
    Regenerate,
    Refresh,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Inspect => "inspect",
            Self::Refine => "refine",
            Self::Apply => "apply",
            Self::Regenerate => "regenerate",
            Self::Refresh => "refresh",
        }
    }

    /// The arguments that the action takes besides `toolName`.
    fn takes(self) -> &'static [&'static str] {
        match self {
            Self::List | Self::Inspect | Self::Refresh => &[],
            Self::Refine => &["feedback"],
            Self::Apply => &["spec", "document"],
            Self::Regenerate => &["clearRefinements"],
        }
    }
}

impl Ui {
    /// The name of an argument that the call has and the action does not take.
    fn misplaced(&self) -> Option<&'static str> {
        let given = [
            ("feedback", self.feedback.is_some()),
            ("spec", self.spec.is_some()),
            ("document", self.document.is_some()),
            ("clearRefinements", self.clear_refinements.is_some()),
        ];
        let mut wrong =
            given.into_iter().filter(|(name, given)| *given && !self.action.takes().contains(name));
        wrong.next().map(|(name, _)| name)
    }

    /// The tool that the action is about.
    fn tool(&self, settings: &Settings) -> Result<Entry, Failure> {
        let name = self.tool_name.as_deref().ok_or_else(|| {
            let action = self.action.name();
            Failure::new(format!("the action `{action}` needs `toolName`: the name of a tool"))
        })?;
        view_assignment::tool_with_view(name, settings)
    }
}

impl Tool for Ui {
    const NAME: &'static str = "_ui";
    const TITLE: Option<&'static str> = Some("Views of tools");
    const HINTS: Hints = Hints::new().read_only(false).destructive(true).idempotent(false);
    type Output = Reply;

    fn call(self, request: &Request<'_>) -> Result<Reply, Failure> {
        if let Some(name) = self.misplaced() {
            let action = self.action.name();
            return Err(Failure::new(format!("the action `{action}` takes no `{name}`")));
        }
        let settings = Settings::read();
        let said = match self.action {
            Action::List => return structured(&list::all(&settings)),
            Action::Refresh => return structured(&refresh::changes(request)?),
            Action::Inspect => return structured(&inspect::view(self.tool(&settings)?, &settings)),
            Action::Refine => {
                let tool = self.tool(&settings)?;
                refine::refine(request, &settings, &tool, self.feedback.as_deref().unwrap_or(""))
            }
            Action::Apply => {
                let tool = self.tool(&settings)?;
                apply::apply(request, &settings, &tool, self.spec, self.document.as_deref())
            }
            Action::Regenerate => {
                let tool = self.tool(&settings)?;
                let forget = self.clear_refinements.unwrap_or(false);
                regenerate::regenerate(request, &settings, &tool, forget)
            }
        };
        said.map(|text| Reply::new().text(text))
    }
}

/// A value as structured content, and as text for the model.
fn structured(value: &impl Serialize) -> Result<Reply, Failure> {
    let value = serde_json::to_value(value)?;
    Ok(Reply::new().text(value.to_string()).structured(value))
}

/// Generates a view now, or schedules a job if more time may help. Returns a message for the model.
/// `word`: what was done, such as "regenerated".
fn generate(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    anew: bool,
    word: &str,
) -> Result<String, Failure> {
    let name = &tool.name;
    match generate::generate(request, settings, tool, &WallClock::new(), WaitMode::Foreground, anew)
    {
        Ok(made) => Ok(format!(
            "UI {word} for tool '{name}'. {}Its URI is {}.",
            if made.from_cache {
                "It was generated before. ".to_owned()
            } else {
                format!("Generation took {} ms. ", made.ms)
            },
            made.address
        )),
        Err(why) if why.is_for_later() => {
            let is_queued = if anew {
                generate::enqueue_anew(request, name)
            } else {
                generate::enqueue_job(request, name)
            };
            if !is_queued {
                return Err(Failure::new(format!(
                    "the UI of tool '{name}' was not generated: {why}; it cannot be generated in the background either"
                )));
            }
            Ok(format!(
                "The UI of tool '{name}' is being generated in the background ({why}). Until then, the current view is shown."
            ))
        }
        Err(why) => Err(Failure::new(format!(
            "the UI of tool '{name}' was not generated: {}. {}",
            why.to_string().trim_end_matches('.'),
            if view_assignment::page_of(tool, settings).is_plain {
                "Its plain form is shown."
            } else {
                "The previous view is still shown."
            }
        ))),
    }
}
