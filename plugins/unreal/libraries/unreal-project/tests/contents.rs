//! Tests the search inside Blueprints: its hits, its storage, and its updates after changes.

use crate::support::{Folder, bp, fresh, index};
use unreal_package::{
    Guid, Index as Object,
    writer::{DraftPackage, DraftPin, DraftValue, Profile, blueprint},
};
use unreal_project::{
    ContentKind, ContentQuery, ContentState, Contents, Index, Project, TrustPolicy,
    UpdatedContents, find,
};

/// The graph of a generated Blueprint.
const GRAPH: Object = Object(3);

fn node(draft: &mut DraftPackage, class: &str, property: &str, name: &str) -> Object {
    let path = format!("/Script/BlueprintGraph.{class}");
    let node = draft.export(&path, GRAPH, &format!("{class}_9"));
    let member = vec![("MemberName".to_owned(), DraftValue::Name(name.to_owned()))];
    draft.set(node, property, DraftValue::Struct("MemberReference".to_owned(), member));
    draft.set(node, "NodeGuid", DraftValue::Guid(Guid([1, 2, 3, 4])));
    node
}

/// A Blueprint that reads and sets a variable, and calls a function with a text.
fn nurse(package: &str, text: &str) -> Vec<u8> {
    let mut draft = blueprint(Profile::of("5.4"), package, "/Script/Engine.Actor");
    node(&mut draft, "K2Node_VariableGet", "VariableReference", "Health");
    node(&mut draft, "K2Node_VariableSet", "VariableReference", "Health");
    let call = node(&mut draft, "K2Node_CallFunction", "FunctionReference", "HealthUp");
    let pin = DraftPin { id: Guid([0, 0, 0, 77]), name: "Why".to_owned(), ..DraftPin::default() };
    let pin = DraftPin { kind: "string".to_owned(), default: text.to_owned(), ..pin };
    draft.pins(call, &[pin]);
    draft.bytes()
}

fn clinic() -> (Folder, Project) {
    let folder = Folder::new();
    folder.uproject();
    folder.put("Content/A/BP_Nurse.uasset", nurse("/Game/A/BP_Nurse", "good health"));
    folder.put("Content/B/BP_Doctor.uasset", nurse("/Game/B/BP_Doctor", "rest"));
    folder.put("Content/B/BP_Idle.uasset", bp("/Game/B/BP_Idle", "/Script/Engine.Actor"));
    let mut map = DraftPackage::new(Profile::of("5.4"), "/Game/Town");
    map.export("/Script/Engine.World", Object(0), "Town");
    map.asset("Town", "/Script/Engine.World", &[]);
    folder.put("Content/Town.umap", map.bytes());
    folder.put("Content/Lfs.uasset", "version https://git-lfs.github.com/spec/v1\nsize 12\n");
    let project = find(folder.path()).expect("there is one");
    (folder, project)
}

fn collect(project: &Project, index: &Index, old: Option<Contents>) -> UpdatedContents {
    Contents::update(old, index, project, |_, _| true)
}

fn query(term: &str) -> ContentQuery {
    ContentQuery { term: term.to_owned(), most: 100, ..ContentQuery::default() }
}

/// Package, kind, part and text of each hit.
fn hits(contents: &Contents, index: &Index, query: &ContentQuery) -> Vec<String> {
    let found = contents.search(index, query);
    assert!(found.hits.len() <= found.total);
    let text = |hit: &unreal_project::ContentHit<'_>| {
        let package = index.text(hit.entry.package);
        format!("{package} {:?} {}={}", hit.kind, hit.part, hit.text)
    };
    found.hits.iter().map(text).collect()
}

