//! Parses revisions such as `HEAD~2`: a subset of the syntax in git's `gitrevisions`.

use crate::fault::Fault;

/// Maximum length of a revision's text, in bytes.
const MAX_TEXT: usize = 1024;

/// A revision: a name, and steps from the commit of that name.
#[derive(Debug, PartialEq, Eq)]
pub struct Revision<'t> {
    /// A branch, a tag, another reference, or the digits of an object name.
    pub name: &'t str,
    pub steps: Vec<Step>,
}

/// A step from a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the first parent, this number of times: `~3`.
    Back(u32),
    /// To a parent, counted from 1: `^2`.
    Parent(u32),
    /// To the commit itself: `^0`, `~0`, `^{commit}`, `^{}`.
    Itself,
}

impl<'t> Revision<'t> {
    /// Parses a revision such as `HEAD~2`, `main`, `v1.0^2` or `1f2e3d4`.
    ///
    /// # Errors
    ///
    /// When the text has another form, such as a range.
    pub fn parse(text: &'t str) -> Result<Self, Fault> {
        let fault = || Fault::NotARevision(text.chars().take(MAX_TEXT).collect());
        let trimmed = text.trim();
        let end = trimmed.find(['~', '^']).unwrap_or(trimmed.len());
        let (name, mut rest) = trimmed.split_at(end);
        let name = if name == "@" { "HEAD" } else { name };
        if trimmed.len() > MAX_TEXT || !is_name(name) {
            return Err(fault());
        }
        let mut steps = Vec::new();
        while let Some(sign) = rest.chars().next() {
            rest = &rest[sign.len_utf8()..];
            if let Some(after) = rest
                .strip_prefix("{commit}")
                .or_else(|| rest.strip_prefix("{}"))
                .filter(|_| sign == '^')
            {
                steps.push(Step::Itself);
                rest = after;
                continue;
            }
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            rest = after;
            let number = if number.is_empty() { 1 } else { number.parse().map_err(|_| fault())? };
            steps.push(match (sign, number) {
                (_, 0) => Step::Itself,
                ('~', back) => Step::Back(back),
                ('^', parent) => Step::Parent(parent),
                _ => return Err(fault()),
            });
        }
        Ok(Self { name, steps })
    }
}

/// Whether a text can be the name of a reference, by `git check-ref-format`. Only such texts are
/// made into paths.
pub fn is_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !name.is_empty()
        && !name.contains(forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.starts_with('-')
        && !name.ends_with('.')
        && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions() {
        let steps = |text| Revision::parse(text).map(|found| (found.name, found.steps)).ok();
        assert_eq!(steps("HEAD"), Some(("HEAD", vec![])));
        assert_eq!(steps(" @~ "), Some(("HEAD", vec![Step::Back(1)])));
        assert_eq!(
            steps("origin/main~3^2^^0~0^{commit}"),
            Some((
                "origin/main",
                vec![
                    Step::Back(3),
                    Step::Parent(2),
                    Step::Parent(1),
                    Step::Itself,
                    Step::Itself,
                    Step::Itself
                ]
            ))
        );
        for text in [
            "",
            "a..b",
            "HEAD@{1}",
            "../../etc/passwd",
            "/etc",
            "a//b",
            "main:file",
            "HEAD~x",
            "~1",
            "-a",
            "a b",
            "HEAD~99999999999",
            "a/.git",
            "a.lock",
            "a\0",
            "HEAD^{tree}",
            "HEAD~é",
        ] {
            assert_eq!(steps(text), None, "{text}");
        }
    }
}
