//! Tests of finding a project, searching it and querying its dependencies.

#[cfg(unix)]
use crate::support::bp;
use crate::support::{Folder, game, index};
use unreal_package::{
    DependencyKind, Index as Object,
    writer::{DraftPackage, Profile},
};
use unreal_project::{
    AssetQuery, BlueprintQuery, Config, CppClasses, Index, Matched, NoProject, OpenFault,
    Relations, find, find_among,
};

fn packages(index: &Index, query: &AssetQuery) -> Vec<String> {
    let hits = index.search_assets(query);
    hits.iter().map(|hit| index.object_path(hit.entry, hit.asset)).collect()
}

#[test]
fn projects_that_are_not_named_are_counted() {
    let folder = Folder::new();
    (0..23).for_each(|number| folder.put(&format!("P{number:02}/P{number:02}.uproject"), "{}"));
    let lost = find(folder.path()).expect_err("there are several").to_string();
    assert!(lost.contains("P19.uproject and 3 more. Name the folder of one"), "{lost}");
}

#[test]
fn folders_that_are_not_searched_for_projects_are_told() {
    let folder = Folder::new();
    let add = |number: usize| {
        std::fs::create_dir(folder.path().join(format!("f{number:04}"))).expect("it can be made");
    };
    (0..1_999).for_each(add);
    let lost = || find_among(&[folder.path().to_owned()]).expect_err("no project").to_string();
    assert!(lost().contains("3 levels below: name"), "{}", lost());
    add(1_999);
    assert!(lost().contains("(not all folders: at most 2000 are searched)"), "{}", lost());
    folder.put("f0000/One.uproject", "{}");
    let found = find(folder.path()).expect("there is one").warnings;
    assert!(found.len() == 1 && found[0].starts_with("there may be more projects"), "{found:?}");
    std::fs::remove_dir(folder.path().join("f1999")).expect("it is there");
    assert_eq!(find(folder.path()).expect("there is one").warnings, [""; 0]);
}

#[test]
fn projects_are_found_in_around_and_below() {
    let (folder, project) = game();
    assert_eq!((project.name.as_str(), project.dir.as_path()), ("MyGame", folder.path()));
    for path in ["Content/Doors", "MyGame.uproject", "Config/DefaultEngine.ini"] {
        assert_eq!(find(&folder.path().join(path)).expect(path).dir, folder.path());
    }
    let above = Folder::new();
    above.put("a/b/One.uproject", "{}");
    assert_eq!(find(above.path()).expect("it is below").name, "One");
    above.put("c/Two.uproject", "\u{FEFF}{}");
    let Err(NoProject::Several { found }) = find(above.path()) else { panic!("there are two") };
    assert_eq!(found, [above.path().join("a/b/One.uproject"), above.path().join("c/Two.uproject")]);
    assert_eq!(find(&above.path().join("c")).expect("it is there").name, "Two");
    let roots = [above.path().join("c"), folder.path().to_owned()];
    let lost = find_among(&roots).expect_err("there are two").to_string();
    assert!(lost.contains("Two.uproject") && lost.contains("MyGame.uproject"), "{lost}");
    assert_eq!(find_among(&roots[1..]).expect("there is one").name, "MyGame");
    let nothing = Folder::new();
    assert!(matches!(find(nothing.path()), Err(NoProject::Nowhere { .. })));
    assert!(find_among(&[]).expect_err("no roots").to_string().contains("as a root"));
    nothing.put("Content/A.uasset", "");
    let bare = find(nothing.path()).expect("it has content");
    assert_eq!(bare.warnings.len(), 1);
}

#[test]
fn the_case_of_a_descriptors_ending_does_not_matter() {
    for name in ["Game.UPROJECT", "Game.UProject"] {
        let folder = Folder::new();
        folder.put(&format!("games/one/{name}"), "{}");
        let file = folder.path().join("games/one").join(name);
        for path in ["games/one", "games", &format!("games/one/{name}")] {
            let found = find(&folder.path().join(path)).expect(path);
            assert_eq!(found.file.as_ref(), Some(&file), "{path}");
        }
    }
    // If the path names a descriptor, that descriptor counts, even if there is another one in the folder.
    let folder = Folder::new();
    folder.put("One.uproject", "{}");
    folder.put("Tools.UPLUGIN", "{}");
    assert_eq!(find(&folder.path().join("Tools.UPLUGIN")).expect("it is there").name, "Tools");
}

