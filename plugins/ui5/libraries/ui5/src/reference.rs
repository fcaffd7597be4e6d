//! The API reference of a framework: downloads it to the UI5 data directory, in the layout of the
//! UI5 MCP server, and looks up symbols without reading whole files.

mod fetch;
mod format;
pub mod lock;
mod lookup;
mod near;
mod outline;
mod source;

pub use format::{full, summary, uri};
pub use lookup::{Found, Hit, Miss, normalise};
pub use outline::{contents, outline};

use crate::{Cdn, Framework, Project, fetched};
use portcullis_plugin::{Request, cache, settings};
use semver::Version;
use source::Source;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use ui5_data::{Compact, Data, THEIRS, api, apis, is_version};

/// The setting with the UI5 data directory.
pub const DATA_SETTING: &str = "data-dir";

/// Maximum wait for the CDN where no other data can be used instead.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// A framework in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The framework.
    pub framework: Framework,
    /// The version, such as `1.120.30`.
    pub version: String,
}

impl Release {
    /// The release that a project uses. The default framework is OpenUI5; the default version has
    /// long-term maintenance.
    pub fn of(project: &Project) -> Self {
        let framework = project.framework.unwrap_or(Framework::OpenUi5);
        let version = project.framework_version.clone().unwrap_or_else(|| {
            match framework {
                Framework::OpenUi5 => "1.136.5",
                Framework::SapUi5 => "1.136.7",
            }
            .to_owned()
        });
        Self { framework, version }
    }
}

/// The API reference of one release.
pub struct Reference {
    data: Source,
    /// The release of the data: the requested one, or the nearest available.
    pub release: Release,
    /// A note for the result if the requested release could not be fetched.
    pub note: Option<String>,
}

impl Reference {
    /// Opens the reference of a release, and downloads it first if it is missing. If the download fails,
    /// or the CDN failed in the last minute, opens the nearest release available. Fails with the reason.
    pub fn open(wanted: &Release, cdn: &Cdn, request: &Request<'_>) -> Result<Self, String> {
        Self::open_or_carried(wanted, cdn, request, None)
    }

    /// Like [`Reference::open`], with one more reference that counts as available: `carried`, which the plugin embeds
    /// in the form of [`Compact`]. If `carried` is given, the call works without a data directory and without the CDN.
    pub fn open_or_carried(
        wanted: &Release,
        cdn: &Cdn,
        request: &Request<'_>,
        carried: Option<&'static [u8]>,
    ) -> Result<Self, String> {
        let directory = settings::get(DATA_SETTING).filter(|path| !path.is_empty());
        let unset = || {
            format!(
                "There is no directory to keep the API reference in: ask the operator to set \
                 `{DATA_SETTING}` of this plugin to the UI5 data directory, such as /home/me/.ui5"
            )
        };
        match (directory, carried) {
            (Some(directory), _) => {
                Self::open_in_or_carried(Path::new(&directory), wanted, cdn, request, carried)
            }
            (None, Some(_)) => Self::nearest_in(None, wanted, &unset(), carried),
            (None, None) => Err(unset()),
        }
    }

    /// Like [`Reference::open`], with that UI5 data directory.
    pub fn open_in(
        directory: &Path,
        wanted: &Release,
        cdn: &Cdn,
        request: &Request<'_>,
    ) -> Result<Self, String> {
        Self::open_in_or_carried(directory, wanted, cdn, request, None)
    }

