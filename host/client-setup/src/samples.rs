//! Sample configuration files for tests, as people keep them: in each format, with comments, with other servers, and in
//! various ways of writing.

use crate::Client;
use crate::clients::Format;

/// A JSON file as people keep it: comments, a trailing comma, other servers, keys around them.
const JSON: &str = r#"// my settings
{
  "theme": "dark", /* at night */
  "KEY": {
    // finds things
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"] },
    "issues": {
      "command": "uvx",
      "args": ["mcp-issues"],
      "env": { "TOKEN": "s3cr3t" },
    },
  },
  "last": [1, 2.50, 1e3]
}
"#;

const TOML: &str = r#"# my settings
model = "o3"   # the best

[KEY.files] # finds things
command = 'npx'
args = [
  "-y", # yes
  "@modelcontextprotocol/server-filesystem",
]

[KEY.files.env]
TOKEN = "s3cr3t"

# of this project
[projects."/home/me/a"]
trust_level = "trusted"
ratio = 1.50
"#;

const YAML_MAP: &str = r#"# my settings
GOOSE_PROVIDER: "anthropic"
KEY:
  # finds things
  developer:
    bundled: true
    enabled: true   # always
    name: developer
    timeout: 300
    type: builtin
  files:
    cmd: npx
    args: ["-y", '@modelcontextprotocol/server-filesystem']
    description: |
      All files
      # and folders
    envs: {TOKEN: s3cr3t}
    type: stdio

# the rest
GOOSE_TEMPERATURE: 0.70
"#;

const YAML_LIST: &str = r#"name: Mine
version: 0.0.1
schema: v1
KEY:
  # finds things
  - name: files
    command: npx
    args:
      - "-y"
      - '@modelcontextprotocol/server-filesystem'
    env: &env
      TOKEN: ${{ secrets.TOKEN }}
  - name: others
    command: uvx
    env: *env
models:
- name: GPT
  provider: openai
"#;

/// The files that a client may have, each with a label. They have the key of the client's servers.
pub(crate) fn samples(client: &Client) -> Vec<(&'static str, String)> {
    let (full, key, others) = of_format(client.format);
    let mut all = vec![("empty", String::new()), ("full", full.to_owned())];
    all.extend(others);
    let windows = |(what, text): &(&'static str, String)| match *what {
        "full" => Some(("CRLF", text.replace('\n', "\r\n"))),
        "no servers" => Some(("CRLF without servers", text.replace('\n', "\r\n"))),
        _ => None,
    };
    let more: Vec<_> = all.iter().filter_map(windows).collect();
    all.extend(more);
    all.push(("BOM", format!("\u{feff}{full}")));
    all.into_iter().map(|(what, text)| (what, text.replace("KEY", key))).collect()
}

/// The full file of a format, the key of its servers, and other files.
fn of_format(format: Format) -> (&'static str, &'static str, Vec<(&'static str, String)>) {
    match format {
        Format::Json(key) => {
            let tabs = JSON.replace("  ", "\t");
            let others = vec![
                ("tabs", tabs),
                ("no servers", "{\n    \"theme\": \"dark\"\n}\n".to_owned()),
                ("an empty object", "{}".to_owned()),
                ("empty servers", "{ \"KEY\": {} }\n".to_owned()),
                ("null", "{\n  \"KEY\": null\n}".to_owned()),
                ("one line", "{\"a\":1,\"KEY\":{\"files\":{\"command\":\"npx\"}},\"b\":[]}".to_owned()),
                ("one line without servers", "{\"a\": 1, \"b\": [2]}\n".to_owned()),
                (
                    "servers on one line",
                    "{\n  \"KEY\": { \"files\": { \"command\": \"npx\" }, }\n}\n".to_owned(),
                ),
                ("comments alone", "// nothing yet\n".to_owned()),
                ("four spaces", "{\n    \"KEY\": {\n        \"a\": {\n            \"command\": \"a\"\n        }\n    }\n}".to_owned()),
            ];
            (JSON, key, others)
        }
        Format::Toml(key) => {
            let others = vec![
                ("no servers", "model = \"o3\"\n".to_owned()),
                ("no line end", "[a]\nb = 1".to_owned()),
                ("one line", "KEY = { files = { command = \"npx\" } }\nb = 1\n".to_owned()),
                ("dotted", "KEY.files.command = \"npx\"\nb = 1\n".to_owned()),
                ("the header", "[KEY]\n\n[KEY.files]\ncommand = \"npx\"\n".to_owned()),
            ];
            (TOML, key, others)
        }
        Format::YamlMap(key) => {
            let others = vec![
                ("no servers", "a: 1\n".to_owned()),
                ("no line end", "a: 1".to_owned()),
                ("empty braces", "KEY: {} # none\nb: 1\n".to_owned()),
                ("nothing", "KEY:\nb: 1\n".to_owned()),
                ("braces", "KEY: {files: {cmd: npx}}\nb: 1\n".to_owned()),
                ("the end of the file", "---\nb: 1\nKEY:\n    files:\n        cmd: npx".to_owned()),
                (
                    "a kept text",
                    "KEY:\n  a:\n    cmd: a\n    description: |\n      one\n\n      two\n\nb: 1\n"
                        .to_owned(),
                ),
                ("comments alone", "# nothing yet\n".to_owned()),
            ];
            (YAML_MAP, key, others)
        }
        Format::YamlList(key) => {
            let others = vec![
                ("no servers", "name: a\n".to_owned()),
                ("empty brackets", "KEY: []\nb: 1\n".to_owned()),
                ("not indented", "KEY:\n- name: files\n  command: npx\nb: 1\n".to_owned()),
                ("brackets", "KEY: [{name: files, command: npx}]\nb: 1\n".to_owned()),
                ("blocks of the hub", "KEY:\n  - uses: a/b\n".to_owned()),
            ];
            (YAML_LIST, key, others)
        }
    }
}
