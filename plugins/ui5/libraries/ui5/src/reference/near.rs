//! Suggests names in place of one that does not exist.

use super::{lookup, source::Source};

/// Maximum number of names suggested.
const OFFERED: usize = 5;

/// Maximum number of symbols in which the member of the query is searched.
const MAX_READ: usize = 8;

/// The names that a query without a result may mean, best first: public symbols, and members of
/// public symbols as `Symbol#member`. `wanted` is normalised; `query` is as typed.
pub fn suggest(source: &mut Source, wanted: &str, query: &str) -> Result<Vec<String>, String> {
    let keys = source.keys()?;
    let mut rated: Vec<(usize, String)> = Vec::new();
    for (distance, key) in close(wanted, &keys) {
        rated.extend(source.name(key).map(|name| (distance, name)));
    }
    // The query may mean a member: its symbol is before the `#`, or before the last dot.
    let member = query.trim().rsplit_once('#').map(|(_, member)| member.trim().to_lowercase());
    let member = member.or_else(|| Some(wanted.rsplit_once('.')?.1.to_owned()));
    if let Some(member) = member.filter(|member| !member.is_empty())
        && let Some(owner) = wanted.strip_suffix(&format!(".{member}"))
    {
        let mut owners = close(owner, &keys);
        owners.truncate(MAX_READ);
        for (distance, key) in owners {
            let Ok(Some(symbol)) = source.find(key) else { continue };
            let Some(name) = source.name(key) else { continue };
            let mut members = Vec::new();
            let found = lookup::inherited(source, symbol, &member, &mut members);
            if let Ok(Some(hit)) = found {
                let exact = hit.content.get("name").and_then(|name| name.as_str());
                rated.push((distance, format!("{name}#{}", exact.unwrap_or(&member))));
            } else {
                let members = close(&member, &members).into_iter();
                rated.extend(members.map(|(more, it)| (distance + more, format!("{name}#{it}"))));
            }
        }
    }
    if rated.is_empty() {
        rated = elsewhere(source, wanted, &keys);
    }
    rated.sort();
    let mut names: Vec<String> = Vec::new();
    for (_, name) in rated {
        if names.len() < OFFERED && !names.contains(&name) && is_public(source, &name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The names that differ from `wanted` in few letters, each with the number of these letters. The nearest
/// names come first; names at the same distance are in alphabetical order.
fn close<'n>(wanted: &str, names: &'n [String]) -> Vec<(usize, &'n String)> {
    let length = wanted.chars().count();
    // The limit depends on the last part: the parts before it are long, and shared by many names.
    let most = (last(wanted).chars().count() / 4).clamp(1, 3);
    let mut found: Vec<(usize, &String)> = names
        .iter()
        .filter(|name| name.chars().count().abs_diff(length) <= most)
        .map(|name| (strsim::damerau_levenshtein(&name.to_lowercase(), wanted), name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort();
    found
}

/// Symbols of any namespace whose last part equals the last part of `wanted`, or else begins with it.
fn elsewhere(source: &mut Source, wanted: &str, keys: &[String]) -> Vec<(usize, String)> {
    let part = last(wanted);
    if part.len() <= 3 {
        return Vec::new();
    }
    let rate = |key: &String| {
        let other = last(key);
        if other == part { Some(0) } else { (other.starts_with(part)).then_some(1) }
    };
    let rated: Vec<(usize, &String)> =
        keys.iter().filter_map(|key| Some((rate(key)?, key))).collect();
    let best = rated.iter().map(|(rate, _)| *rate).min();
    let kept = rated.into_iter().filter(|(rate, _)| Some(*rate) == best);
    kept.filter_map(|(rate, key)| Some((rate, source.name(key)?))).collect()
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Whether the symbol of a suggestion is public. The suggestion may name a member of the symbol.
fn is_public(source: &mut Source, name: &str) -> bool {
    let symbol = name.split('#').next().unwrap_or_default();
    let symbol = source.find(&lookup::normalise(symbol));
    symbol.is_ok_and(|symbol| symbol.is_some_and(|symbol| !lookup::is_private(&symbol)))
}
