//! Searches the contents of a project's Blueprints and materials.

use super::{
    Contents, IndexedPackage, State, collect,
    matching::Matching,
    record::{Record, Tag},
};
use crate::{entry::Entry, index::Index, search::Scope, strings::Id};
use unreal_package::{Action, Guid};

/// The kind of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentKind {
    /// A node, by its title, class, name or comment.
    Node,
    /// A call of a function, a macro or an event dispatcher.
    Call,
    /// The declaration of a variable.
    Variable,
    /// A node that reads a variable.
    VariableGet,
    /// A node that writes a variable.
    VariableSet,
    /// An event that is declared or handled.
    Event,
    /// The declaration of a function or a macro.
    Function,
    /// The value of a pin or of a variable, or a text of the defaults, of a component or a widget.
    Literal,
}

impl ContentKind {
    /// All kinds, in the order of [`Found::counts`].
    pub const ALL: [Self; 8] = [
        Self::Node,
        Self::Call,
        Self::Variable,
        Self::VariableGet,
        Self::VariableSet,
        Self::Event,
        Self::Function,
        Self::Literal,
    ];

    fn bit(self) -> u8 {
        Self::ALL.iter().position(|kind| *kind == self).map_or(0, |position| 1 << position)
    }
}

/// A search in the contents of Blueprints and materials.
#[derive(Clone, Debug, Default)]
pub struct ContentQuery {
    /// The text to search for. The case of ASCII letters does not matter.
    pub term: String,
    /// Whether a name or text has to be equal to the term, instead of containing it.
    pub exact: bool,
    /// The kinds to list; empty for all.
    pub kinds: Vec<ContentKind>,
    /// Folders or packages; empty for all.
    pub paths: Vec<String>,
    /// Number of hits to leave out.
    pub offset: usize,
    /// Maximum number of hits to list.
    pub most: usize,
}

/// A hit in a Blueprint or a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHit<'c> {
    /// The package that contains the hit.
    pub entry: &'c Entry,
    /// The kind. A node that matches as several kinds is listed with the kind of its action.
    pub kind: ContentKind,
    /// The graph; empty outside of graphs.
    pub graph: &'c str,
    /// The name of the node; empty if the hit is not in a node.
    pub node: &'c str,
    /// The title of the node, or the type of a variable.
    pub title: &'c str,
    /// The class or Blueprint that declares the function or variable; empty for the Blueprint itself.
    pub owner: &'c str,
    /// The identity of the node.
    pub guid: Option<Guid>,
    /// The part that matched: `title`, `class`, `name`, `comment`, `function`, `macro`, `variable`,
    /// `event`, `owner` or `type`. For a value, the name of the pin or variable, or the place of
    /// the text.
    pub part: &'c str,
    /// The name or text that matched. If the type of a variable matched, the variable's name.
    pub text: &'c str,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Found<'c> {
    /// The hits of this page, ordered by package.
    pub hits: Vec<ContentHit<'c>>,
    /// Number of hits of the wanted kinds.
    pub total: usize,
    /// Number of packages with hits of the wanted kinds.
    pub packages: usize,
    /// Number of packages searched.
    pub searched: usize,
    /// Number of hits of each kind, wanted or not, in the order of [`ContentKind::ALL`]. A call
    /// that also matches by its title counts as a call and as a node, but is listed once.
    pub counts: [usize; 8],
    /// Number of packages in the folders that could not be searched, or not completely, by state.
    pub unsearched: Vec<(State, usize)>,
    /// Number of nodes that could be searched only in part.
    pub faulty: usize,
}

impl Contents {
    /// Searches the contents. `index` must be the index of the last [`Contents::update`].
    pub fn search<'c>(&'c self, index: &'c Index, query: &ContentQuery) -> Found<'c> {
        let scope = Scope::new(&query.paths, true);
        let all = ContentKind::ALL.iter().fold(0, |bits, kind| bits | kind.bit());
        let wanted = query.kinds.iter().fold(0, |bits, kind| bits | kind.bit());
        let mut search = Search {
            contents: self,
            matching: Matching::of(&self.strings, &query.term, query.exact),
            wanted: if wanted == 0 { all } else { wanted },
            page: (query.offset, query.most),
            found: Found::default(),
        };
        for held in &self.held {
            let Some(entry) = index.entries().get(held.entry as usize) else { continue };
            if scope.has(index, entry) || scope.names(index, entry) {
                search.search_package(held, entry);
            }
        }
        search.found.unsearched.sort_unstable_by_key(|(state, _)| *state as u8);
        search.found
    }
}

struct Search<'c> {
    contents: &'c Contents,
    matching: Matching,
    /// One bit for each wanted kind.
    wanted: u8,
    /// Offset and length.
    page: (usize, usize),
    found: Found<'c>,
}

/// The position of the search in a package.
#[derive(Default)]
struct Place<'c> {
    graph: Id,
    node: Option<Record<'c>>,
}

impl<'c> Search<'c> {
    fn search_package(&mut self, held: &IndexedPackage, entry: &'c Entry) {
        let found = &mut self.found;
        if held.state == State::Collected || held.state == State::Partly {
            found.searched += 1;
        }
        if held.state != State::Collected {
            match found.unsearched.iter_mut().find(|(state, _)| *state == held.state) {
                Some((_, count)) => *count += 1,
                None => found.unsearched.push((held.state, 1)),
            }
        }
        found.faulty += held.faulty as usize;
        if self.matching.is_empty() {
            return;
        }
        let before = found.total;
        let mut rest = self.contents.records(held);
        let mut place = Place::default();
        while let Some(record) = Record::next(&mut rest) {
            self.search_record(entry, &mut place, record);
        }
        self.found.packages += usize::from(self.found.total > before);
    }

