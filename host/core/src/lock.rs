//! The lock file (`portcullis.lock`): digests of approved plugins and of approved tools of upstream servers, and the
//! order in which names and URIs were first claimed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use portcullis_checked_files::{create_private_folder, lock, replace_durably};
use portcullis_engine::on_a_thread;
use serde::{Deserialize, Serialize};

/// The content of the lock file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approved {
    /// The digest of each plugin's component.
    #[serde(default)]
    plugins: BTreeMap<String, String>,
    /// The digest of each approved tool's definition, by the server's key and the server's name for the tool.
    #[serde(default)]
    upstreams: BTreeMap<String, BTreeMap<String, String>>,
    /// When each server was last used, in days since 1970. The value may be up to [`PRECISION_DAYS`] days too old.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    used: BTreeMap<String, u64>,
    /// All claims, the first one first. Bundled plugins are not listed: they come before all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Claim>,
}

/// Number of days after which the approvals and claims of an unused server are removed.
const UNUSED_DAYS: u64 = 365;

/// Maximum age of a date of last use, in days, before the date is written again.
const PRECISION_DAYS: u64 = 30;

impl Approved {
    /// Records that a server is used, and removes servers that were not used for [`UNUSED_DAYS`]. A server without a
    /// date is from an earlier version: its time starts now.
    fn note_use(&mut self, server: &str, today: u64) {
        self.used.insert(server.to_owned(), today);
        for known in self.upstreams.keys() {
            self.used.entry(known.clone()).or_insert(today);
        }
        let is_unused = |_: &String, used: &mut u64| today.saturating_sub(*used) > UNUSED_DAYS;
        let unused: Vec<_> = self.used.extract_if(.., is_unused).map(|(name, _)| name).collect();
        for name in unused {
            self.upstreams.remove(&name);
            let source = format!("upstreams.{name}");
            self.claims.retain(|claim| claim.by != source);
        }
    }

    /// Whether the date of a server's last use has to be written again.
    fn is_due(&self, server: &str, today: u64) -> bool {
        self.used.get(server).is_none_or(|used| today.saturating_sub(*used) >= PRECISION_DAYS)
    }
}

/// A tool of an upstream server that is held back, because it is not approved as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTool {
    /// The server's name for the tool.
    pub tool: String,
    /// Whether no tool of this name was approved. If false, the tool's definition has changed.
    pub is_new: bool,
}

/// Why the lock file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file exists and cannot be read, or is not a lock file.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be locked or written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

/// Maximum number of claims of one source that are kept. Further claims rank after those of all other sources.
const MAX_CLAIMS: usize = 2000;

/// A source's claim on a name or a space of URIs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `tool`, `prompt` or `uri`; or `source` for the first appearance of the source itself.
    pub kind: String,
    /// The name, or the prefix of the URIs.
    pub what: String,
    /// The source: `plugins.NAME` or `upstreams.NAME`.
    pub by: String,
}

/// The lock file, for async code: its functions run on threads that may block.
#[derive(Debug, Clone)]
pub struct Lock(LockFile);

impl Lock {
    /// The lock file at this path. The first approval creates it.
    pub fn at(path: PathBuf) -> Self {
        Self(LockFile::at(path))
    }

    /// Runs `work` on a thread that may block.
    pub async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LockFile) -> T + Send + 'static,
    ) -> T {
        let file = self.0.clone();
        on_a_thread(move || work(&file)).await
    }
}

/// The lock file. It is read for each request, because another process may have written it meanwhile.
///
/// The functions block while another process writes the file. Async code uses [`Lock`].
#[derive(Debug, Clone)]
pub struct LockFile {
    path: PathBuf,
}

impl LockFile {
    /// The lock file at this path. The first approval creates it.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The tools of a server, among these, that are not approved as they are.
    ///
    /// The first tools that a server lists are approved together: the operator chose the server. From
    /// then on the set is fixed, and a tool with another definition or another name is held back. A
    /// server that lists no tools at first has nothing approved yet.
    ///
    /// `server` is its key in the file.
    pub fn unapproved<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Vec<HeldTool> {
        self.unapproved_on(server, tools, today())
    }

