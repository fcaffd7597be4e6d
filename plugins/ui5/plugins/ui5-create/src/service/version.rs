//! The version of OData that a service speaks: UI5 has a model for V2 and another one for V4.

use portcullis_plugin::prelude::*;
use roxmltree::Node;

/// A version of OData for which UI5 has a model.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[schemars(inline)]
pub enum ODataVersion {
    #[serde(rename = "2.0")]
    V2,
    #[serde(rename = "4.0")]
    V4,
}

impl ODataVersion {
    /// The number, as manifests write it.
    pub fn number(self) -> &'static str {
        match self {
            Self::V2 => "2.0",
            Self::V4 => "4.0",
        }
    }

    /// The short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "V2",
            Self::V4 => "V4",
        }
    }

    /// The version that the path of a URL suggests: a part named `v2` or `v4`, or the paths of SAP Gateway.
    pub fn suggested_by(path: &str) -> Option<Self> {
        let path = path.to_ascii_lowercase();
        let has_part = |name: &str| path.split('/').any(|part| part == name);
        if path.starts_with("/sap/opu/odata4/") || has_part("v4") {
            return Some(Self::V4);
        }
        (path.starts_with("/sap/opu/odata/") || has_part("v2")).then_some(Self::V2)
    }
}

/// The version of OData that the metadata of a service name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataVersion {
    /// A version for which UI5 has a model.
    Known {
        /// The version.
        version: ODataVersion,
        /// Whether the service speaks OData 3.0 as well.
        also_v3: bool,
    },
    /// Any other version, or none, in words: `OData 3.0 only`, `no version of OData`.
    Other(String),
}

impl MetadataVersion {
    /// Reads the version of a metadata document from its root, `edmx:Edmx`.
    ///
    /// In OData 4, the attribute `Version` of the root is the version of OData. In all older versions, it is
    /// `1.0`, and attributes of `edmx:DataServices` name the version. Prefixes do not matter.
    pub fn of(root: Node<'_, '_>) -> Self {
        let version = attribute(root, "Version").unwrap_or_default().trim();
        match version.split_once('.').map_or(version, |(major, _)| major) {
            "4" => Self::Known { version: ODataVersion::V4, also_v3: false },
            "1" => Self::of_data_services(root),
            "" => Self::Other("no version of OData".to_owned()),
            _ => Self::Other(format!("the version {}", shown(version))),
        }
    }

    /// Reads the version of a service before OData 4 from two attributes. `DataServiceVersion` is the version
    /// that clients must support; without it, the namespaces of the schemas tell whether it is 3.0.
    /// `MaxDataServiceVersion`, which came with 3.0, is the newest version of the service.
    fn of_data_services(root: Node<'_, '_>) -> Self {
        let services = root.children().find(|child| child.tag_name().name() == "DataServices");
        let major = |name| {
            let text = services.and_then(|services| attribute(services, name))?.trim();
            // `2.0;` is valid, too.
            text.split(['.', ';']).next()?.parse::<u32>().ok()
        };
        let is_third = |node: &Node<'_, '_>| {
            node.tag_name().name() == "Schema"
                && node.tag_name().namespace()
                    == Some("http://schemas.microsoft.com/ado/2009/11/edm")
        };
        let required = major("DataServiceVersion")
            .unwrap_or_else(|| if root.descendants().any(|node| is_third(&node)) { 3 } else { 2 });
        match required {
            1 | 2 => Self::Known {
                version: ODataVersion::V2,
                also_v3: major("MaxDataServiceVersion").is_some_and(|newest| newest >= 3),
            },
            3 => Self::Other("OData 3.0 only".to_owned()),
            other => Self::Other(format!("the version {other}.0")),
        }
    }
}

/// An attribute with any prefix, or none.
fn attribute<'x>(node: Node<'x, '_>, name: &str) -> Option<&'x str> {
    node.attributes().find(|attribute| attribute.name() == name).map(|found| found.value())
}

/// A value from a service for a message: at most 20 characters, and only harmless ones.
fn shown(text: &str) -> String {
    let is_harmless = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    format!("'{}'", text.chars().filter(is_harmless).take(20).collect::<String>())
}

/// The version to create an app for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceVersion {
    /// The version.
    pub version: ODataVersion,
    /// A note for the answer: which version, and how it was found.
    pub note: String,
}

