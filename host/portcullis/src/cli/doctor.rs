//! `portcullis doctor`: checks the whole installation, and suggests corrections where they are known.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use portcullis_client_setup::{CLIENTS, Machine, Plan};
use portcullis_core::capabilities::Capability;
use portcullis_core::config::Config;
use portcullis_core::lock::LockFile;
use portcullis_sanitize::{error_chain, visible, visible_line};
use serde_json::json;

use super::check::{Finding, Findings, Level};
use super::context::{CommandContext, ReadConfig, UnopenedRoot};
use super::style::{faint, green, red};
use super::{CommandEnd, Common, setup};

/// How long a host may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Arguments of `doctor`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also open a TCP connection to each granted host and each upstream server. Nothing is sent
    #[arg(long)]
    network: bool,
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        super::log::begin(common.verbose, common.log_json, None);
        let mut findings = Findings::default();
        binary(&mut findings);
        clients(&mut findings);
        proxies(&mut findings);
        match ReadConfig::new(common) {
            Err(error) => {
                let mend = "correct the file; `portcullis config path` prints its path".to_owned();
                findings.fault("configuration", error_chain(error.as_ref()), Some(mend));
            }
            Ok(read) => self.with_config(common, read, &mut findings)?,
        }
        let end = findings.end();
        print(&findings, self.json)?;
        Ok(end)
    }

    fn with_config(
        &self,
        common: &Common,
        read: ReadConfig,
        findings: &mut Findings,
    ) -> anyhow::Result<()> {
        let config = read.config.clone();
        let context = match CommandContext::new(common, read) {
            Ok(context) => context,
            Err(error) => {
                match error.downcast_ref::<UnopenedRoot>() {
                    Some(UnopenedRoot { fault, hint }) => {
                        findings.fault("roots", fault, Some((*hint).to_owned()));
                    }
                    None => findings.fault("configuration", error_chain(error.as_ref()), None),
                }
                return Ok(());
            }
        };
        cache(&context.folders.cache, findings);
        approvals(&context.folders.lock, findings);
        let checked = super::start::alone(super::check::findings(&context));
        if let Err(error) = context.audit.end() {
            let text = format!("the audit of this process could not be sealed: {error}");
            findings.fault("audit", text, None);
        }
        findings.0.extend(checked?.0);
        programs(&config, findings)?;
        if self.network {
            network(&config, findings);
        }
        Ok(())
    }
}

/// Adds the version and the path of this program.
fn binary(findings: &mut Findings) {
    let version = env!("CARGO_PKG_VERSION");
    match setup::command() {
        Ok(path) => findings.good("binary", format!("portcullis {version}: {path}")),
        Err(error) => findings.fault("binary", error_chain(error.as_ref()), None),
    }
}

/// Checks the entries of Portcullis in the files of clients: their programs and their roots.
fn clients(findings: &mut Findings) {
    let machine = match setup::machine() {
        Ok(machine) => machine,
        Err(error) => return findings.fault("clients", error_chain(error.as_ref()), None),
    };
    let own = setup::command().ok();
    let mut is_in_any = false;
    for client in CLIENTS.iter().filter(|client| client.is_present(&machine)) {
        let mend = format!("portcullis setup {}", client.id);
        match Plan::installed(client, &machine) {
            Err(refusal) => findings.fault(
                "clients",
                format!("{}: {}", client.name, error_chain(&refusal)),
                None,
            ),
            Ok(entries) => {
                for entry in entries {
                    is_in_any = true;
                    let text = format!(
                        "{} starts {} (entry `{}`)",
                        client.name, entry.command, entry.name
                    );
                    let path = Path::new(&entry.command);
                    if own.as_deref() == Some(&entry.command) {
                        findings.good("clients", text);
                    } else if path.is_absolute() && !path.is_file() {
                        findings.fault(
                            "clients",
                            format!("{text}, which does not exist"),
                            Some(mend.clone()),
                        );
                    } else {
                        findings.remark(
                            "clients",
                            format!("{text}, which is not this program"),
                            Some(mend.clone()),
                        );
                    }
                    check_roots(client.name, &entry.args, findings);
                }
            }
        }
    }
    if !is_in_any {
        let found = present_clients(&machine);
        let found = if found.is_empty() {
            String::new()
        } else {
            format!(" (clients found: {})", found.join(", "))
        };
        findings.remark(
            "clients",
            format!("no client starts portcullis{found}"),
            Some("portcullis setup".into()),
        );
    }
}

/// The names of the clients that seem to be installed.
fn present_clients(machine: &Machine) -> Vec<&'static str> {
    CLIENTS.iter().filter(|client| client.is_present(machine)).map(|client| client.name).collect()
}

/// Adds a fault for each root in the arguments of an entry that is not a folder.
fn check_roots(client: &str, args: &[String], findings: &mut Findings) {
    let roots = args.iter().zip(args.iter().skip(1)).filter(|(option, _)| *option == "--root");
    // A root with a variable such as `${workspaceFolder}` is not checked, because only the client can replace the
    // variable.
    for (_, root) in roots.filter(|(_, root)| !root.contains("${") && !Path::new(root).is_dir()) {
        let mend = Some("portcullis setup --root FOLDER".to_owned());
        findings.fault(
            "clients",
            format!("{client} passes --root {root}, which is not a folder"),
            mend,
        );
    }
}

