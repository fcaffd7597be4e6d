//! Edits of YAML: an entry is added, corrected or removed, and all other bytes stay.

mod node;

use serde_json::Value;

use crate::entry::Keys;
use crate::text::{Unparsable, line_end};
use node::{Kind, Node, parse};

pub(crate) fn value(text: &str) -> Result<Value, Unparsable> {
    Ok(parse(text)?.map_or(Value::Null, |node| node.value()))
}

/// Adds an entry: to a mapping if `name` is given, and otherwise to a list.
pub(crate) fn add(text: &str, key: &str, name: Option<&str>, entry: &Keys) -> Option<String> {
    let lines = |indent: usize| match name {
        Some(name) => {
            let mut lines = vec![format!("{}{}:", spaces(indent), scalar(name))];
            lines.extend(block(entry, indent + 2));
            lines
        }
        None => {
            let mut lines = block(entry, indent + 2);
            if let Some(first) = lines.first_mut() {
                *first = format!("{}- {}", spaces(indent), first.trim_start());
            }
            lines
        }
    };
    let root = parse(text).ok()?.filter(|root| !root.is_nothing());
    let found = match &root {
        None => None,
        Some(root) if matches!(root.kind, Kind::Map(_, false)) => root.pair(key),
        Some(_) => return None,
    };
    let Some((key_node, servers)) = found else {
        let mut new = vec![format!("{key}:")];
        new.extend(lines(2));
        return Some(insert(text, text.len(), &new));
    };
    let is_empty = match &servers.kind {
        Kind::Scalar(..) => servers.is_nothing(),
        Kind::Map(pairs, _) => pairs.is_empty(),
        Kind::List(items, _) => items.is_empty(),
        Kind::Alias(_) => false,
    };
    if is_empty {
        // The entry replaces `{}`, `[]`, `null`, `~` or an empty value.
        let colon = text.get(key_node.range.end..)?.find(':')? + key_node.range.end + 1;
        let end = servers.range.end.max(colon);
        let text = format!("{}{}", text.get(..colon)?, text.get(end..)?);
        let indent = column(&text, key_node.range.start)? + 2;
        return Some(insert(&text, line_after(&text, colon)?, &lines(indent)));
    }
    match &servers.kind {
        Kind::Map(pairs, false) => {
            let indent = column(text, pairs.first()?.0.range.start)?;
            Some(insert(text, line_after(text, servers.range.end)?, &lines(indent)))
        }
        Kind::List(items, false) => {
            let indent = indentation(text, items.first()?.range.start)?;
            Some(insert(text, line_after(text, servers.range.end)?, &lines(indent)))
        }
        Kind::Map(pairs, true) => {
            let at = pairs.last()?.1.range.end;
            let added = format!(", {}: {}", Value::from(name?), Value::Object(entry.clone()));
            Some(replaced(text, at..at, &added))
        }
        Kind::List(items, true) => {
            let at = items.last()?.range.end;
            Some(replaced(text, at..at, &format!(", {}", Value::Object(entry.clone()))))
        }
        Kind::Scalar(..) | Kind::Alias(_) => None,
    }
}

pub(crate) fn correct(
    text: &str,
    key: &str,
    name: &str,
    corrections: &[(String, Value)],
) -> Option<String> {
    let mut text = text.to_owned();
    for (changed, new) in corrections {
        let root = parse(&text).ok()??;
        let (_, entry) = find_entry(root.get(key)?, name)?;
        let Kind::Map(pairs, is_flow) = &entry.kind else { return None };
        let Some((_, old)) = entry.pair(changed) else {
            if *is_flow {
                return None;
            }
            let indent = column(&text, pairs.first()?.0.range.start)?;
            let keys = Keys::from_iter([(changed.clone(), new.clone())]);
            text = insert(&text, line_after(&text, entry.range.end)?, &block(&keys, indent));
            continue;
        };
        text = match (&old.kind, new) {
            (Kind::List(items, false), Value::Array(new)) if !new.is_empty() => {
                let first = items.first()?.range.start;
                let start = text.get(..first)?.rfind('\n')? + 1;
                let indent = spaces(indentation(&text, first)?);
                let lines = new.iter().map(|one| format!("{indent}- {}", written(one)));
                let lines = lines.collect::<Vec<_>>().join(line_end(&text));
                replaced(&text, start..old.range.end, &lines)
            }
            (Kind::List(_, true) | Kind::Scalar(..), new) => {
                // Entries in braces are written as JSON.
                let new = if *is_flow { new.to_string() } else { written(new) };
                let new = new + header_comment(text.get(old.range.clone())?);
                replaced(&text, old.range.clone(), &new)
            }
            (Kind::List(..) | Kind::Map(..) | Kind::Alias(_), _) => return None,
        };
    }
    Some(text)
}

