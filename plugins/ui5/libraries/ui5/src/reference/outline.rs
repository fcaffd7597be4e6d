//! Shortens large answers: the outline of a symbol, and the contents of a module.

use serde_json::{Map, Value, json};

/// Maximum length of a description in an outline, in bytes.
const DESCRIPTION: usize = 700;

/// Maximum length of the sentence about a member in an outline, in bytes.
const SENTENCE: usize = 100;

/// The elements of HTML that stand within a sentence.
const IN_SENTENCES: [&str; 11] =
    ["a", "abbr", "b", "code", "em", "i", "kbd", "span", "strong", "tt", "var"];

/// The lists of members in an outline, and the path of each list in the symbol.
const LISTS: [(&str, &str); 12] = [
    ("properties", "/ui5-metadata/properties"),
    ("aggregations", "/ui5-metadata/aggregations"),
    ("associations", "/ui5-metadata/associations"),
    ("events", "/ui5-metadata/events"),
    ("specialSettings", "/ui5-metadata/specialSettings"),
    ("properties", "/properties"),
    ("fields", "/properties"),
    ("events", "/events"),
    ("parameters", "/parameters"),
    ("slots", "/slots"),
    ("cssParts", "/cssParts"),
    ("methods", "/methods"),
];

/// The prefixes of methods that UI5 generates for the parts of a class's metadata.
const GENERATED: [&str; 14] = [
    "get",
    "set",
    "is",
    "bind",
    "unbind",
    "add",
    "insert",
    "remove",
    "removeAll",
    "destroy",
    "indexOf",
    "attach",
    "detach",
    "fire",
];

/// The outline of a formatted symbol: its plain values, and a line for each member. If the outline is longer
/// than `most` bytes, the lines lose their descriptions, and then everything except the names. At last, the
/// longest lists are cut.
pub fn outline(shown: &Map<String, Value>, most: usize) -> Map<String, Value> {
    let mut head = Map::new();
    for (name, value) in shown {
        match value {
            Value::String(text) if name == "description" => {
                head.insert(name.clone(), cut(text, DESCRIPTION).into());
            }
            Value::String(text) => {
                head.insert(name.clone(), cut(text, 200).into());
            }
            Value::Bool(_) | Value::Number(_) => {
                head.insert(name.clone(), value.clone());
            }
            Value::Object(_) if matches!(name.as_str(), "deprecated" | "experimental") => {
                let text = value.get("text").and_then(Value::as_str).unwrap_or_default();
                let since = value.get("since").cloned().unwrap_or(Value::Null);
                let told = json!({ "since": since, "text": cut(text, DESCRIPTION) });
                head.insert(name.clone(), told);
            }
            Value::Array(items) if items.iter().all(Value::is_string) && items.len() < 20 => {
                head.insert(name.clone(), value.clone());
            }
            Value::Null | Value::Array(_) | Value::Object(_) => {}
        }
    }
    let parts = parts(shown);
    let kept = |form: fn(&Map<String, Value>) -> String| {
        let mut outline = head.clone();
        for (list, members) in &parts {
            let members: Vec<Value> = members.iter().map(|one| form(one).into()).collect();
            outline.insert((*list).to_owned(), members.into());
        }
        outline
    };
    let mut outline = kept(described);
    for form in [signature, name] {
        if size(&outline) > most {
            outline = kept(form);
        }
    }
    shorten(&mut outline, &parts.iter().map(|(list, _)| *list).collect::<Vec<_>>(), most);
    outline
}

