//! Writes an edited configuration, and says what the file could not keep.

use portcullis_checked_files::{LostMetadata, write_edited};
use portcullis_core::config::ConfigFile;
use portcullis_sanitize::visible_line;

use super::style::green;

/// Writes a new text of `portcullis.toml`. Returns what was done, for display.
///
/// # Errors
///
/// The file cannot be written, or another program changed it after it was read: see [`write_edited`].
pub(super) fn write_config(file: &ConfigFile, after: &str) -> anyhow::Result<String> {
    let lost = write_edited(&file.path, file.text.as_deref(), after)?;
    let path = file.path.display().to_string();
    Ok(format!("{} {}\n{}", green("written"), visible_line(&path, 1000), about_lost(lost)))
}

/// What a replaced file could not keep, for display. Empty if the file kept everything.
pub(super) fn about_lost(lost: LostMetadata) -> String {
    let mut text = String::new();
    if lost.owner {
        text += "  you own the file now: only root could keep its previous owner\n";
    }
    if lost.group {
        text += "  the file now has your group, without permission to read it: you are not a member of its previous group\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lost_property_of_a_file_is_said() {
        assert_eq!(about_lost(LostMetadata::default()), "");
        let owner = about_lost(LostMetadata { owner: true, group: false });
        let group = about_lost(LostMetadata { owner: false, group: true });
        assert!(owner.contains("owner") && !owner.contains("group"), "{owner}");
        assert!(group.contains("group"), "{group}");
        assert_eq!(about_lost(LostMetadata { owner: true, group: true }), owner + &group);
    }
}
