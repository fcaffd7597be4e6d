//! Tests of apps of all versions and kinds, and of refusals.

use super::*;
use crate::test_support::{Folder, assert_valid};
use portcullis_plugin::{rehearsal::Rehearsal, serde_json::Value};
use std::fs;

/// Versions at which the generated files change.
const VERSIONS: [&str; 24] = [
    "1.96.0", "1.97.2", "1.98.0", "1.99.1", "1.100.0", "1.103.0", "1.104.0", "1.107.0", "1.108.0",
    "1.109.3", "1.110.0", "1.112.0", "1.113.0", "1.115.0", "1.117.0", "1.118.0", "1.120.30",
    "1.123.0", "1.124.0", "1.135.0", "1.136.0", "1.141.0", "1.142.0", "1.152.0",
];

const METADATA: &str = r#"<Edmx Version="4.0"><DataServices><Schema Namespace="s">
  <EntityType Name="B"><Property Name="ID" Type="Edm.Int32"/><Property Name="title" Type="Edm.String"/>
   <Property Name="c" Type="Edm.String"/><Property Name="d" Type="Edm.String"/>
   <Property Name="e" Type="Edm.Date"/><Property Name="f" Type="Edm.Date"/></EntityType>
  <EntityContainer Name="C"><EntitySet Name="Books" EntityType="s.B"/></EntityContainer>
</Schema></DataServices></Edmx>"#;

fn call_on(host: &Rehearsal, arguments: Value) -> Result<String, String> {
    let reply = host.call::<CreateApp>(arguments);
    reply.map(|reply| reply.as_text()).map_err(|failure| failure.to_string())
}

/// The arguments of a call, with defaults for the base, the namespace and the version.
fn with(folder: &Folder, more: Value) -> Value {
    let mut all = json!({
        "appNamespace": "com.x",
        "basePath": folder.argument(),
        "frameworkVersion": "1.136.0",
    });
    let more = more.as_object().expect("it is an object").clone();
    all.as_object_mut().expect("it is an object").extend(more);
    all
}

fn call(folder: &Folder, more: Value) -> Result<String, String> {
    call_on(&Rehearsal::new(), with(folder, more))
}

fn refused(folder: &Folder, more: Value) -> String {
    let before = folder.list();
    let refusal = call(folder, more).expect_err("it is refused");
    assert_eq!(folder.list(), before);
    refusal
}

#[test]
fn apps_of_all_versions_are_well_formed() {
    let folder = Folder::new();
    for version in VERSIONS {
        for typescript in [true, false] {
            for odata in [None, Some("2.0"), Some("4.0")] {
                let namespace = format!("v{version}.ts{typescript}.d{}", odata.unwrap_or("0"));
                let mut more = json!({
                    "appNamespace": namespace,
                    "frameworkVersion": version,
                    "typescript": typescript,
                    "author": "Ada O'Neil, @ada",
                });
                if let Some(odata) = odata {
                    more["oDataV4Url"] = json!("/odata/catalog");
                    more["oDataVersion"] = json!(odata);
                    more["oDataEntitySet"] = json!("Books");
                    more["entityProperties"] = json!(["ID", "title"]);
                }
                let answer = call(&folder, more).expect(version);
                assert!(answer.starts_with("Successfully created a SAPUI5 "), "{answer}");
                is_well_formed(&folder, &namespace, &answer);
            }
        }
    }
}

fn is_well_formed(folder: &Folder, namespace: &str, answer: &str) {
    let (_, list) = answer.rsplit_once(" are:\n").expect("there is a list");
    for path in list.lines() {
        let text = folder.read(&format!("{namespace}/{path}"));
        for left in ["[=", "=]", "[%", "%]", "\n\n\n\n"] {
            assert!(!text.contains(left), "{path}: {left}");
        }
        assert!(text.ends_with('\n'), "{path}");
        match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "json" => drop(folder.json(&format!("{namespace}/{path}"))),
            "xml" => drop(roxmltree::Document::parse(&text).expect(path)),
            "yaml" => assert!(text.contains(&format!("name: \"{namespace}\"")), "{path}"),
            _ => {}
        }
    }
    let manifest = folder.json(&format!("{namespace}/webapp/manifest.json"));
    assert_valid(&manifest);
    assert_eq!(manifest["sap.app"]["id"], namespace);
    assert_eq!(folder.json(&format!("{namespace}/package.json"))["author"], "Ada O'Neil, @ada");
}

