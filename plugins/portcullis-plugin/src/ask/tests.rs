//! Tests of questions, with the answers given by a rehearsal.

use super::*;
use crate::{prelude::data, rehearsal::Rehearsal};

#[data]
#[derive(Debug, PartialEq)]
struct Person {
    /// The whole name.
    full_name: String,
}

fn person(name: &str) -> Person {
    Person { full_name: name.to_owned() }
}

fn asked<T: std::fmt::Debug>(result: Result<T, Failure>) -> Vec<(String, Asked)> {
    match result.expect_err("it has to be asked") {
        Failure::NeedInput(asks) => asks,
        other @ (Failure::Told(_) | Failure::Background | Failure::Protocol(_)) => {
            panic!("{other}")
        }
    }
}

#[test]
fn one_question() {
    let question = || form::<Person>("who", "Who is it?");
    let rehearsal = Rehearsal::new();
    let asks = asked(rehearsal.request().ask(question()));
    let [(key, Asked::Form(form))] = asks.as_slice() else { panic!("{asks:?}") };
    assert_eq!((key.as_str(), form.message.as_str()), ("who", "Who is it?"));
    assert!(form.schema.contains("The whole name."), "{}", form.schema);

    let rehearsal = Rehearsal::new().form("who", json!({ "fullName": "Ada" }));
    assert_eq!(rehearsal.request().ask(question()), Ok(person("Ada")));
}

#[test]
fn all_missing_answers_are_asked_for_in_one_round() {
    let questions = || (form::<Person>("a", "A?"), roots("b"), sample("c", json!({})));
    let rehearsal = Rehearsal::new().roots("b", ["file:///b"]);
    let asks = asked(rehearsal.request().ask(questions()));
    let keys: Vec<_> = asks.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["a", "c"]);

    let rehearsal = rehearsal.form("a", json!({ "fullName": "Ada" })).sampled("c", json!(1));
    let (name, roots, sampled) = rehearsal.request().ask(questions()).expect("all are there");
    assert_eq!((name, roots[0].uri.as_str(), sampled), (person("Ada"), "file:///b", json!(1)));
}

#[test]
fn a_list_of_questions() {
    let questions = || vec![other("a", "x/y", json!({})), other("b", "x/y", json!({}))];
    let rehearsal = Rehearsal::new().other("b", json!(2));
    let asks = asked(rehearsal.request().ask(questions()));
    let json = r#"{"method":"x/y","params":{}}"#.to_owned();
    assert_eq!(asks, [("a".to_owned(), Asked::Other(json))]);
    let rehearsal = rehearsal.other("a", json!(1));
    assert_eq!(rehearsal.request().ask(questions()), Ok(vec![json!(1), json!(2)]));
}

#[test]
fn a_declined_form_fails_unless_the_plugin_takes_it_as_an_answer() {
    let rehearsal = Rehearsal::new().form_declined("who");
    let question = || form::<Person>("who", "Who is it?");
    let failure = rehearsal.request().ask(question()).expect_err("declined");
    assert_eq!(failure.to_string(), "the user declined the question `who`");
    let answer = rehearsal.request().ask(question().or_declined()).expect("it is an answer");
    assert_eq!(answer.accepted(), None);
}

#[test]
fn an_answer_of_another_kind_or_schema_fails() {
    let rehearsal = Rehearsal::new().form("who", json!({ "name": 1 })).visited("page");
    let wrong = rehearsal.request().ask(form::<Person>("who", "Who is it?"));
    let wrong = wrong.expect_err("it is wrong").to_string();
    assert!(wrong.contains("the answer to `who` does not match the schema"), "{wrong}");
    let wrong = rehearsal.request().ask(roots("page"));
    assert!(wrong.expect_err("it is wrong").to_string().contains("questions of two kinds"));
    assert_eq!(rehearsal.request().ask(visit("page", "Sign in", "https://a.example")), Ok(()));
}

#[test]
fn consent_is_given_to_one_action() {
    let action = |subject: &str| consent("console", "run a console command", subject);
    let rehearsal = Rehearsal::new().agreed("console", "stat fps").refused("console", "quit");
    assert_eq!(rehearsal.request().ask(action("stat fps")), Ok(()));
    let refused = rehearsal.request().ask(action("quit")).expect_err("it was refused");
    assert!(refused.to_string().contains("run a console command (quit)"), "{refused}");
    assert!(refused.to_string().contains("the user did not agree"), "{refused}");
    let asks = asked(rehearsal.request().ask(action("r.X 1").overwriting("the value 0")));
    let [(_, Asked::Consent(asked))] = asks.as_slice() else { panic!("{asks:?}") };
    assert_eq!(
        (asked.subject.as_str(), asked.overwrites.as_deref()),
        ("r.X 1", Some("the value 0"))
    );
}

#[test]
fn consent_that_cannot_be_asked_for_fails_with_the_remedy() {
    let long = "x".repeat(MAX_SUBJECT_CHARS + 1);
    let cases = [
        (Rehearsal::new().without("elicitation.form"), "quit", "does not support forms"),
        (Rehearsal::new(), long.as_str(), "longer than the 4,000 characters"),
    ];
    for (rehearsal, subject, obstacle) in cases {
        let rehearsal = rehearsal.refused("console", subject);
        let question = consent("console", "run a console command", subject);
        let said = rehearsal.request().ask(question).expect_err("it is refused").to_string();
        for part in ["could not be asked", obstacle, "`agreed.console`"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
