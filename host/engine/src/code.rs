//! Compiled code: from the binary, from the cache on disk, or made by the child.
//!
//! Compiled code is native code. It is only ever taken from this binary, from a child of this
//! binary, or from a folder that nobody but this user can write, where each piece is sealed with a key
//! that lies elsewhere. It is read once, its seal is checked, and what was checked is what is given to
//! wasmtime, which runs a copy of it that nobody else can write to.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::component::Component;

use super::{Engine, TARGET, child};
use portcullis_checked_files::{Records, SealKey, create_private_folder};

/// Largest component file that is looked at.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// Disk space for compiled components; the least recently written go first.
const CACHE_BYTES: u64 = 1024 * 1024 * 1024;

/// What begins where a page of memory does, so that the pages can be made executable.
#[cfg_attr(target_arch = "x86_64", repr(C, align(0x1000)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(0x10000)))]
pub struct Aligned<T: ?Sized>(pub T);

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
    key: SealKey,
}

impl Codes {
    /// The compiled components in `folder`, sealed with this key.
    pub fn new(folder: PathBuf, key: SealKey) -> Self {
        Self { folder, key }
    }

    /// The compiled form of a component that came with the binary.
    ///
    /// # Errors
    ///
    /// Where it was compiled for another engine: the build went wrong.
    pub fn bundled(engine: &Engine, code: &'static Aligned<[u8]>) -> Result<Component, CodeError> {
        if cfg!(target_os = "linux") { in_place(engine, &code.0) } else { load(engine, &code.0) }
    }

