//! The two UI5 frameworks, OpenUI5 and SAPUI5.

use std::{fmt, str::FromStr};

/// A UI5 framework: OpenUI5, which is open source, or SAPUI5, SAP's distribution, which contains OpenUI5.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[schemars(inline)]
#[expect(missing_docs, reason = "with docs, the schema would be a list of lengthy alternatives")]
pub enum Framework {
    #[serde(rename = "OpenUI5")]
    OpenUi5,
    #[serde(rename = "SAPUI5")]
    SapUi5,
}

impl Framework {
    /// Both frameworks, in the order of the schemas.
    pub const ALL: [Self; 2] = [Self::OpenUi5, Self::SapUi5];

    /// The name in `ui5.yaml` and in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenUi5 => "OpenUI5",
            Self::SapUi5 => "SAPUI5",
        }
    }

    /// The name in files and packages.
    pub fn lower_name(self) -> &'static str {
        match self {
            Self::OpenUi5 => "openui5",
            Self::SapUi5 => "sapui5",
        }
    }

    /// URL of the public CDN.
    pub fn public_cdn(self) -> &'static str {
        match self {
            Self::OpenUi5 => "https://sdk.openui5.org",
            Self::SapUi5 => "https://ui5.sap.com",
        }
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Framework {
    type Err = String;

    /// Parses the name that [`Framework::name`] returns.
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|framework| framework.name() == name).ok_or_else(|| {
            format!("Invalid framework name: {name}. Expected \"OpenUI5\" or \"SAPUI5\".")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_written() {
        for framework in Framework::ALL {
            assert_eq!(framework.name().parse(), Ok(framework));
            assert_eq!(framework.name().to_lowercase(), framework.lower_name());
        }
        let wrong = "Openui5".parse::<Framework>().expect_err("the case is wrong");
        assert_eq!(wrong, "Invalid framework name: Openui5. Expected \"OpenUI5\" or \"SAPUI5\".");
    }

    /// With this schema, an error lists the possible names.
    #[test]
    fn the_schema_is_a_list_of_the_names() {
        let schema = schemars::schema_for!(Framework);
        assert_eq!(schema.get("enum"), Some(&serde_json::json!(["OpenUI5", "SAPUI5"])));
    }
}
