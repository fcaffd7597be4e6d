//! The files of a card and the values for their templates.

use super::{CardType, Destination};
use crate::{
    render::{File, Template, render},
    versions,
};
use portcullis_plugin::serde_json::json;
use semver::Version;

/// A template of a card's folder.
macro_rules! card {
    ($path:literal) => {
        Template {
            target: $path,
            text: include_str!(concat!("../../../../resources/templates/card/", $path)),
        }
    };
}

/// Files of cards of all types.
const COMMON: &[Template] = &[
    card!("package.json"),
    card!("card/manifest.json"),
    card!("card/i18n/i18n.properties"),
    card!("card/dt/Configuration.js"),
    card!("test/index.html"),
    card!("test/App.js"),
    card!("test/index.css"),
];

/// Files of component cards.
const COMPONENT: &[Template] = &[card!("card/Component.js"), card!("card/View.view.xml")];

/// Files of WebPage cards: the page that a new card shows.
const WEB_PAGE: &[Template] = &[card!("card/web/page.html"), card!("card/web/page.css")];

/// Parts of the manifest: its content for each type of card.
const PARTS: &[Template] = &[
    card!("card/content/adaptive.json"),
    card!("card/content/analytical.json"),
    card!("card/content/calendar.json"),
    card!("card/content/component.json"),
    card!("card/content/list.json"),
    card!("card/content/object.json"),
    card!("card/content/table.json"),
    card!("card/content/timeline.json"),
    card!("card/content/webpage.json"),
];

/// All files of the card.
pub fn of(card_type: CardType, destinations: &[Destination]) -> Vec<File> {
    let type_files = match card_type {
        CardType::Component => COMPONENT,
        CardType::WebPage => WEB_PAGE,
        CardType::Adaptive
        | CardType::Analytical
        | CardType::Calendar
        | CardType::List
        | CardType::Object
        | CardType::Table
        | CardType::Timeline => &[],
    };
    let name = card_type.name();
    let destinations: Vec<_> = destinations
        .iter()
        .map(|destination| {
            json!({ "name": destination.name, "default_url": destination.default_url })
        })
        .collect();
    let values = json!({
        "card_type": name,
        "content_template": format!("card/content/{}.json", name.to_lowercase()),
        "destinations": destinations,
        "manifest_version": versions::manifest_of_card(),
    });
    // A card runs with the UI5 version of its host: no template depends on a version.
    render(&[COMMON, type_files].concat(), PARTS, &Version::new(1, 0, 0), &values)
}
