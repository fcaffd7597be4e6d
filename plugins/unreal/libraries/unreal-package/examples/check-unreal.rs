//! Compares the headers of packages in a folder with a file of expected facts about these packages, and
//! counts the decoded objects.
//!
//! `check-unreal DIR [FACTS]`; FACTS defaults to `DIR/facts.json`.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::Path,
    process::ExitCode,
    time::Instant,
};
use unreal_package::{DependencyKind, Fault, Header, Index, Package};

/// Counts for one version of the engine.
#[derive(Default)]
struct Count {
    files: usize,
    objects: usize,
    properties: usize,
    undecoded: usize,
    nodes: usize,
    pins: usize,
    warnings: usize,
    second_reads: usize,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("say which folder: check-unreal DIR [FACTS]")?;
    let folder = Path::new(&folder);
    let facts = arguments.next().map_or_else(|| folder.join("facts.json"), Into::into);
    let facts: Vec<Value> = serde_json::from_slice(&fs::read(facts)?)?;
    let (mut faults_found, mut counts, mut micros) =
        (0, BTreeMap::<String, Count>::new(), Vec::new());
    for fact in &facts {
        let path = fact["path"].as_str().ok_or("a fact without a path")?;
        let bytes = fs::read(folder.join(path))?;
        let started = Instant::now();
        let (header, reads) = read_header(&bytes)?;
        micros.push(started.elapsed().as_micros());
        for fault in disagreements(fact, &header, bytes.len()) {
            println!("{path}: {fault}");
            faults_found += 1;
        }
        let engine =
            format!("{:7} {}", header.summary.versions.engine(), { header.summary.engine.minor });
        let count = counts.entry(engine).or_default();
        count.second_reads += usize::from(reads > 1);
        count_objects(path, &bytes, count)?;
    }
    for (engine, count) in &counts {
        let Count { files, objects, properties, undecoded, nodes, pins, warnings, second_reads } =
            count;
        println!(
            "{engine}: {files} files, {objects} objects, {properties} properties, {undecoded} \
             undecoded, {nodes} nodes, {pins} pins, {warnings} warnings, {second_reads} read twice"
        );
    }
    micros.sort_unstable();
    println!(
        "{} files agree in all but {faults_found} things; a header takes {} µs (median), {} µs at most",
        facts.len(),
        micros.get(micros.len() / 2).copied().unwrap_or_default(),
        micros.last().copied().unwrap_or_default()
    );
    Ok(if faults_found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads the header from the first 16 KiB of a file, or from more bytes if the reader asks for
/// them.
fn read_header(bytes: &[u8]) -> Result<(Header<'_>, usize), Fault> {
    let mut read_len = bytes.len().min(16 * 1024);
    for reads in 1.. {
        match Header::read(&bytes[..read_len], bytes.len() as u64) {
            Ok(header) => return Ok((header, reads)),
            Err(Fault::NeedMore { bytes: more }) => {
                let more = usize::try_from(more).unwrap_or(usize::MAX);
                assert!(more > read_len && more <= bytes.len(), "{more} bytes make no sense");
                read_len = more;
            }
            Err(fault) => return Err(fault),
        }
    }
    unreachable!("each round reads more bytes, and at most the whole file")
}

fn disagreements(fact: &Value, header: &Header<'_>, size: usize) -> Vec<String> {
    let summary = &header.summary;
    let versions = summary.versions;
    let engine = &summary.engine;
    let changelist = u64::from(engine.changelist) | u64::from(engine.licensee) << 31;
    let assets: Vec<_> =
        header.assets.iter().map(|asset| json!([asset.class, asset.path])).collect();
    let parents: BTreeSet<&str> =
        header.assets.iter().filter_map(|asset| asset.tag("ParentClass")).collect();
    let hard: BTreeSet<&str> = header
        .dependencies
        .iter()
        .filter(|dependency| dependency.strength == DependencyKind::Hard)
        .map(|dependency| dependency.package.as_ref())
        .collect();
    let found = json!({
        "size": size,
        "legacy": versions.legacy,
        "ue4": versions.ue4,
        "ue5": versions.ue5,
        "flags": format!("{:08x}", summary.flags),
        "engine": format!(
            "{}.{}.{}-{changelist}+{}",
            engine.major, engine.minor, engine.patch, engine.branch
        ),
        "names": header.names.len(),
        "imports": header.imports.len(),
        "exports": header.exports.len(),
        "assets": assets,
        "parent": parents,
        "hard": hard,
    });
    let mut faults: Vec<String> = header.warnings.iter().map(ToString::to_string).collect();
    let keys = found.as_object().into_iter().flatten();
    faults.extend(
        keys.filter(|(key, value)| fact[key.as_str()] != **value)
            .map(|(key, value)| format!("{key} is {value}, and not {}", fact[key.as_str()])),
    );
    faults
}

fn count_objects(path: &str, bytes: &[u8], count: &mut Count) -> Result<(), Fault> {
    let package = Package::read(bytes)?;
    count.files += 1;
    for position in 0..package.header.exports.len() {
        let index = Index::of_export(position);
        let object = package.object(index);
        count.objects += 1;
        count.properties += object.properties.len();
        count.undecoded += object.undecoded;
        count.nodes += usize::from(package.header.is_node(index));
        count.pins += object.pins.len();
        count.warnings += object.warnings.len();
        for warning in &object.warnings {
            println!("{path}: {}: {warning}", package.header.path_within(index));
        }
    }
    // These readers must terminate, whatever the file contains.
    package.graphs(path);
    package.markdown(path, 1 << 20);
    package.thumbnails();
    package.t3d(Index(1), path, 1 << 20);
    let changes = unreal_package::difference(&package, &package, path).changes;
    if !changes.is_empty() {
        println!("{path}: it differs from itself: {changes:?}");
    }
    Ok(())
}
