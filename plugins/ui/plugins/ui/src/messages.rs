//! The messages of views in languages other than English: as scripts within a page, and as resources that a
//! page reads.

/// A language of the messages in views.
#[derive(Debug)]
pub struct Language {
    /// The language subtag by BCP 47, such as `de`.
    pub name: &'static str,
    /// A script that adds the messages to a page.
    pub script: &'static str,
    /// The messages as JSON, by their keys.
    json: &'static str,
}

macro_rules! languages {
    ($($name:literal)*) => {
        &[$(Language {
            name: $name,
            script: include_str!(concat!("../../../resources/messages/", $name, ".js")),
            json: include_str!(concat!("../../../resources/src/messages/", $name, ".json")),
        }),*]
    };
}

/// All languages except English. The English messages are in every page.
pub const ALL: &[Language] = languages!["ar" "de" "es" "fr" "ja" "zh"];

const BEFORE: &str = "ui://portcullis/messages/";
const AFTER: &str = ".json";

/// The languages of a list that is separated by commas or colons. The entries are language tags such as `fr-CA`, or
/// POSIX locales such as `de_DE.UTF-8`. Languages without messages are left out: views use English for them.
pub fn named(list: &str) -> Vec<&'static Language> {
    let language = |locale: &str| {
        let name = locale.trim().split(['-', '_', '.', '@']).next()?.to_ascii_lowercase();
        ALL.iter().find(|language| language.name == name)
    };
    let mut found: Vec<&Language> = Vec::new();
    for language in list.split([',', ':']).filter_map(language) {
        if !found.iter().any(|other| other.name == language.name) {
            found.push(language);
        }
    }
    found
}

/// The messages at a URI, as JSON.
pub fn at(address: &str) -> Option<&'static str> {
    let name = address.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    ALL.iter().find(|language| language.name == name).map(|language| language.json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_found_in_locales() {
        let names = |list| named(list).iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names("de_DE.UTF-8"), ["de"]);
        assert_eq!(names("fr-CA, ja ,FR"), ["fr", "ja"]);
        assert_eq!(names("zh_TW@x:ar"), ["zh", "ar"]);
        assert!(names("C.UTF-8, en_GB, sv, ,").is_empty());
    }

    #[test]
    fn each_language_can_be_read() {
        for language in ALL {
            let json = at(&format!("{BEFORE}{}{AFTER}", language.name)).expect("it is there");
            assert!(json.contains("\"run\""), "{}", language.name);
            assert!(language.script.contains(&format!(".{}=", language.name)), "{}", language.name);
        }
        for other in ["en", "xx", "", "../de", "de/1"] {
            assert!(at(&format!("{BEFORE}{other}{AFTER}")).is_none(), "{other}");
        }
    }
}
