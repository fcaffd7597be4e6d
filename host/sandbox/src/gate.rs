//! The one door: whatever touches the world asks here first, and is recorded.

use std::fmt;
use std::sync::Arc;

use crate::capabilities::{Capability, Grants};
use portcullis_audit::Trail;

/// Something a plugin would like to do to the world.
///
/// [`is_within`](Ask::is_within) is pure and is the entire policy of its capability: it is asked
/// twice, once of what the operator granted and once of what the plugin said it wants.
pub trait Ask {
    /// What the operator grants and the plugin wants, for this capability.
    type Grant;

    /// Which capability this asks for.
    const CAPABILITY: Capability;

    /// This capability's part of all grants. `None` is refusal.
    fn grant(grants: &Grants) -> Option<&Self::Grant>;

    /// Whether the grant holds this ask.
    fn is_within(&self, grant: &Self::Grant) -> bool;

    /// Whether what the plugin says it wants holds this ask.
    fn is_wanted(&self, wants: &Self::Grant) -> bool {
        self.is_within(wants)
    }

    /// Whether any grant could hold this ask.
    fn is_grantable(&self) -> bool {
        true
    }

    /// What is asked for, for the audit record: never arguments beyond paths and addresses, never
    /// secrets.
    fn subject(&self) -> String;

    /// The keys of this capability's block beneath `[plugins.NAME.grants]` that would allow it beside all
    /// that is granted now.
    fn remedy(&self, granted: Option<&Self::Grant>) -> String;
}

/// Proof that the gate let an ask through. Functions that touch the world take one by value.
#[derive(Debug)]
pub struct Permit<A>(A);

impl<A> Permit<A> {
    /// What was permitted.
    pub fn into_ask(self) -> A {
        self.0
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
    Never,
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
            Reason::Never => format!("`{plugin}` may not {subject}: no grant can allow it"),
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

/// What one plugin wants and was granted. Both must hold an ask.
#[derive(Debug, Default)]
pub struct Policy {
    /// What the operator wrote into `portcullis.toml`.
    pub grants: Grants,
    /// What the plugin's manifest says it needs.
    pub wants: Grants,
    /// What it can do without: this is there without a grant, and refuses everything.
    pub dispensable: Vec<Capability>,
    /// Whether it is a plain component. Its imports are no sign of what it needs: what nobody gets is there,
    /// too, and refuses everything.
    pub plain: bool,
}

impl Policy {
    /// Whether the capability is there at all.
    pub fn has(&self, capability: Capability) -> bool {
        self.grants.has(capability) || self.dispensable.contains(&capability)
    }
}

/// The door of one call: one plugin's policy and the trail that the call leaves.
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

    /// Lets the ask through or not, and records which.
    ///
    /// # Errors
    ///
    /// [`Denied`] where the grants or the wants do not hold the ask, or it cannot be recorded.
    pub fn pass<A: Ask>(&self, ask: A) -> Result<Permit<A>, Denied> {
        let Policy { grants, wants, .. } = &*self.policy;
        let reason = if !ask.is_grantable() {
            Some(Reason::Never)
        } else if !A::grant(wants).is_some_and(|wants| ask.is_wanted(wants)) {
            // Looked at first: where the plugin does not want it, no grant helps.
            Some(Reason::Unwanted(A::CAPABILITY))
        } else if !A::grant(grants).is_some_and(|grant| ask.is_within(grant)) {
            Some(self.ungranted(&ask))
        } else {
            None
        };
        let recorded = self.trail.asked(A::CAPABILITY.as_str(), &ask.subject(), reason.is_none());
        let reason = reason.or(recorded.err().map(|error| Reason::Unrecorded(error.to_string())));
        match reason {
            None => Ok(Permit(ask)),
            Some(reason) => {
                let denied = Denied { plugin: self.trail.plugin(), subject: ask.subject(), reason };
                tracing::warn!("{}", denied.for_operator());
                Err(denied)
            }
        }
    }

    /// Records a refusal that only came to light while a permitted ask was carried out, such as a
    /// granted host whose address turned out to be private.
    pub fn refuse_late<A: Ask>(&self, ask: &A) -> Denied {
        let reason = match self.trail.asked(A::CAPABILITY.as_str(), &ask.subject(), false) {
            Ok(()) => self.ungranted(ask),
            Err(error) => Reason::Unrecorded(error.to_string()),
        };
        let denied = Denied { plugin: self.trail.plugin(), subject: ask.subject(), reason };
        tracing::warn!("{}", denied.for_operator());
        denied
    }

    /// Records an ask for what nobody is granted.
    pub fn refuse_to_all(&self, what: &str, subject: &str) {
        let plugin = self.trail.plugin();
        tracing::warn!("`{plugin}` may not {subject}: `{what}` are granted to nobody");
        if let Err(error) = self.trail.asked(what, subject, false) {
            tracing::error!("the audit does not say that `{plugin}` would {subject}: {error}");
        }
    }

    fn ungranted<A: Ask>(&self, ask: &A) -> Reason {
        let (plugin, granted) = (self.trail.plugin(), A::grant(&self.policy.grants));
        let keys = ask.remedy(granted);
        let block = format!("[plugins.{plugin}.grants.{}]\n{keys}", A::CAPABILITY);
        Reason::Ungranted { block, is_there: granted.is_some() }
    }
}
