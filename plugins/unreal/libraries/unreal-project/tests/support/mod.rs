//! Generates a project for a test.

use std::{fs, path::Path};
use tempfile::TempDir;
use unreal_package::{
    Index as Object,
    writer::{DraftPackage, DraftValue, Profile, blueprint},
};
use unreal_project::{Index, Project, TrustPolicy, UpdatedIndex, find, refresh};

/// A temporary folder.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn put(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, bytes).expect("it can be written");
    }

    pub fn uproject(&self) {
        self.put(
            "MyGame.uproject",
            r#"{"EngineAssociation": "5.6", "Modules": [{"Name": "MyGame"}]}"#,
        );
    }
}

pub fn bp(package: &str, parent: &str) -> Vec<u8> {
    blueprint(Profile::of("5.6"), package, parent).bytes()
}

/// A redirector to an asset in another package.
fn redirector(package: &str, to: &str) -> Vec<u8> {
    let mut draft = DraftPackage::new(Profile::of("5.6"), package);
    let name = package.rsplit('/').next().expect("it has a name").to_owned();
    let target = draft.import("/Script/Engine.Blueprint", to);
    let object = draft.export("/Script/CoreUObject.ObjectRedirector", Object(0), &name);
    draft.set(object, "DestinationObject", DraftValue::Object(target));
    draft.asset(&name, "/Script/CoreUObject.ObjectRedirector", &[]);
    draft.bytes()
}

/// A game with a door that a map needs, an Unreal plugin, and many defects.
pub fn game() -> (Folder, Project) {
    let folder = Folder::new();
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
    let project = find(folder.path()).expect("there is one");
    (folder, project)
}

fn town() -> DraftPackage {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/Maps/Town");
    let world = draft.export("/Script/Engine.World", Object(0), "Town");
    let level = draft.export("/Script/Engine.Level", world, "PersistentLevel");
    let door_class = draft.import("BlueprintGeneratedClass", "/Game/Doors/BP_Old.BP_Old_C");
    let door = draft.export_of(door_class, level, "BP_Door_7");
    let root = draft.export("/Script/Engine.SceneComponent", door, "Root");
    draft.set(door, "RootComponent", DraftValue::Object(root));
    draft.set(door, "ActorLabel", DraftValue::String("Front door".to_owned()));
    draft.set(door, "Tags", DraftValue::List(vec![DraftValue::Name("Exit".to_owned())]));
    draft.set(root, "RelativeLocation", DraftValue::Vector([100.0, -20.0, 3.5]));
    draft.set(door, "bHidden", DraftValue::Bool(true));
    let panel = draft.export("/Script/Engine.StaticMeshComponent", door, "Panel");
    draft.set(panel, "AttachParent", DraftValue::Object(root));
    draft.set(panel, "CastShadow", DraftValue::Bool(false));
    draft.native(panel, &[7; 12]);
    draft.set(door, "Panel", DraftValue::Object(panel));
    let mut list = 1_i32.to_le_bytes().to_vec();
    list.extend(door.0.to_le_bytes());
    draft.native(level, &list);
    draft.asset("Town", "/Script/Engine.World", &[]);
    draft
}

fn external() -> DraftPackage {
    let mut draft =
        DraftPackage::new(Profile::of("5.6"), "/Game/__ExternalActors__/Maps/Town/0/AB/CDEF");
    let level = draft.import("/Script/Engine.Level", "/Game/Maps/Town.PersistentLevel");
    let actor = draft.export("/Script/Engine.PointLight", level, "PointLight_3");
    draft.set(actor, "ActorLabel", DraftValue::String("Lamp".to_owned()));
    let path = "/Game/Maps/Town.Town:PersistentLevel.PointLight_3";
    draft.asset(path, "/Script/Engine.PointLight", &[("ActorLabel", "Lamp")]);
    draft
}

pub fn fresh(
    project: &Project,
    old: Option<Index>,
    checked: u64,
    policy: TrustPolicy,
) -> UpdatedIndex {
    refresh(project, old, checked, policy, |_, _| true)
}

pub fn index(project: &Project) -> Index {
    fresh(project, None, 0, TrustPolicy::default()).index
}
