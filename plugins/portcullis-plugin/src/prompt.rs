//! Prompts: messages with which a user may start a conversation.

use crate::{
    bindings::{
        exports::portcullis::plugin::manifest::{Prompt as Described, PromptArgument},
        prompts::{Message, PromptResult},
    },
    content::{Content, ContentBody, Icon, Role},
    failure::Failure,
    reply::text_of,
    request::Request,
    schema,
    tool::Arguments,
};
use serde_json::Value;

/// A prompt. Implement this trait for the [`arguments`](crate::arguments) of the prompt. A field is required unless it
/// is an `Option` or has a default. The values are the strings that the user typed.
///
/// ```
/// # use portcullis_plugin::prelude::*;
/// /// Reviews a file.
/// #[arguments]
/// struct Review {
///     /// Which file.
///     path: String,
/// }
///
/// impl Prompt for Review {
///     const NAME: &'static str = "review";
///
///     fn get(self, _request: &Request) -> Result<Messages, Failure> {
///         Ok(Messages::new().user(format!("Review {} for faults.", self.path)))
///     }
/// }
/// ```
pub trait Prompt: Arguments {
    /// The name clients use.
    const NAME: &'static str;
    /// The name people see.
    const TITLE: Option<&'static str> = None;

    /// The messages of the prompt.
    fn get(self, request: &Request<'_>) -> Result<Messages, Failure>;

    /// Values for an argument, the best first. `context` has the names and values of the arguments that are already
    /// filled in.
    fn complete(
        _request: &Request<'_>,
        _argument: &str,
        _value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        Vec::new()
    }

    /// Icons for clients that show them.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }
}

/// The messages of a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    description: Option<String>,
    messages: Vec<(Role, Content)>,
}

impl Messages {
    /// No messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a description of these messages, for prompts whose description depends on the arguments.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Adds a message of the user.
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, ContentBody::Text(text.into()))
    }

    /// Adds a message of the model.
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Role::Assistant, ContentBody::Text(text.into()))
    }

    /// Adds a message with any content.
    pub fn message(mut self, role: Role, body: ContentBody) -> Self {
        self.messages.push((role, Content { body, annotations: None, extra: None }));
        self
    }

    /// The texts of all messages, joined by line breaks; useful in tests.
    pub fn as_text(&self) -> String {
        text_of(self.messages.iter().map(|(_, content)| content))
    }
}

impl From<Messages> for PromptResult {
    fn from(Messages { description, messages }: Messages) -> Self {
        let message = |(role, content)| Message { role, content };
        Self { description, messages: messages.into_iter().map(message).collect() }
    }
}

/// Describes a prompt to the client.
pub fn describe<P: Prompt>() -> Described {
    let mut input = schema::of_input::<P>();
    let description = schema::take_description(&mut input);
    let required = input["required"].as_array().cloned().unwrap_or_default();
    let properties = input["properties"].as_object().cloned().unwrap_or_default();
    let argument = |(name, schema): (String, Value)| PromptArgument {
        title: schema["title"].as_str().map(str::to_owned),
        description: schema["description"].as_str().map(str::to_owned),
        required: required.iter().any(|one| one == name.as_str()),
        name,
    };
    Described {
        name: P::NAME.to_owned(),
        title: P::TITLE.map(str::to_owned),
        description,
        arguments: properties.into_iter().map(argument).collect(),
        icons: P::icons(),
        extra: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// Reviews a file.
    #[arguments]
    struct Review {
        /// Which file.
        path: String,
        how_deep: Option<String>,
    }

    impl Prompt for Review {
        const NAME: &'static str = "review";

        fn get(self, _request: &Request) -> Result<Messages, Failure> {
            let depth = self.how_deep.unwrap_or_else(|| "usual".to_owned());
            Ok(Messages::new().user(format!("{} {depth}", self.path)).assistant("Yes."))
        }
    }

    #[test]
    fn a_prompt_is_described_by_its_type() {
        let prompt = describe::<Review>();
        assert_eq!(prompt.description.as_deref(), Some("Reviews a file."));
        let arguments: Vec<_> = prompt
            .arguments
            .iter()
            .map(|one| (one.name.as_str(), one.required, one.description.as_deref()))
            .collect();
        assert_eq!(arguments, [("path", true, Some("Which file.")), ("howDeep", false, None)]);
    }

    #[test]
    fn messages_keep_their_order() {
        let messages = Review { path: "a".to_owned(), how_deep: None }
            .get(&crate::rehearsal::Rehearsal::new().request())
            .expect("it answers");
        assert_eq!(messages.as_text(), "a usual\nYes.");
        let result = PromptResult::from(messages);
        assert_eq!(result.messages[1].role, Role::Assistant);
    }
}
