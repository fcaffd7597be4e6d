//! The answer about an app that was created.

use super::App;
use crate::{
    finish::{Finished, Step},
    order::by_name,
    render::File,
};
use std::path::Path;

/// The answer under construction.
pub struct Answer<'a> {
    app: &'a App,
    base: &'a Path,
    location: &'a Path,
    files: &'a [File],
    finished: Finished,
}

impl<'a> Answer<'a> {
    /// Starts an answer, before other programs have run.
    pub fn new(app: &'a App, base: &'a Path, location: &'a Path, files: &'a [File]) -> Self {
        Self { app, base, location, files, finished: Finished::default() }
    }

    /// Adds the results of other programs.
    pub fn finished(&mut self, finished: Finished) {
        self.finished = finished;
    }

    /// The answer of a dry run: nothing was written.
    pub fn of_dry_run(&self) -> String {
        let location = self.location.display();
        let mut text = format!(
            "Dry run: nothing was written. {} would be created inside {location}\n{}.\n",
            self.what(),
            self.names()
        );
        push_line(&mut text, &self.data());
        self.app.notes.iter().for_each(|note| push_line(&mut text, note));
        text + &format!("The files inside {location} would be:\n{}\n", self.list())
    }

    /// The answer after all files were written.
    pub fn of_success(&self) -> String {
        let location = self.location.display();
        let installed = if self.finished.done.contains(&Step::NpmInstall) {
            " and 'npm install' was executed"
        } else {
            ""
        };
        let mut text = format!(
            "Successfully created {} inside {location}\n{}{installed}.\n\
             Note that the BaseController has no 'onInit' function, so do not try to call \
             'super.onInit()' in the MainController\nwhen adding code.\n",
            self.what(),
            self.names()
        );
        push_line(&mut text, &self.how_to_start());
        push_line(&mut text, &self.data());
        let notes = self.app.notes.iter().chain(&self.finished.notes);
        notes.for_each(|note| push_line(&mut text, note));
        text + &format!("\nThe generated files inside {location} are:\n{}\n", self.list())
    }

    fn what(&self) -> String {
        let language = if self.app.typescript { "TypeScript" } else { "JavaScript" };
        format!("a {} {language} application", self.app.framework)
    }

    fn names(&self) -> String {
        let App { namespace, framework, version, .. } = self.app;
        let namespace = namespace.as_str();
        format!("(Namespace: {namespace}\nFramework: {framework} {})", version.version)
    }

    /// The advice on how to start the app. CAP projects start their own server.
    fn how_to_start(&self) -> String {
        let base = self.base.to_string_lossy();
        if base.contains("/app/") || base.ends_with("/app") {
            format!(
                "Note that in CAP projects you **MUST NOT** use 'npm start' of this UI5 app, as doing \
                 this and opening it on port 8080 will not allow the app to load any data. Instead, \
                 you **MUST** use 'cds watch' in the project root to start the server. The new app \
                 is then automatically served at /{}/index.html.",
                self.app.namespace.as_str()
            )
        } else {
            "Note that 'npm start' starts the server and remains active, so you should not wait for \
             the command to exit on its own.\nNote that you should not open the root of the server \
             ('/') to launch the app when using the UI5 CLI tooling for serving it, but 'index.html'."
                .to_owned()
        }
    }

    fn data(&self) -> String {
        let App { service, columns, .. } = self.app;
        match (service, columns) {
            (None, _) => String::new(),
            (Some(_), None) => format!(
                "The app has an OData {} model, but no UI for displaying data, as no entity set was \
                 specified.",
                self.app.odata_version.name()
            ),
            (Some(_), Some(columns)) if columns.properties.is_empty() => {
                "Note that the table in the Main view has no columns and the Form has no fields, as \
                 an OData service and entity was provided, but no properties were specified and none \
                 could be found automatically"
                    .to_owned()
            }
            (Some(_), Some(columns)) => format!(
                "The table in the Main view displays the following properties of the entity set '{}': \
                 {}.",
                columns.set,
                columns.names().join(", ")
            ),
        }
    }

    fn list(&self) -> String {
        let mut paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        paths.sort_by(|a, b| by_name(a, b));
        paths.join("\n")
    }
}

fn push_line(text: &mut String, line: &str) {
    if !line.is_empty() {
        text.push_str(line);
        text.push('\n');
    }
}
