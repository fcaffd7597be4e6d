//! `portcullis plugin describe`: writes the comments of WIT files into a component.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use portcullis_foreign_components::{Commented, describe};

use super::{CommandEnd, Common, print};

/// The end of the help.
const ABOUT: &str = "\
For components made from JavaScript, Python or Go. Each function of such a component is a tool. The programs that make \
the components leave out the comments of the WIT files, so this command writes them into the component: the comment \
`///` above a function becomes the description of its tool, and the one above a field of a record that of an argument.";

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
        let commented = write(&component, &wit)
            .with_context(|| format!("describing {}", component.display()))?;
        let path = portcullis_sanitize::visible_line(&component.display().to_string(), 500);
        print(&format!("{path}: {}\n", described(commented)))
    }
}

/// What was described, with a hint if no tool has a description of its own.
fn described(Commented { functions, fields }: Commented) -> String {
    let number = |number: usize, one: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    let (functions_text, fields_text) = (number(functions, "function"), number(fields, "field"));
    match (functions, fields) {
        (0, _) => format!(
            "{fields_text} described, and no function\n  hint: write `/// …` above each function: it becomes the \
             description of its tool"
        ),
        (_, 0) => format!("{functions_text} described"),
        _ => format!("{functions_text} and {fields_text} described"),
    }
}

/// Writes the comments of the WIT files into the component. Returns what has a comment.
#[expect(clippy::disallowed_methods, reason = "the file that the author names")]
fn write(component: &Path, wit: &Path) -> anyhow::Result<Commented> {
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
    Ok(described.commented)
}
