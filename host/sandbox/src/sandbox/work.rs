//! The work that a plugin can do, and its answers.

use crate::bindings::types::Need;
use crate::bindings::{
    Completion, Page, PromptOutcome, PromptResult, ReadOutcome, ReadResult, Subject, ToolOutcome,
    ToolResult, ToolView,
};
use crate::capabilities::actions::PermittedTool;

/// The work of a plugin. `T` is the type of a tool call: as the client requested the call, or with permitted
/// actions.
#[derive(Debug, Clone)]
pub enum Work<T = PermittedTool> {
    /// A tool call.
    Tool(T),
    /// A page of the resources that are not in the manifest, after this cursor.
    Resources(Option<String>),
    /// A resource, by its URI.
    Resource(String),
    /// The version of the resource with this URI.
    Version(String),
    /// A prompt.
    Prompt {
        /// The name.
        name: String,
        /// The arguments, which have been checked.
        arguments: Vec<(String, String)>,
    },
    /// Possible values of an argument.
    Completion {
        /// The prompt or the template.
        subject: Subject,
        /// The name of the argument.
        argument: String,
        /// The beginning of the value.
        value: String,
        /// The values of other arguments.
        context: Vec<(String, String)>,
    },
    /// The views of tools.
    Views,
    /// A deferred job, with the plugin's data.
    Job(Vec<u8>),
}

impl<T> Work<T> {
    /// Converts the tool call, if the work is one.
    ///
    /// # Errors
    ///
    /// An error that `map` returns.
    pub fn try_map_tool<U, E>(self, map: impl FnOnce(T) -> Result<U, E>) -> Result<Work<U>, E> {
        Ok(match self {
            Self::Tool(call) => Work::Tool(map(call)?),
            Self::Resources(cursor) => Work::Resources(cursor),
            Self::Resource(uri) => Work::Resource(uri),
            Self::Version(uri) => Work::Version(uri),
            Self::Prompt { name, arguments } => Work::Prompt { name, arguments },
            Self::Completion { subject, argument, value, context } => {
                Work::Completion { subject, argument, value, context }
            }
            Self::Views => Work::Views,
            Self::Job(job) => Work::Job(job),
        })
    }
}

/// The answer of a plugin. `Q` is the type of its questions to the client: as the plugin asks them, or permitted.
#[derive(Debug)]
pub enum GuestAnswer<Q = Need> {
    /// The result of a tool, which may have `isError`.
    Tool(ToolResult),
    /// A page of resources.
    Resources(Page),
    /// A resource.
    Resource(ReadResult),
    /// The version of a resource. `None`: the plugin has no versions of this resource.
    Version(Option<String>),
    /// A prompt.
    Prompt(PromptResult),
    /// Possible values of an argument.
    Completion(Completion),
    /// The views of tools.
    Views(Vec<ToolView>),
    /// The job is done.
    Job,
    /// The plugin has questions to the client.
    NeedInput(Q),
    /// The plugin defers the rest of its work, which takes a long time. The work continues with this state.
    Background(Option<Vec<u8>>),
}

impl<Q> GuestAnswer<Q> {
    /// Converts the questions, if the answer has any.
    ///
    /// # Errors
    ///
    /// An error that `map` returns.
    pub fn try_map_questions<R, E>(
        self,
        map: impl FnOnce(Q) -> Result<R, E>,
    ) -> Result<GuestAnswer<R>, E> {
        Ok(match self {
            Self::Tool(result) => GuestAnswer::Tool(result),
            Self::Resources(page) => GuestAnswer::Resources(page),
            Self::Resource(result) => GuestAnswer::Resource(result),
            Self::Version(version) => GuestAnswer::Version(version),
            Self::Prompt(result) => GuestAnswer::Prompt(result),
            Self::Completion(found) => GuestAnswer::Completion(found),
            Self::Views(views) => GuestAnswer::Views(views),
            Self::Job => GuestAnswer::Job,
            Self::NeedInput(questions) => GuestAnswer::NeedInput(map(questions)?),
            Self::Background(state) => GuestAnswer::Background(state),
        })
    }
}

impl From<ToolOutcome> for GuestAnswer {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Done(result) => Self::Tool(result),
            ToolOutcome::NeedInput(need) => Self::NeedInput(need),
            ToolOutcome::Background(state) => Self::Background(state),
        }
    }
}

impl From<ReadOutcome> for GuestAnswer {
    fn from(outcome: ReadOutcome) -> Self {
        match outcome {
            ReadOutcome::Done(result) => Self::Resource(result),
            ReadOutcome::NeedInput(need) => Self::NeedInput(need),
        }
    }
}

impl From<PromptOutcome> for GuestAnswer {
    fn from(outcome: PromptOutcome) -> Self {
        match outcome {
            PromptOutcome::Done(result) => Self::Prompt(result),
            PromptOutcome::NeedInput(need) => Self::NeedInput(need),
        }
    }
}