/// The members of a symbol by list, without the methods that UI5 generates for other members.
fn parts(shown: &Map<String, Value>) -> Vec<(&'static str, Vec<&Map<String, Value>>)> {
    let root = |pointer: &str| {
        let mut at = Some(shown);
        let (path, last) = pointer[1..]
            .split_once('/')
            .map_or((None, &pointer[1..]), |(path, last)| (Some(path), last));
        if let Some(path) = path {
            at = at.and_then(|at| at.get(path)).and_then(Value::as_object);
        }
        at.and_then(|at| at.get(last)).and_then(Value::as_array)
    };
    let mut parts: Vec<(&str, Vec<&Map<String, Value>>)> = Vec::new();
    let mut generated: Vec<String> = Vec::new();
    let mut taken: Vec<(&str, &str)> = Vec::new();
    for (list, pointer) in LISTS {
        let members = root(pointer).into_iter().flatten().filter_map(Value::as_object);
        let mut members: Vec<_> = members.filter(|one| !name(one).is_empty()).collect();
        if pointer.starts_with("/ui5-metadata") {
            let roots = members.iter().flat_map(|one| {
                let singular = one.get("singularName").and_then(Value::as_str);
                [Some(name(one)), singular.map(str::to_owned)].into_iter().flatten()
            });
            generated.extend(roots.map(|root| root.to_lowercase()));
        }
        if list == "methods" {
            members.retain(|one| !is_generated(&name(one), &generated));
        }
        // A control has its events in two places; the first place counts. If the metadata of a class has properties,
        // the list of its `/properties` is named `fields`.
        let is_known = |(known, place): (&&str, &&str)| *known == list || *place == pointer;
        if !members.is_empty() && !taken.iter().any(|(known, place)| is_known((known, place))) {
            taken.push((list, pointer));
            parts.push((list, members));
        }
    }
    parts
}

fn is_generated(method: &str, roots: &[String]) -> bool {
    GENERATED.iter().any(|prefix| {
        let rest = method.strip_prefix(prefix).filter(|rest| rest.starts_with(char::is_uppercase));
        rest.is_some_and(|rest| roots.contains(&rest.to_lowercase()))
    })
}

fn text<'m>(member: &'m Map<String, Value>, key: &str) -> &'m str {
    member.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn name(member: &Map<String, Value>) -> String {
    text(member, "name").to_owned()
}

/// A member in one line: `text: string = ""`, `getDomRef(sSuffix?): Element|null`.
fn signature(member: &Map<String, Value>) -> String {
    let parameters = member
        .get("parameters")
        .and_then(Value::as_array)
        .filter(|_| member.contains_key("returnValue") || member.contains_key("visibility"));
    let is_method = parameters.is_some() || member.contains_key("returnValue");
    let names = parameters
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .filter(|one| one.get("depth").and_then(Value::as_u64).is_none_or(|depth| depth == 0));
    let names: Vec<String> = names
        .map(|one| {
            let optional = one.get("optional").and_then(Value::as_bool).unwrap_or(false);
            format!("{}{}", text(one, "name"), if optional { "?" } else { "" })
        })
        .collect();
    let mut line = name(member);
    if is_method {
        line.push_str(&format!("({})", names.join(", ")));
    }
    let of = member.get("returnValue").and_then(|value| value.get("type")?.as_str());
    let of = of.unwrap_or_else(|| text(member, "type"));
    if !of.is_empty() {
        line.push_str(&format!(": {}", cut(of, 60)));
    }
    if text(member, "cardinality") == "0..n" {
        line.push_str("[]");
    }
    if let Some(value) = member.get("defaultValue").filter(|value| !value.is_object()) {
        line.push_str(&format!(" = {}", cut(&value.to_string(), 40)));
    }
    if member.contains_key("deprecated") {
        line.push_str(" (deprecated)");
    }
    line
}

/// A member in one line, with the first sentence of its description.
fn described(member: &Map<String, Value>) -> String {
    let paragraph = first_paragraph(text(member, "description"));
    // After an abbreviation such as `e.g.`, a word in small letters follows.
    let begins = |dot: usize| !paragraph[dot + 2..].starts_with(char::is_lowercase);
    let mut dots = paragraph.match_indices(". ").map(|(dot, _)| dot);
    let end = dots.find(|dot| begins(*dot)).map_or(paragraph.len(), |dot| dot + 1);
    let line = signature(member);
    match cut(paragraph[..end].trim(), SENTENCE) {
        sentence if sentence.is_empty() => line,
        sentence => format!("{line} - {sentence}"),
    }
}

/// A description until its first line break or the first tag that begins something else than words. Tags within a
/// sentence, such as those of code, are left out, and their words are kept.
fn first_paragraph(description: &str) -> String {
    let mut paragraph = String::new();
    let mut rest = description;
    while let Some(at) = rest.find(['\n', '<']) {
        paragraph.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('\n') {
            return paragraph;
        }
        let tag = rest[1..].split_once('>').and_then(|(tag, after)| Some((tag_name(tag)?, after)));
        let Some((name, after)) = tag else {
            paragraph.push('<');
            rest = &rest[1..];
            continue;
        };
        if !IN_SENTENCES.contains(&name.to_ascii_lowercase().as_str()) {
            return paragraph;
        }
        rest = after;
    }
    paragraph.push_str(rest);
    paragraph
}

