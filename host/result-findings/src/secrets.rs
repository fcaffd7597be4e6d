//! Finds secrets, by the forms that their issuers publish.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::{Kind, Rule};

/// The rules: their names, and the forms as regular expressions.
const FORMS: &[(&str, &str)] = &[
    ("anthropic-key", r"\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    ("aws-access-key", r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    ("github-token", r"\bgh[opsu]_[A-Za-z0-9]{36,}\b|\bghr_[A-Za-z0-9]{36,}\b"),
    ("github-fine-grained-token", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    ("gitlab-token", r"\bgl(?:agent|cbt|dt|ft|imt|oas|pat|ptt|rt|soat)-[A-Za-z0-9_-]{20,}"),
    ("google-api-key", r"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("hugging-face-token", r"\bhf_[A-Za-z]{34}\b"),
    ("json-web-token", r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{40,}"),
    ("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    (
        "openai-key",
        r"\bsk-(?:admin|proj|svcacct)-[A-Za-z0-9_-]{40,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b",
    ),
    (
        "private-key",
        // The lines between the header and the base64 are those of RFC 1421 and OpenPGP. In JSON, line ends are
        // escaped.
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[A-Za-z-]+: [^\n\\]{1,200})*[A-Za-z0-9+/=]{40}",
    ),
    ("pypi-token", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    ("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    (
        "slack-token",
        r"\bxox[abeoprs]-[0-9]{8,}-[A-Za-z0-9-]{20,}|\bxapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[a-z0-9]{40,}",
    ),
    ("stripe-key", r"\b[rs]k_live_[A-Za-z0-9]{24,}\b"),
];

static ALL: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(FORMS.iter().map(|(_, form)| ascii(form))).expect("the forms are valid")
});

static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let form = |(_, form): &(&str, &str)| Regex::new(&ascii(form)).expect("the forms are valid");
    FORMS.iter().map(form).collect()
});

/// The pattern, with word boundaries and white space limited to ASCII.
fn ascii(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)").replace(r"\s", r"[ \t\r\n]")
}

/// The rules that match a text.
pub(crate) fn rules_in(text: &str) -> Vec<Rule> {
    let matched = ALL
        .matches(text)
        .into_iter()
        .filter(|index| EACH[*index].find_iter(text).any(|found| !is_made_up(found.as_str())));
    matched.map(|index| Rule { kind: Kind::Secret, name: FORMS[index].0 }).collect()
}

/// Whether a match is an example and not a secret: the match has a word such as `example`, or its last 16 bytes have
/// fewer than six different values, as in `ghp_xxxxxxxx…`.
fn is_made_up(found: &str) -> bool {
    let lower = found.to_ascii_lowercase();
    let says_so =
        ["example", "placeholder", "your_", "your-"].iter().any(|word| lower.contains(word));
    let last = &found.as_bytes()[found.len() - 16.min(found.len())..];
    let mut different = last.to_vec();
    different.sort_unstable();
    different.dedup();
    says_so || different.len() < 6
}
