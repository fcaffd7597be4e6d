//! Bounds the nesting of a script before the script is parsed, since the parser is recursive.
//!
//! Both brackets and prefixes (`!!a`, `a = b = c`, `a ? b : c ? d : e`, `if (a) if (b) c`) nest. This module reads the
//! script as tokens, so that brackets within strings do not count.

/// The cost of an open bracket; an open prefix costs 1. The parser uses about five times as much stack for a bracket.
const BRACKET: usize = 5;
/// Maximum total cost of the brackets and prefixes that are open at a time: 200 brackets.
const MAX_COST: usize = 1000;

/// Why a script is not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The script nests too deep.
    Deep,
    /// The script has a `/` that may be a division or the start of a regular expression.
    Slash,
}

/// The kind of token before the current position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenBefore {
    /// The end of a value, such as a name or a closing bracket.
    Value,
    /// The name `async`, with which a function can begin.
    Async,
    /// A token before a value, such as an operator or `return`.
    Operator,
    /// A dot: a name of a member follows.
    Dot,
    /// A `}`: the end of a block or of a value.
    Brace,
    /// A token that may or may not end a value, such as the word `yield`.
    Either,
}

/// An open bracket, with the prefixes that are open within it.
struct Level {
    /// Whether the level is a `${…}` in a template literal.
    in_template: bool,
    /// The kind of token that the closing bracket counts as.
    after: TokenBefore,
    /// Open prefixes of an expression.
    expression: usize,
    /// Open prefixes of a statement.
    statement: usize,
    /// Whether a `;` or a `}`, which may end a statement, came last.
    ended: bool,
}

impl Level {
    const fn new(after: TokenBefore) -> Self {
        Self { in_template: false, after, expression: 0, statement: 0, ended: false }
    }
}

struct Scan<'s> {
    rest: &'s str,
    before: TokenBefore,
    /// The last word, if no operator, bracket or member name followed it. Literals do not clear it.
    word: &'s str,
    /// Whether only spaces and comments precede the position on its line.
    newline: bool,
    levels: Vec<Level>,
    cost: usize,
}

/// Checks that the parser can read a script without running out of stack.
pub fn check(source: &str) -> Result<(), Refusal> {
    let mut scan = Scan {
        rest: source,
        before: TokenBefore::Operator,
        word: "",
        newline: true,
        levels: vec![Level::new(TokenBefore::Value)],
        cost: 0,
    };
    if source.starts_with("#!") {
        scan.skip_line();
    }
    while let Some(char) = scan.rest.chars().next() {
        scan.token(char)?;
        if scan.cost > MAX_COST {
            return Err(Refusal::Deep);
        }
    }
    Ok(())
}