    fn search_record(&mut self, entry: &'c Entry, place: &mut Place<'c>, record: Record<'c>) {
        let [first, second, third, ..] = record.ids;
        match record.tag {
            Tag::Graph => {
                *place = Place { graph: first, node: None };
                let code = record.extra.first().copied().unwrap_or_default();
                if let Some(word) = collect::declares(code)
                    && self.matching.has(first)
                {
                    self.hit(entry, place, ContentKind::Function, (word, first), (Id(0), Id(0)));
                }
            }
            Tag::Node => {
                place.node = Some(record);
                self.search_node(entry, place, &record);
            }
            Tag::Pin => {
                if self.matching.has(second) {
                    let part = self.text(first);
                    self.hit(entry, place, ContentKind::Literal, (part, second), (Id(0), Id(0)));
                }
            }
            Tag::Text => {
                if self.matching.has(second) {
                    let (nowhere, part) = (Place::default(), self.text(first));
                    self.hit(entry, &nowhere, ContentKind::Literal, (part, second), (Id(0), Id(0)));
                }
            }
            Tag::Variable | Tag::Local => {
                let part = [(first, "variable"), (second, "type")];
                let part = part.into_iter().find(|(id, _)| self.matching.has(*id));
                if let Some((_, part)) = part {
                    let title = (second, Id(0));
                    self.hit(entry, place, ContentKind::Variable, (part, first), title);
                }
                if self.matching.has(third) {
                    let part = self.text(first);
                    let title = (second, Id(0));
                    self.hit(entry, place, ContentKind::Literal, (part, third), title);
                }
            }
        }
    }

    fn search_node(&mut self, entry: &'c Entry, place: &Place<'c>, record: &Record<'c>) {
        let [name, class, title, subject, owner, comment] = record.ids;
        let has = |id: Id| self.matching.has(id);
        let code = record.extra.first().copied().unwrap_or_default();
        let action = match collect::action(code) {
            Action::None => None,
            Action::Call => Some((ContentKind::Call, "function")),
            Action::Get => Some((ContentKind::VariableGet, "variable")),
            Action::Set => Some((ContentKind::VariableSet, "variable")),
            Action::Event => Some((ContentKind::Event, "event")),
        };
        let action = action.and_then(|(kind, word)| {
            if has(subject) {
                return Some((kind, word, subject));
            }
            (kind == ContentKind::Call && has(owner)).then_some((kind, "owner", owner))
        });
        let parts = [(title, "title"), (class, "class"), (comment, "comment"), (name, "name")];
        let part = parts.into_iter().find(|(id, _)| has(*id));
        if part.is_some() {
            self.found.counts[0] += 1;
        }
        let names = (title, owner);
        if let Some((kind, word, text)) = action {
            // If the title, class, comment or name matches as well, the node is already counted as a node. It is listed
            // only once.
            let is_listed_as_node = part.is_some() && self.wanted & ContentKind::Node.bit() != 0;
            self.count(kind);
            if is_listed_as_node || self.wanted & kind.bit() != 0 {
                self.list_hit(entry, place, kind, (word, text), names);
            }
        } else if let Some((text, word)) = part
            && self.wanted & ContentKind::Node.bit() != 0
        {
            self.list_hit(entry, place, ContentKind::Node, (word, text), names);
        }
    }

    fn count(&mut self, kind: ContentKind) {
        let position = ContentKind::ALL.iter().position(|known| *known == kind);
        if let Some(count) = position.and_then(|position| self.found.counts.get_mut(position)) {
            *count += 1;
        }
    }

    /// Counts a hit, and lists it if it is wanted and on the page.
    fn hit(
        &mut self,
        entry: &'c Entry,
        place: &Place<'c>,
        kind: ContentKind,
        what: (&'c str, Id),
        names: (Id, Id),
    ) {
        self.count(kind);
        if self.wanted & kind.bit() != 0 {
            self.list_hit(entry, place, kind, what, names);
        }
    }

    fn list_hit(
        &mut self,
        entry: &'c Entry,
        place: &Place<'c>,
        kind: ContentKind,
        (part, text): (&'c str, Id),
        (title, owner): (Id, Id),
    ) {
        self.found.total += 1;
        let (offset, max_hits) = self.page;
        if self.found.total <= offset || self.found.hits.len() >= max_hits {
            return;
        }
        let [name, _, node_title, ..] = place.node.map_or([Id(0); 6], |node| node.ids);
        let guid = place.node.and_then(|node| node.extra.get(1..)).map(|bytes| {
            let mut parts = bytes.as_chunks().0.iter().map(|part| u32::from_le_bytes(*part));
            Guid([0; 4].map(|_| parts.next().unwrap_or_default()))
        });
        let title = if title == Id(0) { node_title } else { title };
        let hit = ContentHit {
            entry,
            kind,
            graph: self.text(place.graph),
            node: self.text(name),
            title: self.text(title),
            owner: self.text(owner),
            guid: guid.filter(|guid| *guid != Guid::default()),
            part,
            text: self.text(text),
        };
        self.found.hits.push(hit);
    }

    fn text(&self, id: Id) -> &'c str {
        self.contents.strings.get(id)
    }
}
