//! The edit that adds a page: its name, route, target, and the navigation to it.

use super::{AddPage, PageType};
use crate::app::{Manifest, Page, is_template, last_target, object_at, targets_of};
use serde_json::{Map, Value, json};

/// The suffix of all patterns: optional query parameters of the URL.
const QUERY_SUFFIX: &str = ":?query:";

/// The aggregations of a flexible column layout (FCL), from left to right.
const FCL_AGGREGATIONS: [&str; 3] = ["beginColumnPages", "midColumnPages", "endColumnPages"];

/// A page to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePlan {
    /// The name of the target and of the route.
    pub name: String,
    /// The path of the data, such as `/Books/chapters`.
    pub context_path: String,
    /// The pattern of the route.
    pub pattern: String,
    /// Where the user navigates to the new page from.
    pub parent: Option<Parent>,
    page_type: PageType,
    /// In an app with a flexible column layout: the pages that the route shows side by side, with the new one.
    columns: Option<Vec<String>>,
}

/// The page, and the key of its settings, that lead to the new page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The name of the page.
    pub name: String,
    /// The key below `settings.navigation` of the page: an entity set or a navigation property.
    pub navigation: String,
}

impl PagePlan {
    /// Plans the edit. Fails with the reason.
    pub fn new(wanted: &AddPage, manifest: &Manifest) -> Result<Self, String> {
        let pages = manifest.pages();
        let mut plan = match wanted.page_type {
            PageType::ListReport => list_report(wanted, manifest)?,
            PageType::ObjectPage => object_page(wanted, manifest, &pages)?,
        };
        let template = wanted.page_type.template();
        let is_same = |page: &&Page| {
            page.template == template && page.shows.as_deref() == Some(&plan.context_path)
        };
        if let Some(page) = pages.iter().find(is_same) {
            return Err(format!(
                "The app has such a page already: '{}' shows {}. Nothing was written.",
                page.name, plan.context_path
            ));
        }
        if manifest.routes().iter().any(|route| route["pattern"] == plan.pattern) {
            return Err(format!(
                "The app has a route with the pattern '{}' already. Nothing was written.",
                plan.pattern
            ));
        }
        let is_taken = |name: &str| {
            manifest.targets().any(|(target, _)| target == name)
                || manifest.routes().iter().any(|route| route["name"] == name)
        };
        let base_name = plan.name.clone();
        let mut number = 2_u32;
        while is_taken(&plan.name) {
            plan.name = format!("{base_name}{number}");
            number += 1;
        }
        plan.columns = add_to_columns(&plan, manifest)?;
        Ok(plan)
    }

    /// Edits the content of the manifest. Fails if a value on the path to an edited member has the wrong type, or
    /// if the parent page has this navigation already.
    pub fn apply(&self, content: &mut Value) -> Result<(), String> {
        let libraries = object_at(content, &["sap.ui5", "dependencies", "libs"])?;
        libraries.entry("sap.fe.templates").or_insert_with(|| json!({}));
        let targets = object_at(content, &["sap.ui5", "routing", "targets"])?;
        if let Some(Parent { name, navigation }) = &self.parent {
            let parent = targets.get_mut(name).expect("the parent is one of the targets");
            let settings = object_at(parent, &["options", "settings", "navigation", navigation])?;
            if let Some(route) = settings.get("detail").and_then(|detail| detail.get("route")) {
                return Err(format!(
                    "The page '{name}' navigates by '{navigation}' to the route {route} already. Nothing \
                     was written."
                ));
            }
            settings.insert("detail".to_owned(), json!({ "route": self.name }));
        }
        targets.insert(self.name.clone(), self.target());
        let route = self.route();
        let routing = object_at(content, &["sap.ui5", "routing"])?;
        match routing.entry("routes").or_insert_with(|| json!([])) {
            Value::Array(routes) => routes.push(route),
            Value::Object(routes) => {
                routes.insert(self.name.clone(), route);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(
                    "'routes' of the manifest is neither a list nor an object. Nothing was written.".to_owned()
                );
            }
        }
        Ok(())
    }

    fn route(&self) -> Value {
        let target = match &self.columns {
            Some(columns) => json!(columns),
            None => json!(self.name),
        };
        json!({ "pattern": self.pattern, "name": self.name, "target": target })
    }

