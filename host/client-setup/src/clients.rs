//! The table of MCP clients that setup knows: one entry for each client, with the address of the client's
//! documentation.

use std::path::PathBuf;

use crate::entry::{FixedField, Shape};
use crate::machine::{Machine, Os};

/// Who a configuration file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One user, in all projects.
    User,
    /// All users who work in one project. Portcullis is added to such a file only if the operator
    /// names the client.
    Project,
}

/// Whether a client tells servers which folders are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// The client names its open folders (MCP roots).
    Named,
    /// The client does not name its open folders, or not in all versions. Without `--root`, tools can open no path.
    NotNamed,
}

/// The format of a configuration file, and the key of its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON with comments: an object of servers by name.
    Json(&'static str),
    /// TOML: a table of servers by name.
    Toml(&'static str),
    /// YAML: a mapping of servers by name.
    YamlMap(&'static str),
    /// YAML: a list of servers, each with a `name`.
    YamlList(&'static str),
}

impl Format {
    /// The key of the servers.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Json(key) | Self::Toml(key) | Self::YamlMap(key) | Self::YamlList(key) => key,
        }
    }
}

/// One client.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line.
    pub id: &'static str,
    /// The name for display.
    pub name: &'static str,
    /// Who the file is for.
    pub scope: Scope,
    /// Whether the client names its folders.
    pub roots: Roots,
    /// How the client is made to read its file again.
    pub reload: &'static str,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    file: fn(&Machine) -> PathBuf,
    /// A folder that exists if the client is installed or was used. Used only for [`Scope::User`].
    trace: fn(&Machine) -> PathBuf,
}

impl Client {
    /// The client's configuration file, whether it exists or not.
    pub fn file(&self, machine: &Machine) -> PathBuf {
        (self.file)(machine)
    }

    /// Whether the client seems to be installed: its file exists or, for a client of the user, its folder.
    pub fn is_present(&self, machine: &Machine) -> bool {
        self.file(machine).exists() || (self.scope == Scope::User && (self.trace)(machine).exists())
    }

    /// The client with this name.
    pub fn named(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }
}

const STDIO: (&str, FixedField) = ("type", FixedField::Text("stdio"));

/// `{ "command": …, "args": […] }`.
const PLAIN: Shape = Shape { before: &[], command: "command", after: &[] };

/// `{ "type": "stdio", "command": …, "args": […] }`.
const TYPED: Shape = Shape { before: &[STDIO], command: "command", after: &[] };