#[test]
fn unreal_plugins_have_mounts_of_their_own() {
    let (_folder, project) = game();
    let index = index(&project);
    let mounts: Vec<_> =
        index.mounts.iter().map(|mount| (mount.name.as_str(), mount.folder.as_str())).collect();
    assert_eq!(mounts, [("/Game", "Content"), ("/Tools", "Plugins/Group/Tools/Content")]);
    assert!(index.find("/tools/bp_TOOL").is_some() && index.find("/Tools/BP").is_none());
    assert!(index.has_mount_of("/Tools/X") && !index.has_mount_of("/ToolsX/X"));
}

#[test]
fn assets_by_place_name_and_class() {
    let (_folder, project) = game();
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
    for class in [
        "World",
        "uworld",
        "/Script/Engine.World",
        "/Script/CoreUObject.Class'/Script/Engine.World'",
    ] {
        let query = AssetQuery { classes: vec![class.to_owned()], ..AssetQuery::default() };
        assert_eq!(packages(&index, &query), ["/Game/Maps/Town.Town"]);
    }
    let query = AssetQuery { names: vec!["/Game/*Door".to_owned()], ..AssetQuery::default() };
    assert_eq!(packages(&index, &query).len(), 2);
    // Until 5.0 a package stores only the name of a class.
    let lonely = index.find("/Game/BP_Lonely").expect("it is there");
    assert_eq!(index.text(index.assets_of(lonely)[0].class), "/Script/Engine.Blueprint");
}

