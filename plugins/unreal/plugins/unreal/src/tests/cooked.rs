//! Tests of the tool `inspect_cooked`.

use super::*;
use crate::cooked::InspectCooked;
use unreal_cooked::writer::{
    Container, DraftAsset, DraftFile, DraftPak, DraftRegistry, script_objects,
};
use unreal_package::flags;

const STATIC_MESH: u64 = 77;

/// Writes a container below `Saved`, and returns the path of its `.utoc`.
fn put(game: &Game, name: &str, container: &Container) -> String {
    let (toc, data) = container.files();
    game.put(&format!("Saved/{name}.utoc"), toc);
    for (number, data) in data.into_iter().enumerate() {
        let part = if number == 0 { String::new() } else { format!("_s{number}") };
        game.put(&format!("Saved/{name}{part}.ucas"), data);
    }
    game.path().join(format!("Saved/{name}.utoc")).display().to_string()
}

fn container() -> Container {
    let mut container = Container::new();
    container.package(0xA1, "/Game/Doors/SM_Door", STATIC_MESH, &[(0xB2, "/Game/Doors/M_Wood")]);
    container.package(0xB2, "/Game/Doors/M_Wood", STATIC_MESH, &[]);
    container.bulk(0xA1, "MyGame/Content/Doors/SM_Door.ubulk", &[8; 5000]);
    container
}

fn inspect(arguments: Value) -> Value {
    let reply = Rehearsal::new().call::<InspectCooked>(arguments).expect("it answers");
    valid::<InspectCooked>(reply)
}

fn refused(arguments: Value) -> String {
    let reply = Rehearsal::new().call::<InspectCooked>(arguments);
    reply.expect_err("it fails").to_string()
}

#[test]
fn a_container_lists_its_files_and_shows_a_package() {
    let game = Game::empty();
    let mut draft = container();
    (draft.method, draft.partition_size) = (Some("Zlib"), 1500);
    let file = put(&game, "MyGame", &draft);
    let mut global = Container::new();
    global.scripts(&script_objects(&[(5, 0, "/Script/Engine"), (STATIC_MESH, 5, "StaticMesh")]));
    put(&game, "global", &global);
    let listed = inspect(json!({ "file": file }));
    assert_eq!(listed["counts"], json!({"bulk data": 1, "container header": 1, "package": 2}));
    assert_eq!((&listed["kind"], &listed["compression"]), (&json!("container"), &json!(["Zlib"])));
    let filtered = inspect(json!({ "file": file, "query": "m_wood" }));
    assert_eq!(texts(&filtered["items"], "path"), ["/Game/Doors/M_Wood"]);
    let one = inspect(json!({ "file": file, "package": "/game/doors/SM_Door" }));
    assert_eq!(one["package"]["dependsOn"], json!(["/Game/Doors/M_Wood"]), "{one}");
    assert_eq!(texts(&one["items"], "path"), ["SM_Door", "SM_Door:Part"]);
    assert_eq!(
        texts(&one["items"], "class"),
        ["/Script/Engine.StaticMesh", "a class of /Game/Doors/M_Wood"]
    );
    let by_id = inspect(json!({ "file": file, "package": "00000000000000b2" }));
    assert_eq!(by_id["package"]["neededBy"], json!(["/Game/Doors/SM_Door"]), "{by_id}");
    assert_eq!(one["warnings"], json!([]), "{one}");
    // The .ucas may be named as well.
    let data = file.replace(".utoc", ".ucas");
    assert_eq!(inspect(json!({ "file": data }))["totalCount"], json!(4));
}

#[test]
fn answers_name_what_is_missing() {
    let game = Game::empty();
    let mut draft = container();
    draft.encrypted = true;
    let file = put(&game, "Sealed", &draft);
    let listed = inspect(json!({ "file": file }));
    assert_eq!((&listed["encrypted"], &listed["totalCount"]), (&json!(true), &json!(4)));
    assert!(listed["warnings"][0].as_str().is_some_and(|text| text.contains("GUID of the key")));
    let mut draft = container();
    draft.method = Some("Oodle");
    let file = put(&game, "Packed", &draft);
    let one = inspect(json!({ "file": file, "package": "/Game/Doors/SM_Door" }));
    // The list of packages is never compressed.
    assert_eq!(one["package"]["dependsOn"], json!(["/Game/Doors/M_Wood"]), "{one}");
    assert!(one["warnings"].to_string().contains("the objects cannot be read"), "{one}");
    let file = put(&game, "Alone", &container());
    let one = inspect(json!({ "file": file, "package": "/Game/Doors/SM_Door" }));
    assert!(one["warnings"].to_string().contains("global.utoc"), "{one}");
    assert_eq!(one["items"][0].get("class"), None, "{one}");
    let fault = refused(json!({ "file": file, "package": "/Game/No" }));
    assert!(fault.contains("has no package /Game/No"), "{fault}");
    for (file, said) in [
        ("Saved/X.pak", "does not have the magic number of an archive"),
        ("Saved/X.txt", "an extension of cooked"),
    ] {
        game.put(file, "text");
        let path = game.path().join(file);
        let fault = refused(json!({ "file": path }));
        assert!(fault.contains(said), "{fault}");
    }
    game.put("Saved/X.utoc", "no container");
    let path = game.path().join("Saved/X.utoc");
    let fault = refused(json!({ "file": path }));
    assert!(
        fault.contains("X.utoc") && fault.contains("does not have the magic number of"),
        "{fault}"
    );
}

