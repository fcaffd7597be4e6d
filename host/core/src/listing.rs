//! Decides which tools a client sees: by the projects in the session's roots, or by a profile of the operator.
//!
//! A tool is *listed*, *unlisted* or *excluded*. A tool that is presumed to be of no use, such as a tool of a family
//! without a project, is unlisted and can still be called. A tool that the operator excludes cannot be called.

mod why;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::catalog::{Catalog, CatalogTool};
pub use crate::config::ToolOffer;
use crate::config::{Config, ProfileConfig, StructuredContent};
use crate::families::{CODE_PLUGIN, Family, VIEW_PLUGIN};
use crate::pattern;
use crate::projects::Projects;
use crate::sandbox::Origin;
use crate::source::Source;
pub use why::{Visibility, VisibilityReason};

/// Maximum size of the list of tools, in bytes of JSON. With [`ToolOffer::Auto`], the tools of a larger list are
/// offered by search to clients that have no search of their own.
pub const SEARCH_FROM: usize = 64 * 1024;

/// The clients that search among many tools themselves, by the names that they give themselves. With
/// [`ToolOffer::Auto`], such a client gets the whole list.
///
/// Claude Code defers tools whose definitions exceed a share of its context, and finds them by its own search.
const CLIENTS_WITH_SEARCH: &[&str] = &["claude-code"];

/// Whether a client searches among many tools itself.
pub fn has_search(client: &str) -> bool {
    CLIENTS_WITH_SEARCH.contains(&client)
}

/// Which tools a client sees, and how.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The profile or the option that the operator used, for messages. `None`: the default, in which the projects
    /// decide.
    pub name: Option<String>,
    /// Families, plugins and upstream servers whose tools are listed, by name. `None`: no rule about sources.
    families: Option<Vec<String>>,
    /// Patterns of names of tools that are listed as well. `None`: no rule about single tools.
    on: Option<Vec<String>>,
    /// Patterns of names of tools that are excluded.
    off: Vec<String>,
    /// How the tools are offered.
    pub offer: ToolOffer,
    /// Patterns of names of tools that are listed even if the others are offered by search or to programs only.
    pinned: Vec<String>,
    /// Whether output schemas of plugins are listed.
    pub output_schemas: bool,
    /// How the client gets structured content.
    pub structured_content: StructuredContent,
    /// The size of an answer's text, in tokens of four bytes, above which the client gets the answer in pages.
    /// `None`: no bound.
    result_tokens: Option<NonZeroU32>,
    /// As `result_tokens`, for the tools whose names match a pattern. Such a bound counts instead of `result_tokens`.
    result_tokens_of: BTreeMap<String, NonZeroU32>,
}

impl Selection {
    /// The selection of a profile.
    fn of_profile(name: &str, profile: &ProfileConfig) -> Self {
        Self {
            name: Some(format!("the profile `{name}`")),
            families: profile.families.clone(),
            on: profile.tools_on.clone(),
            off: profile.tools_off.clone(),
            offer: profile.offer.unwrap_or_default(),
            pinned: profile.pinned.clone(),
            output_schemas: profile.output_schemas.unwrap_or(false),
            structured_content: profile.structured_content.unwrap_or_default(),
            result_tokens: profile.result_tokens,
            result_tokens_of: profile.result_tokens_of.clone(),
        }
    }

    /// The selection of a profile in the configuration. `None`: there is no such profile.
    pub fn named(config: &Config, name: &str) -> Option<Self> {
        Some(Self::of_profile(name, config.profiles.get(name)?))
    }

    /// The selection of the option `--tools`: names of families, plugins and upstream servers, `all`, `search`, and
    /// `code`.
    pub fn typed(words: &[String]) -> Self {
        let has = |mode: &str| words.iter().any(|word| word == mode);
        let is_mode = |word: &&String| matches!(word.as_str(), "search" | "code");
        let offer = match (has("code"), has("search")) {
            (true, _) => ToolOffer::Code,
            (false, true) => ToolOffer::Search,
            (false, false) => ToolOffer::List,
        };
        let families: Vec<_> = words.iter().filter(|word| !is_mode(word)).cloned().collect();
        Self {
            name: Some("--tools".to_owned()),
            on: families.iter().any(|word| word == "all").then(|| vec!["*".to_owned()]),
            families: (!families.is_empty()).then_some(families),
            offer,
            ..Self::default()
        }
    }

    /// Whether the session's projects decide which tools are listed.
    pub fn asks_projects(&self) -> bool {
        self.families.is_none() && self.on.is_none()
    }

