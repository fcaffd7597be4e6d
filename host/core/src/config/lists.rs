//! Finds lists that stand where a table belongs. Serde would read a list into a struct, by the order of the struct's
//! fields. Without this check, `store = [1]` would be a valid grant that no reader of the file understands.

use toml::Value;

/// The key of the first list that is in the place of a table.
pub(super) fn in_place_of_table(configuration: &toml::Table) -> Option<String> {
    search(configuration, &mut Vec::new())
}

fn search<'a>(table: &'a toml::Table, path: &mut Vec<&'a str>) -> Option<String> {
    for (key, value) in table {
        path.push(key);
        let found = match value {
            Value::Table(table) => search(table, path),
            // No key has a list of lists, so an inner list is in the place of a table.
            Value::Array(values) if is_table(path) || values.iter().any(Value::is_array) => {
                Some(path.join("."))
            }
            Value::Array(values) => {
                values.iter().filter_map(Value::as_table).find_map(|table| search(table, path))
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_) => None,
        };
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    None
}

/// Whether a table with fixed keys belongs at this place.
fn is_table(path: &[&str]) -> bool {
    matches!(
        path,
        ["host" | "http" | "limits"]
            | ["http", "oauth"]
            | ["commands" | "plugins" | "profiles", _]
            | ["commands", _, "own-limits"]
            | ["plugins", _, "grants" | "limits"]
            | ["plugins", _, "grants", _]
            | ["upstreams", _, "confine" | "oauth"]
    )
}
