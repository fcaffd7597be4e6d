//! Writes the secrets of imported servers into files that only the user can read.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_checked_files::{create_private_folder, replace_durably};

/// The folder of the files.
pub(super) struct SecretFiles<'a> {
    folder: &'a Path,
}

impl<'a> SecretFiles<'a> {
    pub(super) fn new(folder: &'a Path) -> Self {
        Self { folder }
    }

    /// Writes a secret and returns the path of its file. A file with another secret is not overwritten.
    pub(super) fn write(&mut self, name: &str, secret: &str) -> anyhow::Result<String> {
        create_private_folder(self.folder)
            .with_context(|| format!("creating {}", self.folder.display()))?;
        let path = path(self.folder, name);
        let shown = path.display();
        let existing = std::fs::File::open(&path).ok().map(std::io::read_to_string);
        match existing {
            Some(Ok(text)) if text == secret => {}
            Some(_) => {
                bail!(
                    "{shown} already contains another secret: remove the file, and run the command again"
                )
            }
            // `replace_durably` makes a new file that only its owner can read.
            None => replace_durably(&path, secret.as_bytes())
                .with_context(|| format!("writing {shown}"))?,
        }
        let text = path.to_str().map(str::to_owned);
        text.with_context(|| format!("{shown} is not UTF-8"))
    }
}

/// The file of a secret.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    let fits = |letter: char| {
        if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' }
    };
    folder.join(name.chars().map(fits).take(150).collect::<String>())
}
