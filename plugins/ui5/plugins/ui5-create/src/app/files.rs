//! The files of an app and the values for their templates.

use super::{App, columns::Columns};
use crate::{
    render::{File, Template, render},
    service::property::Property,
    versions,
};
use portcullis_plugin::serde_json::{Value, json};
use semver::Version;
use ui5::Framework;

/// A template with the same name as its target file.
macro_rules! same {
    ($set:literal, $path:literal) => {
        named!($path, $set, $path)
    };
}

/// A template whose name differs from that of its target file.
macro_rules! named {
    ($target:literal, $set:literal, $path:literal) => {
        Template {
            target: $target,
            text: include_str!(concat!("../../../../resources/templates/", $set, "/", $path)),
        }
    };
}

/// Files of apps in both languages.
const COMMON: &[Template] = &[
    named!(".editorconfig", "app", "editorconfig"),
    named!(".gitignore", "app", "gitignore"),
    same!("app", "LICENSE"),
    same!("app", "README.md"),
    same!("app", "ui5.yaml"),
    same!("app", "ui5-dist.yaml"),
    same!("app", "webapp/index.html"),
    same!("app", "webapp/index-cdn.html"),
    same!("app", "webapp/manifest.json"),
    same!("app", "webapp/i18n/i18n.properties"),
    same!("app", "webapp/i18n/i18n_en.properties"),
    same!("app", "webapp/test/preview.html"),
    same!("app", "webapp/view/App.view.xml"),
    same!("app", "webapp/view/Main.view.xml"),
];

/// Tests with the Test Starter, which UI5 1.124 introduced.
const COMMON_STARTER: &[Template] = &[
    same!("app", "webapp/test/Test.qunit.html"),
    same!("app", "webapp/test/testsuite.qunit.html"),
];

/// Tests for older versions.
const COMMON_BEFORE: &[Template] = &[
    named!("webapp/test/testsuite.qunit.html", "app", "test-before-1.124/testsuite.qunit.html"),
    named!(
        "webapp/test/unit/unitTests.qunit.html",
        "app",
        "test-before-1.124/unit/unitTests.qunit.html"
    ),
    named!(
        "webapp/test/integration/opaTests.qunit.html",
        "app",
        "test-before-1.124/integration/opaTests.qunit.html"
    ),
];

const TYPESCRIPT: &[Template] = &[
    named!(".nycrc.json", "app-ts", "nycrc.json"),
    same!("app-ts", "eslint.config.mjs"),
    same!("app-ts", "package.json"),
    same!("app-ts", "tsconfig.json"),
    same!("app-ts", "ui5-coverage.yaml"),
    same!("app-ts", "webapp/Component.ts"),
    same!("app-ts", "webapp/controller/App.controller.ts"),
    same!("app-ts", "webapp/controller/BaseController.ts"),
    same!("app-ts", "webapp/controller/Main.controller.ts"),
    same!("app-ts", "webapp/model/formatter.ts"),
    same!("app-ts", "webapp/model/models.ts"),
    same!("app-ts", "webapp/test/integration/HelloJourney.ts"),
    same!("app-ts", "webapp/test/integration/pages/MainPage.ts"),
    same!("app-ts", "webapp/test/unit/controller/Main.qunit.ts"),
];

const TYPESCRIPT_STARTER: &[Template] = &[
    same!("app-ts", "webapp/test/testsuite.qunit.ts"),
    same!("app-ts", "webapp/test/integration/opaTests.qunit.ts"),
    same!("app-ts", "webapp/test/unit/unitTests.qunit.ts"),
];

const TYPESCRIPT_BEFORE: &[Template] = &[
    named!("webapp/test/testsuite.qunit.ts", "app-ts", "test-before-1.124/testsuite.qunit.ts"),
    named!(
        "webapp/test/integration/opaTests.qunit.ts",
        "app-ts",
        "test-before-1.124/integration/opaTests.qunit.ts"
    ),
    named!(
        "webapp/test/unit/unitTests.qunit.ts",
        "app-ts",
        "test-before-1.124/unit/unitTests.qunit.ts"
    ),
];

