//! The URLs of the CDNs that serve the releases of the UI5 frameworks.

use portcullis_plugin::settings;
use ui5_data::Framework;

/// The setting with a URL that replaces the CDNs of both frameworks.
pub const CDN_SETTING: &str = "cdn-url";

/// The CDN in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cdn {
    /// URL without a trailing slash.
    mirror: Option<String>,
}

impl Cdn {
    /// The mirror set with [`CDN_SETTING`], or else the public CDNs. Fails if the setting is
    /// invalid, and says why.
    pub fn from_settings() -> Result<Self, String> {
        let setting = settings::get(CDN_SETTING).filter(|url| !url.trim().is_empty());
        setting.map_or_else(|| Ok(Self::default()), |url| Self::mirror(&url))
    }

    /// A mirror that serves both frameworks.
    pub fn mirror(url: &str) -> Result<Self, String> {
        let trimmed = url.trim().trim_end_matches('/');
        if is_url(trimmed) {
            Ok(Self { mirror: Some(trimmed.to_owned()) })
        } else {
            Err(format!(
                "The setting `{CDN_SETTING}` is not a valid URL: '{url}'. It has to be one such as \
                 https://mirror.example/ui5"
            ))
        }
    }

    /// The base URL of a framework, with or without a version.
    ///
    /// ```
    /// # use ui5::{Cdn, Framework};
    /// let cdn = Cdn::default();
    /// assert_eq!(cdn.base(Framework::OpenUi5, None), "https://sdk.openui5.org");
    /// assert_eq!(cdn.base(Framework::SapUi5, Some("1.120.1")), "https://ui5.sap.com/1.120.1");
    /// ```
    pub fn base(&self, framework: Framework, version: Option<&str>) -> String {
        let base = self.mirror.as_deref().unwrap_or_else(|| framework.public_cdn());
        match version {
            Some(version) => format!("{base}/{version}"),
            None => base.to_owned(),
        }
    }
}

/// Whether the text is an HTTP URL with a host.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty()
            && !host.starts_with(':')
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;

    #[test]
    fn a_mirror_replaces_both_cdns() {
        let _rehearsal = Rehearsal::new().setting(CDN_SETTING, "https://mirror.example/ui5//");
        let cdn = Cdn::from_settings().expect("it is a URL");
        for framework in Framework::ALL {
            assert_eq!(cdn.base(framework, Some("1.2.3")), "https://mirror.example/ui5/1.2.3");
        }
        let _rehearsal = Rehearsal::new();
        assert_eq!(Cdn::from_settings(), Ok(Cdn::default()));
    }

    #[test]
    fn other_texts_than_urls_are_refused() {
        for url in
            ["", "mirror.example", "ftp://mirror.example", "https://", "https://a b", "https:///x"]
        {
            let wrong = Cdn::mirror(url).expect_err(url);
            assert!(wrong.contains(&format!("'{url}'")), "{wrong}");
        }
    }
}
