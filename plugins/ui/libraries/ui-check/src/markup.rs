//! Checks HTML markup: removes forbidden parts that the document does not need, and reports other forbidden
//! parts as faults.

use crate::style;
use lol_html::{
    RewriteStrSettings, doc_comments, doctype, element, html_content::Element, rewrite_str, text,
};
use std::{cell::RefCell, collections::BTreeSet};

/// Forbidden elements: they embed other documents, or change how the parser reads what follows.
const NEVER: &[&str] = &[
    "iframe",
    "frame",
    "frameset",
    "object",
    "embed",
    "portal",
    "fencedframe",
    "applet",
    "webview",
    "plaintext",
    "xmp",
    "noembed",
    "noframes",
    "listing",
];
/// Elements that are removed, since a view does not need them.
const LEFT_OUT: &[&str] = &["link", "base", "noscript"];
/// Attributes with a URL.
const ADDRESSES: &[&str] = &[
    "href",
    "xlink:href",
    "src",
    "srcset",
    "imagesrcset",
    "action",
    "formaction",
    "poster",
    "background",
    "data",
    "ping",
    "cite",
    "manifest",
    "archive",
    "codebase",
    "longdesc",
    "profile",
    "usemap",
    "classid",
    "lowsrc",
    "dynsrc",
];
/// Attributes that are removed: they set the target of a link or the focus, or a view has no use for them.
const PLACES: &[&str] =
    &["target", "formtarget", "download", "autofocus", "accesskey", "nonce", "integrity", "is"];

/// A rewritten document and its parts.
pub struct Rewritten {
    pub html: String,
    pub repairs: Vec<String>,
    pub faults: Vec<String>,
    pub scripts: Vec<String>,
    pub styles: Vec<String>,
    /// The text between the tags, and that of attributes which are shown, such as `alt`.
    pub text: String,
    /// The document without its scripts.
    pub markup: String,
    /// The ids of its elements.
    pub ids: BTreeSet<String>,
}

#[derive(Default)]
struct Found {
    repairs: Vec<String>,
    faults: Vec<String>,
    scripts: Vec<String>,
    styles: Vec<String>,
    text: String,
    ids: BTreeSet<String>,
    /// Whether the current `<script>` is JavaScript.
    is_script: bool,
}

/// Parses and rewrites a document; an error if browsers may parse it differently.
pub fn rewrite(html: &str) -> Result<Rewritten, String> {
    let found = RefCell::new(Found::default());
    let settings = RewriteStrSettings::new()
        .append_element_content_handler(element!("*", |element| {
            found.borrow_mut().element(element);
            Ok(())
        }))
        .append_element_content_handler(text!("script", |piece| {
            let mut found = found.borrow_mut();
            if found.is_script
                && let Some(script) = found.scripts.last_mut()
            {
                script.push_str(piece.as_str());
            }
            Ok(())
        }))
        .append_element_content_handler(text!("style", |piece| {
            if let Some(style) = found.borrow_mut().styles.last_mut() {
                style.push_str(piece.as_str());
            }
            Ok(())
        }))
        .append_element_content_handler(text!("*:not(script):not(style)", |piece| {
            let mut found = found.borrow_mut();
            found.text.push_str(piece.as_str());
            if piece.last_in_text_node() {
                found.text.push('\n');
            }
            Ok(())
        }))
        .append_document_content_handler(doc_comments!(|comment| {
            found.borrow_mut().repair("took away a comment");
            comment.remove();
            Ok(())
        }))
        .append_document_content_handler(doctype!(|doctype| {
            doctype.remove();
            Ok(())
        }));
    let html = rewrite_str(html, settings).map_err(|error| error.to_string())?;
    let Found { repairs, faults, scripts, styles, text, ids, .. } = found.into_inner();
    let html = html.trim_start().to_owned();
    let markup = without_scripts(&html)?;
    Ok(Rewritten { html, repairs, faults, scripts, styles, text, markup, ids })
}

/// The document without its scripts.
fn without_scripts(html: &str) -> Result<String, String> {
    let settings =
        RewriteStrSettings::new().append_element_content_handler(element!("script", |element| {
            element.remove();
            Ok(())
        }));
    rewrite_str(html, settings).map_err(|error| error.to_string())
}

