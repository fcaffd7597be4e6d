//! Describes each directory as a UI5 project, one line of JSON each:
//! `cargo run -p ui5 --example projects -- DIRECTORY...`.

use portcullis_plugin::serde_json::json;

fn main() {
    for path in std::env::args().skip(1) {
        let line = match ui5::project::find(&path) {
            Ok(project) => json!({
                "projectDir": project.directory,
                "projectName": project.name,
                "projectType": project.kind,
                "frameworkName": project.framework,
                "frameworkVersion": project.framework_version,
                "frameworkLibraries": project.framework_libraries,
            }),
            Err(why) => json!({ "error": why }),
        };
        println!("{line}");
    }
}
