//! The names by which a program finds tools: `tools.SOURCE.NAME`.

use serde_json::{Map, Value, json};

/// The members of `tools`, and those of each source in `tools`, as JSON for the prelude:
/// `{"sources": {SOURCE: {"names": {NAME: 1}, "plainer": {ALIAS: NAME}}}, "plainer": {ALIAS: SOURCE}}`. A name that is
/// not an identifier, or that begins with the name of its source, also has a plainer or shorter alias, unless another
/// tool of the source already has this name or alias.
pub fn layout(tools: &[(String, String)]) -> String {
    let mut sources: Map<String, Value> = Map::new();
    for (name, source) in tools {
        let empty = || json!({ "names": {}, "plainer": {} });
        let found = sources.entry(source.as_str()).or_insert_with(empty);
        found["names"][name] = json!(1);
    }
    for (name, source) in tools {
        for alias in aliases(name, source) {
            let found = &mut sources[source];
            let is_taken = !found["names"][&alias].is_null() || !found["plainer"][&alias].is_null();
            if !is_taken {
                found["plainer"][alias] = json!(name);
            }
        }
    }
    let mut plainer = Map::new();
    for source in sources.keys() {
        let alias = identifier(source);
        if !sources.contains_key(&alias) && !plainer.contains_key(&alias) {
            plainer.insert(alias, json!(source));
        }
    }
    json!({ "sources": sources, "plainer": plainer }).to_string()
}

/// The plainer and shorter names of a tool, the best first.
fn aliases(name: &str, source: &str) -> Vec<String> {
    let mut aliases = vec![identifier(name)];
    for beginning in [source, &identifier(source)] {
        let rest = name.strip_prefix(beginning).and_then(|rest| rest.strip_prefix('_'));
        aliases.extend(rest.filter(|rest| !rest.is_empty()).map(identifier));
    }
    aliases
}

/// A name as an identifier: an underscore replaces each character except ASCII letters, digits, `_` and `$`. Another
/// underscore precedes a leading digit.
fn identifier(name: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '$';
    let plain: String = name.chars().map(|one| if is_plain(one) { one } else { '_' }).collect();
    if plain.starts_with(|first: char| first.is_ascii_digit()) {
        format!("_{plain}")
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tools: &[(&str, &str)]) -> Value {
        let tools: Vec<_> = tools.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        serde_json::from_str(&layout(&tools)).unwrap()
    }

    #[test]
    fn an_alias_never_replaces_the_name_of_another_tool() {
        let layout = of(&[("a_list", "a"), ("list", "a"), ("x-y", "b"), ("x.y", "b"), ("1", "b")]);
        let sources = &layout["sources"];
        assert_eq!(sources["a"], json!({ "names": { "a_list": 1, "list": 1 }, "plainer": {} }));
        assert_eq!(sources["b"]["plainer"], json!({ "x_y": "x-y", "_1": "1" }));
    }

    #[test]
    fn a_source_whose_name_is_not_an_identifier_has_an_alias() {
        let layout = of(&[("my_server_list", "my-server"), ("t", "my.server"), ("u", "plain")]);
        assert_eq!(layout["plainer"], json!({ "my_server": "my-server" }));
        let plainer = &layout["sources"]["my-server"]["plainer"];
        assert_eq!(*plainer, json!({ "list": "my_server_list" }));
    }
}
