//! Calls a tool natively, as a host would: `cargo run -p ui5-create --example generate -- TOOL JSON`.
//!
//! `TOOL` is `create_ui5_app` or `create_integration_card`, `JSON` are its arguments. There is no
//! network: a version that is not given comes from the table, and services do not answer.

use portcullis_plugin::{Tool, rehearsal::Rehearsal};
use std::{env, error::Error};
use ui5_create::{app::CreateApp, card::CreateCard};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(tool), Some(json)) = (arguments.next(), arguments.next()) else {
        return Err("which tool, and with which arguments?".into());
    };
    let json = json.parse()?;
    let host = Rehearsal::new();
    let reply = match tool.as_str() {
        CreateApp::NAME => host.call::<CreateApp>(json),
        CreateCard::NAME => host.call::<CreateCard>(json),
        _ => return Err(format!("there is no tool {tool}").into()),
    };
    println!("{}", reply.map_err(|failure| failure.to_string())?.as_text());
    Ok(())
}
