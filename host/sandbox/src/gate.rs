//! The gate: judges each ask of a plugin, records the verdict, and makes permits for effects.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use serde_json::Value;

use crate::capabilities::{Capability, Grants};
use portcullis_audit::{Recorded, Trail, Verdict};

/// An effect that a plugin asks for.
///
/// [`is_within`](Ask::is_within) is a pure function that decides whether a grant covers the ask, and by default also
/// whether the plugin's wants cover the ask.
pub trait Ask {
    /// The type of the capability's grants and wants.
    type Grant;

    /// The capability.
    const CAPABILITY: Capability;

    /// This capability's part of all grants, or of all wants. `None`: the capability is not granted, or not wanted,
    /// so the ask is refused.
    fn grant(grants: &Grants) -> Option<&Self::Grant>;

    /// Whether the grant covers this ask.
    fn is_within(&self, grant: &Self::Grant) -> bool;

    /// Whether the plugin's wants cover this ask.
    fn is_wanted(&self, wants: &Self::Grant) -> bool {
        self.is_within(wants)
    }

    /// Whether any grant could cover this ask.
    fn is_grantable(&self) -> bool {
        true
    }

    /// The effect and its object as a phrase such as `cache 5 bytes: KEY`, for the audit's record and for messages,
    /// where it follows "may not". Never contains secrets.
    fn subject(&self) -> String;

    /// The lines of `[plugins.NAME.grants.CAPABILITY]` that allow this ask and everything that the present grant
    /// allows. `granted` is the present grant. `None`: nothing is granted yet.
    fn remedy(&self, granted: Option<&Self::Grant>) -> String;
}

/// Proof that the gate allowed one ask. Every function with an effect takes a permit by value, and only the gate makes
/// permits.
///
/// [`Gate::pass`] records an ask before it makes the permit. For a permit of [`Gate::pass_read`], the function that
/// uses the permit up writes the only record, with the outcome, before the plugin gets the result. If such a permit is
/// dropped unused, its record says so.
#[must_use = "a permit is for an effect, which takes it by value"]
pub struct Permit<A: Ask> {
    /// `None` after the permit was used up.
    ask: Option<A>,
    gate: Gate,
    /// Whether the ask is recorded already.
    is_recorded: bool,
}

/// The outcome of a permit that was dropped unused.
const UNUSED: &str = "unused";

impl<A: Ask> Permit<A> {
    /// The ask that was permitted.
    pub fn ask(&self) -> &A {
        self.ask.as_ref().expect("an ask is there until the permit is used up")
    }

    /// Whether the ask was recorded before the permit was made.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Uses the permit up: the effect was carried out, or failed, with this outcome.
    ///
    /// # Errors
    ///
    /// [`Denied`]: the outcome cannot be recorded, and there is no earlier record. The plugin must not get the result.
    pub fn record(mut self, outcome: &str) -> Result<(), Denied> {
        let Some(ask) = self.ask.take() else { return Ok(()) };
        if self.is_recorded {
            self.gate.record_outcome(&ask, Verdict::Allowed, outcome);
            return Ok(());
        }
        self.gate.record(&ask, Verdict::Allowed, Some(outcome))
    }

    /// Uses the permit up: the effect was carried out. An ask that is recorded already gets no
    /// second record. The record of any other ask is written now, with `outcome`.
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

    /// Uses the permit up: the effect was refused for a reason other than grants and wants. The refusal is not logged.
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

    /// Uses the permit up: it turned out that no grant can allow the effect, for example because a path leads out of
    /// its directory.
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
            // `record` has logged the error. Nobody is left to receive it.
            let _logged = self.gate.record(&ask, Verdict::Allowed, Some(UNUSED));
        }
    }
}

impl<A: Ask + fmt::Debug> fmt::Debug for Permit<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.ask).finish()
    }
}

/// A refusal. `Display` is for the client, whose model may be able to edit the configuration. So the text does not
/// contain the remedy.
#[derive(Debug, Clone)]
pub struct Denied {
    plugin: Arc<str>,
    subject: String,
    reason: Reason,
}