    fn unapproved_on<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        today: u64,
    ) -> Vec<HeldTool> {
        let known = match self.read() {
            Ok(approved) => approved,
            Err(error) => {
                tracing::error!("{error}: nothing counts as approved");
                return compare(&BTreeMap::new(), tools);
            }
        };
        let set = known.upstreams.get(server);
        if let Some(set) = set.filter(|_| !known.is_due(server, today)) {
            return compare(set, tools);
        }
        if set.is_none() && tools.clone().next().is_none() {
            return Vec::new();
        }
        let noted = self.update(|approved| {
            approved.note_use(server, today);
            // If another process was faster, its set counts.
            let set = approved.upstreams.entry(server.to_owned());
            compare(set.or_insert_with(|| owned(tools.clone())), tools.clone())
        });
        noted.unwrap_or_else(|error| {
            tracing::warn!("{error}: the approval is not kept");
            set.map_or_else(Vec::new, |set| compare(set, tools))
        })
    }

    /// Approves the tools of a server as they are now. Those that it lists no longer are removed.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the approvals are as they were.
    pub fn approve<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), LockError> {
        self.update(|approved| {
            approved.note_use(server, today());
            approved.upstreams.insert(server.to_owned(), owned(tools));
        })
    }

    /// The digest of the component that was approved as this plugin. `None`: no component was approved.
    ///
    /// # Errors
    ///
    /// [`LockError::Read`]. Nothing then counts as approved.
    pub fn plugin(&self, name: &str) -> Result<Option<String>, LockError> {
        Ok(self.read()?.plugins.get(name).cloned())
    }

    /// Approves a component as this plugin.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the approvals are as they were.
    pub fn approve_plugin(&self, name: &str, digest: &str) -> Result<(), LockError> {
        self.update(|approved| {
            approved.plugins.insert(name.to_owned(), digest.to_owned());
        })
    }

    /// The position of each claim in the order in which all claims were first made. New claims are appended in the
    /// given order. If the file cannot be read or written, new claims come last in the result and are not kept.
    pub fn order(&self, claims: &[Claim]) -> HashMap<Claim, usize> {
        let known = match self.read() {
            Ok(approved) => approved.claims,
            Err(error) => {
                tracing::error!("{error}: the order of claims on names and URIs is unknown");
                return with_new(Vec::new(), claims).into_iter().zip(0..).collect();
            }
        };
        let all = with_new(known.clone(), claims);
        if all.len() == known.len() {
            return all.into_iter().zip(0..).collect();
        }
        let kept = self.update(|approved| {
            // If another process was faster, its claims come first.
            approved.claims = with_new(std::mem::take(&mut approved.claims), claims);
            approved.claims.clone()
        });
        let all = kept.unwrap_or_else(|error| {
            tracing::warn!("{error}: new claims on names and URIs are not kept");
            all
        });
        all.into_iter().zip(0..).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "this file is about a file")]
    fn read(&self) -> Result<Approved, LockError> {
        let read = match std::fs::read_to_string(&self.path) {
            Ok(text) => toml::from_str(&text).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Approved::default()),
            Err(error) => Err(error),
        };
        read.map_err(|cause| LockError::Read { path: self.path.clone(), cause })
    }

    /// Changes the file's content under the lock that all processes use.
    fn update<T>(&self, change: impl FnOnce(&mut Approved) -> T) -> Result<T, LockError> {
        let failed = |cause| LockError::Write { path: self.path.clone(), cause };
        let _exclusive = self.exclusive().map_err(failed)?;
        let mut approved = self.read()?;
        let changed = change(&mut approved);
        let text = toml::to_string(&approved).map_err(|error| failed(io::Error::other(error)))?;
        replace_durably(&self.path, text.as_bytes()).map_err(failed)?;
        Ok(changed)
    }

    /// Waits until no other process writes the file, and excludes others until the result is dropped.
    fn exclusive(&self) -> io::Result<std::fs::File> {
        create_private_folder(self.path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let mut beside = self.path.clone().into_os_string();
        beside.push(".held");
        lock(beside.as_ref())
    }
}

