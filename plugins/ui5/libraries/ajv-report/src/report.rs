//! Converts the errors of the `jsonschema` crate into Ajv's list.

use crate::{
    CannotValidate, Cause, ErrorObject, Validation,
    blame::{self, Alternatives, Blame, Judge},
    documents::Documents,
    excerpt::Excerpt,
    formats,
    trail::{LAST, Site, Start, Tracker, Trail},
    wording::{self, Words},
};
use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value, json};
use std::{collections::HashSet, mem};

mod parts;

/// Limit of backtracking steps of one pattern on one string.
const BACKTRACK_LIMIT: usize = 100_000;

/// An error and its position in the list.
pub struct Entry<'s> {
    order: Vec<usize>,
    error: ErrorObject,
    /// The schema with the violated keyword, if the error is a root cause.
    cause: Option<Option<&'s Value>>,
}

/// Ajv's list for one schema and one instance, and its root causes.
pub fn validate<'s>(
    documents: &Documents<'s>,
    instance: &Value,
) -> Result<Validation<'s>, CannotValidate> {
    let start = Start { place: documents.root(), schema_path: "#", instance, instance_path: "" };
    let mut entries = entries(documents, start)?;
    entries.sort_by(|left, right| left.order.cmp(&right.order));
    let cause =
        |(error, entry): (usize, &Entry<'s>)| entry.cause.map(|schema| Cause { error, schema });
    let causes = entries.iter().enumerate().filter_map(cause).collect();
    Ok(Validation { errors: entries.into_iter().map(|entry| entry.error).collect(), causes })
}

fn entries<'s>(
    documents: &Documents<'s>,
    start: Start<'s, '_>,
) -> Result<Vec<Entry<'s>>, CannotValidate> {
    let excerpt = Excerpt::new(documents, start.place, start.instance)?;
    let validator = compile(&excerpt)?;
    let mut report = Report {
        documents,
        tracker: Tracker::new(documents),
        start,
        entries: Vec::new(),
        said: HashSet::new(),
        blame: Blame::All,
        causes: 0,
        judge: Judge::default(),
    };
    for error in validator.iter_errors(start.instance) {
        report.add(&error, None)?;
        report.judge.forget();
    }
    Ok(report.entries)
}

fn compile(excerpt: &Excerpt) -> Result<Validator, CannotValidate> {
    let options = formats::register(jsonschema::options())
        .with_draft(excerpt.draft)
        .should_validate_formats(true);
    let options = if excerpt.looks_around {
        options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
    } else {
        options.with_pattern_options(PatternOptions::regex())
    };
    options.build(&excerpt.schema).map_err(|error| {
        CannotValidate::new(format!(
            "the schema cannot be compiled: {error} at {}",
            error.instance_path()
        ))
    })
}

struct Report<'s, 'i, 'd> {
    documents: &'d Documents<'s>,
    tracker: Tracker<'s, 'd>,
    start: Start<'s, 'i>,
    entries: Vec<Entry<'s>>,
    /// The positions of the errors so far. If the crate reports an error several times, Ajv reports it once.
    said: HashSet<Vec<usize>>,
    /// Which of the current errors are root causes.
    blame: Blame,
    /// Number of root causes so far.
    causes: usize,
    judge: Judge,
}