#[derive(Debug, Clone)]
enum Reason {
    /// The grants do not cover the ask.
    Ungranted {
        /// The table of the configuration that would allow the ask.
        table: String,
        /// Whether the configuration has such a table already.
        exists: bool,
    },
    /// The wants do not cover the ask.
    Unwanted(Capability),
    /// No grant can allow the ask, for this reason. `None`: [`Ask::is_grantable`] returned false.
    Never(Option<&'static str>),
    /// The audit cannot be written.
    Unrecorded(Arc<io::Error>),
}

impl Denied {
    /// The text for the operator, with the remedy if there is one.
    pub fn for_operator(&self) -> String {
        let Self { plugin, subject, reason } = self;
        match reason {
            Reason::Ungranted { table, exists: false } => format!(
                "`{plugin}` may not {subject}; to allow it, add to portcullis.toml:\n{table}"
            ),
            Reason::Ungranted { table, exists: true } => format!(
                "`{plugin}` may not {subject}; to allow it, set this table of \
                 portcullis.toml:\n{table}"
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

impl Error for Denied {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            Reason::Unrecorded(error) => Some(&**error),
            Reason::Ungranted { .. } | Reason::Unwanted(_) | Reason::Never(_) => None,
        }
    }
}

/// The grants and wants of one plugin. The gate allows an ask only if the grants and the wants cover the ask.
#[derive(Debug, Default)]
pub struct Policy {
    /// The operator's grants, from `portcullis.toml`.
    pub grants: Grants,
    /// The wants of the plugin's manifest. A foreign component wants what it is granted.
    pub wants: Grants,
    /// Capabilities that the plugin can run without, which are linked even if they are not granted, and then refuse
    /// every ask.
    pub dispensable: Vec<Capability>,
    /// Whether the plugin is a foreign component. The imports of a foreign component show what it could use and not
    /// what it needs. So all capabilities are linked, and those that are not granted refuse every ask.
    pub is_foreign: bool,
}

impl Policy {
    /// Whether the capability is granted, or the plugin can run without it. For foreign components, see
    /// [`is_foreign`](Self::is_foreign).
    pub fn has(&self, capability: Capability) -> bool {
        self.grants.has(capability) || self.dispensable.contains(&capability)
    }

    /// The policy for one call of a tool with these arguments. The hosts that these arguments name are granted for this
    /// call, if the operator lets calls name them.
    pub fn of_call(self: &Arc<Self>, arguments: &Value) -> Arc<Self> {
        match self.grants.of_call(&self.wants, arguments) {
            None => self.clone(),
            Some((grants, wants)) => Arc::new(Self {
                grants,
                wants,
                dispensable: self.dispensable.clone(),
                is_foreign: self.is_foreign,
            }),
        }
    }
}

/// Judges the asks of one call, by the plugin's policy, and records them in the call's audit trail.
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

    /// The audit trail.
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// The operator's grants, for limits that are part of a grant.
    pub fn grants(&self) -> &Grants {
        &self.policy.grants
    }

    /// The plugin's wants.
    pub fn wants(&self) -> &Grants {
        &self.policy.wants
    }

    /// Judges an ask and records the verdict, before anything is done.
    ///
    /// # Errors
    ///
    /// [`Denied`]: the grants or the wants do not cover the ask, or it cannot be recorded.
    pub fn pass<A: Ask>(&self, ask: A) -> Result<Permit<A>, Denied> {
        self.judge(&ask)?;
        self.record(&ask, Verdict::Allowed, None)?;
        Ok(Permit { ask: Some(ask), gate: self.clone(), is_recorded: true })
    }

    /// Judges an ask that changes nothing, such as opening a file for reading. A refusal is recorded at once. An
    /// allowed ask is recorded with its outcome, through the permit.
    ///
    /// # Errors
    ///
    /// [`Denied`]: the grants or the wants do not cover the ask.
    pub fn pass_read<A: Ask>(&self, ask: A) -> Result<Permit<A>, Denied> {
        self.judge(&ask)?;
        Ok(Permit { ask: Some(ask), gate: self.clone(), is_recorded: false })
    }

    fn judge<A: Ask>(&self, ask: &A) -> Result<(), Denied> {
        let Policy { grants, wants, is_foreign, .. } = &*self.policy;
        let reason = if !ask.is_grantable() {
            Reason::Never(None)
        } else if !A::grant(wants).is_some_and(|wants| ask.is_wanted(wants)) {
            // Wants are checked before grants: if the plugin does not want the effect, no grant helps. The wants of a
            // foreign component are its grants.
            if *is_foreign { self.ungranted_reason(ask) } else { Reason::Unwanted(A::CAPABILITY) }
        } else if !A::grant(grants).is_some_and(|grant| ask.is_within(grant)) {
            self.ungranted_reason(ask)
        } else {
            return Ok(());
        };
        Err(self.refuse(ask, None, reason))
    }

    /// Records the outcome of an ask that is recorded already.
    fn record_outcome<A: Ask>(&self, ask: &A, verdict: Verdict, outcome: &str) {
        let subject = ask.subject();
        let recorded =
            self.trail.record_outcome(A::CAPABILITY.as_str(), &subject, verdict, outcome);
        if let Err(error) = recorded {
            let plugin = self.trail.plugin();
            tracing::error!(
                "the audit could not record the outcome of an ask of `{plugin}` ({}: {subject}): {error}",
                verdict.word()
            );
        }
    }

    /// Records an ask that is refused for a reason other than grants and wants. The refusal is not logged.
    ///
    /// # Errors
    ///
    /// [`Denied`]: the refusal cannot be recorded.
    pub fn record_refusal<A: Ask>(&self, ask: &A, outcome: &str) -> Result<(), Denied> {
        self.record(ask, Verdict::Denied, Some(outcome))
    }

    /// Records and logs the refusal of an ask that no grant can allow, such as an ask for a path that leads out
    /// of its directory.
    pub fn refuse_always<A: Ask>(&self, ask: &A, outcome: &'static str) -> Denied {
        self.refuse(ask, Some(outcome), Reason::Never(Some(outcome)))
    }

    /// Records and logs the refusal of an effect that no plugin can be granted. `what` is the kind of effect, such
    /// as `sockets`.
    pub fn refuse_to_all(&self, what: &str, subject: &str) {
        let plugin = self.trail.plugin();
        match self.trail.record_ask(what, subject, Verdict::Denied, None) {
            Ok(Recorded::Counted) => {}
            Ok(Recorded::Single | Recorded::FirstCounted) => {
                tracing::warn!("`{plugin}` may not {subject}: no plugin can be granted `{what}`");
            }
            Err(error) => {
                tracing::error!(
                    "the audit could not record that `{plugin}` may not {subject}: {error}"
                );
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
                let reason = Reason::Unrecorded(Arc::new(error));
                let denied = Denied { plugin: self.trail.plugin(), subject, reason };
                tracing::warn!("{}", denied.for_operator());
                Err(denied)
            }
        }
    }

    /// Records a refusal and logs it for the operator. If a call has very many refusals, the audit only counts the
    /// later ones. The first counted refusal is logged with a note, and those after it are not logged.
    fn refuse<A: Ask>(&self, ask: &A, outcome: Option<&str>, reason: Reason) -> Denied {
        let subject = ask.subject();
        let recorded =
            self.trail.record_ask(A::CAPABILITY.as_str(), &subject, Verdict::Denied, outcome);
        let (reason, recorded) = match recorded {
            Ok(recorded) => (reason, recorded),
            Err(error) => (Reason::Unrecorded(Arc::new(error)), Recorded::Single),
        };
        let denied = Denied { plugin: self.trail.plugin(), subject, reason };
        match recorded {
            Recorded::Single => tracing::warn!("{}", denied.for_operator()),
            Recorded::FirstCounted => tracing::warn!(
                "{}\nFurther refusals of this call are counted in the audit and not logged",
                denied.for_operator()
            ),
            Recorded::Counted => {}
        }
        denied
    }

    fn ungranted_reason<A: Ask>(&self, ask: &A) -> Reason {
        let (plugin, granted) = (self.trail.plugin(), A::grant(&self.policy.grants));
        let keys = ask.remedy(granted);
        let table = format!("[plugins.{plugin}.grants.{}]\n{keys}", A::CAPABILITY);
        Reason::Ungranted { table, exists: granted.is_some() }
    }
}
