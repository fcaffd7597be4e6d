//! Reports errors of keywords that apply to single members or items.

use super::{Base, Entry, Report, entries};
use crate::{
    CannotValidate, Dialect,
    blame::Blame,
    trail::{LAST, Start, Trail, escaped},
    wording,
};
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};
use std::mem;

impl<'s> Report<'s, '_, '_> {
    pub fn say_required(
        &mut self,
        base: &Base<'s, '_>,
        value: &Value,
        instance: &Value,
        kind: &ValidationErrorKind,
    ) {
        let ValidationErrorKind::Required { property: Value::String(property) } = kind else {
            return;
        };
        // The crate also reports a member that exists but is forbidden.
        if instance.get(property).is_none() {
            let names = value.as_array().map_or(&[][..], Vec::as_slice);
            let order = [names.iter().position(|name| name == property).unwrap_or(LAST)];
            self.say(base, &order, "required", wording::of_required(property));
        }
    }

    /// Reports missing members that other members require. The crate does not name these members, so this function
    /// checks all members again.
    pub fn say_dependencies(
        &mut self,
        base: &Base<'s, '_>,
        keyword: &'static str,
        value: &Value,
        instance: &Value,
    ) {
        for (position, (property, required)) in value.as_object().into_iter().flatten().enumerate()
        {
            let Value::Array(required) = required else { continue };
            if instance.get(property).is_none() {
                continue;
            }
            let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
            for (number, missing) in required.iter().enumerate() {
                if instance.get(missing).is_none() {
                    let words = wording::of_dependency(property, missing, &required);
                    self.say(base, &[0, position, number], keyword, words);
                }
            }
        }
    }

    pub fn say_additional(
        &mut self,
        base: &Base<'s, '_>,
        instance: &Value,
        kind: &ValidationErrorKind,
    ) {
        let unexpected: Vec<&str> =
            if let ValidationErrorKind::AdditionalProperties { unexpected } = kind {
                unexpected.iter().map(String::as_str).collect()
            } else {
                // If no member is allowed, the crate does not name the members.
                instance.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
            };
        for property in unexpected {
            let order = [self.tracker.position(instance, property).unwrap_or(LAST)];
            self.say(base, &order, "additionalProperties", wording::of_additional(property));
        }
    }

    pub fn say_unevaluated(
        &mut self,
        base: &Base<'s, '_>,
        trail: &Trail<'s, '_>,
        keyword: &'static str,
        kind: &ValidationErrorKind,
    ) -> Result<(), CannotValidate> {
        let value = &trail.place.schema[keyword];
        let keys: Vec<String> = match (kind, trail.instance) {
            (ValidationErrorKind::UnevaluatedProperties { unexpected }, _) => unexpected.clone(),
            (ValidationErrorKind::UnevaluatedItems { unexpected }, Value::Array(items)) => {
                (items.len() - unexpected.len()..items.len())
                    .map(|index| index.to_string())
                    .collect()
            }
            _ => Vec::new(),
        };
        if let (Value::Bool(false), Value::Array(items)) = (value, trail.instance) {
            let limit = items.len() - keys.len();
            self.say(base, &[LAST], keyword, wording::of_surplus_items(limit));
            return Ok(());
        }
        for key in keys {
            let position = self.tracker.position(trail.instance, &key).unwrap_or(LAST);
            if value == &Value::Bool(false) {
                self.say(base, &[position], keyword, wording::of_unevaluated(&key));
            } else {
                self.say_part(base, trail, keyword, &key, position)?;
            }
        }
        Ok(())
    }

    /// Reports why items do not match `contains`, and then that too few or too many items match.
    pub fn say_contains(
        &mut self,
        base: &Base<'s, '_>,
        trail: &Trail<'s, '_>,
    ) -> Result<(), CannotValidate> {
        let limit = |name| match self.documents.dialect {
            Dialect::Draft202012 => trail.place.schema.get(name),
            Dialect::Draft07 => None,
        };
        let default_minimum = json!(1);
        let (at_least, at_most) =
            (limit("minContains").unwrap_or(&default_minimum), limit("maxContains"));
        let (minimum, maximum) = (at_least.as_f64(), at_most.and_then(Value::as_f64));
        let mut found = 0.0;
        let items = trail.instance.as_array().map_or(0, Vec::len);
        // Not every item has to match, so these errors are not root causes.
        let blame = mem::replace(&mut self.blame, Blame::Nothing);
        for index in 0..items {
            // Ajv stops counting as soon as the result is certain.
            if maximum.is_some_and(|maximum| found > maximum || minimum > Some(maximum)) {
                break;
            }
            if !self.say_part(base, trail, "contains", &index.to_string(), index)? {
                found += 1.0;
            }
        }
        self.blame = blame;
        self.say(base, &[LAST], "contains", wording::of_contains(at_least, at_most));
        Ok(())
    }

    /// Adds the errors that the keyword's schema has for one part of the instance. Returns whether
    /// there are any.
    fn say_part(
        &mut self,
        base: &Base<'s, '_>,
        trail: &Trail<'s, '_>,
        keyword: &str,
        key: &str,
        position: usize,
    ) -> Result<bool, CannotValidate> {
        let part = match trail.instance.as_array() {
            Some(items) => &items[position],
            None => &trail.instance[key],
        };
        let start = Start {
            place: trail.place.part(&trail.place.schema[keyword]),
            schema_path: &format!("{}/{keyword}", base.schema_path),
            instance: part,
            instance_path: &format!("{}/{}", base.instance_path, escaped(key)),
        };
        let nested = entries(self.documents, start)?;
        let has_errors = !nested.is_empty();
        for entry in nested {
            let order = [base.order, &[position], &entry.order].concat();
            if self.said.insert(order.clone()) {
                let cause = entry.cause.filter(|_| self.blame == Blame::All);
                self.causes += usize::from(cause.is_some());
                self.entries.push(Entry { order, error: entry.error, cause });
            }
        }
        Ok(has_errors)
    }
}
