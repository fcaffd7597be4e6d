//! Removes the section of a plugin.

use toml_edit::DocumentMut;

use super::{
    CONFIGURATION, Config, Edit, EditError, Values, document, lacking, take, unreadable, values_of,
};

/// Removes `[plugins.NAME]` with all that is in it. All other text stays as it is.
///
/// # Errors
///
/// The configuration is invalid, or would be invalid: see [`EditError`].
pub fn remove_plugin(text: &str, plugin: &str) -> Result<Edit, EditError> {
    let config = Config::parse(text).map_err(EditError::Before)?;
    let mut edit = Edit {
        before: text.to_owned(),
        after: text.to_owned(),
        from_defaults: false,
        added: Vec::new(),
        removed: Vec::new(),
        settings: Vec::new(),
    };
    let path = ["plugins", plugin];
    let mut document: DocumentMut = text.parse().map_err(unreadable(CONFIGURATION))?;
    if !document::has(&document, &path) {
        return Ok(edit);
    }
    edit.removed = lacking(&values_of(&config, plugin), &Values::new());
    let settings = config.plugins.get(plugin).map(|plugin| plugin.settings.keys().cloned());
    edit.settings = settings.into_iter().flatten().map(|key| (key, None)).collect();
    document::remove(&mut document, &path);
    edit.after = document.to_string();
    Config::parse(&edit.after).map_err(|error| EditError::After(Box::new(error)))?;
    let rest = |text: &str| -> Result<toml::Table, EditError> {
        let mut table = toml::from_str(text).map_err(unreadable(CONFIGURATION))?;
        take(&mut table, &path);
        Ok(table)
    };
    let edited: DocumentMut = edit.after.parse().map_err(unreadable(CONFIGURATION))?;
    if document::has(&edited, &path) || rest(text)? != rest(&edit.after)? {
        return Err(EditError::Other);
    }
    Ok(edit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_goes_and_all_else_stays() {
        let text = "# mine\nroots = []\n\n[plugins.a]\nenabled = true # yes\n[plugins.a.grants.store]\nbytes = 1\n\n\
                    # of b\n[plugins.b.grants.store]\nbytes = 2 # two\n";
        let edit = remove_plugin(text, "a").unwrap();
        assert_eq!(
            edit.after,
            "# mine\nroots = []\n\n# of b\n[plugins.b.grants.store]\nbytes = 2 # two\n"
        );
        assert_eq!(edit.removed.len(), 1);
        assert!(remove_plugin(text, "c").unwrap().is_nothing());
        let dotted = "plugins.a.grants.store.bytes = 1\nplugins.b.enabled = true\n";
        assert_eq!(remove_plugin(dotted, "a").unwrap().after, "plugins.b.enabled = true\n");
        remove_plugin("plugins = 1", "a").unwrap_err();
    }
}
