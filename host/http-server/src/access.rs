//! The rules about who may send requests: hosts, origins, credentials, and the names of profiles. The rules can be
//! replaced while the server runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::caller::Callers;
use crate::oauth::{Oauth, Resource};
use crate::origins::Origins;
use crate::settings_error::InvalidSettings;

/// Who may send requests. With the default, no token is needed, and only requests to a host of loopback are accepted.
#[derive(Debug, Clone, Default)]
pub struct AccessRules {
    /// Accepted values of the header `Host`, beside `localhost`, `127.0.0.1` and `[::1]`: `host`, with any port, or
    /// `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Whether each IP address is an accepted value of `Host`. Needed for pages that need no token, and that other
    /// machines read at the IP address of this machine.
    pub any_address: bool,
    /// Origins of web pages that may send requests: `scheme://host[:port]`. Pages of other origins may not.
    pub allowed_origins: Vec<String>,
    /// A bearer token. Its callers are [`Principal::Token`](crate::Principal::Token).
    pub token: Option<String>,
    /// Which access tokens are accepted. Their callers are [`Principal::Subject`](crate::Principal::Subject).
    pub oauth: Option<Oauth>,
    /// Names of profiles. The handler is also served at `/mcp/NAME` for each name, and finds the name as
    /// [`ProfileName`](crate::ProfileName).
    pub profiles: BTreeSet<String>,
}

/// The rules in force. Clones share them.
#[derive(Clone)]
pub struct Access(Arc<Shared>);

struct Shared {
    /// The rules, with the origins of the server itself.
    rules: Mutex<(AccessRules, Vec<String>)>,
    checked: RwLock<Arc<Checked>>,
}

/// Rules that were checked.
pub(crate) struct Checked {
    pub(crate) origins: Origins,
    pub(crate) callers: Callers,
    pub(crate) profiles: BTreeSet<String>,
}

impl Checked {
    fn new(rules: &AccessRules, own_origins: &[String]) -> Result<Self, InvalidSettings> {
        let allowed_origins = [&rules.allowed_origins, own_origins].concat();
        let oauth = rules.oauth.clone().map(Resource::new).transpose()?;
        let origins = Origins::new(&rules.allowed_hosts, &allowed_origins)?;
        Ok(Self {
            origins: if rules.any_address { origins.allow_any_address() } else { origins },
            callers: Callers::new(rules.token.as_deref(), oauth),
            profiles: rules.profiles.clone(),
        })
    }
}

impl Access {
    /// Puts rules in force.
    ///
    /// # Errors
    ///
    /// A host, an origin, the OAuth resource, an issuer or a scope is invalid, or OAuth has no issuer.
    pub fn new(rules: AccessRules) -> Result<Self, InvalidSettings> {
        let checked = RwLock::new(Arc::new(Checked::new(&rules, &[])?));
        Ok(Self(Arc::new(Shared { rules: Mutex::new((rules, Vec::new())), checked })))
    }

    /// Replaces the rules. The new rules apply from the next request on, also on open connections and in open sessions.
    /// A response that has begun goes on.
    ///
    /// # Errors
    ///
    /// The new rules are invalid, for the same reasons as in [`Self::new`]. The old rules then stay in force.
    pub fn replace(&self, rules: AccessRules) -> Result<(), InvalidSettings> {
        let mut now = self.0.rules.lock();
        let checked = Checked::new(&rules, &now.1)?;
        now.0 = rules;
        *self.0.checked.write() = Arc::new(checked);
        Ok(())
    }

    /// Allows the origins of the server itself, now and after the rules are replaced.
    pub(crate) fn allow_own(&self, origins: Vec<String>) -> Result<(), InvalidSettings> {
        let mut now = self.0.rules.lock();
        let checked = Checked::new(&now.0, &origins)?;
        now.1 = origins;
        *self.0.checked.write() = Arc::new(checked);
        Ok(())
    }

    /// The rules for one request.
    pub(crate) fn now(&self) -> Arc<Checked> {
        self.0.checked.read().clone()
    }
}

impl Default for Access {
    fn default() -> Self {
        Self::new(AccessRules::default()).expect("the default rules name nothing that is invalid")
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Access(..)")
    }
}
