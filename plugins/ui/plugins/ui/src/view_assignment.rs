//! Assigns views to tools, and serves the views as resources.

use crate::{
    address, canonical, folders, generate, messages,
    page::{self, PageOptions, ViewContent},
    settings::{Generate, Settings},
    stored_views, time,
};
use portcullis_plugin::{Scope, catalog::Entry, prelude::*, serde_json::Value};
use std::time::Duration;

/// Declares the views of tools to the host.
pub struct ViewAssignment;

impl Views for ViewAssignment {
    fn assign(request: &Request<'_>) -> Result<Vec<ToolView>, Failure> {
        let settings = Settings::read();
        if !settings.complaints.is_empty() {
            request
                .log(Level::Warning, json!({ "step": "settings", "wrong": settings.complaints }));
        }
        let addresses = ViewUris::new(&settings);
        let tools = catalog::tools();
        Ok(tools.iter().filter_map(|tool| tool_view(tool, &settings, &addresses)).collect())
    }
}

fn tool_view(tool: &Entry, settings: &Settings, addresses: &ViewUris) -> Option<ToolView> {
    // A view provided by the tool's source is kept.
    if tool.view.is_some() {
        return None;
    }
    let view = gets_view(tool, settings).then(|| addresses.of(tool));
    Some(ToolView {
        tool: tool.name.clone(),
        for_model: !tool.of_this_plugin || settings.model_tool,
        for_views: view.is_some() && is_callable(tool, settings),
        view,
    })
}

/// Whether views may call the tool.
fn is_callable(tool: &Entry, settings: &Settings) -> bool {
    let may_destroy = tool.hints.destructive == Some(true) && tool.hints.read_only != Some(true);
    settings.destructive || !may_destroy
}

/// Whether this plugin provides a view for the tool.
pub fn gets_view(tool: &Entry, settings: &Settings) -> bool {
    !tool.of_this_plugin && tool.view.is_none() && settings.allows(&tool.name)
}

/// Computes the `ui://` URIs of the current views of tools.
pub struct ViewUris<'a> {
    template: String,
    settings: &'a Settings,
    documents: bool,
    index: stored_views::Index,
    cache: crate::settings::Cache,
    now: u64,
}

impl<'a> ViewUris<'a> {
    /// Reads the current state.
    pub fn new(settings: &'a Settings) -> Self {
        Self {
            template: page::template_version(),
            settings,
            documents: settings.documents,
            index: stored_views::index(),
            cache: settings.cache,
            now: time::now(),
        }
    }

    /// The URI of the tool's current view.
    pub fn of(&self, tool: &Entry) -> String {
        let view = self.view(tool).map(|view| view.digest.as_str());
        let Settings { packed, languages, .. } = self.settings;
        let languages: Vec<_> = languages.iter().map(|language| language.name).collect();
        let callable = is_callable(tool, self.settings);
        let parts =
            json!([self.template, packed, page::definition(tool), view, languages, callable]);
        address::of(&tool.name, &canonical::digest(&parts))
    }

    /// The view that was made for the current version of the tool, unless it is too old. A stored document is
    /// ignored unless the operator allows documents.
    pub fn view(&self, tool: &Entry) -> Option<&stored_views::IndexEntry> {
        let view = self.index.current(tool, &self.cache, self.now);
        view.filter(|view| self.documents || !view.is_document)
    }
}

/// The views as resources.
pub struct Pages;

impl Resources for Pages {
    fn list(_request: &Request<'_>, _cursor: Option<&str>) -> Result<Listing, Failure> {
        let settings = Settings::read();
        let addresses = ViewUris::new(&settings);
        let tools = catalog::tools();
        let viewed = tools.iter().filter(|tool| gets_view(tool, &settings));
        let resources = viewed.map(|tool| {
            let name = tool.title.as_deref().unwrap_or(&tool.name);
            let mut resource = Resource::new(addresses.of(tool), format!("{}.html", tool.name))
                .title(format!("View of {name}"))
                .mime_type(page::MIME_TYPE);
            resource.0.extra = Some(page::meta().to_string());
            resource
        });
        let fresh = Some((Duration::ZERO, Scope::Public));
        Ok(Listing { resources: resources.collect(), next: None, fresh })
    }

