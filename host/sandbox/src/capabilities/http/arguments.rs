//! Hosts that a call names in its arguments: a grant says which hosts a call may name, a want says in which argument.

use std::fmt;
use std::str::FromStr;

use portcullis_egress::{Origin, OriginError, ParseOriginError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::grant::{HttpGrant, HttpRule, InvalidHttpGrant, check_methods, get};

/// The beginning of the target of a want. A JSON Pointer to the argument follows, without its first `/`.
const TARGET_PREFIX: &str = "arguments/";

/// Hosts that a call may name in its arguments, and the methods that are allowed at a named host.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentRule {
    /// The hosts that a call may name.
    #[schemars(extend("minItems" = 1))]
    pub hosts: Vec<HostPattern>,
    /// The methods, in capitals.
    #[serde(default = "get")]
    #[schemars(extend("minItems" = 1), inner(regex(pattern = "^[A-Z]*$")))]
    pub methods: Vec<String>,
}

/// `HOST`: this host. `.HOST`: its subdomains, without the host itself. `*`: all hosts. The scheme and the port do not
/// matter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^([*]|[^/?#*:]+|\\[[^/?#*]+\\])$"))]
pub enum HostPattern {
    /// `*`: all hosts.
    All,
    /// `HOST`: this host.
    Host(String),
    /// `.HOST`: all subdomains of a host, without the host itself.
    Subdomains(String),
}

/// An argument of the plugin's tools that names a host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedArgument {
    /// A JSON Pointer into the arguments.
    pointer: String,
    methods: Vec<String>,
}

impl HostPattern {
    /// Whether the pattern matches this host, as [`Origin::host`] returns it.
    pub(super) fn matches(&self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Host(name) => name == host,
            Self::Subdomains(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = ParseOriginError;

    fn from_str(text: &str) -> Result<Self, ParseOriginError> {
        if text == "*" {
            return Ok(Self::All);
        }
        let (is_suffix, name) = match text.strip_prefix('.') {
            Some(name) => (true, name),
            None => (false, text),
        };
        let fault = |cause| ParseOriginError { text: text.to_owned(), cause };
        let origin: Origin = name.parse().map_err(|error: ParseOriginError| fault(error.cause))?;
        // An `https` origin with the default port is displayed as its host.
        if name.contains("://") || origin.to_string() != origin.host() {
            return Err(fault(OriginError::HostOnly));
        }
        if name.contains(['/', '?', '#']) {
            return Err(fault(OriginError::Path));
        }
        let host = origin.host().to_owned();
        Ok(if is_suffix { Self::Subdomains(host) } else { Self::Host(host) })
    }
}

impl TryFrom<String> for HostPattern {
    type Error = ParseOriginError;

    fn try_from(text: String) -> Result<Self, ParseOriginError> {
        text.parse()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Host(name) => f.write_str(name),
            Self::Subdomains(name) => write!(f, ".{name}"),
        }
    }
}

impl ArgumentRule {
    pub(super) fn check(&self) -> Result<(), InvalidHttpGrant> {
        if self.hosts.is_empty() {
            return Err(InvalidHttpGrant::EmptyHosts);
        }
        check_methods(&self.methods)
    }

    fn allows(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host))
    }

    /// Whether the operator wrote the name of this very host. A pattern that matches the host does not count.
    pub(super) fn names(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| matches!(pattern, HostPattern::Host(name) if name == host))
    }
}

impl fmt::Display for ArgumentRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        write!(f, "{} {} (only if a call names the host)", self.methods.join(","), hosts.join(", "))
    }
}

impl WantedArgument {
    /// The argument that the target of a want names. `None`: the target is a host.
    pub(super) fn of_target(target: &str, methods: Vec<String>) -> Option<Self> {
        let pointer = target.strip_prefix(TARGET_PREFIX)?;
        Some(Self { pointer: format!("/{pointer}"), methods })
    }

    pub(super) fn methods(&self) -> &[String] {
        &self.methods
    }
}

impl fmt::Display for WantedArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.pointer.trim_start_matches('/');
        write!(f, "{} the host in the argument `{name}`", self.methods.join(","))
    }
}

impl HttpGrant {
    /// Whether this grant has the wanted methods, and no others, for hosts that calls may name. The hosts are not
    /// compared.
    pub(super) fn has_arguments_as(&self, wants: &Self) -> bool {
        let granted = || self.arguments.iter().flat_map(|rule| &rule.methods);
        let mut wanted = wants.wanted_arguments.iter().flat_map(WantedArgument::methods);
        wanted.all(|method| granted().any(|one| one == method))
            && granted().all(|method| wants.want_of_arguments(method))
    }

    /// Whether these wants contain a method for hosts that calls may name.
    pub(super) fn want_of_arguments(&self, method: &str) -> bool {
        let mut methods = self.wanted_arguments.iter().flat_map(WantedArgument::methods);
        methods.any(|wanted| wanted == method)
    }

    /// This grant and the plugin's wants for one call, whose arguments may name hosts. `None`: the arguments name no
    /// host that this grant allows.
    ///
    /// An argument that is not the URL of a host grants nothing. The plugin still gets the argument.
    pub(super) fn named_in(&self, wants: &Self, arguments: &Value) -> Option<(Self, Self)> {
        let (mut granted, mut wanted) = (Vec::new(), Vec::new());
        for argument in &wants.wanted_arguments {
            let url = arguments.pointer(&argument.pointer).and_then(Value::as_str);
            let Some(origin) = url.and_then(|url| url.parse::<Origin>().ok()) else { continue };
            let rule = |methods: &[String]| HttpRule {
                hosts: vec![origin.clone()],
                methods: methods.to_vec(),
            };
            let allowed = self.arguments.iter().filter(|rule| rule.allows(origin.host()));
            granted.extend(allowed.map(|allowed| rule(&allowed.methods)));
            wanted.push(rule(&argument.methods));
        }
        if granted.is_empty() {
            return None;
        }
        let of_call = |grant: &Self, named_by_call| Self { named_by_call, ..grant.clone() };
        Some((of_call(self, granted), of_call(wants, wanted)))
    }
}
