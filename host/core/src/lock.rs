//! The lock file (`portcullis.lock`): digests of approved plugins and of approved tools of other servers,
//! and the order in which names and URIs were first claimed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use portcullis_checked_files::{create_private_folder, lock, replace_durably};
use portcullis_engine::on_a_thread;
use serde::{Deserialize, Serialize};

/// Content of the lock file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approved {
    /// The digest of each plugin's component.
    #[serde(default)]
    plugins: BTreeMap<String, String>,
    /// The digest of each approved tool, by its server's key and by its name there.
    #[serde(default)]
    upstreams: BTreeMap<String, BTreeMap<String, String>>,
    /// When each server was last used: days since 1970. It may be [`PRECISION`] days old.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    used: BTreeMap<String, u64>,
    /// Who claimed what, the first claim first. What is bundled is not among them: it comes before all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Claim>,
}

/// Days after which the approvals and claims of a server that is not used are removed.
const UNUSED_DAYS: u64 = 365;

/// How many days old a date of last use may be before it is written again.
const PRECISION: u64 = 30;

impl Approved {
    /// Notes that a server is used, and removes those that were not used for [`UNUSED_DAYS`]. A server
    /// without a date is from before there were dates: its time starts now.
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

    /// Whether the date of a server's last use is to be written again.
    fn is_due(&self, server: &str, today: u64) -> bool {
        self.used.get(server).is_none_or(|used| today.saturating_sub(*used) >= PRECISION)
    }
}

/// A tool that is held back: it is not what was approved of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The server's name for it.
    pub tool: String,
    /// Whether no tool of this name was approved; otherwise, its definition has changed.
    pub is_new: bool,
}

/// Why the lock file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It is there and cannot be read, or is not what this program wrote.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        cause: io::Error,
    },
    /// It cannot be locked or written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        cause: io::Error,
    },
}

/// Most claims of one source that are kept. A source with more comes after others for the rest.
const CLAIMS: usize = 2000;

/// That a source has a name or a space of URIs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Of what: `source` for the source itself, `tool`, `prompt` or `uri`.
    pub kind: String,
    /// The name, or the text that the URIs begin with.
    pub what: String,
    /// Who: `plugins.NAME` or `upstreams.NAME`.
    pub by: String,
}

/// The lock file. It is read for each question, as another process may have written it meanwhile.
///
/// Its functions wait while another process writes the file: on a thread that speaks with clients, they
/// are called through [`Lock::on_a_thread`].
#[derive(Debug, Clone)]
pub struct Lock {
    path: PathBuf,
}

