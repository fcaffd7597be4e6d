//! The limits of a plugin's calls. No limit can be switched off.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum size of a component's file, in bytes.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum size of a component's compiled code, in bytes.
pub(crate) const MAX_CODE_BYTES: usize = 512 * 1024 * 1024;

macro_rules! limits {
    ($( $(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:literal $unit:literal, )+) => {
        /// The limits of one plugin's calls. Each limit has a name, a unit, a default and a reason.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $( $(#[doc = $doc])+ pub $name: $type, )+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $( $name: <$type>::new($default).expect("a default is not zero"), )+ }
            }
        }

        /// Limits as they are written in `portcullis.toml`. Limits that are left out keep their values.
        #[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct SomeLimits {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(" Unit: ", $unit, ".")]
                #[schemars(extend("default" = $default))]
                pub $name: Option<$type>,
            )+
        }

        impl SomeLimits {
            /// The limits that are given here, and the values of `base` for all other limits.
            pub fn over(&self, base: &Limits) -> Limits {
                Limits { $( $name: self.$name.unwrap_or(base.$name), )+ }
            }
        }

        impl Limits {
            /// The larger value of each limit.
            #[must_use]
            pub fn max(&self, other: &Self) -> Self {
                Self { $( $name: self.$name.max(other.$name), )+ }
            }

            /// Each limit: its name in `portcullis.toml`, its value, its unit and its purpose.
            pub fn lines(&self) -> Vec<(String, u64, &'static str, String)> {
                vec![ $( (
                    stringify!($name).replace('_', "-"),
                    u64::from(self.$name.get()),
                    $unit,
                    [$($doc),+].concat().trim().to_owned(),
                ), )+ ]
            }
        }
    };
}

limits! {
    /// Time of the guest in one round of a call, waiting included. Many clients give up after a minute.
    wall_ms: NonZeroU64 = 30_000 "ms",
    /// As `wall-ms`, for a call that runs as a task: the client asks for the result later.
    background_ms: NonZeroU64 = 600_000 "ms",
    /// CPU time of the guest in one round of a call. It ends endless loops.
    cpu_ms: NonZeroU64 = 20_000 "ms",
    /// Linear memory of the guest, all of its memories together. Some tools hold a large file in memory.
    memory_bytes: NonZeroU64 = 268_435_456 "bytes",
    /// Entries of all tables together. A large Rust program has some thousand functions.
    table_entries: NonZeroU64 = 100_000 "entries",
    /// Core instances of one component: adapters need a few. In addition, a component may have at most 4 memories and 8
    /// tables.
    instances: NonZeroU32 = 64 "instances",
    /// Open handles, such as files, directories, streams, requests or timers.
    handles: NonZeroU32 = 1_024 "handles",
    /// Size of the arguments as JSON. A model writes far less.
    argument_bytes: NonZeroU64 = 4_194_304 "bytes",
    /// Size of an answer. A larger answer does not fit into the context of a model.
    answer_bytes: NonZeroU64 = 16_777_216 "bytes",
    /// Size of the output that a guest prints in one round of a call; the rest is dropped.
    log_bytes: NonZeroU64 = 65_536 "bytes",
    /// Progress reports, log records and reports of changes in one round of a call; the rest is dropped.
    notifications: NonZeroU32 = 1_000 "messages",
    /// Size of the data that the guest passes in one call of an imported function. The host copies the data into its own
    /// memory.
    import_bytes: NonZeroU64 = 33_554_432 "bytes",
    /// HTTP requests in one round of a call.
    http_requests: NonZeroU32 = 256 "requests",
    /// Size of the body of one HTTP request or answer.
    http_body_bytes: NonZeroU64 = 67_108_864 "bytes",
    /// Time of one HTTP request, its body included.
    http_ms: NonZeroU64 = 20_000 "ms",
    /// Bytes written to files in one round of a call.
    file_write_bytes: NonZeroU64 = 268_435_456 "bytes",
    /// Size of a file that is written. The holes of a sparse file count.
    file_bytes: NonZeroU64 = 67_108_864 "bytes",
    /// Files and directories that are created or replaced in one round of a call.
    file_entries: NonZeroU64 = 10_000 "entries",
    /// Depth of a file or directory that is written, created or moved, below a directory of the call.
    file_depth: NonZeroU32 = 64 "directories",
    /// Calls of other tools in one call, of all its rounds together.
    tool_calls: NonZeroU32 = 256 "calls",
    /// Calls of one plugin at the same time. Further calls wait.
    calls: NonZeroU32 = 16 "calls",
}

impl Limits {
    /// [`Limits::wall_ms`] as a duration.
    pub fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms.get())
    }

    /// [`Limits::cpu_ms`] as a duration.
    pub fn cpu(&self) -> Duration {
        Duration::from_millis(self.cpu_ms.get())
    }

    /// [`Limits::background_ms`] as a duration.
    pub fn background(&self) -> Duration {
        Duration::from_millis(self.background_ms.get())
    }
}

/// The limit as a `usize`, or `usize::MAX` if it is larger.
pub fn size(limit: NonZeroU64) -> usize {
    usize::try_from(limit.get()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_left_out_keeps_its_value() {
        let some: SomeLimits = toml::from_str("wall-ms = 5").unwrap();
        let limits = some.over(&Limits::default());
        assert_eq!(limits.wall(), Duration::from_millis(5));
        assert_eq!(limits.cpu_ms, Limits::default().cpu_ms);
        let largest = limits.max(&Limits::default());
        assert_eq!(largest, Limits::default());
        assert!(toml::from_str::<SomeLimits>("wall-seconds = 1").is_err());
    }

    #[test]
    fn no_limit_can_be_switched_off() {
        let lines = Limits::default().lines();
        assert!(lines.len() > 15, "these are the limits: {lines:?}");
        for (name, ..) in lines {
            assert!(toml::from_str::<SomeLimits>(&format!("{name} = 1")).is_ok(), "{name}");
            for off in ["0", "-1", "false", "\"none\"", "inf"] {
                let off = format!("{name} = {off}");
                assert!(toml::from_str::<SomeLimits>(&off).is_err(), "{off}");
            }
        }
    }
}