/// The name of the tag with this text between `<` and `>`. `None`: it is no tag.
fn tag_name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('/');
    let name = text.split_once([' ', '/']).map_or(text, |(name, _)| name);
    name.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(name)
}

/// Shortens the longest of the lists until the outline has at most that many bytes.
fn shorten(outline: &mut Map<String, Value>, lists: &[&str], most: usize) {
    const ROOM: usize = 40;
    let mut left = size(outline);
    let mut cuts: Vec<(&str, usize)> = Vec::new();
    while left + ROOM * cuts.len() > most {
        let longest = lists
            .iter()
            .max_by_key(|list| outline.get(**list).and_then(Value::as_array).map_or(0, Vec::len));
        let Some(list) = longest else { return };
        let Some(Value::Array(members)) = outline.get_mut(*list) else { return };
        let Some(last) = members.pop() else { return };
        left = left.saturating_sub(last.to_string().len() + 1);
        match cuts.iter_mut().find(|(cut, _)| cut == list) {
            Some((_, count)) => *count += 1,
            None => cuts.push((list, 1)),
        }
    }
    for (list, count) in cuts {
        if let Some(Value::Array(members)) = outline.get_mut(list) {
            members.push(format!("and {count} more").into());
        }
    }
}

fn size(outline: &Map<String, Value>) -> usize {
    serde_json::to_string(outline).map_or(0, |text| text.len())
}

/// The contents of a module, as pages of about `most` bytes: the names of its symbols by kind. Each
/// item of `symbols` is a kind, a name, and whether the symbol is deprecated.
pub fn contents(
    module: &str,
    library: &str,
    symbols: &[(String, String, bool)],
    most: usize,
) -> Vec<Map<String, Value>> {
    let mut pages = Vec::new();
    let mut page: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut length = 0;
    for (kind, name, is_deprecated) in symbols {
        let line = if *is_deprecated { format!("{name} (deprecated)") } else { name.clone() };
        if length + line.len() + 4 > most && !page.is_empty() {
            pages.push(std::mem::take(&mut page));
            length = 0;
        }
        length += line.len() + 4;
        match page.iter_mut().find(|(known, _)| known == kind) {
            Some((_, names)) => names.push(line.into()),
            None => {
                length += kind.len() + 8;
                page.push((kind, vec![line.into()]));
            }
        }
    }
    pages.push(page);
    let page = |page: Vec<(&str, Vec<Value>)>| {
        let named = page.into_iter().map(|(kind, names)| (kind.to_owned(), names.into()));
        let symbols: Map<String, Value> = named.collect();
        let mut shown = Map::new();
        shown.insert("module".to_owned(), module.into());
        shown.insert("library".to_owned(), library.into());
        shown.insert("symbols".to_owned(), symbols.into());
        shown
    };
    pages.into_iter().map(page).collect()
}

