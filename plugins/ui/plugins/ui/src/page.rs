//! Builds the HTML page of a view from the templates in `plugins/ui/resources`.

use crate::{
    canonical,
    messages::{self, Language},
    need::needs_more,
};
use portcullis_plugin::{
    catalog::Entry,
    serde_json::{Map, Value, json},
};
use ui_check::Document;

const TEMPLATE: &str = include_str!("../../../resources/page.html");
const PACKED: &str = include_str!("../../../resources/packed.js");
const PACKED_MORE: &str = include_str!("../../../resources/packed-more.js");
const RUNTIME: &str = include_str!("../../../resources/runtime.js");
const LOOKS: &str = include_str!("../../../resources/runtime.css");
const VIEW: &str = include_str!("../../../resources/view.js");
const DOCUMENT: &str = include_str!("../../../resources/document.js");
const PACKED_VIEW: &str = include_str!("../../../resources/packed-view.js");
const PACKED_DOCUMENT: &str = include_str!("../../../resources/packed-document.js");

/// The media type of views, by MCP Apps (2026-01-26).
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The content of a view besides the form and the result.
#[derive(Clone, Copy, Debug)]
pub enum ViewContent<'a> {
    /// No other content.
    Plain,
    /// A view specification.
    Specification(&'a Value),
    /// An HTML document that a model wrote: its markup, and its script as a program.
    Document(&'a Document),
}

/// The options of a page, which are independent of its content.
#[derive(Clone, Copy, Debug)]
pub struct PageOptions<'a> {
    /// Whether to compress the runtime. Compression halves the size of the page, but requires a client that lets
    /// scripts create scripts.
    pub packed: bool,
    /// Languages whose messages are in the page.
    pub languages: &'a [&'static Language],
    /// Whether views may call the tool. If not, the page offers to ask the assistant instead.
    pub callable: bool,
}

/// Builds the page of a tool.
pub fn make(tool: &Entry, content: ViewContent<'_>, options: PageOptions<'_>) -> String {
    let packed = options.packed;
    let mut data = Map::from_iter([("tool".to_owned(), definition(tool))]);
    if !options.callable {
        data.insert("callable".to_owned(), false.into());
    }
    let messages: String = options.languages.iter().map(|language| language.script).collect();
    let script = match content {
        ViewContent::Plain => "",
        ViewContent::Specification(view) => {
            data.insert("view".to_owned(), view.clone());
            if packed { "" } else { VIEW }
        }
        ViewContent::Document(document) => {
            let Document { markup, program } = document;
            data.insert("document".to_owned(), json!({ "markup": markup, "program": program }));
            if packed { "" } else { DOCUMENT }
        }
    };
    let title = escaped(tool.title.as_deref().unwrap_or(&tool.name));
    let data = Value::Object(data).to_string().replace('<', "\\u003c");
    let (style, runtime) = match content {
        ViewContent::Plain | ViewContent::Specification(_) | ViewContent::Document(_)
            if !packed =>
        {
            (LOOKS, RUNTIME)
        }
        ViewContent::Plain if !needs_more(tool) => ("", PACKED),
        ViewContent::Plain => ("", PACKED_MORE),
        ViewContent::Specification(_) => ("", PACKED_VIEW),
        ViewContent::Document(_) => ("", PACKED_DOCUMENT),
    };
    let heading = escaped(&heading(tool));
    let style = element("style", style);
    let scripts = [messages.as_str(), script, runtime].map(|script| element("script", script));
    let scripts = scripts.concat();
    fill(|place| match place {
        "lang" => "en",
        "title" => &title,
        "heading" => &heading,
        "style" => &style,
        "data" => &data,
        "scripts" => &scripts,
        other => unreachable!("page.html has no place `{other}`"),
    })
}

/// Fills the template in one pass; inserted text is never searched for placeholders.
fn fill<'a>(with: impl Fn(&str) -> &'a str) -> String {
    let mut page = String::with_capacity(96 * 1024);
    let mut pieces = TEMPLATE.split("{{");
    page.push_str(pieces.next().expect("there is a first"));
    for piece in pieces {
        let (place, rest) = piece.split_once("}}").expect("a place ends");
        page.push_str(with(place));
        page.push_str(rest);
    }
    page
}