fn archive() -> DraftPak {
    let file = |folder: &str, name: &str, size, stored, method, flags| DraftFile {
        folder: folder.to_owned(),
        name: name.to_owned(),
        size,
        stored,
        method,
        flags,
    };
    DraftPak {
        version: 11,
        is_4_22: false,
        mount: "../../../MyGame/".to_owned(),
        methods: vec!["Oodle".to_owned()],
        key: None,
        is_nameless: false,
        files: vec![
            file("Content/Doors/", "SM_Door.uasset", 900, 900, 0, 0),
            file("Content/Doors/", "SM_Door.uexp", 5000, 2000, 1, 1),
            file("Config/", "DefaultGame.ini", 70, 70, 0, 2),
        ],
    }
}

#[test]
fn an_archive_lists_its_files_and_names_encrypted_parts() {
    let game = Game::empty();
    let put = |name: &str, draft: &DraftPak| {
        game.put(&format!("Saved/{name}.pak"), draft.bytes());
        game.path().join(format!("Saved/{name}.pak")).display().to_string()
    };
    let file = put("MyGame", &archive());
    let listed = inspect(json!({ "file": file }));
    assert_eq!((&listed["kind"], &listed["formatVersion"]), (&json!("archive"), &json!(11)));
    assert_eq!((&listed["compression"], &listed["encrypted"]), (&json!(["Oodle"]), &json!(true)));
    assert_eq!(
        listed["items"],
        json!([
            { "path": "../../../MyGame/Config/DefaultGame.ini", "class": "deleted", "size": 70 },
            {
                "path": "../../../MyGame/Content/Doors/SM_Door.uexp", "class": "objects of a package",
                "size": 5000, "stored": 2000, "compression": "Oodle",
            },
            { "path": "/Game/Doors/SM_Door", "class": "package", "size": 900 },
        ])
    );
    for said in ["the data of 1 files are encrypted", "1 files of other archives are deleted"] {
        assert!(listed["warnings"].to_string().contains(said), "{listed}");
    }
    let one = inspect(json!({ "file": file, "package": "/game/doors/SM_Door" }));
    assert_eq!(
        (&one["totalCount"], &one["package"]["name"]),
        (&json!(2), &json!("/Game/Doors/SM_Door"))
    );
    assert!(
        one["warnings"].to_string().contains("does not list the dependencies of a package"),
        "{one}"
    );
    assert!(refused(json!({ "file": file, "package": "/Game/No" })).contains("has no package"));
    let file = put("Sealed", &DraftPak { key: Some([1; 16]), ..archive() });
    let sealed = inspect(json!({ "file": file }));
    assert_eq!((&sealed["totalCount"], &sealed["encrypted"]), (&json!(0), &json!(true)));
    assert!(
        sealed["warnings"][0].as_str().is_some_and(|text| text.contains("GUID of the key")),
        "{sealed}"
    );
    let file = put("Nameless", &DraftPak { is_nameless: true, ..archive() });
    let nameless = inspect(json!({ "file": file }));
    assert!(nameless["warnings"].to_string().contains("names of its 3 files"), "{nameless}");
}

#[test]
fn a_registry_and_a_cooked_package_are_read() {
    let game = Game::empty();
    let asset = DraftAsset {
        package: "/Game/Doors/SM_Door".to_owned(),
        class: ("/Script/Engine".to_owned(), "StaticMesh".to_owned()),
        tags: vec![("Vertices".to_owned(), "130".to_owned())],
        size: 5000,
    };
    let needs = vec![("/Game/Doors/SM_Door".to_owned(), "/Game/Doors/T_Wood".to_owned(), false)];
    let registry = DraftRegistry { version: 17, assets: vec![asset], needs };
    game.put("Saved/AssetRegistry.bin", registry.bytes());
    let file = game.path().join("Saved/AssetRegistry.bin");
    let listed = inspect(json!({ "file": file }));
    let item = json!({
        "path": "/Game/Doors/SM_Door.SM_Door", "class": "/Script/Engine.StaticMesh", "size": 5000,
    });
    assert_eq!(listed["items"], json!([item]), "{listed}");
    let one = inspect(json!({ "file": file, "package": "/Game/Doors/SM_Door" }));
    assert_eq!(one["package"]["dependsOn"], json!(["/Game/Doors/T_Wood (soft)"]), "{one}");
    assert_eq!(one["package"]["tags"], json!({"Vertices": "130"}));

    let mut draft =
        unreal_package::writer::DraftPackage::new(Profile::of("5.6"), "/Game/Doors/T_Door");
    draft.flags(flags::COOKED | flags::FILTER_EDITOR_ONLY | flags::UNVERSIONED_PROPERTIES);
    draft.export("/Script/Engine.Texture2D", unreal_package::Index(0), "T_Door");
    game.put("Saved/T_Door.uasset", draft.bytes());
    let file = game.path().join("Saved/T_Door.uasset");
    let found = inspect(json!({ "file": file }));
    assert_eq!((&found["engine"], &found["kind"]), (&json!("5.6"), &json!("package")));
    assert_eq!(found["items"][0]["class"], json!("/Script/Engine.Texture2D"), "{found}");
    for said in ["mappings (.usmap)", ".uexp"] {
        assert!(found["warnings"].to_string().contains(said), "{found}");
    }
}
