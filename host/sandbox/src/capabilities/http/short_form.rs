//! Short forms of grants of requests, such as `http=api.example` and `http=GET+POST@api.example`.

use std::net::IpAddr;

use ipnet::IpNet;
use portcullis_egress::Origin;
use serde_json::{Value, json};

use super::arguments::{ArgumentRule, HostPattern};
use super::grant::HttpGrant;
use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};

/// The prefix of a value that stands for a network. A network has a `/` after the prefix, and an origin such as
/// `net:81` has none.
const NETWORK: &str = "net:";

/// The prefix of a value that stands for a host that a call may name.
const ARGUMENT: &str = "argument:";

/// The method of a host that is written without a method, as in `portcullis.toml`.
const DEFAULT_METHOD: &str = "GET";

impl ShortForms for HttpGrant {
    const FORMS: &'static [Form] = &[
        ("api.example", "GET from this host by https"),
        ("http://api.example:8080", "GET from this host and port by http"),
        ("GET+POST@api.example", "these methods at this host"),
        ("argument:localhost", "GET from this host at any port, if an argument names it"),
        (
            "argument:GET+POST@.example",
            "these methods at a subdomain of this host, if an argument names it",
        ),
        ("net:10.0.0.0/8", "granted hosts may have addresses of this network, which is not public"),
    ];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        let mut values = Vec::new();
        for part in short_form::separated(text)? {
            if let Some(network) = part.strip_prefix(NETWORK).filter(|rest| rest.contains('/')) {
                let network: IpNet = network
                    .parse()
                    .map_err(|cause| InvalidValue::Network { text: network.to_owned(), cause })?;
                values.push(format!("{NETWORK}{network}"));
                continue;
            }
            let (prefix, rest) = match part.strip_prefix(ARGUMENT) {
                Some(rest) => (ARGUMENT, rest),
                None => ("", part.as_str()),
            };
            let (methods, host) = rest.rsplit_once('@').unwrap_or((DEFAULT_METHOD, rest));
            let host = match prefix {
                ARGUMENT => host.parse::<HostPattern>()?.to_string(),
                _ => Origin::try_from(host.to_owned())?.to_string(),
            };
            for method in methods.split('+') {
                if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
                    return Err(InvalidValue::Method(method.to_owned()));
                }
                values.push(format!("{prefix}{method}@{host}"));
            }
        }
        Ok(values)
    }

    fn values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for rule in &self.rules {
            for origin in &rule.hosts {
                values.extend(rule.methods.iter().map(|method| format!("{method}@{origin}")));
            }
        }
        for ArgumentRule { hosts, methods } in &self.arguments {
            for host in hosts {
                values.extend(methods.iter().map(|method| format!("{ARGUMENT}{method}@{host}")));
            }
        }
        values.extend(self.addresses.iter().map(|network| format!("{NETWORK}{network}")));
        values
    }

    fn words(value: &str) -> String {
        if let Some((method, host)) = argument_parts(value) {
            return format!(
                "send {method} requests to {host}, if an argument of the call names it"
            );
        }
        match (value.split_once('@'), value.strip_prefix(NETWORK)) {
            (Some((method, host)), _) => format!("send {method} requests to {host}"),
            (None, Some(network)) => {
                format!("reach granted hosts that have addresses in {network}")
            }
            (None, None) => value.to_owned(),
        }
    }

    fn add(table: &mut Table, values: &[String]) {
        let Split { networks, pairs, arguments } = split(values);
        for (origin, methods) in by_host(&pairs) {
            let mut rules = rules(table);
            add_methods(&mut rules, &origin, methods);
            set_rules(table, rules);
        }
        for (host, methods) in by_host(&arguments) {
            let mut rules = rules_in(table, "arguments");
            add_methods(&mut rules, &host, methods);
            set_rules_in(table, "arguments", rules);
        }
        short_form::add_texts(table, "addresses", &networks);
    }

    fn remove(table: &mut Table, values: &[String]) {
        let Split { networks, pairs, arguments } = split(values);
        let mut argument_rules = rules_in(table, "arguments");
        for (host, methods) in by_host(&arguments) {
            remove_methods(&mut argument_rules, &host, &methods);
        }
        set_rules_in(table, "arguments", argument_rules);
        let mut rules = rules(table);
        for (origin, methods) in by_host(&pairs) {
            remove_methods(&mut rules, &origin, &methods);
        }
        let has = |text: &String| {
            let origin = text.parse::<Origin>();
            rules.iter().any(|rule| rule.hosts.iter().any(|host| host.parse() == origin))
        };
        if let Some(headers) = table.get_mut("headers").and_then(Value::as_object_mut) {
            headers.retain(|origin, _| has(origin));
        }
        if table.get("headers").and_then(Value::as_object).is_some_and(Table::is_empty) {
            table.remove("headers");
        }
        set_rules(table, rules);
        let networks: Vec<Option<IpNet>> = networks.iter().map(|one| one.parse().ok()).collect();
        let mut all = short_form::texts(table, "addresses");
        all.retain(|one| !networks.contains(&one.parse().ok()));
        short_form::set_texts(table, "addresses", all);
    }

    fn may_be_used_by(value: &str, subject: &str) -> bool {
        if let Some(rest) = subject.strip_prefix("connect to ") {
            let address = rest.rsplit_once(" at ").and_then(|(_, text)| text.parse().ok());
            let network = value.strip_prefix(NETWORK).and_then(|text| text.parse().ok());
            return match (address, network) {
                (Some(address), Some::<IpNet>(network)) => {
                    network.contains(&IpAddr::to_canonical(&address))
                }
                // A value for requests is used by a request, and not by its connection. The request has a record of
                // its own.
                (_, None) => false,
                (None, Some(_)) => true,
            };
        }
        if value.starts_with(NETWORK) && value.contains('/') {
            return false;
        }
        if let (Some((method, url)), Some((granted_method, host))) =
            (subject.split_once(' '), argument_parts(value))
        {
            return match (url.parse::<Origin>(), host.parse::<HostPattern>()) {
                (Ok(asked), Ok(granted)) => {
                    method == granted_method && granted.matches(asked.host())
                }
                (Err(_), _) | (_, Err(_)) => true,
            };
        }
        let (Some((method, url)), Some((granted_method, host))) =
            (subject.split_once(' '), value.split_once('@'))
        else {
            return true;
        };
        match (url.parse::<Origin>(), host.parse::<Origin>()) {
            (Ok(asked), Ok(granted)) => method == granted_method && asked == granted,
            _ => true,
        }
    }

    fn is_wanted(value: &str, wants: &Self) -> bool {
        // Only the operator knows which hosts calls may name, and which networks there are.
        if let Some((method, _)) = argument_parts(value) {
            return wants.want_of_arguments(method);
        }
        let is_network = value.starts_with(NETWORK) && value.contains('/');
        is_network || wants.values().iter().any(|wanted| wanted == value)
    }
}