/// Adds the proxies that the environment names, without their passwords.
#[expect(clippy::disallowed_methods, reason = "the environment says which proxy is used")]
fn proxies(findings: &mut Findings) {
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
    {
        let Ok(value) = std::env::var(name) else { continue };
        let shown = value.rsplit('@').next().unwrap_or_default();
        findings.good("proxy", format!("{name}: {shown}"));
    }
}

/// Checks whether the cache can be written. A missing folder is no fault, because it is created when it is needed.
fn cache(folder: &Path, findings: &mut Findings) {
    let shown = folder.display();
    if !folder.exists() {
        return findings.good("cache", format!("cache: {shown} (empty)"));
    }
    match tempfile::tempfile_in(folder) {
        Ok(_) => findings.good("cache", format!("cache: {shown}")),
        Err(error) => findings.fault(
            "cache",
            format!("the cache folder {shown} cannot be written: {error}"),
            Some(format!("chmod u+rwx {shown}, or set `cache-dir` in [host] of portcullis.toml")),
        ),
    }
}

/// Checks whether the approvals can be read.
fn approvals(file: &Path, findings: &mut Findings) {
    let shown = file.display();
    match LockFile::at(file.to_owned()).plugin("") {
        Ok(_) => findings.good("approvals", format!("approvals: {shown}")),
        Err(error) => findings.fault(
            "approvals",
            format!(
                "the approvals cannot be read, so nothing is approved: {}",
                error_chain(&error)
            ),
            Some(format!("remove {shown}, and approve again with `portcullis plugin approve`")),
        ),
    }
}

/// Checks the programs that commands need in addition to those that they start, such as the linter that Node.js runs.
fn programs(config: &Config, findings: &mut Findings) -> anyhow::Result<()> {
    for command in config.commands()? {
        // `check` has already reported a command whose own program is missing.
        if command.program().is_none() {
            continue;
        }
        for (name, install) in command.missing() {
            let text = format!(
                "command `{}` needs `{name}`, which is not in PATH: the command works only in projects with their own",
                command.name
            );
            findings.remark("commands", text, install);
        }
    }
    Ok(())
}

/// Connects to each host that an enabled plugin is granted, and to the upstream servers.
fn network(config: &Config, findings: &mut Findings) {
    let plugins = config.plugins.values().filter(|plugin| plugin.enabled != Some(false));
    let granted = plugins.flat_map(|plugin| plugin.grants.values(Capability::Http));
    let hosts = granted.filter_map(|value| Some(value.rsplit_once('@')?.1.to_owned()));
    let servers = config.upstreams.values().filter_map(|server| server.definition.url.clone());
    let mut places: Vec<(String, u16)> =
        hosts.chain(servers).filter_map(|text| place(&text)).collect();
    places.sort_unstable();
    places.dedup();
    for (host, port) in places {
        let shown = visible_line(&format!("{host}:{port}"), 200);
        match connect(&host, port) {
            Ok(()) => findings.good("network", format!("{shown} accepts connections")),
            Err(error) => findings.remark(
                "network",
                format!("{shown} cannot be reached: {error}"),
                Some(
                    "set HTTPS_PROXY if this network has a proxy; offline, some plugins can use packs of data"
                        .into(),
                ),
            ),
        }
    }
}

/// The host and the port of an origin or an address. `None`: the text is a pattern, or has no host.
fn place(text: &str) -> Option<(String, u16)> {
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url = url::Url::parse(&text).ok()?;
    let host = url.host_str().filter(|host| !host.contains('*'))?;
    Some((host.trim_matches(['[', ']']).to_owned(), url.port_or_known_default()?))
}

fn connect(host: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()?.take(4) {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn print(findings: &Findings, is_json: bool) -> anyhow::Result<CommandEnd> {
    let word = |level: Level| match level {
        Level::Good => "ok",
        Level::Remark => "warning",
        Level::Fault => "error",
    };
    if is_json {
        let all = findings.0.iter().map(|Finding { level, area, text, mend }| {
            json!({ "level": word(*level), "area": area, "text": text, "mend": mend })
        });
        return super::print::json(&json!({ "findings": all.collect::<Vec<_>>() }));
    }
    let mut text = String::new();
    for Finding { level, area, text: found, mend } in &findings.0 {
        let mark = match level {
            Level::Good => green("ok     "),
            Level::Remark => "warning".to_owned(),
            Level::Fault => red("error  "),
        };
        let found = visible(found).replace('\n', "\n                        ");
        text += &format!("{mark} {} {found}\n", faint(&format!("{area:<14}")));
        if let Some(mend) = mend {
            text += &format!("{:23}{}\n", "", green(&format!("→ {}", visible_line(mend, 500))));
        }
    }
    let count = |level: Level| findings.0.iter().filter(|one| one.level == level).count();
    let (errors, warnings) = (count(Level::Fault), count(Level::Remark));
    text += &format!("errors: {errors}, warnings: {warnings}\n");
    super::print(&text)
}