pub(crate) fn remove(text: &str, key: &str, name: &str) -> Option<String> {
    let root = parse(text).ok()??;
    let (key_node, servers) = root.pair(key)?;
    let (range, entry) = find_entry(servers, name)?;
    let (count, at, is_flow, empty) = match &servers.kind {
        Kind::Map(pairs, is_flow) => {
            let at = pairs.iter().position(|(_, value)| std::ptr::eq(value, entry))?;
            (pairs.len(), at, *is_flow, "{}")
        }
        Kind::List(items, is_flow) => {
            let at = items.iter().position(|item| std::ptr::eq(item, entry))?;
            (items.len(), at, *is_flow, "[]")
        }
        Kind::Scalar(..) | Kind::Alias(_) => return None,
    };
    if is_flow {
        let ranges: Vec<_> = match &servers.kind {
            Kind::Map(pairs, _) => {
                pairs.iter().map(|(key, value)| key.range.start..value.range.end).collect()
            }
            Kind::List(items, _) => items.iter().map(|item| item.range.clone()).collect(),
            Kind::Scalar(..) | Kind::Alias(_) => return None,
        };
        let cut =
            match (at.checked_sub(1).and_then(|before| ranges.get(before)), ranges.get(at + 1)) {
                (Some(before), _) => before.end..range.end,
                (None, Some(after)) => range.start..after.start,
                (None, None) => range,
            };
        return Some(replaced(text, cut, ""));
    }
    let start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
    let after = replaced(text, start..line_after(text, range.end)?, "");
    if count > 1 {
        return Some(after);
    }
    let colon = text.get(key_node.range.end..)?.find(':')? + key_node.range.end + 1;
    Some(replaced(&after, colon..colon, &format!(" {empty}")))
}

/// The entry with this name, and the range of the entry. In a mapping, the range begins at the key of the entry. In a
/// list, it begins at the first key in the entry, or at the entry's brace.
fn find_entry<'a>(servers: &'a Node, name: &str) -> Option<(std::ops::Range<usize>, &'a Node)> {
    match &servers.kind {
        Kind::Map(..) => {
            let (key, value) = servers.pair(name)?;
            Some((key.range.start..value.range.end, value))
        }
        Kind::List(items, _) => {
            let has_name = |item: &&Node| item.get("name").is_some_and(|found| found.is_text(name));
            let item = items.iter().find(has_name)?;
            Some((item.range.clone(), item))
        }
        Kind::Scalar(..) | Kind::Alias(_) => None,
    }
}

/// The lines of a mapping.
fn block(keys: &Keys, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in keys {
        let key = format!("{}{}:", spaces(indent), scalar(key));
        match value {
            Value::Array(items) if !items.is_empty() => {
                lines.push(key);
                lines.extend(
                    items.iter().map(|item| format!("{}- {}", spaces(indent + 2), written(item))),
                );
            }
            Value::Object(inner) if !inner.is_empty() => {
                lines.push(key);
                lines.extend(block(inner, indent + 2));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => lines.push(format!("{key} {}", written(value))),
        }
    }
    lines
}

/// A value on one line. Values other than texts are written as JSON, which is also YAML.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), scalar)
}

/// A text as a scalar: without quotes only if no parser can read it as another type.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "/._- ".contains(letter);
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.contains(&&*text.to_ascii_lowercase());
    if begins && text.chars().all(fits) && !text.ends_with(' ') && !is_word {
        return text.to_owned();
    }
    Value::from(text).to_string()
}

/// The comment beside the indicator of a block scalar, with the spaces before the comment. Empty: there is none, or the
/// node is not a block scalar.
fn header_comment(node: &str) -> &str {
    let header =
        node.lines().next().filter(|line| line.starts_with(['|', '>'])).unwrap_or_default();
    header.find([' ', '\t']).and_then(|at| header.get(at..)).unwrap_or_default().trim_end()
}

fn spaces(count: usize) -> String {
    " ".repeat(count)
}

fn replaced(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(range, new);
    text
}

/// Inserts lines at the beginning of a line, or at the end of the text.
fn insert(text: &str, at: usize, lines: &[String]) -> String {
    let end = line_end(text);
    let (before, after) = text.split_at(at);
    let between = if before.is_empty() || before.ends_with('\n') { "" } else { end };
    format!("{before}{between}{}{end}{after}", lines.join(end))
}

/// The beginning of the next line after an offset.
fn line_after(text: &str, offset: usize) -> Option<usize> {
    Some(text.get(offset..)?.find('\n').map_or(text.len(), |at| offset + at + 1))
}

/// The column of an offset, from 0.
fn column(text: &str, offset: usize) -> Option<usize> {
    Some(text.get(..offset)?.rsplit('\n').next().unwrap_or_default().chars().count())
}

/// The number of spaces at the beginning of the line of an offset.
fn indentation(text: &str, offset: usize) -> Option<usize> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
    Some(text.get(start..)?.chars().take_while(|letter| *letter == ' ').count())
}

#[cfg(test)]
mod tests;
