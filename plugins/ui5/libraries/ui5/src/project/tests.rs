//! Tests that projects are recognised, and of the messages for other directories.

use super::*;
use tempfile::TempDir;

/// A temporary directory with these files, and its path.
fn tree(files: &[(&str, &str)]) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the root")).expect("it is writable");
        fs::write(path, text).expect("it is writable");
    }
    let root = folder.path().to_str().expect("its path is text").to_owned();
    (folder, root)
}

const MANIFEST: (&str, &str) = ("webapp/manifest.json", r#"{"sap.app": {"id": "my.app"}}"#);

const YAML: &str = "specVersion: '4.0'\ntype: application\nmetadata:\n  name: my.app\n";

fn application(yaml: &str) -> (TempDir, String) {
    tree(&[MANIFEST, ("ui5.yaml", yaml)])
}

#[test]
fn a_configured_application() {
    let framework = "framework:\n  name: OpenUI5\n  version: '1.120.30'\n  libraries:\n    - name: sap.m\n    - name: sap.f\n      optional: true\n";
    let (_folder, root) = application(&format!(
        "{YAML}{framework}---\nspecVersion: '4.0'\nkind: extension\ntype: task\nmetadata:\n  name: my-task\ntask:\n  path: t.js\n"
    ));
    let project = find(&format!("{root}/webapp/../webapp/manifest.json")).expect("it is one");
    assert_eq!(project.directory, root);
    assert_eq!((project.name.as_str(), project.kind.as_str()), ("my.app", "application"));
    assert_eq!(project.framework, Some(Framework::OpenUi5));
    assert_eq!(project.framework_version.as_deref(), Some("1.120.30"));
    assert_eq!(project.framework_libraries, ["sap.m", "sap.f"]);
    assert_eq!(project.source, "webapp");
    assert_eq!(find(&root), Ok(project.clone()));
    assert_eq!(find(&format!("{root}/webapp")), Ok(project));
}

#[test]
fn the_local_configuration_wins() {
    let (_folder, root) = tree(&[
        MANIFEST,
        ("ui5.yaml", YAML),
        ("ui5-local.yaml", &format!("{YAML}framework:\n  name: SAPUI5\n  version: 1.136.7\n")),
    ]);
    assert_eq!(find(&root).expect("it is one").framework, Some(Framework::SapUi5));
}

#[test]
fn directories_without_a_configuration() {
    for (file, kind, source) in [
        (("webapp/manifest.json", MANIFEST.1), "application", "webapp"),
        (("src/main/webapp/manifest.json", MANIFEST.1), "application", "src/main/webapp"),
        (("src/main/jslib/my/lib/library.js", ""), "library", "src/main/jslib"),
        (("src/main/js/my/lib/library.js", ""), "library", "src/main/js"),
        (("src/main/uilib/my/lib/library.js", ""), "library", "src/main/uilib"),
        (("src/my/lib/.library", "<library><name>my.lib</name></library>"), "library", "src"),
        (("WebContent/manifest.json", MANIFEST.1), "application", "WebContent"),
    ] {
        let project = find(&tree(&[file]).1).expect(source);
        assert_eq!((project.kind.as_str(), project.source.as_str()), (kind, source));
        assert_eq!(project.name, "ui5-project-without-ui5-yaml");
        assert_eq!(project.configuration, None);
    }
}

#[test]
fn no_project_at_all() {
    assert_eq!(find("rel/path").expect_err("it is relative"), "Path must be absolute: rel/path");
    assert_eq!(
        find("/does/not/exist").expect_err("it is not there"),
        "ENOENT: no such file or directory, realpath '/does/not/exist'"
    );
    assert_eq!(
        find("/").expect_err("it is none"),
        "Unable to locate a UI5 project in directory / or any of its parents"
    );
    let (_folder, root) = tree(&[("package.json", "{}"), ("a/b.txt", "")]);
    assert_eq!(
        find(&format!("{root}/a/b.txt")).expect_err("it is none"),
        format!(
            "Unable to find a UI5 project at {root}/a. Make sure the provided path is correct and \
             contains a valid UI5 project"
        )
    );
}

#[test]
fn errors_show_the_place_in_the_file() {
    let (_folder, root) =
        application("specVersion: '4.0'\ntype: application\nmetadata:\n  name: My App\n  nme: x\n");
    let failure = find(&root).expect_err("it is wrong");
    let expected = format!(
        "Unable to use the UI5 project located at {root}. Make sure the provided path is correct and \
         contains a valid UI5 project. Error: Invalid ui5.yaml configuration for project ui5-project\n\
         \n\
         Configuration metadata property nme must not be provided here\n\
         \n\
         {root}/ui5.yaml:5\n\
         \n\
         3: metadata:\n\
         4:   name: My App\n\
         5:   nme: x\n     ^\n\
         \n\n\n\
         Not a valid project name. It must consist of lowercase alphanumeric characters, dash, \
         underscore, and period only. Additionally, it may contain an npm-style package scope. For \
         details, see: https://ui5.github.io/cli/stable/pages/Configuration/#name\n\
         \n\
         {root}/ui5.yaml:4\n\
         \n\
         2: type: application\n\
         3: metadata:\n\
         4:   name: My App\n     ^"
    );
    assert_eq!(failure, expected);
}

#[test]
fn each_rule_is_named() {
    let with = |rest: &str| format!("{YAML}{rest}");
    for (yaml, told) in [
        (YAML.replace("4.0", "4.1"), "Unsupported \"specVersion\"\n"),
        (YAML.replace("'4.0'", "4.0"), "Unsupported \"specVersion\"\n"),
        (
            YAML.replace("specVersion", "version"),
            "Configuration must have required property 'specVersion'",
        ),
        (
            YAML.replace("application", "app"),
            "Configuration type must be equal to one of the allowed values\n",
        ),
        (with("framework:\n  name: Openui5\n"), "Allowed values: OpenUI5, SAPUI5"),
        (
            with("framework:\n  name: OpenUI5\n  version: '1.120'\n"),
            "Not a valid version according to the Semantic Versioning",
        ),
        (
            with("framework:\n  version: 1.120.0\n"),
            "Configuration framework must have required property 'name'",
        ),
        (
            with("resources:\n  configuration:\n    paths:\n      webapp: gone\n"),
            "Unable to find source directory 'gone' in application project my.app",
        ),
        (
            with("resources:\n  configuration:\n    paths:\n      webapp: ../webapp\n"),
            "Unable to find source directory '../webapp'",
        ),
        (with("---\n") + YAML, "Found 2 configurations of kind 'project' for module ui5-project."),
        ("a: [".to_owned(), "Failed to parse configuration for project ui5-project at '"),
        (String::new(), "Failed to create a UI5 project from module ui5-project at "),
        (
            "specVersion: '1.0'\ntype: application\nextra: 1\nmetadata:\n  name: old\n".to_owned(),
            "project old defines unsupported Specification Version 1.0.",
        ),
    ] {
        let failure = find(&application(&yaml).1).expect_err(&yaml);
        assert!(failure.contains(told), "{failure}");
    }
}

#[test]
fn older_and_newer_configurations() {
    for version in ["0.1", "1.0", "1.1", "2.0", "2.6", "3.0", "3.2"] {
        let (_folder, root) = application(&YAML.replace("4.0", version));
        assert_eq!(find(&root).expect(version).spec_version, version);
    }
    let newer = YAML.replace("4.0", "5.0").replace("application", "component");
    let (_folder, root) =
        tree(&[("ui5.yaml", &(newer + "brandNew: true\n")), ("src/manifest.json", MANIFEST.1)]);
    assert_eq!(find(&root).expect("5.0 is known").kind, "component");
}

#[test]
fn applications_need_a_manifest_with_an_id() {
    for (manifest, told) in [
        ("{}", "No sap.app/id configuration found in manifest.json of project my.app"),
        ("{", "Failed to read /manifest.json for project my.app: "),
        (r#"{"sap.app": {"id": "${app.id}"}}"#, "Could not find pom.xml in project my.app"),
    ] {
        let (_folder, root) = tree(&[("ui5.yaml", YAML), ("webapp/manifest.json", manifest)]);
        let failure = find(&root).expect_err(manifest);
        assert!(failure.contains(told), "{failure}");
    }
    let (_folder, root) = tree(&[("ui5.yaml", YAML), ("webapp/index.html", "")]);
    let failure = find(&root).expect_err("it has no manifest");
    assert!(
        failure.contains("Could not find required manifest.json for project my.app: "),
        "{failure}"
    );
    let (_folder, root) = tree(&[
        ("ui5.yaml", YAML),
        ("webapp/manifest.json", r#"{"sap.app": {"id": "${app.id}"}}"#),
        ("pom.xml", "<project><properties><app.id>my.app</app.id></properties></project>"),
    ]);
    find(&root).expect("it is resolved");
}

#[test]
fn folders_of_libraries_match_their_names() {
    let yaml = ("ui5.yaml", "specVersion: '3.0'\ntype: library\nmetadata:\n  name: my.lib\n");
    let dot = "<library><name>my.lib</name></library>";
    find(&tree(&[yaml, ("src/my/lib/.library", dot), ("src/my/lib/sub/manifest.json", "{}")]).1)
        .expect("it is one");
    for (file, told) in [
        (
            ("src/other/.library", dot),
            "Detected namespace \"my/lib\" does not match detected directory structure \"other\"",
        ),
        (
            ("src/readme.md", ""),
            "Failed to detect namespace or namespace is empty for project my.lib.",
        ),
    ] {
        let failure = find(&tree(&[yaml, file]).1).expect_err(told);
        assert!(failure.contains(told), "{failure}");
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_text() {
    let manifest = format!("\u{feff}{}", MANIFEST.1);
    let yaml = format!("\u{feff}{YAML}");
    let (_folder, root) = tree(&[("webapp/manifest.json", &manifest), ("ui5.yaml", &yaml)]);
    assert_eq!(find(&root).expect("it is one").name, "my.app");
    let (_folder, root) = tree(&[
        ("src/my/lib/manifest.json", "\u{feff}{\"sap.app\": {\"id\": \"my.lib\"}}"),
        ("src/my/lib/library.js", ""),
        ("ui5.yaml", &yaml.replace("application", "library").replace("my.app", "my.lib")),
        ("package.json", "\u{feff}{\"name\": \"my.lib\"}"),
    ]);
    assert_eq!(find(&root).expect("it is one").kind, "library");
}

#[test]
fn a_name_is_a_number_if_javascript_converts_it() {
    let numbers = [
        "1",
        "-2.5",
        "1e3",
        "1.",
        ".5",
        "1e400",
        "Infinity",
        "-Infinity",
        "+Infinity",
        "0x10",
        "0XfF",
        "0o17",
        "0O7",
        "0b101",
        "0B1",
        " 0x10 ",
        "\u{feff}1",
        "\u{a0}1\u{2029}",
        "   ",
        "\u{3000}",
    ];
    for number in numbers {
        assert!(is_number(number), "{number:?}");
    }
    let names = [
        "nan", "inf", "infinity", "NaN", "my.shop", "1a", "n1", "-0x10", "+0x10", "0x", "0xg",
        "0b2", "0o8", "0x1.8", "0x1_0", "0x+1", "1_0", "1n", ".", "1e", "--1", "\u{85}1",
    ];
    for name in names {
        assert!(!is_number(name), "{name:?}");
    }
}

#[test]
fn a_project_whose_name_is_a_number_or_empty_is_refused() {
    let (_folder, root) = application(&YAML.replace("4.0", "2.6").replace("my.app", "''"));
    let failure = find(&root).expect_err("it is empty");
    assert!(failure.contains("Missing or empty parameter 'rootProjectName'"), "{failure}");
    for name in ["0x10", "  ", "12"] {
        // Newer versions have a pattern for names.
        let yaml = YAML.replace("4.0", "2.6").replace("my.app", &format!("'{name}'"));
        let (_folder, root) = application(&yaml);
        let failure = find(&root).expect_err(name);
        let told =
            format!("Failed to add project {name} to graph: Project name must not be integer-like");
        assert!(failure.contains(&told), "{failure}");
    }
}
