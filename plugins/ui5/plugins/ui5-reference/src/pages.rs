//! The API reference as MCP resources: available releases, and any symbol of any release.

use crate::{Detail, Found, OPENUI5, Release, Shown, page_of};
use percent_encoding::percent_decode_str;
use portcullis_plugin::prelude::*;
use std::path::PathBuf;
use ui5::{
    Cdn, Framework,
    reference::{self, DATA_SETTING, Reference},
};
use ui5_data::is_version;

/// The start of the URIs; the framework, the version and the symbol follow.
const API: &str = "ui5://api/";

const TEMPLATE: &str = "ui5://api/{framework}/{version}/{+symbol}";

const JSON: &str = "application/json";

/// Maximum number of names in the list of a release.
const MAX_NAMES: usize = 100_000;

/// MCP's maximum number of names in a completion.
const MAX_COMPLETIONS: usize = 100;

/// The resources: a list of the releases that need no download, and a template for the symbols of any
/// release.
pub struct Pages;

impl Resources for Pages {
    fn templates() -> Vec<Template> {
        vec![
            Template::new(TEMPLATE, "ui5-api")
                .title("UI5 API reference")
                .description(
                    "The API reference of a symbol, of a member of a symbol, or of a module, in a version of \
                     OpenUI5 or SAPUI5, as get_api_reference shows it. Example: \
                     ui5://api/openui5/1.136.5/sap.m.Button#text. Versions that are not on this machine are downloaded.",
                )
                .mime_type(JSON),
        ]
    }

    fn list(_request: &Request, _cursor: Option<&str>) -> Result<Listing, Failure> {
        let releases = releases();
        let resource = |Release { framework, version }: Release| {
            let name = format!("{}-{version}", framework.lower_name());
            Resource::new(format!("{API}{}/{version}/", framework.lower_name()), name)
                .title(format!("API of {framework} {version}"))
                .description("The names of all symbols of this version. Append a name to this URI to read the symbol.")
                .mime_type("text/plain")
        };
        let resources = releases.into_iter().map(resource).collect();
        Ok(Listing { resources, ..Listing::default() })
    }

    fn read(request: &Request, uri: &str) -> Result<Contents, Failure> {
        let Some((release, symbol)) = parse(uri) else { return Err(Failure::not_found(uri)) };
        if symbol.is_empty() {
            return names(uri, &release);
        }
        let cdn = Cdn::from_settings().map_err(Failure::new)?;
        let reference = Reference::open_or_carried(&release, &cdn, request, Some(OPENUI5));
        let mut reference = reference.map_err(Failure::new)?;
        let found = reference.find(&symbol).map_err(|_| Failure::not_found(uri))?;
        let mut note = reference.note.clone();
        let shown = match found {
            Found::One(hit) => vec![Shown::of(&hit, &reference.release, Detail::Full)],
            Found::Module { module, symbols } => {
                let (shown, _) =
                    page_of(&mut reference, &module, &symbols, 1).map_err(Failure::new)?;
                if shown.len() < symbols.len() {
                    note = Some(format!(
                        "{}These are the first {} of the {} symbols of {module}. get_api_reference shows the others.",
                        note.map(|note| format!("{note} ")).unwrap_or_default(),
                        shown.len(),
                        symbols.len()
                    ));
                }
                shown
            }
        };
        let contents = shown.into_iter().map(|Shown { text, .. }| Contents::text(uri, JSON, text));
        let note = note.map(|note| Contents::text(uri, "text/plain", note));
        contents.chain(note).reduce(Contents::and).ok_or_else(|| Failure::not_found(uri))
    }

