//! Benchmarks the index on a generated project: `measure [PACKAGES] [FOLDER]`.
//!
//! With FOLDER, the project is written to that folder and kept, so that it can also be measured in
//! the sandbox.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use unreal_package::{
    Guid, Index as ObjectIndex,
    writer::{DraftPackage, DraftPin, DraftValue, Profile, blueprint},
};
use unreal_project::{
    AssetQuery, BlueprintQuery, ContentQuery, Contents, CppClasses, Index, Project, Relations,
    TrustPolicy, find, refresh,
};

/// Number of packages in one folder.
const PACKAGES_PER_FOLDER: usize = 20;
/// The event graph in the packages that `blueprint` writes.
const EVENT_GRAPH: ObjectIndex = ObjectIndex(3);
/// Number of nodes added to each Blueprint.
const NODES_PER_BLUEPRINT: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(10_000), |count| count.parse())?;
    let temporary = tempfile::tempdir()?;
    let folder = arguments.next().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    write_project(&folder, count)?;
    measure(&folder)
}

/// Writes `count` packages. Each package depends on twelve others. In each folder, all packages but
/// the first derive from the first.
fn write_project(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder.join("Content"))?;
    fs::write(folder.join("Measured.uproject"), "{}")?;
    let versions = ["4.27", "5.1", "5.4", "5.6"].map(Profile::of);
    let path = |number: usize| format!("Area{}/BP_Thing{number:06}", number / PACKAGES_PER_FOLDER);
    for number in 0..count {
        let file = folder.join("Content").join(path(number)).with_extension("uasset");
        if number % PACKAGES_PER_FOLDER == 0 {
            fs::create_dir_all(file.parent().ok_or("a file is in a folder")?)?;
        }
        let first = number / PACKAGES_PER_FOLDER * PACKAGES_PER_FOLDER;
        let parent = match number == first {
            true => "/Script/Engine.Actor".to_owned(),
            false => format!("/Game/{}.BP_Thing{first:06}_C", path(first)),
        };
        let package = format!("/Game/{}", path(number));
        let mut draft = blueprint(versions[number % versions.len()], &package, &parent);
        for step in 1..=12 {
            let other = (number + step * 37) % count;
            let path = format!("/Game/{}.BP_Thing{other:06}", path(other));
            draft.import("/Script/Engine.Blueprint", &path);
        }
        add_nodes(&mut draft, number);
        fs::write(file, draft.bytes())?;
    }
    Ok(())
}

/// Adds nodes, so that the file of a Blueprint has about 15 KB, like the file of a small real
/// Blueprint.
fn add_nodes(draft: &mut DraftPackage, number: usize) {
    let graph = EVENT_GRAPH;
    let member = |name: String| {
        let name = vec![("MemberName".to_owned(), DraftValue::Name(name))];
        DraftValue::Struct("MemberReference".to_owned(), name)
    };
    for step in 0..NODES_PER_BLUEPRINT {
        let seed = number * 7 + step;
        let (class, property, subject) = match step % 3 {
            0 => ("K2Node_CallFunction", "FunctionReference", format!("DoThing{}", seed % 500)),
            1 => ("K2Node_VariableSet", "VariableReference", format!("Value{}", seed % 300)),
            _ => ("K2Node_VariableGet", "VariableReference", format!("Value{}", seed % 300)),
        };
        let path = format!("/Script/BlueprintGraph.{class}");
        let node = draft.export(&path, graph, &format!("{class}_{}", step + 10));
        draft.set(node, property, member(subject));
        let part = |number: usize| u32::try_from(number).unwrap_or(0);
        let guid = Guid([part(number), part(step), 3, 4]);
        draft.set(node, "NodeGuid", DraftValue::Guid(guid));
        let id = Guid([5, 6, part(number), part(step)]);
        let default = format!("Text {seed}");
        draft.pins(
            node,
            &[DraftPin {
                id,
                name: "Value".to_owned(),
                kind: "string".to_owned(),
                default,
                ..DraftPin::default()
            }],
        );
    }
}

fn measure(folder: &Path) -> Result<(), Box<dyn Error>> {
    let project = find(folder)?;
    let cold = time("no index yet, files in the system's cache", || {
        refresh(&project, None, 0, TrustPolicy::default(), |_, _| true)
    });
    let bytes = time("to bytes", || cold.index.to_bytes());
    let load = || Index::from_bytes(&bytes).expect("`to_bytes` made these bytes");
    println!("{} packages, {} bytes", cold.index.entries().len(), bytes.len());
    time("from bytes", load);
    let walked = cold.index.walked;
    let one_hour = Duration::from_secs(3600);
    for (name, trusted, folders) in [
        ("trusted", one_hour, one_hour),
        ("folders looked at", Duration::ZERO, one_hour),
        ("every file looked at", Duration::ZERO, Duration::ZERO),
    ] {
        let policy = TrustPolicy { trusted, folders };
        let fresh = time(&format!("load and refresh, {name}"), || {
            refresh(&project, Some(load()), walked, policy, |_, _| true)
        });
        assert_eq!(fresh.read, 0, "nothing has changed");
    }
    let index = load();
    let query = AssetQuery { names: vec!["*Thing0001*".to_owned()], ..AssetQuery::default() };
    time("search by name", || index.search_assets(&query).len());
    let inherits = BlueprintQuery::Inherits("Actor".to_owned());
    time("search by ancestor", || {
        index.search_blueprints(&inherits, &CppClasses::default(), "", true).0.len()
    });
    let relations = time("relations", || Relations::of(&index));
    time("unused", || relations.unused(&project, "").packages.len());
    measure_contents(&project, &index);
    Ok(())
}

/// Measures the search inside Blueprints: the contents are collected once, then only loaded.
fn measure_contents(project: &Project, index: &Index) {
    let collect = |old| Contents::update(old, index, project, |_, _| true);
    let cold = time("inside: collect", || collect(None));
    let bytes = time("inside: to bytes", || cold.contents.to_bytes());
    println!("inside: {} bytes", bytes.len());
    let load = || Contents::from_bytes(&bytes).expect("`to_bytes` made these bytes");
    time("inside: from bytes", load);
    let contents = collect(Some(load())).contents;
    for term in ["DoThing123", "e", "nothing has this"] {
        let query = ContentQuery { term: term.to_owned(), most: 15, ..ContentQuery::default() };
        let total =
            time(&format!("inside: search {term}"), || contents.search(index, &query).total);
        println!("inside: {total} hits");
    }
    let query = ContentQuery { term: "DoThing123".to_owned(), most: 15, ..Default::default() };
    time("inside: load, look at what changed, and search", || {
        collect(Some(load())).contents.search(index, &query).total
    });
}

/// Prints the shortest time of three runs, and returns the result of the last.
fn time<T>(what: &str, run: impl Fn() -> T) -> T {
    let mut best = Duration::MAX;
    let mut last = None;
    for _ in 0..3 {
        let started = Instant::now();
        last = Some(run());
        best = best.min(started.elapsed());
    }
    println!("{what}: {:.2} ms", best.as_secs_f64() * 1000.0);
    last.expect("it has run")
}
