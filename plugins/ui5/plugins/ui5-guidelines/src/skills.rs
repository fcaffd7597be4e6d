//! Skills: instructions for one kind of task from start to end, as prompts and as resources.

use portcullis_plugin::prelude::*;

/// A skill.
pub struct Skill {
    /// The name of its file and the last part of its URI, both without `.md`.
    pub name: &'static str,
    /// The text, as Markdown.
    pub text: &'static str,
    /// The task of the model, as the start of a sentence that continues with "in the UI5 project".
    task: &'static str,
    /// The scope if the call names none.
    default_scope: &'static str,
    /// Suggested scopes.
    scopes: &'static [&'static str],
}

/// The start of the URIs of skills.
pub const PREFIX: &str = "ui5://guidelines/skills/";

impl Skill {
    /// The URI of the skill as a resource.
    pub fn uri(&self) -> String {
        format!("{PREFIX}{}.md", self.name)
    }

    /// The first heading of the text.
    pub fn title(&self) -> &'static str {
        let heading = self.text.lines().find_map(|line| line.strip_prefix("# "));
        heading.unwrap_or(self.name)
    }

    /// The messages of the skill's prompt.
    fn messages(&self, project: &str, scope: Option<&str>) -> Messages {
        let scope =
            scope.map(str::trim).filter(|scope| !scope.is_empty()).unwrap_or(self.default_scope);
        Messages::new().user(format!(
            "{} in the UI5 project {project}. What to work on: {scope}.\n\nCall `get_guidelines`, unless \
             you have done so before, and keep to what it says. Then follow the skill below in its order, \
             and apply each step to every file in question. Call tools with `projectDir` {project}. Ask the \
             user where the skill says so, and before you do anything that the skill does not cover. At the \
             end report what you did, how you checked it, what is left, and why.\n\n{}",
            self.task, self.text
        ))
    }

    /// Suggested scopes that contain what was typed.
    fn complete(&self, argument: &str, value: &str) -> Vec<String> {
        let typed = value.to_lowercase();
        let fitting = self.scopes.iter().filter(|scope| scope.to_lowercase().contains(&typed));
        fitting.filter(|_| argument == "scope").map(|scope| (*scope).to_owned()).collect()
    }
}

/// Defines a skill, and the prompt for it.
macro_rules! skill {
    ($constant:ident, $prompt:ident, $prompt_name:literal, $title:literal, $description:literal,
     $name:literal, $task:literal, $whole:literal, [$($scope:literal),+ $(,)?]) => {
        #[doc = $title]
        pub const $constant: Skill = Skill {
            name: $name,
            text: include_str!(concat!("../../../resources/guides/skills/", $name, ".md")),
            task: $task,
            default_scope: $whole,
            scopes: &[$whole, $($scope),+],
        };

        #[doc = $description]
        #[arguments]
        pub struct $prompt {
            /// The root directory of the UI5 project, as an absolute path.
            project_dir: String,
            /// What to work on, in your own words: files, views, a feature. There is a default.
            scope: Option<String>,
        }

        impl Prompt for $prompt {
            const NAME: &'static str = $prompt_name;
            const TITLE: Option<&'static str> = Some($title);

            fn get(self, _request: &Request) -> Result<Messages, Failure> {
                Ok($constant.messages(&self.project_dir, self.scope.as_deref()))
            }

            fn complete(
                _request: &Request,
                argument: &str,
                value: &str,
                _context: &[(String, String)],
            ) -> Vec<String> {
                $constant.complete(argument, value)
            }
        }
    };
}

skill!(
    MODERNISE,
    Modernize,
    "modernize_ui5_app",
    "Modernize an old UI5 application",
    "Frees an old UI5 application from deprecated API, globals and synchronous loading, in five phases.",
    "modernise",
    "Modernise the application",
    "the whole application, all phases",
    [
        "phase 1: what a machine can do",
        "phase 2: manifest and component",
        "phase 3: modules",
        "phase 4: deprecated API",
        "phase 5: Content Security Policy"
    ]
);

skill!(
    TABLES,
    Tables,
    "build_ui5_table",
    "Build or review UI5 tables",
    "Builds a table in a UI5 application, or reviews the existing tables.",
    "tables",
    "Build or review tables",
    "a review of all existing tables",
    ["a new table", "personalisation of a table", "performance of a table", "a table on phones"]
);

skill!(
    TESTS,
    Tests,
    "write_ui5_tests",
    "Write OPA5 and QUnit tests",
    "Writes or repairs the unit and integration tests of a UI5 application.",
    "tests",
    "Write tests",
    "unit tests for models and formatters, and a journey for each view, where there are none",
    [
        "unit tests",
        "OPA5 journeys",
        "the test starter instead of separate test pages",
        "tests that fail"
    ]
);

skill!(
    ACCESSIBILITY,
    Accessibility,
    "improve_ui5_accessibility",
    "Review and improve accessibility",
    "Reviews the accessibility of a UI5 application, and repairs what the user agrees to.",
    "accessibility",
    "Review and improve accessibility",
    "all views, fragments and controllers",
    ["labels and names", "landmarks and headings", "keyboard and focus", "own controls"]
);

skill!(
    METADATA,
    MetadataControls,
    "use_ui5_metadata_controls",
    "Use smart controls or MDC",
    "Builds views of smart controls (OData V2) or of MDC controls (OData V4, JSON), and finds what breaks them.",
    "smart-controls-and-mdc",
    "Use controls that are driven by metadata",
    "a review of the existing smart controls or MDC controls",
    ["a filter bar with a table", "a form", "a value help", "a delegate for a JSON model"]
);

skill!(
    WEB_COMPONENTS,
    WebComponents,
    "use_ui5_web_components",
    "Use UI5 Web Components",
    "Sets up UI5 Web Components in a UI5 application and uses them in its views.",
    "web-components",
    "Use UI5 Web Components",
    "the setup and a first component",
    ["the setup", "replacing sap.ui.webc libraries", "one component"]
);

/// All skills.
pub const SKILLS: [&Skill; 6] =
    [&MODERNISE, &TABLES, &TESTS, &ACCESSIBILITY, &METADATA, &WEB_COMPONENTS];
