//! The lock file (`portcullis.lock`): approvals of plugins and of tools of upstream servers, where plugins were fetched
//! from, when servers were last used, and the order in which names and URIs were first claimed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use portcullis_audit::Audit;
use portcullis_checked_files::{Records, create_private_folder, lock, replace_durably};
use portcullis_engine::on_a_thread;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod approval;
mod approved_plugins;
mod provenance;
mod shared;

pub use approval::{Approval, ApprovalKey, FIRST_USE, NewApproval};
pub use approved_plugins::ApprovedPlugins;
pub use provenance::Provenance;
pub use shared::{Exchanged, SharedApproval, SharedApprovals};

/// The content of the lock file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// The digest of each plugin's approved component.
    #[serde(default)]
    plugins: BTreeMap<String, String>,
    /// The digest of each approved tool's definition, by the server's key and the server's name for the tool.
    #[serde(default)]
    upstreams: BTreeMap<String, BTreeMap<String, String>>,
    /// When each server was last used, in days since 1970. The value may be up to [`PRECISION_DAYS`] days too old.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    used: BTreeMap<String, u64>,
    /// The last approval of each plugin and server, by `plugins.NAME` or `upstreams.KEY`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    approvals: BTreeMap<String, Approval>,
    /// Where the components of plugins were fetched from, by the names of the plugins.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    provenances: BTreeMap<String, Provenance>,
    /// All claims, the first one first. Bundled plugins are not listed: they come before all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Claim>,
}

/// Number of days after which the approvals and claims of an unused server are removed.
const UNUSED_DAYS: u64 = 365;

/// Maximum age of a date of last use, in days, before the date is written again.
const PRECISION_DAYS: u64 = 30;

impl Content {
    /// Records that a server is used, and removes servers that were not used for [`UNUSED_DAYS`]. A server without a
    /// date is from an earlier version of the host, and gets the date of today.
    fn note_use(&mut self, server: &str, today: u64) {
        self.used.insert(server.to_owned(), today);
        for known in self.upstreams.keys() {
            self.used.entry(known.clone()).or_insert(today);
        }
        let is_unused = |_: &String, used: &mut u64| today.saturating_sub(*used) > UNUSED_DAYS;
        let unused: Vec<_> = self.used.extract_if(.., is_unused).map(|(name, _)| name).collect();
        for key in unused {
            self.upstreams.remove(&key);
            let key = ApprovalKey::Upstream(&key);
            self.approvals.remove(&key.to_string());
            // Claims have the name of a source only, and several servers of `wrap` can have the same name.
            let is_used = |other: &String| ApprovalKey::Upstream(other).name() == key.name();
            if !self.used.keys().any(is_used) {
                let source = ApprovalKey::Upstream(key.name()).to_string();
                self.claims.retain(|claim| claim.by != source);
            }
        }
    }

    /// Approves the tools of a server.
    fn approve<'a>(
        &mut self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)>,
        reason: &str,
    ) -> NewApproval {
        let tools = owned(tools);
        let approval = Approval::now(&set_digest(&tools), reason);
        let before = self.upstreams.insert(server.to_owned(), tools);
        let key = ApprovalKey::Upstream(server).to_string();
        self.approvals.insert(key, approval.clone());
        NewApproval { approval, before: before.as_ref().map(set_digest) }
    }

    /// Whether the date of a server's last use has to be written again.
    fn is_due(&self, server: &str, today: u64) -> bool {
        self.used.get(server).is_none_or(|used| today.saturating_sub(*used) >= PRECISION_DAYS)
    }
}

/// A tool of an upstream server that is held back, because its current definition is not approved.
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

/// Maximum number of claims of one source that are kept. Further claims rank after the claims of all other sources.
const MAX_CLAIMS: usize = 2000;

/// A source's claim on a name or a space of URIs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `tool`, `prompt` or `uri`; or `source` for the first appearance of the source itself.
    pub kind: String,
    /// The name, the URI, or the prefix of URIs. Empty for `source`.
    pub what: String,
    /// The source: `plugins.NAME` or `upstreams.NAME`.
    pub by: String,
}

/// The lock file, for async code: its functions run on threads that may block.
#[derive(Debug, Clone)]
pub struct Lock(LockFile);

impl Lock {
    /// The lock file at this path. The first approval or claim creates it.
    pub fn at(path: PathBuf) -> Self {
        Self(LockFile::at(path))
    }

