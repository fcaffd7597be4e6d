//! Fuzz test: reads containers, registries and archives that are damaged at random. No read may panic or take longer
//! than a second.
//!
//! `cargo run -p unreal-cooked --features writer --example mutate-cooked -- COUNT [SEED]` makes COUNT damaged files of
//! each kind, from files of many versions. The same SEED makes the same files.

use std::{
    error::Error,
    io::{self, Cursor},
    time::{Duration, Instant},
};
use unreal_cooked::{
    Pak, Registry, Toc,
    asset_registry::DependencyDirection,
    io_store::{PackageHeader, Packages, Partitions, ScriptObjects},
    writer::{Container, DraftAsset, DraftFile, DraftPak, DraftRegistry, script_objects},
};

/// Limit of time for a file.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Versions of the table of contents and of the container header.
const CONTAINERS: [(u8, u32); 8] =
    [(3, 0), (4, 0), (5, 1), (5, 2), (5, 3), (6, 3), (8, 4), (10, 5)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().ok_or("mutate-cooked COUNT [SEED]")?.parse()?;
    let seed: u64 = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (containers, registries, archives) = (containers(), registries(), archives());
    run("containers", count, &mut random, |random| {
        let (mut toc, mut data) = random.of(&containers).clone();
        random.damage(&mut toc);
        random.damage(&mut data);
        read_container(&toc, data)
    })?;
    run("registries", count, &mut random, |random| {
        let mut bytes = random.of(&registries).clone();
        random.damage(&mut bytes);
        read_registry(&bytes)
    })?;
    run("archives", count, &mut random, |random| {
        let mut bytes = random.of(&archives).clone();
        random.damage(&mut bytes);
        Pak::read(&mut Cursor::new(bytes)).is_ok()
    })?;
    Ok(())
}

/// Reads `count` damaged files of one kind. Fails if a read takes longer than the limit.
fn run(
    kind: &str,
    count: u64,
    random: &mut Random,
    mut read: impl FnMut(&mut Random) -> bool,
) -> Result<(), Box<dyn Error>> {
    let (mut accepted, mut worst) = (0_u64, Duration::ZERO);
    for number in 0..count {
        let started = Instant::now();
        accepted += u64::from(read(random));
        worst = worst.max(started.elapsed());
        if started.elapsed() > MAX_TIME {
            return Err(format!("{kind}: file {number} took {:?}", started.elapsed()).into());
        }
    }
    println!("{kind}: {count} damaged files, {accepted} still read; at most {worst:?}");
    Ok(())
}

/// The `.ucas` file, in memory.
struct Data(Vec<u8>);

impl Partitions for Data {
    fn read(&mut self, _partition: u64, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let start = usize::try_from(offset).map_err(|_| short())?;
        let end = start.checked_add(len).ok_or_else(short)?;
        self.0.get(start..end).map(<[u8]>::to_vec).ok_or_else(short)
    }
}

fn read_container(toc: &[u8], data: Vec<u8>) -> bool {
    let Ok(toc) = Toc::read(toc) else { return false };
    let scripts = script_objects(&[(5, 0, "/Script/Engine"), (77, 5, "StaticMesh")]);
    let scripts = ScriptObjects::read(&scripts).unwrap_or_default();
    let mut data = Data(data);
    for chunk in toc.chunks() {
        let Ok(bytes) = toc.start(&chunk, 1 << 20, &mut data) else { continue };
        if let Ok(packages) = Packages::read(&bytes, toc.is_ue5()) {
            for id in packages.ids() {
                packages.imports(id).into_iter().flatten().for_each(drop);
                packages.importers(id);
            }
        }
        if let Ok(header) = PackageHeader::read(&bytes, toc.is_ue5(), &scripts) {
            for (at, export) in header.exports.iter().enumerate() {
                header.path(at);
                header.class(export, &scripts, &header.imported_packages);
            }
        }
        drop(ScriptObjects::read(&bytes));
    }
    true
}

fn read_registry(bytes: &[u8]) -> bool {
    let Ok(registry) = Registry::read(bytes) else { return false };
    for asset in &registry.assets {
        registry.tags(asset);
        registry.class(asset);
        for direction in [DependencyDirection::Needs, DependencyDirection::NeededBy] {
            registry.dependencies(&registry.package(asset), direction);
        }
    }
    true
}

/// Containers of the versions in `CONTAINERS`, without and with compression: the table of contents, and the data.
fn containers() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut made = Vec::new();
    for (version, header_version) in CONTAINERS {
        for method in [None, Some("Zlib")] {
            let mut draft = Container::new();
            (draft.version, draft.header_version, draft.method) = (version, header_version, method);
            draft.package(0xA1, "/Game/SM_Door", 77, &[(0xB2, "/Game/M_Wood")]);
            draft.package(0xB2, "/Game/M_Wood", 77, &[]);
            draft.bulk(0xA1, "MyGame/Content/SM_Door.ubulk", &[8; 5000]);
            let (toc, mut data) = draft.files();
            made.push((toc, data.remove(0)));
        }
    }
    made
}

fn registries() -> Vec<Vec<u8>> {
    let asset = |package: &str, class: &str| DraftAsset {
        package: package.to_owned(),
        class: ("/Script/Engine".to_owned(), class.to_owned()),
        tags: vec![
            ("Vertices".to_owned(), "130".to_owned()),
            ("Kind".to_owned(), package.to_owned()),
        ],
        size: 70,
    };
    let draft = |version| DraftRegistry {
        version,
        assets: vec![asset("/Game/SM_Door", "StaticMesh"), asset("/Game/M_Wood", "Material")],
        needs: vec![("/Game/SM_Door".to_owned(), "/Game/M_Wood".to_owned(), true)],
    };
    (4..=24).map(|version| draft(version).bytes()).collect()
}

fn archives() -> Vec<Vec<u8>> {
    let file = |name: &str, size, method| DraftFile {
        folder: "Content/".to_owned(),
        name: name.to_owned(),
        size,
        stored: size / 2,
        method,
        flags: 0,
    };
    let draft = |version| DraftPak {
        version,
        is_4_22: false,
        mount: "../../../MyGame/".to_owned(),
        methods: vec!["Zlib".to_owned(), "Oodle".to_owned()],
        key: None,
        is_nameless: false,
        files: vec![file("BP_Door.uasset", 5000, 1), file("BP_Door.uexp", 6_000_000_000, 0)],
    };
    (3..=12).map(|version| draft(version).bytes()).collect()
}

/// The xorshift generator: deterministic for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Changes up to four places, and sometimes cuts the end off.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.below(5) {
            if bytes.len() < 8 {
                return;
            }
            let at = self.below(bytes.len() - 4);
            match self.below(8) {
                0 => bytes.truncate(at),
                1 | 2 => bytes[at] ^= 1 << self.below(8),
                3 => bytes[at] = u8::try_from(self.below(256)).unwrap_or(0),
                4 | 5 => {
                    let numbers = [0, 1, -1, i32::MAX, i32::MIN, 0x0010_0000, 255, 65_536];
                    let number: i32 = *self.of(&numbers);
                    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                }
                _ => {
                    let from = self.below(bytes.len() - 4);
                    let number: [u8; 4] = bytes[from..from + 4].try_into().expect("four bytes");
                    bytes[at..at + 4].copy_from_slice(&number);
                }
            }
        }
    }
}
