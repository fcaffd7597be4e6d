//! Dispatch of the host's calls to the plugin's tools, prompts, resources, completions, views and jobs.

use crate::{
    bindings::{
        completions::{Completion, Guest as Completes, Subject},
        jobs::Guest as HasJobs,
        portcullis::plugin::{
            request::Request as HostRequest,
            types::{Error, Need},
        },
        prompts::{Guest as HasPrompts, PromptOutcome},
        resources::{Guest as HasResources, Page, ReadOutcome},
        tools::{Guest as HasTools, ToolOutcome},
        views::{Guest as HasViews, ToolView},
    },
    failure::{Failure, INVALID_PARAMS},
    job::Jobs,
    manifest::Plugin,
    prompt::Prompt,
    reply::{IntoReply, Reply},
    request::Request,
    resource::Resources,
    tool::{Arguments, Tool},
    view::Views,
};
use serde_json::{Map, Value};

impl<P: Plugin> HasTools for P {
    fn call(request: &HostRequest, name: String, arguments: String) -> Result<ToolOutcome, Error> {
        find_and_call::<P>(&Request::from_host(request), &name, &arguments)
    }
}

impl<P: Plugin> HasResources for P {
    fn list_resources(request: &HostRequest, cursor: Option<String>) -> Result<Page, Error> {
        let request = Request::from_host(request);
        P::Resources::list(&request, cursor.as_deref())
            .map(Into::into)
            .map_err(error_without_questions)
    }

    fn read(request: &HostRequest, uri: String) -> Result<ReadOutcome, Error> {
        let request = Request::from_host(request);
        match P::Resources::read(&request, &uri) {
            Ok(contents) => Ok(ReadOutcome::Done(contents.into())),
            Err(failure) => asked(&request, failure).map(ReadOutcome::NeedInput),
        }
    }

    fn version(request: &HostRequest, uri: String) -> Result<Option<String>, Error> {
        P::Resources::version(&Request::from_host(request), &uri).map_err(error_without_questions)
    }
}

impl<P: Plugin> HasPrompts for P {
    fn get(
        request: &HostRequest,
        name: String,
        arguments: Vec<(String, String)>,
    ) -> Result<PromptOutcome, Error> {
        match P::PROMPTS.iter().find(|prompt| prompt.name == name) {
            Some(prompt) => (prompt.get)(&Request::from_host(request), arguments),
            None => Err(invalid(format!("there is no prompt `{name}`"))),
        }
    }
}

impl<P: Plugin> Completes for P {
    fn complete(
        request: &HostRequest,
        subject: Subject,
        argument: String,
        value: String,
        context: Vec<(String, String)>,
    ) -> Result<Completion, Error> {
        let request = Request::from_host(request);
        let values = match &subject {
            Subject::Prompt(name) => {
                let prompt = P::PROMPTS.iter().find(|prompt| prompt.name == name);
                let prompt = prompt.ok_or_else(|| invalid(format!("no prompt `{name}`")))?;
                (prompt.complete)(&request, &argument, &value, &context)
            }
            Subject::Template(uri) => {
                P::Resources::complete(&request, uri, &argument, &value, &context)
            }
        };
        let total = u32::try_from(values.len()).ok();
        Ok(Completion { values, total, has_more: false })
    }
}

impl<P: Plugin> HasViews for P {
    fn assign(request: &HostRequest) -> Result<Vec<ToolView>, Error> {
        P::Views::assign(&Request::from_host(request)).map_err(error_without_questions)
    }
}

impl<P: Plugin> HasJobs for P {
    fn run(request: &HostRequest, job: Vec<u8>) -> Result<(), Error> {
        P::Jobs::run(&Request::from_host(request), &job).map_err(error_without_questions)
    }
}

/// The JSON-RPC error of a failure, for calls in which the contract allows no questions.
fn error_without_questions(failure: Failure) -> Error {
    failure
        .into_error()
        .unwrap_or_else(|_| invalid("this request cannot ask the client a question".to_owned()))
}