impl Found {
    fn repair(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.repairs.contains(&what) {
            self.repairs.push(what);
        }
    }

    fn element(&mut self, element: &mut Element<'_, '_>) {
        let name = element.tag_name();
        if NEVER.contains(&name.as_str()) {
            self.faults
                .push(format!("there is a `<{name}>`: everything must be in the one document"));
            element.remove();
            return;
        }
        let is_refresh = name == "meta" && element.has_attribute("http-equiv");
        if LEFT_OUT.contains(&name.as_str()) || is_refresh {
            self.repair(format!("took away a `<{name}>`"));
            element.remove();
            return;
        }
        match name.as_str() {
            "script" => self.script(element),
            "style" => self.styles.push(String::new()),
            "template"
                if element.has_attribute("shadowrootmode")
                    || element.has_attribute("shadowroot") =>
            {
                self.faults.push(
                    "a `<template>` declares a shadow root: write its content plainly".to_owned(),
                );
            }
            "input" if element.get_attribute("type").is_some_and(|kind| !is_known_input(&kind)) => {
                self.faults.push("there is an `<input>` of a type that is not allowed here, such as `password` or `file`".to_owned());
            }
            // These elements could change a URL attribute later.
            "animate" | "set" | "animatetransform" | "animatemotion" => {
                self.repair(format!("took away an `<{name}>`"));
                element.remove();
                return;
            }
            _ => {}
        }
        self.attributes(&name, element);
    }

    fn script(&mut self, element: &mut Element<'_, '_>) {
        self.is_script = false;
        if element.has_attribute("src")
            || element.has_attribute("href")
            || element.has_attribute("xlink:href")
        {
            self.faults
                .push("a `<script>` is from elsewhere: write it into the document".to_owned());
        }
        let kind = element.get_attribute("type").unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "" | "text/javascript" | "application/javascript" => {
                self.is_script = true;
                self.scripts.push(String::new());
            }
            "application/json" | "text/plain" => self.faults.push(
                "there is a `<script>` with data: write the data as an object in the script"
                    .to_owned(),
            ),
            _ => self
                .faults
                .push(format!("there is a `<script type=\"{kind}\">`: write a plain `<script>`")),
        }
    }

    fn attributes(&mut self, tag: &str, element: &mut Element<'_, '_>) {
        self.ids.extend(element.get_attribute("id"));
        let attributes: Vec<(String, String)> =
            element.attributes().iter().map(|one| (one.name(), one.value())).collect();
        for (name, value) in attributes {
            let is_address = ADDRESSES.contains(&name.as_str());
            if name.starts_with("on") {
                self.faults
                    .push(format!("`<{tag}>` has `{name}`: use `addEventListener` in the script"));
                element.remove_attribute(&name);
            } else if name == "srcdoc" {
                self.faults.push(format!(
                    "`<{tag}>` has `srcdoc`: everything must be in the one document"
                ));
                element.remove_attribute(&name);
            } else if (is_address && !is_within(&value)) || PLACES.contains(&name.as_str()) {
                self.repair(format!("took `{name}` from a `<{tag}>`"));
                element.remove_attribute(&name);
            } else if name == "style" {
                // No style needs a character reference; a style with `&` is removed.
                let faults = style::check(&value);
                if value.contains('&') || !faults.is_empty() {
                    self.repair(format!("took `style` from a `<{tag}>`"));
                    element.remove_attribute(&name);
                }
            } else if matches!(
                name.as_str(),
                "title" | "alt" | "placeholder" | "aria-label" | "value"
            ) {
                self.text.push_str(&value);
                self.text.push('\n');
            }
        }
    }
}

fn is_known_input(kind: &str) -> bool {
    let known = [
        "",
        "text",
        "search",
        "number",
        "range",
        "date",
        "time",
        "datetime-local",
        "month",
        "week",
        "checkbox",
        "radio",
        "button",
        "color",
        "email",
        "tel",
        "url",
        "submit",
        "reset",
        "hidden",
    ];
    known.contains(&kind.trim().to_ascii_lowercase().as_str())
}

/// Whether a URL is empty, points into this document, or contains a raster image as data.
fn is_within(address: &str) -> bool {
    let address = address.trim_start();
    let pictures = ["data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"];
    address.is_empty()
        || address.starts_with('#')
        || pictures.iter().any(|start| address.starts_with(start))
}
