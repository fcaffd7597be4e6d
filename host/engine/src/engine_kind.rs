//! The two kinds of engines, and which of them a component needs.

use wasmparser::{Parser, Payload};
use wasmtime::component::Component;
use wasmtime::{Config, Result};

use crate::compile;

/// The kind of an engine. Concurrency makes each call dearer, also of components that do not use it: see
/// docs/PERFORMANCE.md. So only the components that need it run in an engine that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Without concurrency: for components of WASI 0.2.
    Synchronous,
    /// With asynchronous functions, streams and futures of the component model: for components of WASI 0.3.
    Concurrent,
}

impl EngineKind {
    /// Both kinds. The first one that can compile a component is the right one.
    pub(crate) const ALL: [Self; 2] = [Self::Synchronous, Self::Concurrent];

    /// The settings that compiled code depends on.
    ///
    /// # Errors
    ///
    /// Cranelift was built without this target.
    pub(crate) fn settings(self, target: &str) -> Result<Config> {
        let mut config = compile::settings(target)?;
        config.concurrency_support(self == Self::Concurrent);
        Ok(config)
    }

    /// The kind of the engine that a component was loaded into.
    pub fn of(component: &Component) -> Self {
        if component.engine().get_concurrency_support() {
            Self::Concurrent
        } else {
            Self::Synchronous
        }
    }

    /// The byte that stands for this kind in front of compiled code.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Synchronous => 2,
            Self::Concurrent => 3,
        }
    }

    /// The kind and the code, from what the compiler returned. `None`: no kind has this byte.
    pub(crate) fn split(compiled: &[u8]) -> Option<(Self, &[u8])> {
        let (byte, code) = compiled.split_first()?;
        let kind = Self::ALL.into_iter().find(|kind| kind.byte() == *byte)?;
        Some((kind, code))
    }

    /// Compiles a component for the kind of engine that it needs. Returns the kind and the code.
    ///
    /// A component that imports WASI 0.3 needs concurrency, and so does a component that is invalid without it.
    ///
    /// # Errors
    ///
    /// wasmtime refuses the component for both kinds. The error is the one for the kind that allows more.
    pub(crate) fn compile(component: &[u8], target: &str) -> Result<(Self, Vec<u8>)> {
        let compile = |kind: Self| {
            let engine = wasmtime::Engine::new(&kind.settings(target)?)?;
            engine.precompile_component(component)
        };
        if !imports_wasi_0_3(component)
            && let Ok(code) = compile(Self::Synchronous)
        {
            return Ok((Self::Synchronous, code));
        }
        compile(Self::Concurrent).map(|code| (Self::Concurrent, code))
    }
}

/// Whether a component, or a component inside it, imports an interface of WASI 0.3. Bytes that cannot be parsed import
/// nothing: the compiler refuses them.
fn imports_wasi_0_3(component: &[u8]) -> bool {
    Parser::new(0).parse_all(component).map_while(std::result::Result::ok).any(|payload| {
        let Payload::ComponentImportSection(section) = payload else { return false };
        section
            .into_iter()
            .map_while(std::result::Result::ok)
            .any(|import| is_wasi_0_3(import.name.name))
    })
}

/// Whether this is the name of an interface of WASI 0.3, such as `wasi:clocks/types@0.3.0`.
fn is_wasi_0_3(name: &str) -> bool {
    let version = name.strip_prefix("wasi:").and_then(|rest| rest.split_once('@'));
    version.is_some_and(|(_, version)| version == "0.3" || version.starts_with("0.3."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_of_wasi_0_3_are_known_by_their_versions() {
        for (name, expected) in [
            ("wasi:clocks/types@0.3.0", true),
            ("wasi:clocks/types@0.3.0-rc-2026-01-01", true),
            ("wasi:clocks/types@0.3", true),
            ("wasi:clocks/types@0.30.0", false),
            ("wasi:clocks/types@0.2.3", false),
            ("wasi:clocks/types", false),
            ("other:clocks/types@0.3.0", false),
        ] {
            assert_eq!(is_wasi_0_3(name), expected, "{name}");
        }
    }

    #[test]
    fn the_kind_stands_in_front_of_the_code() {
        for kind in EngineKind::ALL {
            assert_eq!(EngineKind::split(&[kind.byte(), 7]), Some((kind, &[7][..])));
        }
        assert_eq!(EngineKind::split(&[]), None);
        assert_eq!(EngineKind::split(b"\x7fELF"), None, "code as earlier versions kept it");
    }
}