    fn target(&self) -> Value {
        let mut settings = Map::new();
        settings.insert("contextPath".to_owned(), json!(self.context_path));
        match self.page_type {
            PageType::ListReport => settings.insert("variantManagement".to_owned(), json!("Page")),
            PageType::ObjectPage => {
                settings.insert("editableHeaderContent".to_owned(), json!(false))
            }
        };
        let mut target = json!({
            "type": "Component",
            "id": self.name,
            "name": self.page_type.template(),
            "options": { "settings": settings },
        });
        if let Some(columns) = &self.columns {
            target["controlAggregation"] = json!(FCL_AGGREGATIONS[columns.len() - 1]);
            if self.page_type == PageType::ObjectPage {
                let pattern = self.pattern.trim_end_matches(QUERY_SUFFIX);
                target["contextPattern"] = json!(format!("/{pattern}"));
            }
        }
        target
    }
}

fn list_report(wanted: &AddPage, manifest: &Manifest) -> Result<PagePlan, String> {
    let (Some(set), None, None) =
        (&wanted.entity_set, &wanted.parent_page, &wanted.navigation_property)
    else {
        return Err(
            "A list report needs an entitySet, and takes neither parentPage nor navigationProperty. \
                    Nothing was written."
                .to_owned(),
        );
    };
    // The route of an app's start page has an empty pattern.
    let is_start = |route: &&Value| {
        let pattern = route["pattern"].as_str();
        pattern.is_some_and(|pattern| pattern.trim_end_matches(QUERY_SUFFIX).is_empty())
    };
    let pattern = match manifest.routes().iter().any(is_start) {
        true => format!("{set}{QUERY_SUFFIX}"),
        false => QUERY_SUFFIX.to_owned(),
    };
    Ok(PagePlan {
        name: format!("{set}List"),
        context_path: format!("/{set}"),
        pattern,
        parent: None,
        page_type: PageType::ListReport,
        columns: None,
    })
}

fn object_page(wanted: &AddPage, manifest: &Manifest, pages: &[Page]) -> Result<PagePlan, String> {
    let of_set = |set: &str, parent: Option<Parent>| PagePlan {
        name: format!("{set}ObjectPage"),
        context_path: format!("/{set}"),
        pattern: format!("{set}({{key}}){QUERY_SUFFIX}"),
        parent,
        page_type: PageType::ObjectPage,
        columns: None,
    };
    let parent = match parent(wanted, pages)? {
        ObjectPageStart::Page(parent) => parent,
        ObjectPageStart::Nothing(set) => return Ok(of_set(set, None)),
    };
    let path = parent.shows.as_deref().unwrap_or_default();
    if parent.template != PageType::ObjectPage.template() {
        let set = path.trim_start_matches('/').to_owned();
        if set.is_empty() || set.contains('/') {
            return Err(format!(
                "The page '{}' shows no single entity set, so no object page can follow it. Nothing was \
                 written.",
                parent.name
            ));
        }
        let is_set_possible = wanted.entity_set.as_ref().is_none_or(|named| *named == set);
        if wanted.navigation_property.is_some() || !is_set_possible {
            return Err(format!(
                "The page '{}' lists {path}, so an object page that follows it shows one entity of {set}. \
                 Omit navigationProperty, and omit entitySet or name '{set}'. Nothing was written.",
                parent.name
            ));
        }
        let navigation = Parent { name: parent.name.clone(), navigation: set.clone() };
        return Ok(of_set(&set, Some(navigation)));
    }
    let (Some(property), None) = (&wanted.navigation_property, &wanted.entity_set) else {
        return Err(format!(
            "The page '{}' is an object page: name the navigationProperty that leads from it to the new \
             page, and no entitySet. Nothing was written.",
            parent.name
        ));
    };
    let before = manifest.pattern_of(&parent.name).ok_or_else(|| {
        format!("No route leads to the page '{}'. Nothing was written.", parent.name)
    })?;
    let before = before.trim_end_matches(QUERY_SUFFIX);
    let number = before.matches('(').count() + 1;
    let base = parent.name.trim_end_matches("ObjectPage");
    Ok(PagePlan {
        name: format!("{base}_{property}ObjectPage"),
        context_path: format!("{path}/{property}"),
        pattern: format!("{before}/{property}({{key{number}}}){QUERY_SUFFIX}"),
        parent: Some(Parent { name: parent.name.clone(), navigation: property.clone() }),
        page_type: PageType::ObjectPage,
        columns: None,
    })
}

