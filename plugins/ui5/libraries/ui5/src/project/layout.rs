//! Checks that a project has the directories and manifests that its type requires.

use super::{Project, in_words_of_node, read};
use serde_json::Value;
use std::{fs, path::Path};

/// Maximum number of directories searched for a library's manifest.
const MAX_DIRECTORIES: usize = 5_000;

/// Checks the layout and returns the source directory. Fails with what is missing or wrong.
pub fn check(project: &Project, configuration: &Value) -> Result<String, String> {
    match project.kind.as_str() {
        "application" => {
            let source = source(project, configuration, "webapp", "webapp")?;
            check_application(project, &source)?;
            Ok(source)
        }
        "library" | "component" => {
            let source = source(project, configuration, "src", "src")?;
            check_library(project, &source)?;
            Ok(source)
        }
        "theme-library" => source(project, configuration, "src", "src"),
        _ => {
            let paths = configuration.pointer("/resources/configuration/paths");
            for path in paths.and_then(Value::as_object).into_iter().flat_map(|all| all.values()) {
                check_directory(project, path.as_str().unwrap_or_default())?;
            }
            Ok(String::new())
        }
    }
}

/// Joins a directory and a path.
pub fn join(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

fn source(
    project: &Project,
    configuration: &Value,
    key: &str,
    default: &str,
) -> Result<String, String> {
    let paths = configuration.pointer("/resources/configuration/paths");
    let configured = paths.and_then(|paths| paths.get(key)).and_then(Value::as_str);
    let source = configured.filter(|source| !source.is_empty()).unwrap_or(default);
    check_directory(project, source)?;
    Ok(source.to_owned())
}

fn check_directory(project: &Project, source: &str) -> Result<(), String> {
    // A configuration must not lead outside the project.
    let is_inside = !Path::new(source).is_absolute() && !source.split('/').any(|part| part == "..");
    if is_inside && Path::new(&join(&project.directory, source)).is_dir() {
        return Ok(());
    }
    Err(format!(
        "Unable to find source directory '{source}' in {} project {}",
        project.kind, project.name
    ))
}

/// Checks that an application has a `manifest.json`, or else a `manifest.appdescr_variant`, with an id.
fn check_application(project: &Project, source: &str) -> Result<(), String> {
    let name = &project.name;
    let sources = join(&project.directory, source);
    let manifest = manifest(project, &join(&sources, "manifest.json"), "/manifest.json")?;
    let variant = "manifest.appdescr_variant";
    let id = match manifest {
        Some(manifest) => {
            let id = manifest.pointer("/sap.app/id").and_then(Value::as_str);
            id.map(str::to_owned).filter(|id| !id.is_empty()).ok_or_else(|| {
                format!("No sap.app/id configuration found in manifest.json of project {name}")
            })?
        }
        None => match self::manifest(project, &join(&sources, variant), &format!("/{variant}"))? {
            Some(variant_content) => {
                let id = variant_content.get("id").and_then(Value::as_str);
                return id.filter(|id| !id.is_empty()).map(|_| ()).ok_or_else(|| {
                    format!("No \"id\" property found in {variant} of project {name}")
                });
            }
            None => {
                return Err(format!(
                    "Could not find required manifest.json for project {name}: Could not find resource \
                     /manifest.json in project {name}\n\nIf you are about to start a new project, \
                     please refer to:\n\
                     https://ui5.github.io/cli/v4/pages/GettingStarted/#starting-a-new-project"
                ));
            }
        },
    };
    match placeholder(&id) {
        Some(property) => maven_property(project, property)
            .map(|_| ())
            .map_err(|why| format!("Failed to resolve namespace of project {name}: {why}")),
        None => Ok(()),
    }
}

/// Reads a JSON file of the project; `None` if it is missing.
fn manifest(project: &Project, path: &str, resource: &str) -> Result<Option<Value>, String> {
    if !Path::new(path).is_file() {
        return Ok(None);
    }
    let failed =
        |why: String| format!("Failed to read {resource} for project {}: {why}", project.name);
    let text = read(path).map_err(failed)?;
    serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string()))
}

/// The Maven property in a placeholder `${..}`.
fn placeholder(value: &str) -> Option<&str> {
    value.strip_prefix("${")?.strip_suffix('}')
}

/// The value of a property in the project's `pom.xml`.
fn maven_property(project: &Project, property: &str) -> Result<String, String> {
    let name = &project.name;
    let path = join(&project.directory, "pom.xml");
    if !Path::new(&path).is_file() {
        return Err(format!(
            "Failed to read pom.xml for project {name}: Could not find pom.xml in project {name}"
        ));
    }
    let text =
        read(&path).map_err(|why| format!("Failed to read pom.xml for project {name}: {why}"))?;
    // A property such as `project.artifactId` has the tag `artifactId`.
    let tag = property.strip_prefix("project.").unwrap_or(property);
    element(&text, tag).map(str::to_owned).ok_or_else(|| {
        format!(
            "\"${{{property}}}\" couldn't be resolved from maven property \"{property}\" of pom.xml of \
             project {name}"
        )
    })
}

