//! Tests that check which asks a grant of the client covers.

use super::grant::*;
use crate::bindings::types;
use crate::gate::Ask as _;

#[test]
fn only_the_granted_features_are_within() {
    let grant: ClientGrant = toml::from_str("features = [\"elicitation\"]").unwrap();
    for (feature, expected) in
        [(Feature::Elicitation, true), (Feature::Sampling, false), (Feature::Roots, false)]
    {
        assert_eq!(
            ClientAsk { feature, action: String::new() }.is_within(&grant),
            expected,
            "{feature}"
        );
    }
}

#[test]
fn an_agreed_pattern_is_for_one_kind_of_action() {
    let grant = "features = [\"consent\"]\nagreed.console = [\"stat *\", \"a*b*c\", \"exact\"]";
    let grant: ClientGrant = toml::from_str(grant).unwrap();
    for subject in ["stat fps", "stat ", "abc", "a-b-b-c", "exact"] {
        assert!(grant.agrees("console", subject), "{subject}");
        assert!(!grant.agrees("import", subject), "{subject} is of another kind");
    }
    for subject in ["stat", "status", "xstat fps", "ac", "abcd", "exactly", ""] {
        assert!(!grant.agrees("console", subject), "{subject}");
    }
}

#[test]
fn an_empty_list_is_refused_at_load() {
    let error = toml::from_str::<ClientGrant>("features = []").unwrap_err();
    assert!(error.to_string().contains("name at least one"), "{error}");
}

#[test]
fn a_record_of_consent_has_no_secret_in_any_of_its_parts() {
    let consent = types::Consent {
        kind: "run token=hunter2".into(),
        action: String::new(),
        subject: "push --password=hunter3".into(),
        overwrites: Some("secret=hunter4".into()),
    };
    let ask = ClientAsk::of(&types::Ask::Consent(consent)).unwrap();
    assert!(!ask.action.contains("hunter"), "{}", ask.action);
    assert!(ask.action.starts_with("run token=") && ask.action.contains("push"), "{}", ask.action);
}
