//! Seals the state that clients carry between rounds of a call or pages of a list, so that clients cannot change
//! it.

use std::collections::BTreeMap;

use portcullis_checked_files::digest;
use portcullis_core::upstreams::ANSWER_TIME;
use portcullis_mcp_client::Object;
use rmcp::model::{
    InputRequests, InputRequiredResult, InputResponses, JsonObject, RequestStateCodec,
    RequestStateError, SealOptions,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::input::Exchange;
use super::state_keys::{StateKey, StateKeys};

/// The request to which a sealed state is bound. The state is valid only for the same source, name, caller and
/// arguments, and for [`ANSWER_TIME`].
pub struct Binding<'a> {
    /// The source: see [`Source::identity`](portcullis_core::source::Source::identity).
    pub source: &'a str,
    /// The tool, the prompt or the resource, or the method of a request that has none of these.
    pub name: &'a str,
    /// The caller.
    pub principal: Option<&'a str>,
    /// The arguments.
    pub arguments: &'a JsonObject,
}

impl Binding<'_> {
    fn bytes(&self) -> Vec<u8> {
        let Self { source, name, principal, arguments } = self;
        let arguments = serde_json::to_string(&sorted(arguments)).unwrap_or_default();
        json!([source, name, principal, digest(arguments.as_bytes())]).to_string().into_bytes()
    }
}

/// The members of an object in a fixed order, also in nested objects. Objects in arrays stay as they are.
fn sorted(object: &JsonObject) -> BTreeMap<&String, Value> {
    object
        .iter()
        .map(|(key, value)| match value.as_object() {
            Some(inner) => (key, json!(sorted(inner))),
            None => (key, value.clone()),
        })
        .collect()
}