    fn open_in_or_carried(
        directory: &Path,
        wanted: &Release,
        cdn: &Cdn,
        request: &Request<'_>,
        carried: Option<&'static [u8]>,
    ) -> Result<Self, String> {
        let version = &wanted.version;
        if !is_version(version) {
            return Err(format!("Invalid framework version: {version}"));
        }
        if !directory.is_absolute() {
            return Err(format!(
                "The setting `{DATA_SETTING}` is not an absolute path: '{}'",
                directory.display()
            ));
        }
        let root = apis(directory);
        let target = api(directory, wanted.framework, version);
        let name = format!("{}-{}", wanted.framework.lower_name(), version.to_lowercase());
        let opened =
            |data| Self { data: Source::Directory(data), release: wanted.clone(), note: None };
        if target.join(THEIRS).is_file() {
            return Data::open(&target).map(opened);
        }
        let base = cdn.base(wanted.framework, Some(&version.to_lowercase()));
        let missing = format!("missing {base}");
        let remembered = fetched::silence(&base)
            .or_else(|| Some(String::from_utf8_lossy(&cache::get(&missing)?).into_owned()));
        let why = match remembered {
            Some(why) => why,
            None => {
                let staging = root.join("staging").join(&name);
                let lock = directory.join("mcp-server/locks").join(format!("{name}.lock"));
                let has_other = carried.is_some()
                    || !fetch::cached(&root, wanted.framework.lower_name()).is_empty();
                let patience = if has_other { fetched::SHORT_PATIENCE } else { MAX_WAIT };
                match fetch::fetch(&base, &target, (&staging, &lock), patience, request) {
                    Ok(()) => return Data::open(&target).map(opened),
                    Err(fetch::Failure::Cdn(fetched::Failure::Silent(why))) => {
                        fetched::remember_silence(&base, &why);
                        why
                    }
                    Err(fetch::Failure::Cdn(fetched::Failure::Answer(why))) => {
                        cache::set(&missing, &why, fetched::RESPITE);
                        why
                    }
                    Err(
                        fetch::Failure::Disk(why)
                        | fetch::Failure::Cdn(fetched::Failure::Local(why)),
                    ) => why,
                }
            }
        };
        Self::nearest_in(Some(&root), wanted, &why, carried)
    }

    /// Opens the reference of a release, or of the nearest one, in that UI5 data directory, without
    /// downloads. Fails with the reason.
    pub fn at_hand(directory: &Path, wanted: &Release) -> Result<Self, String> {
        let exact = api(directory, wanted.framework, &wanted.version);
        if is_version(&wanted.version) && exact.join(THEIRS).is_file() {
            let data = Source::Directory(Data::open(&exact)?);
            return Ok(Self { data, release: wanted.clone(), note: None });
        }
        let Release { framework, version } = wanted;
        let why = format!("The API reference of {framework} {version} has not been fetched yet");
        Self::nearest_in(Some(&apis(directory)), wanted, &why, None)
    }

    /// Opens a reference that a plugin carries. Fails with the reason if the bytes are damaged.
    pub fn carried(bytes: &'static [u8]) -> Result<Self, String> {
        let compact = Compact::open(bytes)?;
        let release = Release {
            framework: compact.title().parse::<Framework>()?,
            version: compact.version().to_owned(),
        };
        Ok(Self { data: Source::Carried(compact), release, note: None })
    }

    /// A reference that is not about a framework: the framework of its release is a placeholder.
    pub(crate) fn of_compact(compact: Compact) -> Result<Self, String> {
        let version = compact.version().to_owned();
        let release = Release { framework: Framework::OpenUi5, version };
        Ok(Self { data: Source::Carried(compact), release, note: None })
    }

    fn nearest_in(
        root: Option<&Path>,
        wanted: &Release,
        why: &str,
        carried: Option<&'static [u8]>,
    ) -> Result<Self, String> {
        let cached = root.map(|root| fetch::cached(root, wanted.framework.lower_name()));
        let on_disk = nearest(cached.unwrap_or_default(), &wanted.version);
        let carried = carried.map(Self::carried).transpose()?.filter(|carried| {
            // Data on disk always belongs to the wanted framework. If there is such data, the carried reference is used
            // only if it belongs to this framework, too, and has a nearer version.
            on_disk.as_ref().is_none_or(|(version, _)| {
                let distance = |version: &str| distance(version, &wanted.version);
                carried.release.framework == wanted.framework
                    && distance(&carried.release.version) < distance(version)
            })
        });
        let bring = "Where there is no network, `portcullis call pack_ui5_data` and `portcullis call \
                     unpack_ui5_data` transfer the API reference from a machine with network access";
        if let Some(carried) = carried {
            let note = carried.note_of_carried(wanted, why, bring);
            return Ok(Self { note: Some(note), ..carried });
        }
        let Some((version, directory)) = on_disk else {
            return Err(format!("{why}. {bring}"));
        };
        let note = format!(
            "This is the API reference of {} {version}, the nearest version at hand: that of {} is \
             not available. {why}",
            wanted.framework, wanted.version
        );
        let release = Release { framework: wanted.framework, version };
        let data = Source::Directory(Data::open(&directory)?);
        Ok(Self { data, release, note: Some(note) })
    }

