//! Makes the section about the settings of bundled plugins: their manifests name the settings, and the default
//! configuration has the values.

use portcullis_core::config::DEFAULT;
use serde_json::Value;

use crate::support::home::Home;

/// A bundled plugin, with its settings: names and meanings.
struct Plugin {
    name: String,
    settings: Vec<(String, String)>,
}

/// The bundled plugins that have settings.
fn plugins() -> Vec<Plugin> {
    let ran = Home::new().run(&["audit", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let audit: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let settings = |plugin: &Value| {
        let wants = plugin["wants"].as_array().into_iter().flatten();
        let settings = wants.filter(|want| want["capability"] == "settings");
        settings.map(|want| (text(&want["target"]), text(&want["reason"]))).collect()
    };
    let plugins = audit["plugins"].as_array().expect("there are plugins").iter();
    plugins
        .map(|plugin| Plugin { name: text(&plugin["name"]), settings: settings(plugin) })
        .filter(|plugin| !plugin.settings.is_empty())
        .collect()
}

/// The default configuration as it is written, before variables are replaced.
fn defaults() -> toml::Table {
    DEFAULT.parse().expect("it is TOML")
}

/// The part of the page about settings of the bundled plugins.
pub fn section() -> String {
    let mut text = "
## Settings of the bundled plugins

The value of a setting is a string. A table `[plugins.NAME]` of your file replaces all of the plugin's defaults. In the
defaults, `${VARIABLE:-OTHERWISE}` stands for a variable of the environment, or for the text after `:-` where the variable is
not set; of several variables with `|` between them, the first that is set counts. In your own file, such a text is not
replaced.
"
    .to_owned();
    let defaults = defaults();
    for Plugin { name, settings } in plugins() {
        let of_plugin = defaults["plugins"].get(&name).and_then(|plugin| plugin.get("settings"));
        text += &format!("\n### `[plugins.{name}.settings]`\n\n");
        text += "| key | default | meaning |\n|---|---|---|\n";
        for (key, meaning) in settings {
            let default = of_plugin.and_then(|settings| settings.get(&key));
            let default = default.map_or("not set".to_owned(), |value| format!("`{value}`"));
            let cells = [format!("`{key}`"), default, meaning].map(|cell| cell.replace('|', "\\|"));
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text
}

#[test]
fn the_defaults_set_only_settings_that_their_plugins_have() {
    let plugins = plugins();
    let mut seen = 0;
    for (name, plugin) in defaults()["plugins"].as_table().expect("they are tables") {
        let settings = plugin.get("settings").and_then(toml::Value::as_table);
        for key in settings.into_iter().flat_map(toml::Table::keys) {
            let mut known = plugins.iter().filter(|plugin| plugin.name == *name);
            let is_known = known.any(|plugin| plugin.settings.iter().any(|(name, _)| name == key));
            assert!(is_known, "`plugins.{name}.settings.{key}`: the plugin has no such setting");
            seen += 1;
        }
    }
    assert!(seen > 5, "there are settings");
}
