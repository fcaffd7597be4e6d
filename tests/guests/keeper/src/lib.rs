//! A test plugin for store, cache and settings, also beyond their quotas.

use std::convert::Infallible;
use std::time::Duration;

use portcullis_plugin::prelude::*;

#[data]
enum Do {
    Get,
    Set,
    /// If the version is that of `version`.
    SetIf,
    Delete,
    Keys,
}

/// One use of the store.
#[data]
struct Step {
    r#do: Do,
    #[serde(default)]
    key: String,
    #[serde(default)]
    value: String,
    /// A value of that many bytes.
    #[serde(default)]
    bytes: usize,
    #[serde(default)]
    version: u64,
}

impl Step {
    fn value(&self) -> Vec<u8> {
        if self.bytes > 0 { vec![b'x'; self.bytes] } else { self.value.clone().into_bytes() }
    }

    fn run(&self, store: &store::Keyspace) -> Result<String, store::Error> {
        Ok(match self.r#do {
            Do::Get => match store.get(&self.key)? {
                Some(entry) => {
                    let text = String::from_utf8_lossy(&entry.value).into_owned();
                    format!("version {} {}", entry.version, shortened(text))
                }
                None => "nothing".to_owned(),
            },
            Do::Set => format!("version {}", store.set(&self.key, self.value())?),
            Do::SetIf => {
                let version = store.compare_and_set(&self.key, self.value(), self.version)?;
                format!("version {version}")
            }
            Do::Delete => store.delete(&self.key).map(|()| "deleted".to_owned())?,
            Do::Keys => format!("{:?}", store.keys(&self.key)?),
        })
    }
}

fn shortened(text: String) -> String {
    if text.len() > 100 { format!("{} bytes", text.len()) } else { format!("{text:?}") }
}

/// Uses its store.
#[arguments]
struct Keep {
    /// What is only the caller's.
    #[serde(default)]
    own: bool,
    steps: Vec<Step>,
}

impl Tool for Keep {
    const NAME: &'static str = "keep";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let store = if self.own { store::caller() } else { store::plugin() }?;
        let lines = self
            .steps
            .iter()
            .map(|step| step.run(&store).unwrap_or_else(|error| error.to_string()));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Adds one to a number that it keeps.
#[arguments]
struct Increment {}

impl Tool for Increment {
    const NAME: &'static str = "increment";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let count = store::plugin()?.update("count", |old| {
            let old: u64 = old
                .and_then(|old| std::str::from_utf8(old).ok())
                .and_then(|old| old.parse().ok())
                .unwrap_or(0);
            (old + 1).to_string().into_bytes()
        })?;
        Ok(String::from_utf8_lossy(&count).into_owned())
    }
}

/// Remembers, for a while, what it is told first.
#[arguments]
struct Remember {
    key: String,
    value: String,
    /// For how long; for ever unless it is said.
    #[serde(default)]
    ms: Option<u64>,
    /// How long it thinks about it.
    #[serde(default)]
    think_ms: u64,
    /// How large it makes the value.
    #[serde(default)]
    bytes: usize,
}

impl Tool for Remember {
    const NAME: &'static str = "remember";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let ttl = self.ms.map(Duration::from_millis);
        let mut made = false;
        let value = cache::get_or_make(&self.key, ttl, || {
            made = true;
            std::thread::sleep(Duration::from_millis(self.think_ms));
            Ok::<_, Infallible>([self.value.as_bytes(), &vec![b'x'; self.bytes]].concat())
        })?;
        let text = shortened(String::from_utf8_lossy(&value).into_owned());
        Ok(format!("{} {text}", if made { "made" } else { "found" }))
    }
}

/// Reads a setting.
#[arguments]
struct Setting {
    name: String,
}

impl Tool for Setting {
    const NAME: &'static str = "setting";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(settings::get(&self.name).unwrap_or_else(|| "not set".to_owned()))
    }
}

plugin! {
    name: "keeper",
    tools: [Keep, Increment, Remember, Setting],
    wants: [
        Want::store(1_000_000, "to keep what it is told"),
        Want::cache(1_000_000, "to remember for a while").optional(),
        Want::settings("colour", "to know its colour").optional(),
    ],
}