    fn complete(
        _request: &Request,
        template: &str,
        variable: &str,
        value: &str,
        context: &[(String, String)],
    ) -> Vec<String> {
        if template != TEMPLATE {
            return Vec::new();
        }
        let filled_in = |name: &str| {
            let filled = context.iter().find(|(known, _)| known == name);
            filled.map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        let releases = releases().into_iter().filter(|release| {
            filled_in("framework").is_empty()
                || filled_in("framework").eq_ignore_ascii_case(release.framework.lower_name())
        });
        match variable {
            "framework" => {
                let names =
                    Framework::ALL.iter().map(|framework| framework.lower_name().to_owned());
                names.filter(|name| name.starts_with(&value.to_lowercase())).collect()
            }
            "version" => {
                let versions = releases.map(|release| release.version);
                versions
                    .filter(|version| version.starts_with(value))
                    .take(MAX_COMPLETIONS)
                    .collect()
            }
            "symbol" => {
                let mut releases =
                    releases.filter(|release| release.version == filled_in("version"));
                let reference = releases.next().and_then(|release| open_exactly(&release));
                let names = reference
                    .and_then(|mut reference| reference.names(value, MAX_COMPLETIONS).ok());
                names.unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// The UI5 data directory.
fn directory() -> Option<PathBuf> {
    settings::get(DATA_SETTING).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The release and the symbol of a URI; the symbol may be empty.
fn parse(uri: &str) -> Option<(Release, String)> {
    let rest = percent_decode_str(uri.strip_prefix(API)?).decode_utf8().ok()?;
    let mut parts = rest.splitn(3, '/');
    let (framework, version) = (parts.next()?, parts.next()?.to_owned());
    let is_named = |known: &Framework| known.lower_name().eq_ignore_ascii_case(framework);
    let framework = Framework::ALL.into_iter().find(is_named).filter(|_| is_version(&version))?;
    Some((Release { framework, version }, parts.next().unwrap_or_default().to_owned()))
}

/// The releases that need no download: those in the data directory, and the plugin's own.
fn releases() -> Vec<Release> {
    let on_disk = directory().map(|directory| reference::releases_at_hand(&directory));
    let mut releases = on_disk.unwrap_or_default();
    if let Ok(carried) = Reference::carried(OPENUI5)
        && !releases.contains(&carried.release)
    {
        releases.push(carried.release);
    }
    releases
}

/// The reference of exactly this release, without a download: the names of another release would be wrong.
fn open_exactly(release: &Release) -> Option<Reference> {
    let on_disk = directory().and_then(|directory| Reference::at_hand(&directory, release).ok());
    let carried = || Reference::carried(OPENUI5).ok().filter(|it| it.release == *release);
    on_disk.filter(|reference| reference.note.is_none()).or_else(carried)
}

/// The names of all symbols of a release that needs no download, one per line.
fn names(uri: &str, release: &Release) -> Result<Contents, Failure> {
    let mut reference = open_exactly(release).ok_or_else(|| Failure::not_found(uri))?;
    let mut names = reference.names("", MAX_NAMES).map_err(Failure::new)?;
    names.sort();
    Ok(Contents::text(uri, "text/plain", names.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::prepared;
    use portcullis_plugin::content::ResourceData;

    fn texts(contents: &Contents) -> Vec<&str> {
        let all = contents.all.iter().map(|one| match &one.data {
            ResourceData::Text(text) => text.as_str(),
            ResourceData::Bytes(_) => panic!("it is text"),
        });
        all.collect()
    }

    #[test]
    fn available_releases_are_listed_with_their_names() {
        let (_folder, rehearsal, _) = prepared(3, "");
        let request = rehearsal.request();
        let listing = Pages::list(&request, None).expect("it is readable");
        let uris: Vec<&str> = listing.resources.iter().map(|one| one.0.uri.as_str()).collect();
        assert_eq!(uris, ["ui5://api/openui5/1.136.5/", "ui5://api/openui5/1.152.0/"]);
        let contents = Pages::read(&request, uris[0]).expect("it is listed");
        assert_eq!(texts(&contents), ["my.lib\nmy.lib.Type1\nmy.lib.Type2"]);
        let carried = Pages::read(&request, uris[1]).expect("it is listed");
        assert!(texts(&carried)[0].lines().any(|line| line == "sap.m.Button"));
        assert_eq!(rehearsal.sent(), []);
    }

    #[test]
    fn a_symbol_has_an_address() {
        let (_folder, rehearsal, _) = prepared(130, "");
        let read = |uri: &str| Pages::read(&rehearsal.request(), uri);
        for uri in
            ["ui5://api/openui5/1.136.5/my.lib#init", "ui5://api/OpenUI5/1.136.5/my/lib%23init"]
        {
            let contents = read(uri).expect(uri);
            assert_eq!(contents.all[0].uri, uri);
            let expected =
                r#"{"kind":"method","name":"init","module":"my/lib/library","library":"my.lib"}"#;
            assert_eq!(texts(&contents), [expected]);
        }
        let module = read("ui5://api/openui5/1.136.5/my/lib/library").expect("it is a module");
        let texts = texts(&module);
        assert_eq!(texts.len(), 65);
        assert_eq!(
            texts[64],
            "These are the first 64 of the 130 symbols of my/lib/library. get_api_reference shows the others."
        );
        let nearest = read("ui5://api/openui5/1.130.0/my.lib").expect("a neighbour is at hand");
        assert_eq!(nearest.all.len(), 2, "it is labelled");
    }

    #[test]
    fn unknown_uris_are_not_found() {
        let (_folder, rehearsal, _) = prepared(3, "");
        for uri in [
            "ui5://api/openui5/1.136.5/gone.away",
            "ui5://api/openui5/1.130.0/",
            "ui5://api/react/1.136.5/my.lib",
            "ui5://api/openui5",
            "ui5://api/openui5/../../",
            "ui5://api/openui5/%ff/x",
            "ui5://other",
        ] {
            let failure = Pages::read(&rehearsal.request(), uri).expect_err(uri);
            assert!(failure.to_string().contains(uri), "{uri}: {failure}");
        }
    }

    #[test]
    fn variables_are_completed_from_available_data() {
        let (_folder, rehearsal, _) = prepared(3, "");
        let complete = |variable: &str, value: &str, context: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let context: Vec<_> = context.iter().map(own).collect();
            Pages::complete(&rehearsal.request(), TEMPLATE, variable, value, &context)
        };
        let release = [("framework", "openui5"), ("version", "1.136.5")];
        assert_eq!(complete("framework", "O", &[]), ["openui5"]);
        assert_eq!(complete("version", "1.1", &release[..1]), ["1.136.5", "1.152.0"]);
        let carried = [("framework", "openui5"), ("version", "1.152.0")];
        assert_eq!(complete("symbol", "sap.m.Butt", &carried)[0], "sap.m.Button");
        assert_eq!(complete("version", "", &[("framework", "sapui5")]), <[String; 0]>::default());
        assert_eq!(complete("symbol", "my/lib/t", &release), ["my.lib.Type1", "my.lib.Type2"]);
        assert_eq!(complete("symbol", "TYPE2", &release), ["my.lib.Type2"]);
        assert_eq!(complete("symbol", "my", &[]), <[String; 0]>::default());
    }
}
