//! Calls a tool natively, as a host would: `cargo run -p ui5-fiori --example fiori -- TOOL JSON`.
//!
//! `TOOL` is `list_fiori_apps` or `add_fiori_page`, `JSON` are its arguments.

use portcullis_plugin::{Tool, rehearsal::Rehearsal};
use std::{env, error::Error};
use ui5_fiori::{add::AddPage, list::ListApps};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(tool), Some(json)) = (arguments.next(), arguments.next()) else {
        return Err("which tool, and with which arguments?".into());
    };
    let json = json.parse()?;
    let host = Rehearsal::new();
    let reply = match tool.as_str() {
        ListApps::NAME => host.call::<ListApps>(json),
        AddPage::NAME => host.call::<AddPage>(json),
        _ => return Err(format!("there is no tool {tool}").into()),
    };
    let reply = reply.map_err(|failure| failure.to_string())?;
    match &reply.structured {
        Some(structured) => println!("{structured:#}"),
        None => println!("{}", reply.as_text()),
    }
    Ok(())
}
