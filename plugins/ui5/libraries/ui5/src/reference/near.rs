//! Suggests names in place of one that does not exist.

use super::{lookup, source::Source};

/// Maximum number of names suggested.
const MAX_NAMES: usize = 5;

/// Maximum number of symbols in which the member of the query is searched.
const MAX_SYMBOLS: usize = 8;

/// The names that a query without a result may mean, best first: public symbols, and members of
/// public symbols as `Symbol#member`. `wanted` is normalised; `query` is as typed.
pub fn suggest(source: &mut Source, wanted: &str, query: &str) -> Result<Vec<String>, String> {
    let keys = source.keys()?;
    let mut rated: Vec<(usize, String)> = Vec::new();
    for (distance, key) in near_names(wanted, &keys) {
        rated.extend(source.name(key).map(|name| (distance, name)));
    }
    // The query may mean a member: its symbol is before the `#`, or before the last dot.
    let member = query.trim().rsplit_once('#').map(|(_, member)| member.trim().to_lowercase());
    let member = member.or_else(|| Some(wanted.rsplit_once('.')?.1.to_owned()));
    if let Some(member) = member.filter(|member| !member.is_empty())
        && let Some(owner) = wanted.strip_suffix(&format!(".{member}"))
    {
        let mut owners = near_names(owner, &keys);
        owners.truncate(MAX_SYMBOLS);
        for (distance, key) in owners {
            let Ok(Some(symbol)) = source.find(key) else { continue };
            let Some(name) = source.name(key) else { continue };
            let mut members = Vec::new();
            let found = lookup::inherited(source, symbol, &member, &mut members);
            if let Ok(Some(hit)) = found {
                let exact = hit.content.get("name").and_then(|name| name.as_str());
                rated.push((distance, format!("{name}#{}", exact.unwrap_or(&member))));
            } else {
                let members = near_names(&member, &members).into_iter();
                rated.extend(
                    members.map(|(more, near)| (distance + more, format!("{name}#{near}"))),
                );
            }
        }
    }
    if rated.is_empty() {
        rated = in_any_namespace(source, wanted, &keys);
    }
    rated.sort();
    let mut names: Vec<String> = Vec::new();
    for (_, name) in rated {
        if names.len() < MAX_NAMES && !names.contains(&name) && is_public(source, &name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The names that differ from `wanted` in few letters, each with the number of these letters. The nearest
/// names come first; names at the same distance are in alphabetical order.
fn near_names<'n>(wanted: &str, names: &'n [String]) -> Vec<(usize, &'n String)> {
    let length = wanted.chars().count();
    // The limit depends on the last part: the parts before it are long, and shared by many names.
    let max_distance = (last_part(wanted).chars().count() / 4).clamp(1, 3);
    let mut found: Vec<(usize, &String)> = names
        .iter()
        .filter(|name| name.chars().count().abs_diff(length) <= max_distance)
        .map(|name| (strsim::damerau_levenshtein(&name.to_lowercase(), wanted), name))
        .filter(|(distance, _)| *distance <= max_distance)
        .collect();
    found.sort();
    found
}

/// Symbols of any namespace whose last part equals the last part of `wanted`, or else begins with it.
fn in_any_namespace(source: &mut Source, wanted: &str, keys: &[String]) -> Vec<(usize, String)> {
    let part = last_part(wanted);
    if part.len() <= 3 {
        return Vec::new();
    }
    let rate = |key: &String| {
        let other = last_part(key);
        if other == part { Some(0) } else { (other.starts_with(part)).then_some(1) }
    };
    let rated: Vec<(usize, &String)> =
        keys.iter().filter_map(|key| Some((rate(key)?, key))).collect();
    let best = rated.iter().map(|(rate, _)| *rate).min();
    let kept = rated.into_iter().filter(|(rate, _)| Some(*rate) == best);
    kept.filter_map(|(rate, key)| Some((rate, source.name(key)?))).collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Whether the symbol of a suggestion is public. The suggestion may name a member of the symbol.
fn is_public(source: &mut Source, name: &str) -> bool {
    let symbol = name.split('#').next().unwrap_or_default();
    let symbol = source.find(&lookup::normalise(symbol));
    symbol.is_ok_and(|symbol| symbol.is_some_and(|symbol| !lookup::is_private(&symbol)))
}