/// Where the user navigates to an object page from.
enum ObjectPageStart<'p> {
    /// A page of the app.
    Page(&'p Page),
    /// No page. The text is the entity set of the object page.
    Nothing(&'p str),
}

/// Finds where the user navigates to the new object page from: the page that the call names, or else the only list
/// report of the entity set, or else no page. Fails with the reason.
fn parent<'p>(wanted: &'p AddPage, pages: &'p [Page]) -> Result<ObjectPageStart<'p>, String> {
    let names = || pages.iter().map(|page| page.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = &wanted.parent_page {
        let found = pages.iter().find(|page| page.name == *name);
        return found.map(ObjectPageStart::Page).ok_or_else(|| {
            format!(
                "The app has no page '{}'. Its pages are: {}. Nothing was written.",
                name.escape_debug(),
                names()
            )
        });
    }
    let (Some(set), None) = (&wanted.entity_set, &wanted.navigation_property) else {
        return Err(format!(
            "An object page needs an entitySet, or a parentPage with a navigationProperty. The pages of \
             the app are: {}. Nothing was written.",
            names()
        ));
    };
    let path = format!("/{set}");
    let mut lists = pages.iter().filter(|page| {
        page.template == PageType::ListReport.template() && page.shows.as_deref() == Some(&path)
    });
    match (lists.next(), lists.next()) {
        (Some(one), Some(other)) => Err(format!(
            "Several list reports show {path}, such as '{}' and '{}': name one with parentPage. Nothing \
             was written.",
            one.name, other.name
        )),
        (Some(page), None) => Ok(ObjectPageStart::Page(page)),
        (None, _) => Ok(ObjectPageStart::Nothing(set)),
    }
}

/// The pages that the route shows side by side, if the app has columns.
fn add_to_columns(plan: &PagePlan, manifest: &Manifest) -> Result<Option<Vec<String>>, String> {
    let ui5 = &manifest.content["sap.ui5"];
    let root = &ui5["rootView"];
    let root = root.as_str().or_else(|| root["viewName"].as_str());
    let is_configured = !ui5["routing"]["config"]["flexibleColumnLayout"].is_null();
    if root != Some("sap.fe.core.rootView.Fcl") && !is_configured {
        return Ok(None);
    }
    let mut columns: Vec<String> = Vec::new();
    if let Some(parent) = &plan.parent {
        let routes = manifest.routes();
        let route = routes.iter().find(|route| last_target(route) == Some(&parent.name));
        let shown = route.map(|route| targets_of(route)).unwrap_or_default();
        columns = shown.into_iter().map(str::to_owned).collect();
        if columns.len() >= FCL_AGGREGATIONS.len() {
            return Err(format!(
                "The app shows pages in {} columns, and '{}' is in the last one. Nothing was written.",
                FCL_AGGREGATIONS.len(),
                parent.name
            ));
        }
    }
    columns.push(plan.name.clone());
    Ok(Some(columns))
}

/// Inconsistencies of the routing, as sentences.
pub fn routing_errors(content: &Value) -> Vec<String> {
    let routing = &content["sap.ui5"]["routing"];
    let routes: Vec<&Value> = match &routing["routes"] {
        Value::Array(routes) => routes.iter().collect(),
        Value::Object(routes) => routes.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let targets = &routing["targets"];
    let mut errors = Vec::new();
    for route in &routes {
        for target in targets_of(route).into_iter().filter(|name| targets.get(name).is_none()) {
            let route = &route["name"];
            errors.push(format!("The route {route} has a target '{target}', which is missing."));
        }
    }
    for (name, target) in targets.as_object().into_iter().flatten().filter(|(_, t)| is_template(t))
    {
        let navigation = target.pointer("/options/settings/navigation").and_then(Value::as_object);
        let routes_to = navigation.into_iter().flatten();
        for route in routes_to.filter_map(|(_, to)| to.pointer("/detail/route")) {
            if !routes.iter().any(|known| known["name"] == *route) {
                errors.push(format!(
                    "The page '{name}' navigates to the route {route}, which is missing."
                ));
            }
        }
    }
    errors
}
