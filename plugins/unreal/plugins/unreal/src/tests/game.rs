//! Generates an Unreal project for tests.

use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use unreal_package::{
    Index as Object,
    writer::{DraftPackage, DraftValue, Profile, blueprint},
};

/// The start of a PNG file.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest of the picture";

/// A temporary project.
pub struct Game {
    root: PathBuf,
    held: TempDir,
}

impl Game {
    /// A project without packages.
    pub fn empty() -> Self {
        let held = tempfile::tempdir().expect("a folder");
        Self::at(held.path().to_owned(), held)
    }

    /// A project without packages. It is in the folder `root`, which is `held` or inside of it.
    pub fn at(root: PathBuf, held: TempDir) -> Self {
        let game = Self { root, held };
        game.put(
            "MyGame.uproject",
            r#"{"EngineAssociation": "5.6", "Plugins": [{"Name": "Tools"}]}"#,
        );
        game
    }

    /// A project with three Blueprints, a redirector, a map, and an unreadable file.
    pub fn new() -> Self {
        Self::empty().filled()
    }

    /// Adds the files of [`new`](Self::new).
    pub fn filled(self) -> Self {
        let game = self;
        let bp = |package: &str, parent: &str| blueprint(Profile::of("5.6"), package, parent);
        let base = bp("/Game/Doors/BP_Base", "/Script/Engine.Character");
        game.put("Content/Doors/BP_Base.uasset", base.bytes());
        let mut door = bp("/Game/Doors/BP_Door", "/Game/Doors/BP_Base.BP_Base_C");
        door.thumbnail("BP_Door", PNG).soft("/Game/Lonely");
        game.put("Content/Doors/BP_Door.uasset", door.bytes());
        let mut lonely = bp("/Game/Lonely", "/Script/MyGame.Thing");
        lonely.import("/Script/Engine.StaticMesh", "/Game/Gone.Gone");
        lonely.import("/Script/Engine.StaticMesh", "/Engine/Cube.Cube");
        game.put("Content/Lonely.uasset", lonely.bytes());
        let mut old = DraftPackage::new(Profile::of("5.6"), "/Game/Doors/BP_Old");
        old.import("/Script/Engine.Blueprint", "/Game/Doors/BP_Door.BP_Door");
        old.export("/Script/CoreUObject.ObjectRedirector", Object(0), "BP_Old");
        old.asset("BP_Old", "/Script/CoreUObject.ObjectRedirector", &[]);
        game.put("Content/Doors/BP_Old.uasset", old.bytes());
        let mut town = DraftPackage::new(Profile::of("5.6"), "/Game/Maps/Town");
        let world = town.export("/Script/Engine.World", Object(0), "Town");
        let level = town.export("/Script/Engine.Level", world, "PersistentLevel");
        let class = town.import("BlueprintGeneratedClass", "/Game/Doors/BP_Door.BP_Door_C");
        let actor = town.export_of(class, level, "BP_Door_7");
        town.set(actor, "ActorLabel", DraftValue::String("Front \u{202E}door\u{0}".to_owned()));
        let mut list = 1_i32.to_le_bytes().to_vec();
        list.extend(actor.0.to_le_bytes());
        town.native(level, &list);
        town.asset("Town", "/Script/Engine.World", &[("LevelIsPartitioned", "0")]);
        game.put("Content/Maps/Town.umap", town.bytes());
        game.put("Content/Lfs.uasset", "version https://git-lfs.github.com/spec/v1\nsize 12\n");
        game.put(
            "Config/DefaultEngine.ini",
            "[/Script/EngineSettings.GameMapsSettings]\nGameDefaultMap=/Game/Maps/Town.Town\n[Other]\n+A=1\n+A=2\n",
        );
        game
    }

    /// The temporary folder that has the project.
    pub fn held(&self) -> &Path {
        self.held.path()
    }

    /// The root folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Writes a file.
    pub fn put(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, bytes).expect("it can be written");
    }
}
