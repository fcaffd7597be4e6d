//! Tests of resources, prompts and completions.

use super::{
    editor::Server,
    live::{DOOR, host},
    *,
};

#[test]
fn resources_and_prompts() {
    let game = Game::new();
    session::FOLDERS.set(vec![game.path().to_owned()]);
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    let read = |uri: &str| ProjectResources::read(&near.request(), uri);
    let first = |contents: Contents| format!("{:?}", contents.all[0]);
    let door = first(read("unreal+t3d:///Game/Doors/BP_Door").expect("it is there"));
    assert!(door.contains("vnd.unreal.t3d") && door.contains("Begin Object"), "{door}");
    // The editor's own resource supports only Blueprints.
    let town = first(read("unreal+t3d:///Game/Maps/Town").expect("it is there"));
    assert!(town.contains("vnd.unreal.t3d") && town.contains("Town"), "{town}");
    assert!(read("unreal+t3d:///Game/None").is_err() && read("file:///x").is_err());
    let _far = Rehearsal::new();
    let door = first(read("unreal+t3d://%2FGame/Doors/BP_Door").expect("it is there"));
    assert!(door.contains("t3d-like") && door.contains("; Reconstructed"), "{door}");
    let door = first(read("unreal+md:///Game/Doors/BP_Door").expect("it is there"));
    assert!(door.contains("text/markdown") && door.contains("# BP_Door"), "{door}");
    assert!(read("unreal+md:///Game/Maps/Town").is_err());
    let listing = ProjectResources::list(&near.request(), None).expect("it lists");
    let uris: Vec<&str> = listing.resources.iter().map(|one| one.0.uri.as_str()).collect();
    assert_eq!(
        uris,
        [
            "unreal+md:///Game/Doors/BP_Base",
            "unreal+md:///Game/Doors/BP_Door",
            "unreal+md:///Game/Lonely",
            "unreal+t3d:///Game/Maps/Town",
        ]
    );
    let version = || {
        let version = ProjectResources::version(&near.request(), "unreal+md:///Game/Lonely");
        version.expect("it is known").expect("it is told")
    };
    let before = version();
    assert_eq!(version(), before);
    game.put("Content/Lonely.uasset", "another");
    assert_ne!(version(), before);
    let complete = |value: &str| {
        ProjectResources::complete(
            &near.request(),
            "unreal+md://{+filepath}",
            "filepath",
            value,
            &[],
        )
    };
    assert_eq!(complete("/Game/Doors/BP_D"), [DOOR]);
    assert_eq!(complete("door"), ["/Game/Doors/BP_Base", DOOR]);
    let maps = AnalyzePerformance::complete(&near.request(), "mapPath", "", &[]);
    assert_eq!(maps, ["/Game/Maps/Town"]);
    let prompt = near.prompt::<AnalyzeBlueprint>(json!({ "assetPath": DOOR, "focus": "memory" }));
    let text = prompt.expect("it is there").as_text();
    assert!(text.contains(DOOR) && text.contains("memory"), "{text}");
    for prompt in [
        near.prompt::<RefactorBlueprint>(json!({ "assetPath": DOOR })),
        near.prompt::<CreateBlueprint>(json!({ "name": "BP_X", "purpose": "to lift" })),
        near.prompt::<AuditAssets>(json!({ "packagePath": "/Game/Doors" })),
        near.prompt::<AnalyzePerformance>(json!({})),
    ] {
        assert!(prompt.expect("it is there").as_text().contains("`asOf`"));
    }
    session::FOLDERS.set(Vec::new());
}
