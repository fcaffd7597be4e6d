//! Tests that a program with granted hosts makes no sockets that lead around its network. `tests/upstream_cold.rs` tests the
//! hosts themselves.

#![cfg(target_os = "linux")]

mod stand_in;

use portcullis_mcp_client::{ClientSettings, Definition, Upstream};
use serde_json::{Value, json};
use stand_in::{program, said, within};

fn upstream(confine: Value) -> Upstream {
    let mut definition = json!({"command": program(), "args": ["stdio"]});
    if !confine.is_null() {
        definition["confine"] = confine;
    }
    let definition: Definition = serde_json::from_value(definition).unwrap();
    let mut client = ClientSettings::new("test", "1");
    client.launcher = Some(program());
    Upstream::new("stand-in", definition, client).unwrap()
}

#[tokio::test]
async fn a_program_with_granted_hosts_reaches_no_other_process() {
    within(async {
        for (confine, expected) in [
            (Value::Null, "made"),
            (json!({"network": true}), "made"),
            (json!({"hosts": ["a.example"]}), "Operation not permitted (os error 1)"),
            (json!({}), "Operation not permitted (os error 1)"),
        ] {
            let upstream = upstream(confine.clone());
            assert_eq!(said(&upstream, "socket", json!({})).await, expected, "{confine}");
        }
    })
    .await;
}