    fn read(request: &Request<'_>, uri: &str) -> Result<Contents, Failure> {
        if let Some(messages) = messages::at(uri) {
            let contents = Contents::text(uri, "application/json", messages.to_owned());
            return Ok(contents.fresh(Duration::ZERO, Scope::Public));
        }
        let settings = Settings::read();
        let tool = tool_at(uri, &settings).ok_or_else(|| Failure::not_found(uri))?;
        let page = page_of(&tool, &settings);
        if page.is_plain
            && settings.generate == Generate::FirstView
            && generate::is_worth_trying(&tool, &settings)
        {
            generate::enqueue_job(request, &tool.name);
        }
        folders::export(request, &settings, &tool.name, &page.html);
        let mut contents =
            Contents::text(uri, page::MIME_TYPE, page.html).fresh(Duration::ZERO, Scope::Public);
        contents.all[0].extra = Some(page::meta().to_string());
        Ok(contents)
    }

    fn version(_request: &Request<'_>, uri: &str) -> Result<Option<String>, Failure> {
        if let Some(messages) = messages::at(uri) {
            return Ok(Some(canonical::digest_of(messages.as_bytes())));
        }
        let settings = Settings::read();
        let tool = tool_at(uri, &settings).ok_or_else(|| Failure::not_found(uri))?;
        Ok(Some(ViewUris::new(&settings).of(&tool)))
    }
}

fn tool_at(uri: &str, settings: &Settings) -> Option<Entry> {
    let tool = catalog::tool(&address::tool(uri)?)?;
    gets_view(&tool, settings).then_some(tool)
}

/// A page, and whether a model wrote its content.
pub struct Page {
    /// The HTML.
    pub html: String,
    /// Whether the page was made without a model.
    pub is_plain: bool,
}

/// The current page of a tool.
pub fn page_of(tool: &Entry, settings: &Settings) -> Page {
    let body = ViewUris::new(settings).view(tool).and_then(|indexed| {
        let body = stored_views::record(&tool.name).view?.body;
        // The record and the index are written one after the other, so one of them may be outdated for a moment.
        (body.digest() == indexed.digest).then_some(body)
    });
    // A stored document that the current rules no longer accept is not shown.
    let document = match &body {
        Some(stored_views::Body::Document(html)) => ui_check::parts(html).ok(),
        Some(stored_views::Body::Specification(_)) | None => None,
    };
    let content = match (&body, &document) {
        (Some(stored_views::Body::Specification(view)), _) => ViewContent::Specification(view),
        (Some(stored_views::Body::Document(_)), Some(document)) => ViewContent::Document(document),
        (Some(stored_views::Body::Document(_)) | None, _) => ViewContent::Plain,
    };
    let options = PageOptions {
        packed: settings.packed,
        languages: &settings.languages,
        callable: is_callable(tool, settings),
    };
    let html = page::make(tool, content, options);
    Page { html, is_plain: matches!(content, ViewContent::Plain) }
}

/// Notifies clients if a tool's view is no longer the one at the URI `before`. Returns the current URI.
pub fn notify_view_changed(
    request: &Request<'_>,
    tool: &Entry,
    settings: &Settings,
    before: &str,
) -> String {
    let now = ViewUris::new(settings).of(tool);
    if now != before {
        request.list_changed(ListKind::Tools);
        request.list_changed(ListKind::Resources);
        request.resource_updated(before);
        request.resource_updated(&now);
        request.log(Level::Info, json!({ "step": "publish", "tool": tool.name, "address": now }));
    }
    now
}

/// The tool, if it gets a view; otherwise a failure with the reason.
pub fn tool_with_view(name: &str, settings: &Settings) -> Result<Entry, Failure> {
    let tool = catalog::tool(name).ok_or_else(|| {
        let names: Vec<_> =
            catalog::tools().into_iter().map(|tool| Value::from(tool.name)).collect();
        Failure::new(format!("there is no tool `{name}`; the tools are {}", Value::from(names)))
    })?;
    if gets_view(&tool, settings) {
        return Ok(tool);
    }
    Err(Failure::new(if tool.of_this_plugin {
        format!("`{name}` belongs to the plugin `ui`, whose own tools get no view")
    } else if tool.view.is_some() {
        format!("`{name}` brings a view of its own, which is shown as it is")
    } else {
        format!("`{name}` gets no view: the operator's setting `tools` does not name it")
    }))
}