const JAVASCRIPT: &[Template] = &[
    same!("app-js", "eslint.config.js"),
    same!("app-js", "karma.conf.js"),
    same!("app-js", "karma-ci.conf.js"),
    same!("app-js", "karma-ci-cov.conf.js"),
    same!("app-js", "package.json"),
    same!("app-js", "webapp/Component.js"),
    same!("app-js", "webapp/controller/App.controller.js"),
    same!("app-js", "webapp/controller/BaseController.js"),
    same!("app-js", "webapp/controller/Main.controller.js"),
    same!("app-js", "webapp/model/formatter.js"),
    same!("app-js", "webapp/model/models.js"),
    same!("app-js", "webapp/test/integration/HelloJourney.js"),
    same!("app-js", "webapp/test/integration/pages/MainPage.js"),
    same!("app-js", "webapp/test/unit/controller/Main.qunit.js"),
];

const JAVASCRIPT_STARTER: &[Template] = &[
    same!("app-js", "webapp/test/testsuite.qunit.js"),
    same!("app-js", "webapp/test/integration/opaTests.qunit.js"),
    same!("app-js", "webapp/test/unit/unitTests.qunit.js"),
];

const JAVASCRIPT_BEFORE: &[Template] = &[
    named!("webapp/test/testsuite.qunit.js", "app-js", "test-before-1.124/testsuite.qunit.js"),
    named!(
        "webapp/test/integration/opaTests.qunit.js",
        "app-js",
        "test-before-1.124/integration/opaTests.qunit.js"
    ),
    named!(
        "webapp/test/unit/unitTests.qunit.js",
        "app-js",
        "test-before-1.124/unit/unitTests.qunit.js"
    ),
];

/// All files of the app.
pub fn of(app: &App) -> Vec<File> {
    let has_starter = app.version.version >= Version::new(1, 124, 0);
    let sets = match (app.typescript, has_starter) {
        (true, true) => [COMMON, COMMON_STARTER, TYPESCRIPT, TYPESCRIPT_STARTER],
        (true, false) => [COMMON, COMMON_BEFORE, TYPESCRIPT, TYPESCRIPT_BEFORE],
        (false, true) => [COMMON, COMMON_STARTER, JAVASCRIPT, JAVASCRIPT_STARTER],
        (false, false) => [COMMON, COMMON_BEFORE, JAVASCRIPT, JAVASCRIPT_BEFORE],
    };
    render(&sets.concat(), &[], &app.version.version, &values(app))
}

/// The values that templates can use.
fn values(app: &App) -> Value {
    let version = &app.version.version;
    let (types_package, types_range) = versions::types(app.framework, version);
    let service = app.service.as_ref();
    let columns = app.columns.as_ref();
    let mut libraries = vec!["sap.m", "sap.ui.core"];
    if columns.is_some() {
        libraries.extend(["sap.f", "sap.ui.layout", "sap.ui.table"]);
        libraries.sort_unstable();
    }
    json!({
        "id": app.namespace.as_str(),
        "path": app.namespace.path(),
        "project_name": app.namespace.project(),
        "framework": app.framework.name(),
        "version": version.to_string(),
        "theme": if *version >= Version::new(1, 108, 0) { "sap_horizon" } else { "sap_fiori_3" },
        "cdn": match app.framework {
            Framework::OpenUi5 => "sdk.openui5.org",
            Framework::SapUi5 => "ui5.sap.com",
        },
        "types": { "package": types_package, "range": types_range },
        "npm": versions::packages(),
        "author": app.author,
        "typescript": app.typescript,
        "libraries": libraries,
        "manifest_version": versions::manifest_of_app(version),
        "template_id": format!("portcullis:{}", if app.typescript { "ts" } else { "js" }),
        "template_version": env!("CARGO_PKG_VERSION"),
        "service_url": service.map(|service| service.app_url.as_str()),
        "service_url_is_relative": service.is_some_and(|service| service.app_url.starts_with('/')),
        // CAP servers require a CSRF token for writing; early requests fetch the token. From UI5 1.141 on, early
        // requests are on for all servers.
        "early_requests": service.is_some_and(|service| service.is_cap())
            || *version >= Version::new(1, 141, 0),
        "entity_set": columns.map(|columns| columns.set.as_str()),
        "odata": { "number": app.odata_version.number(), "name": app.odata_version.name() },
        "value_types": columns.map(|columns| columns.types(app.odata_version)).unwrap_or_default(),
        "properties": columns.map(|columns| properties(columns, app)).unwrap_or_default(),
    })
}

/// The names of properties and their bindings. The names have only ASCII letters, digits and underscores.
fn properties(columns: &Columns, app: &App) -> Vec<Value> {
    let version = app.odata_version;
    let value = |property: &Property| json!({ "name": property.name, "binding": property.binding(version) });
    columns.properties.iter().map(value).collect()
}
