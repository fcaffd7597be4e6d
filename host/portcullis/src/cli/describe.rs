//! `portcullis plugin describe`: writes the comments of WIT files into a component.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use portcullis_foreign_components::describe;

use super::{CommandEnd, Common, print};

/// The end of the help.
const ABOUT: &str = "\
For components made from JavaScript, Python or Go. Each function of such a component is a tool. The programs that make \
the components leave out the comments of the WIT files, so this command writes them into the component: the comment \
`///` above a function becomes the description of its tool.";

/// Arguments of `plugin describe`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// The component to change
    #[arg(value_name = "PLUGIN.wasm")]
    component: PathBuf,
    /// The folder of the WIT files, one such file, or a WIT package in the binary format
    #[arg(long, value_name = "PATH")]
    wit: PathBuf,
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        super::log::begin(common.verbose, common.log_json, None);
        let Self { component, wit } = self;
        let functions = write(&component, &wit)
            .with_context(|| format!("describing {}", component.display()))?;
        let plural = if functions == 1 { "" } else { "s" };
        let path = portcullis_sanitize::visible_line(&component.display().to_string(), 500);
        print(&format!("{path}: {functions} function{plural} described\n"))
    }
}

/// Writes the comments of the WIT files into the component. Returns the number of functions with a comment.
#[expect(clippy::disallowed_methods, reason = "the file that the author names")]
fn write(component: &Path, wit: &Path) -> anyhow::Result<usize> {
    let bytes = std::fs::read(component).context("reading it (build the plugin first)")?;
    let described = describe(&bytes, wit)?;
    // The file is replaced as a whole.
    let folder = component.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
        .context("creating a file beside it")?;
    new.write_all(&described.bytes).context("writing a file beside it")?;
    let permissions = std::fs::metadata(component).context("reading it")?.permissions();
    std::fs::set_permissions(new.path(), permissions).context("writing a file beside it")?;
    new.persist(component).context("replacing it")?;
    Ok(described.functions)
}