const fn is_line_end(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_space(char: char) -> bool {
    char.is_whitespace() || char == '\u{feff}'
}

fn is_of_word(char: char) -> bool {
    char.is_ascii_alphanumeric()
        || matches!(char, '_' | '$' | '\\' | '\u{200c}' | '\u{200d}')
        || (!char.is_ascii() && !is_space(char))
}

impl<'s> Scan<'s> {
    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the outermost is never closed")
    }

    fn skip(&mut self, bytes: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn skip_line(&mut self) {
        let end = self.rest.find(is_line_end).unwrap_or(self.rest.len());
        self.skip(end);
    }

    fn token(&mut self, char: char) -> Result<(), Refusal> {
        if is_space(char) {
            self.newline |= is_line_end(char);
            self.skip(char.len_utf8());
            return Ok(());
        }
        if self.comment() {
            return Ok(());
        }
        match char {
            '"' | '\'' => self.text(char),
            '`' => {
                self.skip(1);
                self.template();
            }
            '/' => self.slash()?,
            '(' | '[' | '{' => self.open(char),
            ')' | ']' | '}' => self.close(char),
            '0'..='9' => self.number(),
            '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            '#' => {
                self.skip(1);
                self.before = TokenBefore::Dot;
            }
            char if is_of_word(char) => self.word(),
            _ => self.operator(),
        }
        self.newline = false;
        Ok(())
    }

    /// Skips a comment; `false` if there is none.
    fn comment(&mut self) -> bool {
        let is_line = ["//", "<!--"].iter().any(|start| self.rest.starts_with(start))
            || (self.newline && self.rest.starts_with("-->"));
        if is_line {
            self.skip_line();
            return true;
        }
        let Some(inner) = self.rest.strip_prefix("/*") else {
            return false;
        };
        let end = inner.find("*/").map_or(self.rest.len(), |end| end + 4);
        self.newline |= self.skip(end).contains(is_line_end);
        true
    }

    fn text(&mut self, quote: char) {
        self.begins_value("");
        self.skip(1);
        self.until(|char| char == quote || matches!(char, '\n' | '\r'));
        self.before = TokenBefore::Value;
    }

    /// Skips to the first unescaped character that ends the token, and skips this character, too.
    fn until(&mut self, mut is_end: impl FnMut(char) -> bool) {
        let mut chars = self.rest.char_indices();
        while let Some((at, char)) = chars.next() {
            if char == '\\' {
                chars.next();
            } else if is_end(char) {
                self.skip(at + char.len_utf8());
                return;
            }
        }
        self.rest = "";
    }

    /// Skips the text of a template literal up to its end or the next `${`.
    fn template(&mut self) {
        self.before = TokenBefore::Value;
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let is_place = char == '$' && chars.next_if(|(_, next)| *next == '{').is_some();
            if is_place {
                self.skip(at + 2);
                self.push(Level { in_template: true, ..Level::new(TokenBefore::Value) });
                return;
            }
            if char == '`' {
                self.skip(at + 1);
                return;
            }
            if char == '\\' {
                chars.next();
            }
        }
        self.rest = "";
    }

    fn slash(&mut self) -> Result<(), Refusal> {
        match self.before {
            TokenBefore::Either | TokenBefore::Brace => return Err(Refusal::Slash),
            TokenBefore::Value | TokenBefore::Async => self.operator(),
            TokenBefore::Operator | TokenBefore::Dot => {
                self.skip(1);
                let mut in_class = false;
                self.until(|char| {
                    in_class = (in_class || char == '[') && char != ']';
                    is_line_end(char) || (char == '/' && !in_class)
                });
                let flags = self.rest.find(|char| !is_of_word(char)).unwrap_or(self.rest.len());
                self.skip(flags);
                self.before = TokenBefore::Value;
            }
        }
        Ok(())
    }

    fn push(&mut self, level: Level) {
        self.levels.push(level);
        self.cost += BRACKET;
        self.before = TokenBefore::Operator;
        self.word = "";
    }

    fn open(&mut self, bracket: char) {
        self.starts("");
        let after = match (bracket, self.word) {
            ('{', _) => TokenBefore::Brace,
            ('(', "if" | "while" | "for" | "with") => TokenBefore::Operator,
            // `for await (…)`, or a call of a function with the name `await`.
            ('(', "await") => TokenBefore::Either,
            _ => TokenBefore::Value,
        };
        self.skip(1);
        self.push(Level::new(after));
    }

    fn close(&mut self, bracket: char) {
        self.skip(1);
        self.word = "";
        self.before = TokenBefore::Value;
        if self.levels.len() == 1 {
            return;
        }
        let level = self.levels.pop().expect("there are two");
        self.cost -= BRACKET + level.expression + level.statement;
        if level.in_template {
            self.template();
            return;
        }
        self.before = level.after;
        self.level().ended |= bracket == '}';
    }

    fn number(&mut self) {
        self.begins_value("");
        let end = self.rest.find(|char| !is_of_word(char) && char != '.');
        self.skip(end.unwrap_or(self.rest.len()));
        self.before = TokenBefore::Value;
    }

    fn word(&mut self) {
        let end = self.word_end();
        let word = self.skip(end);
        if self.before == TokenBefore::Dot {
            self.before = TokenBefore::Value;
            self.word = "";
            return;
        }
        self.begins_value(word);
        self.word = word;
        match word {
            "if" | "for" | "while" | "with" | "do" | "else" => {
                self.level().statement += 1;
                self.cost += 1;
            }
            "typeof" | "void" | "delete" | "new" | "class" | "extends" | "async" | "await"
            | "yield" => self.prefix(),
            "case" | "default" => self.resets(),
            _ => {}
        }
        self.before = match word {
            "async" => TokenBefore::Async,
            "await" | "yield" | "of" => TokenBefore::Either,
            "break" | "case" | "catch" | "class" | "const" | "continue" | "debugger"
            | "default" | "delete" | "do" | "else" | "enum" | "export" | "extends" | "finally"
            | "for" | "function" | "if" | "import" | "in" | "instanceof" | "new" | "return"
            | "switch" | "throw" | "try" | "typeof" | "var" | "void" | "while" | "with" => {
                TokenBefore::Operator
            }
            _ => TokenBefore::Value,
        };
    }

    /// The length of the word at the position in bytes, with escapes such as `\u{61}` in it.
    fn word_end(&self) -> usize {
        let mut end = 0;
        while let Some(char) = self.rest[end..].chars().next().filter(|char| is_of_word(*char)) {
            let is_escape = self.rest[end..].starts_with("\\u{");
            let escape = self.rest[end..].find('}').filter(|_| is_escape);
            end += escape.map_or(char.len_utf8(), |escape| escape + 1);
        }
        end
    }

    /// A value or a word begins. After a value or a `}`, the open prefixes of the expression end, unless the word continues
    /// the expression, such as `in`. The prefixes of the statement end, too, unless the word is `else` or `while`.
    fn begins_value(&mut self, word: &str) {
        self.starts(word);
        let joins = matches!(word, "in" | "instanceof" | "of" | "extends");
        if matches!(self.before, TokenBefore::Value | TokenBefore::Brace) && !joins {
            let level = self.level();
            let prefixes = std::mem::take(&mut level.expression);
            self.cost -= prefixes;
            if !matches!(word, "else" | "while") {
                self.statements_end();
            }
        }
    }

    /// A token begins. Open `if`s and loops end after a statement, unless an `else` or a `while` follows.
    fn starts(&mut self, word: &str) {
        let ended = std::mem::take(&mut self.level().ended);
        if ended && !matches!(word, "else" | "while") {
            self.statements_end();
        }
    }

    fn statements_end(&mut self) {
        let prefixes = std::mem::take(&mut self.level().statement);
        self.cost -= prefixes;
    }

    fn resets(&mut self) {
        let prefixes = std::mem::take(&mut self.level().expression);
        self.cost -= prefixes;
    }

    fn prefix(&mut self) {
        self.level().expression += 1;
        self.cost += 1;
    }

    fn operator(&mut self) {
        const LONG: &[&str] = &[
            ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>",
            "==", "!=", "<=", ">=", "&&", "||", "??", "**", "<<", ">>", "++", "--", "+=", "-=",
            "*=", "/=", "%=", "&=", "|=", "^=",
        ];
        let char = self.rest.chars().next().map_or(0, char::len_utf8);
        let is_chain = self.rest.starts_with("?.")
            && !self.rest[2..].starts_with(|c: char| c.is_ascii_digit());
        let long = LONG.iter().find(|long| self.rest.starts_with(**long));
        let token = self.skip(if is_chain { 2 } else { long.map_or(char, |long| long.len()) });
        let follows = matches!(self.before, TokenBefore::Value | TokenBefore::Async)
            && !(self.newline && matches!(token, "++" | "--"));
        self.word = "";
        if token == ";" {
            self.resets();
            self.level().ended = true;
            self.before = TokenBefore::Operator;
            return;
        }
        self.starts("");
        match token {
            "," => self.resets(),
            "+" | "-" | "++" | "--" if follows => {}
            "+" | "-" | "++" | "--" | "!" | "~" | "?" | ":" | "=>" | "**" => self.prefix(),
            "==" | "===" | "!=" | "!==" | "<=" | ">=" => {}
            token if token.ends_with('=') => self.prefix(),
            _ => {}
        }
        self.before = match token {
            "." | "?." => TokenBefore::Dot,
            "++" | "--" if follows => TokenBefore::Value,
            // After these tokens, `++` may belong to the token before it or after it.
            "++" | "--" if matches!(self.before, TokenBefore::Brace | TokenBefore::Either) => {
                TokenBefore::Either
            }
            _ => TokenBefore::Operator,
        };
    }
}
