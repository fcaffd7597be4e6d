//! Questions to the user, to the client and to the client's model: forms, visits of pages, consent, sampling, roots
//! and others.

use crate::{
    bindings::portcullis::plugin::types::{
        Action, Answer, Ask as Asked, Consent as AskedConsent, Form as AskedForm,
        Visit as AskedVisit,
    },
    failure::Failure,
    request::Request,
    schema,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::marker::PhantomData;

pub use crate::bindings::portcullis::plugin::types::Root;

/// Maximum length of a subject that a host shows in a question, in characters; see `types.wit`.
const MAX_SUBJECT_CHARS: usize = 4000;

/// A question to the client (MCP's input request), or several questions in one round: a tuple of up to six
/// questions, or a `Vec`. Questions are passed to [`Request::ask`].
pub trait Question {
    /// The type of the answer.
    type Answer;

    /// The answer from an earlier round. `None`: there is no answer yet, and the question was added to
    /// `missing`.
    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<Self::Answer>, Failure>;
}

/// The content of an elicitation form: a flat struct of strings, numbers, booleans and choices.
pub trait FormFields: DeserializeOwned + JsonSchema {}

impl<T: DeserializeOwned + JsonSchema> FormFields for T {}

/// Asks the user to fill in a form, made from the fields of `T` and their doc comments.
///
/// If the user declines or dismisses the form, the call fails and the model reads the reason; see
/// [`Form::or_declined`].
pub fn form<T: FormFields>(key: impl Into<String>, message: impl Into<String>) -> Form<T> {
    Form { key: key.into(), message: message.into(), fields: PhantomData }
}

/// Asks the user to visit a page: to sign in, to agree to terms, to pay.
pub fn visit(key: impl Into<String>, message: impl Into<String>, url: impl Into<String>) -> Visit {
    Visit { key: key.into(), message: message.into(), url: url.into() }
}

/// Asks the user to agree to an action before the plugin performs it. The user reads
/// "PLUGIN wants to ACTION", such as "run a console command", and the subject below. `kind` is the
/// name under which the operator can agree in advance (`grants.client.agreed`). The host writes the
/// rest of the question.
///
/// If the user does not agree, or cannot be asked, the call fails and the model reads the reason.
pub fn consent(
    kind: impl Into<String>,
    action: impl Into<String>,
    subject: impl Into<String>,
) -> Consent {
    Consent(AskedConsent {
        kind: kind.into(),
        action: action.into(),
        subject: subject.into(),
        overwrites: None,
    })
}

/// Asks the client's model. `params` are those of `sampling/createMessage`; the answer is the
/// result of that request.
pub fn sample(key: impl Into<String>, params: Value) -> Sample {
    Sample { key: key.into(), params }
}

/// Asks the client for its roots.
pub fn roots(key: impl Into<String>) -> Roots {
    Roots { key: key.into() }
}

/// Sends the client a request of a kind that this SDK does not know. A host refuses methods that it does not know.
pub fn other(key: impl Into<String>, method: &str, params: Value) -> Other {
    Other { key: key.into(), request: json!({ "method": method, "params": params }) }
}

/// See [`form`].
#[derive(Clone, Debug)]
pub struct Form<T> {
    key: String,
    message: String,
    fields: PhantomData<fn() -> T>,
}

/// See [`visit`].
#[derive(Clone, Debug)]
pub struct Visit {
    key: String,
    message: String,
    url: String,
}

/// See [`consent`].
#[derive(Clone, Debug)]
pub struct Consent(AskedConsent);

impl Consent {
    /// Names the data that the action would delete or overwrite.
    pub fn overwriting(mut self, what: impl Into<String>) -> Self {
        self.0.overwrites = Some(what.into());
        self
    }

    /// The message for the model if the user did not agree, or could not be asked.
    fn refused(&self, client_has_forms: bool) -> String {
        let AskedConsent { kind, action, subject, .. } = &self.0;
        let is_too_long = subject.chars().count() > MAX_SUBJECT_CHARS;
        let subject: String = subject.chars().take(MAX_SUBJECT_CHARS).collect();
        let obstacle = if !client_has_forms {
            "this client does not support forms (MCP elicitation)"
        } else if is_too_long {
            "this text is longer than the 4,000 characters that a question may show"
        } else {
            return format!("nothing was done: the user did not agree to {action} ({subject})");
        };
        format!(
            "nothing was done: the user could not be asked to agree to {action} ({subject}): \
             {obstacle}; the operator can agree beforehand, with a pattern in `agreed.{kind}` in \
             this plugin's `grants.client` in portcullis.toml"
        )
    }

    /// The key of the question. Each pair of kind and subject has its own key, so that consent to one pair does not
    /// cover another.
    pub(crate) fn key(&self) -> String {
        format!("consent {} {}", self.0.kind, self.0.subject)
    }
}

/// See [`sample`].
#[derive(Clone, Debug)]
pub struct Sample {
    key: String,
    params: Value,
}

/// See [`roots`].
#[derive(Clone, Debug)]
pub struct Roots {
    key: String,
}

/// See [`other`].
#[derive(Clone, Debug)]
pub struct Other {
    key: String,
    request: Value,
}

impl<T> Form<T> {
    /// Makes the answer a [`FormOutcome`]: if the user declines or dismisses the form, the call does not fail.
    pub fn or_declined(self) -> FormOrDeclined<T> {
        FormOrDeclined(self)
    }
}

/// See [`Form::or_declined`].
#[derive(Clone, Debug)]
pub struct FormOrDeclined<T>(Form<T>);

/// The outcome of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormOutcome<T> {
    /// The user filled in the form.
    Accepted(T),
    /// The user refused.
    Declined,
    /// The user dismissed the form without an answer.
    Cancelled,
}

