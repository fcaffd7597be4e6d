//! Short forms of grants of files, such as `files=write` and `files=read:/data`.

use std::path::{Path, PathBuf};

use portcullis_files::Access;
use serde_json::Value;

use super::grant::{FilesGrant, Scope};
use crate::capabilities::short_form::{self, Form, InvalidValue, ShortForms, Table};

/// The word that stands for all of the roots after `read:` or `write:`.
const ROOTS: &str = "roots";

impl ShortForms for FilesGrant {
    const FORMS: &'static [Form] = &[
        ("read", "read the paths that a call names"),
        ("write", "read and write the paths that a call names"),
        ("read:roots", "read all of the session's roots"),
        ("write:roots", "read and write all of the session's roots"),
        ("read:/DIRECTORY", "read a directory outside the roots, and the paths that a call names"),
        (
            "write:/DIRECTORY",
            "read and write a directory outside the roots, and read a call's paths",
        ),
    ];

    fn parse(text: &str) -> Result<Vec<String>, InvalidValue> {
        short_form::separated(text)?.into_iter().map(parse_value).collect()
    }

    fn values(&self) -> Vec<String> {
        let scopes = [Scope::Arguments, Scope::Roots].into_iter().filter(|one| *one <= self.scope);
        let mut values = Vec::new();
        for scope in scopes {
            let accesses = [Access::Read, Access::Write].into_iter();
            values.extend(accesses.filter(|one| *one <= self.access).map(|one| match scope {
                Scope::Arguments => one.to_string(),
                Scope::Roots => format!("{one}:{ROOTS}"),
            }));
        }
        values.extend(self.directories.iter().map(|path| format!("read:{}", path.display())));
        for path in &self.writable {
            let path = path.display();
            values.extend([format!("read:{path}"), format!("write:{path}")]);
        }
        values
    }

    /// Each grant of files lets a plugin read the paths that a call names.
    fn implied(value: &str) -> Vec<String> {
        let mut implied = Vec::new();
        if value != "read" {
            implied.push("read".to_owned());
        }
        match value.split_once(':') {
            Some(("write", ROOTS)) => {
                implied.extend(["write".to_owned(), format!("read:{ROOTS}")]);
            }
            Some(("write", path)) => implied.push(format!("read:{path}")),
            Some(_) | None => {}
        }
        implied
    }

    fn words(value: &str) -> String {
        match value.split_once(':') {
            None => format!("{value} the paths that a call names"),
            Some((access, ROOTS)) => format!("{access} all of the session's roots"),
            Some((access, path)) => format!("{access} {path}"),
        }
    }

    fn add(table: &mut Table, values: &[String]) {
        let has = |value: &str| values.iter().any(|one| one == value);
        if has("write") {
            table.insert("access".into(), "write".into());
        } else {
            table.entry("access").or_insert_with(|| "read".into());
        }
        if has("read:roots") || has("write:roots") {
            table.insert("scope".into(), ROOTS.into());
        }
        for value in values {
            match value.split_once(':') {
                Some(("write", path)) if path != ROOTS => {
                    // A plugin that may write a directory may read the directory, too.
                    remove_directory(table, "directories", path);
                    short_form::add_texts(table, "writable", &[path.to_owned()]);
                }
                Some(("read", path)) if path != ROOTS && !has(&format!("write:{path}")) => {
                    short_form::add_texts(table, "directories", &[path.to_owned()]);
                }
                Some(_) | None => {}
            }
        }
    }

    fn remove(table: &mut Table, values: &[String]) {
        let has = |value: &str| values.iter().any(|one| one == value);
        if has("read:roots") {
            table.remove("scope");
        }
        if has("write") && table.get("access").and_then(Value::as_str) == Some("write") {
            table.insert("access".into(), "read".into());
        }
        for value in values {
            match value.split_once(':') {
                Some(("read", path)) => {
                    remove_directory(table, "directories", path);
                    remove_directory(table, "writable", path);
                }
                // Reading of the directory stays granted, unless the value `read:DIRECTORY` is removed, too.
                Some(("write", path)) if path != ROOTS && !has(&format!("read:{path}")) => {
                    remove_directory(table, "writable", path);
                    short_form::add_texts(table, "directories", &[path.to_owned()]);
                }
                Some(_) | None => {}
            }
        }
    }

    /// The subject does not say which value of the grant covered the path. So each value that could cover the path may
    /// have been used.
    fn may_be_used_by(value: &str, subject: &str) -> bool {
        let (access, place) = value.split_once(':').unwrap_or((value, ""));
        let Some((used, path)) = subject.split_once(' ') else { return true };
        let has_access = match used {
            "read" => access == "read",
            "write" => access == "write",
            _ => return true,
        };
        let is_directory = !matches!(place, "" | ROOTS);
        has_access && (!is_directory || Path::new(path).starts_with(place))
    }

    fn is_wanted(value: &str, wants: &Self) -> bool {
        match value.split_once(':') {
            // A grant may name a directory above or beneath the wanted directory.
            Some((access, path)) if path != ROOTS => {
                let mut wanted: Vec<&PathBuf> = wants.writable.iter().collect();
                if access == "read" {
                    wanted.extend(&wants.directories);
                }
                let path = Path::new(path);
                wanted.iter().any(|one| one.starts_with(path) || path.starts_with(one))
            }
            Some(_) | None => wants.values().iter().any(|wanted| wanted == value),
        }
    }
}

/// Parses one of the texts between commas.
fn parse_value(text: String) -> Result<String, InvalidValue> {
    match text.split_once(':') {
        None if matches!(text.as_str(), "read" | "write") => Ok(text),
        Some(("read" | "write", ROOTS)) => Ok(text),
        Some((access @ ("read" | "write"), path)) => {
            let path = portcullis_confine::at_home(Path::new(path));
            if !path.is_absolute() {
                return Err(InvalidValue::RelativePath(path.display().to_string()));
            }
            Ok(format!("{access}:{}", path.display()))
        }
        Some(_) | None => Err(InvalidValue::Unknown(text)),
    }
}

/// Removes a directory from a list. The list may have the directory in the form `~/…`.
fn remove_directory(table: &mut Table, key: &str, path: &str) {
    let mut all = short_form::texts(table, key);
    all.retain(|one| portcullis_confine::at_home(Path::new(one)) != Path::new(path));
    short_form::set_texts(table, key, all);
}
