//! The grant of HTTP requests, and the check whether it covers a request or a connection.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use portcullis_egress::{Connection, Origin, Request, Secret, Secrets};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{ArgumentRule, WantedArgument};
use crate::capabilities::{Capability, Grants, InvalidWant};
use crate::gate::Ask;

/// Which requests a plugin may make.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Unchecked")]
pub struct HttpGrant {
    /// The hosts, with the methods of the requests to each. A grant has at least one rule, or hosts that a call may
    /// name.
    pub rules: Vec<HttpRule>,
    /// Hosts that a call may name in its arguments. Always empty in wants.
    pub arguments: Vec<ArgumentRule>,
    /// The arguments that name hosts. Always empty in grants.
    #[schemars(skip)]
    pub(super) wanted_arguments: Vec<WantedArgument>,
    /// What the arguments of the current call name. Empty outside of a call.
    #[schemars(skip)]
    pub(super) named_by_call: Vec<HttpRule>,
    /// Addresses that are not public and may be reached all the same.
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<IpNet>,
    /// Headers that Portcullis adds to requests, by origin. No plugin sees them.
    pub headers: Secrets,
}

/// Hosts, and the methods that are allowed there. The methods of a rule are allowed at the hosts of this rule only.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRule {
    /// The hosts.
    #[schemars(extend("minItems" = 1))]
    pub hosts: Vec<Origin>,
    /// The methods, in capitals.
    #[serde(default = "get")]
    #[schemars(extend("minItems" = 1), inner(regex(pattern = "^[A-Z]*$")))]
    pub methods: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["hosts"] },
    { "required": ["rules"] },
    { "required": ["arguments"] },
]))]
struct Unchecked {
    /// The hosts that the plugin may reach with `methods`. Default: none; then `rules` or `arguments` is required.
    #[serde(default)]
    #[schemars(extend("minItems" = 1))]
    hosts: Option<Vec<Origin>>,
    /// The methods of requests to `hosts`, in capitals. Default: `["GET"]`.
    #[serde(default)]
    #[schemars(extend("minItems" = 1), inner(regex(pattern = "^[A-Z]*$")))]
    methods: Option<Vec<String>>,
    /// Further hosts, with methods of their own. Default: none; then `hosts` or `arguments` is required.
    #[serde(default)]
    rules: Vec<HttpRule>,
    /// Hosts that a call may name in its arguments. The plugin reaches the host that the call names, and only during
    /// this call. Default: none.
    #[serde(default)]
    arguments: Vec<ArgumentRule>,
    /// Private networks in which the hosts may be, in CIDR notation, such as `10.0.0.0/8`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    addresses: Vec<IpNet>,
    /// Headers that Portcullis adds to requests. Key: the host of the request. Value: the headers, by name. The plugin
    /// does not see them.
    #[serde(default)]
    headers: Secrets,
}

/// Why a grant of HTTP requests is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidHttpGrant {
    /// A rule names no host.
    #[error("`hosts` is empty: name at least one host, or leave out this part of grants.http")]
    EmptyHosts,
    /// A rule has an empty list of methods.
    #[error("`methods` is empty: name at least one method, or leave `methods` out for GET")]
    EmptyMethods,
    /// A method is empty or has other characters than capital letters.
    #[error("the method `{0}` does not consist of capital letters")]
    LowercaseMethod(String),
    /// There are methods and no hosts.
    #[error("`methods` needs `hosts`: name at least one host")]
    MethodsWithoutHosts,
    /// The grant has none of `hosts`, `rules` and `arguments`.
    #[error(
        "`hosts`, `rules` and `arguments` are missing: name at least one host, or leave out grants.http"
    )]
    NoHosts,
    /// There are headers for an origin that no rule grants.
    #[error(
        "`headers` names {0}, but neither `hosts` nor `rules` has this host: the headers would never be sent"
    )]
    HeadersOfOtherHost(Origin),
    /// A header has an invalid name.
    #[error("`{name}` is not a valid name of a header")]
    HeaderName {
        /// The name.
        name: String,
        /// The cause.
        #[source]
        cause: http::header::InvalidHeaderName,
    },
}

