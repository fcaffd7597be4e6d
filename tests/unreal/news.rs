//! Tests of notifications that no call causes: packages that change on disk, and editors that start or end.

use std::fs;
use std::io::Write as _;
use std::time::Instant;

use serde_json::json;

use super::{editor, game, with_editor};
use crate::support::PATIENCE;
use crate::support::client::{Client, Era, Event};
use crate::support::editor::Server;

/// Calls `again` until a notification with this method arrives.
fn until_told(client: &mut Client, method: &str, mut again: impl FnMut(&mut Client)) {
    let deadline = Instant::now() + PATIENCE;
    let is_told = |event: &Event| match event {
        Event::Told(message) => message["method"] == method,
        Event::Asked(..) => false,
    };
    while !std::mem::take(&mut client.events).iter().any(is_told) {
        assert!(Instant::now() < deadline, "nobody said {method}");
        again(client);
    }
}

#[test]
fn a_changed_package_is_notified_to_its_subscribers() {
    let home = game("");
    let package = home.files().join("MyGame/Content/BP_Door.uasset");
    fs::write(&package, "version https://git-lfs.github.com/spec/v1\n").expect("a home");
    let uri = "unreal+md:///Game/BP_Door";
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        client.watch(uri);
        // The test cannot see when the file is first read, so the file changes until a notification arrives.
        until_told(&mut client, "notifications/resources/updated", |client| {
            let mut file = fs::OpenOptions::new().append(true).open(&package).expect("it is there");
            file.write_all(b"x").expect("a home can be written");
            client.call("query_asset", json!({"assetPath": "/Game/BP_Door"}));
        });
    }
}

#[test]
fn changed_resources_are_notified_when_an_editor_starts_or_ends() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_editor(&editor, Server::Plugin));
    let mut client = Client::start(&home, Era::Legacy);
    let changed = "notifications/resources/list_changed";
    let look = |client: &mut Client| {
        client.call("unreal_status", json!({}));
    };
    until_told(&mut client, changed, look);
    look(&mut client);
    client.events.clear();
    drop(editor);
    until_told(&mut client, changed, look);
}
