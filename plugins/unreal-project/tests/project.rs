//! A project that is made for the test: found, indexed, searched, and followed as it changes.

use std::{fs, path::PathBuf, time::Duration};
use unreal_package::{
    Index as Object, Strength,
    writer::{Draft, Profile, Worth, blueprint},
};
use unreal_project::{
    AssetQuery, BlueprintQuery, Checked, Config, Fresh, Index, Lost, Matched, OpenFault, Policy,
    Project, Relations, State, find, find_among, refresh,
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("unreal-project-{}-{name}", std::process::id()));
        let _gone = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the temporary folder can be written to");
        Self(path)
    }

    fn put(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, bytes).expect("it can be written");
    }

    fn uproject(&self) {
        self.put(
            "MyGame.uproject",
            r#"{"EngineAssociation": "5.6", "Modules": [{"Name": "MyGame"}]}"#,
        );
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

fn bp(package: &str, parent: &str) -> Vec<u8> {
    blueprint(Profile::of("5.6"), package, parent).bytes()
}

/// A redirector from one package to an asset in another.
fn redirector(package: &str, to: &str) -> Vec<u8> {
    let mut draft = Draft::new(Profile::of("5.6"), package);
    let name = package.rsplit('/').next().expect("it has a name").to_owned();
    let target = draft.import("/Script/Engine.Blueprint", to);
    let object = draft.export("/Script/CoreUObject.ObjectRedirector", Object(0), &name);
    draft.set(object, "DestinationObject", Worth::Object(target));
    draft.asset(&name, "/Script/CoreUObject.ObjectRedirector", &[]);
    draft.bytes()
}

/// A game with a door that a map needs, a plugin, and much that is not as it should be.
fn game(name: &str) -> (Folder, Project) {
    let folder = Folder::new(name);
    folder.uproject();
    folder
        .put("Content/Doors/BP_Base.uasset", bp("/Game/Doors/BP_Base", "/Script/Engine.Character"));
    folder.put(
        "Content/Doors/BP_Door.uasset",
        bp("/Game/Doors/BP_Door", "/Game/Doors/BP_Base.BP_Base_C"),
    );
    folder.put(
        "Content/Doors/BP_Old.uasset",
        redirector("/Game/Doors/BP_Old", "/Game/Doors/BP_Door.BP_Door"),
    );
    let mut lonely = blueprint(Profile::of("4.27"), "/Game/BP_Lonely", "/Script/Engine.Actor");
    lonely.import("/Script/Engine.StaticMesh", "/Game/Meshes/SM_Gone.SM_Gone");
    lonely.import("/Script/Engine.StaticMesh", "/Engine/Basic/Cube.Cube");
    lonely.soft("/Tools/BP_Tool");
    folder.put("Content/BP_Lonely.uasset", lonely.bytes());
    folder.put("Content/BP_Named.uasset", bp("/Game/BP_Named", "/Script/MyGame.MyThing"));
    folder.put("Plugins/Group/Tools/Tools.uplugin", "{}");
    folder.put(
        "Plugins/Group/Tools/Content/BP_Tool.uasset",
        bp("/Tools/BP_Tool", "/Script/UMG.UserWidget"),
    );
    folder.put("Content/Maps/Town.umap", town().bytes());
    folder.put("Content/__ExternalActors__/Maps/Town/0/AB/CDEF.uasset", external().bytes());
    folder.put("Content/Lfs.uasset", "version https://git-lfs.github.com/spec/v1\nsize 12\n");
    folder.put("Content/Zip.uasset", "PK\x03\x04 zip");
    folder.put("Config/DefaultEngine.ini", "[/Script/EngineSettings.GameMapsSettings]\nGameDefaultMap=/Game/Maps/Town.Town\nNamed=/Game/BP_Named.BP_Named_C\n");
    let project = find(&folder.0).expect("there is one");
    (folder, project)
}

fn town() -> Draft {
    let mut draft = Draft::new(Profile::of("5.6"), "/Game/Maps/Town");
    let world = draft.export("/Script/Engine.World", Object(0), "Town");
    let level = draft.export("/Script/Engine.Level", world, "PersistentLevel");
    let door_class = draft.import("BlueprintGeneratedClass", "/Game/Doors/BP_Old.BP_Old_C");
    let door = draft.export_of(door_class, level, "BP_Door_7");
    let root = draft.export("/Script/Engine.SceneComponent", door, "Root");
    draft.set(door, "RootComponent", Worth::Object(root));
    draft.set(door, "ActorLabel", Worth::String("Front door".to_owned()));
    draft.set(door, "Tags", Worth::List(vec![Worth::Name("Exit".to_owned())]));
    draft.set(root, "RelativeLocation", Worth::Vector([100.0, -20.0, 3.5]));
    let mut list = 1_i32.to_le_bytes().to_vec();
    list.extend(door.0.to_le_bytes());
    draft.native(level, &list);
    draft.asset("Town", "/Script/Engine.World", &[]);
    draft
}

fn external() -> Draft {
    let mut draft = Draft::new(Profile::of("5.6"), "/Game/__ExternalActors__/Maps/Town/0/AB/CDEF");
    let level = draft.import("/Script/Engine.Level", "/Game/Maps/Town.PersistentLevel");
    let actor = draft.export("/Script/Engine.PointLight", level, "PointLight_3");
    draft.set(actor, "ActorLabel", Worth::String("Lamp".to_owned()));
    let path = "/Game/Maps/Town.Town:PersistentLevel.PointLight_3";
    draft.asset(path, "/Script/Engine.PointLight", &[("ActorLabel", "Lamp")]);
    draft
}

fn fresh(project: &Project, old: Option<Index>, checked: u64, policy: Policy) -> Fresh {
    refresh(project, old, checked, policy, |_, _| true)
}

fn index(project: &Project) -> Index {
    fresh(project, None, 0, Policy::default()).index
}

fn packages(index: &Index, query: &AssetQuery) -> Vec<String> {
    let hits = index.search_assets(query);
    hits.iter().map(|hit| index.object_path(hit.entry, hit.asset)).collect()
}

#[test]
fn projects_are_found_in_around_and_below() {
    let (folder, project) = game("found");
    assert_eq!((project.name.as_str(), &project.dir), ("MyGame", &folder.0));
    for path in ["Content/Doors", "MyGame.uproject", "Config/DefaultEngine.ini"] {
        assert_eq!(find(&folder.0.join(path)).expect(path).dir, folder.0);
    }
    let above = Folder::new("above");
    above.put("a/b/One.uproject", "{}");
    assert_eq!(find(&above.0).expect("it is below").name, "One");
    above.put("c/Two.uproject", "\u{FEFF}{}");
    let Err(Lost::Several { found }) = find(&above.0) else { panic!("there are two") };
    assert_eq!(found, [above.0.join("a/b/One.uproject"), above.0.join("c/Two.uproject")]);
    assert_eq!(find(&above.0.join("c")).expect("it is there").name, "Two");
    let roots = [above.0.join("c"), folder.0.clone()];
    let lost = find_among(&roots).expect_err("there are two").to_string();
    assert!(lost.contains("Two.uproject") && lost.contains("MyGame.uproject"), "{lost}");
    assert_eq!(find_among(&roots[1..]).expect("there is one").name, "MyGame");
    let nothing = Folder::new("nothing");
    assert!(matches!(find(&nothing.0), Err(Lost::Nowhere { .. })));
    assert!(find_among(&[]).expect_err("no roots").to_string().contains("projectDir"));
    nothing.put("Content/A.uasset", "");
    let bare = find(&nothing.0).expect("it has content");
    assert_eq!(bare.warnings.len(), 1);
}

#[test]
fn plugins_have_mounts_of_their_own() {
    let (_folder, project) = game("mounts");
    let index = index(&project);
    let mounts: Vec<_> =
        index.mounts.iter().map(|mount| (mount.name.as_str(), mount.folder.as_str())).collect();
    assert_eq!(mounts, [("/Game", "Content"), ("/Tools", "Plugins/Group/Tools/Content")]);
    assert!(index.find("/tools/bp_TOOL").is_some() && index.find("/Tools/BP").is_none());
    assert!(index.has_mount_of("/Tools/X") && !index.has_mount_of("/ToolsX/X"));
}

#[test]
fn assets_by_place_name_and_class() {
    let (_folder, project) = game("assets");
    let index = index(&project);
    let paths = |paths: &[&str], recursive| AssetQuery {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        recursive,
        ..AssetQuery::default()
    };
    let doors = packages(&index, &paths(&["/Game/Doors"], false));
    assert_eq!(doors.len(), 5, "{doors:?}");
    assert_eq!(packages(&index, &paths(&["/Game"], false)).len(), 4);
    let all = packages(&index, &paths(&["/Game"], true));
    assert!(!all.iter().any(|path| path.contains("PointLight")), "{all:?}");
    let outside = packages(&index, &paths(&["/Game/__ExternalActors__"], true));
    assert_eq!(outside, ["/Game/Maps/Town.Town:PersistentLevel.PointLight_3"]);
    for class in ["World", "/Script/Engine.World"] {
        let query = AssetQuery { classes: vec![class.to_owned()], ..AssetQuery::default() };
        assert_eq!(packages(&index, &query), ["/Game/Maps/Town.Town"]);
    }
    let query = AssetQuery { names: vec!["/Game/*Door".to_owned()], ..AssetQuery::default() };
    assert_eq!(packages(&index, &query).len(), 2);
    // Until 5.0 a package tells only the name of a class.
    let lonely = index.find("/Game/BP_Lonely").expect("it is there");
    assert_eq!(index.text(index.assets_of(lonely)[0].class), "/Script/Engine.Blueprint");
}

#[test]
fn blueprints_by_what_they_derive_from() {
    let (_folder, project) = game("blueprints");
    let index = index(&project);
    let search = |query: BlueprintQuery| {
        let (hits, unknown) = index.search_blueprints(&query, "", true);
        let names: Vec<String> =
            hits.iter().map(|(hit, _)| index.text(hit.asset.path).to_owned()).collect();
        (names, unknown)
    };
    assert_eq!(search(BlueprintQuery::Name("door".to_owned())).0, ["BP_Door"]);
    assert_eq!(search(BlueprintQuery::Parent("BP_Base".to_owned())).0, ["BP_Door"]);
    let (names, unknown) = search(BlueprintQuery::Inherits("AActor".to_owned()));
    assert_eq!(names, ["BP_Lonely", "BP_Base", "BP_Door"]);
    assert_eq!(unknown, 1, "what BP_Named derives from is not known");
    assert_eq!(search(BlueprintQuery::Inherits("Widget".to_owned())).0, ["BP_Tool"]);
    assert_eq!(search(BlueprintQuery::Inherits("MyThing".to_owned())).0, ["BP_Named"]);
    let all = BlueprintQuery::All("bp_base".to_owned());
    let (hits, _) = index.search_blueprints(&all, "/Game/Doors", false);
    let matched: Vec<_> = hits.into_iter().map(|(_, matched)| matched).collect();
    assert_eq!(matched, [vec![Matched::Name], vec![Matched::Parent]]);
}

#[test]
fn relations_in_both_directions() {
    let (_folder, project) = game("relations");
    let index = index(&project);
    let relations = Relations::of(&index);
    let hard = [Strength::Hard];
    let find = |name: &str| index.find(name).expect("it is there");
    let names = |found: Vec<unreal_project::Relation>| -> Vec<String> {
        found.into_iter().map(|relation| relation.package).collect()
    };
    let town = relations.dependencies(find("/Game/Maps/Town"), &hard, false);
    assert_eq!(town[0].package, "/Game/Doors/BP_Door");
    assert_eq!(town[0].via.as_deref(), Some("/Game/Doors/BP_Old"));
    let door = relations.referencers("/Game/Doors/BP_Door", &hard);
    assert_eq!((door[0].package.as_str(), door.len()), ("/Game/Maps/Town", 1));
    assert_eq!(door[0].via.as_deref(), Some("/Game/Doors/BP_Old"));
    assert_eq!(
        names(relations.referencers("/Tools/BP_Tool", &[Strength::Soft])),
        ["/Game/BP_Lonely"]
    );
    assert_eq!(names(relations.referencers("/Script/UMG", &hard)), ["/Tools/BP_Tool"]);
    let (tree, whole) = relations.tree("/Game/Maps/Town", &hard, false, 10, 100);
    let shape: Vec<_> = tree.iter().map(|node| (node.package.as_str(), node.depth)).collect();
    assert_eq!(
        shape,
        [("/Game/Maps/Town", 0), ("/Game/Doors/BP_Door", 1), ("/Game/Doors/BP_Base", 2)]
    );
    assert!(whole && !relations.tree("/Game/Maps/Town", &hard, false, 1, 100).1);
    let (broken, unknown) = relations.broken("");
    assert_eq!((broken.len(), unknown), (1, 1));
    assert_eq!(broken[0].missing, "/Game/Meshes/SM_Gone");
    let unused: Vec<_> = relations.unused(&project, "").into_iter().map(|u| u.package).collect();
    assert_eq!(unused, ["/Game/BP_Lonely", "/Game/Lfs", "/Game/Zip", "/Tools/BP_Tool"]);
    let tool = relations.unused(&project, "/Tools").remove(0);
    assert_eq!(tool.referencers, ["/Game/BP_Lonely"]);
}

#[test]
fn actors_of_the_map_and_of_their_own_packages() {
    let (_folder, project) = game("actors");
    let index = index(&project);
    let list = |offset, most| {
        index.actors(&project, "/Game/Maps/Town.Town", offset, most, |_, _| true).expect("a map")
    };
    let found = list(0, 10);
    let labels: Vec<_> = found.actors.iter().map(|actor| actor.label.as_str()).collect();
    assert_eq!((labels.as_slice(), found.total), (&["Front door", "Lamp"][..], 2));
    assert_eq!(found.warnings, [""; 0]);
    let door = &found.actors[0];
    assert_eq!(door.location, Some([100.0, -20.0, 3.5]));
    assert_eq!(
        (door.tags.as_slice(), door.class.as_str()),
        (&["Exit".to_owned()][..], "/Game/Doors/BP_Old.BP_Old_C")
    );
    let lamp = &found.actors[1];
    assert_eq!(lamp.package.as_deref(), Some("/Game/__ExternalActors__/Maps/Town/0/AB/CDEF"));
    assert_eq!(list(1, 1).actors, [lamp.clone()]);
    assert_eq!(list(2, 5).actors, []);
    let lights =
        index.actors(&project, "/Game/Maps/Town", 0, 9, |class, _| class.ends_with("Light"));
    assert_eq!(lights.expect("a map").total, 1);
}

#[test]
fn packages_are_opened_over_redirectors() {
    let (_folder, project) = game("open");
    let index = index(&project);
    let opened = index.open(&project, "/Game/Doors/BP_Old.BP_Old").expect("it leads on");
    assert_eq!((opened.package.as_str(), opened.redirected_from.len()), ("/Game/Doors/BP_Door", 1));
    let package = opened.package().expect("it is one");
    let object = opened.find(&package).expect("it has an asset");
    assert_eq!(package.header.path_within(object), "BP_Door");
    let graph =
        index.open(&project, "/Game/Doors/BP_Door.BP_Door:EventGraph").expect("it is there");
    let found = graph.find(&package).expect("it has a graph");
    assert!(package.header.is_graph(found));
    let fault = |path: &str| index.open(&project, path).expect_err(path);
    assert!(matches!(fault("/Game/None"), OpenFault::Missing(_)));
    assert!(matches!(fault("/Engine/Basic/Cube"), OpenFault::Elsewhere(_)));
    assert!(matches!(fault("nonsense"), OpenFault::NoPath(_)));
    let lfs = index.open(&project, "/Game/Lfs").expect("the file is there");
    assert!(lfs.package().expect_err("a pointer").to_string().contains("git lfs pull"));
}

#[test]
fn the_index_follows_the_project() {
    let (folder, project) = game("follows");
    let first = fresh(&project, None, 0, Policy::default());
    assert_eq!(
        (first.checked, first.changed, first.read, first.left),
        (Checked::Files, true, 10, 0)
    );
    let states = |index: &Index, name: &str| index.find(name).expect("it is there").state;
    assert_eq!(states(&first.index, "/Game/Lfs"), State::LfsPointer);
    assert_eq!(states(&first.index, "/Game/Zip"), State::NotAPackage);
    let kept = first.index.to_bytes();
    let load = || Index::from_bytes(&kept).expect("it is what was kept");
    assert_eq!(load().to_bytes(), kept);
    let walked = first.index.walked;
    let long = Duration::from_secs(3600);
    // Moments ago: nothing is looked at, not even what has changed since.
    folder.put("Content/New/BP_New.uasset", bp("/Game/New/BP_New", "/Script/Engine.Actor"));
    let trusting = Policy { trusted: long, folders: long };
    let again = fresh(&project, Some(load()), walked, trusting);
    assert_eq!((again.checked, again.changed), (Checked::Trusted, false));
    assert!(again.index.find("/Game/New/BP_New").is_none());
    // A new file changes a folder.
    let folders = Policy { trusted: Duration::ZERO, folders: long };
    let again = fresh(&project, Some(load()), walked, folders);
    assert_eq!((again.checked, again.read), (Checked::Files, 1));
    assert!(again.index.find("/Game/New/BP_New").is_some());
    // The rest was carried over with all that is known of it.
    for entry in first.index.entries() {
        let name = first.index.text(entry.package);
        let carried = again.index.find(name).expect(name);
        let of = |index: &Index, entry| -> Vec<String> {
            let links = index.links_of(entry).iter();
            let assets = index.assets_of(entry).iter();
            links
                .map(|link| format!("{} {:?}", index.text(link.package), link.strength))
                .chain(assets.map(|a| format!("{} {}", index.text(a.class), index.text(a.parent))))
                .collect()
        };
        assert_eq!(of(&again.index, carried), of(&first.index, entry), "{name}");
    }
    let kept = again.index.to_bytes();
    let load = || Index::from_bytes(&kept).expect("it is what was kept");
    let same = fresh(&project, Some(load()), again.index.walked, folders);
    assert_eq!((same.checked, same.changed), (Checked::Folders, false));
    // What is changed in place is seen when every file is looked at.
    let longer = blueprint(Profile::of("5.6"), "/Game/New/BP_New", "/Script/Engine.Pawn")
        .soft("/Game/Somewhere")
        .bytes();
    folder.put("Content/New/BP_New.uasset", longer);
    let never = Policy { trusted: Duration::ZERO, folders: Duration::ZERO };
    let last = fresh(&project, Some(load()), again.index.walked, never);
    assert_eq!((last.checked, last.read), (Checked::Files, 1));
    fs::remove_dir_all(folder.0.join("Content/New")).expect("it is there");
    let gone = fresh(&project, Some(last.index), walked, folders);
    assert!(gone.index.find("/Game/New/BP_New").is_none() && gone.read == 0);
}

#[test]
fn what_there_was_no_time_for_is_read_the_next_time() {
    let folder = Folder::new("time");
    folder.uproject();
    for number in 0..100 {
        let name = format!("BP_{number:03}");
        let bytes = bp(&format!("/Game/{name}"), "/Script/Engine.Actor");
        folder.put(&format!("Content/{name}.uasset"), bytes);
    }
    let project = find(&folder.0).expect("there is one");
    let first = refresh(&project, None, 0, Policy::default(), |read, of| {
        assert_eq!(of, 100);
        read < 64
    });
    assert_eq!((first.read, first.left), (64, 36));
    assert_eq!(first.index.find("/Game/BP_099").expect("it is known").state, State::Unread);
    let long = Duration::from_secs(3600);
    let trusting = Policy { trusted: long, folders: long };
    let walked = first.index.walked;
    let kept = Index::from_bytes(&first.index.to_bytes()).expect("it is what was kept");
    let second = fresh(&project, Some(kept), walked, trusting);
    assert_eq!((second.read, second.left), (36, 0));
}

#[test]
fn damaged_bytes_are_no_index() {
    let (_folder, project) = game("bytes");
    let kept = index(&project).to_bytes();
    for cut in 0..kept.len() {
        assert!(Index::from_bytes(&kept[..cut]).is_none(), "{cut}");
    }
    for at in 0..kept.len() {
        let mut damaged = kept.clone();
        damaged[at] ^= 0xFF;
        // Whatever it is now, it can be asked.
        if let Some(index) = Index::from_bytes(&damaged) {
            index.search_assets(&AssetQuery::default());
            index.search_blueprints(&BlueprintQuery::Inherits("Actor".to_owned()), "", true);
            Relations::of(&index).broken("");
        }
    }
}

#[test]
fn configuration_says_where_it_is_from() {
    let (folder, project) = game("config");
    folder.put("Config/Windows/WindowsEngine.ini", b"\xFF\xFE[\0A\0]\0\n\0K\0=\x001\0");
    let config = Config::read(&project.dir);
    let section = "/Script/EngineSettings.GameMapsSettings";
    let map = config.get("Config/DefaultEngine.ini", section, "GameDefaultMap").expect("it is set");
    assert_eq!((map.value.as_str(), map.line), ("/Game/Maps/Town.Town", 2));
    let wide = config.get("Config/Windows/WindowsEngine.ini", "A", "K").expect("it is set");
    assert_eq!(wide.value, "1");
    assert_eq!(config.values().len(), 3);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_out() {
    let (folder, project) = game("links");
    let other = Folder::new("links-other");
    other.put("Secret.uasset", bp("/Game/Secret", "/Script/Engine.Actor"));
    std::os::unix::fs::symlink(&other.0, folder.0.join("Content/Linked")).expect("a link");
    let index = index(&project);
    assert!(index.find("/Game/Linked/Secret").is_none());
    assert_eq!(index.linked_folders, 1);
}