/// A state could not be sealed: a fault of the host.
#[derive(Debug, thiserror::Error)]
#[error("cannot seal the state of a request")]
pub struct SealError(#[from] RequestStateError);

/// Seals states. The first key seals, and each key opens.
pub struct Seal(Vec<RequestStateCodec>);

impl Seal {
    /// Seals with these keys. The first key seals. The others open states that were sealed before the keys changed.
    pub fn new(keys: &StateKeys) -> Self {
        let codec = |key: &StateKey| {
            RequestStateCodec::try_new(key.to_vec()).expect("a key has 32 bytes, which are enough")
        };
        Self(keys.all().map(codec).collect())
    }

    fn sealing(&self) -> &RequestStateCodec {
        self.0.first().expect("there is at least one key")
    }

    /// Opens the exchange that a client sends back with its answers, or begins a new one.
    ///
    /// # Errors
    ///
    /// The state was not sealed by this server for this call, or is too old.
    pub fn open(
        &self,
        binding: &Binding<'_>,
        sealed: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Exchange, &'static str> {
        let Some(sealed) = sealed else {
            return Ok(Exchange::with_early_answers(responses.unwrap_or_default()));
        };
        let mut exchange: Exchange = self.unseal(binding, sealed)?;
        exchange.resume(responses.unwrap_or_default());
        Ok(exchange)
    }

    /// The result that puts the questions to the client, with the exchange as its sealed state.
    ///
    /// # Errors
    ///
    /// [`SealError`]: the state could not be serialized or encrypted.
    pub fn ask(
        &self,
        binding: &Binding<'_>,
        exchange: &Exchange,
        questions: InputRequests,
    ) -> Result<InputRequiredResult, SealError> {
        Ok(InputRequiredResult::new(Some(questions), Some(self.seal(binding, exchange)?)))
    }

    /// The result that passes questions to the client unchanged: those of an upstream server, or the question for
    /// consent to the call of the server's tool.
    ///
    /// # Errors
    ///
    /// [`SealError`]: the state could not be serialized or encrypted.
    pub fn ask_for_upstream(
        &self,
        binding: &Binding<'_>,
        exchange: &Exchange,
        requests: Object,
    ) -> Result<Value, SealError> {
        Ok(json!({
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": self.seal(binding, exchange)?,
        }))
    }

    /// Seals a state for one request.
    ///
    /// # Errors
    ///
    /// [`SealError`]: the state could not be serialized or encrypted.
    pub fn seal<T: Serialize>(
        &self,
        binding: &Binding<'_>,
        state: &T,
    ) -> Result<String, SealError> {
        let bytes = binding.bytes();
        let options = SealOptions::new().associated_data(&bytes).ttl(ANSWER_TIME);
        let sealed = self.sealing().seal_json_with(state, &options);
        Ok(sealed?)
    }

    /// Opens a state that was sealed for this request.
    ///
    /// # Errors
    ///
    /// The state was not sealed by this server for this request, or is too old.
    pub fn unseal<T: serde::de::DeserializeOwned>(
        &self,
        binding: &Binding<'_>,
        sealed: &str,
    ) -> Result<T, &'static str> {
        let bytes = binding.bytes();
        let opened = self.0.iter().map(|codec| codec.open_json_with(sealed, &bytes));
        for result in opened {
            match result {
                Ok(state) => return Ok(state),
                Err(error) => tracing::debug!("a sealed state is refused: {error}"),
            }
        }
        Err("requestState is not what this server gave out for this call, or is too old")
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use portcullis_checked_files::SealKey;

    use super::super::input::ROOTS_KEY;
    use super::super::session::ClientRoots;
    use super::*;

    fn arguments(text: &str) -> JsonObject {
        serde_json::from_str(text).unwrap()
    }

    fn binding(arguments: &JsonObject) -> Binding<'_> {
        Binding { source: "p", name: "t", principal: None, arguments }
    }

    #[test]
    fn a_state_is_valid_for_its_own_call_only() {
        let folder = tempfile::tempdir().unwrap();
        let seal_of =
            |name: &str| Seal::new(&StateKeys::of_host(&SealKey::at(folder.path().join(name))));
        let seal = seal_of("key");
        let (one, two) = (arguments(r#"{"a":1,"b":2}"#), arguments(r#"{"a":2}"#));
        let mut exchange = Exchange::default();
        let asks = exchange.ask_roots();
        let state = seal.ask(&binding(&one), &exchange, asks).unwrap().request_state.unwrap();
        let responses: InputResponses =
            [(ROOTS_KEY.to_owned(), json!({"roots": [{"uri": "file:///a"}]}))].into();
        let reordered = arguments(r#"{"b":2,"a":1}"#);
        let opened = seal.open(&binding(&reordered), Some(&state), Some(responses)).unwrap();
        let named = ClientRoots::Named(vec!["file:///a".to_owned()]);
        assert_eq!(opened.roots(), Some(named));
        assert!(seal.open(&binding(&two), Some(&state), None).is_err(), "other arguments");
        let other = Binding { name: "u", ..binding(&one) };
        assert!(seal.open(&other, Some(&state), None).is_err(), "another tool");
        let other = Binding { principal: Some("x"), ..binding(&one) };
        assert!(seal.open(&other, Some(&state), None).is_err(), "another caller");
        assert!(seal.open(&binding(&one), Some(&format!("{state}x")), None).is_err(), "tampered");
        assert!(seal_of("other").open(&binding(&one), Some(&state), None).is_err(), "another user");
        assert!(seal_of("key").open(&binding(&one), Some(&state), None).is_ok(), "after a restart");
    }

    #[test]
    fn each_key_opens_and_the_first_one_seals() {
        let folder = tempfile::tempdir().unwrap();
        let seal_of = |keys: &[&str]| {
            let file = folder.path().join("keys");
            std::fs::write(&file, keys.join("\n")).unwrap();
            Seal::new(&StateKeys::in_file(&file).unwrap())
        };
        let (old, new) = ("o".repeat(32), "n".repeat(32));
        let arguments = arguments("{}");
        let sealed_by = |seal: &Seal| seal.seal(&binding(&arguments), &1).unwrap();
        let opens =
            |seal: &Seal, state: &str| seal.unseal::<u8>(&binding(&arguments), state).is_ok();
        let (before, during, after) = (seal_of(&[&old]), seal_of(&[&new, &old]), seal_of(&[&new]));
        assert!(opens(&during, &sealed_by(&before)), "the second key opens");
        assert!(opens(&after, &sealed_by(&during)), "the first key seals");
        assert!(!opens(&before, &sealed_by(&during)), "the first key seals");
        assert!(!opens(&after, &sealed_by(&before)), "a key that is gone opens nothing");
        assert!(opens(&seal_of(&[&old]), &sealed_by(&before)), "the same keys on another machine");
    }
}