/// Values of a grant, by kind.
#[derive(Default)]
struct Split {
    networks: Vec<String>,
    /// Methods with hosts.
    pairs: Vec<(String, String)>,
    /// Methods with hosts that a call may name.
    arguments: Vec<(String, String)>,
}

fn split(values: &[String]) -> Split {
    let mut split = Split::default();
    for value in values {
        if let Some((method, host)) = argument_parts(value) {
            split.arguments.push((method.to_owned(), host.to_owned()));
            continue;
        }
        match (value.strip_prefix(NETWORK), value.split_once('@')) {
            (Some(network), None) => split.networks.push(network.to_owned()),
            (_, Some((method, origin))) => split.pairs.push((method.to_owned(), origin.to_owned())),
            (None, None) => {}
        }
    }
    split
}

/// The method and the host of a value for hosts that a call may name.
fn argument_parts(value: &str) -> Option<(&str, &str)> {
    value.strip_prefix(ARGUMENT)?.split_once('@')
}

/// The methods of each host. The hosts stay in the order in which they first occur.
fn by_host(pairs: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (method, origin) in pairs {
        match all.iter_mut().find(|(known, _)| known == origin) {
            Some((_, methods)) => methods.push(method.clone()),
            None => all.push((origin.clone(), vec![method.clone()])),
        }
    }
    all
}

/// A rule as `portcullis.toml` has it.
#[derive(Clone)]
struct Rule {
    hosts: Vec<String>,
    /// Empty: the rule names no methods, and has the default.
    methods: Vec<String>,
    /// Whether `hosts` and `methods` are keys of the grant itself. Ignored for `arguments`.
    is_first: bool,
}

