//! Loads compiled code of components: from this binary, from the cache on disk, or from the compiler.
//!
//! Compiled code is native code. So it is taken only from this binary, from a child process of this binary, or from a
//! folder that only this user can write to. Each file in the folder is sealed with a key that is kept elsewhere. A file
//! is read once, and its seal is checked. The checked bytes are given to wasmtime, which runs a copy that nobody else
//! can write to.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::component::Component;

use portcullis_checked_files::{Records, SealKey, create_private_folder};

use crate::blocking::on_a_thread;
use crate::component_file::ComponentFile;
use crate::error::CodeError;
use crate::{Engine, EngineKind, Engines, TARGET, compiler};

/// Maximum disk space for compiled components, in bytes. The least recently written components are removed first.
const CACHE_BYTES: u64 = 1024 * 1024 * 1024;

/// A value that begins at a page of memory, so that its pages can be made executable.
#[cfg_attr(target_arch = "x86_64", repr(C, align(0x1000)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(0x10000)))]
pub struct PageAligned<T: ?Sized>(pub T);

/// Compiled components on disk. The key of each consists of the component's digest and everything else that the code
/// depends on, such as the target.
#[derive(Clone)]
pub struct CodeCache {
    folder: PathBuf,
    key: SealKey,
}

impl CodeCache {
    /// The compiled components in `folder`, sealed with `key`.
    pub fn new(folder: PathBuf, key: SealKey) -> Self {
        Self { folder, key }
    }

    /// The compiled form of a component that came with the binary.
    ///
    /// # Errors
    ///
    /// The code was compiled for another engine: a fault of the build.
    pub fn bundled(
        engine: &Engine,
        code: &'static PageAligned<[u8]>,
    ) -> Result<Component, CodeError> {
        if cfg!(target_os = "linux") {
            load_in_place(engine, &code.0)
        } else {
            load(engine, &code.0)
        }
    }

    /// The compiled form of a component that is not bundled, from the cache or else from the compiler. If the folder
    /// can be locked, only one component at a time is compiled by all processes that share the folder.
    ///
    /// `refused` returns the message of an earlier refusal of the component, and is called just before the component
    /// is compiled: another process may have refused the component in the meantime.
    ///
    /// # Errors
    ///
    /// [`CodeError`]: the component is refused, its file cannot be read, or the compiler or the cache cannot be
    /// used.
    pub async fn foreign(
        &self,
        engines: &Arc<Engines>,
        file: &Arc<ComponentFile>,
        refused: &(dyn Fn() -> Option<String> + Sync),
    ) -> Result<Component, CodeError> {
        let key: Arc<str> = format!("{} {}", file.digest(), compatibility()?).into();
        if let Some(component) = self.cached(engines, &key).await? {
            return Ok(component);
        }
        let _lock = self.lock().await;
        if let Some(component) = self.cached(engines, &key).await? {
            return Ok(component);
        }
        if let Some(why) = refused() {
            return Err(CodeError::RefusedBefore(why));
        }
        let reading = file.clone();
        let component = on_a_thread(move || reading.bytes()).await?;
        tracing::info!("compiling a component of {} bytes", component.len());
        let code = compiler::compile(&component).await?;
        let (cache, engines) = (self.clone(), engines.clone());
        on_a_thread(move || {
            if let Err(why) = cache.keep(&key, &code) {
                tracing::warn!("compiled code is not cached: {why}");
            }
            load_for_its_kind(&engines, &code)
        })
        .await
    }

    /// The compiled form from the cache. Reading many megabytes and checking their seal takes a while. Both are done on
    /// another thread, because a thread that serves clients must not wait.
    async fn cached(
        &self,
        engines: &Arc<Engines>,
        key: &Arc<str>,
    ) -> Result<Option<Component>, CodeError> {
        let (cache, engines, key) = (self.clone(), engines.clone(), key.clone());
        on_a_thread(move || match cache.records()?.read(&key) {
            Ok(record) => {
                record.map(|record| load_for_its_kind(&engines, &record.value)).transpose()
            }
            Err(error) => {
                tracing::warn!("cannot read compiled code: {error}");
                Ok(None)
            }
        })
        .await
    }

    fn keep(&self, key: &str, code: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let records = self.records()?;
        records.write(key, code, None, None, |_| true)?;
        records.shrink(CACHE_BYTES)?;
        Ok(())
    }

    /// Waits until neither this process nor another one compiles. `None`: the folder cannot be locked, and the
    /// component is compiled without a lock.
    async fn lock(&self) -> Option<std::fs::File> {
        let path = self.folder.join(".compiling");
        match tokio::task::spawn_blocking(move || portcullis_checked_files::lock(&path)).await {
            Ok(Ok(held)) => Some(held),
            Ok(Err(error)) => {
                tracing::debug!("compiling without a lock: {error}");
                None
            }
            Err(_) => None,
        }
    }

    fn records(&self) -> Result<Records, CodeError> {
        create_private_folder(&self.folder)
            .and_then(|()| check_private(&self.folder))
            .map_err(|cause| CodeError::Folder { path: self.folder.clone(), cause })?;
        Ok(Records::sealed(self.folder.clone(), self.key.clone()))
    }
}

