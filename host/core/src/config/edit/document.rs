//! Changes single keys of a TOML text and keeps everything else as it is written: comments, order and spaces.

use serde_json::{Number, Value as Json};
use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value,
};

/// The keys and values of a table, as JSON.
pub(super) type Keys = serde_json::Map<String, Json>;

/// Whether the text has a table or value at `path`.
pub(super) fn has(document: &DocumentMut, path: &[&str]) -> bool {
    let found = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    found.is_some_and(|item| !item.is_none())
}

/// Changes the table at `path` from the keys `before` to the keys `after`. A missing table is added. `None`: a part
/// of the path is not a table.
pub(super) fn change(
    document: &mut DocumentMut,
    path: &[&str],
    before: &Keys,
    after: &Keys,
) -> Option<()> {
    let is_new = !has(document, path);
    let is_first = document.iter().next().is_none();
    let table = table_at(document, path)?;
    change_table(table.as_table_like_mut()?, before, after);
    if let (true, Item::Table(table)) = (is_new, table)
        && !table.is_dotted()
    {
        table.set_implicit(false);
        separate(document, path, is_first);
    }
    Some(())
}

/// Writes the header of a table that is missing or empty, so that the text has the table.
pub(super) fn keep_header(document: &mut DocumentMut, path: &[&str]) -> Option<()> {
    let (is_new, is_first) = (!has(document, path), document.iter().next().is_none());
    if let Item::Table(table) = table_at(document, path)?
        && table.is_empty()
    {
        table.set_dotted(false);
        table.set_implicit(false);
        if is_new {
            separate(document, path, is_first);
        }
    }
    Some(())
}

/// Adds a table as it is written in another document, without the comments that do not belong to the table. `None`:
/// the other document has no such table, or a part of the path is not a table.
pub(super) fn copy(document: &mut DocumentMut, path: &[&str], from: &DocumentMut) -> Option<()> {
    let found = path.iter().try_fold(from.as_item(), |item, key| item.get(key))?;
    let mut copied = found.clone();
    remove_positions(&mut copied);
    let is_first = document.iter().next().is_none();
    *table_at(document, path)? = copied;
    separate(document, path, is_first);
    Some(())
}

/// Removes the positions of copied tables, which give their order in the other document only. Also removes the
/// comments that are not directly above a header.
fn remove_positions(item: &mut Item) {
    match item {
        Item::Table(table) => {
            table.set_position(None);
            let prefix = table.decor().prefix().map(text).unwrap_or_default();
            let prefix = format!("\n{prefix}");
            let own = prefix.rsplit_once("\n\n").map_or(prefix.as_str(), |(_, own)| own);
            let own = format!("\n{}", own.trim_start_matches('\n'));
            table.decor_mut().set_prefix(own);
            table.iter_mut().for_each(|(_, item)| remove_positions(item));
        }
        Item::ArrayOfTables(all) => all.iter_mut().for_each(|table| {
            table.set_position(None);
            table.iter_mut().for_each(|(_, item)| remove_positions(item));
        }),
        Item::Value(_) | Item::None => {}
    }
}

/// Puts an empty line before a new table. The first table of a text is put after the comments of the text.
fn separate(document: &mut DocumentMut, path: &[&str], is_first: bool) {
    let comments = if is_first { text(document.trailing()) } else { String::new() };
    let Some(table) = find_header(document.as_item_mut(), path) else { return };
    let own = table.decor().prefix().map(text).unwrap_or_default();
    let between = if is_first && comments.is_empty() { "" } else { "\n" };
    let own = own.trim_start_matches('\n');
    table.decor_mut().set_prefix(format!("{comments}{between}{own}"));
    if is_first {
        document.set_trailing("");
    }
}

/// The first header that is written for the table at a path.
fn find_header<'a>(root: &'a mut Item, path: &[&str]) -> Option<&'a mut Table> {
    let found = path.iter().try_fold(root, |item, key| item.get_mut(key))?;
    let mut table = found.as_table_mut()?;
    while table.is_implicit() {
        let next = table.iter_mut().find_map(|(_, item)| item.as_table_mut());
        // An implicit table without tables has no header.
        table = next?;
    }
    Some(table)
}