pub(super) fn get() -> Vec<String> {
    vec!["GET".into()]
}

pub(super) fn check_methods(methods: &[String]) -> Result<(), InvalidHttpGrant> {
    if methods.is_empty() {
        return Err(InvalidHttpGrant::EmptyMethods);
    }
    let is_method =
        |method: &str| !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    match methods.iter().find(|method| !is_method(method)) {
        Some(method) => Err(InvalidHttpGrant::LowercaseMethod(method.clone())),
        None => Ok(()),
    }
}

impl HttpRule {
    fn check(&self) -> Result<(), InvalidHttpGrant> {
        if self.hosts.is_empty() {
            return Err(InvalidHttpGrant::EmptyHosts);
        }
        check_methods(&self.methods)
    }

    fn has(&self, request: &Request) -> bool {
        self.hosts.contains(&request.origin) && self.methods.contains(&request.method)
    }
}

impl TryFrom<Unchecked> for HttpGrant {
    type Error = InvalidHttpGrant;

    fn try_from(unchecked: Unchecked) -> Result<Self, InvalidHttpGrant> {
        let Unchecked { hosts, methods, mut rules, arguments, addresses, headers } = unchecked;
        match (hosts, methods) {
            (Some(hosts), methods) => {
                rules.insert(0, HttpRule { hosts, methods: methods.unwrap_or_else(get) });
            }
            (None, Some(_)) => return Err(InvalidHttpGrant::MethodsWithoutHosts),
            (None, None) if rules.is_empty() && arguments.is_empty() => {
                return Err(InvalidHttpGrant::NoHosts);
            }
            (None, None) => {}
        }
        rules.iter().try_for_each(HttpRule::check)?;
        arguments.iter().try_for_each(ArgumentRule::check)?;
        for (origin, headers) in &headers {
            if !rules.iter().any(|rule| rule.hosts.contains(origin)) {
                return Err(InvalidHttpGrant::HeadersOfOtherHost(origin.clone()));
            }
            for name in headers.keys() {
                http::HeaderName::try_from(name.as_str())
                    .map_err(|cause| InvalidHttpGrant::HeaderName { name: name.clone(), cause })?;
            }
        }
        Ok(Self { rules, arguments, addresses, headers, ..Self::default() })
    }
}

impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        write!(f, "{} {}", self.methods.join(","), hosts.join(", "))
    }
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.iter().map(ToString::to_string);
        let named = self.arguments.iter().map(ToString::to_string);
        let wanted = self.wanted_arguments.iter().map(ToString::to_string);
        let all: Vec<_> = rules.chain(named).chain(wanted).collect();
        f.write_str(&all.join("; "))?;
        for net in &self.addresses {
            write!(f, ", also if the address is in {net}")?;
        }
        for (origin, headers) in &self.headers {
            let names: Vec<_> = headers.keys().map(String::as_str).collect();
            write!(f, ", Portcullis adds the headers {} for {origin}", names.join(", "))?;
        }
        Ok(())
    }
}

