//! Finds instructions aimed at a model, by phrases that are rare in ordinary text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::RegexSet;

use crate::hidden::{is_invisible, is_tag};
use crate::{Kind, Rule};

/// The rules: their names and phrases as regular expressions. A space stands for white space or marks of emphasis (`*`,
/// `_`), and ` ?` for optional white space. Upper and lower case count as equal.
const PHRASES: &[(&str, &str)] = &[
    (
        "ignore-instructions",
        r"\b(?:ignore|disregard|forget|override|bypass) (?:(?:all|any|every|each|of|the|these|those|my|your) )*(?:previous|prior|above|earlier|preceding|foregoing|existing|original|former) (?:(?:and|or|system|user|safety|developer|security) )*(?:instructions?|prompts?|directions|directives|guidelines|commands|messages)\b",
    ),
    (
        "ignore-instructions-in-another-language",
        // German, Spanish, Portuguese, French, Italian, Russian, Chinese, Japanese.
        r"\b(?:ignoriere|ignorieren sie|vergiss|missachte) (?:(?:alle|die|deine|ihre) )*(?:vorherigen|bisherigen|obigen|früheren|vorangegangenen) (?:anweisungen|instruktionen|befehle)\b|\b(?:ignora|ignore|olvida|esquece|dimentica) (?:(?:todas|tutte|as|las|le) )*(?:instrucciones|instruções|istruzioni) (?:anteriores|previas|prévias|precedenti)\b|\b(?:ignore|ignorez|oublie|oubliez) (?:(?:toutes|les|tes|vos) )*(?:instructions|consignes) (?:précédentes|antérieures|ci-dessus)|(?:игнорируй|игнорируйте|забудь|забудьте) (?:(?:все|твои|ваши) )*(?:предыдущие|прежние|прошлые) (?:инструкции|указания|команды)|(?:忽略|无视|忘记)(?:掉|所有|全部|你)*(?:之前|先前|以上|上面|此前)的?(?:所有|全部)?的?(?:指令|指示|提示|命令)|(?:これまで|以前|上記|前)の(?:すべての|全ての)?(?:指示|命令|プロンプト)を(?:無視|忘れ)",
    ),
    (
        "keep-from-the-user",
        r"\b(?:do not|don't|never|must not) (?:tell|inform|notify|alert|mention (?:this|it|that|any of this|anything) to|reveal (?:this|it|that|any of this|anything) to|show (?:this|it|that) to|disclose (?:this|it|that) to) the user\b",
    ),
    (
        "change-of-role",
        r"\byou are now (?:in )?(?:a |an )?(?:dan|developer mode|jailbroken|unrestricted|unfiltered|uncensored|root mode|god mode)\b|\bfrom now on,? you (?:are|must|will|shall) (?:a |an )?(?:unrestricted|unfiltered|uncensored|ignore|obey|only obey|act without)\b",
    ),
    (
        "instructions-for-the-assistant",
        r"\b(?:new|updated|hidden|secret|important|mandatory) (?:(?:system|security) )?instructions? (?:for|to) (?:(?:the|any|all|an) )*(?:ai|llm|language model|ai assistant|ai agent|ai model|assistant)s?\b|\battention,? (?:(?:ai|llm|language) )+(?:assistant|agent|model)s?\b|\bai (?:assistants?|agents?|models?) (?:reading|processing|parsing|summari[sz]ing) this\b",
    ),
    (
        "ask-for-secrets",
        r"\b(?:send|forward|post|upload|e-?mail|transmit|exfiltrate|leak) (?:(?:all|any|the|of|your|this|our|entire|full|user's) )*(?:conversation|chat history|conversation history|system prompt|api keys?|credentials|environment variables|passwords?|private keys?|ssh keys?|access tokens?) to (?:https?:|[a-z0-9._%+-]+@|the following|this (?:address|url|server|endpoint))",
    ),
    (
        "reveal-the-system-prompt",
        r"\b(?:reveal|print|repeat|output|show|disclose|display) (?:(?:me|us|all|of) )*your (?:(?:entire|full|complete|hidden|initial|original|secret) )*(?:system prompt|system message|initial prompt|initial instructions|hidden instructions)\b",
    ),
    (
        "marks-of-chat-templates",
        r"<\|im_start\|> ?(?:system|user|assistant)\b|<\|start_header_id\|> ?(?:system|user|assistant) ?<\|end_header_id\|>|\[inst\] ?<<sys>>|<<sys>>[^<]+<</sys>>",
    ),
    (
        "important-tag",
        // Tool poisoning attacks use this tag in descriptions of tools. The tag alone does not match: the text in it
        // must also have one of these phrases.
        r"<important>[^<]*\b(?:before (?:using|calling) (?:this|any)|do not mention|don't mention|the user)\b[^<]*</important>",
    ),
];

static ALL: LazyLock<RegexSet> = LazyLock::new(|| {
    // In JSON, line ends are escaped: an escaped line end counts as white space.
    let spaced = |(_, phrase): &(&str, &str)| {
        let phrase = phrase.replace(" ?", "(?:[ \\t\\r\\n]|\\\\[nrt])*");
        let phrase = spaces(&phrase);
        format!("(?i){}", phrase.replace(r"\b", r"(?-u:\b)"))
    };
    RegexSet::new(PHRASES.iter().map(spaced)).expect("the phrases are valid")
});

/// Replaces each space outside of character classes by a pattern for white space or marks of emphasis.
fn spaces(pattern: &str) -> String {
    let mut spaced = String::with_capacity(pattern.len() * 2);
    let mut is_class = false;
    for c in pattern.chars() {
        match c {
            '[' => is_class = !spaced.ends_with('\\'),
            ']' => is_class = false,
            _ => {}
        }
        match c {
            ' ' if !is_class => spaced.push_str("(?:[ \\t\\r\\n\\u{a0}*_]|\\\\[nrt])+"),
            _ => spaced.push(c),
        }
    }
    spaced
}

/// The rules that match a text.
pub(crate) fn rules_in(text: &str) -> Vec<Rule> {
    // Every phrase has more than 12 bytes.
    if text.len() < 12 {
        return Vec::new();
    }
    let text = shown_to_models(text);
    let matched = ALL.matches(&text).into_iter();
    matched.map(|index| Rule { kind: Kind::Instructions, name: PHRASES[index].0 }).collect()
}

/// The text as a model reads it: without invisible characters, and with Unicode tags as the ASCII characters that they
/// stand for.
fn shown_to_models(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(|c| is_invisible(c) || is_tag(c)) {
        return text.into();
    }
    let shown = text.chars().filter(|c| !is_invisible(*c)).map(|c| {
        let ascii = u32::from(c).checked_sub(0xe0000).filter(|code| is_tag(c) && *code >= 0x20);
        ascii.and_then(char::from_u32).unwrap_or(c)
    });
    shown.collect::<String>().into()
}
