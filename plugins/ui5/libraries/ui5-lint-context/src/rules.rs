//! The linter's rules: their requirements and documentation.

use crate::topics::id::*;

/// A rule of the linter.
pub struct Rule {
    /// The id in findings.
    pub id: &'static str,
    /// The requirement.
    pub description: &'static str,
    /// The ids of helpful documentation pages.
    pub topics: &'static [&'static str],
}

/// Describes a rule. Unknown rules get a general text.
pub fn describe(id: &str) -> String {
    match find(id) {
        Some(rule) => rule.description.to_owned(),
        None => format!(
            "`{id}` is a rule of the UI5 linter that is newer than these descriptions. Go by the messages \
             of its findings, and by the linter's own list of rules: \
             https://github.com/UI5/linter/blob/main/docs/Rules.md"
        ),
    }
}

/// The documentation pages of a rule.
pub fn topics(id: &str) -> &'static [&'static str] {
    find(id).map_or(&[], |rule| rule.topics)
}

fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// All rules of @ui5/linter 1.23.6, and the rules that were announced later.
pub const RULES: &[Rule] = &[
    Rule {
        id: "async-component-flags",
        description: "A component has to be created asynchronously: let its metadata implement \
            `sap.ui.core.IAsyncContentCreation` and say `manifest: \"json\"`. With the interface, `async` \
            flags in manifest.json are redundant; without it, they have to be true.",
        topics: &[ASYNCHRONOUS_LOADING, COMPONENT_METADATA],
    },
    Rule {
        id: "autofix-error",
        description: "The linter tried to repair something in this file and could not. The file was left as \
            it was: repair its findings by hand. The cause is in the linter, not in your code.",
        topics: &[],
    },
    Rule {
        id: "csp-unsafe-inline-script",
        description: "HTML must not contain inline scripts, because a Content Security Policy blocks them: move the \
            code to a module and have `data-sap-ui-on-init` name it.",
        topics: &[CONTENT_SECURITY_POLICY],
    },
    Rule {
        id: "no-absolute-data-source-uri",
        description: "The URI of a data source in manifest.json has to be relative, without a leading slash, \
            so that it also works behind the address under which a cloud platform serves the application.",
        topics: &[],
    },
    Rule {
        id: "no-ambiguous-event-handler",
        description: "An event handler in XML is either a method of the controller and starts with a dot \
            (`.onPress`), or a function of a module that `core:require` brings in (`actions.press`). A bare \
            name may mean a global.",
        topics: &[EVENTS_IN_XML_VIEWS],
    },
    Rule {
        id: "no-deprecated-api",
        description: "Deprecated API, parameters, features and bootstrap settings must not be used: the next \
            major version does not have them. The details of the finding and the API reference name what \
            replaces them.",
        topics: &[BEST_PRACTICES],
    },
    Rule {
        id: "no-deprecated-component",
        description: "manifest.json must not depend on deprecated components: remove the dependency, and \
            what is used of it.",
        topics: &[DEPRECATED_THEMES_AND_LIBRARIES],
    },
    Rule {
        id: "no-deprecated-control-renderer-declaration",
        description: "A control has to declare its renderer as an object, inline or imported, or as `null` \
            if it has none. A name, or nothing at all, makes UI5 load the renderer synchronously.",
        topics: &[RENDERER_OBJECT],
    },
    Rule {
        id: "no-deprecated-library",
        description: "Deprecated libraries must not be depended on, neither in manifest.json and ui5.yaml \
            nor in the bootstrap: replace the controls that are used of them first.",
        topics: &[DEPRECATED_THEMES_AND_LIBRARIES],
    },
    Rule {
        id: "no-deprecated-theme",
        description: "Deprecated themes must not be used: `sap_horizon` and its variants replace them.",
        topics: &[DEPRECATED_THEMES_AND_LIBRARIES],
    },
    Rule {
        id: "no-globals",
        description: "UI5 must not be reached through global names such as `sap.m.Button`: make the module a \
            dependency (`sap.ui.define`, `import`, in XML `core:require`).",
        topics: &[BEST_PRACTICES],
    },
    Rule {
        id: "no-implicit-globals",
        description: "Some uses need a global without showing it: a class reached through the module of its \
            library, or `odata.*` functions in expression bindings. Import the class's own module, or \
            `sap/ui/model/odata/ODataExpressionAddons`.",
        topics: &[BEST_PRACTICES],
    },
    Rule {
        id: "no-legacy-ui5-version-in-manifest",
        description: "`sap.ui5/dependencies/minUI5Version` in manifest.json has to be 1.136.0 or newer, the \
            first version that knows version 2 of the manifest.",
        topics: &[MANIFEST_VERSION_2],
    },
    Rule {
        id: "no-outdated-manifest-version",
        description: "`_version` in manifest.json has to be 2.0.0 or newer, and the manifest has to fit that \
            version.",
        topics: &[MANIFEST_VERSION_2],
    },
    Rule {
        id: "no-project-globals",
        description: "The project's own modules must not use global names either: where one is assigned, \
            return the value from the module instead; where it is read, depend on that module. Both sides \
            have to change.",
        topics: &[BEST_PRACTICES],
    },
    Rule {
        id: "no-pseudo-modules",
        description: "Enums and data types have no module of their own: take enums from the library's module \
            (`sap/m/library`), and data types by name from `sap/ui/base/DataType`.",
        topics: &[LOADING_MODULES],
    },
    Rule {
        id: "no-removed-manifest-property",
        description: "Properties that version 2 of the manifest does not have must be removed from \
            manifest.json.",
        topics: &[MANIFEST_VERSION_2],
    },
    Rule {
        id: "parsing-error",
        description: "The file, or a binding in it, cannot be parsed. Repair this first: the linter may have \
            missed other findings in it.",
        topics: &[],
    },
    Rule {
        id: "prefer-test-starter",
        description: "Tests should run with the test starter: one suite that lists them and one page that \
            runs any of them, instead of pages with a bootstrap of their own.",
        topics: &[TEST_STARTER, TEST_STARTER_SETUP, TEST_STARTER_OPTIONS],
    },
    Rule {
        id: "ui5-class-declaration",
        description: "A UI5 class that is written as a class of the language (TypeScript) has to be declared \
            as UI5 needs it: `metadata` and `renderer` are static.",
        topics: &[],
    },
    Rule {
        id: "unsupported-api-usage",
        description: "API is used in a way that it does not support, such as a `formatter` in code that is a \
            string instead of a function.",
        topics: &[],
    },
];
