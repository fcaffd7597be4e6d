//! Finds the root causes among errors. If several alternatives fail, the errors of the intended alternative
//! are the root causes.

use crate::documents::{Documents, Place};
use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;
use std::{cmp::Reverse, collections::HashMap, ptr, rc::Rc};

/// Which of the next errors are root causes.
#[derive(Clone, Debug, PartialEq)]
pub enum Blame {
    /// None: the errors belong to an alternative that was not intended.
    Nothing,
    /// All.
    All,
    /// Only errors about the value at this path: a wrong type or a value that is not allowed.
    Value(Rc<str>),
}

impl Blame {
    /// Whether this error is a root cause.
    pub fn holds(&self, keyword: &str, instance_path: &str) -> bool {
        match self {
            Self::Nothing => false,
            // The errors of `then` and `else` are more precise.
            Self::All => keyword != "if",
            Self::Value(path) => {
                matches!(keyword, "type" | "enum" | "const") && instance_path == &**path
            }
        }
    }
}

/// How well an alternative fits; the greatest value fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// The alternative allows the type of the value.
    type_fits: bool,
    /// Neither the value nor one of its members contradicts a `const` or `enum`.
    agrees: bool,
    /// A member matches a `const` or `enum`.
    is_named: bool,
    /// Depth of the outermost error in the instance.
    depth: usize,
    errors: Reverse<usize>,
}

/// Compares alternatives. Caches results for one error and the errors nested in it.
#[derive(Default)]
pub struct Judge {
    /// How well the best alternative of an error fits.
    best_fits: HashMap<*const (), Fit>,
}

/// The alternatives of an `anyOf` or `oneOf` that all fail.
pub struct Alternatives<'s, 'e, 'v> {
    /// The errors of each alternative.
    pub errors: &'e [Vec<ValidationError<'v>>],
    /// Path of the value in the instance, in the notation of `errors`.
    pub path: &'e str,
    /// The schema with the alternatives.
    pub place: Place<'s>,
    /// The keyword of the alternatives.
    pub keyword: &'static str,
    /// The value being validated.
    pub instance: &'e Value,
}

impl Judge {
    /// Clears the cache.
    pub fn forget(&mut self) {
        self.best_fits.clear();
    }

    /// Decides which errors of each alternative are root causes. If `blame` is not [`Blame::All`], each
    /// alternative gets `blame` itself. `prefix` is prepended to paths in the result.
    pub fn assign<'s>(
        &mut self,
        documents: &Documents<'s>,
        alternatives: &Alternatives<'s, '_, '_>,
        blame: &Blame,
        prefix: &str,
    ) -> Vec<Blame> {
        let count = alternatives.errors.len();
        if *blame != Blame::All {
            return vec![blame.clone(); count];
        }
        let fits: Vec<Fit> = (0..count)
            .map(|index| {
                let fit = self.fit(&alternatives.errors[index], alternatives.path);
                Fit { is_named: is_named(documents, alternatives, index), ..fit }
            })
            .collect();
        let mut best = None;
        for (index, fit) in fits.iter().enumerate() {
            if best.is_none_or(|best: usize| *fit > fits[best]) {
                best = Some(index);
            }
        }
        let Some(best) = best else { return Vec::new() };
        // If no alternative allows the type or the constant of a value, the value is wrong, and the errors about the
        // value count in all alternatives.
        let at = if !fits[best].type_fits {
            Some(alternatives.path)
        } else if !fits[best].agrees {
            disputed(&alternatives.errors[best], alternatives.path)
        } else {
            None
        };
        let disputes = |errors: &[ValidationError<'_>]| {
            at.is_some_and(|at| errors.iter().any(|error| disputes_at(error, at)))
        };
        let disputing: Vec<bool> = alternatives.errors.iter().map(|all| disputes(all)).collect();
        if let Some(at) = at
            && disputing.iter().filter(|disputes| **disputes).count() > 1
        {
            let value = Blame::Value(format!("{prefix}{at}").into());
            let blame_if = |disputes| if disputes { value.clone() } else { Blame::Nothing };
            return disputing.into_iter().map(blame_if).collect();
        }
        (0..count).map(|index| if index == best { Blame::All } else { Blame::Nothing }).collect()
    }

    /// How well an alternative fits, judged by its errors.
    fn fit(&mut self, errors: &[ValidationError<'_>], path: &str) -> Fit {
        let mut fit = Fit {
            type_fits: true,
            agrees: true,
            is_named: false,
            depth: usize::MAX,
            errors: Reverse(0),
        };
        for error in errors {
            let at = error.instance_path().as_str();
            let is_here = at == path;
            let inner = match within(error) {
                Some(alternatives) => self.fit_of_best(error, alternatives),
                None => Fit {
                    type_fits: !is_of_type(error),
                    agrees: !is_of_value(error),
                    is_named: false,
                    depth: at.matches('/').count(),
                    errors: Reverse(1),
                },
            };
            fit.type_fits &= inner.type_fits || !is_here;
            fit.agrees &= inner.agrees || !is_at_or_in(at, path);
            fit.depth = fit.depth.min(inner.depth);
            fit.errors.0 += inner.errors.0;
        }
        fit
    }

    fn fit_of_best(
        &mut self,
        error: &ValidationError<'_>,
        alternatives: &[Vec<ValidationError<'_>>],
    ) -> Fit {
        let key = ptr::from_ref(error).cast::<()>();
        if let Some(known) = self.best_fits.get(&key) {
            return *known;
        }
        let path = error.instance_path().as_str();
        let best = alternatives.iter().map(|errors| self.fit(errors, path)).max();
        let best = best.unwrap_or_else(|| self.fit(&[], path));
        self.best_fits.insert(key, best);
        best
    }
}

/// The errors of each alternative, if the error says that all alternatives fail.
pub fn within<'e, 'v>(error: &'e ValidationError<'v>) -> Option<&'e [Vec<ValidationError<'v>>]> {
    if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind() {
        Some(context)
    } else {
        None
    }
}

