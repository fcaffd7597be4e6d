//! The tools that clients see, all named `_ui_…`.

mod apply;
mod inspect;
mod list;
mod refine;
mod refresh;
mod regenerate;

pub use apply::Apply;
pub use inspect::Inspect;
pub use list::List;
pub use refine::Refine;
pub use refresh::Refresh;
pub use regenerate::Regenerate;

use crate::{
    faces,
    generate::{self, Pace},
    settings::Settings,
    time::WallClock,
};
use portcullis_plugin::{catalog::Entry, prelude::*};

/// Generates now or, without time, later; describes the outcome. `word`: what was done.
fn generate(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    anew: bool,
    word: &str,
) -> Result<String, Failure> {
    let name = &tool.name;
    match generate::generate(request, settings, tool, &WallClock::new(), Pace::Foreground, anew) {
        Ok(made) => {
            let how = if made.from_cache { "It was kept from before" } else { "Generation" };
            Ok(format!(
                "UI {word} for tool '{name}'. {how} took {} ms. It is {}.",
                made.ms, made.address
            ))
        }
        Err(why) if why.is_for_later() => {
            let is_left = if anew {
                generate::later_anew(request, name)
            } else {
                generate::later(request, name)
            };
            if !is_left {
                return Err(Failure::new(format!(
                    "the UI of tool '{name}' was not generated: {why}; too much is waiting to be done later"
                )));
            }
            Ok(format!(
                "The UI of tool '{name}' is being generated in the background ({why}). Until then, the one there is now is shown."
            ))
        }
        Err(why) => Err(Failure::new(format!(
            "the UI of tool '{name}' was not generated: {}. {}",
            why.to_string().trim_end_matches('.'),
            if faces::page_of(tool, settings).is_plain {
                "Its plain form is shown."
            } else {
                "The one before is still shown."
            }
        ))),
    }
}
