//! Tests of common mistakes in `portcullis.toml`, each with the message that corrects it, and the fuzz target for
//! `portcullis.toml`. The parser of the file belongs to the host, so the target is here and not in `tests/fuzz`.

use portcullis_core::config::Config;

/// Number of mutations of one run. It is small, since each mutation also reads the defaults of the bundled plugins.
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

/// Reads a configuration. Panics if an inconsistent configuration is accepted, or if one is refused without a message
/// or with a very long message.
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
fn accepted_configurations_are_consistent() {
    assert!(portcullis_fuzz::mutate::run("config", MUTATIONS, target, WORDS) > 0);
}

/// Common mistakes: the text, and parts of the message about the place, the fault and the remedy.
const MISTAKES: &[(&str, &[&str])] = &[
    // Keys.
    ("rots = [\"/a\"]", &["line 1", "did you mean `roots`?"]),
    ("[host]\nplugin_dirs = [\"/a\"]", &["`host.plugin_dirs`", "did you mean `plugin-dirs`?"]),
    ("[plugins.a.limits]\nmemoryBytes = 1", &["did you mean `memory-bytes`?"]),
    ("[plugin.a]", &["did you mean `plugins`?"]),
    ("[plugins.a.grants.network]", &["did you mean `http`?"]),
    ("[plugins.a.grants.filesystem]", &["did you mean `files`?"]),
    ("[mcpServers.a]\ncommand = \"a\"", &["[upstreams.NAME]", "`portcullis import FILE`"]),
    ("[mcp_servers.a]\ncommand = \"a\"", &["[upstreams.NAME]"]),
    ("[upstreams.a]\ntype = \"http\"\nurl = \"https://h\"", &["did you mean `transport`?"]),
    ("[host]\nroots = [\"/a\"]", &["before the first [header]"]),
    ("[host.plugins.a]\nenabled = true", &["a header of its own, [plugins.NAME]"]),
    ("[host.http]\nlisten = \"a\"", &["a header of its own, [http]"]),
    ("bundled = false", &["is a key of the table [host]"]),
    // Paths.
    ("roots = [\"$HOME/a\"]", &["variables are not replaced", "`~/…`"]),
    ("roots = [\"~me/a\"]", &["only `~/…`"]),
    ("roots = [\"C:\\Users\\me\"]", &["line 1", "single quotes"]),
    (
        "roots = ['relative']",
        &["line 1, column 1: `roots`", "not an absolute path", "the whole path"],
    ),
    ("roots = [\"/nowhere/here/*\"]", &["is a pattern", "write the folder itself"]),
    ("roots = [\"/path/to/projects\"]", &["`/path/to` is from an example"]),
    ("roots = [\"<folder>\"]", &["is from an example"]),
    (
        "[upstreams.a]\ncommand = \"npx\"\nargs = [\"/path/to/server\"]",
        &["`upstreams.a.args`", "from an example"],
    ),
    ("[upstreams.a]\ncommand = \"npx -y server\"", &["a program with its arguments", "args ="]),
    ("[upstreams.a]\ncommand = [\"npx\", \"-y\"]", &["the program alone", "args ="]),
    (
        "[upstreams.a]\nurl = \"https://h\"\nheaders = { Authorization = \"Bearer ${TOKEN}\" }",
        &["`upstreams.a.headers.Authorization`", "not replaced", "bearer-env = \"NAME\""],
    ),
    (
        "[upstreams.a]\ncommand = \"a\"\nenv = { A = \"${env:A}\" }",
        &["not replaced", "env = \"NAME\""],
    ),
    // Values.
    ("roots = \"/a\"", &["a list of strings", "roots = [\"…\"]"]),
    ("[plugins.a]\nenabled = \"true\"", &["enabled = true"]),
    ("[plugins.a]\nenabled = True", &["`true` or `false`, in lower case"]),
    ("[limits]\nmemory-bytes = \"64MB\"", &["memory-bytes = 64_000_000"]),
    ("[limits]\nmemory-bytes = \"64 MiB\"", &["memory-bytes = 67_108_864"]),
    ("[limits]\nwall-ms = \"5s\"", &["wall-ms = 5_000"]),
    ("[upstreams.a]\ncommand = \"a\"\ntimeout-seconds = \"2min\"", &["timeout-seconds = 120"]),
    ("[limits]\nwall-ms = 5s", &["a number has no unit"]),
    ("[http]\nlisten = 8719", &["in quotes: listen = \"…\""]),
    ("[plugins.a.grants.files]\naccess = write", &["a string needs quotes"]),
    ("roots =", &["a value follows `=`"]),
    // Upstream servers.
    (
        "roots = []\n[upstreams.a]\nargs = [\"a\"]",
        &["line 2, column 12: `upstreams.a`", "`command` or `url` is missing"],
    ),
    ("[upstreams.a]\ncommand = \"a\"\nurl = \"https://h\"", &["line 1", "remove one of them"]),
    ("[upstreams.a]\nurl = \"ftp://h\"", &["line 1", "such as `http://localhost:3000/mcp`"]),
    (
        "[upstreams.a]\ncommand = \"a\"\n[upstreams.a.tools.b]\nallow = { type = 1 }",
        &["line 1", "`tools.b.allow`"],
    ),
    // The form of the file.
    ("[plugins.a]\nenabled = true\n[plugins.a]", &["line 3", "may appear only once"]),
    ("{ \"mcpServers\": {} }", &["this is JSON", "`portcullis import FILE`"]),
    ("roots: [\"/a\"]", &["with `=` instead of `:`"]),
    ("// mine\nroots = []", &["a comment begins with `#`"]),
    ("roots = [“/a”]", &["straight quotes"]),
    ("roots = [\"/a]", &["the quote that it begins with"]),
    ("[host\nbundled = true", &["a header ends with `]`"]),
    ("[host]\nbundled = true,", &["without a comma"]),
];

#[test]
fn common_mistakes_have_a_message_with_the_remedy() {
    for (text, expected) in MISTAKES {
        let error = Config::parse(text).expect_err(text).to_string();
        for part in *expected {
            assert!(error.contains(part), "{text}\n{error}\nlacks: {part}");
        }
    }
}

#[test]
fn values_that_only_look_like_mistakes_are_accepted() {
    for text in [
        "roots = [\"~/projects\"]",
        "[upstreams.a]\ncommand = \"/opt/my program\"",
        "[upstreams.a]\ncommand = \"a\"\nargs = [\"--filter=<b>\", \"*.txt\"]",
        "[upstreams.a]\ncommand = \"a\"\nenv = { A = \"${x}-{n}\", B = \"$5\" }",
        "[upstreams.a]\nurl = \"https://h\"\nheaders = { X = \"a${}b\" }",
        "[plugins.a.settings]\npath = \"/path/to/x\"",
        "[upstreams.later]\nenabled = false",
    ] {
        let refused = Config::parse(text).err().map(|error| error.to_string());
        assert_eq!(refused, None, "{text}");
    }
}
