//! What can be typed about packs, and what is answered.

use std::path::PathBuf;

use clap::Subcommand;

use crate::{Framework, Order, Packed, SCHEMAS, Unpacked, Version, Web, pack, unpack};

/// What can be done with packs.
#[derive(Clone, Debug, Subcommand)]
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

/// What the configuration says where nothing is typed.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// The mirror of the framework's CDN.
    pub cdn: Option<String>,
    /// The UI5 data directory.
    pub data_dir: Option<PathBuf>,
}

impl Args {
    /// Does it, and answers what is to be shown. `say` is told what is being done.
    ///
    /// # Errors
    ///
    /// Why it cannot be done, in words for whoever typed it.
    pub fn run(self, defaults: Defaults, say: &mut dyn FnMut(&str)) -> Result<String, String> {
        match self {
            Self::Pack { framework, version, out, cdn, schemas, no_schemas } => {
                let schemas = schemas.unwrap_or_else(|| SCHEMAS.to_owned());
                let schemas = (!no_schemas).then_some(schemas);
                let order = Order { framework, version, cdn: cdn.or(defaults.cdn), schemas };
                let mut web = Web::of(&order)?;
                let packed = pack(&order, &out, &mut |url, most| web.fetch(url, most), say)?;
                Ok(format!("{}: {}\n", out.display(), told(&packed)))
            }
            Self::Unpack { file, data_dir } => {
                let directory = data_dir.or(defaults.data_dir).ok_or_else(|| {
                    format!(
                        "Unpacking {}: no UI5 data directory is configured. Name one with --data-dir",
                        file.display()
                    )
                })?;
                let Unpacked { packed, api_is_new, new_lists } = unpack(&file, &directory)?;
                let api = if api_is_new { "is there now" } else { "was there already" };
                Ok(format!(
                    "{}: its API {api}; newer lists of versions: {new_lists}\n{}\n",
                    directory.display(),
                    told(&packed)
                ))
            }
        }
    }
}

/// A pack in one line, to be compared on both machines.
fn told(Packed { contents, digest, bytes }: &Packed) -> String {
    let (libraries, schemas, lists) = contents.counts();
    format!(
        "{} {}, libraries: {libraries}, schemas of manifests: {schemas}, lists of versions: {lists}, \
         {bytes} bytes, SHA-256 {digest}",
        contents.framework, contents.version
    )
}