    /// The lock file, for code that may block.
    pub(crate) fn file(&self) -> &LockFile {
        &self.0
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

/// The lock file. Each function reads the file anew, because another process may have written it meanwhile. The text is
/// parsed only if it is another one than before. Clones share what was parsed.
///
/// Functions that write wait while another process writes the file. Async code uses [`Lock`], because all functions
/// block.
#[derive(Debug, Clone)]
pub struct LockFile {
    path: PathBuf,
    parsed: Arc<Mutex<Option<Parsed>>>,
}

/// The text that was read last, and its content.
type Parsed = (String, Arc<Content>);

impl LockFile {
    /// The lock file at this path. The first approval or claim creates it.
    pub fn at(path: PathBuf) -> Self {
        Self { path, parsed: Arc::default() }
    }

    /// Returns the tools of a server that are not approved with their current definitions.
    ///
    /// The first tools that a server lists are approved together, because the operator chose the server. From
    /// then on the set is fixed, and a tool with another definition or another name is held back. If a server
    /// lists no tools at first, nothing is approved yet.
    ///
    /// `server`: the server's key in the file. `tools`: the tools that the server lists, each as its name and the
    /// digest of its definition. `is_locked`: nothing is approved at first use. `approved` is called if this is the
    /// first use and the tools are approved now.
    pub fn unapproved<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        is_locked: bool,
        approved: impl FnOnce(&NewApproval),
    ) -> Vec<HeldTool> {
        self.unapproved_on(server, tools, is_locked, approved, today())
    }

    fn unapproved_on<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        is_locked: bool,
        approved: impl FnOnce(&NewApproval),
        today: u64,
    ) -> Vec<HeldTool> {
        let known = match self.read() {
            Ok(content) => content,
            Err(error) => {
                tracing::error!("{error}; no tool counts as approved until the file can be read");
                return compare(&BTreeMap::new(), tools);
            }
        };
        let set = known.upstreams.get(server);
        if let Some(set) = set.filter(|_| !known.is_due(server, today)) {
            return compare(set, tools);
        }
        if set.is_none() && (is_locked || tools.clone().next().is_none()) {
            return compare(&BTreeMap::new(), tools);
        }
        let noted = self.update(|content| {
            content.note_use(server, today);
            // If another process was faster, the set that it approved counts.
            let is_first = !content.upstreams.contains_key(server);
            let new = is_first.then(|| content.approve(server, tools.clone(), FIRST_USE));
            let set = &content.upstreams[server];
            (compare(set, tools.clone()), new)
        });
        match noted {
            Ok((held, new)) => {
                new.as_ref().map(approved);
                held
            }
            Err(error) => {
                let lost = match set {
                    Some(_) => "the date of the server's last use is not updated",
                    None => "the server's tools can be used, but their approval is not kept",
                };
                tracing::warn!("{error}; {lost}");
                set.map_or_else(Vec::new, |set| compare(set, tools))
            }
        }
    }