    /// The compiled form of a foreign component: compiled before, or now, from its file, by a confined
    /// child. One component is compiled at a time, by all processes of this user together.
    ///
    /// `refused` is asked when its turn comes: another process may have tried it in the meantime.
    ///
    /// # Errors
    ///
    /// Where the component is malformed, or too much work to compile, or its file has changed.
    pub async fn foreign(
        &self,
        engine: &Engine,
        file: &ComponentFile,
        refused: &(dyn Fn() -> Option<String> + Sync),
    ) -> Result<Component, CodeError> {
        let key = format!("{} {}", file.digest(), compatibility(engine));
        let records = self.records()?;
        let kept = || match records.read(&key) {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!("compiled code: {error}");
                None
            }
        };
        if let Some(record) = kept() {
            return load(engine, &record.value);
        }
        let _turn = self.turn().await;
        if let Some(record) = kept() {
            return load(engine, &record.value);
        }
        if let Some(why) = refused() {
            return Err(CodeError::Refused(why));
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

    /// Waits until nobody else compiles. Nothing, where the folder cannot be locked: then it goes on.
    async fn turn(&self) -> Option<std::fs::File> {
        let path = self.folder.join(".compiling");
        match tokio::task::spawn_blocking(move || portcullis_checked_files::lock(&path)).await {
            Ok(Ok(held)) => Some(held),
            Ok(Err(error)) => {
                tracing::debug!("compiling without a turn: {error}");
                None
            }
            Err(_) => None,
        }
    }

    fn records(&self) -> Result<Records, CodeError> {
        create_private_folder(&self.folder)
            .and_then(|()| check_private(&self.folder))
            .map_err(|error| CodeError::Host(format!("{}: {error}", self.folder.display())))?;
        Ok(Records::sealed(self.folder.clone(), self.key.clone()))
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
    // SAFETY: the bytes were compiled by this program: they are its own, or come from its child, or
    // their seal was checked after they were read.
    unsafe { Component::deserialize(engine.wasmtime(), code) }
        .map_err(|error| CodeError::Refused(format!("{error:#}")))
}

/// The components that run where they lie in this binary, by where that is: of each there can be one, for
/// as long as the process lives.
static IN_PLACE: Mutex<BTreeMap<usize, Component>> = Mutex::new(BTreeMap::new());

/// Without copying it: see [`publish`](super::publish).
#[expect(unsafe_code, reason = "compiled code of this binary")]
fn in_place(engine: &Engine, code: &'static [u8]) -> Result<Component, CodeError> {
    let mut loaded = IN_PLACE.lock();
    let place = code.as_ptr().addr();
    match loaded.get(&place) {
        Some(component) if wasmtime::Engine::same(component.engine(), engine.wasmtime()) => {
            return Ok(component.clone());
        }
        // Another engine of this process has it.
        Some(_) => return load(engine, code),
        None => {}
    }
    // SAFETY: the bytes were compiled when this binary was built, and are constants of it.
    let component = unsafe { Component::deserialize_raw(engine.wasmtime(), code.into()) }
        .map_err(|error| CodeError::Refused(format!("{error:#}")))?;
    loaded.insert(place, component.clone());
    Ok(component)
}

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

/// The bounds of the compiling child: grows when they do, so that what was refused is tried again.
pub const BOUNDS: u32 = 1;

/// The file of a foreign component. It is held open: whoever takes its place in the folder is another.
pub struct ComponentFile {
    file: Mutex<std::fs::File>,
    digest: String,
    size: u64,
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
        let digest = portcullis_checked_files::digest_of((&file).take(MAX_COMPONENT_BYTES));
        let digest = digest.map_err(cannot_read)?;
        Ok(Self { file: Mutex::new(file), digest, size: metadata.len() })
    }

    /// Its size in bytes, when it was opened.
    pub fn size(&self) -> u64 {
        self.size
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
        if portcullis_checked_files::digest(&bytes) != self.digest {
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
        assert_eq!(file.digest(), portcullis_checked_files::digest(b"one"));
        portcullis_checked_files::replace(&path, b"another").unwrap();
        assert_eq!(file.bytes().unwrap(), b"one", "another took its place");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.bytes().unwrap(), b"one", "it was deleted");

        std::fs::write(&path, b"one").unwrap();
        let file = ComponentFile::open(&path).unwrap();
        std::fs::write(&path, b"two").unwrap();
        assert!(file.bytes().unwrap_err().contains("changed"), "someone wrote into it");
        assert!(ComponentFile::open(folder.path()).is_err_and(|why| why.contains("regular")));
    }

    /// A component whose function `f` answers 42.
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0\
        \x01\x22\0asm\x01\0\0\0\
            \x01\x05\x01\x60\0\x01\x7f\
            \x03\x02\x01\0\
            \x07\x05\x01\x01f\0\0\
            \x0a\x06\x01\x04\0\x41\x2a\x0b\
        \x02\x04\x01\0\0\0\
        \x07\x05\x01\x40\0\0\x79\
        \x06\x07\x01\0\0\x01\0\x01f\
        \x08\x06\x01\0\0\0\0\0\
        \x0b\x07\x01\0\x01f\x01\0\0";

    /// Compiled, as if it came with the binary.
    fn bundled(engine: &Engine) -> &'static Aligned<[u8]> {
        let code = engine.wasmtime().precompile_component(COMPONENT).unwrap();
        let mut bytes = Box::new(Aligned([0; 256 * 1024]));
        bytes.0[..code.len()].copy_from_slice(&code);
        Box::leak(bytes)
    }

    fn answer(component: &Component) -> u32 {
        let engine = component.engine();
        let mut store = wasmtime::Store::new(engine, ());
        store.set_epoch_deadline(1);
        let linker = wasmtime::component::Linker::new(engine);
        let instance = linker.instantiate(&mut store, component).unwrap();
        let f = instance.get_typed_func::<(), (u32,)>(&mut store, "f").unwrap();
        f.call(&mut store, ()).unwrap().0
    }

    #[test]
    fn bundled_code_runs_where_it_lies_and_once() {
        let engine = Engine::new(1 << 20).unwrap();
        let code = bundled(&engine);
        let one = Codes::bundled(&engine, code).unwrap();
        let again = Codes::bundled(&engine, code).unwrap();
        assert_eq!((answer(&one), answer(&again)), (42, 42));
        if cfg!(target_os = "linux") {
            assert_eq!(one.image_range().start, code.0.as_ptr());
            assert_eq!(one.image_range(), again.image_range());
        }
        let other = Engine::new(1 << 20).unwrap();
        let copy = Codes::bundled(&other, code).unwrap();
        assert_ne!(copy.image_range().start, code.0.as_ptr());
        assert_eq!(answer(&copy), 42);
        drop((one, again));
        assert_eq!(answer(&Codes::bundled(&engine, code).unwrap()), 42);
    }
}
