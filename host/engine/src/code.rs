//! Compiled code: from the binary, from the cache on disk, or made by the child.
//!
//! Compiled code is native code. It is only ever taken from this binary, from a child of this
//! binary, or from a folder that nobody but this user can write, and it is checked before it is
//! given to wasmtime.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

    /// The compiled form of a foreign component: compiled before, or now, by a confined child.
    ///
    /// # Errors
    ///
    /// Where the component is malformed, or too much work to compile.
    pub async fn foreign(
        &self,
        engine: &Engine,
        digest: &str,
        component: &[u8],
    ) -> Result<Component, CodeError> {
        let key = format!("{digest} {}", compatibility(engine));
        let records = self.records()?;
        match records.read(&key) {
            Ok(Some(record)) => return load(engine, &record.value),
            Ok(None) => {}
            Err(error) => tracing::warn!("compiled code: {error}"),
        }
        tracing::info!("compiling a component of {} bytes", component.len());
        let code = child::compile(component).await?;
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

/// Reads a component's file, if it is a regular one and not too large.
///
/// # Errors
///
/// In words for the operator.
pub fn read_component(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut options = std::fs::File::options();
    options.read(true);
    // A FIFO of that name must not hold up the host.
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options
        .open(path)
        .and_then(|file| match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(std::io::Error::other("it is no regular file")),
        })
        .and_then(|file| file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot read it: {error}"))?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(format!("it has more than {MAX_COMPONENT_BYTES} bytes, the most for a plugin"));
    }
    Ok(bytes)
}