impl<T> FormOutcome<T> {
    /// The content of the form, if the user filled it in.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(form) => Some(form),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// Parses the answer from an earlier round with `take`, which returns `None` for an answer to another kind of
/// question. Without an answer, adds the question to `missing` and returns `None`.
fn answer_or_queue<T>(
    request: &Request<'_>,
    missing: &mut Vec<(String, Asked)>,
    key: &str,
    ask: impl FnOnce() -> Asked,
    take: impl FnOnce(Answer) -> Option<Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    match request.answer_to(key) {
        None => {
            missing.push((key.to_owned(), ask()));
            Ok(None)
        }
        Some(answer) => take(answer).unwrap_or_else(|| Err(wrong_kind(key))).map(Some),
    }
}

impl<T: FormFields> Question for FormOrDeclined<T> {
    type Answer = FormOutcome<T>;

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<FormOutcome<T>>, Failure> {
        let Form { key, message, .. } = self.0;
        let ask = || Asked::Form(AskedForm { message, schema: schema::of_form::<T>().to_string() });
        answer_or_queue(request, missing, &key, ask, |answer| {
            let Answer::Form(form) = answer else { return None };
            Some(match form.action {
                Action::Accept => read(&key, form.content.as_deref()).map(FormOutcome::Accepted),
                Action::Decline => Ok(FormOutcome::Declined),
                Action::Cancel => Ok(FormOutcome::Cancelled),
            })
        })
    }
}

impl<T: FormFields> Question for Form<T> {
    type Answer = T;

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<T>, Failure> {
        let key = self.key.clone();
        match self.or_declined().answer(request, missing)? {
            None => Ok(None),
            Some(FormOutcome::Accepted(form)) => Ok(Some(form)),
            Some(FormOutcome::Declined) => Err(refused(&key, "declined")),
            Some(FormOutcome::Cancelled) => Err(refused(&key, "cancelled")),
        }
    }
}

impl Question for Visit {
    /// The answer states that the user agreed to visit the page, not that the user finished there.
    type Answer = ();

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<()>, Failure> {
        let Self { key, message, url } = self;
        let ask = || Asked::Visit(AskedVisit { message, url });
        answer_or_queue(request, missing, &key, ask, |answer| {
            let Answer::Visit(action) = answer else { return None };
            Some(match action {
                Action::Accept => Ok(()),
                Action::Decline => Err(refused(&key, "declined")),
                Action::Cancel => Err(refused(&key, "cancelled")),
            })
        })
    }
}

impl Question for Consent {
    type Answer = ();

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<()>, Failure> {
        let key = self.key();
        let refused = self.refused(request.supports("elicitation.form"));
        answer_or_queue(
            request,
            missing,
            &key,
            || Asked::Consent(self.0),
            |answer| {
                let Answer::Consent(action) = answer else { return None };
                Some(match action {
                    Action::Accept => Ok(()),
                    Action::Decline | Action::Cancel => Err(Failure::new(refused)),
                })
            },
        )
    }
}

impl Question for Sample {
    type Answer = Value;

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<Value>, Failure> {
        let Self { key, params } = self;
        let ask = || Asked::Sample(params.to_string());
        answer_or_queue(request, missing, &key, ask, |answer| {
            let Answer::Sample(json) = answer else { return None };
            Some(read(&key, Some(&json)))
        })
    }
}

impl Question for Roots {
    type Answer = Vec<Root>;

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<Vec<Root>>, Failure> {
        answer_or_queue(
            request,
            missing,
            &self.key,
            || Asked::Roots,
            |answer| {
                let Answer::Roots(roots) = answer else { return None };
                Some(Ok(roots))
            },
        )
    }
}

impl Question for Other {
    type Answer = Value;

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<Value>, Failure> {
        let Self { key, request: asked } = self;
        let ask = || Asked::Other(asked.to_string());
        answer_or_queue(request, missing, &key, ask, |answer| {
            let Answer::Other(json) = answer else { return None };
            Some(read(&key, Some(&json)))
        })
    }
}

impl<A: Question> Question for Vec<A> {
    type Answer = Vec<A::Answer>;

