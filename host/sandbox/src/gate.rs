//! The gate: judges each ask of a plugin, records the verdict, and hands out permits for effects.

use std::fmt;
use std::sync::Arc;

use crate::capabilities::{Capability, Grants};
use portcullis_audit::{Recorded, Trail, Verdict};

/// Something a plugin would like to do to the world.
///
/// [`is_within`](Ask::is_within) is pure. It decides whether a grant covers the ask, and by default whether the
/// plugin's wants cover it, too.
pub trait Ask {
    /// What the operator grants and the plugin wants, for this capability.
    type Grant;

    /// Which capability this asks for.
    const CAPABILITY: Capability;

    /// This capability's part of all grants. `None`: nothing is granted, so the ask is refused.
    fn grant(grants: &Grants) -> Option<&Self::Grant>;

    /// Whether the grant covers this ask.
    fn is_within(&self, grant: &Self::Grant) -> bool;

    /// Whether what the plugin says it wants covers this ask.
    fn is_wanted(&self, wants: &Self::Grant) -> bool {
        self.is_within(wants)
    }

    /// Whether any grant could cover this ask.
    fn is_grantable(&self) -> bool {
        true
    }

    /// What is asked for, for the audit record: what is to be done to what, and never secrets.
    fn subject(&self) -> String;

    /// The keys of this capability's block beneath `[plugins.NAME.grants]` that would allow it beside all
    /// that is granted now.
    fn remedy(&self, granted: Option<&Self::Grant>) -> String;
}

/// Proof that the gate let one ask through. Every function with an effect takes one by value, and only
/// the gate makes them.
///
/// An ask that changes something is on record before there is a permit. An ask that only reads has a single
/// record, with its outcome: [`Permit::record`] writes it before the plugin has anything of the effect. Where a
/// permit of the second kind is dropped unused, the record says so.
#[must_use = "a permit is for an effect, which takes it by value"]
pub struct Permit<A: Ask> {
    /// `None` only while it is taken apart.
    ask: Option<A>,
    gate: Gate,
    /// Whether there is a record of the ask already.
    is_recorded: bool,
}

/// Outcome of a permit that was dropped unused.
const UNUSED: &str = "unused";

impl<A: Ask> Permit<A> {
    /// What was permitted.
    pub fn ask(&self) -> &A {
        self.ask.as_ref().expect("an ask is there until the permit is used up")
    }

    /// Whether there was a record of the ask before the permit.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Uses the permit up: the effect was carried out, or failed, with this outcome.
    ///
    /// # Errors
    ///
    /// [`Denied`] where the outcome cannot be recorded and there is no earlier record: the plugin must get
    /// nothing of the effect.
    pub fn record(mut self, outcome: &str) -> Result<(), Denied> {
        let Some(ask) = self.ask.take() else { return Ok(()) };
        if self.is_recorded {
            self.gate.record_outcome(&ask, Verdict::Allowed, outcome);
            return Ok(());
        }
        self.gate.record(&ask, Verdict::Allowed, Some(outcome))
    }

    /// Uses the permit up: the effect was carried out as the record before it says. Where there is no record
    /// before it, `outcome` is written.
    ///
    /// # Errors
    ///
    /// As [`Permit::record`].
    pub fn record_done(mut self, outcome: &str) -> Result<(), Denied> {
        if self.is_recorded {
            self.ask = None;
            return Ok(());
        }
        self.record(outcome)
    }

    /// Uses the permit up: the effect was refused after the permit was given, for a reason other than grants and wants.
    /// The caller tells the operator of it.
    ///
    /// # Errors
    ///
    /// As [`Permit::record`].
    pub fn record_refusal(mut self, outcome: &str) -> Result<(), Denied> {
        let Some(ask) = self.ask.take() else { return Ok(()) };
        if self.is_recorded {
            self.gate.record_outcome(&ask, Verdict::Denied, outcome);
            return Ok(());
        }
        self.gate.record_refusal(&ask, outcome)
    }

    /// Uses the permit up: on the way to the effect it turned out that no grant can allow it, such as a path
    /// that leads out of its directory.
    pub fn revoke(mut self, outcome: &'static str) -> Denied {
        let ask = self.ask.take().expect("an ask is there until the permit is used up");
        if self.is_recorded {
            self.gate.record_outcome(&ask, Verdict::Denied, outcome);
            let (plugin, subject) = (self.gate.trail.plugin(), ask.subject());
            return Denied { plugin, subject, reason: Reason::Never(Some(outcome)) };
        }
        self.gate.refuse_always(&ask, outcome)
    }
}