fn is_of_type(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { .. })
}

fn is_of_value(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
}

fn is_at_or_in(at: &str, path: &str) -> bool {
    at.strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.rfind('/').is_some_and(|slash| slash == 0))
}

/// The first path whose value is not one of the allowed values.
fn disputed<'e>(errors: &'e [ValidationError<'_>], path: &str) -> Option<&'e str> {
    errors.iter().find_map(|error| {
        let at = error.instance_path().as_str();
        if is_of_value(error) && is_at_or_in(at, path) {
            return Some(at);
        }
        within(error)?.iter().find_map(|errors| disputed(errors, path))
    })
}

fn disputes_at(error: &ValidationError<'_>, at: &str) -> bool {
    if error.instance_path().as_str() == at && (is_of_type(error) || is_of_value(error)) {
        return true;
    }
    within(error).is_some_and(|all| all.iter().flatten().any(|error| disputes_at(error, at)))
}

/// Whether a member of the instance matches a `const` or `enum` of the alternative.
fn is_named<'s>(documents: &Documents<'s>, all: &Alternatives<'s, '_, '_>, index: usize) -> bool {
    let alternative = all.place.schema.get(all.keyword).and_then(|schemas| schemas.get(index));
    alternative
        .is_some_and(|schema| has_named_value(documents, all.place.part(schema), all.instance, 8))
}

fn has_named_value<'s>(
    documents: &Documents<'s>,
    at: Place<'s>,
    instance: &Value,
    levels: usize,
) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return false };
    let has_own =
        at.schema.get("properties").and_then(Value::as_object).is_some_and(|properties| {
            properties.iter().any(|(name, schema)| {
                let allowed = schema.get("enum").and_then(Value::as_array);
                instance.get(name).is_some_and(|value| {
                    schema.get("const") == Some(value)
                        || allowed.is_some_and(|values| values.contains(value))
                })
            })
        });
    let target = at.schema.get("$ref").and_then(Value::as_str);
    has_own
        || target
            .and_then(|reference| documents.follow(at, reference).ok())
            .is_some_and(|target| has_named_value(documents, target, instance, levels))
        || at.schema.get("allOf").and_then(Value::as_array).is_some_and(|parts| {
            parts.iter().any(|part| has_named_value(documents, at.part(part), instance, levels))
        })
}