impl<'s, 'i> Report<'s, 'i, '_> {
    /// Adds Ajv's errors for an error of the crate.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum belongs to the crate, and most variants need nothing more"
    )]
    fn add(
        &mut self,
        error: &ValidationError<'_>,
        name: Option<&Value>,
    ) -> Result<(), CannotValidate> {
        use ValidationErrorKind as Kind;
        if let Some(alternatives) = blame::within(error) {
            return self.add_alternatives(error, alternatives, name);
        }
        let mut passing = None;
        match error.kind() {
            Kind::OneOfMultipleValid { context } => {
                let index_if_matching =
                    |(index, errors): (usize, &Vec<_>)| errors.is_empty().then_some(index);
                let mut matching = context.iter().enumerate().filter_map(index_if_matching);
                if let (Some(first), Some(second)) = (matching.next(), matching.next()) {
                    passing = Some([first, second]);
                    // Ajv stops at the second schema that the instance matches.
                    let blame = mem::replace(&mut self.blame, Blame::Nothing);
                    for nested in context[..second].iter().flatten() {
                        self.add(nested, name)?;
                    }
                    self.blame = blame;
                }
            }
            Kind::PropertyNames { error: nested } => {
                return self.add_name(nested, nested.instance());
            }
            Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
                return Err(CannotValidate::new(format!(
                    "a pattern took too long on the value at {}",
                    error.instance_path()
                )));
            }
            Kind::Referencing(_) | Kind::Custom { .. } | Kind::FromUtf8 { .. } => {
                return Err(CannotValidate::new(error.to_string()));
            }
            _ => {}
        }
        self.add_here(error, name, passing)
    }

    /// Adds the errors of each alternative, and the error that the instance matches no alternative. This last error is
    /// a root cause only if no alternative contains a root cause.
    fn add_alternatives(
        &mut self,
        error: &ValidationError<'_>,
        alternatives: &[Vec<ValidationError<'_>>],
        name: Option<&Value>,
    ) -> Result<(), CannotValidate> {
        let site = site(error, name);
        let trail = self.tracker.follow(self.start, site)?;
        let blame = self.blame.clone();
        let all = Alternatives {
            errors: alternatives,
            path: site.instance_path,
            place: trail.place,
            keyword: trail.keyword.unwrap_or_default(),
            instance: trail.instance,
        };
        let blames = self.judge.assign(self.documents, &all, &blame, self.start.instance_path);
        let before = self.causes;
        for (errors, blame) in alternatives.iter().zip(blames) {
            self.blame = blame;
            for nested in errors {
                self.add(nested, name)?;
            }
        }
        self.blame = if self.causes > before { Blame::Nothing } else { blame.clone() };
        self.add_here(error, name, None)?;
        self.blame = blame;
        Ok(())
    }

    /// Adds the error of the keyword itself.
    fn add_here(
        &mut self,
        error: &ValidationError<'_>,
        name: Option<&Value>,
        passing: Option<[usize; 2]>,
    ) -> Result<(), CannotValidate> {
        let trail = self.tracker.follow(self.start, site(error, name))?;
        for condition in &trail.conditions {
            let base = Base {
                order: &condition.order,
                schema_path: &condition.schema_path,
                instance_path: &condition.instance_path,
                property_name: condition.property_name,
                schema: None,
            };
            self.say(&base, &[], "if", wording::of_condition(condition.keyword));
        }
        let base = Base {
            order: &trail.order,
            schema_path: &trail.schema_path,
            instance_path: &trail.instance_path,
            property_name: trail.property_name,
            schema: Some(trail.place.schema),
        };
        let (Some(keyword), Some(schema)) = (trail.keyword, trail.place.schema.as_object()) else {
            self.say(&base, &[0], "false schema", wording::of_false_schema());
            return Ok(());
        };
        match keyword {
            "propertyNames" => {
                for name in trail.instance.as_object().into_iter().flat_map(Map::keys) {
                    self.add_name(error, &json!(name))?;
                }
                Ok(())
            }
            "oneOf" => {
                self.say(&base, &[LAST], keyword, wording::of_one_of(passing));
                Ok(())
            }
            _ => self.say_of_keyword(&base, &trail, keyword, schema, error.kind()),
        }
    }

    fn say_of_keyword(
        &mut self,
        base: &Base<'s, '_>,
        trail: &Trail<'s, '_>,
        keyword: &'static str,
        schema: &Map<String, Value>,
        kind: &ValidationErrorKind,
    ) -> Result<(), CannotValidate> {
        let value = &schema[keyword];
        match keyword {
            "required" => self.say_required(base, value, trail.instance, kind),
            "dependencies" | "dependentRequired" => {
                self.say_dependencies(base, keyword, value, trail.instance);
            }
            "additionalProperties" => self.say_additional(base, trail.instance, kind),
            "items" | "additionalItems" => {
                let before = if keyword == "items" { "prefixItems" } else { "items" };
                let limit = schema.get(before).and_then(Value::as_array).map_or(0, Vec::len);
                self.say(base, &[LAST], keyword, wording::of_surplus_items(limit));
            }
            "contains" | "minContains" | "maxContains" => self.say_contains(base, trail)?,
            "unevaluatedItems" | "unevaluatedProperties" => {
                self.say_unevaluated(base, trail, keyword, kind)?;
            }
            "uniqueItems" => {
                let items = trail.instance.as_array().map_or(&[][..], Vec::as_slice);
                // Ajv misses some duplicates, and reports no error for them.
                if let Some(pair) = wording::duplicates(items, schema) {
                    self.say(base, &[LAST], keyword, wording::of_duplicates(pair));
                }
            }
            _ => match wording::of_keyword(keyword, value) {
                Some(words) => self.say(base, &[LAST], keyword, words),
                None => {
                    return Err(CannotValidate::new(format!(
                        "there is no message for the keyword {keyword}"
                    )));
                }
            },
        }
        Ok(())
    }

    /// Adds the errors about the name of a member, and the error that the name is not valid.
    fn add_name(
        &mut self,
        error: &ValidationError<'_>,
        name: &Value,
    ) -> Result<(), CannotValidate> {
        let (before, blame) = (self.causes, self.blame.clone());
        self.add(error, Some(name))?;
        if self.causes > before {
            self.blame = Blame::Nothing;
        }
        let evaluation_path = error.evaluation_path().as_str();
        let end = evaluation_path.rfind("/propertyNames").unwrap_or(evaluation_path.len());
        let site = Site {
            evaluation_path: &format!("{}/propertyNames", &evaluation_path[..end]),
            instance_path: error.instance_path().as_str(),
            name: Some(name),
        };
        let trail = self.tracker.follow(self.start, site)?;
        let name = name.as_str().unwrap_or_default();
        let base = Base {
            order: &trail.order,
            schema_path: trail.schema_path.strip_suffix("/propertyNames").unwrap_or_default(),
            instance_path: &trail.instance_path,
            property_name: None,
            schema: Some(trail.place.schema),
        };
        self.say(&base, &[LAST], "propertyNames", wording::of_name(name));
        self.blame = blame;
        Ok(())
    }

    fn say(&mut self, base: &Base<'s, '_>, order: &[usize], keyword: &'static str, words: Words) {
        let order = [base.order, order].concat();
        if !self.said.insert(order.clone()) {
            return;
        }
        let error = ErrorObject {
            keyword,
            instance_path: base.instance_path.to_owned(),
            schema_path: format!("{}/{keyword}", base.schema_path),
            params: words.params,
            property_name: base.property_name.map(str::to_owned),
            message: words.message,
        };
        let is_cause = self.blame.holds(keyword, base.instance_path);
        self.causes += usize::from(is_cause);
        self.entries.push(Entry { order, error, cause: is_cause.then_some(base.schema) });
    }
}

/// The properties that all errors of one keyword share.
struct Base<'s, 'a> {
    order: &'a [usize],
    schema_path: &'a str,
    instance_path: &'a str,
    property_name: Option<&'a str>,
    schema: Option<&'s Value>,
}

fn site<'e>(error: &'e ValidationError<'_>, name: Option<&'e Value>) -> Site<'e> {
    Site {
        evaluation_path: error.evaluation_path().as_str(),
        instance_path: error.instance_path().as_str(),
        name,
    }
}
