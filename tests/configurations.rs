//! The fuzz target for `portcullis.toml`. Its parser belongs to the host, so it is here and not among the targets of
//! `tests/fuzz`.

use portcullis_core::config::Config;

/// Mutations of one run: the defaults of the bundled plugins are read with each.
const MUTATIONS: u32 = 20_000;

/// Fragments of configurations.
const WORDS: &[&str] = &[
    "[plugins.a]\n",
    "[plugins.a.grants.http]\n",
    "[host]\n",
    "[http]\n",
    "[limits]\n",
    "[upstreams.x]\n",
    "[commands.c]\n",
    "hosts = [\"*\"]\n",
    "access = \"write\"\n",
    "bytes = -1\n",
    "bytes = 1e3\n",
    "{ env = \"HOME\" }",
    "{ file = \"~/a\" }",
    "\"../..\"",
    "\"\\u0000\"",
    "'''",
    "\"\"\"",
    "bundled = true\n",
    "18446744073709551616",
    "inf",
    "=",
    "\n",
    ".",
    "[[",
    "]]",
];

/// Reads a configuration. Panics where an inconsistent one is accepted, or one is refused without a message or with a
/// very long one.
fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Config::parse(text) {
        Err(error) => {
            let error = error.to_string();
            assert!(!error.trim().is_empty());
            assert!(error.len() <= 4 * text.len() + 4000, "{} bytes: {error}", error.len());
        }
        Ok(mut config) => {
            assert!(config.check().is_ok(), "what is accepted holds together");
            assert!(toml_table(text), "what is accepted is TOML");
            for (name, plugin) in &config.plugins {
                assert!(portcullis_core::config::is_name(name), "{name:?}");
                let http = plugin.grants.http.iter();
                assert!(
                    http.clone()
                        .flat_map(|grant| &grant.rules)
                        .all(|rule| { !rule.hosts.is_empty() && !rule.methods.is_empty() })
                );
                let roots = plugin.grants.files.iter().flat_map(|grant| &grant.directories);
                assert!(roots.clone().all(|path| path.is_absolute()), "{text}");
                let (own, largest) = (config.limits_of(name), config.largest_limits());
                assert_eq!(largest.max(&own), largest);
            }
            assert!(config.commands().is_ok());
        }
    }
}

fn toml_table(text: &str) -> bool {
    text.parse::<toml::Table>().is_ok()
}

#[test]
fn what_is_read_as_a_configuration_holds_together() {
    assert!(portcullis_fuzz::mutate::run("config", MUTATIONS, target, WORDS) > 0);
}
