//! The file of a component that is not bundled.

use std::io::{Read, Seek};
use std::path::Path;

use parking_lot::Mutex;

use crate::error::ComponentFileError;
use crate::limits::MAX_COMPONENT_BYTES;

/// The file of a component that is not bundled. The file is kept open: another file that takes its name is not
/// used.
pub struct ComponentFile {
    file: Mutex<std::fs::File>,
    digest: String,
    size: u64,
}

impl ComponentFile {
    /// Opens a file and computes its digest.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not regular, or is larger than [`MAX_COMPONENT_BYTES`].
    pub fn open(path: &Path) -> Result<Self, ComponentFileError> {
        let mut options = std::fs::File::options();
        options.read(true);
        // Opening a FIFO must not block the host.
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(ComponentFileError::NotRegular);
        }
        if metadata.len() > MAX_COMPONENT_BYTES {
            return Err(ComponentFileError::TooLarge);
        }
        let digest = portcullis_checked_files::digest_of((&file).take(MAX_COMPONENT_BYTES))?;
        Ok(Self { file: Mutex::new(file), digest, size: metadata.len() })
    }

    /// The size in bytes when the file was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// SHA-256 of the component, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Reads the component.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or was changed since it was opened.
    pub fn bytes(&self) -> Result<Vec<u8>, ComponentFileError> {
        let mut file = self.file.lock();
        let mut bytes = Vec::new();
        file.rewind()
            .and_then(|()| Read::take(&mut *file, MAX_COMPONENT_BYTES).read_to_end(&mut bytes))?;
        if portcullis_checked_files::digest(&bytes) != self.digest {
            return Err(ComponentFileError::Changed);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_was_opened_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        std::fs::write(&path, b"one").unwrap();
        let file = ComponentFile::open(&path).unwrap();
        assert_eq!(file.digest(), portcullis_checked_files::digest(b"one"));
        portcullis_checked_files::replace(&path, b"another").unwrap();
        assert_eq!(file.bytes().unwrap(), b"one", "another file took its name");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.bytes().unwrap(), b"one", "it was deleted");

        std::fs::write(&path, b"one").unwrap();
        let file = ComponentFile::open(&path).unwrap();
        std::fs::write(&path, b"two").unwrap();
        assert!(matches!(file.bytes(), Err(ComponentFileError::Changed)), "its bytes were changed");
        assert!(matches!(ComponentFile::open(folder.path()), Err(ComponentFileError::NotRegular)));
    }
}
