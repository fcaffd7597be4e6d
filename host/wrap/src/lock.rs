//! What the operator has approved: plugins by their digest, and how the tools of other servers described
//! themselves; and in which order names and URIs were first claimed (`portcullis.lock`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;

use portcullis_checked_files::{create_private_folder, lock, replace_durably};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approved {
    /// The digest of each plugin's component.
    #[serde(default)]
    plugins: BTreeMap<String, String>,
    /// The digest of each tool, by upstream and by its name there.
    #[serde(default)]
    upstreams: BTreeMap<String, BTreeMap<String, String>>,
    /// Who claimed what, the first claim first. What is bundled is not among them: it comes before all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Claim>,
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

/// The file, read with each question: another process may have written it since.
pub struct Lock {
    path: PathBuf,
}

impl Lock {
    /// The lock at this path. It is made with the first approval.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Which of these tools say something else than what was approved of them. Those that nobody has
    /// seen before are approved as they are: the operator chose their server.
    pub fn changed<'a>(
        &self,
        upstream: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Vec<String> {
        let (changed, new) = match self.read() {
            Ok(approved) => compare(approved.upstreams.get(upstream), tools.clone()),
            Err(error) => {
                tracing::error!("{}: {error}: nothing counts as approved", self.path.display());
                return tools.map(|(name, _)| name.to_owned()).collect();
            }
        };
        if new.is_empty() {
            return changed;
        }
        let approved = self.update(|approved| {
            let known = approved.upstreams.entry(upstream.to_owned()).or_default();
            // Where another process was faster, what it has seen counts.
            let (changed, new) = compare(Some(known), tools);
            known.extend(new);
            changed
        });
        approved.unwrap_or_else(|error| {
            tracing::warn!("{}: {error}: what is approved is not kept", self.path.display());
            changed
        })
    }

    /// Approves the tools of an upstream as they are now.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read or written.
    pub fn approve<'a>(
        &self,
        upstream: &str,
        tools: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> io::Result<()> {
        self.update(|approved| {
            let tools = tools.map(|(name, digest)| (name.to_owned(), digest.to_owned()));
            approved.upstreams.insert(upstream.to_owned(), tools.collect());
        })
    }

    /// The digest of the component that was approved as this plugin. `None`: nobody has seen it before.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, in words for the operator: then nothing counts as approved.
    pub fn plugin(&self, name: &str) -> Result<Option<String>, String> {
        let approved = self.read().map_err(|error| format!("{}: {error}", self.path.display()))?;
        Ok(approved.plugins.get(name).cloned())
    }

    /// Approves a component as this plugin.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read or written.
    pub fn approve_plugin(&self, name: &str, digest: &str) -> io::Result<()> {
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
                tracing::error!("{}: {error}: who claimed what is not known", self.path.display());
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
            tracing::warn!("{}: {error}: who claimed what is not kept", self.path.display());
            all
        });
        all.into_iter().zip(0..).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "this file is about a file")]
    fn read(&self) -> io::Result<Approved> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => toml::from_str(&text).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Approved::default()),
            Err(error) => Err(error),
        }
    }

    /// Changes what is there now, while no other process does.
    fn update<T>(&self, change: impl FnOnce(&mut Approved) -> T) -> io::Result<T> {
        create_private_folder(self.path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let mut beside = self.path.clone().into_os_string();
        beside.push(".held");
        let _held = lock(beside.as_ref())?;
        let mut approved = self.read()?;
        let changed = change(&mut approved);
        let text = toml::to_string(&approved).map_err(io::Error::other)?;
        replace_durably(&self.path, text.as_bytes())?;
        Ok(changed)
    }
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

/// Of these tools, the names of those that say something else than what is known of them, and those
/// that are not known.
fn compare<'a>(
    known: Option<&BTreeMap<String, String>>,
    tools: impl Iterator<Item = (&'a str, &'a str)>,
) -> (Vec<String>, BTreeMap<String, String>) {
    let (mut changed, mut new) = (Vec::new(), BTreeMap::new());
    for (name, digest) in tools {
        match known.and_then(|known| known.get(name)) {
            Some(approved) if approved == digest => {}
            Some(_) => changed.push(name.to_owned()),
            None => {
                new.insert(name.to_owned(), digest.to_owned());
            }
        }
    }
    (changed, new)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_since_it_was_approved_is_held_back_until_it_is_approved_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state").join("portcullis.lock");
        let first = [("a", "1"), ("b", "2")];
        assert!(Lock::at(path.clone()).changed("one", first.into_iter()).is_empty());
        let lock = Lock::at(path.clone());
        let later = [("a", "1"), ("b", "3"), ("c", "4")];
        assert_eq!(lock.changed("one", later.into_iter()), ["b"]);
        assert!(lock.changed("two", later.into_iter()).is_empty(), "another server");
        assert_eq!(Lock::at(path.clone()).changed("one", later.into_iter()), ["b"], "still");
        lock.approve("one", later.into_iter()).unwrap();
        assert!(Lock::at(path.clone()).changed("one", later.into_iter()).is_empty());
        assert_eq!(Lock::at(path).changed("one", first.into_iter()), ["b"], "back again");
    }

    #[test]
    fn a_lock_that_cannot_be_read_approves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        std::fs::write(&path, "nonsense").unwrap();
        assert_eq!(Lock::at(path).changed("one", [("a", "1")].into_iter()), ["a"]);
    }

    #[test]
    fn what_one_process_approves_another_does_not_forget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portcullis.lock");
        // Each of them has read the file before the other writes it.
        let (one, two) = (Lock::at(path.clone()), Lock::at(path.clone()));
        assert!(one.changed("one", [("a", "1")].into_iter()).is_empty());
        assert!(two.changed("two", [("b", "2")].into_iter()).is_empty());
        assert!(one.changed("three", [("c", "3")].into_iter()).is_empty());
        two.approve("one", [("a", "4")].into_iter()).unwrap();
        let all = Lock::at(path);
        assert_eq!(all.changed("two", [("b", "other")].into_iter()), ["b"]);
        assert_eq!(all.changed("three", [("c", "other")].into_iter()), ["c"]);
        assert!(one.changed("one", [("a", "4")].into_iter()).is_empty());
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
                scope.spawn(move || lock.changed(name, [("a", "1")].into_iter()));
            }
        });
        for name in &names {
            assert_eq!(Lock::at(path.clone()).changed(name, [("a", "2")].into_iter()), ["a"]);
        }
        // The file, and what is locked in its place.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