    /// Whether a tool is listed, unlisted or excluded, and why.
    pub fn judge(
        &self,
        name: &str,
        tool: CatalogTool<'_>,
        projects: &Projects,
    ) -> VisibilityReason {
        if let Some(pattern) = first_match(&self.off, name) {
            return VisibilityReason::Off { pattern: pattern.to_owned(), by: self.shown_name() };
        }
        // Programs of models are another way to call the same tools. The pattern `*` therefore does not match the tools
        // of the plugin that runs such programs.
        let is_other_way = |pattern: &str| pattern == "*" && runs_programs(tool.source());
        let on = self.on.as_ref().and_then(|on| first_match(on, name));
        if let Some(pattern) = on.filter(|pattern| !is_other_way(pattern)) {
            return VisibilityReason::On { pattern: pattern.to_owned(), by: self.shown_name() };
        }
        let family = family_of(tool.source());
        let why = self.judge_source(tool.source(), projects);
        match (why, family) {
            (VisibilityReason::NoProject { family }, Some(data))
                if data.without_project.contains(&tool.own_name()) =>
            {
                VisibilityReason::WithoutProject { family }
            }
            (why, _) => why,
        }
    }

    /// Whether the tools and prompts of a source are listed, unlisted or excluded, and why. Rules about single tools
    /// are not applied.
    pub fn judge_source(&self, source: Source<'_>, projects: &Projects) -> VisibilityReason {
        let family = family_of(source);
        if runs_programs(source) && self.offer == ToolOffer::Code {
            return VisibilityReason::Code;
        }
        if !self.asks_projects() {
            let names = [Some(&**source.name()), family.map(|family| family.name)];
            let mut named = self.families.iter().flatten();
            let is_among_all = |one: &str| one == "all" && !runs_programs(source);
            let found = named.find(|one| is_among_all(one) || names.contains(&Some(one.as_str())));
            return match found {
                Some(name) => VisibilityReason::Named { name: name.clone(), by: self.shown_name() },
                None => VisibilityReason::NotNamed { by: self.shown_name() },
            };
        }
        if runs_programs(source) {
            return VisibilityReason::NoCode;
        }
        let Some(family) = family.filter(|family| !family.marks.is_empty()) else {
            return VisibilityReason::EveryProject;
        };
        match projects.of(family) {
            Some(at) => VisibilityReason::Project { family: family.name, at: at.to_owned() },
            None if !projects.is_complete() => VisibilityReason::Unknown { family: family.name },
            None => VisibilityReason::NoProject { family: family.name },
        }
    }

    /// Whether a client may use the prompts and resources of a source. Clients may always use those of the plugin that
    /// makes views, because its views show the answers of other tools. If the operator named single tools, clients may
    /// use the prompts and resources of all sources.
    pub fn may_use(&self, source: Source<'_>) -> bool {
        let makes_views = || {
            let loaded = source.plugin().filter(|one| one.plugin.origin == Origin::Bundled);
            loaded.is_some_and(|one| VIEW_PLUGIN == Some(&*one.plugin.name))
        };
        let why = self.judge_source(source, &Projects::default());
        why.place() != Visibility::Excluded || self.on.is_some() || makes_views()
    }

    fn shown_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| "the default".to_owned())
    }

    /// Whether a tool is listed even if the others are offered by search or to programs only.
    pub fn is_pinned(&self, name: &str) -> bool {
        first_match(&self.pinned, name).is_some()
    }

    /// Whether tools are offered to a client by search. `bytes` returns the size of the list of tools as JSON.
    pub fn searches(&self, client: Option<&str>, bytes: impl FnOnce() -> usize) -> bool {
        match self.offer {
            ToolOffer::List | ToolOffer::Code => false,
            ToolOffer::Search => true,
            ToolOffer::Auto => !client.is_some_and(has_search) && bytes() > SEARCH_FROM,
        }
    }

    /// Whether a tool is listed if programs call the other tools ([`ToolOffer::Code`]).
    pub fn is_listed_for_code(&self, name: &str, tool: CatalogTool<'_>) -> bool {
        runs_programs(tool.source()) || self.is_pinned(name)
    }

    /// Whether the results of a tool may have no structured content, although the tool has an output schema.
    pub fn may_lack_structure(&self, tool: &str) -> bool {
        self.structured_content == StructuredContent::AsText || self.result_tokens(tool).is_some()
    }

    /// Whether answers of some tools are bounded.
    pub fn bounds_results(&self) -> bool {
        self.result_tokens.is_some() || !self.result_tokens_of.is_empty()
    }

    /// The size of a tool's answer, in tokens of four bytes, above which the client gets the answer in pages.
    /// `None`: no bound.
    pub fn result_tokens(&self, tool: &str) -> Option<NonZeroU32> {
        let of_tool = self.result_tokens_of.iter().find(|(one, _)| pattern::matches(one, tool));
        of_tool.map(|(_, tokens)| *tokens).or(self.result_tokens)
    }
}

