//! Tests of results as a profile wants them: in pages, and with structured content, its text, or both.

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::stand_in;

/// The definition of a listed tool.
fn definition(client: &mut Client, name: &str) -> Option<Value> {
    let id = client.request("tools/list", json!({}));
    let reply = client.reply(id);
    let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}")).clone();
    tools.into_iter().find(|tool| tool["name"] == name)
}

#[test]
fn a_long_answer_is_given_in_pages() {
    for era in Era::BOTH {
        let home = Home::new();
        home.configure("[profiles.small]\nfamilies = [\"ui5\"]\nresult-tokens = 200\n");
        let mut client =
            Client::start_with(&home, &["serve", "--profile", "small"], era, json!({}));
        assert!(definition(&mut client, "read_result").is_some());
        let reply = client.call("get_guidelines", json!({}));
        let (first, link) = (text_of(&reply), reply["result"]["content"][1]["uri"].clone());
        assert!(first.len() < 1_200 && first.contains("[Page 1 of "), "{first}");
        let id = first.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next());
        let id = id.expect("the answer names its id").to_owned();
        let second = client.text("read_result", json!({"id": id, "page": 2}));
        assert!(second.len() < 1_000 && second.contains("[Page 2 of "), "{second}");
        let read = client.request("resources/read", json!({"uri": link}));
        let read = client.finish(read);
        let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert!(!text.is_empty() && second.starts_with(&text), "{read}");
        let past = client.text("read_result", json!({"id": id, "page": 9_999}));
        assert!(past.starts_with("error: there is no page 9999: the answer has "), "{past}");
        let other = client.text("read_result", json!({"id": "x", "page": 1}));
        assert!(other.contains("no longer kept"), "{other}");
        let short = client.text("create_integration_card", json!({"basePath": "/nowhere"}));
        assert!(!short.contains("[Page"), "{short}");
    }
}

/// A client of this profile, in front of a server whose tool `rows` sends two texts, of which one repeats the structured
/// content.
fn client_of(home: &Home, era: Era, profile: &str) -> Client {
    home.configure(&format!(
        "[profiles.it]\n{profile}\n[upstreams.shop]\ncommand = {:?}\nargs = [\"stdio\", \"rows\"]\n",
        stand_in()
    ));
    Client::start_with(home, &["serve", "--profile", "it"], era, json!({}))
}

#[test]
fn a_client_gets_structured_content_as_it_reads_it() {
    let rows = json!({"rows": [{"id": 1}, {"id": 2}]});
    for era in Era::BOTH {
        for (habit, texts, is_structured) in
            [("with-text", 2, true), ("alone", 1, true), ("as-text", 2, false)]
        {
            let home = Home::new();
            let profile = format!("families = [\"shop\"]\nstructured-content = \"{habit}\"");
            let mut client = client_of(&home, era, &profile);
            let listed = definition(&mut client, "rows").expect("it is listed");
            assert_eq!(listed.get("outputSchema").is_some(), is_structured, "{habit}: {listed}");
            let result = client.call("rows", json!({}))["result"].clone();
            assert_eq!(
                result["content"].as_array().map(Vec::len),
                Some(texts),
                "{habit}: {result}"
            );
            let structured = is_structured.then_some(&rows);
            assert_eq!(result.get("structuredContent"), structured, "{habit}: {result}");
            assert_eq!(result["odd"], 1, "other members stay: {result}");
        }
        let home = Home::new();
        let profile = "offer = \"code\"\nstructured-content = \"as-text\"";
        let mut client = client_of(&home, era, profile);
        let reply = client.call("run_code", json!({"code": "return 6 * 7"}));
        assert_eq!(reply["result"].get("structuredContent"), None, "a plugin's tool: {reply}");
        assert!(text_of(&reply).contains("42"), "{reply}");
    }
}

#[test]
fn structured_content_is_in_the_pages_of_a_long_answer() {
    for era in Era::BOTH {
        let home = Home::new();
        let mut client = client_of(&home, era, "families = [\"shop\"]\nresult-tokens = 100");
        let listed = definition(&mut client, "rows").expect("it is listed");
        assert_eq!(
            listed.get("outputSchema"),
            None,
            "an answer in pages has no structure: {listed}"
        );
        let reply = client.call("rows", json!({"many": true}));
        assert_eq!(reply["result"].get("structuredContent"), None, "{reply}");
        let first = text_of(&reply);
        assert!(first.starts_with("many rows\n{\"rows\":[{\"id\":0}"), "{first}");
        let id = first.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next());
        let pages = first.split("[Page 1 of ").nth(1).and_then(|rest| rest.split('.').next());
        let last = json!({"id": id, "page": pages.and_then(|number| number.parse::<u32>().ok())});
        let last = client.text("read_result", last);
        assert!(last.contains("{\"id\":99}]}"), "{last}");
    }
}
