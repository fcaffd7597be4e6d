//! Prints five lines on stderr at the first start without a configuration: about the version, the tools, the folders,
//! the configuration file and the audit.

use portcullis_core::families::FAMILIES;

use super::context::CommandContext;

/// Prints the lines, if there is no configuration and this user's portcullis has recorded nothing yet.
pub(super) fn say(context: &CommandContext) {
    if context.source.is_some() || context.audit.folder().exists() {
        return;
    }
    for line in lines(context) {
        super::log::note(&line);
    }
    // If this folder exists, a later start is not the first. If the folder cannot be created, the audit says why.
    let _made = portcullis_checked_files::create_private_folder(context.audit.folder());
}

fn lines(context: &CommandContext) -> [String; 5] {
    let families: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    let roots = if context.roots.is_empty() {
        "only those that the client names; --root FOLDER adds one".to_owned()
    } else {
        context.roots.to_string()
    };
    [
        format!(
            "portcullis {} starts without a configuration: its defaults apply",
            env!("CARGO_PKG_VERSION")
        ),
        format!(
            "tools: of {}, if the folders have projects for them; `portcullis tools` lists all",
            families.join(", ")
        ),
        format!("folders: {roots}"),
        format!(
            "configuration: {} does not exist; `portcullis config show` prints the defaults",
            context.folders.config.display()
        ),
        format!(
            "audit: {} records each call; `portcullis doctor` checks the installation",
            context.audit.folder().display()
        ),
    ]
}