    /// The note about a reference that the plugin carries.
    fn note_of_carried(&self, wanted: &Release, why: &str, bring: &str) -> String {
        let Release { framework, version } = &self.release;
        let others: Vec<String> = match &self.data {
            Source::Carried(compact) => compact
                .libraries()
                .iter()
                .filter(|(_, other)| other != version)
                .map(|(library, other)| format!("{library} is of {other}"))
                .collect(),
            Source::Directory(_) => Vec::new(),
        };
        let others =
            if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        let what = if self.release == *wanted {
            "that of the UI5 CDN could not be fetched".to_owned()
        } else {
            let less = match wanted.framework {
                Framework::SapUi5 => ", which has further libraries,",
                Framework::OpenUi5 => "",
            };
            format!("that of {} {}{less} could not be fetched", wanted.framework, wanted.version)
        };
        format!(
            "This is the API reference of {framework} {version}{others}, which comes with this tool: \
             {what}. {why}. {bring}"
        )
    }

    /// Looks up a symbol, a member of a symbol, or a module: `sap.m.Button`, `sap.m.Button#text`,
    /// `sap/m/library`.
    pub fn find(&mut self, query: &str) -> Result<Found, Miss> {
        lookup::find(&mut self.data, query)
    }

    /// The names of symbols with that prefix, ignoring case, then of those that contain the text:
    /// at most `max_names`, in the order of the index.
    pub fn names(&mut self, typed: &str, max_names: usize) -> Result<Vec<String>, String> {
        let typed = normalise(typed);
        let keys = self.data.keys()?;
        let begins = keys.iter().filter(|key| key.starts_with(&typed));
        let contains = keys.iter().filter(|key| !key.starts_with(&typed) && key.contains(&typed));
        let chosen: Vec<&String> = begins.chain(contains).take(max_names).collect();
        Ok(chosen.into_iter().filter_map(|key| self.data.name(key)).collect())
    }

    /// The lengths of symbols in bytes, by number. The lengths are known without reading the symbols, and
    /// close to those in a result.
    pub fn lengths(&mut self, numbers: &[u32]) -> Result<Vec<u32>, String> {
        self.data.lengths(numbers)
    }

    /// The symbols of a module, by number, each read on demand.
    pub fn listed(
        &mut self,
        module: &str,
        numbers: &[u32],
    ) -> Result<impl Iterator<Item = Result<Hit, String>>, String> {
        lookup::listed(&mut self.data, module, numbers)
    }

    /// Summaries of all symbols found, of a few lines each: see [`summary`].
    pub fn summaries(
        &mut self,
        query: &str,
    ) -> Result<Vec<serde_json::Map<String, serde_json::Value>>, Miss> {
        match self.find(query)? {
            Found::One(hit) => Ok(vec![summary(&hit)]),
            Found::Module { module, symbols } => {
                self.listed(&module, &symbols)?.map(|hit| Ok(summary(&hit?))).collect()
            }
        }
    }
}

/// The releases in a UI5 data directory, by framework, newest first.
pub fn releases_at_hand(directory: &Path) -> Vec<Release> {
    let root = apis(directory);
    let mut found = Vec::new();
    for framework in Framework::ALL {
        let cached = fetch::cached(&root, framework.lower_name()).into_iter();
        let versions = cached.filter_map(|(name, _)| Some((Version::parse(&name).ok()?, name)));
        let releases = versions.map(|(order, version)| (order, Release { framework, version }));
        let mut releases: Vec<_> = releases.collect();
        releases.sort_by(|(one, _), (other, _)| other.cmp(one));
        found.extend(releases.into_iter().map(|(_, release)| release));
    }
    found
}

/// Writes this library's index, and `index.json` if it is missing, into a directory of `api.json`
/// files, so that it can be part of the UI5 data directory. Fails with the reason.
pub fn index_directory(directory: &Path) -> Result<(), String> {
    Data::make(directory).map(|_| ())
}

/// The nearest version. If two versions are equally near, the newer one.
fn nearest(cached: Vec<(String, PathBuf)>, wanted: &str) -> Option<(String, PathBuf)> {
    let rated = cached.into_iter().filter_map(|(name, path)| {
        let version = Version::parse(&name).ok()?;
        Some((distance(&name, wanted)?, std::cmp::Reverse(version), name, path))
    });
    rated
        .min()
        .map(|(_, _, name, path)| (name, path))
        .filter(|(_, path)| fs::metadata(path).is_ok())
}

/// How far apart two versions are; `None` if one of the texts is not a version.
fn distance(one: &str, other: &str) -> Option<(u64, u64, u64)> {
    let (one, other) = (Version::parse(one).ok()?, Version::parse(other).ok()?);
    Some((
        one.major.abs_diff(other.major),
        one.minor.abs_diff(other.minor),
        one.patch.abs_diff(other.patch),
    ))
}

#[cfg(test)]
mod tests;
