//! Upstream servers that are given on the command line: derives a server's name, and writes the server as arguments
//! for a shell.

use std::path::Path;

/// A server as it was given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLineServer {
    /// A digest of the program and its arguments, or of the URL, which distinguishes servers of the same name.
    pub digest: String,
    /// The program and its arguments, or the URL.
    pub server: Vec<String>,
    /// The names of environment variables that are passed to the program.
    pub variables: Vec<String>,
}

impl CommandLineServer {
    /// The options and arguments for a shell that give the same server again.
    pub fn arguments(&self) -> String {
        let variables = self.variables.iter().map(|name| format!(" --env {}", quoted(name)));
        let server = self.server.iter().map(|part| format!(" {}", quoted(part)));
        variables.chain([" --".to_owned()]).chain(server).collect()
    }
}

/// A word of a shell's command line, quoted if necessary. Deceptive characters are removed, so a word that has them
/// must be typed by hand.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", portcullis_sanitize::plain(word).replace('\'', r"'\''"))
}

/// Programs that run a package, a file or an image that one of their arguments names.
const RUNNERS: [&str; 15] = [
    "npx", "bunx", "uvx", "pipx", "pnpm", "yarn", "npm", "uv", "node", "bun", "deno", "python",
    "python3", "docker", "podman",
];

/// Subcommands of runners, which do not name a server.
const SUBCOMMANDS: [&str; 6] = ["run", "exec", "dlx", "tool", "x", "create"];

/// Options of runners whose value is the next argument. The value does not name a server.
const OPTIONS_WITH_VALUE: [&str; 14] = [
    "-e",
    "--env",
    "-v",
    "--volume",
    "-p",
    "--publish",
    "--mount",
    "--network",
    "--python",
    "--with",
    "-r",
    "--require",
    "--directory",
    "--loader",
];

/// The name of a server that was given on the command line: a short word from its package, its file or its host.
/// `None`: no part of the server's command line or URL can be a name.
pub fn name_of(server: &[String]) -> Option<String> {
    let (first, rest) = server.split_first()?;
    let address = ["https://", "http://"].into_iter().find_map(|scheme| first.strip_prefix(scheme));
    if let Some(address) = address {
        let authority = address.split(['/', '?', '#']).next()?;
        return name_of_host(authority.rsplit('@').next()?);
    }
    let program = Path::new(first).file_stem()?.to_str()?;
    if !RUNNERS.contains(&program) {
        return short_name(Path::new(first).file_name()?.to_str()?);
    }
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if OPTIONS_WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') && !SUBCOMMANDS.contains(&word.as_str()) {
            return short_name(word);
        }
    }
    short_name(program)
}

/// The name for the host `mcp.context7.com` is `context7`. `None` for an IP address.
fn name_of_host(host: &str) -> Option<String> {
    let host = host.split(':').next()?;
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return None;
    }
    let labels: Vec<_> = host.split('.').filter(|label| !label.is_empty()).collect();
    let without_top = if labels.len() > 1 { &labels[..labels.len() - 1] } else { &labels[..] };
    short_name(without_top.last()?)
}

/// The name for `@modelcontextprotocol/server-filesystem@1.2` is `filesystem`, for `build/weather-mcp-server.js` it is
/// `weather`, and for `@playwright/mcp` it is `playwright`.
fn short_name(word: &str) -> Option<String> {
    let mut parts =
        word.rsplit(['/', '\\']).filter_map(|part| short_part(part.trim_start_matches('@')));
    let last = parts.next()?;
    let is_generic = |part: &String| {
        ["mcp", "server", "main", "index", "dist", "build"].contains(&part.as_str())
    };
    if !is_generic(&last) {
        return Some(last);
    }
    Some(parts.find(|part| !is_generic(part)).unwrap_or(last))
}

fn short_part(part: &str) -> Option<String> {
    let word = part.split_once(['@', '[']).map_or(part, |(name, _)| name);
    let word = word.split_once("==").map_or(word, |(name, _)| name);
    let word = match word.rsplit_once('.') {
        Some((stem, "js" | "mjs" | "cjs" | "ts" | "py" | "exe" | "cmd" | "sh")) => stem,
        _ => word,
    };
    let legal_char = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let word: String = word.chars().map(legal_char).take(32).collect();
    let mut short = word.trim_matches('-');
    // Parts that nearly all names of servers have are removed, because they do not distinguish servers.
    for _ in 0..3 {
        for common in ["mcp-server", "mcp_server", "server", "mcp"] {
            let rest = short.strip_prefix(common).filter(|rest| rest.starts_with(['-', '_']));
            let rest = rest
                .or_else(|| short.strip_suffix(common).filter(|rest| rest.ends_with(['-', '_'])));
            short = rest.map_or(short, |rest| rest.trim_matches(['-', '_']));
        }
    }
    (!short.is_empty()).then(|| short.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_person_would_call_the_server() {
        for (server, name) in [
            ("npx -y @modelcontextprotocol/server-filesystem /home/me", Some("filesystem")),
            ("npx -y @modelcontextprotocol/server-everything@2026.1", Some("everything")),
            ("npx --yes @playwright/mcp@latest --headless", Some("playwright")),
            ("npx -y firecrawl-mcp", Some("firecrawl")),
            ("uvx mcp-server-git --repository .", Some("git")),
            ("uvx mcp-server-time[all]==1.0", Some("time")),
            ("uv --directory /srv/app run server.py", Some("server")),
            ("node /srv/weather/dist/index.js", Some("weather")),
            ("python3 -m mcp_server_fetch", Some("fetch")),
            ("node build/weather-mcp-server.js", Some("weather")),
            ("docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server", Some("github")),
            ("/opt/tools/notes", Some("notes")),
            ("https://mcp.context7.com/mcp", Some("context7")),
            ("http://localhost:3000/mcp", Some("localhost")),
            ("http://127.0.0.1:3000/mcp", None),
            ("npx", Some("npx")),
            ("...", None),
        ] {
            let words: Vec<_> = server.split(' ').map(str::to_owned).collect();
            assert_eq!(name_of(&words).as_deref(), name, "{server}");
        }
        assert_eq!(name_of(&[]), None);
    }

    #[test]
    fn the_arguments_for_a_shell_name_the_same_server() {
        let words = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let typed = CommandLineServer {
            digest: String::new(),
            server: words(&["node", "a b.js", "it's", "", "$HOME"]),
            variables: words(&["KEY"]),
        };
        assert_eq!(typed.arguments(), r" --env KEY -- node 'a b.js' 'it'\''s' '' '$HOME'");
    }
}