/// All clients.
pub const CLIENTS: &[Client] = &[
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers names the file on macOS and Windows. There is
    // no release for Linux; community builds use the folder of Electron's `userData`.
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "quit Claude Desktop and start it again",
        format: Format::Json("mcpServers"),
        shape: PLAIN,
        file: |machine| machine.applications().join("Claude/claude_desktop_config.json"),
        trace: |machine| machine.applications().join("Claude"),
    },
    // https://code.claude.com/docs/en/mcp, "MCP installation scopes": servers of the user are under `mcpServers` at the
    // top of `~/.claude.json`. With `CLAUDE_CONFIG_DIR`, the file is in that folder.
    Client {
        id: "claude-code",
        name: "Claude Code",
        scope: Scope::User,
        roots: Roots::Named,
        reload: "start a new session of Claude Code",
        format: Format::Json("mcpServers"),
        shape: TYPED,
        file: |machine| machine.folder("CLAUDE_CONFIG_DIR", "").join(".claude.json"),
        trace: |machine| machine.folder("CLAUDE_CONFIG_DIR", ".claude"),
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration: `servers` in the user's `mcp.json`.
    Client {
        id: "vscode",
        name: "VS Code",
        scope: Scope::User,
        roots: Roots::Named,
        reload: "VS Code reads the file automatically: start the server in VS Code",
        format: Format::Json("servers"),
        shape: TYPED,
        file: |machine| machine.applications().join("Code/User/mcp.json"),
        trace: |machine| machine.applications().join("Code"),
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration: `.vscode/mcp.json` in the workspace.
    Client {
        id: "vscode-workspace",
        name: "VS Code (this workspace)",
        scope: Scope::Project,
        roots: Roots::Named,
        reload: "VS Code reads the file automatically: start the server in VS Code",
        format: Format::Json("servers"),
        shape: TYPED,
        file: |machine| machine.project.join(".vscode/mcp.json"),
        trace: |machine| machine.project.join(".vscode"),
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration, "portable Copilot format", and
    // https://code.claude.com/docs/en/mcp, "Project scope": `mcpServers` in `.mcp.json` at the top of the project.
    Client {
        id: "project",
        name: "this project (.mcp.json)",
        scope: Scope::Project,
        roots: Roots::Named,
        reload: "start a new session of Claude Code, or start the server in VS Code",
        format: Format::Json("mcpServers"),
        shape: TYPED,
        file: |machine| machine.project.join(".mcp.json"),
        trace: |machine| machine.project.join(".mcp.json"),
    },
    // https://cursor.com/docs/mcp, "Configuration locations".
    Client {
        id: "cursor",
        name: "Cursor",
        scope: Scope::User,
        roots: Roots::Named,
        reload: "Cursor reads the file automatically: switch the server on in the settings of Cursor",
        format: Format::Json("mcpServers"),
        shape: PLAIN,
        file: |machine| machine.home.join(".cursor/mcp.json"),
        trace: |machine| machine.home.join(".cursor"),
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp, "mcp_config.json".
    Client {
        id: "windsurf",
        name: "Windsurf",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "press the refresh button of Cascade's MCP servers",
        format: Format::Json("mcpServers"),
        shape: PLAIN,
        file: |machine| machine.home.join(".codeium/windsurf/mcp_config.json"),
        trace: |machine| machine.home.join(".codeium/windsurf"),
    },
    // The key: https://zed.dev/docs/ai/mcp, "As Custom Servers". The folder: `config_dir` and `settings_file` in
    // https://github.com/zed-industries/zed/blob/main/crates/paths/src/paths.rs.
    Client {
        id: "zed",
        name: "Zed",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "Zed reads the file automatically",
        format: Format::Json("context_servers"),
        shape: PLAIN,
        file: |machine| zed(machine).join("settings.json"),
        trace: zed,
    },
    // Junie, JetBrains' agent: https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html. AI Assistant keeps
    // its servers in the IDE's own settings. The file of these settings is not documented, so users paste the JSON into
    // the settings.
    Client {
        id: "jetbrains",
        name: "JetBrains Junie",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "Junie reads the file automatically; in AI Assistant, paste the entry at Settings | Tools | AI Assistant | MCP",
        format: Format::Json("mcpServers"),
        shape: PLAIN,
        file: |machine| machine.home.join(".junie/mcp/mcp.json"),
        trace: |machine| machine.home.join(".junie"),
    },
    // https://developers.openai.com/codex/mcp and https://github.com/openai/codex/blob/main/docs/config.md:
    // `[mcp_servers.NAME]` in `$CODEX_HOME/config.toml`, by default in `~/.codex`.
    Client {
        id: "codex",
        name: "Codex",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "start a new session of Codex",
        format: Format::Toml("mcp_servers"),
        shape: PLAIN,
        file: |machine| machine.folder("CODEX_HOME", ".codex").join("config.toml"),
        trace: |machine| machine.folder("CODEX_HOME", ".codex"),
    },
    // https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md.
    Client {
        id: "gemini",
        name: "Gemini CLI",
        scope: Scope::User,
        roots: Roots::Named,
        reload: "start a new session of Gemini CLI",
        format: Format::Json("mcpServers"),
        shape: PLAIN,
        file: |machine| machine.home.join(".gemini/settings.json"),
        trace: |machine| machine.home.join(".gemini"),
    },
    // https://github.com/block/goose/blob/main/documentation/docs/guides/config-files.md, "Extensions Configuration".
    Client {
        id: "goose",
        name: "goose",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "start a new session of goose",
        format: Format::YamlMap("extensions"),
        shape: Shape {
            before: &[("enabled", FixedField::Yes), STDIO, ("name", FixedField::Name)],
            command: "cmd",
            after: &[
                ("description", FixedField::Text("Tools in a sandbox")),
                ("timeout", FixedField::Number(300)),
                ("envs", FixedField::NoKeys),
                ("env_keys", FixedField::NoItems),
            ],
        },
        file: |machine| goose(machine).join("config.yaml"),
        trace: goose,
    },
    // https://github.com/continuedev/continue/blob/main/docs/reference.mdx, "mcpServers".
    Client {
        id: "continue",
        name: "Continue",
        scope: Scope::User,
        roots: Roots::NotNamed,
        reload: "Continue reads the file automatically",
        format: Format::YamlList("mcpServers"),
        shape: Shape { before: &[("name", FixedField::Name)], command: "command", after: &[] },
        file: |machine| machine.folder("CONTINUE_GLOBAL_DIR", ".continue").join("config.yaml"),
        trace: |machine| machine.folder("CONTINUE_GLOBAL_DIR", ".continue"),
    },
];

fn zed(machine: &Machine) -> PathBuf {
    match (machine.os, machine.variables.get("FLATPAK_XDG_CONFIG_HOME")) {
        (Os::Linux, Some(folder)) => folder.join("zed"),
        (Os::Windows, _) => machine.dot_config().join("Zed"),
        (Os::Linux | Os::MacOs, _) => machine.dot_config().join("zed"),
    }
}

fn goose(machine: &Machine) -> PathBuf {
    match machine.os {
        Os::Windows => machine.dot_config().join("Block/goose/config"),
        Os::Linux | Os::MacOs => machine.dot_config().join("goose"),
    }
}