/// Cuts a text that is longer than `most` bytes, and appends ` …`. The cut is at the end of a word, if there
/// is one in the second half.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = &text[..end];
    let end = start.rfind(char::is_whitespace).filter(|end| *end > most / 2).unwrap_or(end);
    format!("{} …", start[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_of_a_member_has_the_words_of_its_tags() {
        for (description, expected) in [
            (
                "Determines the text of the <code>Button</code>.",
                "Determines the text of the Button.",
            ),
            ("Is <a href=\"#/x\">shown</a>. Not this.", "Is shown."),
            ("If a < b, and b<c. Not this.", "If a < b, and b<c."),
            ("Sets it.<br>Not this.", "Sets it."),
            ("Sets it:<ul><li>not this</li></ul>", "Sets it:"),
            ("Sets it\nnot this", "Sets it"),
            ("An end without <code", "An end without <code"),
        ] {
            let member = json!({ "name": "text", "description": description });
            let Value::Object(member) = member else { unreachable!("it is an object") };
            assert_eq!(described(&member), format!("text - {expected}"));
        }
    }

    fn class(methods: usize, text: &str) -> Map<String, Value> {
        let mut all = vec![
            json!({ "name": "getText", "visibility": "public", "returnValue": { "type": "string" } }),
            json!({ "name": "removeAllItems", "visibility": "public" }),
            json!({ "name": "attachPress", "visibility": "public", "parameters": [] }),
            json!({ "name": "getTextLength", "visibility": "public", "returnValue": { "type": "int" },
                    "parameters": [{ "name": "a" }, { "name": "b", "optional": true }] }),
        ];
        all.extend(
            (0..methods).map(|it| json!({ "name": format!("method{it}"), "description": text })),
        );
        let Value::Object(shown) = json!({
            "kind": "class", "name": "my.Class", "module": "my/Class", "description": text,
            "constructor": { "description": text, "parameters": [] },
            "deprecated": { "since": "1.2", "text": "Use another." },
            "events": [{ "name": "press" }],
            "methods": all,
            "ui5-metadata": {
                "properties": [{ "name": "text", "type": "string", "defaultValue": "" }],
                "aggregations": [{ "name": "items", "singularName": "item", "type": "my.Item",
                                   "cardinality": "0..n", "deprecated": {} }],
                "events": [{ "name": "press" }],
            },
            "library": "my",
        }) else {
            unreachable!("it is an object")
        };
        shown
    }

    #[test]
    fn an_outline_has_a_line_for_each_member() {
        let outline = outline(&class(0, "Text."), 6000);
        assert_eq!(
            Value::Object(outline),
            json!({
                "kind": "class", "name": "my.Class", "module": "my/Class", "description": "Text.",
                "deprecated": { "since": "1.2", "text": "Use another." }, "library": "my",
                "properties": ["text: string = \"\""],
                "aggregations": ["items: my.Item[] (deprecated)"],
                "events": ["press"],
                "methods": ["getTextLength(a, b?): int"],
            })
        );
    }

    #[test]
    fn a_line_has_the_first_sentence_if_it_fits() {
        let text = "Does <b>it</b>. Well.";
        let of = |most: usize| outline(&class(20, text), most)["methods"][1].clone();
        assert_eq!(of(3000), "method0 - Does it.");
        let text = "The first: e.g. this one. The second.";
        let of_text = |most: usize| outline(&class(20, text), most)["methods"][1].clone();
        assert_eq!(of_text(3000), "method0 - The first: e.g. this one.");
        assert_eq!(of_text(850), "method0");
    }

    #[test]
    fn an_outline_is_never_longer_than_allowed() {
        for methods in [0, 10, 200, 3000] {
            for most in [1500, 3000, 6000] {
                let outline = outline(&class(methods, &"text ü ".repeat(900)), most);
                let length = size(&outline);
                assert!(length <= most, "{methods} methods: {length} of {most}");
                let shown = outline["methods"].as_array().expect("it is a list").len();
                if methods == 3000 {
                    let last = outline["methods"][shown - 1].as_str().unwrap_or_default();
                    assert_eq!(last, format!("and {} more", 3001 - (shown - 1)));
                }
            }
        }
    }

    #[test]
    fn contents_are_names_by_kind() {
        let symbol = |it: u32| {
            let kind = if it.is_multiple_of(2) { "enum" } else { "class" };
            (kind.to_owned(), format!("my.Symbol{it}"), it == 3)
        };
        let symbols: Vec<_> = (0..5).map(symbol).collect();
        assert_eq!(
            json!(contents("my/library", "my", &symbols, 6000)),
            json!([{ "module": "my/library", "library": "my", "symbols": {
                "enum": ["my.Symbol0", "my.Symbol2", "my.Symbol4"],
                "class": ["my.Symbol1", "my.Symbol3 (deprecated)"],
            } }])
        );
        let symbols: Vec<_> = (0..1000).map(symbol).collect();
        let pages = contents("my/library", "my", &symbols, 6000);
        assert!(pages.iter().all(|page| size(page) < 6100));
        let count = |page: &Map<String, Value>| -> usize {
            let kinds = page["symbols"].as_object().expect("it is one").values();
            kinds.filter_map(Value::as_array).map(Vec::len).sum()
        };
        assert_eq!(pages.iter().map(count).sum::<usize>(), 1000);
    }
}
