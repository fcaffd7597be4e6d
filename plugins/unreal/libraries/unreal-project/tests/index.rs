//! Tests that an index is stored and loaded, and follows changes of the project.

use std::{fs, time::Duration};
use crate::support::{Folder, bp, fresh, game, index};
use unreal_package::writer::{Profile, blueprint};
use unreal_project::{
    AssetQuery, BlueprintQuery, Checked, CppClasses, Index, MAX_FOLDER_DEPTH, Relations, State,
    TrustPolicy, find, refresh,
};

#[test]
fn the_index_follows_the_project() {
    let (folder, project) = game();
    let first = fresh(&project, None, 0, TrustPolicy::default());
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
    // The last check is recent: nothing is checked, not even later changes.
    folder.put("Content/New/BP_New.uasset", bp("/Game/New/BP_New", "/Script/Engine.Actor"));
    let trusting = TrustPolicy { trusted: long, folders: long };
    let again = fresh(&project, Some(load()), walked, trusting);
    assert_eq!((again.checked, again.changed), (Checked::Trusted, false));
    assert!(again.index.find("/Game/New/BP_New").is_none());
    // A new file changes its folder.
    let folders = TrustPolicy { trusted: Duration::ZERO, folders: long };
    let again = fresh(&project, Some(load()), walked, folders);
    assert_eq!((again.checked, again.read), (Checked::Files, 1));
    assert!(again.index.find("/Game/New/BP_New").is_some());
    // The other entries were copied completely.
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
    // A change in place is found when every file is checked.
    let longer = blueprint(Profile::of("5.6"), "/Game/New/BP_New", "/Script/Engine.Pawn")
        .soft("/Game/Somewhere")
        .bytes();
    folder.put("Content/New/BP_New.uasset", longer);
    let never = TrustPolicy { trusted: Duration::ZERO, folders: Duration::ZERO };
    let last = fresh(&project, Some(load()), again.index.walked, never);
    assert_eq!((last.checked, last.read), (Checked::Files, 1));
    fs::remove_dir_all(folder.path().join("Content/New")).expect("it is there");
    let gone = fresh(&project, Some(last.index), walked, folders);
    assert!(gone.index.find("/Game/New/BP_New").is_none() && gone.read == 0);
}

#[cfg(unix)]
#[test]
fn removed_links_are_no_longer_counted() {
    let (folder, project) = game();
    let link = folder.path().join("Content/Far");
    std::os::unix::fs::symlink("/nowhere", &link).expect("a link");
    let first = fresh(&project, None, 0, TrustPolicy::default()).index;
    assert_eq!(first.links_left_out, 1);
    fs::remove_file(&link).expect("it is there");
    let never = TrustPolicy { trusted: Duration::ZERO, folders: Duration::ZERO };
    let walked = first.walked;
    let again = fresh(&project, Some(first), walked, never);
    assert_eq!((again.checked, again.read, again.index.links_left_out), (Checked::Files, 0, 0));
}

#[test]
fn folders_below_the_depth_limit_are_missing_and_the_index_says_so() {
    let (folder, project) = game();
    let put = |depth: usize, name: &str| {
        let path = format!("{}{name}", "d/".repeat(depth));
        let package = format!("/Game/{path}");
        folder.put(&format!("Content/{path}.uasset"), bp(&package, "/Script/Engine.Actor"));
        package
    };
    let deepest = put(MAX_FOLDER_DEPTH, "Deepest");
    let whole = fresh(&project, None, 0, TrustPolicy::default()).index;
    assert!(!whole.cut && whole.find(&deepest).is_some());
    let too_deep = put(MAX_FOLDER_DEPTH + 1, "TooDeep");
    let cut = fresh(&project, None, 0, TrustPolicy::default()).index;
    assert!(cut.cut && cut.find(&deepest).is_some() && cut.find(&too_deep).is_none());
    assert!(Index::from_bytes(&cut.to_bytes()).expect("it was just stored").cut);
}

#[test]
fn progress_counts_the_headers_to_read() {
    let (folder, project) = game();
    for name in ["A", "B", "C"] {
        let header = format!("UCLASS() class A{name} : public AActor {{}};");
        folder.put(&format!("Source/MyGame/{name}.h"), header);
    }
    let updated = |old| {
        let mut calls = Vec::new();
        let (cpp, _) = CppClasses::update(old, &project, |read, of| {
            calls.push((read, of));
            true
        });
        (cpp, calls)
    };
    let (cpp, calls) = updated(None);
    assert_eq!(calls, [(0, 3), (1, 3), (2, 3)]);
    folder.put("Source/MyGame/C.h", "UCLASS() class ALonger : public AActor {};");
    let (cpp, calls) = updated(Some(cpp));
    assert_eq!((cpp.all().count(), calls), (3, vec![(0, 1)]));
}

#[test]
fn headers_left_for_lack_of_time_are_read_next_time() {
    let folder = Folder::new();
    folder.uproject();
    for number in 0..100 {
        let name = format!("BP_{number:03}");
        let bytes = bp(&format!("/Game/{name}"), "/Script/Engine.Actor");
        folder.put(&format!("Content/{name}.uasset"), bytes);
    }
    let project = find(folder.path()).expect("there is one");
    let first = refresh(&project, None, 0, TrustPolicy::default(), |read, of| {
        assert_eq!(of, 100);
        read < 64
    });
    assert_eq!((first.read, first.left), (64, 36));
    assert_eq!(first.index.find("/Game/BP_099").expect("it is known").state, State::Unread);
    let long = Duration::from_secs(3600);
    let trusting = TrustPolicy { trusted: long, folders: long };
    let walked = first.index.walked;
    let kept = Index::from_bytes(&first.index.to_bytes()).expect("it is what was kept");
    let second = fresh(&project, Some(kept), walked, trusting);
    assert_eq!((second.read, second.left), (36, 0));
}

#[test]
fn damaged_bytes_are_no_index() {
    let (_folder, project) = game();
    let kept = index(&project).to_bytes();
    for cut in 0..kept.len() {
        assert!(Index::from_bytes(&kept[..cut]).is_none(), "{cut}");
    }
    for at in 0..kept.len() {
        let mut damaged = kept.clone();
        damaged[at] ^= 0xFF;
        // A damaged index that parses can be searched.
        if let Some(index) = Index::from_bytes(&damaged) {
            index.search_assets(&AssetQuery::default());
            let inherits = BlueprintQuery::Inherits("Actor".to_owned());
            index.search_blueprints(&inherits, &CppClasses::default(), "", true);
            Relations::of(&index).broken("");
        }
    }
}
