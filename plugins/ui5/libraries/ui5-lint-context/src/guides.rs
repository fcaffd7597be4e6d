//! Guides for findings that the linter cannot fix, chosen by the API of the finding.

use crate::{
    topics::{Page, title},
    type_info::{Kind, TypeInfo},
};

/// A guide: its file, its text, and a condition for the API of a finding.
struct Guide {
    file: &'static str,
    text: &'static str,
    fits: fn(&TypeInfo) -> bool,
}

macro_rules! guide {
    ($file:literal, $fits:expr) => {
        Guide {
            file: $file,
            text: include_str!(concat!("../../../resources/guides/migration/", $file)),
            fits: $fits,
        }
    };
}

const GUIDES: &[Guide] = &[
    guide!("controller-factory.md", |info| {
        info.is(&[
            (Kind::Function, "controller"),
            (Kind::Namespace, "ui"),
            (Kind::Namespace, "sap"),
        ])
    }),
    guide!("jquery-sap-require.md", |info| {
        // The linter reports everything in `jQuery.sap` as a namespace.
        ["declare", "require"].iter().any(|name| {
            info.is(&[(Kind::Namespace, name), (Kind::Namespace, "sap"), (Kind::Module, "jQuery")])
        })
    }),
    guide!("message-page.md", |info| info.module() == Some("sap/m/MessagePage")),
    guide!("library-resource-bundle.md", |info| {
        info.module() == Some("sap/ui/core/Core") && info.name == "getLibraryResourceBundle"
    }),
    guide!("table-row-mode.md", |info| {
        info.module() == Some("sap/ui/table/Table") && is_row_setting(&info.name)
    }),
];

/// Whether the name is a setting that `rowMode` replaces, or an accessor of such a setting.
fn is_row_setting(name: &str) -> bool {
    let bare = ["set", "get", "bind", "unbind"]
        .iter()
        .find_map(|verb| {
            name.strip_prefix(verb).filter(|rest| rest.starts_with(char::is_uppercase))
        })
        .unwrap_or(name);
    [
        "rowHeight",
        "visibleRowCountMode",
        "visibleRowCount",
        "minAutoRowCount",
        "fixedRowCount",
        "fixedBottomRowCount",
    ]
    .iter()
    .any(|setting| setting.eq_ignore_ascii_case(bare))
}

/// The guides for these APIs, in the order of the APIs, without duplicates.
pub fn guides<'i>(infos: impl IntoIterator<Item = &'i TypeInfo>) -> Vec<Page> {
    let mut chosen: Vec<&Guide> = Vec::new();
    for info in infos {
        if let Some(guide) = GUIDES.iter().find(|guide| (guide.fits)(info))
            && !chosen.iter().any(|known| known.file == guide.file)
        {
            chosen.push(guide);
        }
    }
    chosen.into_iter().map(page).collect()
}

/// All guides.
pub fn all_guides() -> impl Iterator<Item = Page> {
    GUIDES.iter().map(page)
}

fn page(guide: &Guide) -> Page {
    Page {
        title: title(guide.text),
        text: guide.text.to_owned(),
        uri: format!("ui5-linter-result://migration-guides/{}", guide.file),
    }
}