/// A text with everything that compiled code depends on besides the component: the target, the version of
/// Portcullis, and the version and settings of wasmtime for both kinds of engines.
///
/// # Errors
///
/// wasmtime refuses the settings.
fn compatibility() -> Result<String, CodeError> {
    let mut hasher = std::hash::DefaultHasher::new();
    for kind in EngineKind::ALL {
        // An engine without a pool, which takes microseconds: code does not depend on the pool.
        let engine = kind.settings(TARGET).and_then(|config| wasmtime::Engine::new(&config));
        let engine = engine.map_err(CodeError::engine)?;
        std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut hasher);
    }
    let hash = std::hash::Hasher::finish(&hasher);
    Ok(format!("{TARGET} {} {hash:016x} kinds", env!("CARGO_PKG_VERSION")))
}

/// Loads code that the compiler returned into the engine of its kind.
fn load_for_its_kind(engines: &Engines, compiled: &[u8]) -> Result<Component, CodeError> {
    let Some((kind, code)) = EngineKind::split(compiled) else {
        return Err(CodeError::Malformed("the compiler returned no code".to_owned()));
    };
    load(engines.get(kind).map_err(CodeError::engine)?, code)
}

#[expect(unsafe_code, reason = "compiled code from trusted places: see the head of this file")]
fn load(engine: &Engine, code: &[u8]) -> Result<Component, CodeError> {
    // SAFETY: the bytes were compiled by this program: they are constants of this binary, or come from its child
    // process, or their seal was checked after they were read.
    unsafe { Component::deserialize(engine.wasmtime(), code) }.map_err(CodeError::load)
}

/// The components whose code runs in place in this binary, by the address of the code. The process keeps one component
/// for each address until the process ends.
static IN_PLACE: Mutex<BTreeMap<usize, Component>> = Mutex::new(BTreeMap::new());

/// Loads code of this binary without copying it: see [`in_place`](crate::in_place).
#[expect(unsafe_code, reason = "compiled code of this binary")]
fn load_in_place(engine: &Engine, code: &'static [u8]) -> Result<Component, CodeError> {
    let mut loaded = IN_PLACE.lock();
    let address = code.as_ptr().addr();
    match loaded.get(&address) {
        Some(component) if wasmtime::Engine::same(component.engine(), engine.wasmtime()) => {
            return Ok(component.clone());
        }
        // Another engine of this process runs this code in place, so this engine gets a copy.
        Some(_) => return load(engine, code),
        None => {}
    }
    // SAFETY: the bytes were compiled when this binary was built, and are constants of it.
    let component = unsafe { Component::deserialize_raw(engine.wasmtime(), code.into()) }
        .map_err(CodeError::load)?;
    loaded.insert(address, component.clone());
    Ok(component)
}

/// Refuses a folder that other users can write to.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the code cache is a folder")]
fn check_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder)?;
    let is_owner = metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_owner || metadata.mode() & 0o022 != 0 {
        return Err(std::io::Error::other(
            "other users can write to it: make this user its owner and set mode 0700",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

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

    /// [`COMPONENT`], compiled as if it came with the binary.
    fn bundled(engine: &Engine) -> &'static PageAligned<[u8]> {
        let code = engine.wasmtime().precompile_component(COMPONENT).unwrap();
        let mut bytes = Box::new(PageAligned([0; 256 * 1024]));
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
    fn bundled_code_runs_in_place_for_one_engine() {
        let new = || Engine::new(EngineKind::Synchronous, &Limits::default()).unwrap();
        let engine = new();
        let code = bundled(&engine);
        let one = CodeCache::bundled(&engine, code).unwrap();
        let again = CodeCache::bundled(&engine, code).unwrap();
        assert_eq!((answer(&one), answer(&again)), (42, 42));
        if cfg!(target_os = "linux") {
            assert_eq!(one.image_range().start, code.0.as_ptr());
            assert_eq!(one.image_range(), again.image_range());
        }
        let other = new();
        let copy = CodeCache::bundled(&other, code).unwrap();
        assert_ne!(copy.image_range().start, code.0.as_ptr());
        assert_eq!(answer(&copy), 42);
        drop((one, again));
        assert_eq!(answer(&CodeCache::bundled(&engine, code).unwrap()), 42);
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
    async fn cached_code_is_read_while_other_tasks_run() {
        let folder = tempfile::tempdir().unwrap();
        let cache =
            CodeCache::new(folder.path().join("code"), SealKey::at(folder.path().join("key")));
        let path = folder.path().join("a.wasm");
        std::fs::write(&path, COMPONENT).unwrap();
        let file = Arc::new(ComponentFile::open(&path).unwrap());
        let engines = Arc::new(Engines::new(Limits::default()));
        let key = format!("{} {}", file.digest(), compatibility().unwrap());
        let (kind, code) = EngineKind::compile(COMPONENT, TARGET).unwrap();
        assert_eq!(kind, EngineKind::Synchronous, "it needs no concurrency");
        cache.keep(&key, &[&[kind.byte()], &code[..]].concat()).unwrap();
        let refused = || Some("it is not compiled again".to_owned());
        let mut found = Box::pin(cache.foreign(&engines, &file, &refused));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(
            found.as_mut().poll(&mut context).is_pending(),
            "reading blocks the thread of clients"
        );
        assert_eq!(answer(&found.await.unwrap()), 42);
    }
}
