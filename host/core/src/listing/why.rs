//! Why a tool is listed, unlisted or excluded.

use std::path::PathBuf;

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
    #[error("listed: the roots were not looked at whole, so they may have a project of `{family}`")]
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
    #[error("listed: {by} has `{name}`")]
    Named {
        /// The name that the operator wrote.
        name: String,
        /// The profile or the option that decides.
        by: String,
    },
    /// The operator named the tool.
    #[error("listed: {by} has the tools `{pattern}`")]
    On {
        /// The pattern that the operator wrote.
        pattern: String,
        /// The profile or the option that decides.
        by: String,
    },
    /// No project of the family was found.
    #[error("not listed, can be called: no project of `{family}` was found in the roots")]
    NoProject {
        /// The name of the family.
        family: &'static str,
    },
    /// The tool runs programs, and the operator chose that programs call the other tools.
    #[error("listed: programs call the other tools")]
    Code,
    /// The tool runs programs, and the operator did not choose this way.
    #[error("not listed, can be called: `--tools code` lists it")]
    NoCode,
    /// The operator named other tools and sources.
    #[error("cannot be called: {by} has neither the tool nor its source")]
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
    /// Whether clients see the tool, and whether they may call it.
    pub fn place(&self) -> Visibility {
        match self {
            Self::EveryProject
            | Self::Project { .. }
            | Self::Unknown { .. }
            | Self::WithoutProject { .. }
            | Self::Named { .. }
            | Self::On { .. }
            | Self::Code => Visibility::Listed,
            Self::NoProject { .. } | Self::NoCode => Visibility::Unlisted,
            Self::NotNamed { .. } | Self::Off { .. } => Visibility::Excluded,
        }
    }
}
