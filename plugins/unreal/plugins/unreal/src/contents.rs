//! The tool `search_blueprint_contents`: nodes, calls, variables, events and texts inside all
//! Blueprints of a project.

use crate::{
    answer::{Page, SourceKind, shown},
    offline::Offline,
    source::SourceQuery,
    stored_data,
};
use portcullis_plugin::prelude::*;
use unreal_project::{ContentHit, ContentKind, ContentQuery, ContentState, Contents, Found};

/// Maximum length of a hit's text that is shown, in characters.
const MAX_TEXT: usize = 160;

about_project! {
    /// Search inside all Blueprints, rigs and materials of the project: nodes, calls, variables, events, texts. Answers questions such as "who calls X" (kind `call`), "where is Y set" (`variable_set`), "where does this text come from" (`literal`).
    pub struct SearchContents {
        /// What to look for, such as PrintString, Health or a class of nodes. Case does not matter.
        #[schemars(length(min = 1, max = 256))]
        term: String,
        /// `all`, or only: `node` (by title, class, name or comment), `call` (of functions, macros, dispatchers), `variable` (its declaration), `variable_get`, `variable_set`, `event` (declared or handled), `function` (the declaration of a function or macro), `literal` (values of pins and variables, texts of components and widgets).
        #[serde(default = "all")]
        kind: Kind,
        /// Only in these folders or packages, such as /Game/Doors. Left out: everywhere.
        #[serde(default)]
        #[schemars(length(max = 100))]
        package_paths: Vec<String>,
        /// `contains`: the term is part of the name or text. `exact`: it is the whole.
        #[serde(default = "contains", rename = "match")]
        how: How,
        /// How many hits at most; 0: as many as fit.
        #[serde(default = "fifteen")]
        max_results: u32,
        /// Number of results to skip.
        #[serde(default)]
        offset: u32,
    }
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    All,
    Node,
    Call,
    Variable,
    VariableGet,
    VariableSet,
    Event,
    Function,
    Literal,
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Contains,
    Exact,
}

fn all() -> Kind {
    Kind::All
}

fn contains() -> How {
    How::Contains
}

fn fifteen() -> u32 {
    15
}

impl Kind {
    fn wanted(self) -> Vec<ContentKind> {
        match self {
            Self::All => Vec::new(),
            Self::Node => vec![ContentKind::Node],
            Self::Call => vec![ContentKind::Call],
            Self::Variable => vec![ContentKind::Variable],
            Self::VariableGet => vec![ContentKind::VariableGet],
            Self::VariableSet => vec![ContentKind::VariableSet],
            Self::Event => vec![ContentKind::Event],
            Self::Function => vec![ContentKind::Function],
            Self::Literal => vec![ContentKind::Literal],
        }
    }

    fn of(kind: ContentKind) -> Self {
        match kind {
            ContentKind::Node => Self::Node,
            ContentKind::Call => Self::Call,
            ContentKind::Variable => Self::Variable,
            ContentKind::VariableGet => Self::VariableGet,
            ContentKind::VariableSet => Self::VariableSet,
            ContentKind::Event => Self::Event,
            ContentKind::Function => Self::Function,
            ContentKind::Literal => Self::Literal,
        }
    }
}

tool_result! {
    /// What was found inside Blueprints.
    pub struct FoundContents {
        hits: Vec<ContentInfo>,
        /// Hits of each kind, whatever `kind` is; a call whose title matches too also counts as a node
        counts: Counts,
        /// How many hits of the requested kind there are
        total_count: usize,
        /// In how many packages they are
        package_count: usize,
        /// How many packages were searched
        searched: usize,
        offset: usize,
        has_more: bool,
        /// How to go on
        #[serde(skip_serializing_if = "Option::is_none")]
        next: Option<String>,
    }
}

#[data]
struct Counts {
    node: usize,
    call: usize,
    variable: usize,
    variable_get: usize,
    variable_set: usize,
    event: usize,
    function: usize,
    literal: usize,
}

#[data]
struct ContentInfo {
    package: String,
    kind: Kind,
    /// Absent outside of graphs
    #[serde(skip_serializing_if = "String::is_empty", default)]
    graph: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    node: String,
    /// Title of the node, or type of the variable
    #[serde(skip_serializing_if = "String::is_empty", default)]
    title: String,
    /// Class or Blueprint that declares the called function or the variable, if it is another one
    #[serde(skip_serializing_if = "String::is_empty", default)]
    owner: String,
    /// `NodeGuid`, which stays the same when a node is renamed
    #[serde(skip_serializing_if = "Option::is_none")]
    guid: Option<String>,
    /// What matched: title, class, name, comment, function, owner, variable, type, event, or the pin or property of a literal
    matched: String,
    /// The matching name or text
    text: String,
}

