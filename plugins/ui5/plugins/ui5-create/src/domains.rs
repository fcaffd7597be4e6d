//! Checks the host of a URL against the operator's list, before any request.

use portcullis_plugin::settings;
use url::Url;

/// The setting that holds the list.
pub const SETTING: &str = "allowed-domains";

const DEFAULT: &str = "localhost, services.odata.org";

/// The domains that URLs may name. An empty list allows all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domains(Vec<String>);

impl Domains {
    /// Reads the setting. Fails with the reason.
    pub fn from_settings() -> Result<Self, String> {
        Self::parse(&settings::get(SETTING).unwrap_or_else(|| DEFAULT.to_owned()))
    }

    /// Parses a list that is separated by commas. `.example.com` stands for all subdomains of `example.com`,
    /// without the domain itself. Fails with the reason.
    pub fn parse(list: &str) -> Result<Self, String> {
        if list.trim().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let domains = list.split(',').map(|domain| {
            let domain = domain.trim();
            let wrong =
                |why: &str| format!("Invalid domain '{domain}' in the setting {SETTING}: {why}");
            let (dot, name) = match domain.strip_prefix('.') {
                Some(name) => (".", name),
                None => ("", domain),
            };
            let url = Url::parse(&format!("https://{name}")).map_err(|e| wrong(&e.to_string()))?;
            let host = url.host_str().unwrap_or_default();
            if url.as_str() != format!("https://{host}/") {
                return Err(wrong("it is more than the name of a host"));
            }
            Ok(format!("{dot}{host}"))
        });
        domains.collect::<Result<_, _>>().map(Self)
    }

    /// Checks the host of a URL. The error names the allowed domains.
    pub fn check(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default();
        let is_allowed = self.0.is_empty()
            || self.0.iter().any(|domain| match domain.strip_prefix('.') {
                Some(_) => host.ends_with(domain.as_str()),
                None => host == domain,
            });
        if is_allowed {
            return Ok(());
        }
        Err(format!(
            "Domain \"{host}\" is not allowed. Allowed domains are: {}. The operator can change the \
             list with the setting {SETTING} of this plugin.",
            self.0.join(", ")
        ))
    }

    /// A sentence that names the allowed domains. Empty if all are allowed.
    pub fn note(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        format!(
            "As per the configuration, only the following domains are currently allowed: '{}'. The \
             operator can change the list with the setting {SETTING} of this plugin.",
            self.0.join("', '")
        )
    }
}

/// An http or https URL with a host, without a user name or password. `None` for anything else.
pub fn web_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_open = url.username().is_empty() && url.password().is_none();
    (is_web && is_open).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, url: &str) -> Result<(), String> {
        Domains::parse(list)?.check(&web_url(url).expect("it is a URL"))
    }

    #[test]
    fn the_default_list_allows_two_domains() {
        assert_eq!(check(DEFAULT, "http://LOCALHOST:4004/x"), Ok(()));
        assert_eq!(check(DEFAULT, "https://services.odata.org/V4"), Ok(()));
        let refused = check(DEFAULT, "https://evil.example/x").expect_err("it is not listed");
        assert!(refused.starts_with(
            "Domain \"evil.example\" is not allowed. Allowed domains are: localhost, services.odata.org."
        ));
        for url in ["http://localhost.evil.example", "http://127.0.0.1", "http://x.localhost"] {
            check(DEFAULT, url).expect_err(url);
        }
    }

    #[test]
    fn a_leading_dot_stands_for_all_subdomains() {
        assert_eq!(check(".example.com", "https://a.b.example.com"), Ok(()));
        check(".example.com", "https://example.com").expect_err("only what is beneath");
        check(".example.com", "https://evilexample.com").expect_err("another domain");
        assert_eq!(check("bücher.example", "https://xn--bcher-kva.example/"), Ok(()));
    }

    #[test]
    fn a_name_without_a_dot_allows_no_subdomains() {
        let list = "localhost, example.com, sub.example.com";
        for url in ["http://localhost:8080", "https://example.com/a", "https://sub.example.com"] {
            assert_eq!(check(list, url), Ok(()), "{url}");
        }
        check(list, "https://other.example.com").expect_err("it is not in the list");
    }

    #[test]
    fn an_empty_list_allows_all() {
        assert_eq!(check(" ", "https://anything.example"), Ok(()));
        assert_eq!(Domains(Vec::new()).note(), "");
    }

    #[test]
    fn a_wrong_entry_is_named() {
        for list in ["localhost, a b", "localhost,", "a/b", "a:80", "."] {
            let wrong = Domains::parse(list).expect_err(list);
            assert!(wrong.starts_with("Invalid domain '"), "{wrong}");
        }
    }

    #[test]
    fn only_http_urls_without_credentials() {
        for text in ["ftp://a/", "not a url", "//a", "http://u:p@a/", "http://u@a/", "javascript:1"]
        {
            assert_eq!(web_url(text), None, "{text}");
        }
    }
}
