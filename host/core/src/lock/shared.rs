//! Approvals that several hosts exchange, so that what is approved at one host is approved at all.

use std::collections::BTreeMap;

use portcullis_audit::Audit;
use serde::{Deserialize, Serialize};

use super::{
    Approval, ApprovalKey, Content, FIRST_USE, LockError, LockFile, NewApproval, record, today,
};

/// The approvals that a host knows, by `plugins.NAME` or `upstreams.KEY`.
pub type SharedApprovals = BTreeMap<String, SharedApproval>;

/// An approval, for other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedApproval {
    /// The approval.
    pub approval: Approval,
    /// The digests of the definitions of the approved tools, if this is an upstream server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
}

/// What came of an exchange of approvals.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// All approvals that count now.
    pub all: SharedApprovals,
    /// The keys of the approvals of this host that others replaced. Those that this host did not have are not
    /// among them.
    pub replaced: Vec<String>,
}

impl SharedApproval {
    /// Whether this approval counts, and not the other one. What an operator approved counts more than what a host
    /// approved at first use. Of two approvals of operators, the later one counts; of two first uses, the earlier one,
    /// because what was approved first is what later definitions are compared with.
    fn outranks(&self, other: &Self) -> bool {
        let is_first_use = |one: &Self| one.approval.reason == FIRST_USE;
        match (is_first_use(self), is_first_use(other)) {
            (false, true) => true,
            (true, false) => false,
            (false, false) => self.approval.time > other.approval.time,
            (true, true) => self.approval.time < other.approval.time,
        }
    }
}

impl Content {
    /// The approvals, for other hosts. Those of earlier versions, which have no time, are left out.
    fn shared(&self) -> SharedApprovals {
        let shared = self.approvals.iter().filter_map(|(key, approval)| {
            let tools = match key.strip_prefix("upstreams.") {
                Some(server) => self.upstreams.get(server)?.clone(),
                None => BTreeMap::new(),
            };
            Some((key.clone(), SharedApproval { approval: approval.clone(), tools }))
        });
        shared.collect()
    }

    /// Takes over an approval of another host. Returns the digest that was approved before.
    fn adopt(&mut self, key: &str, shared: &SharedApproval) -> Option<String> {
        let before = self.approvals.insert(key.to_owned(), shared.approval.clone());
        match key.split_once('.') {
            Some(("plugins", name)) => {
                self.plugins.insert(name.to_owned(), shared.approval.digest.clone());
            }
            Some((_, server)) => {
                self.upstreams.insert(server.to_owned(), shared.tools.clone());
                self.note_use(server, today());
            }
            None => {}
        }
        before.map(|before| before.digest)
    }
}

/// The approval's key, if the text is one.
fn parse_key(text: &str) -> Option<ApprovalKey<'_>> {
    match text.split_once('.')? {
        ("plugins", name) => Some(ApprovalKey::Plugin(name)),
        ("upstreams", server) => Some(ApprovalKey::Upstream(server)),
        _ => None,
    }
}

impl LockFile {
    /// Takes over the approvals of other hosts that count more than those of this host, and records them in the
    /// audit.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the approvals are as they were.
    pub fn exchange(
        &self,
        others: &SharedApprovals,
        audit: &Audit,
    ) -> Result<Exchanged, LockError> {
        let counts = |own: &SharedApprovals| {
            let of_others = others.iter().filter(|(key, other)| {
                parse_key(key).is_some() && own.get(*key).is_none_or(|own| other.outranks(own))
            });
            of_others.map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        let own = self.read()?.shared();
        if counts(&own).is_empty() {
            return Ok(Exchanged { all: merged(own, others), replaced: Vec::new() });
        }
        let (all, adopted) = self.update(|content| {
            let keys = counts(&content.shared());
            let adopted: Vec<_> = keys
                .into_iter()
                .map(|key| {
                    let approval = others[&key].approval.clone();
                    let before = content.adopt(&key, &others[&key]);
                    (key, NewApproval { approval, before })
                })
                .collect();
            (content.shared(), adopted)
        })?;
        let mut replaced = Vec::new();
        for (key, new) in adopted {
            if let Some(approval_key) = parse_key(&key) {
                record(approval_key, &new, audit);
            }
            if new.before.is_some_and(|before| before != new.approval.digest) {
                replaced.push(key);
            }
        }
        Ok(Exchanged { all: merged(all, others), replaced })
    }
}

/// The approvals that count, of this host and of others.
fn merged(mut own: SharedApprovals, others: &SharedApprovals) -> SharedApprovals {
    for (key, other) in others {
        if own.get(key).is_none_or(|own| other.outranks(own)) {
            own.insert(key.clone(), other.clone());
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(digest: &str, time: &str, reason: &str) -> SharedApproval {
        let (digest, time) = (digest.to_owned(), format!("2026-01-01T00:00:{time}Z"));
        let approval = Approval { digest, time, user: "a".into(), reason: reason.into() };
        SharedApproval { approval, tools: BTreeMap::new() }
    }

    #[test]
    fn an_operator_outranks_a_first_use_and_the_first_use_is_the_first() {
        let (early, late) = (approval("1", "01", FIRST_USE), approval("2", "02", FIRST_USE));
        assert!(early.outranks(&late) && !late.outranks(&early));
        let (old, new) = (approval("3", "00", "reviewed"), approval("4", "05", ""));
        assert!(new.outranks(&old) && !old.outranks(&new));
        for first_use in [&early, &late] {
            assert!(old.outranks(first_use) && !first_use.outranks(&old));
        }
        assert!(!old.outranks(&old.clone()), "nothing is written again");
    }

    #[test]
    fn what_one_host_approved_is_approved_at_another() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::to_folder(folder.path().join("audit"));
        let host = |name: &str| LockFile::at(folder.path().join(name).join("lock"));
        let (one, two) = (host("one"), host("two"));
        one.approve_plugin("p", "1", "reviewed").unwrap();
        one.approve("s", [("a", "x")].into_iter(), "reviewed").unwrap();
        two.approve_plugin("p", "2", FIRST_USE).unwrap();
        let from_one = one.exchange(&SharedApprovals::new(), &audit).unwrap();
        let exchanged = two.exchange(&from_one.all, &audit).unwrap();
        assert_eq!(exchanged.all, from_one.all);
        assert_eq!(exchanged.replaced, ["plugins.p"], "what is new replaces nothing");
        assert_eq!(two.plugin("p").unwrap().as_deref(), Some("1"));
        let held = |tools: &[(&str, &str)]| {
            two.unapproved("s", tools.iter().copied(), false, |_| panic!("no first use")).len()
        };
        assert_eq!((held(&[("a", "x")]), held(&[("a", "y"), ("b", "z")])), (0, 2));
        // The second exchange changes nothing, and the first host takes over nothing that counts less.
        assert_eq!(two.exchange(&from_one.all, &audit).unwrap().replaced, [""; 0]);
        assert_eq!(one.exchange(&exchanged.all, &audit).unwrap().all, from_one.all);
        // What is no key is passed over.
        let foreign = [("x".to_owned(), approval("9", "09", ""))].into();
        one.exchange(&foreign, &audit).unwrap();
        assert_eq!(one.plugin("x").unwrap(), None);
    }
}
