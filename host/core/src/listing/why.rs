//! Why a tool is listed, unlisted or excluded.

use std::path::PathBuf;

use serde_json::Value;

use crate::host::is_for_models;

/// Whether clients see a tool, and whether they may call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Clients see the tool.
    Listed,
    /// Clients do not see the tool, and may call it.
    Unlisted,
    /// Clients may not call the tool.
    Excluded,
}

/// Why a tool is listed, unlisted or excluded. `by`: the profile or the option that decides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VisibilityReason {
    /// The source is for every project.
    #[error("listed: it is for every project")]
    EveryProject,
    /// A project of the family was found.
    #[error("listed: {} is a project of `{family}`", .at.display())]
    Project {
        /// The name of the family.
        family: &'static str,
        /// The file that marks the project.
        at: PathBuf,
    },
    /// The roots are not known, or the search of the roots was not complete.
    #[error(
        "listed: the roots were not searched completely, so they may contain a project of `{family}`"
    )]
    Unknown {
        /// The name of the family.
        family: &'static str,
    },
    /// The tool is of use without a project.
    #[error("listed: it needs no project of `{family}`")]
    WithoutProject {
        /// The name of the family.
        family: &'static str,
    },
    /// The operator named the source or its family.
    #[error("listed: {by} names `{name}`")]
    Named {
        /// The name that the operator wrote.
        name: String,
        /// The profile or the option that decides.
        by: String,
    },
    /// The operator named the tool.
    #[error("listed: {by} lists the tools `{pattern}`")]
    On {
        /// The pattern that the operator wrote.
        pattern: String,
        /// The profile or the option that decides.
        by: String,
    },
    /// A plugin that makes views says that views may call the tool, and models may not.
    #[error("listed for views: the plugin that makes views does not offer it to models")]
    ForViews,
    /// A plugin that makes views says that neither views nor models may call the tool.
    #[error("not listed: the plugin that makes views offers it neither to models nor to views")]
    NotOffered,
    /// No project of the family was found.
    #[error("not listed, can be called: no project of `{family}` was found in the roots")]
    NoProject {
        /// The name of the family.
        family: &'static str,
    },
    /// The tool runs programs, and the operator chose that programs call the other tools.
    #[error("listed: it runs programs, which call the other tools")]
    Code,
    /// The tool runs programs, and the operator did not choose that programs call the other tools.
    #[error("not listed, can be called: `--tools code` lists it")]
    NoCode,
    /// The operator named other tools and sources.
    #[error("cannot be called: {by} names neither the tool nor its source")]
    NotNamed {
        /// The profile or the option that decides.
        by: String,
    },
    /// The operator switched the tool off.
    #[error("cannot be called: {by} switches the tools `{pattern}` off")]
    Off {
        /// The pattern that the operator wrote.
        pattern: String,
        /// The profile or the option that decides.
        by: String,
    },
}

impl VisibilityReason {
    /// The reason after the plugin that makes views has decided about a tool. `definition`: the tool as clients see
    /// it. `None`: the plugin took the tool out of the list.
    pub fn with_views(self, definition: Option<&Value>) -> Self {
        if self.place() != Visibility::Listed {
            return self;
        }
        match definition {
            None => Self::NotOffered,
            Some(tool) if !is_for_models(tool) => Self::ForViews,
            Some(_) => self,
        }
    }

    /// Whether clients see the tool, and whether they may call it.
    pub fn place(&self) -> Visibility {
        match self {
            Self::EveryProject
            | Self::Project { .. }
            | Self::Unknown { .. }
            | Self::WithoutProject { .. }
            | Self::Named { .. }
            | Self::On { .. }
            | Self::Code
            | Self::ForViews => Visibility::Listed,
            Self::NoProject { .. } | Self::NoCode | Self::NotOffered => Visibility::Unlisted,
            Self::NotNamed { .. } | Self::Off { .. } => Visibility::Excluded,
        }
    }
}