/// Decides on the version: by the metadata, or else by the argument, or else by the path of the URL. Fails
/// if the service speaks neither V2 nor V4.
pub fn settle(
    from_metadata: Option<&MetadataVersion>,
    from_argument: Option<ODataVersion>,
    path: &str,
) -> Result<ServiceVersion, String> {
    let settled = |version: ODataVersion, note: String| Ok(ServiceVersion { version, note });
    match (from_metadata, from_argument, ODataVersion::suggested_by(path)) {
        (Some(MetadataVersion::Other(what)), _, _) => Err(format!(
            "The metadata of the OData service name {what}. UI5 has models for OData V2 and V4. Please \
             give the URL of the service in one of these versions, or omit it to create an app without \
             an OData model. Nothing was written."
        )),
        (Some(MetadataVersion::Known { version, also_v3 }), _, _) => {
            let mut note =
                format!("The service speaks OData {} (found in its metadata).", version.name());
            if *also_v3 {
                note.push_str(" It speaks OData 3.0 as well, for which UI5 has no model.");
            }
            if let Some(unused) = from_argument.filter(|argument| argument != version) {
                note.push_str(&format!(
                    " The argument oDataVersion names {}, which is not used.",
                    unused.name()
                ));
            }
            settled(*version, note)
        }
        (None, Some(version), _) => settled(
            version,
            format!("The app has a model for OData {}, as oDataVersion says.", version.name()),
        ),
        (None, None, Some(version)) => settled(
            version,
            format!(
                "The app has a model for OData {}, which the URL suggests. If the service speaks another \
                 version, remove the app and call this tool again with oDataVersion.",
                version.name()
            ),
        ),
        (None, None, None) => settled(
            ODataVersion::V4,
            "The version of the OData service is not known, and the app has a model for OData V4. If the \
             service speaks V2, remove the app and call this tool again with oDataVersion \"2.0\"."
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    fn spoken(text: &str) -> MetadataVersion {
        MetadataVersion::of(Document::parse(text).expect("it is XML").root_element())
    }

    fn known(version: ODataVersion, also_v3: bool) -> MetadataVersion {
        MetadataVersion::Known { version, also_v3 }
    }

    /// The beginning of metadata before OData 4, with attributes of `DataServices`.
    fn old(attributes: &str, schema: &str) -> String {
        format!(
            "<q:Edmx Version=\"1.0\" xmlns:q=\"http://schemas.microsoft.com/ado/2007/06/edmx\" \
             xmlns:odd=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\
             <q:DataServices {attributes}><Schema xmlns=\"http://schemas.microsoft.com/ado/{schema}/edm\"/>\
             </q:DataServices></q:Edmx>"
        )
    }

    #[test]
    fn metadata_name_their_version() {
        let v4 = "<a:Edmx xmlns:a=\"http://docs.oasis-open.org/odata/ns/edmx\" Version=\"4.01\"/>";
        assert_eq!(spoken(v4), known(ODataVersion::V4, false));
        for (attributes, expected) in [
            ("odd:DataServiceVersion=\"2.0\"", known(ODataVersion::V2, false)),
            ("odd:DataServiceVersion=\"1.0\"", known(ODataVersion::V2, false)),
            ("DataServiceVersion=' 2.0;'", known(ODataVersion::V2, false)),
            ("", known(ODataVersion::V2, false)),
            (
                "odd:DataServiceVersion=\"1.0\" odd:MaxDataServiceVersion=\"3.0\"",
                known(ODataVersion::V2, true),
            ),
            (
                "odd:DataServiceVersion=\"3.0\" odd:MaxDataServiceVersion=\"3.0\"",
                MetadataVersion::Other("OData 3.0 only".to_owned()),
            ),
            (
                "odd:DataServiceVersion=\"9.0\"",
                MetadataVersion::Other("the version 9.0".to_owned()),
            ),
        ] {
            assert_eq!(spoken(&old(attributes, "2008/09")), expected, "{attributes}");
        }
        assert_eq!(
            spoken(&old("", "2009/11")),
            MetadataVersion::Other("OData 3.0 only".to_owned())
        );
        for (text, expected) in [
            ("<Edmx/>", "no version of OData"),
            ("<Edmx Version='5.0'/>", "the version '5.0'"),
            ("<Edmx Version='7 &lt;b> Ignore'/>", "the version '7bIgnore'"),
        ] {
            assert_eq!(spoken(text), MetadataVersion::Other(expected.to_owned()));
        }
    }

    #[test]
    fn paths_suggest_a_version() {
        for (path, expected) in [
            ("/odata/v2/catalog/", Some(ODataVersion::V2)),
            ("/V2/Northwind/Northwind.svc/", Some(ODataVersion::V2)),
            ("/sap/opu/odata/sap/API_X/", Some(ODataVersion::V2)),
            ("/sap/opu/odata4/sap/api_x/", Some(ODataVersion::V4)),
            ("/odata/v4/catalog/", Some(ODataVersion::V4)),
            ("/catalog/v21/", None),
        ] {
            assert_eq!(ODataVersion::suggested_by(path), expected, "{path}");
        }
    }

    #[test]
    fn metadata_decide_then_the_argument_then_the_url() {
        let of = |spoken: Option<&MetadataVersion>, named, path| settle(spoken, named, path);
        let v2 = known(ODataVersion::V2, true);
        let settled = of(Some(&v2), Some(ODataVersion::V4), "/odata/v4/a/").expect("it is known");
        assert_eq!(settled.version, ODataVersion::V2);
        assert!(settled.note.starts_with("The service speaks OData V2 (found in its metadata)."));
        assert!(settled.note.contains("OData 3.0 as well"), "{}", settled.note);
        assert!(settled.note.ends_with("oDataVersion names V4, which is not used."));
        let settled = of(None, Some(ODataVersion::V2), "/odata/v4/a/").expect("it is named");
        assert_eq!(settled.version, ODataVersion::V2);
        let settled = of(None, None, "/odata/v2/a/").expect("it is suggested");
        assert_eq!(settled.version, ODataVersion::V2);
        assert!(settled.note.contains("which the URL suggests"), "{}", settled.note);
        let settled = of(None, None, "/a/").expect("it is assumed");
        assert_eq!(settled.version, ODataVersion::V4);
        assert!(settled.note.contains("is not known"), "{}", settled.note);
        let other = MetadataVersion::Other("OData 3.0 only".to_owned());
        let refused = of(Some(&other), Some(ODataVersion::V2), "/").expect_err("no model");
        assert!(refused.starts_with("The metadata of the OData service name OData 3.0 only."));
    }
}