    /// Approves the tools of a server as they are now. The approvals of tools that the server no longer lists are
    /// removed.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the approvals are as they were.
    pub fn approve<'a>(
        &self,
        server: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)>,
        reason: &str,
    ) -> Result<NewApproval, LockError> {
        self.update(|content| {
            content.note_use(server, today());
            content.approve(server, tools, reason)
        })
    }

    /// The last approval of a plugin or server. `None`: there is none, or an earlier version of the host made it.
    ///
    /// # Errors
    ///
    /// The file cannot be read: [`LockError::Read`].
    pub fn approval(&self, key: ApprovalKey<'_>) -> Result<Option<Approval>, LockError> {
        Ok(self.read()?.approvals.get(&key.to_string()).cloned())
    }

    /// Records a new approval in the audit, and keeps the description of the approved plugin or server, so that
    /// later versions can be compared with it.
    ///
    /// If the record or the description cannot be written, the failure is logged, and the approval is in force all the
    /// same.
    pub fn finish_approval(
        &self,
        approval_key: ApprovalKey<'_>,
        new: &NewApproval,
        description: &Value,
        audit: &Audit,
    ) {
        record(approval_key, new, audit);
        let (source, digest) = (approval_key.name(), &new.approval.digest);
        let kept = json!({ "digest": digest, "description": description }).to_string();
        let key = approval_key.to_string();
        let written = self.descriptions().write(&key, kept.as_bytes(), None, None, |_| true);
        if let Err(error) = written {
            tracing::warn!("the description of `{source}` that was approved is not kept: {error}");
        }
    }

    /// The description that was kept when this digest was approved. `None`: none was kept, or it cannot be read.
    pub fn description(&self, key: ApprovalKey<'_>, digest: &str) -> Option<Value> {
        let unread = |error: &dyn std::error::Error| {
            tracing::warn!("the description that was approved with {key} cannot be read: {error}");
        };
        let read = self.descriptions().read(&key.to_string());
        let record = read.inspect_err(|error| unread(error)).ok()??;
        let parsed = serde_json::from_slice(&record.value);
        let mut kept: Value = parsed.inspect_err(|error| unread(error)).ok()?;
        (kept["digest"] == digest).then(|| kept["description"].take())
    }

    /// The descriptions, in a folder beside the lock file.
    fn descriptions(&self) -> Records {
        let mut folder = self.path.clone().into_os_string();
        folder.push(".approved");
        Records::new(folder.into())
    }

    /// The position of each claim in the order in which all claims were first made. New claims are appended in the
    /// given order. If a source has more than 2000 claims, the further ones are left out. If the file cannot be read or
    /// written, new claims are not kept. If it cannot be read, all claims count as new.
    pub fn order(&self, claims: &[Claim]) -> HashMap<Claim, usize> {
        let known = match self.read() {
            Ok(content) => content.claims.clone(),
            Err(error) => {
                tracing::error!("{error}; it is unknown which source claimed a name or URI first");
                return with_new(Vec::new(), claims).into_iter().zip(0..).collect();
            }
        };
        let all = with_new(known.clone(), claims);
        if all.len() == known.len() {
            return all.into_iter().zip(0..).collect();
        }
        let kept = self.update(|content| {
            // If another process was faster, its claims come first.
            content.claims = with_new(std::mem::take(&mut content.claims), claims);
            content.claims.clone()
        });
        let all = kept.unwrap_or_else(|error| {
            tracing::warn!("{error}; new claims on names and URIs are not kept");
            all
        });
        all.into_iter().zip(0..).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "this function reads the lock file")]
    fn read(&self) -> Result<Arc<Content>, LockError> {
        let read = match std::fs::read_to_string(&self.path) {
            Ok(text) => self.parse(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Arc::default()),
            Err(error) => Err(error),
        };
        read.map_err(|cause| LockError::Read { path: self.path.clone(), cause })
    }

    /// The content of this text, which is parsed if it is not that of the last time. With hundreds of plugins, each of
    /// which asks for its approval, parsing anew took most of the time of a start.
    fn parse(&self, text: String) -> io::Result<Arc<Content>> {
        let mut parsed = self.parsed.lock();
        if let Some((before, content)) = &*parsed
            && *before == text
        {
            return Ok(content.clone());
        }
        let content: Arc<Content> = Arc::new(toml::from_str(&text).map_err(io::Error::other)?);
        *parsed = Some((text, content.clone()));
        Ok(content)
    }

    /// Changes the file's content under the lock that all processes use.
    fn update<T>(&self, change: impl FnOnce(&mut Content) -> T) -> Result<T, LockError> {
        let failed = |cause| LockError::Write { path: self.path.clone(), cause };
        let _exclusive = self.exclusive().map_err(failed)?;
        let mut content = Content::clone(&*self.read()?);
        let changed = change(&mut content);
        let text = toml::to_string(&content).map_err(|error| failed(io::Error::other(error)))?;
        replace_durably(&self.path, text.as_bytes()).map_err(failed)?;
        Ok(changed)
    }

    /// Waits until no other process writes the file, and excludes others until the result is dropped.
    fn exclusive(&self) -> io::Result<std::fs::File> {
        create_private_folder(self.path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let mut lock_path = self.path.clone().into_os_string();
        lock_path.push(".held");
        lock(lock_path.as_ref())
    }
}

/// Records an approval in the audit. A failure is logged, and the approval is in force all the same.
fn record(approval_key: ApprovalKey<'_>, new: &NewApproval, audit: &Audit) {
    let NewApproval { approval: Approval { digest, user, reason, .. }, before } = new;
    let (source, before) = (approval_key.name(), before.as_deref());
    let record = portcullis_audit::Approval { source, digest, before, user, reason };
    if let Err(error) = audit.record_approval(&record) {
        tracing::error!("the approval of `{source}` cannot be recorded in the audit: {error}");
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

/// The digest of a server's approved tools.
fn set_digest(tools: &BTreeMap<String, String>) -> String {
    let lines: String =
        tools.iter().map(|(name, digest)| format!("{}:{name} {digest}\n", name.len())).collect();
    portcullis_checked_files::digest(lines.as_bytes())
}

/// The known claims, followed by the new ones up to [`MAX_CLAIMS`] per source.
fn with_new(mut known: Vec<Claim>, claims: &[Claim]) -> Vec<Claim> {
    let known_claims: BTreeSet<_> = known.iter().cloned().collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for claim in &known {
        *numbers.entry(claim.by.clone()).or_default() += 1;
    }
    for claim in claims.iter().filter(|claim| !known_claims.contains(claim)) {
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
mod tests;
