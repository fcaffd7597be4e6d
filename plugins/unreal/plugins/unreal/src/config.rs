//! The tool `get_project_config`: the project's engine, folders, modules, plugins and settings.

use crate::{
    answer::{Page, SourceKind, shown},
    live::{Editor, Fault, Kind, value},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_project::{Association, Config, Value};

/// The settings that are returned without a filter: section and key. An empty key stands for all
/// keys.
const HIGHLIGHTS: &[(&str, &str)] = &[
    ("/Script/EngineSettings.GameMapsSettings", ""),
    ("/Script/EngineSettings.GeneralProjectSettings", ""),
    ("/Script/Engine.RendererSettings", "r.RayTracing"),
    ("/Script/Engine.RendererSettings", "r.DynamicGlobalIlluminationMethod"),
    ("/Script/Engine.RendererSettings", "r.Nanite.ProjectEnabled"),
    ("/Script/HardwareTargeting.HardwareTargetingSettings", ""),
];

about_project! {
    #[paged]
    /// Read a project's engine, folders, modules and plugins, and its configuration (Config/*.ini), each value with its file and line. Without a filter, only the main settings.
    pub struct ProjectConfig {
        /// Only settings of files with this in their name, such as DefaultEngine.
        #[serde(default)]
        file: String,
        /// Only settings of sections with this in their name, such as GameMapsSettings.
        #[serde(default)]
        section: String,
        /// Only settings of keys with this in their name.
        #[serde(default)]
        key: String,
    }
}

tool_result! {
    /// A project and its configuration.
    pub struct Configured {
        engine_version: EngineVersion,
        /// How the version is known
        engine_version_basis: String,
        paths: Paths,
        project: ProjectInfo,
        /// Settings in the project's own files, without the defaults of the engine
        settings: Vec<SettingInfo>,
        count: usize,
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct EngineVersion {
    full: String,
    major: u32,
    minor: u32,
    patch: u32,
    changelist: u32,
}

/// Absolute paths. Those of the engine are empty without the editor, and may be relative with it.
#[data]
struct Paths {
    engine_dir: String,
    project_dir: String,
    project_content_dir: String,
    project_log_dir: String,
    project_saved_dir: String,
    project_config_dir: String,
    project_plugins_dir: String,
    engine_content_dir: String,
    engine_plugins_dir: String,
}

#[data]
struct ProjectInfo {
    name: String,
    file: String,
    description: String,
    /// As the project file has it: a version, an id, a path, or empty
    engine_association: String,
    /// `version`, `id`, `path` or `none`
    association_kind: String,
    modules: Vec<String>,
    enabled_plugins: Vec<String>,
    disabled_plugins: Vec<String>,
    /// Where packages are
    mounts: Vec<MountInfo>,
}

#[data]
pub struct MountInfo {
    name: String,
    folder: String,
}

#[data]
struct SettingInfo {
    file: String,
    section: String,
    key: String,
    /// Several, where the key is a list
    values: Vec<ValueInfo>,
}

#[data]
struct ValueInfo {
    value: String,
    line: usize,
}

read_only_tool!(ProjectConfig, "get_project_config", "Project configuration", Configured);

impl SourceQuery for ProjectConfig {
    type Answer = Configured;

    /// Takes the engine's version and folders from the editor; everything else is read from files.
    fn ask_editor(&self, editor: &Editor<'_>) -> Result<Configured, Fault> {
        if editor.seen.kind == Kind::Epic {
            return Err(Fault::Unsupported(
                "Epic's server does not report the configuration: this answer is from the files",
            ));
        }
        let told = editor.read(Self::NAME, &json!({}))?;
        let reply = value::Reply::of(Self::NAME, &told);
        let (said_version, said_paths) = (reply.object("engineVersion")?, reply.object("paths")?);
        let offline = Offline::open(editor.request, self.project_dir.as_deref())?;
        let mut answer = self.ask_files(editor.request, &offline)?;
        let part = |key| said_version.number(key).map(|it| u32::try_from(it).unwrap_or_default());
        answer.engine_version = EngineVersion {
            full: said_version.text("full")?,
            major: part("major")?,
            minor: part("minor")?,
            patch: part("patch")?,
            changelist: part("changelist")?,
        };
        "the editor that has the project open".clone_into(&mut answer.engine_version_basis);
        answer.paths.engine_dir = said_paths.text("engineDir")?;
        answer.paths.engine_content_dir = said_paths.text("engineContentDir")?;
        answer.paths.engine_plugins_dir = said_paths.text("enginePluginsDir")?;
        let relative = answer.paths.engine_dir.starts_with("..").then(|| {
            "the engine's folders are relative to its binaries, as the editor reports them"
                .to_owned()
        });
        (answer.source, answer.as_of) = (SourceKind::Live, editor.as_of());
        answer.warnings.extend(editor.warnings(relative));
        Ok(answer)
    }

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Configured, Failure> {
        let config = Config::read(&offline.project.dir);
        let mut values = config.values();
        values.retain(|value| self.is_wanted(value));
        let total = values.len();
        let page = Page::new(self.offset, self.max_results);
        let settings: Vec<SettingInfo> = page.of(values).into_iter().map(setting).collect();
        let (engine_version, engine_version_basis) = engine(offline);
        Ok(Configured {
            engine_version,
            engine_version_basis,
            paths: paths(offline),
            project: project(offline),
            count: settings.len(),
            settings,
            total_count: total,
            offset: page.offset,
            has_more: page.has_more(total),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(config.warnings),
            as_of: offline.as_of.clone(),
        })
    }
}

impl ProjectConfig {
    fn is_wanted(&self, value: &Value) -> bool {
        let has =
            |text: &str, part: &str| text.to_ascii_lowercase().contains(&part.to_ascii_lowercase());
        if [&self.file, &self.section, &self.key].iter().all(|part| part.is_empty()) {
            return HIGHLIGHTS.iter().any(|(section, key)| {
                value.section.eq_ignore_ascii_case(section)
                    && (key.is_empty() || value.key.eq_ignore_ascii_case(key))
            });
        }
        has(&value.file, &self.file)
            && has(&value.section, &self.section)
            && has(&value.key, &self.key)
    }
}

fn setting(value: Value) -> SettingInfo {
    let values = value.values.iter().map(|(text, line)| ValueInfo {
        value: unreal_package::visible(text, 4_000, false).into_owned(),
        line: *line,
    });
    SettingInfo {
        values: values.collect(),
        file: shown(&value.file),
        section: shown(&value.section),
        key: shown(&value.key),
    }
}

/// The newest engine that saved a package of the project, else the version in the project file,
/// else an empty version; and how the version is known.
fn engine(offline: &Offline) -> (EngineVersion, String) {
    let newest = offline.index.entries().iter().map(|entry| entry.engine).max();
    let [major, minor, patch, changelist] = newest.unwrap_or_default();
    if major > 0 {
        let full = format!("{major}.{minor}.{patch}-{changelist}");
        let basis = "the newest engine that saved a package of the project".to_owned();
        return (EngineVersion { full, major, minor, patch, changelist }, basis);
    }
    if let Association::Version(version) = &offline.project.descriptor.association {
        let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        let mut part = || parts.next().unwrap_or(0);
        let (major, minor, patch) = (part(), part(), part());
        let basis = "the project file; no package contains an engine version".to_owned();
        let full = shown(version);
        return (EngineVersion { full, major, minor, patch, changelist: 0 }, basis);
    }
    let unknown =
        EngineVersion { full: String::new(), major: 0, minor: 0, patch: 0, changelist: 0 };
    (
        unknown,
        "unknown: neither a package nor the project file contains an engine version".to_owned(),
    )
}

fn paths(offline: &Offline) -> Paths {
    let dir = &offline.project.dir;
    let path = |name: &str| shown(&format!("{}/", dir.join(name).display()));
    Paths {
        engine_dir: String::new(),
        project_dir: shown(&format!("{}/", dir.display())),
        project_content_dir: path("Content"),
        project_log_dir: path("Saved/Logs"),
        project_saved_dir: path("Saved"),
        project_config_dir: path("Config"),
        project_plugins_dir: path("Plugins"),
        engine_content_dir: String::new(),
        engine_plugins_dir: String::new(),
    }
}

fn project(offline: &Offline) -> ProjectInfo {
    let project = &offline.project;
    let descriptor = &project.descriptor;
    let (association_kind, association) = match &descriptor.association {
        Association::Version(text) => ("version", text.as_str()),
        Association::Guid(text) => ("id", text.as_str()),
        Association::Path(text) => ("path", text.as_str()),
        Association::Absent => ("none", ""),
    };
    let plugins = |enabled: bool| {
        let plugins = descriptor.plugins.iter().filter(|plugin| plugin.enabled == enabled);
        plugins.map(|plugin| shown(&plugin.name)).collect()
    };
    let file = project.file.as_ref().map(|file| shown(&file.display().to_string()));
    ProjectInfo {
        name: shown(&project.name),
        file: file.unwrap_or_default(),
        description: shown(&descriptor.description),
        engine_association: shown(association),
        association_kind: association_kind.to_owned(),
        modules: descriptor.modules.iter().map(|module| shown(module)).collect(),
        enabled_plugins: plugins(true),
        disabled_plugins: plugins(false),
        mounts: mounts(offline),
    }
}

/// The mount points of the project.
pub fn mounts(offline: &Offline) -> Vec<MountInfo> {
    let mounts = offline.index.mounts.iter();
    mounts
        .map(|mount| MountInfo { name: shown(&mount.name), folder: shown(&mount.folder) })
        .collect()
}