/// The table at a path. Missing tables are added in the way in which the table above them is written.
fn table_at<'a>(document: &'a mut DocumentMut, path: &[&str]) -> Option<&'a mut Item> {
    path.iter().try_fold(document.as_item_mut(), |item, key| match item {
        Item::Table(table) => {
            if table.get(key).is_none_or(Item::is_none) {
                let mut new = Table::new();
                new.set_implicit(true);
                new.set_dotted(table.is_dotted());
                table.insert(key, Item::Table(new));
            }
            table.get_mut(key)
        }
        Item::Value(Value::InlineTable(table)) => {
            if !table.contains_key(key) {
                table.insert(*key, Value::InlineTable(InlineTable::new()));
            }
            TableLike::get_mut(table, key)
        }
        Item::Value(_) | Item::ArrayOfTables(_) | Item::None => None,
    })
}

/// Removes the table at a path, and the tables above it that are then empty and have no header. Comments that belong
/// to another part of the text stay.
pub(super) fn remove(document: &mut DocumentMut, path: &[&str]) {
    let Some((last, above)) = path.split_last() else { return };
    let above = above.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key));
    let Some(parent) = above.and_then(Item::as_table_like_mut) else { return };
    let removed = parent.remove(last);
    if let Some(Item::Table(table)) = removed
        && let Some(position) = table.position()
        && !table.is_dotted()
        && !table.is_implicit()
    {
        let prefix = table.decor().prefix().map(text).unwrap_or_default();
        keep_comments(document, position, &prefix);
    }
    for length in (1..path.len()).rev() {
        let (Some(last), above) =
            (path.get(length - 1), path.get(..length - 1).unwrap_or_default())
        else {
            return;
        };
        let above = above.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key));
        let Some(Item::Table(parent)) = above else { return };
        let is_empty =
            |table: &Table| table.is_empty() && (table.is_implicit() || table.is_dotted());
        if parent.get(last).and_then(Item::as_table).is_some_and(is_empty) {
            parent.remove(last);
        }
    }
}

/// Keeps those comments before a removed table that are not directly above its header: moves them to the next table, or
/// to the end of the text.
fn keep_comments(document: &mut DocumentMut, position: isize, prefix: &str) {
    let is_first = document.as_table().get_values().is_empty()
        && next_position(document.as_table(), isize::MIN).is_none_or(|first| first > position);
    let kept = match prefix.rfind("\n\n") {
        Some(at) => prefix.get(..=at).unwrap_or_default(),
        // The comments at the beginning of a file are about the file.
        None if is_first => prefix,
        None => "",
    };
    if kept.trim().is_empty() {
        // The first table of a text has no empty line before it.
        if is_first && let Some(next) = next_position(document.as_table(), position) {
            change_prefix(document.as_table_mut(), next, |own| {
                own.trim_start_matches('\n').to_owned()
            });
        }
        return;
    }
    match next_position(document.as_table(), position) {
        Some(next) => {
            change_prefix(document.as_table_mut(), next, |own| format!("{kept}{own}"));
        }
        None => {
            let trailing = format!("{kept}{}", text(document.trailing()));
            document.set_trailing(trailing);
        }
    }
}

/// The smallest position of a header that is larger than `after`.
fn next_position(table: &Table, after: isize) -> Option<isize> {
    let own = |table: &Table| {
        table.position().filter(|at| *at > after && !table.is_implicit() && !table.is_dotted())
    };
    let of_items = table.iter().filter_map(|(_, item)| match item {
        Item::Table(table) => own(table).into_iter().chain(next_position(table, after)).min(),
        Item::ArrayOfTables(all) => all
            .iter()
            .filter_map(|one| own(one).into_iter().chain(next_position(one, after)).min())
            .min(),
        Item::Value(_) | Item::None => None,
    });
    of_items.min()
}