impl<A: Ask> Drop for Permit<A> {
    fn drop(&mut self) {
        if let Some(ask) = self.ask.take()
            && !self.is_recorded
        {
            // `record` has logged the error. No caller is left to receive it.
            let _logged = self.gate.record(&ask, Verdict::Allowed, Some(UNUSED));
        }
    }
}

impl<A: Ask + fmt::Debug> fmt::Debug for Permit<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.ask).finish()
    }
}

/// A refusal. `Display` is what the client may read: its reader is a model, perhaps with an
/// editor, so the remedy is not in it.
#[derive(Debug, Clone)]
pub struct Denied {
    plugin: Arc<str>,
    subject: String,
    reason: Reason,
}

#[derive(Debug, Clone)]
enum Reason {
    /// With the block of the configuration that would allow it, and whether there is one already.
    Ungranted {
        block: String,
        is_there: bool,
    },
    Unwanted(Capability),
    /// No grant can allow it; why, in a word or two, where the subject does not say so.
    Never(Option<&'static str>),
    Unrecorded(String),
}

impl Denied {
    /// What the operator reads: who, what, and the line that would allow it.
    pub fn for_operator(&self) -> String {
        let Self { plugin, subject, reason } = self;
        match reason {
            Reason::Ungranted { block, is_there: false } => format!(
                "`{plugin}` may not {subject}; to allow it, add to portcullis.toml:\n{block}"
            ),
            Reason::Ungranted { block, is_there: true } => format!(
                "`{plugin}` may not {subject}; to allow it, write this in the place of that block of \
                 portcullis.toml:\n{block}"
            ),
            Reason::Unwanted(capability) => format!(
                "`{plugin}` may not {subject}: its own manifest does not ask for this use of \
                 `{capability}`, so no grant can allow it"
            ),
            Reason::Never(why) => {
                let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
                format!("`{plugin}` may not {subject}, and no grant can allow it{why}")
            }
            Reason::Unrecorded(error) => {
                format!("`{plugin}` may not {subject}: the audit could not record it ({error})")
            }
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` may not {}", self.plugin, self.subject)
    }
}

impl std::error::Error for Denied {}

/// What one plugin wants and was granted. Both must cover an ask.
#[derive(Debug, Default)]
pub struct Policy {
    /// What the operator wrote into `portcullis.toml`.
    pub grants: Grants,
    /// What the plugin's manifest says it needs.
    pub wants: Grants,
    /// What it can do without: this is there without a grant, and refuses everything.
    pub dispensable: Vec<Capability>,
    /// Whether it is a foreign component. All of its imports are linked, as imports say nothing about needs; what is
    /// not granted refuses.
    pub is_foreign: bool,
}

impl Policy {
    /// Whether the capability is there at all.
    pub fn has(&self, capability: Capability) -> bool {
        self.grants.has(capability) || self.dispensable.contains(&capability)
    }
}

/// Judges the asks of one call: holds one plugin's policy and the trail that the call leaves.
#[derive(Clone)]
pub struct Gate {
    policy: Arc<Policy>,
    trail: Trail,
}

impl Gate {
    /// A gate for one call.
    pub fn new(policy: Arc<Policy>, trail: Trail) -> Self {
        Self { policy, trail }
    }

    /// The trail this gate writes to.
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// What the operator granted, for limits that are part of a grant.
    pub fn grants(&self) -> &Grants {
        &self.policy.grants
    }

    /// Judges an ask and records the verdict, before anything is done.
    ///
    /// # Errors
    ///
    /// [`Denied`] where the grants or the wants do not hold the ask, or it cannot be recorded.
    pub fn pass<A: Ask>(&self, ask: A) -> Result<Permit<A>, Denied> {
        self.judge(&ask)?;
        self.record(&ask, Verdict::Allowed, None)?;
        Ok(Permit { ask: Some(ask), gate: self.clone(), is_recorded: true })
    }

    /// Judges an ask that changes nothing, such as to open a file for reading. A refusal is recorded at once.
    /// What is allowed is recorded together with its outcome, through the permit.
    ///
    /// # Errors
    ///
    /// [`Denied`] where the grants or the wants do not hold the ask.
    pub fn pass_read<A: Ask>(&self, ask: A) -> Result<Permit<A>, Denied> {
        self.judge(&ask)?;
        Ok(Permit { ask: Some(ask), gate: self.clone(), is_recorded: false })
    }

    fn judge<A: Ask>(&self, ask: &A) -> Result<(), Denied> {
        let Policy { grants, wants, .. } = &*self.policy;
        let reason = if !ask.is_grantable() {
            Reason::Never(None)
        } else if !A::grant(wants).is_some_and(|wants| ask.is_wanted(wants)) {
            // Checked first: where the plugin does not want it, no grant helps.
            Reason::Unwanted(A::CAPABILITY)
        } else if !A::grant(grants).is_some_and(|grant| ask.is_within(grant)) {
            self.ungranted(ask)
        } else {
            return Ok(());
        };
        Err(self.refuse(ask, None, reason))
    }

    /// Records the outcome of an ask that is on record already.
    fn record_outcome<A: Ask>(&self, ask: &A, verdict: Verdict, outcome: &str) {
        let subject = ask.subject();
        let recorded =
            self.trail.record_outcome(A::CAPABILITY.as_str(), &subject, verdict, outcome);
        if let Err(error) = recorded {
            let plugin = self.trail.plugin();
            tracing::error!(
                "the audit lacks the outcome ({}) of an ask of `{plugin}`, {subject}: {error}",
                verdict.word()
            );
        }
    }

    /// Records an ask that is refused for a reason other than grants and wants. The caller tells the operator
    /// of it.
    ///
    /// # Errors
    ///
    /// [`Denied`] where it cannot be recorded.
    pub fn record_refusal<A: Ask>(&self, ask: &A, outcome: &str) -> Result<(), Denied> {
        self.record(ask, Verdict::Denied, Some(outcome))
    }

    /// Records a refusal that no grant can change, such as of a path that leads out of its directory.
    pub fn refuse_always<A: Ask>(&self, ask: &A, outcome: &'static str) -> Denied {
        self.refuse(ask, Some(outcome), Reason::Never(Some(outcome)))
    }

    /// Records an ask for what nobody is granted.
    pub fn refuse_to_all(&self, what: &str, subject: &str) {
        let plugin = self.trail.plugin();
        match self.trail.record_ask(what, subject, Verdict::Denied, None) {
            Ok(Recorded::Counted) => {}
            Ok(Recorded::Described | Recorded::FirstCounted) => {
                tracing::warn!("`{plugin}` may not {subject}: `{what}` are granted to nobody");
            }
            Err(error) => {
                tracing::error!("the audit does not say that `{plugin}` would {subject}: {error}");
            }
        }
    }

    fn record<A: Ask>(
        &self,
        ask: &A,
        verdict: Verdict,
        outcome: Option<&str>,
    ) -> Result<(), Denied> {
        let subject = ask.subject();
        match self.trail.record_ask(A::CAPABILITY.as_str(), &subject, verdict, outcome) {
            Ok(_) => Ok(()),
            Err(error) => {
                let reason = Reason::Unrecorded(error.to_string());
                let denied = Denied { plugin: self.trail.plugin(), subject, reason };
                tracing::warn!("{}", denied.for_operator());
                Err(denied)
            }
        }
    }

    /// Records a refusal, and tells the operator of it unless there were very many in this call.
    fn refuse<A: Ask>(&self, ask: &A, outcome: Option<&str>, reason: Reason) -> Denied {
        let subject = ask.subject();
        let recorded =
            self.trail.record_ask(A::CAPABILITY.as_str(), &subject, Verdict::Denied, outcome);
        let (reason, told) = match recorded {
            Ok(recorded) => (reason, recorded),
            Err(error) => (Reason::Unrecorded(error.to_string()), Recorded::Described),
        };
        let denied = Denied { plugin: self.trail.plugin(), subject, reason };
        match told {
            Recorded::Described => tracing::warn!("{}", denied.for_operator()),
            Recorded::FirstCounted => tracing::warn!(
                "{}; further refusals of this call are counted in the audit and not told here",
                denied.for_operator()
            ),
            Recorded::Counted => {}
        }
        denied
    }

    fn ungranted<A: Ask>(&self, ask: &A) -> Reason {
        let (plugin, granted) = (self.trail.plugin(), A::grant(&self.policy.grants));
        let keys = ask.remedy(granted);
        let block = format!("[plugins.{plugin}.grants.{}]\n{keys}", A::CAPABILITY);
        Reason::Ungranted { block, is_there: granted.is_some() }
    }
}