/// The text of the first element with that name in an XML file.
fn element<'x>(xml: &'x str, tag: &str) -> Option<&'x str> {
    let (_, rest) = xml.split_once(&format!("<{tag}>"))?;
    let (text, _) = rest.split_once(&format!("</{tag}>"))?;
    let text = text.trim();
    (!text.is_empty() && !text.contains('<')).then_some(text)
}

/// Checks that a library has a namespace, and that the folder with its files matches the namespace.
fn check_library(project: &Project, source: &str) -> Result<(), String> {
    let name = &project.name;
    let sources = join(&project.directory, source);
    let mut found = Found::default();
    find_files(&sources, "", &mut found).map_err(|error| {
        format!(
            "Failed to detect namespace for project {name}: {}",
            in_words_of_node(&error, "scandir", &sources)
        )
    })?;
    let manifest = only(&found.manifests).and_then(|folder| {
        let text = read(&join(&join(&sources, folder), "manifest.json")).ok()?;
        let manifest: Value = serde_json::from_str(&text).ok()?;
        Some((manifest.pointer("/sap.app/id")?.as_str()?.to_owned(), folder))
    });
    let dot_library = only(&found.dot_libraries).and_then(|folder| {
        let text = read(&join(&join(&sources, folder), ".library")).ok()?;
        Some((element(&text, "name")?.to_owned(), folder))
    });
    let Some((namespace, folder)) = choose_namespace(project, manifest, dot_library)? else {
        return match only(&found.library_scripts) {
            Some(folder) if !folder.is_empty() => Ok(()),
            Some(_) | None => Err(format!(
                "Failed to detect namespace or namespace is empty for project {name}. Check verbose \
                 log for details."
            )),
        };
    };
    let namespace = match placeholder(&namespace) {
        Some(property) => maven_property(project, property).map_err(|why| {
            format!("Failed to resolve namespace maven placeholder of project {name}: {why}")
        })?,
        None => namespace,
    };
    let namespace = namespace.replace('.', "/");
    if folder.is_empty() || folder == namespace {
        return Ok(());
    }
    Err(format!(
        "Detected namespace \"{namespace}\" does not match detected directory structure \"{folder}\" \
         for project {name}"
    ))
}

/// The namespace of a library, and the folder of the file that declares it.
fn choose_namespace<'f>(
    project: &Project,
    manifest: Option<(String, &'f str)>,
    dot_library: Option<(String, &'f str)>,
) -> Result<Option<(String, &'f str)>, String> {
    let depth = |folder: &str| if folder.is_empty() { 0 } else { folder.split('/').count() };
    let (Some(manifest), Some(dot_library)) = (&manifest, &dot_library) else {
        return Ok(manifest.or(dot_library));
    };
    let paths = |word: &str| {
        let slash =
            |folder: &str| if folder.is_empty() { "/".to_owned() } else { format!("/{folder}/") };
        format!(
            "  manifest.json path: {}manifest.json\n  is {word}\n  .library path: {}.library",
            slash(manifest.1),
            slash(dot_library.1)
        )
    };
    let prefix = format!("Failed to detect namespace for project {}: ", project.name);
    match depth(manifest.1).cmp(&depth(dot_library.1)) {
        std::cmp::Ordering::Less => Err(format!(
            "{prefix}Found a manifest.json on a higher directory level than the .library file. It \
             should be on the same or a lower level. Note that a manifest.json on a lower level will be \
             ignored.\n{}",
            paths("higher than")
        )),
        std::cmp::Ordering::Equal if manifest.1 != dot_library.1 => Err(format!(
            "{prefix}Found a manifest.json on the same directory level but in a different directory than \
             the .library file. They should be in the same directory.\n{}",
            paths("different to")
        )),
        std::cmp::Ordering::Equal => Ok(Some(manifest.clone())),
        std::cmp::Ordering::Greater => Ok(Some(dot_library.clone())),
    }
}

/// Folders with a file that names a library, relative to the sources.
#[derive(Default)]
struct Found {
    manifests: Vec<String>,
    dot_libraries: Vec<String>,
    library_scripts: Vec<String>,
    directories: usize,
}

/// The folder, if it is the only one of its kind.
fn only(folders: &[String]) -> Option<&str> {
    match folders {
        [folder] => Some(folder),
        _ => None,
    }
}

fn find_files(directory: &str, folder: &str, found: &mut Found) -> std::io::Result<()> {
    found.directories += 1;
    if found.directories > MAX_DIRECTORIES {
        return Err(std::io::Error::other("there are too many directories in it"));
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type()?;
        if kind.is_dir() && name != "node_modules" {
            let inner = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            find_files(&join(directory, &name), &inner, found)?;
        } else if kind.is_file() {
            let list = match name.as_str() {
                "manifest.json" => &mut found.manifests,
                ".library" => &mut found.dot_libraries,
                "library.js" => &mut found.library_scripts,
                _ => continue,
            };
            list.push(folder.to_owned());
        }
    }
    Ok(())
}
