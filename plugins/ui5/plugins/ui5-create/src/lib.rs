//! The tools that create UI5 applications and UI integration cards.

pub mod app;
pub mod card;
mod domains;
mod escape;
mod finish;
mod order;
mod render;
mod service;
#[cfg(test)]
mod test_support;
mod versions;
mod write_files;

use app::{AUTHOR_SETTING, CreateApp};
use card::CreateCard;
use portcullis_plugin::prelude::*;

/// Whether the text can be the name of an author or a destination.
fn is_author(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .,'@_-".contains(&byte))
}

plugin! {
    name: "ui5-create",
    title: "UI5 creation",
    description: "Creates UI5 applications and UI integration cards from templates of its own.",
    tools: [CreateApp, CreateCard],
    wants: [
        Want::http("ui5.sap.com", "GET", "to ask which SAPUI5 version is the latest"),
        Want::http("sdk.openui5.org", "GET", "to ask which OpenUI5 version is the latest"),
        Want::http("$cdn-url", "GET", "to ask the configured mirror instead").optional(),
        Want::http(
            "http://localhost:4004",
            "GET",
            "to read the metadata of a service on the app's own server, such as a CAP server",
        )
        .optional(),
        Want::http_argument("/oDataV4Url", "GET", "to read the metadata of the OData service").optional(),
        Want::directory("$versions-dir", "to read lists of versions that were brought from elsewhere")
            .optional(),
        Want::settings("versions-dir", "the absolute path of the folder with lists of versions that were brought from elsewhere"),
        Want::settings("cdn-url", "the address of a mirror of the UI5 CDN"),
        Want::settings(
            domains::SETTING,
            "the domains that URLs may name, separated by commas; empty: all domains; not set: localhost and \
             services.odata.org",
        ),
        Want::settings(AUTHOR_SETTING, "the author of apps if the call names none"),
        Want::process("npm-install", "to install the npm packages of a new app"),
        Want::process("git-repository", "to make a git repository of a new app, with a first commit"),
        Want::cache(1024 * 1024, "to keep the list of UI5 versions, so that it is fetched at most once in six hours"),
    ],
}
