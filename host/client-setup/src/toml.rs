//! Edits of TOML.

use serde_json::{Map, Value as Json, json};
use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::entry::Keys;
use crate::text::{Unparsable, line_end, place};

fn parse(text: &str) -> Result<DocumentMut, Unparsable> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        Unparsable { line, column, reason: error.message().trim().to_owned() }
    })
}

pub(crate) fn value(text: &str) -> Result<Json, Unparsable> {
    Ok(table(parse(text)?.as_table()))
}

/// Adds a table at the end of the text: `[mcp_servers.NAME]`. If the servers are written on one line, the entry is
/// added to this line.
pub(crate) fn add(text: &str, key: &str, name: &str, entry: &Keys) -> Option<String> {
    let mut document = parse(text).ok()?;
    let is_inline = document.get(key).is_some_and(|servers| {
        servers.is_value() || servers.as_table().is_some_and(toml_edit::Table::is_dotted)
    });
    if is_inline {
        let entry = entry.iter().map(|(key, value)| Some((key.as_str(), written(value)?)));
        let entry: toml_edit::InlineTable = entry.collect::<Option<_>>()?;
        document.get_mut(key)?.as_table_like_mut()?.insert(name, Item::Value(entry.into()));
        return Some(with_ends_of(text, &document.to_string()));
    }
    let end = line_end(text);
    let header = toml_edit::Key::new(name).display_repr().into_owned();
    let mut added = format!("[{key}.{header}]{end}");
    for (key, value) in entry {
        added += &format!("{key} = {}{end}", written(value)?.to_string().trim());
    }
    let between = match text {
        "" => "",
        text if text.ends_with('\n') => end,
        _ => &[end, end].concat(),
    };
    Some(format!("{text}{between}{added}"))
}

pub(crate) fn correct(
    text: &str,
    key: &str,
    name: &str,
    corrections: &[(String, Json)],
) -> Option<String> {
    let mut document = parse(text).ok()?;
    let entry = document.get_mut(key)?.get_mut(name)?.as_table_like_mut()?;
    for (key, new) in corrections {
        let mut new = written(new)?;
        match entry.get_mut(key) {
            Some(Item::Value(old)) => {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            Some(_) => return None,
            None => drop(entry.insert(key, Item::Value(new))),
        }
    }
    Some(with_ends_of(text, &document.to_string()))
}

/// Removes an entry: the lines of its tables, up to the next table. Comments before that table stay.
pub(crate) fn remove(text: &str, key: &str, name: &str) -> Option<String> {
    let document = toml_edit::Document::parse(text).ok()?;
    let entry = document.get(key)?.get(name)?;
    let Some(written) = entry.as_table().filter(|table| !table.is_dotted()) else {
        let mut document = parse(text).ok()?;
        document.get_mut(key)?.as_table_like_mut()?.remove(name)?;
        return Some(with_ends_of(text, &document.to_string()));
    };
    let mut after = text.to_owned();
    for span in spans(written).into_iter().rev() {
        after.replace_range(whole_lines(text, span)?, "");
    }
    Some(after)
}

/// The spans of a table and of the tables in it, in their order. Each span has a header and the keys below the header.
fn spans(table: &toml_edit::Table) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    if let Some(header) = table.span().filter(|_| !table.is_implicit()) {
        let ends =
            table.iter().filter_map(|(_, item)| item.as_value()?.span()).map(|span| span.end);
        all.push(header.start..ends.chain([header.end]).max().unwrap_or(header.end));
    }
    let inner =
        table.iter().filter_map(|(_, item)| item.as_table()).filter(|inner| !inner.is_dotted());
    all.extend(inner.flat_map(spans));
    all.sort_unstable_by_key(|span| span.start);
    all
}

/// The whole lines of a span, with the empty lines after it. At the end of the text, also with the empty lines before
/// it.
fn whole_lines(text: &str, span: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let mut start = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let mut end = text.get(span.end..)?.find('\n').map_or(text.len(), |at| span.end + at + 1);
    while let Some(line) =
        text.get(end..)?.split_inclusive('\n').next().filter(|line| line.trim().is_empty())
    {
        end += line.len();
    }
    while end == text.len()
        && let Some(line) = text
            .get(..start)?
            .split_inclusive('\n')
            .next_back()
            .filter(|line| line.trim().is_empty())
    {
        start -= line.len();
    }
    Some(start..end)
}

/// The text `after` an edit with the line ends of the text `before`, because toml_edit writes the line ends of Unix.
fn with_ends_of(before: &str, after: &str) -> String {
    let after = after.replace("\r\n", "\n");
    if line_end(before) == "\r\n" { after.replace('\n', "\r\n") } else { after }
}

/// A value as TOML. `None`: the value contains null, or a number that is not a TOML integer.
fn written(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => Value::from(number.as_i64()?),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(all) => Value::Array(all.iter().map(written).collect::<Option<_>>()?),
        Json::Object(all) => {
            let all = all.iter().map(|(key, value)| Some((key.as_str(), written(value)?)));
            Value::InlineTable(all.collect::<Option<_>>()?)
        }
    })
}

fn table(table: &dyn TableLike) -> Json {
    let keys = table.iter().map(|(key, item)| (key.to_owned(), item_value(item)));
    Json::Object(keys.collect::<Map<_, _>>())
}

fn item_value(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => plain(value),
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(all) => Json::Array(all.iter().map(|one| table(one)).collect()),
    }
}

fn plain(value: &Value) -> Json {
    match value {
        Value::String(text) => json!(text.value()),
        Value::Integer(number) => json!(number.value()),
        Value::Boolean(flag) => json!(flag.value()),
        // Floats and times are only compared with each other, so their texts are enough.
        Value::Float(number) => json!(number.value().to_string()),
        Value::Datetime(time) => json!(time.value().to_string()),
        Value::Array(all) => Json::Array(all.iter().map(plain).collect()),
        Value::InlineTable(inner) => table(inner),
    }
}
