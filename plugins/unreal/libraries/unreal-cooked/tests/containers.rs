//! Tests that containers of 4.27 to 5.8 are read, that cyclic directories are errors, and that damage
//! causes no panic.

use std::io;
use unreal_cooked::{
    Fault, Toc,
    io_store::{
        ChunkKind, PackageHeader, PackageId, Packages, Partitions, ScriptObjects, package_name,
    },
    writer::{Container, script_objects},
};

/// The `.ucas` files, in memory.
struct Data(Vec<Vec<u8>>);

impl Partitions for Data {
    fn read(&mut self, partition: u64, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let file =
            usize::try_from(partition).ok().and_then(|at| self.0.get(at)).ok_or_else(short)?;
        let start = usize::try_from(offset).map_err(|_| short())?;
        let end = start.checked_add(len).ok_or_else(short)?;
        file.get(start..end).map(<[u8]>::to_vec).ok_or_else(short)
    }
}

/// Versions of the table of contents and of the container header, from 4.27 to 5.8 and beyond.
const VERSIONS: [(u8, u32); 8] = [(3, 0), (4, 0), (5, 1), (5, 2), (5, 3), (6, 3), (8, 4), (10, 5)];
const STATIC_MESH: u64 = 77;

fn container((version, header_version): (u8, u32)) -> Container {
    let mut container = Container::new();
    (container.version, container.header_version) = (version, header_version);
    container.package(0xA1, "/Game/Doors/SM_Door", STATIC_MESH, &[(0xB2, "/Game/Doors/M_Wood")]);
    container.package(0xB2, "/Game/Doors/M_Wood", STATIC_MESH, &[]);
    container.bulk(0xA1, "MyGame/Content/Doors/SM_Door.ubulk", &[8; 5000]);
    container
}

fn scripts() -> Vec<u8> {
    script_objects(&[(5, 0, "/Script/Engine"), (STATIC_MESH, 5, "StaticMesh")])
}

#[test]
fn all_versions_are_read() {
    for versions in VERSIONS {
        for (method, partition_size) in [(None, 0), (Some("Zlib"), 0), (None, 1500)] {
            let mut draft = container(versions);
            (draft.method, draft.partition_size) = (method, partition_size);
            let (toc, data) = draft.files();
            assert_eq!(data.len() > 1, partition_size > 0, "{versions:?}");
            let toc = Toc::read(&toc).expect("it is one");
            let mut data = Data(data);
            assert_eq!((toc.len(), toc.files.len()), (4, 3), "{versions:?}");
            let mut names: Vec<&str> = toc.files.iter().map(|file| file.path.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names[1], "../../../MyGame/Content/Doors/SM_Door.uasset");
            assert_eq!(package_name(names[1]).as_deref(), Some("/Game/Doors/SM_Door"));
            let header = toc.chunks().find(|c| c.kind == ChunkKind::ContainerHeader);
            let header = toc.whole(&header.expect("there is one"), 1 << 20, &mut data);
            let header = header.expect("it is plain");
            let packages = Packages::read(&header, toc.is_ue5()).expect("it is one");
            let (door, wood) = (PackageId(0xA1), PackageId(0xB2));
            assert_eq!(packages.imports(door).expect("it is there").collect::<Vec<_>>(), [wood]);
            assert_eq!(packages.importers(wood), [door]);
            assert!(packages.imports(PackageId(3)).is_none());
            objects(&toc, &mut data, versions);
            let bulk = toc.chunks().find(|c| c.kind == ChunkKind::Bulk).expect("there is one");
            assert_eq!(toc.whole(&bulk, 1 << 20, &mut data).expect("it is read"), [8; 5000]);
        }
    }
}

/// The objects of the first package.
fn objects(toc: &Toc<'_>, data: &mut Data, versions: (u8, u32)) {
    let chunk = toc.chunks().find(|c| c.kind == ChunkKind::Package).expect("there is one");
    let start = toc.start(&chunk, 64, data).expect("it is read");
    let size = PackageHeader::size(&start, toc.is_ue5()).expect("it is long enough");
    let bytes = toc.start(&chunk, size, data).expect("it is read");
    let scripts = scripts();
    let scripts = ScriptObjects::read(&scripts).expect("they are some");
    let header = PackageHeader::read(&bytes, toc.is_ue5(), &scripts).expect("it is one");
    assert_eq!(header.name, "/Game/Doors/SM_Door", "{versions:?}");
    assert_eq!([header.path(0), header.path(1)], ["SM_Door", "SM_Door:Part"], "{versions:?}");
    let imported = ["/Game/Doors/M_Wood".to_owned()];
    if versions.1 >= 3 {
        assert_eq!(header.imported_packages, imported, "{versions:?}");
    }
    let class = |at: usize| header.class(&header.exports[at], &scripts, &imported);
    assert_eq!(class(0).as_deref(), Some("/Script/Engine.StaticMesh"));
    if toc.is_ue5() {
        assert_eq!(class(1).as_deref(), Some("a class of /Game/Doors/M_Wood"));
    }
}

