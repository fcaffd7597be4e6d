//! Removes text around a document and invisible characters, and detects text written to manipulate its reader.

use regex_lite::Regex;

/// Signs of manipulation, each with its meaning.
const SIGNS: &[(&str, &str)] = &[
    (
        r"(?i)\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|these\s+)*(?:previous|prior|above|earlier|preceding)\s+(?:instructions?|prompts?|rules|messages?|context)",
        "it speaks of ignoring instructions",
    ),
    (
        r"(?i)\b(?:reveal|print|repeat|show|output)\s+(?:your|the)\s+system\s+prompt\b|\bsystem\s+prompt\s*:",
        "it speaks to a model",
    ),
    (r"(?i)\bas\s+an?\s+(?:ai|artificial\s+intelligence)\b", "it speaks as a model"),
    (
        r"(?i)\bI(?:'|’|\s+a)m\s+sorry,?\s+(?:but\s+)?I\s+(?:can(?:'|’|no)t|am\s+unable)",
        "it apologises instead of showing something",
    ),
    (
        r"(?i)</?\s*(?:system|assistant|tool_call|function_calls?|tool_result)\s*>",
        "it contains tags of a chat with a model",
    ),
    (
        r"(?i)\b(?:enter|type|give|provide|confirm|verify|paste|submit)\b[^.<>]{0,30}\b(?:password|passphrase|api[\s-]?key|secret\s+key|private\s+key|seed\s+phrase|credit\s+card|card\s+number|cvv|social\s+security)",
        "it asks for something secret",
    ),
];

/// Finds signs that a text tries to manipulate its reader. Returns one message for each sign, with the words found.
pub fn manipulation_signs(text: &str) -> Vec<String> {
    let found = SIGNS.iter().filter_map(|(sign, meaning)| {
        let sign = Regex::new(sign).expect("each sign is a valid regular expression");
        let words: String = sign.find(text)?.as_str().chars().take(80).collect();
        Some(format!("{meaning} (“{words}”): leave that out"))
    });
    found.collect()
}

/// Removes text that a model wrote around a document, and characters that are invisible or reorder others. Returns
/// the document and the repairs.
pub fn unwrapped(text: &str) -> (String, Vec<String>) {
    let mut repairs = Vec::new();
    let mut html = text.trim();
    if let Some(start) = html.find('<').filter(|start| *start > 0) {
        html = &html[start..];
        repairs.push("removed the text before the document".to_owned());
    }
    if let Some(end) = html.rfind('>').filter(|end| end + 1 < html.len()) {
        html = &html[..=end];
        repairs.push("removed the text after the document".to_owned());
    }
    let is_invisible = |c: char| matches!(c, '\u{0}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    let plain: String = html.chars().filter(|c| !is_invisible(*c)).collect();
    if plain.len() < html.len() {
        repairs.push("removed invisible characters".to_owned());
    }
    (plain, repairs)
}