fn first_match<'a>(patterns: &'a [String], name: &str) -> Option<&'a str> {
    patterns.iter().map(String::as_str).find(|one| pattern::matches(one, name))
}

/// The family of a source: only bundled plugins have one.
fn family_of(source: Source<'_>) -> Option<&'static Family> {
    let loaded = source.plugin().filter(|loaded| loaded.plugin.origin == Origin::Bundled)?;
    Family::of(&loaded.plugin.name)
}

/// Whether a source is the bundled plugin that runs a model's programs, which call the tools of other sources.
fn runs_programs(source: Source<'_>) -> bool {
    let loaded = source.plugin().filter(|loaded| loaded.plugin.origin == Origin::Bundled);
    loaded.is_some_and(|loaded| CODE_PLUGIN == Some(&*loaded.plugin.name))
}

/// The selections of all profiles, and the clients and callers that get them.
#[derive(Debug, Default)]
pub struct Selections {
    profiles: BTreeMap<String, Profile>,
    /// The selection on the command line that started the server.
    typed: Option<Arc<Selection>>,
    /// The selection for all other clients: the projects decide.
    others: Arc<Selection>,
}

#[derive(Debug)]
struct Profile {
    selection: Arc<Selection>,
    clients: Vec<String>,
    principals: Vec<String>,
}

/// Who asks for a list of tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requester<'a> {
    /// The profile that the path of the HTTP request names.
    pub profile: Option<&'a str>,
    /// The authenticated caller.
    pub principal: Option<&'a str>,
    /// The name of the client, as it calls itself.
    pub client: Option<&'a str>,
}

/// The error for a profile that the caller may not use.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("this caller may not use the profile `{0}`")]
pub struct ProfileMismatch(String);

impl Selections {
    /// The selections of a configuration. `typed`: the selection for all clients that get no profile by the path or
    /// by the caller.
    pub fn new(config: &Config, typed: Option<Selection>) -> Self {
        let profile = |(name, profile): (&String, &ProfileConfig)| {
            let selection = Arc::new(Selection::of_profile(name, profile));
            let (clients, principals) = (profile.clients.clone(), profile.principals.clone());
            (name.clone(), Profile { selection, clients, principals })
        };
        let profiles = config.profiles.iter().map(profile).collect();
        Self { profiles, typed: typed.map(Arc::new), others: Arc::default() }
    }

    /// The names of the profiles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    /// The selection for a client. The first of these that exists is chosen:
    ///
    /// 1. the profile that the path names,
    /// 2. the profile that names the caller,
    /// 3. the selection that the operator typed,
    /// 4. the profile that names the client and no callers,
    /// 5. the selection for all others.
    ///
    /// # Errors
    ///
    /// The path names a profile for other callers; or the caller has a profile, and the path names another profile
    /// that does not name the caller.
    pub fn choose(&self, asker: Requester<'_>) -> Result<Arc<Selection>, ProfileMismatch> {
        let is_for = |profile: &Profile| {
            asker.principal.is_some_and(|one| profile.principals.iter().any(|name| name == one))
        };
        let of_caller = self.profiles.values().find(|profile| is_for(profile));
        if let Some((name, profile)) =
            asker.profile.and_then(|name| self.profiles.get_key_value(name))
        {
            let is_free = profile.principals.is_empty() && of_caller.is_none();
            if is_free || is_for(profile) {
                return Ok(profile.selection.clone());
            }
            return Err(ProfileMismatch(name.clone()));
        }
        if let (None, Some(typed)) = (of_caller, &self.typed) {
            return Ok(typed.clone());
        }
        let of_client = || {
            let client = asker.client?;
            let is_for = |profile: &&Profile| {
                profile.principals.is_empty() && profile.clients.iter().any(|name| name == client)
            };
            self.profiles.values().find(is_for)
        };
        let found = of_caller.or_else(of_client);
        Ok(found.map_or_else(|| self.others.clone(), |profile| profile.selection.clone()))
    }
}

/// Whether the list of a catalog's tools depends on the projects.
pub fn depends_on_projects(catalog: &Catalog) -> bool {
    let mut families =
        catalog.plugins.loaded.iter().filter_map(|one| family_of(Source::Plugin(one)));
    families.any(|family| !family.marks.is_empty())
}

