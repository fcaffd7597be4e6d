//! Questions for consent: the user has to agree to an action of a plugin. The host words the question.

use serde_json::{Value, json};

use super::caller::Caller;
use portcullis_core::bindings::types::Consent;
use portcullis_core::plugins::LoadedPlugin;

/// Maximum length of a subject in characters, as in `types.wit`. A user cannot agree to a subject that is not shown
/// in full.
const MAX_SUBJECT: usize = 4000;
/// Maximum length of an action in characters. A longer action is cut. An action says what the plugin wants to do, and
/// may name a program, a URL and a folder.
const MAX_ACTION: usize = 1000;

/// The answer to a question for consent without asking the user, with the outcome for the audit. The answer is `accept`
/// if the operator agreed in the configuration, and `decline` if the client cannot show the question or the subject is
/// too long. `None`: the user has to be asked.
pub fn answer_without_asking(
    consent: &Consent,
    caller: &Caller,
    loaded: &LoadedPlugin,
) -> Option<(Value, &'static str)> {
    let Consent { kind, subject, .. } = consent;
    let grant = &loaded.plugin.terms.policy.grants.client;
    let name = &loaded.plugin.name;
    let short = portcullis_sanitize::line(subject, 200);
    if grant.as_ref().is_some_and(|grant| grant.agrees(kind, subject)) {
        tracing::info!(
            "the operator agreed in the configuration that `{name}` may do this: {kind} {short}"
        );
        return Some((json!({ "action": "accept" }), "agreed-beforehand"));
    }
    let may_ask = caller.supports("elicitation.form") && subject.chars().count() <= MAX_SUBJECT;
    (!may_ask).then(|| {
        tracing::warn!(
            "the user cannot be asked whether `{name}` may do this: {kind} {short}{}",
            remedy(name, kind, subject)
        );
        (json!({ "action": "decline" }), "could-not-be-asked")
    })
}

/// The lines of `portcullis.toml` that allow an action without a question. Empty if the subject cannot be written
/// there as it is shown.
fn remedy(plugin: &str, kind: &str, subject: &str) -> String {
    if portcullis_sanitize::line(subject, MAX_SUBJECT) != *subject {
        return String::new();
    }
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_bare_key = !kind.is_empty() && kind.bytes().all(is_bare);
    // A string of JSON without control characters is a string of TOML, too.
    let (quoted_kind, quoted_subject) = (json!(kind).to_string(), json!(subject));
    let key = if is_bare_key { kind } else { &quoted_kind };
    format!(
        "; to allow it without a question, add to portcullis.toml:\n\
         [plugins.{plugin}.grants.client]\nagreed.{key} = [{quoted_subject}]"
    )
}

/// The question, as a form without fields. Accepting the form is consent.
pub fn form(consent: &Consent, plugin: &str) -> Value {
    let Consent { action, subject, overwrites, .. } = consent;
    let action = portcullis_sanitize::line(action, MAX_ACTION);
    let mut message = format!(
        "`{plugin}` wants to {action}:\n\n    {}\n",
        portcullis_sanitize::line(subject, MAX_SUBJECT)
    );
    if let Some(lost) = overwrites {
        message += &format!("\nThis overwrites {}.\n", portcullis_sanitize::line(lost, 500));
    }
    message += "\nIt happens only if you accept.";
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "mode": "form", "message": message, "requestedSchema": schema })
}

#[cfg(test)]
mod tests {
    use portcullis_core::config::Config;

    use super::*;

    #[test]
    fn the_remedy_is_toml_that_allows_the_action() {
        let long = "x".repeat(MAX_SUBJECT);
        for subject in ["quit", "say \"a\" in C:\\b", &long] {
            for kind in ["console", "a \"b\""] {
                let remedy = remedy("editor", kind, subject);
                let (_, lines) = remedy.split_once(":\n").unwrap();
                let config =
                    Config::parse(&format!("{lines}\nfeatures = [\"consent\"]\n")).unwrap();
                let grant = config.plugins["editor"].grants.client.as_ref().unwrap();
                assert!(grant.agrees(kind, subject), "{lines}");
                assert!(!grant.agrees(kind, "other"), "{lines}");
            }
        }
        for subject in ["two\nlines", "\u{202e}", &format!("{long}x")] {
            assert_eq!(remedy("editor", "console", subject), "", "{subject}");
        }
    }

    #[test]
    fn texts_of_a_plugin_cannot_hide_the_action() {
        let consent = Consent {
            kind: "console".into(),
            action: "run a command".into(),
            subject: "quit\n\nNothing happens.\u{202e}".into(),
            overwrites: Some("a\nb".into()),
        };
        let form = form(&consent, "editor");
        let message = form["message"].as_str().unwrap();
        assert!(message.starts_with("`editor` wants to run a command:\n\n    quit"), "{message}");
        assert_eq!(message.lines().count(), 7, "{message}");
        assert!(!message.contains('\u{202e}'), "{message}");
    }
}