/// The hosts with their methods, the hosts that calls may name, and the private networks, each once, for display.
pub(super) fn targets(grant: &HttpGrant) -> Vec<String> {
    let rules = grant.rules.iter().flat_map(|rule| {
        rule.hosts.iter().map(|host| format!("{} {host}", rule.methods.join(",")))
    });
    let named = grant.arguments.iter().map(ToString::to_string);
    let wanted = grant.wanted_arguments.iter().map(ToString::to_string);
    let mut targets: Vec<String> = Vec::new();
    for target in rules
        .chain(named)
        .chain(wanted)
        .chain(grant.addresses.iter().map(|net| format!("also if the address is in {net}")))
    {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

/// Methods that change nothing at a server (RFC 9110, section 9.2.1).
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

impl Grants {
    /// Grants `POST` requests to one origin, and no other requests. Portcullis adds `header`, if given.
    pub fn allow_posts_only(&mut self, origin: Origin, header: Option<(String, Secret)>) {
        let rule = HttpRule { hosts: vec![origin.clone()], methods: vec!["POST".into()] };
        let headers = header.map(|header| (origin, BTreeMap::from([header])));
        self.http = Some(HttpGrant {
            rules: vec![rule],
            headers: headers.into_iter().collect(),
            ..HttpGrant::default()
        });
    }
}

impl HttpGrant {
    /// Whether this grant allows a request that may change something at the server, to a granted host or to a host
    /// that a call may name.
    pub fn allows_unsafe_request(&self) -> bool {
        let rules = self.rules.iter().map(|rule| &rule.methods[..]);
        let named = self.arguments.iter().map(|argument| &argument.methods[..]);
        let wanted = self.wanted_arguments.iter().map(WantedArgument::methods);
        let mut methods = rules.chain(named).chain(wanted).flatten();
        methods.any(|method| !SAFE_METHODS.contains(&method.as_str()))
    }

    /// Whether this grant and the plugin's wants both cover a request that may change something at the server.
    pub fn shares_unsafe_request(&self, wants: &Self) -> bool {
        let share = |granted: &[String], wanted: &[String]| {
            let is_unsafe = |method: &&String| !SAFE_METHODS.contains(&method.as_str());
            granted.iter().filter(is_unsafe).any(|method| wanted.contains(method))
        };
        let by_name = self.rules.iter().any(|granted| {
            wants.rules.iter().any(|wanted| {
                share(&granted.methods, &wanted.methods)
                    && granted.hosts.iter().any(|host| wanted.hosts.contains(host))
            })
        });
        let by_argument = self.arguments.iter().any(|granted| {
            let mut wanted = wants.wanted_arguments.iter().map(WantedArgument::methods);
            wanted.any(|wanted| share(&granted.methods, wanted))
        });
        by_name || by_argument
    }

    /// Whether a request is granted by name, or because the current call names its host.
    fn has(&self, request: &Request) -> bool {
        self.rules.iter().chain(&self.named_by_call).any(|rule| rule.has(request))
    }

    /// Whether the operator wrote the name of this very host: in a rule, or in `arguments` if the current call names
    /// the host. If so, a host that is an IP address need not be public, and `localhost` may have a loopback address.
    fn names_host(&self, host: &str) -> bool {
        let has_host = |rule: &HttpRule| rule.hosts.iter().any(|origin| origin.host() == host);
        self.rules.iter().any(has_host)
            || self.named_by_call.iter().any(has_host)
                && self.arguments.iter().any(|rule| rule.names(host))
    }

    /// Whether the rules of this grant have each pair of a host and a method that the rules of `other` have.
    pub(super) fn has_rules_of(&self, other: &Self) -> bool {
        let has_pair = |host: &Origin, method: &String| {
            let mut rules = self.rules.iter();
            rules.any(|rule| rule.hosts.contains(host) && rule.methods.contains(method))
        };
        other.rules.iter().all(|rule| {
            rule.hosts.iter().all(|host| rule.methods.iter().all(|method| has_pair(host, method)))
        })
    }

    /// Adds a host with methods. Hosts that have the same methods share a rule.
    fn add(&mut self, origin: Origin, methods: Vec<String>) {
        let same = self.rules.iter_mut().find(|rule| rule.methods == methods);
        match same {
            Some(rule) if rule.hosts.contains(&origin) => {}
            Some(rule) => rule.hosts.push(origin),
            None => self.rules.push(HttpRule { hosts: vec![origin], methods }),
        }
    }

    /// This grant as keys of `portcullis.toml`, with `more` as a further address. Headers are left out: a TOML
    /// comment names their origins, and the operator has to keep the headers that are there.
    fn keys(&self, more: Option<IpAddr>) -> String {
        let rule_keys = |rule: &HttpRule, between: &str| {
            let hosts: Vec<_> = rule.hosts.iter().map(ToString::to_string).collect();
            format!("hosts = {hosts:?}{between}methods = {:?}", rule.methods)
        };
        let mut lines = match self.rules.as_slice() {
            [] => Vec::new(),
            [rule] => vec![rule_keys(rule, "\n")],
            rules => {
                let rules: Vec<_> =
                    rules.iter().map(|rule| format!("{{ {} }}", rule_keys(rule, ", "))).collect();
                vec![format!("rules = [{}]", rules.join(", "))]
            }
        };
        let argument_keys = |ArgumentRule { hosts, methods }: &ArgumentRule| {
            let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
            format!("{{ hosts = {hosts:?}, methods = {methods:?} }}")
        };
        if !self.arguments.is_empty() {
            let rules: Vec<_> = self.arguments.iter().map(argument_keys).collect();
            lines.push(format!("arguments = [{}]", rules.join(", ")));
        }
        let more = more.map(|more| IpNet::from(more).to_string());
        let mut addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        addresses.extend(more.filter(|more| !addresses.contains(more)));
        if !addresses.is_empty() {
            lines.push(format!("addresses = {addresses:?}"));
        }
        for origin in self.headers.keys() {
            lines.push(format!("# keep the headers for {origin} that are there now"));
        }
        lines.join("\n")
    }
}

/// Adds a want of the manifest to the plugin's wants.
pub(in crate::capabilities) fn want(
    wants: &mut Option<HttpGrant>,
    target: &str,
    access: &str,
) -> Result<(), InvalidWant> {
    // A setting may hold a directory or a URL. A directory needs no grant of requests.
    if std::path::Path::new(target).is_absolute() {
        return Ok(());
    }
    let methods: Vec<_> = access.split(',').map(|method| method.trim().to_owned()).collect();
    if let Some(argument) = WantedArgument::of_target(target, methods.clone()) {
        wants.get_or_insert_default().wanted_arguments.push(argument);
        return Ok(());
    }
    let origin = target.parse()?;
    wants.get_or_insert_default().add(origin, methods);
    Ok(())
}

impl Ask for Request {
    type Grant = HttpGrant;
    const CAPABILITY: Capability = Capability::Http;

    fn grant(grants: &Grants) -> Option<&HttpGrant> {
        grants.http.as_ref()
    }

    fn is_within(&self, grant: &HttpGrant) -> bool {
        grant.has(self)
    }

    fn subject(&self) -> String {
        let path = portcullis_sanitize::line(&self.path, 500);
        format!("{} {}{path}", self.method, self.origin.url())
    }

    fn remedy(&self, granted: Option<&HttpGrant>) -> String {
        let mut grant = granted.cloned().unwrap_or_default();
        // Only a rule with no other host gets the method: a rule of several hosts would grant the method for all of
        // its hosts.
        let own_rule = grant.rules.iter_mut().find(|rule| rule.hosts == [self.origin.clone()]);
        match own_rule {
            Some(rule) => rule.methods.push(self.method.clone()),
            None => grant.add(self.origin.clone(), vec![self.method.clone()]),
        }
        grant.keys(None)
    }
}

impl Ask for Connection {
    type Grant = HttpGrant;
    const CAPABILITY: Capability = Capability::Http;

    fn grant(grants: &Grants) -> Option<&HttpGrant> {
        grants.http.as_ref()
    }

    fn is_within(&self, grant: &HttpGrant) -> bool {
        let address = self.address.to_canonical();
        let is_named = || {
            let name_is_address = self.host.trim_matches(['[', ']']).parse() == Ok(self.address);
            let name_is_loopback = self.host == "localhost" && address.is_loopback();
            (name_is_address || name_is_loopback) && grant.names_host(&self.host)
        };
        portcullis_egress::is_public(address)
            || grant.addresses.iter().any(|net| net.contains(&address))
            || is_named()
    }

    /// Always true: a manifest does not name addresses.
    fn is_wanted(&self, _: &HttpGrant) -> bool {
        true
    }

    fn subject(&self) -> String {
        format!("connect to {} at {}", self.host, self.address)
    }

    fn remedy(&self, granted: Option<&HttpGrant>) -> String {
        match granted {
            Some(granted) => granted.keys(Some(self.address)),
            None => format!("addresses = [\"{}\"]", IpNet::from(self.address)),
        }
    }
}
