//! `portcullis ui5`: what the UI5 plugins fetch, carried to machines without a network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clap::Subcommand;
use http_body_util::{BodyExt, Empty};
use portcullis_outgoing::{Caps, Client, Connection, Origin, Policy, Request, Secret, is_public};
use portcullis_pack::{Framework, Order, Packed, SCHEMAS, Version};

use super::End;
use crate::config::{self, Folders};

/// The plugin whose settings say where things are.
const PLUGIN: &str = "ui5-reference";

/// What one pack may ask for: as many requests as it can have items, and some.
const CAPS: Caps =
    Caps { requests: 5000, body_bytes: 64 * 1024 * 1024, time: Duration::from_secs(120) };

/// What `ui5` takes.
#[derive(Subcommand)]
pub enum Args {
    /// Collect the API reference of a release, the schemas of manifests and the lists of versions in one file
    Pack {
        /// OpenUI5 or SAPUI5
        #[arg(long)]
        framework: Framework,
        /// 1.136 for its newest patch, 1.136.5, or latest
        #[arg(long, value_name = "VERSION")]
        version: Version,
        /// The file to write
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// A mirror of the framework's CDN, instead of the one that is configured
        #[arg(long, value_name = "URL")]
        cdn: Option<String>,
        /// A mirror of the repository of the schemas
        #[arg(long, value_name = "URL", conflicts_with = "no_schemas")]
        schemas: Option<String>,
        /// Leave the schemas out: the plugin carries some of its own
        #[arg(long)]
        no_schemas: bool,
    },
    /// Put what is in such a file where the plugins look for it
    Unpack {
        /// The file
        file: PathBuf,
        /// The UI5 data directory, instead of the one that is configured
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
}

impl Args {
    pub(super) fn run(self, given: Option<&Path>) -> Result<End, String> {
        match self {
            Self::Pack { framework, version, out, cdn, schemas, no_schemas } => {
                let cdn = cdn.or(setting(given, "cdn-url")?);
                let schemas = match no_schemas {
                    true => None,
                    false => Some(schemas.unwrap_or_else(|| SCHEMAS.to_owned())),
                };
                pack(&Order { framework, version, cdn, schemas }, &out)
            }
            Self::Unpack { file, data_dir } => {
                let configured = match data_dir {
                    Some(directory) => Some(directory),
                    None => setting(given, "data-dir")?.map(PathBuf::from),
                };
                let directory = configured.ok_or_else(|| {
                    format!(
                        "unpacking {}: no UI5 data directory is configured; name one with --data-dir",
                        file.display()
                    )
                })?;
                unpack(&file, &directory)
            }
        }
    }
}

/// A setting of the plugin that looks for the API reference.
fn setting(given: Option<&Path>, key: &str) -> Result<Option<String>, String> {
    let (config, _) = config::load(given, &Folders::of_user()?)?;
    let setting = config.plugins.get(PLUGIN).and_then(|plugin| plugin.settings.get(key).cloned());
    Ok(setting.filter(|value| !value.is_empty()))
}

fn pack(order: &Order, out: &Path) -> Result<End, String> {
    let out = std::path::absolute(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("starting threads: {error}"))?;
    let sources = Sources::of(order)?;
    let mut client = Client::new(sources, CAPS, concat!("portcullis/", env!("CARGO_PKG_VERSION")));
    let mut fetch = |url: &str, most: u64| runtime.block_on(fetch(&mut client, url, most));
    let mut say = |what: &str| anstream::eprintln!("{}", portcullis_text::line(what, 200));
    let packed = portcullis_pack::pack(order, &out, &mut fetch, &mut say)?;
    super::print(&format!("{}: {}\n", out.display(), told(&packed)))
}

fn unpack(file: &Path, directory: &Path) -> Result<End, String> {
    let directory = portcullis_confine::at_home(directory);
    let unpacked = portcullis_pack::unpack(file, &directory)?;
    let api = match unpacked.api_is_new {
        true => "its API is there now",
        false => "its API was there already",
    };
    super::print(&format!(
        "{}: {api}, and {} newer lists of versions\n{}\n",
        directory.display(),
        unpacked.new_lists,
        told(&unpacked.packed)
    ))
}

/// A pack in one line, to be compared on both machines.
fn told(Packed { contents, digest, bytes }: &Packed) -> String {
    let (libraries, schemas, lists) = contents.counts();
    format!(
        "{} {}, {libraries} libraries, {schemas} schemas of manifests, {lists} lists of versions; \
         {bytes} bytes, SHA-256 {digest}",
        contents.framework, contents.version
    )
}

async fn fetch(client: &mut Client, url: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
    let failed = |why: String| format!("Fetching {url}: {why}");
    let request = http::Request::get(url).body(Empty::<Bytes>::new());
    let request = request.map_err(|error| failed(error.to_string()))?;
    let response = client.send(request, None).await.map_err(|fault| failed(fault.to_string()))?;
    match response.status().as_u16() {
        200..=299 => {}
        404 => return Ok(None),
        status => return Err(failed(format!("the server answers {status}"))),
    }
    let body =
        http_body_util::Limited::new(response.into_body(), usize::try_from(most).unwrap_or(0));
    let body = body.collect().await.map_err(|error| failed(error.to_string()))?;
    Ok(Some(body.to_bytes().into()))
}

/// Where a pack comes from, and nowhere else.
struct Sources {
    /// May have any address: the operator named them.
    named: Vec<Origin>,
    /// May have public addresses.
    public: Vec<Origin>,
}

impl Sources {
    fn of(order: &Order) -> Result<Self, String> {
        let mut sources = Self { named: Vec::new(), public: Vec::new() };
        match &order.cdn {
            Some(mirror) => sources.named.push(mirror.parse()?),
            None => sources.public.push(order.framework.public_cdn().parse()?),
        }
        match order.schemas.as_deref() {
            Some(SCHEMAS) => sources.public.push(SCHEMAS.parse()?),
            Some(mirror) => sources.named.push(mirror.parse()?),
            None => {}
        }
        Ok(sources)
    }
}

impl Policy for Sources {
    fn allows(&self, request: Request) -> bool {
        self.named.contains(&request.origin) || self.public.contains(&request.origin)
    }

    fn allows_connection(&self, connection: Connection) -> bool {
        let is_named = self.named.iter().any(|origin| origin.host() == connection.host);
        is_named || is_public(connection.address)
    }

    fn secrets(&self, _: &Origin) -> Option<&BTreeMap<String, Secret>> {
        None
    }
}