#[test]
fn files_depend_on_the_version() {
    let folder = Folder::new();
    let mut sizes = Vec::new();
    let old = with(
        &folder,
        json!({
            "appNamespace": "old", "frameworkVersion": "1.96.0", "oDataV4Url": "http://localhost:4005/a",
        }),
    );
    let new = with(
        &folder,
        json!({
            "appNamespace": "new", "frameworkVersion": "1.141.0", "oDataV4Url": "http://localhost:4005/a",
        }),
    );
    for arguments in [old, new] {
        let answer = call_on(&Rehearsal::new(), arguments).expect("nothing is in the way");
        sizes.push(answer.rsplit_once(" are:\n").expect("there is a list").1.lines().count());
    }
    assert_eq!(sizes, [34, 33]);
    let old = folder.json("old/webapp/manifest.json");
    let new = folder.json("new/webapp/manifest.json");
    assert_eq!((&old["_version"], &new["_version"]), (&json!("1.37.0"), &json!("2.0.0")));
    let settings =
        |manifest: &Value, name: &str| manifest["sap.ui5"]["models"][""]["settings"][name].clone();
    assert_eq!(settings(&old, "synchronizationMode"), "None");
    assert_eq!(settings(&old, "earlyRequests"), Value::Null);
    assert_eq!(settings(&new, "earlyRequests"), true);
    assert!(folder.read("old/webapp/view/Main.view.xml").contains("<MessagePage"));
    assert!(folder.read("new/webapp/view/Main.view.xml").contains("enableVerticalResponsiveness"));
    assert!(folder.read("old/webapp/index.html").contains("data-sap-ui-oninit"));
    assert!(folder.read("new/webapp/index.html").contains("data-sap-ui-on-init"));
    assert!(folder.read("old/ui5.yaml").contains("themelib_sap_fiori_3"));
    let types = &folder.json("old/package.json")["devDependencies"];
    assert_eq!(types["@sapui5/ts-types-esm"], "~1.96.0");
    assert_eq!(types["@types/qunit"], "2.5.4");
    assert_eq!(folder.json("new/package.json")["devDependencies"]["@sapui5/types"], "~1.141.0");
}

#[test]
fn the_metadata_of_the_service_decide_the_columns() {
    let folder = Folder::new();
    let host = || Rehearsal::new().page("http://localhost:4004/c/$metadata", 200, METADATA);
    let data = |name: &str, set: Option<&str>, properties: &[&str]| {
        let mut more = json!({
            "appNamespace": name, "oDataV4Url": "/c", "entityProperties": properties,
        });
        if let Some(set) = set {
            more["oDataEntitySet"] = json!(set);
        }
        call_on(&host(), with(&folder, more))
    };
    let chosen = data("a", Some("Books"), &["title", "none", "title"]).expect("it is there");
    assert!(chosen.contains("the entity set 'Books': title.\n"), "{chosen}");
    assert!(
        chosen.contains("no properties of these names that a table can show: none.\n"),
        "{chosen}"
    );
    let view = folder.read("a/webapp/view/Main.view.xml");
    assert_eq!(view.matches("<table:Column>").count(), 1);
    let first = data("b", Some("Books"), &[]).expect("it is there");
    assert!(first.contains("the entity set 'Books': ID, title, c, d, e.\n"), "{first}");
    let model = data("c", None, &[]).expect("it is there");
    assert!(model.contains("The app has an OData V4 model, but no UI"), "{model}");
    assert!(model.contains("The service has the entity sets Books.\n"), "{model}");
    let unknown = data("d", Some("Cooks"), &[]).expect_err("there is no such set");
    assert!(unknown.starts_with("The provided OData V4 entity set 'Cooks' does not exist in"));
    assert!(!folder.path().join("d").exists());
}

/// Metadata of OData V2, with unusual namespace prefixes.
const METADATA_V2: &str = r#"<x:Edmx Version="1.0" xmlns:x="http://schemas.microsoft.com/ado/2007/06/edmx"
  xmlns:y="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
  xmlns:z="http://www.sap.com/Protocols/SAPData"><x:DataServices y:DataServiceVersion="2.0">
 <Schema Namespace="s" xmlns="http://schemas.microsoft.com/ado/2008/09/edm">
  <EntityType Name="B"><Property Name="ID" Type="Edm.Int32"/><Property Name="title" Type="Edm.String"/>
   <Property Name="price" Type="Edm.Decimal" Precision="9" Scale="2"/>
   <Property Name="day" Type="Edm.DateTime" z:display-format="Date"/>
   <Property Name="cover" Type="Edm.Binary"/></EntityType>
  <EntityContainer Name="C"><EntitySet Name="Books" EntityType="s.B"/></EntityContainer>