impl Rule {
    fn methods(&self) -> Vec<String> {
        match self.methods.as_slice() {
            [] => vec![DEFAULT_METHOD.to_owned()],
            methods => methods.to_vec(),
        }
    }

    fn has_host(&self, origin: &str) -> bool {
        self.hosts.iter().any(|host| is_same(host, origin))
    }

    fn has_only_host(&self, origin: &str) -> bool {
        self.hosts.iter().all(|host| is_same(host, origin))
    }
}

/// Whether two texts name the same origin, or are the same pattern.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.parse::<Origin>().is_ok_and(|one| other.parse() == Ok(one))
}

impl Rule {
    fn read(table: &Table, is_first: bool) -> Self {
        Self {
            hosts: short_form::texts(table, "hosts"),
            methods: short_form::texts(table, "methods"),
            is_first,
        }
    }

    fn write(self) -> Table {
        let mut written = Table::new();
        short_form::set_texts(&mut written, "hosts", self.hosts);
        short_form::set_texts(&mut written, "methods", self.methods);
        written
    }
}

/// The rules in the keys of the grant itself and in its list `rules`.
fn rules(table: &Table) -> Vec<Rule> {
    let first = table.contains_key("hosts").then(|| Rule::read(table, true));
    first.into_iter().chain(rules_in(table, "rules")).collect()
}

fn set_rules(table: &mut Table, rules: Vec<Rule>) {
    table.remove("hosts");
    table.remove("methods");
    let (first, others) = rules.into_iter().partition(|rule| rule.is_first);
    set_rules_in(table, "rules", others);
    let first: Vec<Rule> = first;
    first.into_iter().for_each(|rule| table.extend(rule.write()));
}

/// The rules in a list of the grant.
fn rules_in(table: &Table, list: &str) -> Vec<Rule> {
    let rules = table.get(list).and_then(Value::as_array).into_iter().flatten();
    rules.filter_map(Value::as_object).map(|table| Rule::read(table, false)).collect()
}

fn set_rules_in(table: &mut Table, list: &str, rules: Vec<Rule>) {
    if rules.is_empty() {
        table.remove(list);
    } else {
        let rules: Vec<Value> = rules.into_iter().map(|rule| json!(rule.write())).collect();
        table.insert(list.to_owned(), rules.into());
    }
}

/// Grants methods at one host. Other hosts keep their methods.
fn add_methods(rules: &mut Vec<Rule>, origin: &str, mut methods: Vec<String>) {
    // A rule with only this host gets the methods, unless it names no methods: then it would lose its default. In all
    // other cases, the host is added to a rule with exactly these methods, or gets a new rule.
    let own_rule =
        rules.iter_mut().find(|rule| !rule.methods.is_empty() && rule.has_only_host(origin));
    if let Some(own_rule) = own_rule {
        own_rule.methods.append(&mut methods);
        return;
    }
    methods.sort_unstable();
    let rule_with_methods = rules.iter_mut().find(|rule| {
        let mut rule_methods = rule.methods();
        rule_methods.sort_unstable();
        rule_methods == methods
    });
    match rule_with_methods {
        Some(rule) => rule.hosts.push(origin.to_owned()),
        None => {
            rules.push(Rule { hosts: vec![origin.to_owned()], methods, is_first: rules.is_empty() })
        }
    }
}

/// Removes methods of one host. Other hosts keep their methods.
fn remove_methods(rules: &mut Vec<Rule>, origin: &str, methods: &[String]) {
    let mut kept: Vec<Vec<String>> = Vec::new();
    for rule in &mut *rules {
        let before = rule.methods();
        if !rule.has_host(origin) || !before.iter().any(|method| methods.contains(method)) {
            continue;
        }
        let rest: Vec<_> = before.into_iter().filter(|one| !methods.contains(one)).collect();
        if rule.has_only_host(origin) && !rest.is_empty() {
            rule.methods = rest;
            continue;
        }
        rule.hosts.retain(|host| !is_same(host, origin));
        if !rest.is_empty() {
            kept.push(rest);
        }
    }
    rules.retain(|rule| !rule.hosts.is_empty());
    for mut rest in kept {
        let has = |method: &String| {
            rules.iter().any(|rule| rule.has_host(origin) && rule.methods().contains(method))
        };
        rest.retain(|method| !has(method));
        if !rest.is_empty() {
            add_methods(rules, origin, rest);
        }
    }
}
