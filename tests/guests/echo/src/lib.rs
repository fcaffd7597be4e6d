//! A well-behaved test plugin, for comparison with the others.

use std::sync::atomic::{AtomicU32, Ordering};

use portcullis_plugin::asked;
use portcullis_plugin::content::{Annotations, Content, ContentBody, Role};
use portcullis_plugin::prelude::*;

/// Answers with the text it is given.
#[arguments]
struct Echo {
    /// What to say.
    text: String,
}

impl Tool for Echo {
    const NAME: &'static str = "echo";
    const TITLE: Option<&'static str> = Some("Echo");
    const HINTS: Hints = Hints::new().read_only(true).open_world(false);
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(self.text)
    }
}

/// Answers with a text of that many bytes.
#[arguments]
struct Fill {
    /// How many bytes.
    #[schemars(range(max = 100_000_000))]
    bytes: usize,
}

impl Tool for Fill {
    const NAME: &'static str = "fill";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok("x".repeat(self.bytes))
    }
}

/// Reports progress and logs while it works.
#[arguments]
struct Report {}

impl Tool for Report {
    const NAME: &'static str = "report";
    type Output = &'static str;

    fn call(self, request: &Request) -> Result<&'static str, Failure> {
        request.progress(1.0, 2.0, "half of it");
        request.log(Level::Debug, "a detail");
        request.log(Level::Info, json!({ "step": 1 }));
        request.log(Level::Error, "something went wrong");
        // JSON has no NaN: the host leaves the value out.
        request.progress(f64::NAN, None, "");
        request.progress(2.0, 2.0, "all of it");
        Ok("done")
    }
}

/// A sum, for programs.
#[data]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
#[arguments]
struct Add {
    /// The first.
    #[schemars(range(min = -1000, max = 1000))]
    a: i64,
    /// The second.
    #[serde(default)]
    b: i64,
}

impl Tool for Add {
    const NAME: &'static str = "add";
    type Output = Json<Sum>;

    fn call(self, _request: &Request) -> Result<Json<Sum>, Failure> {
        Ok(Json(Sum { sum: self.a + self.b }))
    }
}

#[data]
enum Way {
    Told,
    Protocol,
}

/// Fails, one way or the other.
#[arguments]
struct Fail {
    way: Way,
}

impl Tool for Fail {
    const NAME: &'static str = "fail";
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        match self.way {
            Way::Told => Err(Failure::new("it cannot be done")),
            Way::Protocol => Err(Failure::invalid_arguments("these do not go together")),
        }
    }
}

/// Counts its calls in memory: always the first, as nothing is left of the call before.
#[arguments]
struct Count {}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Tool for Count {
    const NAME: &'static str = "count";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok((COUNT.fetch_add(1, Ordering::Relaxed) + 1).to_string())
    }
}

#[data]
struct Person {
    /// Given name and surname.
    name: String,
}

#[data]
struct Taste {
    /// Of the rainbow.
    colour: String,
}

/// Asks for a name, and then, in a second round, for a colour.
#[arguments]
struct Meet {}

impl Tool for Meet {
    const NAME: &'static str = "meet";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let before = request.state().unwrap_or_default();
        request.set_state([before.as_slice(), b"+"].concat());
        let Person { name } = request.ask(form("who", "Who are you?"))?;
        let Taste { colour } = request.ask(form("taste", "Which colour do you like?"))?;
        // The state of both rounds: one more `+` than there were questions.
        let rounds = request.state().map_or(0, |state| state.len());
        Ok(format!("{name} likes {colour}, said in round {rounds}"))
    }
}

/// Something to ask the client that is no form.
#[data]
enum Question {
    Visit,
    Sample,
    Roots,
    Other,
    Nothing,
    MuchState,
}

/// Asks the client something.
#[arguments]
struct Ask {
    what: Question,
}

impl Tool for Ask {
    const NAME: &'static str = "ask";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        match self.what {
            Question::Visit => {
                request.ask(visit("page", "Please sign in.", "https://a.example/login"))?;
                Ok("they agreed to visit".to_owned())
            }
            Question::Sample => {
                let params = json!({
                    "messages": [{"role": "user", "content": {"type": "text", "text": "Say hi."}}],
                    "maxTokens": 10,
                });
                Ok(request.ask(sample("model", params))?["content"]["text"].to_string())
            }
            Question::Roots => {
                let roots = request.ask(roots("roots"))?;
                Ok(format!("{} roots", roots.len()))
            }
            Question::Other => Ok(request
                .ask(portcullis_plugin::other("else", "ping/pong", json!({})))?
                .to_string()),
            Question::Nothing => Err(Failure::NeedInput(Vec::new())),
            Question::MuchState => {
                request.set_state(vec![0; 33 * 1024]);
                let visit = asked::Visit { message: "?".into(), url: "https://a.example".into() };
                Err(Failure::NeedInput(vec![("page".into(), asked::Ask::Visit(visit))]))
            }
        }
    }
}

/// Says what it can learn of the request.
#[arguments]
struct Who {}

impl Tool for Who {
    const NAME: &'static str = "who";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let features = ["elicitation.form", "elicitation.url", "sampling", "roots"]
            .into_iter()
            .filter(|feature| request.supports(feature))
            .collect::<Vec<_>>();
        let remaining = request.remaining().map_or("for ever", |_| "limited");
        Ok(format!(
            "principal {:?}, meta {}, features {features:?}, time {remaining}, cancelled {}, id {}",
            request.principal(),
            request.meta(),
            request.cancelled(),
            if request.id().is_empty() { "none" } else { "some" },
        ))
    }
}

/// Answers with every kind of content.
#[arguments]
struct Blocks {}

impl Tool for Blocks {
    const NAME: &'static str = "blocks";
    type Output = Reply;

    fn call(self, _request: &Request) -> Result<Reply, Failure> {
        let annotated = Content {
            body: ContentBody::Text("for you".into()),
            annotations: Some(Annotations {
                audience: vec![Role::User],
                priority: Some(0.5),
                last_modified: Some("2026-01-01T00:00:00Z".into()),
            }),
            extra: Some(r#"{"_meta":{"a.example/b":1}}"#.into()),
        };
        Ok(Reply::new()
            .content(annotated)
            .image([1, 2, 3], "image/png")
            .audio([4, 5], "audio/wav")
            .resource("note://a", "text/plain", "noted")
            .resource_bytes("note://b", "application/octet-stream", [255, 0])
            .link("https://a.example/more", "more")
            .extra(json!({ "_meta": { "a.example/c": 2 } })))
    }
}

plugin! {
    name: "echo",
    tools: [Echo, Fill, Report, Add, Fail, Count, Meet, Ask, Who, Blocks],
    description: "Says back what it is told.",
    instructions: "Use `echo` to hear yourself.",
    wants: [
        Want::client("elicitation", "to ask who you are").optional(),
        Want::client("sampling", "to let your model say hello").optional(),
        Want::client("roots", "to count them").optional(),
    ],
}