read_only_tool!(
    SearchContents,
    "search_blueprint_contents",
    "Search inside Blueprints",
    FoundContents
);

impl SourceQuery for SearchContents {
    type Answer = FoundContents;

    fn ask_files(
        &self,
        request: &Request<'_>,
        offline: &Offline,
    ) -> Result<FoundContents, Failure> {
        if self.term.trim().is_empty() {
            return Err(Failure::new(
                "`term` is empty: name what to look for, such as PrintString",
            ));
        }
        let (contents, left) = collected(request, offline);
        let page = Page::new(self.offset, self.max_results);
        let query = ContentQuery {
            term: self.term.clone(),
            exact: self.how == How::Exact,
            kinds: self.kind.wanted(),
            paths: self.package_paths.clone(),
            offset: page.offset,
            most: page.most(),
        };
        let found = contents.search(&offline.index, &query);
        let hits: Vec<ContentInfo> = found.hits.iter().map(|hit| info(offline, hit)).collect();
        let has_more = page.has_more(found.total);
        let next = has_more.then(|| {
            format!(
                "{} of {} hits are shown: call again with offset {}, or narrow with `kind`, `match` or \
                 `packagePaths`",
                hits.len(),
                found.total,
                page.offset + hits.len()
            )
        });
        let missing = self.package_paths.iter().filter(|path| {
            let package = path.trim().trim_end_matches('/');
            offline.index.find(package).is_none()
        });
        let [node, call, variable, variable_get, variable_set, event, function, literal] =
            found.counts;
        Ok(FoundContents {
            counts: Counts {
                node,
                call,
                variable,
                variable_get,
                variable_set,
                event,
                function,
                literal,
            },
            total_count: found.total,
            package_count: found.packages,
            searched: found.searched,
            offset: page.offset,
            has_more,
            next,
            hits,
            source: SourceKind::Offline,
            warnings: offline.warnings_and(offline.missing(missing).chain(limits(&found, left))),
            as_of: offline.as_of.clone(),
        })
    }
}

/// The contents of the Blueprints, and the number of packages that were not read for lack of time.
fn collected(request: &Request<'_>, offline: &Offline) -> (Contents, usize) {
    let dir = &offline.project.dir;
    let old = stored_data::load_contents(dir);
    let mut go_on = offline.go_on(request, "reading Blueprints");
    let updated = Contents::update(old, &offline.index, &offline.project, &mut go_on);
    if updated.changed {
        stored_data::save_contents(dir, &updated.contents);
    }
    (updated.contents, updated.left)
}

fn info(offline: &Offline, hit: &ContentHit<'_>) -> ContentInfo {
    let cut = |text: &str| unreal_package::visible(text, MAX_TEXT, false).into_owned();
    ContentInfo {
        package: shown(offline.index.text(hit.entry.package)),
        kind: Kind::of(hit.kind),
        graph: cut(hit.graph),
        node: cut(hit.node),
        title: cut(hit.title),
        owner: cut(hit.owner),
        guid: hit.guid.map(|guid| guid.to_string()),
        matched: cut(hit.part),
        text: cut(hit.text),
    }
}

/// Warnings about packages and nodes that could not be searched.
fn limits(found: &Found<'_>, left: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if left > 0 {
        warnings.push(format!(
            "{left} packages with Blueprints or maps are not read yet, as there was no time: call \
             again to go on"
        ));
    }
    for (state, count) in &found.unsearched {
        let why = match state {
            ContentState::Collected | ContentState::Waiting => continue,
            ContentState::Partly => {
                "have texts that are not searched: more than 20000, or within more than 4 levels of \
                 structures and lists"
            }
            ContentState::Unreadable => "could not be read: get_blueprint_graph says why",
            ContentState::TooLarge => "are larger than 64 MiB and were not searched",
            ContentState::Full => {
                "were not searched, as the Blueprints before them take all 24 MiB of memory for the \
                 search: use get_blueprint_graph for them"
            }
        };
        warnings.push(format!("{count} packages {why}"));
    }
    if found.faulty > 0 {
        warnings.push(format!(
            "{} nodes could be read only in part, so that values of pins may be missing: \
             get_blueprint_graph says which",
            found.faulty
        ));
    }
    warnings
}