#[test]
fn faults_name_the_missing_key_or_decompressor() {
    for versions in VERSIONS {
        let mut draft = container(versions);
        draft.encrypted = true;
        let (toc, data) = draft.files();
        let toc = Toc::read(&toc).expect("its ids can be read");
        assert_eq!((toc.len(), toc.files.len()), (4, 0));
        let chunk = toc.chunk(0).expect("there is one");
        let fault = toc.start(&chunk, 64, &mut Data(data)).expect_err("there is no key");
        assert!(matches!(fault, Fault::Encrypted { .. }), "{fault}");
        assert!(fault.to_string().contains("GUID of the key: 0000"), "{fault}");
    }
    let mut draft = container((8, 5));
    draft.method = Some("Oodle");
    let (toc, data) = draft.files();
    let toc = Toc::read(&toc).expect("it is one");
    let fault = toc.start(&toc.chunk(0).expect("there is one"), 64, &mut Data(data));
    let fault = fault.expect_err("there is no decompressor");
    assert!(fault.to_string().contains("Oodle"), "{fault}");
}

#[test]
fn other_files_and_newer_versions_are_refused() {
    let (mut toc, _) = container((8, 5)).files();
    assert!(matches!(Toc::read(b"no container"), Err(Fault::Unknown(_))));
    toc[16] = 11;
    assert!(matches!(Toc::read(&toc), Err(Fault::TooNew { version: 11, .. })));
    // The engine calls the version 0 invalid (`EIoStoreTocVersion::Invalid`).
    toc[16] = 0;
    assert!(matches!(Toc::read(&toc), Err(Fault::Damaged { what: "version", at: 16 })));
    let (toc, data) = container((8, 5)).files();
    let toc = Toc::read(&toc).expect("it is one");
    let header = toc.chunks().find(|c| c.kind == ChunkKind::ContainerHeader).expect("one");
    let mut header = toc.whole(&header, 1 << 20, &mut Data(data)).expect("it is plain");
    header[4] = 6;
    assert!(matches!(Packages::read(&header, true), Err(Fault::TooNew { version: 6, .. })));
    let bulk = toc.chunks().find(|c| c.kind == ChunkKind::Bulk).expect("there is one");
    let fault = toc.whole(&bulk, 4999, &mut Data(Vec::new()));
    assert!(matches!(fault, Err(Fault::TooLarge { bytes: 5000, most: 4999, .. })));
}

#[test]
fn a_cyclic_directory_is_an_error() {
    let (toc, _) = container((8, 5)).files();
    // The folders begin after the mount point; the first folder is the root.
    let mount = toc.windows(9).position(|part| part == b"../../../").expect("it is there");
    let root = mount + 10 + 4;
    for field in [4, 8] {
        let mut toc = toc.clone();
        toc[root + field..root + field + 4].copy_from_slice(&0_u32.to_le_bytes());
        assert!(matches!(Toc::read(&toc), Err(Fault::Damaged { .. })), "field {field}");
    }
}

#[test]
fn damaged_containers_do_not_panic() {
    let mut random = Random(0x5EED);
    for versions in VERSIONS {
        for method in [None, Some("Zlib")] {
            let mut draft = container(versions);
            draft.method = method;
            let (toc, data) = draft.files();
            for _ in 0..400 {
                let (mut toc, mut data) = (toc.clone(), data.clone());
                random.damage(&mut toc);
                random.damage(&mut data[0]);
                everything(&toc, data);
            }
        }
    }
}

/// Calls every reader, and ignores faults.
fn everything(toc: &[u8], data: Vec<Vec<u8>>) {
    let Ok(toc) = Toc::read(toc) else { return };
    let (mut data, scripts) = (Data(data), ScriptObjects::default());
    for chunk in toc.chunks() {
        let Ok(bytes) = toc.start(&chunk, 1 << 20, &mut data) else { continue };
        if let Ok(packages) = Packages::read(&bytes, toc.is_ue5()) {
            for id in packages.ids() {
                packages.imports(id).into_iter().flatten().for_each(drop);
            }
        }
        if let Ok(header) = PackageHeader::read(&bytes, toc.is_ue5(), &scripts) {
            for (at, export) in header.exports.iter().enumerate() {
                header.path(at);
                header.class(export, &scripts, &header.imported_packages);
            }
        }
        let _ = ScriptObjects::read(&bytes).map(|scripts| scripts.path(1 << 62 | 5));
    }
}

/// Numbers that are the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap_or(0)
    }

    /// Changes up to three bytes, and sometimes cuts the end off.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        if self.next(8) == 0 {
            bytes.truncate(self.next(bytes.len()));
        }
        for _ in 0..self.next(4) {
            let at = self.next(bytes.len());
            let value = [0, 1, 0x7F, 0x80, 0xFF, self.next(256) as u8][self.next(6)];
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
    }
}
