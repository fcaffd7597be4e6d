//! Tests of the search inside Blueprints, and of comparing versions of a package.

use super::*;

#[test]
fn the_contents_of_blueprints_are_found() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let search = |arguments| call::<SearchContents>(&host, &game, arguments);
    let arguments = json!({ "term": "printstring", "kind": "call", "match": "exact" });
    let found = search(arguments.clone());
    assert_eq!(
        found["hits"][0],
        json!({
            "package": "/Game/Doors/BP_Base",
            "kind": "call",
            "graph": "EventGraph",
            "node": "K2Node_CallFunction_3",
            "title": "Call PrintString",
            "matched": "function",
            "text": "PrintString",
        })
    );
    assert_eq!(
        texts(&found["hits"], "package"),
        ["/Game/Doors/BP_Base", "/Game/Doors/BP_Door", "/Game/Lonely"]
    );
    assert_eq!((&found["totalCount"], &found["packageCount"]), (&json!(3), &json!(3)));
    // The second search reads nothing.
    let kept = stored_data::load_contents(game.path()).expect("it is kept").to_bytes();
    assert_eq!(search(arguments), found);
    assert_eq!(stored_data::load_contents(game.path()).expect("it is kept").to_bytes(), kept);
    let found = search(json!({ "term": "hello", "packagePaths": ["/Game/Lonely"] }));
    let hit = &found["hits"][0];
    assert_eq!((&hit["kind"], &hit["matched"]), (&json!("literal"), &json!("InString")));
    assert_eq!(found["warnings"].to_string().matches("no package").count(), 0, "{found}");
    let found = search(json!({ "term": "print", "maxResults": 2, "packagePaths": ["/Game"] }));
    assert_eq!((&found["totalCount"], &found["hasMore"]), (&json!(3), &json!(true)));
    assert_eq!((&found["counts"]["node"], &found["counts"]["call"]), (&json!(3), &json!(3)));
    assert!(found["next"].as_str().is_some_and(|next| next.contains("offset 2")), "{found}");
    let nowhere = search(json!({ "term": "print", "packagePaths": ["/Gaem"] }));
    assert!(nowhere["warnings"].to_string().contains("/Gaem"), "{nowhere}");
    let fault = failure::<SearchContents>(&game, json!({ "term": "  " }));
    assert!(fault.contains("name what to look for"), "{fault}");
}

#[test]
fn versions_of_a_package_are_compared() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let mut newer = blueprint(Profile::of("5.6"), "/Game/Doors/BP_Base", "/Script/Engine.Actor");
    newer.soft("/Game/Lonely");
    game.put("Saved/BP_Base.uasset", newer.bytes());
    let path = |file: &str| game.path().join(file).display().to_string();
    let arguments = json!({
        "fileBefore": path("Content/Doors/BP_Base.uasset"), "fileAfter": path("Saved/BP_Base.uasset"),
    });
    let reply = host.call::<DiffAssets>(arguments.clone()).expect("they are compared");
    let found = reply.structured.expect("it is structured");
    let parts = texts(&found["changes"], "part");
    assert_eq!(parts, ["parent class", "dependency"], "{found}");
    assert_eq!((&found["counts"]["dependency"], &found["hasMore"]), (&json!(1), &json!(false)));
    let schema = DiffAssets::output_schema().expect("it has one");
    jsonschema::validate(&schema, &found).expect("it fits its schema");
    let mut same = arguments.clone();
    same["fileAfter"] = same["fileBefore"].clone();
    let reply = host.call::<DiffAssets>(same).expect("they are compared");
    assert_eq!(reply.structured.expect("it is structured")["isSame"], true);
    let mut broken = arguments;
    broken["fileAfter"] = json!(path("Content/Lfs.uasset"));
    let fault = host.call::<DiffAssets>(broken).expect_err("it is a pointer").to_string();
    assert!(fault.contains("Lfs.uasset"), "{fault}");
}