/// The questions of a failure, with the state for the next round. For a failure without questions, returns its JSON-RPC
/// error.
fn asked(request: &Request<'_>, failure: Failure) -> Result<Need, Error> {
    match failure.into_error() {
        Err(asks) => Ok(Need { asks, state: request.state() }),
        Ok(error) => Err(error),
    }
}

/// Gets this prompt and converts the result to the types of the contract.
pub fn get<P: Prompt>(
    request: &Request<'_>,
    arguments: Vec<(String, String)>,
) -> Result<PromptOutcome, Error> {
    let named = arguments.into_iter().map(|(name, value)| (name, Value::String(value)));
    let arguments = Value::Object(named.collect::<Map<_, _>>()).to_string();
    match prompt::<P>(&arguments).and_then(|prompt| prompt.get(request)) {
        Ok(messages) => Ok(PromptOutcome::Done(messages.into())),
        Err(failure) => asked(request, failure).map(PromptOutcome::NeedInput),
    }
}

/// Parses the arguments of the prompt.
pub fn prompt<P: Prompt>(arguments: &str) -> Result<P, Failure> {
    read(arguments).map_err(Failure::Protocol)
}

/// Calls the tool with that name.
pub fn find_and_call<P: Plugin>(
    request: &Request<'_>,
    name: &str,
    arguments: &str,
) -> Result<ToolOutcome, Error> {
    match P::TOOLS.iter().find(|tool| tool.name == name) {
        Some(tool) => (tool.call)(request, arguments),
        None => Err(invalid(format!("there is no tool `{name}`"))),
    }
}

/// Calls this tool and converts the result to the types of the contract.
pub fn call<T: Tool>(request: &Request<'_>, arguments: &str) -> Result<ToolOutcome, Error> {
    match run::<T>(request, arguments) {
        Ok(reply) => Ok(ToolOutcome::Done(reply.into())),
        Err(Failure::Told(reply)) => Ok(ToolOutcome::Done((*reply).into())),
        Err(Failure::Background) => Ok(ToolOutcome::Background(request.state())),
        Err(failure @ (Failure::NeedInput(_) | Failure::Protocol(_))) => {
            asked(request, failure).map(ToolOutcome::NeedInput)
        }
    }
}

/// Calls this tool.
pub fn run<T: Tool>(request: &Request<'_>, arguments: &str) -> Result<Reply, Failure> {
    let tool: T = read(arguments).map_err(Failure::Protocol)?;
    tool.call(request)?.into_reply()
}

/// Parses the arguments. If serde reports a position within the value of an argument, the error names this argument.
fn read<T: Arguments>(arguments: &str) -> Result<T, Error> {
    serde_json::from_str(arguments).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message);
        invalid(match argument_at(arguments, error.line(), error.column()) {
            Some(argument) => format!("argument `{argument}`: {message}"),
            None => message.to_owned(),
        })
    })
}

fn invalid(message: String) -> Error {
    Error { code: INVALID_PARAMS, message, data: None }
}

/// The name of the argument whose value is at that line and column.
fn argument_at(json: &str, line: usize, column: usize) -> Option<String> {
    let before: usize = json.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let mut scan = Scan::default();
    for (index, byte) in json.bytes().enumerate().take(before + column) {
        scan.step(index, byte);
    }
    let (start, end) = scan.key?;
    serde_json::from_str(json.get(start..end)?).ok()
}

/// Scans the text of a JSON object, and tracks the top-level key of the current value.
#[derive(Default)]
struct Scan {
    depth: usize,
    /// The start of the current string.
    string_start: Option<usize>,
    is_escaped: bool,
    /// The range of the last complete string.
    last_string: Option<(usize, usize)>,
    /// The range of the top-level key of the current value.
    key: Option<(usize, usize)>,
}