    fn answer(
        self,
        request: &Request<'_>,
        missing: &mut Vec<(String, Asked)>,
    ) -> Result<Option<Self::Answer>, Failure> {
        let mut answers = Vec::new();
        for question in self {
            answers.push(question.answer(request, missing)?);
        }
        Ok(answers.into_iter().collect())
    }
}

macro_rules! question_tuple {
    ($($question:ident)+) => {
        impl<$($question: Question),+> Question for ($($question,)+) {
            type Answer = ($($question::Answer,)+);

            fn answer(
                self,
                request: &Request<'_>,
                missing: &mut Vec<(String, Asked)>,
            ) -> Result<Option<Self::Answer>, Failure> {
                #[expect(non_snake_case, reason = "each question keeps the name of its type")]
                let ($($question,)+) = self;
                // Every question is evaluated first, so that all missing answers are asked for in
                // one round.
                let answers = ($($question.answer(request, missing)?,)+);
                #[expect(non_snake_case, reason = "each answer keeps the name of its question")]
                let ($(Some($question),)+) = answers else { return Ok(None) };
                Ok(Some(($($question,)+)))
            }
        }
    };
}

question_tuple!(A B);
question_tuple!(A B C);
question_tuple!(A B C D);
question_tuple!(A B C D E);
question_tuple!(A B C D E F);

fn read<T: DeserializeOwned>(key: &str, json: Option<&str>) -> Result<T, Failure> {
    serde_json::from_str(json.unwrap_or("{}")).map_err(|error| {
        Failure::new(format!(
            "the answer to `{key}` does not match the schema of the form: {error}"
        ))
    })
}

fn refused(key: &str, how: &str) -> Failure {
    Failure::new(format!("the user {how} the question `{key}`"))
}

fn wrong_kind(key: &str) -> Failure {
    Failure::new(format!("the key `{key}` is used for questions of two kinds"))
}

#[cfg(test)]
mod tests;