/// An element with this text. Nothing, if there is no text.
fn element(name: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<{name}>{text}</{name}>\n") }
}

/// The heading that the page shows until the runtime has started. It resembles the heading that the runtime shows then.
fn heading(tool: &Entry) -> String {
    if let Some(title) = &tool.title {
        return title.clone();
    }
    let words = tool.name.replace(['_', '-'], " ");
    let mut chars = words.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' | '<' | '>' | '"' => out.push_str(&format!("&#{};", u32::from(char))),
            char => out.push(char),
        }
    }
    out
}

/// The definition of the tool in the page, in the form of MCP.
pub fn definition(tool: &Entry) -> Value {
    let mut definition = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            definition.insert(key.to_owned(), value);
        }
    };
    put("name", Some(tool.name.as_str().into()));
    put("title", tool.title.as_deref().map(Into::into));
    put("description", tool.description.as_deref().map(Into::into));
    put("inputSchema", Some(tool.input_schema.clone()));
    put("outputSchema", tool.output_schema.clone());
    let hints = [
        ("readOnlyHint", tool.hints.read_only),
        ("destructiveHint", tool.hints.destructive),
        ("idempotentHint", tool.hints.idempotent),
        ("openWorldHint", tool.hints.open_world),
    ];
    let hints = hints.into_iter().filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())));
    let hints: Map<String, Value> = hints.collect();
    put("annotations", (!hints.is_empty()).then_some(Value::Object(hints)));
    Value::Object(definition)
}

/// The template's version: a digest of all files from which pages are built.
pub fn template_version() -> String {
    let mut all = [
        TEMPLATE,
        PACKED,
        PACKED_MORE,
        RUNTIME,
        LOOKS,
        VIEW,
        PACKED_VIEW,
        DOCUMENT,
        PACKED_DOCUMENT,
    ]
    .concat();
    all.extend(messages::ALL.iter().map(|language| language.script));
    canonical::digest_of(all.as_bytes())
}

