//! Properties of entities, and how views of an app bind them.

use super::version::ODataVersion;
use roxmltree::Node;

/// Types of OData V2 whose values a view has to format. The UI5 types have the same names.
///
/// Strings and GUIDs are shown as they are. Models of OData V4 choose the types by themselves.
const FORMATTED: [&str; 12] = [
    "Boolean",
    "Byte",
    "DateTime",
    "DateTimeOffset",
    "Decimal",
    "Double",
    "Int16",
    "Int32",
    "Int64",
    "SByte",
    "Single",
    "Time",
];

/// A property whose values fit into a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name, of plain characters.
    pub name: String,
    /// The UI5 type that formats the values in OData V2, if such a type is needed and known.
    pub format: Option<Format>,
}

/// A type of `sap.ui.model.odata.type` with its constraints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The name of the type, such as `Decimal`.
    pub ui5_type: &'static str,
    /// The constraints in the syntax of UI5's bindings, such as `scale: 2`.
    constraints: Option<String>,
}

impl Property {
    /// A property with a known name, but without a known type.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), format: None }
    }

    /// Reads an element `Property` with this name.
    pub fn read(name: &str, element: Node<'_, '_>) -> Self {
        Self { name: name.to_owned(), format: Format::of(element) }
    }

    /// The binding in a view: plain in OData V4, and with the type in OData V2.
    pub fn binding(&self, version: ODataVersion) -> String {
        let name = &self.name;
        match (version, &self.format) {
            (ODataVersion::V2, Some(Format { ui5_type, constraints: None })) => {
                format!("{{ path: '{name}', type: '{ui5_type}Type' }}")
            }
            (ODataVersion::V2, Some(Format { ui5_type, constraints: Some(constraints) })) => {
                format!(
                    "{{ path: '{name}', type: '{ui5_type}Type', constraints: {{ {constraints} }} }}"
                )
            }
            (ODataVersion::V2 | ODataVersion::V4, _) => format!("{{{name}}}"),
        }
    }
}

impl Format {
    fn of(element: Node<'_, '_>) -> Option<Self> {
        let edm_type = element.attribute("Type")?.strip_prefix("Edm.")?;
        let ui5_type = *FORMATTED.iter().find(|known| **known == edm_type)?;
        let number =
            |name| element.attribute(name).and_then(|text| text.trim().parse::<u16>().ok());
        let is_date = || {
            element.attributes().any(|attribute| {
                attribute.name() == "display-format" && attribute.value() == "Date"
            })
        };
        let constraints = match ui5_type {
            // Without a scale, UI5 would show no decimal places.
            "Decimal" => {
                let scale = number("Scale").map_or("'variable'".to_owned(), |n| n.to_string());
                let precision = number("Precision").map(|n| format!("precision: {n}, "));
                Some(format!("{}scale: {scale}", precision.unwrap_or_default()))
            }
            "DateTime" if is_date() => Some("displayFormat: 'Date'".to_owned()),
            _ => None,
        };
        Some(Self { ui5_type, constraints })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    fn binding(attributes: &str, version: ODataVersion) -> String {
        let text = format!("<Property xmlns:s=\"x\" {attributes}/>");
        let document = Document::parse(&text).expect("it is XML");
        Property::read("p", document.root_element()).binding(version)
    }

    #[test]
    fn types_are_named_if_the_model_does_not_choose_them() {
        for (attributes, expected) in [
            ("Type='Edm.String' MaxLength='3'", "{p}"),
            ("Type='Edm.Guid'", "{p}"),
            ("Type='Edm.Int32'", "{ path: 'p', type: 'Int32Type' }"),
            (
                "Type='Edm.Decimal' Precision='9' Scale='2'",
                "{ path: 'p', type: 'DecimalType', constraints: { precision: 9, scale: 2 } }",
            ),
            (
                "Type='Edm.Decimal' Scale='1}, x: {'",
                "{ path: 'p', type: 'DecimalType', constraints: { scale: 'variable' } }",
            ),
            (
                "Type='Edm.DateTime' s:display-format='Date'",
                "{ path: 'p', type: 'DateTimeType', constraints: { displayFormat: 'Date' } }",
            ),
            ("Type='Edm.DateTime'", "{ path: 'p', type: 'DateTimeType' }"),
            ("Type='Edm.Unknown'", "{p}"),
            ("", "{p}"),
        ] {
            assert_eq!(binding(attributes, ODataVersion::V2), expected, "{attributes}");
            assert_eq!(binding(attributes, ODataVersion::V4), "{p}", "{attributes}");
        }
    }
}
