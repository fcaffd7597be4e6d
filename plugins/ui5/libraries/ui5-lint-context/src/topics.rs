//! Summaries of UI5 documentation pages.

use serde::Serialize;

/// The ids of the pages that are summarised here.
#[allow(missing_docs, reason = "the names say which page it is")]
pub mod id {
    pub const ASYNCHRONOUS_LOADING: &str = "676b636446c94eada183b1218a824717";
    pub const BEST_PRACTICES: &str = "28fcd55b04654977b63dacbee0552712";
    pub const COMPONENT_METADATA: &str = "0187ea5e2eff4166b0453b9dcc8fc64f";
    pub const CONTENT_SECURITY_POLICY: &str = "fe1a6dba940e479fb7c3bc753f92b28c";
    pub const DEPRECATED_THEMES_AND_LIBRARIES: &str = "a87ca843bcee469f82a9072927a7dcdb";
    pub const EVENTS_IN_XML_VIEWS: &str = "b0fb4de7364f4bcbb053a99aa645affe";
    pub const LOADING_MODULES: &str = "00737d6c1b864dc3ab72ef56611491c4";
    pub const MANIFEST_VERSION_2: &str = "be0cf40f61184b358b5faedaec98b2da";
    pub const NATIVE_HTML_IN_VIEWS: &str = "be54950cae1041f59d4aa97a6bade2d8";
    pub const RENDERER_OBJECT: &str = "c9ab34570cc14ea5ab72a6d1a4a03e3f";
    pub const TEST_STARTER: &str = "032be2cb2e1d4115af20862673bedcdb";
    pub const TEST_STARTER_OPTIONS: &str = "738ed025b36e484fa99046d0f80552fd";
    pub const TEST_STARTER_SETUP: &str = "22f50c0f0b104bf3ba84620880793d3f";
}

/// A helpful text: a guide, or the summary of a documentation page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The text, as Markdown.
    pub text: String,
    /// URI of the guide, or URL of the documentation page.
    pub uri: String,
}

/// The summary of a documentation page, with a link to the page; `None` if there is no summary.
pub fn page(id: &str) -> Option<Page> {
    let (_, text) = PAGES.iter().find(|(known, _)| *known == id)?;
    let uri = format!("https://ui5.sap.com/#/topic/{id}");
    let text = format!("{}\n\nA summary. The page itself: {uri}\n", text.trim_end());
    Some(Page { title: title(&text), text, uri })
}

/// The ids of all summarised pages.
pub fn page_ids() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(id, _)| *id)
}

/// The first heading.
pub(crate) fn title(text: &str) -> String {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.expect("every text of ours begins with a heading").to_owned()
}

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../resources/guides/topics/", $name, ".md"))
    };
}

/// All summaries, by page id.
pub(crate) const PAGES: &[(&str, &str)] = &[
    (id::ASYNCHRONOUS_LOADING, text!("asynchronous-loading")),
    (id::BEST_PRACTICES, text!("best-practices")),
    (id::COMPONENT_METADATA, text!("component-metadata")),
    (id::CONTENT_SECURITY_POLICY, text!("content-security-policy")),
    (id::DEPRECATED_THEMES_AND_LIBRARIES, text!("deprecated-themes-and-libraries")),
    (id::EVENTS_IN_XML_VIEWS, text!("events-in-xml-views")),
    (id::LOADING_MODULES, text!("loading-modules")),
    (id::MANIFEST_VERSION_2, text!("manifest-version-2")),
    (id::NATIVE_HTML_IN_VIEWS, text!("native-html-in-views")),
    (id::RENDERER_OBJECT, text!("renderer-object")),
    (id::TEST_STARTER, text!("test-starter")),
    (id::TEST_STARTER_OPTIONS, text!("test-starter-options")),
    (id::TEST_STARTER_SETUP, text!("test-starter-setup")),
];