/// `_meta` of a view, the same in the list of resources and with the contents. It declares no permissions, so
/// that a client allows none.
pub fn meta() -> Value {
    json!({ "_meta": { "ui": { "csp": {}, "prefersBorder": true } } })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use portcullis_plugin::serde_json;

    fn options(packed: bool) -> PageOptions<'static> {
        PageOptions { packed, languages: &[], callable: true }
    }

    fn hostile() -> Entry {
        let text = "</script><script>alert(1)</script><!-- {{runtime}} & \" {{data}} \u{2028}";
        let schema = json!({
            "type": "object",
            "title": text,
            "properties": { text: { "const": text, "default": text, "enum": [text], "description": text } },
        });
        Entry {
            title: Some(text.to_owned()),
            description: Some(text.to_owned()),
            output_schema: Some(schema.clone()),
            ..Entry::new(text, text, schema)
        }
    }

    /// The data in a page, extracted like a browser does.
    pub fn data(page: &str) -> Value {
        let start =
            page.find("id=\"portcullis\">").expect("it is there") + "id=\"portcullis\">".len();
        let end = start + page[start..].find("</script").expect("it ends");
        serde_json::from_str(&page[start..end]).expect("it is JSON")
    }

    #[test]
    fn hostile_texts_of_tools_stay_text() {
        let tool = hostile();
        let specification =
            json!({ "version": 1, "root": { "component": "Text", "text": tool.name } });
        let document = document(&tool.name);
        for content in [
            ViewContent::Plain,
            ViewContent::Specification(&specification),
            ViewContent::Document(&document),
        ] {
            for packed in [true, false] {
                let page = make(&tool, content, options(packed));
                let nothing = self::document("");
                let plain = make(
                    &Entry::new("t", "s", json!({})),
                    content_of(content, &nothing),
                    options(packed),
                );
                assert_eq!(page.matches("<script").count(), plain.matches("<script").count());
                assert_eq!(page.matches("</script").count(), plain.matches("</script").count());
                assert_eq!(page.matches("<!--").count(), plain.matches("<!--").count());
                assert_eq!(data(&page)["tool"], definition(&tool));
                assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
            }
        }
    }

    fn document(markup: &str) -> Document {
        Document { markup: markup.to_owned(), program: json!({ "type": "Program", "body": [] }) }
    }

    fn content_of<'a>(content: ViewContent<'_>, nothing: &'a Document) -> ViewContent<'a> {
        match content {
            ViewContent::Plain => ViewContent::Plain,
            ViewContent::Specification(_) => ViewContent::Specification(&Value::Null),
            ViewContent::Document(_) => ViewContent::Document(nothing),
        }
    }

    #[test]
    fn titles_are_escaped() {
        let page = make(
            &Entry { title: Some("a<b>&\"".to_owned()), ..Entry::new("t", "s", json!({})) },
            ViewContent::Plain,
            options(true),
        );
        assert!(page.contains("<title>a&#60;b&#62;&#38;&#34;</title>"));
        assert!(
            make(&Entry::new("t<", "s", json!({})), ViewContent::Plain, options(true))
                .contains("<title>t&#60;</title>")
        );
    }

    #[test]
    fn the_heading_is_shown_before_the_runtime_starts() {
        let of = |title: Option<&str>, name: &str| {
            let title = title.map(ToOwned::to_owned);
            let tool = Entry { title, ..Entry::new(name, "s", json!({})) };
            let page = make(&tool, ViewContent::Plain, options(true));
            let (before, _) = page.split_once("<script").expect("the page has scripts");
            let (_, heading) = before.split_once("gray\">").expect("the page has a heading");
            heading.split_once("</h1>").expect("the heading ends").0.to_owned()
        };
        assert_eq!(of(Some("a<b>"), "t"), "a&#60;b&#62;");
        assert_eq!(of(None, "get_weather-now"), "Get weather now");
    }

    #[test]
    fn the_same_tool_always_has_the_same_page() {
        assert_eq!(
            make(&hostile(), ViewContent::Plain, options(true)),
            make(&hostile(), ViewContent::Plain, options(true))
        );
    }

    #[test]
    fn a_page_has_the_messages_of_its_languages_and_says_whether_it_may_call() {
        let tool = Entry::new("t", "s", json!({ "type": "object" }));
        let plain = make(&tool, ViewContent::Plain, options(true));
        assert_eq!(data(&plain).get("callable"), None);
        let languages = messages::named("de");
        let options = PageOptions { languages: &languages, callable: false, ..options(true) };
        let page = make(&tool, ViewContent::Plain, options);
        assert!(page.contains(languages[0].script) && !plain.contains(languages[0].script));
        assert_eq!(data(&page)["callable"], false);
    }

    #[test]
    fn a_page_has_the_runtime_and_size_that_the_readme_states() {
        let tool = Entry::new("t", "s", json!({ "type": "object" }));
        let packed = make(&tool, ViewContent::Plain, options(true));
        assert!(packed.contains(PACKED_MORE) && !packed.contains(VIEW));
        assert!(packed.len() < 55_000, "{}", packed.len());
        let answer = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        let usual = Entry { output_schema: Some(answer), ..tool.clone() };
        let packed = make(&usual, ViewContent::Plain, options(true));
        assert!(packed.contains(PACKED) && !packed.contains(VIEW) && !packed.contains(DOCUMENT));
        assert!(packed.len() < 40_000, "{}", packed.len());
        let shown = make(&tool, ViewContent::Specification(&json!({})), options(true));
        assert!(shown.contains(PACKED_VIEW) && !shown.contains(VIEW));
        let plain = make(&tool, ViewContent::Specification(&json!({})), options(false));
        assert!(plain.contains(RUNTIME) && plain.contains(LOOKS) && plain.contains(VIEW));
        let document = document("x");
        assert!(
            make(&tool, ViewContent::Document(&document), options(true)).contains(PACKED_DOCUMENT)
        );
        let plain = make(&tool, ViewContent::Document(&document), options(false));
        assert!(plain.contains(RUNTIME) && plain.contains(LOOKS) && plain.contains(DOCUMENT));
        assert!(!packed.replace(PACKED, "").contains("{{"), "every place is filled");
    }
}
