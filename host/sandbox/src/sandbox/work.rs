//! What a plugin is asked for, and what it answers.

use crate::bindings::types::Need;
use crate::bindings::{
    Completion, Dressing, Page, PromptOutcome, PromptResult, ReadOutcome, ReadResult, Subject,
    ToolOutcome, ToolResult,
};
use crate::capabilities::actions::PermittedTool;

/// What is asked of a plugin. `T` is a tool call: what the client asks for, or a call whose actions are permitted.
#[derive(Debug, Clone)]
pub enum Work<T = PermittedTool> {
    /// To call a tool.
    Tool(T),
    /// A page of the resources that its manifest does not name, after this cursor.
    Resources(Option<String>),
    /// A resource, by its URI.
    Resource(String),
    /// The tag that changes with a resource.
    Version(String),
    /// A prompt.
    Prompt {
        /// Which.
        name: String,
        /// Its arguments, checked.
        arguments: Vec<(String, String)>,
    },
    /// What an argument may be.
    Completion {
        /// Of what.
        subject: Subject,
        /// Which argument.
        argument: String,
        /// What has been typed of it.
        value: String,
        /// The arguments before it.
        context: Vec<(String, String)>,
    },
    /// Which tools have which views.
    Views,
    /// What it put off.
    Job(Vec<u8>),
}

impl<T> Work<T> {
    /// The same work, with another description of a tool call.
    ///
    /// # Errors
    ///
    /// Those of `map`.
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

/// What a plugin answers. `Q` are questions to the client: those of the plugin, or permitted ones.
#[derive(Debug)]
pub enum Answer<Q = Need> {
    /// The tool ran; its result may say that it failed.
    Tool(ToolResult),
    /// A page of resources.
    Resources(Page),
    /// A resource.
    Resource(ReadResult),
    /// The tag of a resource.
    Version(Option<String>),
    /// A prompt.
    Prompt(PromptResult),
    /// Values that an argument may have.
    Completion(Completion),
    /// Which tools have which views.
    Views(Vec<Dressing>),
    /// The job is done.
    Job,
    /// The plugin has questions to the client.
    NeedInput(Q),
    /// The rest takes long, and is to be done with this state.
    Background(Option<Vec<u8>>),
}

impl<Q> Answer<Q> {
    /// The same answer, with another description of the questions.
    ///
    /// # Errors
    ///
    /// Those of `map`.
    pub fn try_map_questions<R, E>(
        self,
        map: impl FnOnce(Q) -> Result<R, E>,
    ) -> Result<Answer<R>, E> {
        Ok(match self {
            Self::Tool(result) => Answer::Tool(result),
            Self::Resources(page) => Answer::Resources(page),
            Self::Resource(result) => Answer::Resource(result),
            Self::Version(version) => Answer::Version(version),
            Self::Prompt(result) => Answer::Prompt(result),
            Self::Completion(found) => Answer::Completion(found),
            Self::Views(views) => Answer::Views(views),
            Self::Job => Answer::Job,
            Self::NeedInput(questions) => Answer::NeedInput(map(questions)?),
            Self::Background(state) => Answer::Background(state),
        })
    }
}

impl From<ToolOutcome> for Answer {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Done(result) => Self::Tool(result),
            ToolOutcome::NeedInput(need) => Self::NeedInput(need),
            ToolOutcome::Background(state) => Self::Background(state),
        }
    }
}

impl From<ReadOutcome> for Answer {
    fn from(outcome: ReadOutcome) -> Self {
        match outcome {
            ReadOutcome::Done(result) => Self::Resource(result),
            ReadOutcome::NeedInput(need) => Self::NeedInput(need),
        }
    }
}

impl From<PromptOutcome> for Answer {
    fn from(outcome: PromptOutcome) -> Self {
        match outcome {
            PromptOutcome::Done(result) => Self::Prompt(result),
            PromptOutcome::NeedInput(need) => Self::NeedInput(need),
        }
    }
}