impl Scan {
    fn step(&mut self, index: usize, byte: u8) {
        if let Some(start) = self.string_start {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.string_start = None;
                    self.last_string = Some((start, index + 1));
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.string_start = Some(index),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.key = None;
                }
            }
            b':' if self.depth == 1 => self.key = self.last_string,
            b',' if self.depth == 1 => self.key = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bindings::portcullis::plugin::types::ContentBody,
        manifest::{About, Entry, PromptEntry},
        prelude::*,
        rehearsal::Rehearsal,
    };

    #[data]
    struct Person {
        name: String,
    }

    /// Does what it is told.
    #[arguments]
    struct Do {
        what: What,
        #[serde(default)]
        how_often: u32,
    }

    #[data]
    #[derive(PartialEq)]
    enum What {
        Answer,
        Ask,
        Fail,
        Refuse,
    }

    impl Tool for Do {
        const NAME: &'static str = "do";
        type Output = Json<Person>;

        fn call(self, request: &Request) -> Result<Json<Person>, Failure> {
            match self.what {
                What::Answer => Ok(Json(Person { name: format!("{}", self.how_often) })),
                What::Ask => {
                    request.set_state("half done");
                    Ok(Json(request.ask(form("who", "Who is it?"))?))
                }
                What::Fail => Err(Failure::new("it broke")),
                What::Refuse => Err(Failure::invalid_arguments("not like this")),
            }
        }
    }

    struct Example;

    impl Plugin for Example {
        const TOOLS: &'static [Entry] = &[Entry::of::<Do>()];
        const PROMPTS: &'static [PromptEntry] = &[];
        type Resources = ();
        type Views = ();
        type Jobs = ();

        fn about() -> About {
            unreachable!("no test reads the manifest")
        }
    }

    fn call(name: &str, arguments: &str) -> Result<ToolOutcome, Error> {
        find_and_call::<Example>(&Rehearsal::new().request(), name, arguments)
    }

    fn complaint(arguments: &str) -> String {
        let error = call("do", arguments).expect_err("they are wrong");
        assert_eq!(error.code, INVALID_PARAMS);
        error.message
    }

    #[test]
    fn an_answer_is_text_and_structure() {
        let outcome = call("do", r#"{"what":"answer","howOften":3}"#).expect("it answers");
        let ToolOutcome::Done(result) = outcome else { panic!("it is done") };
        assert_eq!(result.structured.as_deref(), Some(r#"{"name":"3"}"#));
        assert_eq!(result.content[0].body, ContentBody::Text(r#"{"name":"3"}"#.to_owned()));
        assert!(!result.is_error);
    }

    #[test]
    fn a_question_ends_the_round_with_its_state() {
        let outcome = call("do", r#"{"what":"ask"}"#).expect("it asks");
        let ToolOutcome::NeedInput(need) = outcome else { panic!("it asks") };
        assert_eq!(need.asks[0].0, "who");
        assert_eq!(need.state.as_deref(), Some(b"half done".as_slice()));
    }

    #[test]
    fn failures_are_results_and_faults_are_json_rpc_errors() {
        let told = call("do", r#"{"what":"fail"}"#).expect("the model is told");
        let ToolOutcome::Done(result) = told else { panic!("it is done") };
        assert!(result.is_error);
        assert_eq!(result.content[0].body, ContentBody::Text("it broke".to_owned()));
        let fault = call("do", r#"{"what":"refuse"}"#).expect_err("it is a fault");
        assert_eq!(fault.message, "not like this");
        let unknown = call("undo", "{}").expect_err("there is none");
        assert_eq!(
            (unknown.code, unknown.message.as_str()),
            (INVALID_PARAMS, "there is no tool `undo`")
        );
    }

    #[test]
    fn a_wrong_argument_is_named() {
        let table = [
            (r#"{"what":"answer","howOften":"x"}"#, "argument `howOften`: invalid type: string"),
            (
                r#"{"howOften":-1,"what":"answer"}"#,
                "argument `howOften`: invalid value: integer `-1`",
            ),
            ("{\n  \"what\": \"a:,{\\\"b\"\n}", "argument `what`: unknown variant"),
            (r#"{"what":{"x":[1,2]}}"#, "argument `what`: "),
            (r#"{"what":"answer","loud":true}"#, "unknown field `loud`"),
            ("{}", "missing field `what`"),
            ("[", ""),
        ];
        for (arguments, expected) in table {
            let message = complaint(arguments);
            assert!(message.starts_with(expected), "{arguments}: {message}");
            assert!(!message.contains("line"), "{message}");
        }
    }
}