#[test]
fn blueprints_by_parent_and_ancestor() {
    let (_folder, project) = game();
    let index = index(&project);
    let search = |query: BlueprintQuery| {
        let (hits, unknown) = index.search_blueprints(&query, &CppClasses::default(), "", true);
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
    let (hits, _) = index.search_blueprints(&all, &CppClasses::default(), "/Game/Doors", false);
    let matched: Vec<_> = hits.into_iter().map(|(_, matched)| matched).collect();
    assert_eq!(matched, [vec![Matched::Name], vec![Matched::Parent]]);
}

#[test]
fn relations_in_both_directions() {
    let (_folder, project) = game();
    let index = index(&project);
    let relations = Relations::of(&index);
    let hard = [DependencyKind::Hard];
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
        names(relations.referencers("/Tools/BP_Tool", &[DependencyKind::Soft])),
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
    let unused = relations.unused(&project, "").packages.into_iter();
    let unused: Vec<_> = unused.map(|unused| unused.package).collect();
    // Packages that cannot be read, such as Git LFS pointers, are not listed.
    assert_eq!(unused, ["/Game/BP_Lonely", "/Tools/BP_Tool"]);
    let tool = relations.unused(&project, "/Tools").packages.remove(0);
    assert_eq!(tool.referencers, ["/Game/BP_Lonely"]);
}

#[test]
fn sources_that_are_not_searched_are_told() {
    let named = "/Game/BP_Lonely";
    let searched = |change: &dyn Fn(&Folder)| {
        let (folder, project) = game();
        change(&folder);
        let index = index(&project);
        let unused = Relations::of(&index).unused(&project, "");
        let is_unused = unused.packages.iter().any(|unused| unused.package == named);
        let is_told = unused.warnings.iter().any(|text| text.starts_with("source files were not"));
        (is_unused, is_told)
    };
    let text = format!("// {named}\n");
    let deep = |depth: usize, name: &str| format!("Source/{}{name}", "d/".repeat(depth));
    let long = |length: usize| text.clone() + &" ".repeat(length - text.len());
    assert_eq!(searched(&|folder| folder.put(&deep(12, "A.cpp"), &text)), (false, false));
    assert_eq!(searched(&|folder| folder.put(&deep(13, "A.cpp"), &text)), (true, true));
    assert_eq!(searched(&|folder| folder.put("Source/A.h", long(1 << 20))), (false, false));
    assert_eq!(searched(&|folder| folder.put("Source/A.h", long((1 << 20) + 1))), (true, true));
    assert_eq!(searched(&|folder| folder.put("Source/A.bin", long(2 << 20))), (true, false));
    let many = |count: usize| {
        move |folder: &Folder| {
            (0..count).for_each(|number| folder.put(&format!("Source/{number}.cs"), ""));
        }
    };
    assert_eq!(searched(&many(5_000)), (true, false));
    assert_eq!(searched(&many(5_001)), (true, true));
}

#[test]
fn configuration_that_is_not_searched_is_told() {
    let (folder, project) = game();
    folder.put("Config/DefaultBig.ini", " ".repeat((8 << 20) + 1));
    let unused = Relations::of(&index(&project)).unused(&project, "");
    assert_eq!(unused.warnings, ["Config/DefaultBig.ini is larger than 8 MiB: left out"]);
}

#[test]
fn plugins_below_the_depth_limit_are_missing_and_the_index_says_so() {
    let (folder, project) = game();
    // The folders of an Unreal plugin have no further plugins.
    folder.put(&format!("Plugins/Group/Tools/{}A.txt", "d/".repeat(9)), "");
    folder.put(&format!("Plugins/{}Deepest.uplugin", "d/".repeat(6)), "{}");
    folder.put(&format!("Plugins/{}Content/A.uasset", "d/".repeat(6)), "");
    let whole = index(&project);
    assert!(whole.has_mount_of("/Deepest/A") && !whole.plugins_left_out);
    folder.put(&format!("Plugins/{}TooDeep.uplugin", "e/".repeat(7)), "{}");
    folder.put(&format!("Plugins/{}Content/A.uasset", "e/".repeat(7)), "");
    let cut = index(&project);
    assert!(!cut.has_mount_of("/TooDeep/A") && cut.plugins_left_out && !cut.cut);
    assert!(Index::from_bytes(&cut.to_bytes()).expect("it was just stored").plugins_left_out);
}

#[test]
fn actors_of_the_map_and_of_their_own_packages() {
    let (_folder, project) = game();
    let index = index(&project);
    let list = |offset, most| {
        index
            .actors(&project, "/Game/Maps/Town.Town", offset, most, false, |_, _| true)
            .expect("a map")
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
    assert_eq!(list(1, 1).actors, std::slice::from_ref(lamp));
    assert_eq!(list(2, 5).actors, []);
    let with_parts =
        index.actors(&project, "/Game/Maps/Town", 0, 9, true, |_, _| true).expect("it is a map");
    let [door, lamp] = with_parts.actors.as_slice() else { panic!("{with_parts:?}") };
    let parts = door.parts.as_ref().expect("they were asked for");
    assert_eq!(
        parts.difference.properties,
        ["bHidden=True"],
        "what is told elsewhere is not repeated"
    );
    let names: Vec<_> = parts.components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!(names, ["Root", "Panel"]);
    let [root, panel] = parts.components.as_slice() else { panic!("{parts:?}") };
    assert_eq!(root.class, "/Script/Engine.SceneComponent");
    assert_eq!(root.difference.properties.len(), 1, "{root:?}");
    assert!(root.difference.properties[0].starts_with("RelativeLocation=(X=100"), "{root:?}");
    assert_eq!(
        (panel.attached_to.as_str(), panel.class.as_str()),
        ("Root", "/Script/Engine.StaticMeshComponent")
    );
    assert_eq!(panel.difference.properties, ["CastShadow=False"]);
    assert!(panel.difference.left_out[0].starts_with("12 bytes at "), "{panel:?}");
    assert_eq!(lamp.parts, Some(unreal_project::ActorParts::default()));
    let lights =
        index.actors(&project, "/Game/Maps/Town", 0, 9, false, |class, _| class.ends_with("Light"));
    assert_eq!(lights.expect("a map").total, 1);
}

#[test]
fn packages_are_opened_through_redirectors() {
    let (_folder, project) = game();
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
fn settings_have_their_file_and_line() {
    let (folder, project) = game();
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
fn links_out_of_the_project_are_not_followed() {
    let (folder, project) = game();
    let other = Folder::new();
    other.put("Secret.uasset", bp("/Game/Secret", "/Script/Engine.Actor"));
    let link = |to: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(to, folder.path().join(name)).expect("a link");
    };
    link(other.path(), "Content/Linked");
    // A dangling link is counted as well. In the sandbox, a link that leads out of the roots is
    // counted, too.
    link(&other.path().join("None.uasset"), "Content/Gone.uasset");
    link(&folder.path().join("MyGame.uproject"), "Content/Notes.txt");
    let index = index(&project);
    assert!(index.find("/Game/Linked/Secret").is_none());
    assert_eq!(index.links_left_out, 2);
}

#[test]
fn a_broken_reference_is_listed_once_with_its_strongest_kind() {
    let folder = Folder::new();
    folder.uproject();
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/A");
    draft.soft("/Game/Gone");
    draft.import("/Script/Engine.StaticMesh", "/Game/Gone.Gone");
    draft.soft("/Game/Later");
    draft.export("/Script/Engine.Material", Object(0), "A");
    draft.asset("A", "/Script/Engine.Material", &[]);
    folder.put("Content/A.uasset", draft.bytes());
    let project = find(folder.path()).expect("there is one");
    let index = index(&project);
    let (broken, _) = Relations::of(&index).broken("");
    let told: Vec<_> =
        broken.iter().map(|broken| (broken.missing.as_str(), broken.strength)).collect();
    assert_eq!(told, [("/Game/Gone", DependencyKind::Hard), ("/Game/Later", DependencyKind::Soft)]);
}