impl Lock {
    /// The lock at this path. It is made with the first approval.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Does `work` on a thread that may wait.
    pub async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let lock = self.clone();
        on_a_thread(move || work(&lock)).await
    }

    /// Which of these tools of a server are not approved as they are.
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
    ) -> Vec<Held> {
        self.unapproved_on(server, tools, today())
    }

    fn unapproved_on<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        today: u64,
    ) -> Vec<Held> {
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
            // Where another process was faster, its set counts.
            let set = approved.upstreams.entry(server.to_owned());
            compare(set.or_insert_with(|| owned(tools.clone())), tools.clone())
        });
        noted.unwrap_or_else(|error| {
            tracing::warn!("{error}: what is approved is not kept");
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

    /// The digest of the component that was approved as this plugin. `None`: none was approved.
    ///
    /// # Errors
    ///
    /// [`LockError::Read`]: then nothing counts as approved.
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

    /// The place of each of these claims in the order in which all claims were first made. New claims are
    /// put at the end, in the order given, and kept; where the file cannot be read or written, they come
    /// last for this once.
    pub fn order(&self, claims: &[Claim]) -> HashMap<Claim, usize> {
        let known = match self.read() {
            Ok(approved) => approved.claims,
            Err(error) => {
                tracing::error!("{error}: who claimed what is not known");
                return with_new(Vec::new(), claims).into_iter().zip(0..).collect();
            }
        };
        let all = with_new(known.clone(), claims);
        if all.len() == known.len() {
            return all.into_iter().zip(0..).collect();
        }
        let kept = self.update(|approved| {
            // Where another process was faster, its claims come first.
            approved.claims = with_new(std::mem::take(&mut approved.claims), claims);
            approved.claims.clone()
        });
        let all = kept.unwrap_or_else(|error| {
            tracing::warn!("{error}: who claimed what is not kept");
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

    /// Changes the file's content while no other process does.
    fn update<T>(&self, change: impl FnOnce(&mut Approved) -> T) -> Result<T, LockError> {
        let failed = |cause| LockError::Write { path: self.path.clone(), cause };
        let _exclusive = self.exclusive().map_err(failed)?;
        let mut approved = self.read()?;
        let changed = change(&mut approved);
        let text = toml::to_string(&approved).map_err(|error| failed(io::Error::other(error)))?;
        replace_durably(&self.path, text.as_bytes()).map_err(failed)?;
        Ok(changed)
    }

    /// Waits for other processes that write the file, and keeps them away until the result is dropped.
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

/// These claims, and behind them those that are new, as far as there is room for them.
fn with_new(mut known: Vec<Claim>, claims: &[Claim]) -> Vec<Claim> {
    let there: BTreeSet<_> = known.iter().cloned().collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for claim in &known {
        *numbers.entry(claim.by.clone()).or_default() += 1;
    }
    for claim in claims.iter().filter(|claim| !there.contains(claim)) {
        let number = numbers.entry(claim.by.clone()).or_default();
        if *number < CLAIMS {
            *number += 1;
            known.push(claim.clone());
        }
    }
    known
}

/// Those of these tools that are not in the approved set as they are.
fn compare<'a>(
    approved: &BTreeMap<String, String>,
    tools: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<Held> {
    let held = tools.filter_map(|(name, digest)| {
        let known = approved.get(name);
        let is_approved = known.is_some_and(|approved| approved == digest);
        (!is_approved).then(|| Held { tool: name.to_owned(), is_new: known.is_none() })
    });
    held.collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    fn changed(tool: &str) -> Held {
        Held { tool: tool.into(), is_new: false }
    }

    fn new(tool: &str) -> Held {
        Held { tool: tool.into(), is_new: true }
    }

    fn unapproved(path: &std::path::Path, server: &str, tools: &[(&str, &str)]) -> Vec<Held> {
        Lock::at(path.to_owned()).unapproved(server, tools.iter().copied())
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
        Lock::at(path.clone()).approve("one", later.into_iter()).unwrap();
        assert!(unapproved(&path, "one", &later).is_empty());
        assert_eq!(unapproved(&path, "one", &first), [changed("b")], "back again");
    }

    #[test]
    fn another_name_is_no_way_round_an_approval() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        assert!(unapproved(&path, "one", &[("read", "1"), ("write", "2")]).is_empty());
        let renamed = [("read", "1"), ("write_all", "2")];
        assert_eq!(unapproved(&path, "one", &renamed), [new("write_all")]);
        // A tool that goes and comes back as it was needs no new approval.
        assert!(unapproved(&path, "one", &[("read", "1")]).is_empty());
        assert!(unapproved(&path, "one", &[("read", "1"), ("write", "2")]).is_empty());
        Lock::at(path.clone()).approve("one", renamed.into_iter()).unwrap();
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
        let lock = Lock::at(folder.path().join("portcullis.lock"));
        let claim = |by: &str| Claim { kind: "tool".into(), what: "x".into(), by: by.into() };
        // From before there were dates.
        let old = "[upstreams.old]\na = \"1\"\n";
        std::fs::write(&lock.path, old).unwrap();
        lock.order(&[claim("upstreams.gone"), claim("upstreams.kept"), claim("plugins.gone")]);
        let on = |server: &str, day| lock.unapproved_on(server, [("a", "1")].into_iter(), day);
        for server in ["gone", "kept"] {
            assert!(on(server, 1000).is_empty());
        }
        assert!(on("kept", 1000 + PRECISION).is_empty());
        let dates = lock.read().unwrap().used;
        assert_eq!((dates["gone"], dates["kept"], dates["old"]), (1000, 1000 + PRECISION, 1000));
        assert!(on("kept", 1000 + PRECISION + 1).is_empty());
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
    fn what_one_process_approves_another_does_not_forget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        for (server, tool) in [("one", "a"), ("two", "b"), ("three", "c")] {
            assert!(unapproved(&path, server, &[(tool, "1")]).is_empty());
        }
        Lock::at(path.clone()).approve("one", [("a", "4")].into_iter()).unwrap();
        assert_eq!(unapproved(&path, "two", &[("b", "other")]), [changed("b")]);
        assert_eq!(unapproved(&path, "three", &[("c", "other")]), [changed("c")]);
        assert!(unapproved(&path, "one", &[("a", "4")]).is_empty());
    }

    #[test]
    fn claims_keep_their_order_whoever_asks_next() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::at(folder.path().join("portcullis.lock"));
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

        let many: Vec<_> = (0..CLAIMS + 10).map(|n| claim(&n.to_string(), "plugins.m")).collect();
        let order = lock.order(&many);
        assert!(order.contains_key(&many[CLAIMS - 1]) && !order.contains_key(&many[CLAIMS]));
    }

    #[test]
    fn many_at_once_lose_nothing_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        let names: Vec<String> = (0..16).map(|number| format!("server-{number}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let lock = Lock::at(path.clone());
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