/// Changes the comments and spaces before the header at a position.
fn change_prefix(table: &mut Table, position: isize, change: impl Fn(&str) -> String + Copy) {
    let change_own = |table: &mut Table| {
        if table.position() == Some(position) {
            let own = table.decor().prefix().map(text).unwrap_or_default();
            table.decor_mut().set_prefix(change(&own));
        }
    };
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => {
                change_own(table);
                change_prefix(table, position, change);
            }
            Item::ArrayOfTables(all) => all.iter_mut().for_each(|table| {
                change_own(table);
                change_prefix(table, position, change);
            }),
            Item::Value(_) | Item::None => {}
        }
    }
}

fn change_table(table: &mut dyn TableLike, before: &Keys, after: &Keys) {
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        table.remove(key);
    }
    for (key, new) in after {
        match (table.get_mut(key), before.get(key)) {
            (Some(_), Some(old)) if old == new => {}
            (Some(item), Some(old)) => change_item(item, old, new),
            (Some(_) | None, _) => drop(table.insert(key, Item::Value(value(new)))),
        }
    }
}

fn change_item(item: &mut Item, old: &Json, new: &Json) {
    match (old, new) {
        (Json::Array(old), Json::Array(new)) => match item {
            Item::Value(Value::Array(array)) => return change_array(array, old, new),
            Item::ArrayOfTables(tables) => return change_tables(tables, old, new),
            Item::Value(_) | Item::Table(_) | Item::None => {}
        },
        (Json::Object(old), Json::Object(new)) => {
            if let Some(table) = item.as_table_like_mut() {
                return change_table(table, old, new);
            }
        }
        _ => {}
    }
    let mut written = value(new);
    if let Some(old) = item.as_value() {
        *written.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(written);
}

/// One step that turns a list into another list.
enum Step<'a> {
    Change { at: usize, old: &'a Json, new: &'a Json },
    Remove { at: usize },
    Push(&'a Json),
}

/// The steps that turn the list `old` into the list `new`. Removals come last, from the end of the list to its
/// beginning.
fn steps<'a>(old: &'a [Json], new: &'a [Json]) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    // Tables are changed in place, and new tables are appended.
    if new.len() >= old.len() && old.iter().all(Json::is_object) {
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            if old != new {
                steps.push(Step::Change { at, old, new });
            }
        }
        steps.extend(new.iter().skip(old.len()).map(Step::Push));
        return steps;
    }
    let mut missing: Vec<&Json> = new.iter().collect();
    let mut removed = Vec::new();
    for (at, one) in old.iter().enumerate() {
        match missing.iter().position(|new| *new == one) {
            Some(found) => drop(missing.remove(found)),
            None => removed.push(Step::Remove { at }),
        }
    }
    steps.extend(missing.into_iter().map(Step::Push));
    steps.extend(removed.into_iter().rev());
    steps
}

fn change_array(array: &mut Array, old: &[Json], new: &[Json]) {
    for step in steps(old, new) {
        match step {
            Step::Change { at, old: Json::Object(old), new: Json::Object(new) } => {
                if let Some(Value::InlineTable(table)) = array.get_mut(at) {
                    change_table(table, old, new);
                }
            }
            Step::Change { at, new, .. } => drop(array.replace(at, value(new))),
            Step::Remove { at } => remove_value(array, at),
            Step::Push(new) => push_value(array, value(new)),
        }
    }
}

fn change_tables(tables: &mut ArrayOfTables, old: &[Json], new: &[Json]) {
    for step in steps(old, new) {
        match step {
            Step::Change { at, old: Json::Object(old), new: Json::Object(new) } => {
                if let Some(table) = tables.get_mut(at) {
                    change_table(table, old, new);
                }
            }
            // A list of tables has tables only.
            Step::Change { .. } => {}
            Step::Remove { at } => drop(tables.remove(at)),
            Step::Push(new) => {
                let mut table = Table::new();
                change_table(&mut table, &Keys::new(), new.as_object().unwrap_or(&Keys::new()));
                tables.push(table);
            }
        }
    }
}

