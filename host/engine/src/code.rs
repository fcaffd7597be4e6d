//! Compiled code: from the binary, from the cache on disk, or made by the child.
//!
//! Compiled code is native code. It is only ever taken from this binary, from a child of this
//! binary, or from a folder that nobody but this user can write, and it is checked before it is
//! given to wasmtime.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::component::Component;

use super::{Engine, TARGET, child};
use portcullis_records::{Records, create_private_folder};

/// Largest component file that is looked at.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// Disk space for compiled components; the least recently written go first.
const CACHE_BYTES: u64 = 1024 * 1024 * 1024;

/// Why a component cannot be run.
#[derive(Debug)]
pub enum CodeError {
    /// wasmtime or the compiling child refused the component.
    Refused(String),
    /// The host could not do its part.
    Host(String),
}

/// Compiled components on disk, keyed by the component's digest and everything else that shapes
/// the code.
#[derive(Clone)]
pub struct Codes {
    folder: PathBuf,
}

impl Codes {
    /// The compiled components in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The compiled form of a component that came with the binary.
    ///
    /// # Errors
    ///
    /// Where it was compiled for another engine: the build went wrong.
    pub fn bundled(engine: &Engine, code: &'static [u8]) -> Result<Component, CodeError> {
        let component = load(engine, code);
        let_go(code);
        component
    }

    /// The compiled form of a foreign component: compiled before, or now, from its file, by a confined
    /// child.
    ///
    /// # Errors
    ///
    /// Where the component is malformed, or too much work to compile, or its file has changed.
    pub async fn foreign(
        &self,
        engine: &Engine,
        file: &ComponentFile,
    ) -> Result<Component, CodeError> {
        let key = format!("{} {}", file.digest(), compatibility(engine));
        let records = self.records()?;
        match records.read(&key) {
            Ok(Some(record)) => return load(engine, &record.value),
            Ok(None) => {}
            Err(error) => tracing::warn!("compiled code: {error}"),
        }
        let component = file.bytes().map_err(CodeError::Host)?;
        tracing::info!("compiling a component of {} bytes", component.len());
        let code = child::compile(&component).await?;
        let kept = records
            .write(&key, &code, None, None, |_| true)
            .map_err(|error| format!("{error:?}"))
            .and_then(|_| records.shrink(CACHE_BYTES).map_err(|error| error.to_string()));
        if let Err(error) = kept {
            tracing::warn!("compiled code is not kept: {error}");
        }
        load(engine, &code)
    }

    fn records(&self) -> Result<Records, CodeError> {
        create_private_folder(&self.folder)
            .and_then(|()| check_private(&self.folder))
            .map_err(|error| CodeError::Host(format!("{}: {error}", self.folder.display())))?;
        Ok(Records::new(self.folder.clone()))
    }
}

/// What else than the component shapes compiled code: wasmtime's version, settings and target.
fn compatibility(engine: &Engine) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&engine.wasmtime().precompile_compatibility_hash(), &mut hasher);
    let hash = std::hash::Hasher::finish(&hasher);
    format!("{TARGET} {} {hash:016x}", env!("CARGO_PKG_VERSION"))
}

#[expect(unsafe_code, reason = "compiled code from trusted places: see the head of this file")]
fn load(engine: &Engine, code: &[u8]) -> Result<Component, CodeError> {
    // SAFETY: the bytes were compiled by this program and are checked against their digest.
    unsafe { Component::deserialize(engine.wasmtime(), code) }
        .map_err(|error| CodeError::Refused(format!("{error:#}")))
}

/// Lets the system take back the memory of what has just been copied out of the binary. It is read from the
/// file again, should it be needed again.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "advice about memory is given by address")]
fn let_go(bytes: &'static [u8]) {
    use rustix::mm::{Advice, madvise};
    let page = rustix::param::page_size();
    // Whole pages alone: what lies beside these bytes may be in use.
    let before = bytes.as_ptr().align_offset(page);
    let len = bytes.len().saturating_sub(before) / page * page;
    if len == 0 {
        return;
    }
    let start = bytes.as_ptr().wrapping_add(before).cast_mut().cast();
    // SAFETY: these pages are constants of this binary, mapped from its file and never written to: what
    // is read there afterwards is the same.
    if let Err(error) = unsafe { madvise(start, len, Advice::LinuxDontNeed) } {
        tracing::debug!("copied code stays in memory: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn let_go(_: &'static [u8]) {}

/// Refuses a folder that someone else could have written to.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the code cache is a folder")]
fn check_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder)?;
    let mine = metadata.uid() == rustix::process::geteuid().as_raw();
    if !mine || metadata.mode() & 0o022 != 0 {
        return Err(std::io::Error::other(
            "others can write to this folder of compiled code: give it to this user with mode 0700",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// How long a child may take to compile a component. What ends one that never would is its bound on
/// the processor's time: on a machine that is busy otherwise, large components take minutes.
pub const COMPILE_TIME: Duration = Duration::from_secs(300);

/// The file of a foreign component. It is held open: whoever takes its place in the folder is another.
pub struct ComponentFile {
    file: Mutex<std::fs::File>,
    digest: String,
}

impl ComponentFile {
    /// Opens it, if it is a regular file and not too large.
    ///
    /// # Errors
    ///
    /// In words for the operator.
    pub fn open(path: &Path) -> Result<Self, String> {
        let mut options = std::fs::File::options();
        options.read(true);
        // A FIFO of that name must not hold up the host.
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(path).map_err(cannot_read)?;
        let metadata = file.metadata().map_err(cannot_read)?;
        if !metadata.is_file() {
            return Err("cannot read it: it is no regular file".into());
        }
        if metadata.len() > MAX_COMPONENT_BYTES {
            return Err(format!(
                "it has more than {MAX_COMPONENT_BYTES} bytes, the most for a plugin"
            ));
        }
        let digest = portcullis_records::digest_of((&file).take(MAX_COMPONENT_BYTES));
        Ok(Self { file: Mutex::new(file), digest: digest.map_err(cannot_read)? })
    }

    /// SHA-256 of the component.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The component.
    ///
    /// # Errors
    ///
    /// In words for the operator: someone may have written into the file.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut file = self.file.lock();
        let mut bytes = Vec::new();
        file.rewind()
            .and_then(|()| Read::take(&mut *file, MAX_COMPONENT_BYTES).read_to_end(&mut bytes))
            .map_err(cannot_read)?;
        if portcullis_records::digest(&bytes) != self.digest {
            return Err("its file has changed since the host was started: start it again".into());
        }
        Ok(bytes)
    }
}

fn cannot_read(error: std::io::Error) -> String {
    format!("cannot read it: {error}")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    #[test]
    fn what_was_opened_is_read_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        std::fs::write(&path, b"one").unwrap();
        let file = ComponentFile::open(&path).unwrap();
        assert_eq!(file.digest(), portcullis_records::digest(b"one"));
        portcullis_records::replace(&path, b"another").unwrap();
        assert_eq!(file.bytes().unwrap(), b"one", "another took its place");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.bytes().unwrap(), b"one", "it was deleted");

        std::fs::write(&path, b"one").unwrap();
        let file = ComponentFile::open(&path).unwrap();
        std::fs::write(&path, b"two").unwrap();
        assert!(file.bytes().unwrap_err().contains("changed"), "someone wrote into it");
        assert!(ComponentFile::open(folder.path()).is_err_and(|why| why.contains("regular")));
    }
}
