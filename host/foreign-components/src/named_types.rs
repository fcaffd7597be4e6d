//! Finds the comments of record fields: the types that an interface exports under names, with their documentation.

use serde_json::Value;
use wasmtime::Engine;
use wasmtime::component::types::{ComponentInstance, ComponentItem, Type};

use crate::docs::Docs;

/// The types that an interface exports, each with its documentation in the component.
#[derive(Debug, Default)]
pub struct NamedTypes(Vec<(Type, Value)>);

impl NamedTypes {
    /// The types of an exported interface with this full name.
    pub fn of(engine: &Engine, instance: &ComponentInstance, docs: &Docs, interface: &str) -> Self {
        let types = instance.exports(engine).filter_map(|(name, item)| match item.ty {
            ComponentItem::Type(ty) => Some((ty, docs.of_type(interface, name)?.clone())),
            ComponentItem::ComponentFunc(_)
            | ComponentItem::CoreFunc(_)
            | ComponentItem::Module(_)
            | ComponentItem::Component(_)
            | ComponentItem::ComponentInstance(_)
            | ComponentItem::Resource(_) => None,
        });
        Self(types.collect())
    }

    /// The comment of a record's field. `None`: it has no comment, or types that are the same except for their names
    /// have different comments.
    pub fn field(&self, record: &Type, field: &str) -> Option<&str> {
        let same = self.0.iter().filter(|(ty, _)| ty == record);
        let mut texts = same.map(|(_, docs)| docs["items"][field].as_str().map(str::trim));
        let first = texts.next()??;
        (!first.is_empty() && texts.all(|text| text == Some(first))).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use serde_json::json;
    use wasmtime::component::Component;

    use super::*;

    /// What `wasm-tools component embed --dummy`, `component new` and `plugin describe` make of an interface with the records `pattern`
    /// (`text` with the comment "The text to find.", `plain` without), `here` and `there` (both with `x`, commented
    /// "One." and "Two."), and the function `find(one: pattern, all: list<pattern>, here: here, there: there)`.
    const COMPONENT: &str = "\
        AGFzbQ0AAQABrwEAYXNtAQAAAAEbBGAHf39/f39/fwF/YAF/AGAEf39/fwF/YAAAAwUEAAECAwUDAQAAB2sFFWNtMzJwMnxhOmIvbGluZXN8\
        ZmluZAAAGmNtMzJwMnxhOmIvbGluZXN8ZmluZF9wb3N0AAENY20zMnAyX21lbW9yeQIADmNtMzJwMl9yZWFsbG9jAAIRY20zMnAyX2luaXRp\
        YWxpemUAAwoPBAMAAAsCAAsDAAALAgALBxoDcgIEdGV4dHMFcGxhaW5/cgEBeHlyAQF4eQIEAQAAAAYTAQACAQANY20zMnAyX21lbW9yeQFh\
        AGFzbQEAAAABBAFgAAACGgEEbWFpbhFjbTMycDJfaW5pdGlhbGl6ZQAACAEAADIEbmFtZQAVFHdpdC1jb21wb25lbnQ6Zml4dXBzARQBABFj\
        bTMycDJfaW5pdGlhbGl6ZQILAQABAQRtYWluEgAHIANwAGsAQAQDb25lAANhbGwDBGhlcmUBBXRoZXJlAgAEBk0DAAABABVjbTMycDJ8YTpi\
        L2xpbmVzfGZpbmQAAAEADmNtMzJwMl9yZWFsbG9jAAABABpjbTMycDJ8YTpiL2xpbmVzfGZpbmRfcG9zdAgNAQAAAAQDAAQBAAUCBQSpAgBh\
        c20NAAEABxABcgIEdGV4dHMFcGxhaW5/ChkBABNpbXBvcnQtdHlwZS1wYXR0ZXJuAwAABwgCcAFyAQF4eQoWAQAQaW1wb3J0LXR5cGUtaGVy\
        ZQMAAwcGAXIBAXh5ChcBABFpbXBvcnQtdHlwZS10aGVyZQMABQceAmsBQAQDb25lAQNhbGwCBGhlcmUEBXRoZXJlBgAHChUBABBpbXBvcnQt\
        ZnVuYy1maW5kAQgHEAFyAgR0ZXh0cwVwbGFpbn8LDQEAB3BhdHRlcm4DCQAHBgFyAQF4eQsKAQAEaGVyZQMLAAcGAXIBAXh5CwsBAAV0aGVy\
        ZQMNAAcgA3AKawpABANvbmUKA2FsbA8EaGVyZQwFdGhlcmUOABALDAEABGZpbmQBAAEBEQVUAQAABBBpbXBvcnQtZnVuYy1maW5kAQATaW1w\
        b3J0LXR5cGUtcGF0dGVybgMAEGltcG9ydC10eXBlLWhlcmUDARFpbXBvcnQtdHlwZS10aGVyZQMCCw8BAAlhOmIvbGluZXMFAAAAyQEMcGFj\
        a2FnZS1kb2NzAXsiaW50ZXJmYWNlcyI6eyJsaW5lcyI6eyJmdW5jcyI6eyJmaW5kIjp7ImRvY3MiOiJGaW5kcyBsaW5lcy4ifX0sInR5cGVz\
        Ijp7InBhdHRlcm4iOnsiaXRlbXMiOnsidGV4dCI6IlRoZSB0ZXh0IHRvIGZpbmQuIn19LCJoZXJlIjp7Iml0ZW1zIjp7IngiOiJPbmUuIn19\
        LCJ0aGVyZSI6eyJpdGVtcyI6eyJ4IjoiVHdvLiJ9fX19fX0=\
    ";

    #[test]
    fn fields_of_records_have_their_comments_where_the_record_is_certain() {
        let text: String = COMPONENT.split_whitespace().collect();
        let bytes = base64::prelude::BASE64_STANDARD.decode(text).unwrap();
        let engine = Engine::default();
        let component = Component::new(&engine, &bytes).unwrap();
        let (tools, others) = crate::tools(&engine, &component, &Docs::of_component(&bytes));
        assert!(others.is_empty() && tools.len() == 1, "{tools:?} {others:?}");
        let input = &tools[0].input["properties"];
        let pattern = json!({
            "type": "object", "properties": {
                "text": { "type": "string", "description": "The text to find." },
                "plain": { "type": "boolean" },
            },
            "additionalProperties": false, "required": ["text", "plain"],
        });
        assert_eq!(input["one"], pattern);
        assert_eq!(input["all"]["items"], pattern);
        assert_eq!(tools[0].output.as_ref().unwrap()["properties"]["result"]["anyOf"][0], pattern);
        // The two types are one to a host, so that neither comment can be told to be the right one.
        assert_eq!(input["here"]["properties"]["x"].get("description"), None);
        let (without, _) = crate::tools(&engine, &component, &Docs::default());
        assert!(!without[0].input.to_string().contains("description"));
    }
}
