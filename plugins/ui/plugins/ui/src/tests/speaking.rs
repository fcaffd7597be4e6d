//! Tests of two properties of pages: their languages, and whether they may call their tool.

use super::{address, house, page_at};
use crate::{page::tests::data, view_assignment::Pages};
use portcullis_plugin::{content::ResourceData, prelude::*, serde_json::Value};

#[test]
fn a_page_can_read_messages_in_other_languages() {
    let house = house();
    let uri = "ui://portcullis/messages/de.json";
    let mut contents = Pages::read(&house.request(), uri).expect("it is there");
    let one = contents.all.remove(0);
    assert_eq!(one.mime_type.as_deref(), Some("application/json"));
    let ResourceData::Text(text) = one.data else { panic!("messages are text") };
    let messages: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(messages["run"], "Ausführen");
    assert!(Pages::version(&house.request(), uri).expect("it has one").is_some());
    Pages::read(&house.request(), "ui://portcullis/messages/xx.json")
        .expect_err("there are no messages in this language");
}

#[test]
fn the_operators_languages_are_in_pages_and_change_their_uris() {
    let english = address(&house(), "get_forecast");
    let house = house().setting("languages", "ja_JP.UTF-8");
    let japanese = address(&house, "get_forecast");
    assert_ne!(english, japanese);
    assert!(page_at(&house, &japanese).contains("portcullisMessages??={}).ja="));
    assert!(!page_at(&house, &japanese).contains("portcullisMessages??={}).de="));
}

#[test]
fn a_page_knows_whether_it_may_call_its_tool() {
    let callable =
        |house: &_, tool| data(&page_at(house, &address(house, tool)))["callable"].clone();
    let closed = house();
    assert_eq!(callable(&closed, "delete_everything"), false);
    assert_eq!(callable(&closed, "get_forecast"), Value::Null);
    let before = address(&closed, "delete_everything");
    let open = house().setting("destructive", "true");
    assert_eq!(callable(&open, "delete_everything"), Value::Null);
    assert_ne!(before, address(&open, "delete_everything"), "clients keep pages by address");
}
