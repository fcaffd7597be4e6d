//! The detail of an answer: a short first answer, or everything.

use portcullis_plugin::{schemars, serde, settings};

/// The setting with the detail of answers, for calls that do not name the detail.
pub const SETTING: &str = "detail";

/// Maximum bytes of a brief answer, text and structured content together: below 2,000 tokens.
pub const BRIEF: usize = 7_500;

/// How detailed an answer is.
// With doc comments, the schema of the variants would be a list of lengthy alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(crate = "portcullis_plugin::serde", rename_all = "lowercase")]
#[schemars(crate = "portcullis_plugin::schemars", inline)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Detail {
    Brief,
    Full,
}

impl Detail {
    /// The detail that a call asks for; otherwise the operator's [`SETTING`]; otherwise brief. Fails
    /// with the reason if the setting is neither `brief` nor `full`.
    pub fn of(asked: Option<Self>) -> Result<Self, String> {
        if let Some(detail) = asked {
            return Ok(detail);
        }
        match settings::get(SETTING).as_deref().map(str::trim) {
            None | Some("" | "brief") => Ok(Self::Brief),
            Some("full") => Ok(Self::Full),
            Some(other) => Err(format!(
                "The operator has to set the setting `{SETTING}` of this plugin to `brief` or \
                 `full`, not to `{other}`"
            )),
        }
    }
}