#[test]
fn calls_reads_and_writes_are_found() {
    let (_folder, project) = clinic();
    let index = index(&project);
    let first = collect(&project, &index, None);
    assert_eq!((first.changed, first.read, first.left), (true, 4, 0));
    let contents = first.contents;
    let of = |kinds: &[ContentKind], exact| {
        let query = ContentQuery { kinds: kinds.to_vec(), exact, ..query("health") };
        hits(&contents, &index, &query)
    };
    assert_eq!(
        of(&[ContentKind::VariableSet], true),
        [
            "/Game/A/BP_Nurse VariableSet variable=Health",
            "/Game/B/BP_Doctor VariableSet variable=Health",
        ]
    );
    assert_eq!(of(&[ContentKind::Call], true), [""; 0]);
    let calls = of(&[ContentKind::Call, ContentKind::Literal], false);
    assert_eq!(
        calls,
        [
            "/Game/A/BP_Nurse Call function=HealthUp",
            "/Game/A/BP_Nurse Literal Why=good health",
            "/Game/B/BP_Doctor Call function=HealthUp",
        ]
    );
    let query =
        ContentQuery { paths: vec!["/game/a".to_owned()], offset: 1, most: 2, ..query("health") };
    let found = contents.search(&index, &query);
    assert_eq!((found.total, found.packages, found.searched, found.hits.len()), (4, 1, 1, 2));
    let counts: Vec<_> = ContentKind::ALL.into_iter().zip(found.counts).collect();
    for (kind, expected) in [
        (ContentKind::Node, 3),
        (ContentKind::Call, 1),
        (ContentKind::VariableGet, 1),
        (ContentKind::VariableSet, 1),
        (ContentKind::Event, 0),
        (ContentKind::Literal, 1),
    ] {
        assert!(counts.contains(&(kind, expected)), "{counts:?}");
    }
    let hit = found.hits[0];
    assert_eq!(
        (hit.graph, hit.node, hit.title),
        ("EventGraph", "K2Node_VariableSet_9", "Set Health")
    );
    assert_eq!(hit.guid, Some(Guid([1, 2, 3, 4])));
}

#[test]
fn only_changed_packages_are_read_again() {
    let (folder, project) = clinic();
    let first = index(&project);
    let kept = collect(&project, &first, None).contents.to_bytes();
    let load = || Contents::from_bytes(&kept).expect("it is what was kept");
    assert_eq!(load().to_bytes(), kept);
    let again = collect(&project, &first, Some(load()));
    assert_eq!((again.changed, again.read), (false, 0));
    let before = hits(&again.contents, &first, &query("e"));
    assert_eq!(before, hits(&collect(&project, &first, None).contents, &first, &query("e")));
    folder.put("Content/B/BP_Doctor.uasset", nurse("/Game/B/BP_Doctor", "another remedy"));
    std::fs::remove_file(folder.path().join("Content/B/BP_Idle.uasset")).expect("it is there");
    let never =
        TrustPolicy { trusted: std::time::Duration::ZERO, folders: std::time::Duration::ZERO };
    let second = fresh(&project, Some(first), 0, never).index;
    let after = collect(&project, &second, Some(load()));
    assert_eq!((after.changed, after.read), (true, 1));
    let found = hits(&after.contents, &second, &query("remedy"));
    assert_eq!(found, ["/Game/B/BP_Doctor Literal Why=another remedy"]);
    assert_eq!(hits(&after.contents, &second, &query("good health")).len(), 1);
    assert_eq!(hits(&after.contents, &second, &query("rest")), [""; 0]);
}

#[test]
fn packages_left_for_lack_of_time_are_reported_and_read_later() {
    let (_folder, project) = clinic();
    let index = index(&project);
    let first = Contents::update(None, &index, &project, |_, of| {
        assert_eq!(of, 4);
        false
    });
    assert_eq!((first.read, first.left), (0, 4));
    let found = first.contents.search(&index, &query("health"));
    assert_eq!((found.total, found.searched), (0, 0));
    assert_eq!(found.unsearched, [(ContentState::Waiting, 4)]);
    let second = collect(&project, &index, Some(first.contents));
    assert_eq!((second.read, second.left), (4, 0));
    assert_eq!(second.contents.search(&index, &query("health")).searched, 4);
}

#[test]
fn damaged_contents_do_not_panic() {
    let (_folder, project) = clinic();
    let index = index(&project);
    let kept = collect(&project, &index, None).contents.to_bytes();
    for cut in 0..kept.len() {
        assert!(Contents::from_bytes(&kept[..cut]).is_none(), "{cut}");
    }
    for at in 0..kept.len() {
        let mut damaged = kept.clone();
        damaged[at] ^= 0xFF;
        if let Some(contents) = Contents::from_bytes(&damaged) {
            contents.search(&index, &query("e"));
            collect(&project, &index, Some(contents)).contents.search(&index, &query("e"));
        }
    }
}