/// Adds a value at the end of a list, on a line of its own if the last value begins a line.
fn push_value(array: &mut Array, mut new: Value) {
    let trailing = text(array.trailing());
    let Some(last) = array.iter().last() else {
        array.push_formatted(new);
        return;
    };
    let suffix = last.decor().suffix().map(text).unwrap_or_default();
    let before = last.decor().prefix().map(text).unwrap_or_default();
    // The text between the last value and the end of the list.
    let end = format!("{suffix}{trailing}");
    let at = array.len() - 1;
    let (of_last, rest) = match end.split_once('\n') {
        Some((of_last, rest)) => (of_last.to_owned(), format!("\n{rest}")),
        None => (String::new(), end),
    };
    let prefix = match before.rfind('\n') {
        Some(line) => format!("{of_last}{}", before.get(line..).unwrap_or_default()),
        None => format!("{of_last} "),
    };
    if let Some(last) = array.get_mut(at) {
        last.decor_mut().set_suffix("");
    }
    *new.decor_mut() = toml_edit::Decor::new(prefix, "");
    array.push_formatted(new);
    array.set_trailing(rest);
}

/// Removes a value with the comment after it. The comment of the previous value stays.
fn remove_value(array: &mut Array, at: usize) {
    let removed = array.remove(at);
    let before = removed.decor().prefix().map(text).unwrap_or_default();
    let suffix = removed.decor().suffix().map(text).unwrap_or_default();
    let of_previous = before.split_once('\n').map(|(line, _)| line);
    // The text from the end of the removed value's line on.
    let after_line =
        |text: &str| text.find('\n').map(|at| text.get(at..).unwrap_or_default().to_owned());
    if let Some(next) = array.get_mut(at) {
        let own = next.decor().prefix().map(text).unwrap_or_default();
        let prefix = match (of_previous, after_line(&own)) {
            (line, Some(own)) => format!("{}{own}", line.unwrap_or_default()),
            (_, None) => before,
        };
        next.decor_mut().set_prefix(prefix);
    } else {
        let trailing = format!("{suffix}{}", text(array.trailing()));
        let line = of_previous.unwrap_or_default();
        let rest = after_line(&trailing).unwrap_or(trailing);
        array.set_trailing(format!("{line}{rest}"));
        if array.is_empty() {
            array.set_trailing_comma(false);
        }
    }
}

/// A JSON value in the usual TOML spelling.
fn value(json: &Json) -> Value {
    match json {
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => written_number(number),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(all) => Value::Array(all.iter().map(value).collect()),
        Json::Object(keys) => {
            let keys = keys.iter().map(|(key, one)| (key.as_str(), value(one)));
            Value::InlineTable(keys.collect())
        }
        // TOML has no null, and no key needs one.
        Json::Null => Value::from(""),
    }
}

/// A number in the usual TOML spelling: an integer has `_` between groups of three digits. TOML has no integers above
/// those of 64 bits with a sign; a larger one becomes text, which the configuration then refuses.
fn written_number(number: &Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => {
            let sign = if integer < 0 { "-" } else { "" };
            let written = format!("{sign}{}", grouped(&integer.unsigned_abs().to_string()));
            written.parse().unwrap_or_else(|_| Value::from(integer))
        }
        (None, Some(float)) if number.is_f64() => Value::from(float),
        (None, _) => Value::from(number.to_string()),
    }
}

/// Digits with `_` between groups of three.
fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

fn text(raw: &RawString) -> String {
    raw.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_numbers() {
        for (number, written) in [
            (json!(0), "0"),
            (json!(100), "100"),
            (json!(-100), "-100"),
            (json!(-1_234_567), "-1_234_567"),
            (json!(i64::MIN), "-9_223_372_036_854_775_808"),
            (json!(0.25), "0.25"),
            (json!(-1234.5), "-1234.5"),
            (json!(u64::MAX), "\"18446744073709551615\""),
        ] {
            assert_eq!(value(&number).to_string(), written);
        }
    }
}
