//! Passes results through rmcp's types without loss.
//!
//! rmcp's result types are closed: they drop unknown fields. A result that must reach the client unchanged is
//! therefore put in the `_meta` of a typed result, under a random key. When the message is written, the wrapped
//! result replaces the whole typed result.
//!
//! [`PassthroughKey::new`] makes the key, once in a process. [`PassthroughKey::wrap`] wraps a result. A transport
//! unwraps results with [`PassthroughKey::to_json`] from typed messages, with [`PassthroughKey::unwrap`] from bytes,
//! and with [`Events`] from a stream of server-sent events.

mod events;
mod typed;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use memchr::memmem::Finder;
use rmcp::model::{JsonObject, MetaObject};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use events::Events;

/// The beginning of a key, before its random part.
const PREFIX: &str = "portcullis.raw/";

/// The key of wrapped results in `_meta`. Clones have the same key.
#[derive(Clone)]
pub struct PassthroughKey(Arc<Finder<'static>>);

impl PassthroughKey {
    /// A new key, with 128 random bits, so that no client and no tool can guess it.
    ///
    /// # Errors
    ///
    /// The operating system returns no random bytes.
    pub fn new() -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|error| io::Error::other(format!("asking for random bytes: {error}")))?;
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(Arc::new(Finder::new(format!("{PREFIX}{digits}").as_bytes()).into_owned())))
    }

    /// A `_meta` for any of rmcp's result types. When the message is written, `result` replaces the typed result.
    ///
    /// rmcp adapts its results to the client's protocol version, for example by leaving out `resultType`. rmcp does not
    /// adapt `result`, which must fit this version.
    pub fn wrap(&self, result: Value) -> MetaObject {
        let mut meta = JsonObject::new();
        meta.insert(self.key().to_owned(), result);
        MetaObject(meta)
    }

    /// The message to be written instead of this one. `None`: this message is to be written unchanged.
    ///
    /// Only a JSON-RPC response with a result from [`PassthroughKey::wrap`] is replaced. The wrapped result is copied
    /// byte for byte from the message.
    pub fn unwrap(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.0.find(message)?;
        let Envelope { id, result } = serde_json::from_slice(message).ok()?;
        let Wrapped { meta } = serde_json::from_str(result.get()).ok()?;
        let result = meta.get(self.key())?.get();
        let id = id.get();
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes())
    }

    fn key(&self) -> &str {
        str::from_utf8(self.0.needle()).expect("a key is made from text")
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.find(bytes).is_some()
    }
}

/// Hides the key, because others can read the logs.
impl fmt::Debug for PassthroughKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PassthroughKey(..)")
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_takes_the_place_of_the_result() {
        let raw = PassthroughKey::new().unwrap();
        let key = raw.key();
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":"a","result":{{"content":[],"_meta":{{"a":1,"{key}":{{"x": [1.50,1e2,"\u00e4"]}}}}}}}}"#
        );
        let written = raw.unwrap(message.as_bytes()).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":"a","result":{"x": [1.50,1e2,"\u00e4"]}}"#;
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let raw = PassthroughKey::new().unwrap();
        let key = raw.key();
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1}}}"#.to_owned(),
            // The key of another process, or a guessed key.
            format!(r#"{{"id":1,"result":{{"_meta":{{"{PREFIX}00":{{}}}}}}}}"#),
            // In other places, the key has no effect.
            format!(r#"{{"id":1,"result":{{"{key}":{{}}}}}}"#),
            format!(r#"{{"id":1,"result":{{"structuredContent":{{"_meta":{{"{key}":1}}}}}}}}"#),
            format!(r#"{{"id":1,"error":{{"_meta":{{"{key}":1}}}}}}"#),
            format!(r#"{{"method":"x","params":{{"_meta":{{"{key}":1}}}}}}"#),
            format!("{key} {{"),
            String::new(),
        ] {
            assert_eq!(raw.unwrap(message.as_bytes()), None, "{message}");
        }
    }

    #[test]
    fn keys_differ_and_are_not_shown() {
        let (one, other) = (PassthroughKey::new().unwrap(), PassthroughKey::new().unwrap());
        assert_ne!(one.key(), other.key());
        assert_eq!(one.key(), one.clone().key());
        assert!(!format!("{one:?}").contains(one.key()));
    }
}