/// The tools of a catalog, each with whether it is listed and why.
pub fn judged<'a>(
    selection: &Selection,
    catalog: &'a Catalog,
    projects: &Projects,
) -> Vec<(&'a str, CatalogTool<'a>, VisibilityReason)> {
    let judge = |(name, tool)| (name, tool, selection.judge(name, tool, projects));
    catalog.tools().map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selections(text: &str) -> Selections {
        Selections::new(&Config::parse(text).unwrap(), None)
    }

    fn chosen(all: &Selections, asker: Requester<'_>) -> Option<String> {
        all.choose(asker).unwrap().name.clone()
    }

    #[test]
    fn the_path_the_caller_and_the_client_choose_a_profile_in_this_order() {
        let all = selections(
            "[profiles.a]\nclients = [\"editor\"]\n[profiles.b]\nprincipals = [\"token\"]\n[profiles.c]\n",
        );
        let client = Requester { client: Some("editor"), ..Requester::default() };
        assert_eq!(chosen(&all, client).as_deref(), Some("the profile `a`"));
        let caller = Requester { principal: Some("token"), ..client };
        assert_eq!(chosen(&all, caller).as_deref(), Some("the profile `b`"));
        let path = Requester { profile: Some("c"), ..client };
        assert_eq!(chosen(&all, path).as_deref(), Some("the profile `c`"));
        assert_eq!(chosen(&all, Requester::default()), None);
        assert_eq!(chosen(&all, Requester { client: Some("other"), ..Requester::default() }), None);
    }

    #[test]
    fn a_caller_with_a_profile_reaches_no_other_by_the_path() {
        let all = selections("[profiles.a]\nprincipals = [\"x\"]\n[profiles.b]\n");
        let asker = |principal, profile| Requester { principal, profile, client: None };
        assert!(all.choose(asker(Some("x"), Some("b"))).is_err());
        assert!(all.choose(asker(Some("y"), Some("a"))).is_err());
        assert!(all.choose(asker(None, Some("a"))).is_err());
        assert!(all.choose(asker(Some("x"), Some("a"))).is_ok());
        assert!(all.choose(asker(Some("y"), Some("b"))).is_ok());
    }

    #[test]
    fn what_the_operator_types_counts_more_than_the_name_of_a_client() {
        let config = Config::parse("[profiles.a]\nclients = [\"editor\"]\n[profiles.b]\n").unwrap();
        let all = Selections::new(&config, Some(Selection::typed(&["search".to_owned()])));
        let client = Requester { client: Some("editor"), ..Requester::default() };
        assert_eq!(chosen(&all, client).as_deref(), Some("--tools"));
        let path = Requester { profile: Some("b"), ..client };
        assert_eq!(chosen(&all, path).as_deref(), Some("the profile `b`"));
    }

    #[test]
    fn a_client_that_names_itself_gets_no_profile_of_callers() {
        let all = selections("[profiles.a]\nprincipals = [\"x\"]\nclients = [\"editor\"]\n");
        let client = Requester { client: Some("editor"), ..Requester::default() };
        assert_eq!(chosen(&all, client), None);
    }

    #[test]
    fn large_lists_are_searched_unless_the_client_searches_itself() {
        let selection = Selection::default();
        assert!(selection.searches(None, || SEARCH_FROM + 1));
        assert!(!selection.searches(None, || SEARCH_FROM));
        assert!(!selection.searches(Some(CLIENTS_WITH_SEARCH[0]), || SEARCH_FROM + 1));
        let typed = |words: &[&str]| {
            Selection::typed(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(typed(&["search"]).searches(Some(CLIENTS_WITH_SEARCH[0]), || 0));
        assert!(typed(&["search"]).asks_projects());
        assert!(!typed(&["a"]).searches(None, || SEARCH_FROM + 1));
        assert!(!typed(&["a"]).asks_projects() && !typed(&["all"]).asks_projects());
    }

    #[test]
    fn the_bound_of_a_tool_counts_before_that_of_the_profile() {
        let text = "[profiles.a]\nresult-tokens = 100\nresult-tokens-of = { \"read_*\" = 5 }\n";
        let selection = Selection::named(&Config::parse(text).unwrap(), "a").unwrap();
        assert_eq!(selection.result_tokens("read_it").map(NonZeroU32::get), Some(5));
        assert_eq!(selection.result_tokens("other").map(NonZeroU32::get), Some(100));
        assert_eq!(Selection::default().result_tokens("other"), None);
    }
}