/// Days since 1970.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / (24 * 60 * 60)
}

fn owned<'a>(tools: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    tools.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
}

/// The known claims, followed by the new ones up to [`MAX_CLAIMS`] per source.
fn with_new(mut known: Vec<Claim>, claims: &[Claim]) -> Vec<Claim> {
    let there: BTreeSet<_> = known.iter().cloned().collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for claim in &known {
        *numbers.entry(claim.by.clone()).or_default() += 1;
    }
    for claim in claims.iter().filter(|claim| !there.contains(claim)) {
        let number = numbers.entry(claim.by.clone()).or_default();
        if *number < MAX_CLAIMS {
            *number += 1;
            known.push(claim.clone());
        }
    }
    known
}

/// The tools that are not in the approved set with the same digest.
fn compare<'a>(
    approved: &BTreeMap<String, String>,
    tools: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<HeldTool> {
    let held = tools.filter_map(|(name, digest)| {
        let known = approved.get(name);
        let is_approved = known.is_some_and(|approved| approved == digest);
        (!is_approved).then(|| HeldTool { tool: name.to_owned(), is_new: known.is_none() })
    });
    held.collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    fn changed(tool: &str) -> HeldTool {
        HeldTool { tool: tool.into(), is_new: false }
    }

    fn new(tool: &str) -> HeldTool {
        HeldTool { tool: tool.into(), is_new: true }
    }

    fn unapproved(path: &std::path::Path, server: &str, tools: &[(&str, &str)]) -> Vec<HeldTool> {
        LockFile::at(path.to_owned()).unapproved(server, tools.iter().copied())
    }

    #[test]
    fn tools_that_are_not_what_was_approved_are_held_back_until_they_are_approved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state").join("portcullis.lock");
        let first = [("a", "1"), ("b", "2")];
        assert!(unapproved(&path, "one", &first).is_empty());
        let later = [("a", "1"), ("b", "3"), ("c", "4")];
        for _ in 0..2 {
            assert_eq!(unapproved(&path, "one", &later), [changed("b"), new("c")]);
        }
        assert!(unapproved(&path, "two", &later).is_empty(), "another server");
        LockFile::at(path.clone()).approve("one", later.into_iter()).unwrap();
        assert!(unapproved(&path, "one", &later).is_empty());
        assert_eq!(unapproved(&path, "one", &first), [changed("b")], "back again");
    }

    #[test]
    fn a_renamed_tool_needs_an_approval() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        assert!(unapproved(&path, "one", &[("read", "1"), ("write", "2")]).is_empty());
        let renamed = [("read", "1"), ("write_all", "2")];
        assert_eq!(unapproved(&path, "one", &renamed), [new("write_all")]);
        // A tool that goes and comes back as it was needs no new approval.
        assert!(unapproved(&path, "one", &[("read", "1")]).is_empty());
        assert!(unapproved(&path, "one", &[("read", "1"), ("write", "2")]).is_empty());
        LockFile::at(path.clone()).approve("one", renamed.into_iter()).unwrap();
        assert_eq!(unapproved(&path, "one", &[("write", "2")]), [new("write")], "it was removed");
    }

    #[test]
    fn a_server_without_tools_has_nothing_approved_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        assert!(unapproved(&path, "one", &[]).is_empty());
        assert!(!path.exists());
        assert!(unapproved(&path, "one", &[("a", "1")]).is_empty());
        assert!(unapproved(&path, "one", &[]).is_empty());
        assert_eq!(unapproved(&path, "one", &[("b", "1")]), [new("b")]);
    }

    #[test]
    fn servers_that_are_not_used_for_a_year_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::at(folder.path().join("portcullis.lock"));
        let claim = |by: &str| Claim { kind: "tool".into(), what: "x".into(), by: by.into() };
        // From before there were dates.
        let old = "[upstreams.old]\na = \"1\"\n";
        std::fs::write(&lock.path, old).unwrap();
        lock.order(&[claim("upstreams.gone"), claim("upstreams.kept"), claim("plugins.gone")]);
        let on = |server: &str, day| lock.unapproved_on(server, [("a", "1")].into_iter(), day);
        for server in ["gone", "kept"] {
            assert!(on(server, 1000).is_empty());
        }
        assert!(on("kept", 1000 + PRECISION_DAYS).is_empty());
        let dates = lock.read().unwrap().used;
        assert_eq!(
            (dates["gone"], dates["kept"], dates["old"]),
            (1000, 1000 + PRECISION_DAYS, 1000)
        );
        assert!(on("kept", 1000 + PRECISION_DAYS + 1).is_empty());
        assert_eq!(lock.read().unwrap().used, dates, "no write for one day");
        assert!(on("kept", 1000 + UNUSED_DAYS).is_empty());
        assert_eq!(lock.read().unwrap().upstreams.len(), 3);
        assert!(on("new", 1001 + UNUSED_DAYS).is_empty());
        let left = lock.read().unwrap();
        assert_eq!(left.upstreams.keys().collect::<Vec<_>>(), ["kept", "new"]);
        assert_eq!(left.used.keys().collect::<Vec<_>>(), ["kept", "new"]);
        assert_eq!(left.claims, [claim("upstreams.kept"), claim("plugins.gone")]);
    }

    #[test]
    fn a_lock_that_cannot_be_read_approves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        std::fs::write(&path, "nonsense").unwrap();
        assert_eq!(unapproved(&path, "one", &[("a", "1")]), [new("a")]);
    }

    #[test]
    fn an_approval_of_another_process_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        for (server, tool) in [("one", "a"), ("two", "b"), ("three", "c")] {
            assert!(unapproved(&path, server, &[(tool, "1")]).is_empty());
        }
        LockFile::at(path.clone()).approve("one", [("a", "4")].into_iter()).unwrap();
        assert_eq!(unapproved(&path, "two", &[("b", "other")]), [changed("b")]);
        assert_eq!(unapproved(&path, "three", &[("c", "other")]), [changed("c")]);
        assert!(unapproved(&path, "one", &[("a", "4")]).is_empty());
    }

    #[test]
    fn claims_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::at(folder.path().join("portcullis.lock"));
        let claim =
            |what: &str, by: &str| Claim { kind: "tool".into(), what: what.into(), by: by.into() };
        let (late, early) = (claim("x", "plugins.a"), claim("x", "plugins.b"));
        lock.order(std::slice::from_ref(&early));
        lock.approve_plugin("a", "1").unwrap();
        let order = lock.order(&[late.clone(), early.clone()]);
        assert!(order[&early] < order[&late], "{order:?}");
        let order = lock.order(&[claim("y", "plugins.a"), late.clone()]);
        assert!(order[&late] < order[&claim("y", "plugins.a")], "{order:?}");
        assert_eq!(lock.plugin("a").unwrap().as_deref(), Some("1"));

        let many: Vec<_> =
            (0..MAX_CLAIMS + 10).map(|n| claim(&n.to_string(), "plugins.m")).collect();
        let order = lock.order(&many);
        assert!(
            order.contains_key(&many[MAX_CLAIMS - 1]) && !order.contains_key(&many[MAX_CLAIMS])
        );
    }

    #[test]
    fn concurrent_writers_lose_nothing_and_leave_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        let names: Vec<String> = (0..16).map(|number| format!("server-{number}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let lock = LockFile::at(path.clone());
                scope.spawn(move || lock.unapproved(name, [("a", "1")].into_iter()));
            }
        });
        for name in &names {
            assert_eq!(unapproved(&path, name, &[("a", "2")]), [changed("a")]);
        }
        // The file, and what is locked in its place.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