</Schema></x:DataServices></x:Edmx>"#;

#[test]
fn a_service_of_odata_v2_gets_the_model_of_v2() {
    let folder = Folder::new();
    for typescript in [true, false] {
        let host = Rehearsal::new().page("http://localhost:4004/c/$metadata", 200, METADATA_V2);
        let name = format!("ts.{typescript}");
        let more = json!({
            "appNamespace": name, "oDataV4Url": "/c", "oDataEntitySet": "Books",
            "typescript": typescript,
        });
        let answer = call_on(&host, with(&folder, more)).expect("it is there");
        assert!(
            answer.contains("The service speaks OData V2 (found in its metadata).\n"),
            "{answer}"
        );
        assert!(answer.contains("set 'Books': ID, title, price, day.\n"), "{answer}");
        let manifest = folder.json(&format!("{name}/webapp/manifest.json"));
        let source = &manifest["sap.app"]["dataSources"]["default"];
        assert_eq!(source["settings"]["odataVersion"], "2.0");
        let model = &manifest["sap.ui5"]["models"][""];
        assert_eq!(
            *model,
            json!({
                "type": "sap.ui.model.odata.v2.ODataModel", "dataSource": "default", "preload": true,
                "settings": {
                    "earlyTokenRequest": true, "defaultBindingMode": "TwoWay",
                    "defaultCountMode": "Inline", "defaultOperationMode": "Server",
                },
            })
        );
        let view = folder.read(&format!("{name}/webapp/view/Main.view.xml"));
        for part in [
            "DecimalType: 'sap/ui/model/odata/type/Decimal'",
            "{ path: 'price', type: 'DecimalType', constraints: { precision: 9, scale: 2 } }",
            "{ path: 'day', type: 'DateTimeType', constraints: { displayFormat: 'Date' } }",
            "text=\"{title}\"",
        ] {
            assert!(view.contains(part), "{part}: {view}");
        }
        let readme = folder.read(&format!("{name}/README.md"));
        assert!(readme.contains("the OData V2 service at"), "{readme}");
        is_well_formed_v2(&folder, &name);
    }
    let v4 = json!({ "appNamespace": "v4", "oDataV4Url": "/c", "oDataEntitySet": "Books" });
    let host = Rehearsal::new().page("http://localhost:4004/c/$metadata", 200, METADATA);
    let answer = call_on(&host, with(&folder, v4)).expect("it is there");
    assert!(answer.contains("The service speaks OData V4 (found in its metadata).\n"), "{answer}");
    let model = &folder.json("v4/webapp/manifest.json")["sap.ui5"]["models"][""];
    assert_eq!(
        (&model["type"], &model["settings"]["earlyTokenRequest"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(model["settings"]["earlyRequests"], true);
    assert!(!folder.read("v4/webapp/view/Main.view.xml").contains("core:require"));
}

fn is_well_formed_v2(folder: &Folder, name: &str) {
    assert_valid(&folder.json(&format!("{name}/webapp/manifest.json")));
    let view = folder.read(&format!("{name}/webapp/view/Main.view.xml"));
    roxmltree::Document::parse(&view).expect("it is XML");
}

#[test]
fn a_service_without_a_ui5_model_is_refused() {
    let folder = Folder::new();
    for (metadata, what) in [
        (METADATA_V2.replace("Version=\"2.0\"", "Version=\"3.0\""), "name OData 3.0 only."),
        (METADATA.replace("4.0", "5.0"), "name the version '5.0'."),
        (METADATA.replace(" Version=\"4.0\"", ""), "name no version of OData."),
    ] {
        let host = Rehearsal::new().page("http://localhost:4004/c/$metadata", 200, metadata);
        let arguments = with(&folder, json!({ "oDataV4Url": "/c", "oDataVersion": "2.0" }));
        let refused = call_on(&host, arguments).expect_err("there is no model");
        assert!(refused.contains(what) && refused.contains("Nothing was written."), "{refused}");
        assert_eq!(folder.list(), [""; 0]);
    }
}

#[test]
fn the_version_of_an_unreachable_service_is_named() {
    let folder = Folder::new();
    let version = |name: &str| {
        let manifest = folder.json(&format!("{name}/webapp/manifest.json"));
        manifest["sap.app"]["dataSources"]["default"]["settings"]["odataVersion"].clone()
    };
    for (name, url, odata, expected, told) in [
        ("a", "/sap/opu/odata/sap/x", json!(null), "2.0", "which the URL suggests"),
        ("b", "/x", json!(null), "4.0", "call this tool again with oDataVersion \"2.0\""),
        ("c", "/x", json!("2.0"), "2.0", "as oDataVersion says"),
    ] {
        let more = json!({ "appNamespace": name, "oDataV4Url": url, "oDataVersion": odata });
        let answer = call(&folder, more).expect("nothing is in the way");
        assert!(answer.contains(told), "{answer}");
        assert_eq!(version(name), expected);
    }
}

#[test]
fn a_version_that_does_not_exist_is_refused() {
    let folder = Folder::new();
    let list = r#"{ "latest": { "version": "1.152.0" }, "1.136": { "version": "1.136.20" } }"#;
    let host = || Rehearsal::new().page("https://ui5.sap.com/version.json", 200, list);
    let wrong = with(&folder, json!({ "frameworkVersion": "1.136.99" }));
    let refused = call_on(&host(), wrong).expect_err("it does not exist");
    assert!(refused.starts_with("SAPUI5 1.136.99 does not exist:"), "{refused}");
    assert!(refused.contains("1.136.20 and 1.152.0"), "{refused}");
    assert_eq!(folder.list(), [""; 0]);
    call_on(&host(), with(&folder, json!({ "frameworkVersion": "1.136.3" }))).expect("it exists");
}

#[test]
fn a_namespace_that_is_too_long_does_not_count_as_existing() {
    let folder = Folder::new();
    let refusal = refused(&folder, json!({ "appNamespace": "a".repeat(300) }));
    assert!(refusal.starts_with("The namespace is too long: it has 300 characters"), "{refusal}");
    call(&folder, json!({ "appNamespace": "a".repeat(70) })).expect("it is as long as can be");
}

#[test]
fn packages_have_the_versions_of_the_guide() {
    let folder = Folder::new();
    call(&folder, json!({})).expect("nothing is in the way");
    let installed = &folder.json("com.x/package.json")["devDependencies"];
    for (name, version) in versions::packages() {
        let range = installed[&name].as_str();
        match name.as_str() {
            "typescript" => assert_eq!(range, Some(format!("~{version}").as_str())),
            // The types have the version of the app's UI5, the linter is run without being
            // installed, and a new app has no controls that need generated interfaces.
            "@openui5/types" | "@ui5/linter" | "@ui5/ts-interface-generator" => {}
            _ => assert_eq!(range, Some(format!("^{version}").as_str()), "{name}"),
        }
    }
}

#[test]
fn an_unreachable_service_gives_no_columns() {
    let folder = Folder::new();
    let more = json!({ "oDataV4Url": "/c", "oDataEntitySet": "Books" });
    let answer = call(&folder, more).expect("the app is made all the same");
    assert!(answer.contains("has no columns and the Form has no fields"), "{answer}");
    assert!(answer.contains("could not be read, so the given entity set"), "{answer}");
    assert_eq!(
        folder.json("com.x/webapp/manifest.json")["sap.app"]["dataSources"]["default"]["uri"],
        "/c/"
    );
}

#[test]
fn refusals_have_the_order_of_the_ui5_mcp_server() {
    let folder = Folder::new();
    let wrong = json!({
        "frameworkVersion": "1.95.0", "oDataV4Url": "ftp://localhost/x", "createAppDirectory": false,
    });
    assert_eq!(
        refused(&folder, wrong),
        "The provided framework version 1.95.0 is not valid!\nThe minimum version for SAPUI5 is 1.96.0."
    );
    let wrong = json!({ "oDataV4Url": "https://evil.example/x" });
    assert!(refused(&folder, wrong).starts_with("Domain \"evil.example\" is not allowed."));
    fs::create_dir(folder.path().join("com.x")).expect("it can be made");
    let wrong = json!({ "oDataV4Url": "not a url" });
    assert!(refused(&folder, wrong).starts_with("The provided OData V4 service URL is not valid."));
    assert_eq!(
        refused(&folder, json!({})),
        format!(
            "Target directory '{}/com.x' already exists. Please choose a different namespace or base \
             path or remove the existing directory.",
            folder.argument()
        )
    );
}

#[test]
fn hostile_arguments_are_refused() {
    let folder = Folder::new();
    for more in [
        json!({ "appNamespace": "../x" }),
        json!({ "appNamespace": "a..b" }),
        json!({ "appNamespace": "com.x\n" }),
        json!({ "author": "\", \"scripts\": {" }),
        json!({ "author": "" }),
        json!({ "author": "[= id =]" }),
        json!({ "oDataV4Url": "/a", "oDataEntitySet": "Books'/>" }),
        json!({ "oDataV4Url": "/a", "oDataEntitySet": "B", "entityProperties": ["{path: 'x'}"] }),
        json!({ "basePath": "rel" }),
    ] {
        refused(&folder, more);
    }
}

#[test]
fn the_author_of_the_setting_is_escaped_for_each_file() {
    let folder = Folder::new();
    let author = "Ünï \"<b>\" [= id =] `$(x)` *O'Neil* 😀";
    let host = Rehearsal::new().setting("author", author);
    call_on(&host, with(&folder, json!({}))).expect("it is a name");
    assert_eq!(folder.json("com.x/package.json")["author"], author);
    assert!(folder.read("com.x/LICENSE").contains(&format!("Copyright {author}\n")));
    assert!(folder.read("com.x/README.md").contains("&lt;b>"));
    let nobody = Folder::new();
    call(&nobody, json!({})).expect("nothing is in the way");
    assert_eq!(nobody.json("com.x/package.json").get("author"), None);
    assert!(nobody.read("com.x/LICENSE").contains("Copyright [name of copyright owner]\n"));
}

#[test]
fn without_a_directory_of_its_own_nothing_is_overwritten() {
    let folder = Folder::new();
    fs::write(folder.path().join("README.md"), "mine").expect("it can be written");
    for dry_run in [true, false] {
        let more = json!({ "createAppDirectory": false, "dryRun": dry_run });
        let refusal = refused(&folder, more);
        assert!(refusal.contains("would be overwritten: README.md."), "{refusal}");
    }
    fs::rename(folder.path().join("README.md"), folder.path().join("notes.md")).expect("it moves");
    let answer = call(&folder, json!({ "createAppDirectory": false })).expect("nothing is there");
    let first = format!(
        "Successfully created a SAPUI5 TypeScript application inside {}\n",
        folder.argument()
    );
    assert!(answer.starts_with(&first), "{answer}");
    assert_eq!(folder.read("notes.md"), "mine");
    assert_eq!(folder.list().iter().filter(|name| !name.ends_with('/')).count(), 34);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::new();
    let answer = call(&folder, json!({ "dryRun": true })).expect("nothing is in the way");
    assert!(answer.starts_with("Dry run: nothing was written."), "{answer}");
    assert!(answer.contains("webapp/Component.ts\n"), "{answer}");
    assert!(!answer.contains("npm install"), "{answer}");
    assert_eq!(folder.list(), [""; 0]);
}

#[test]
fn the_answer_names_the_next_steps() {
    let folder = Folder::new();
    let plain = call(&folder, json!({})).expect("nothing is in the way");
    assert!(plain.contains("Note that 'npm start' starts the server"), "{plain}");
    assert!(plain.contains("npm install\n") && plain.contains("git init"), "{plain}");
    assert!(!plain.contains("and 'npm install' was executed"), "{plain}");
    let app = folder.path().join("app");
    fs::create_dir(&app).expect("it can be made");
    let more = json!({
        "basePath": app, "runNpmInstall": false, "initializeGitRepository": false,
        "typescript": false, "framework": "OpenUI5",
    });
    let cap = call(&folder, more).expect("nothing is in the way");
    assert!(
        cap.starts_with("Successfully created a OpenUI5 JavaScript application inside "),
        "{cap}"
    );
    assert!(cap.contains("**MUST** use 'cds watch'") && cap.contains("/com.x/index.html"), "{cap}");
    assert!(!cap.contains("NOT done"), "{cap}");
}

#[test]
fn the_latest_version_has_a_note_about_its_source() {
    let folder = Folder::new();
    let mut arguments = with(&folder, json!({}));
    arguments.as_object_mut().expect("it is an object").remove("frameworkVersion");
    let answer = call_on(&Rehearsal::new(), arguments).expect("there is a table");
    assert!(answer.contains("From a table of 20"), "{answer}");
}

#[cfg(unix)]
#[test]
fn a_link_at_the_path_of_the_app_counts_as_existing() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("com.x")).expect("made");
    assert!(refused(&folder, json!({})).contains("already exists"));
    assert_eq!(elsewhere.list(), [""; 0]);
}