#[test]
fn versions_in_git_are_compared() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(game.path()).args(["-c", "core.autocrlf=false", "-c", "gc.auto=0"]);
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_COMMITTER_DATE", "1700000000 +0100");
        let done = git.output().expect("git is installed");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    let commit = |subject: &str| {
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", subject]);
    };
    git(&["init", "--quiet"]);
    commit("First");
    let mut newer = blueprint(Profile::of("5.6"), "/Game/Doors/BP_Base", "/Script/Engine.Actor");
    game.put("Content/Doors/BP_Base.uasset", newer.bytes());
    commit("Another parent");
    newer.soft("/Game/Lonely");
    game.put("Content/Doors/BP_Base.uasset", newer.bytes());
    let file = game.path().join("Content/Doors/BP_Base.uasset").display().to_string();
    let compared = |versions: Value| {
        let mut arguments = json!({ "fileAfter": file });
        for (name, value) in versions.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        host.call::<DiffAssets>(arguments).map_err(|fault| fault.to_string())
    };
    let parts = |versions: Value| {
        let reply = compared(versions).expect("they are compared");
        let found = reply.structured.expect("it is structured");
        texts(&found["changes"], "part").iter().map(|part| (*part).to_owned()).collect::<Vec<_>>()
    };
    for _ in ["loose objects", "a pack"] {
        assert_eq!(parts(json!({ "revisionBefore": "HEAD" })), ["dependency"]);
        assert_eq!(parts(json!({ "revisionBefore": "HEAD~1" })), ["parent class", "dependency"]);
        let both = json!({ "revisionBefore": "HEAD~1", "revisionAfter": "HEAD" });
        assert_eq!(parts(both.clone()), ["parent class"]);
        let found = compared(both).expect("they are compared").structured.expect("structured");
        let commit = &found["after"]["commit"];
        assert_eq!(commit["subject"], "Another parent", "{found}");
        assert_eq!(commit["time"], "2023-11-14T22:13:20Z", "{found}");
        git(&["gc", "--quiet"]);
    }
    let fault = compared(json!({})).expect_err("there is one version");
    assert!(fault.contains("the two versions are the same: give `revisionBefore`"), "{fault}");
    let fault = compared(json!({ "revisionBefore": "v9" })).expect_err("there is no such tag");
    assert!(fault.contains("no revision `v9`"), "{fault}");
    game.put("Content/New.uasset", newer.bytes());
    let new = game.path().join("Content/New.uasset").display().to_string();
    let fault = host
        .call::<DiffAssets>(json!({ "fileAfter": new, "revisionBefore": "HEAD~1" }))
        .expect_err("it was added later")
        .to_string();
    assert!(fault.contains("of 2023-11-14: First) does not exist: the file was added"), "{fault}");
}

#[test]
fn everything_in_one_version_is_listed() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let file = game.path().join("Content/Doors/BP_Base.uasset").display().to_string();
    let listed = |listing: &str, argument: &str| {
        let call = json!({ "listing": listing, argument: file, "shownAs": "Old/BP.uasset" });
        let reply = host.call::<DiffAssets>(call).expect("it is listed");
        let found = reply.structured.expect("it is structured");
        let sides = ["before", "after"].map(|side| found[side]["file"].clone());
        let schema = DiffAssets::output_schema().expect("it has one");
        assert!(jsonschema::is_valid(&schema, &found), "{found}");
        (sides, found["changes"][1]["before"].clone(), found["changes"][1]["after"].clone())
    };
    let (none, shown) = (Value::Null, json!("Old/BP.uasset"));
    let parent = json!("/Script/Engine.Character");
    for kind in ["added", "contents"] {
        let expected = ([none.clone(), shown.clone()], none.clone(), parent.clone());
        assert_eq!(listed(kind, "fileAfter"), expected, "{kind}");
    }
    let expected = ([shown, none.clone()], parent, none);
    assert_eq!(listed("removed", "fileBefore"), expected);
    let fault = host.call::<DiffAssets>(json!({})).expect_err("no file is named").to_string();
    assert!(fault.contains("hint: give `fileAfter`"), "{fault}");
}

#[test]
fn the_first_answer_is_short() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    for number in 0..200 {
        let package = format!("/Game/Some/Long/Folder/Of/Names/BP_SomeThing_{number:03}");
        let bytes = blueprint(Profile::of("5.6"), &package, "/Script/Engine.Actor").bytes();
        game.put(&format!("Content{}.uasset", &package[5..]), bytes);
    }
    let found = call::<SearchContents>(&host, &game, json!({ "term": "e" }));
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(15));
    // A token has about three characters, since there are many names and numbers.
    let length = found.to_string().len();
    assert!(length < 6_000, "{length} bytes: {found}");
}

#[test]
fn an_answer_reports_that_the_time_was_up() {
    let (game, soon) = (Game::new(), std::time::Duration::from_secs(1));
    let host = Rehearsal::new();
    call::<UnrealStatus>(&host, &game, json!({}));
    let host = host.remaining(soon);
    let found = call::<SearchContents>(&host, &game, json!({ "term": "e" }));
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("4 packages with Blueprints or maps are not read yet"), "{warnings}");
    assert_eq!(found["totalCount"], 0);
}
