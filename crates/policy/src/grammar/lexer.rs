//! From text to words and signs. Every character that is not known to stand for itself is refused.

use super::tree::{Outside, Stream, Word};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Redirect(Sign),
    Pipe,
    And,
    Or,
    /// `;`
    End,
    Newline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Read,
    Write {
        from: Stream,
        append: bool,
    },
    /// `&>`
    Both {
        append: bool,
    },
    Join {
        from: Stream,
        to: Stream,
    },
}

pub(super) fn tokens(text: &str, most: usize) -> Result<Vec<Token>, Outside> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        if tokens.len() >= most {
            return Err(Outside::TooLong);
        }
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// Characters that end a word.
fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')')
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn token(&mut self) -> Result<Option<Token>, Outside> {
        while self.takes(" ") || self.takes("\t") || self.takes("\\\n") {}
        if self.peek() == Some('#') {
            self.at = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
        }
        let Some(c) = self.peek() else { return Ok(None) };
        let token = match c {
            '\n' => {
                self.next();
                Token::Newline
            }
            ';' => {
                self.next();
                if matches!(self.peek(), Some(';' | '&' | '|')) {
                    return Err(Outside::Form);
                }
                Token::End
            }
            '|' => {
                self.next();
                match self.peek() {
                    Some('|') => {
                        self.next();
                        Token::Or
                    }
                    Some('&') => return Err(Outside::Form),
                    _ => Token::Pipe,
                }
            }
            '&' if self.takes("&&") => Token::And,
            '&' if self.takes("&>>") => Token::Redirect(Sign::Both { append: true }),
            '&' if self.takes("&>") => Token::Redirect(Sign::Both { append: false }),
            '<' | '>' => Token::Redirect(self.redirect(None)?),
            '0'..='9' if self.text.as_bytes().get(self.at + 1).is_some_and(|b| matches!(b, b'<' | b'>')) => {
                self.next();
                Token::Redirect(self.redirect(Some(c))?)
            }
            '(' | ')' | '&' => return Err(Outside::Sign(c)),
            _ => Token::Word(self.word()?),
        };
        Ok(Some(token))
    }

    fn redirect(&mut self, number: Option<char>) -> Result<Sign, Outside> {
        let from = match number {
            None => None,
            Some('0') => Some(Stream::Input),
            Some('1') => Some(Stream::Output),
            Some('2') => Some(Stream::Error),
            Some(_) => return Err(Outside::Form),
        };
        if self.takes("<") {
            let plain = !matches!(self.peek(), Some('<' | '>' | '&' | '('));
            return if plain && from.is_none_or(|from| from == Stream::Input) {
                Ok(Sign::Read)
            } else {
                Err(Outside::Form)
            };
        }
        let from = from.unwrap_or(Stream::Output);
        if from == Stream::Input || !self.takes(">") {
            return Err(Outside::Form);
        }
        if self.takes("&") {
            let to = match self.next() {
                Some('1') => Stream::Output,
                Some('2') => Stream::Error,
                _ => return Err(Outside::Form),
            };
            return if self.peek().is_none_or(ends_word) { Ok(Sign::Join { from, to }) } else { Err(Outside::Form) };
        }
        let append = self.takes(">");
        match self.peek() {
            Some('>' | '<' | '&' | '|' | '(') => Err(Outside::Form),
            _ => Ok(Sign::Write { from, append }),
        }
    }

    fn word(&mut self) -> Result<Word, Outside> {
        let start = self.at;
        let mut word = Reading::default();
        while let Some(c) = self.peek().filter(|c| !ends_word(*c)) {
            if self.takes("\\\n") {
                continue;
            }
            self.next();
            match c {
                '\\' => word.literal(self.next().ok_or(Outside::Form)?),
                '\'' => {
                    let end = self.rest().find('\'').ok_or(Outside::Form)?;
                    self.rest()[..end].chars().for_each(|c| word.literal(c));
                    self.at += end + 1;
                }
                '"' => self.double_quoted(&mut word)?,
                // A shell may put a home folder in its place.
                '~' if word.text.is_empty() || word.text.ends_with(['=', ':']) => return Err(Outside::Sign(c)),
                '{' => self.braces(&mut word)?,
                '*' | '?' => word.pattern(c),
                // Alone they are words of a test.
                '[' | ']' if word.text.is_empty() && self.peek().is_none_or(ends_word) => word.text.push(c),
                '[' => self.class(&mut word)?,
                '$' | '`' | '}' | ']' => return Err(Outside::Sign(c)),
                c => word.text.push(c),
            }
        }
        let raw = self.text[start..self.at].replace("\\\n", "");
        // `12>f` and `{x}>f` choose another stream.
        let numbers = raw.bytes().all(|b| b.is_ascii_digit()) || raw.ends_with('}');
        if numbers && matches!(self.peek(), Some('<' | '>')) {
            return Err(Outside::Form);
        }
        let mixed = word.glob && (word.quoted_pattern || !word.text.chars().all(is_plain_in_pattern));
        if mixed { Err(Outside::Form) } else { Ok(Word { raw, text: word.text, glob: word.glob }) }
    }

    fn double_quoted(&mut self, word: &mut Reading) -> Result<(), Outside> {
        loop {
            match self.next().ok_or(Outside::Form)? {
                '"' => return Ok(()),
                '`' => return Err(Outside::Sign('`')),
                // Before these a dollar sign stands for itself, as at the end of a search pattern.
                '$' if matches!(self.peek(), Some('"' | ' ' | '|' | ')')) => word.literal('$'),
                '$' if self.rest().starts_with("(cat <<'") => self.quoted_document(word)?,
                '$' => return Err(Outside::Sign('$')),
                '\\' => match self.next().ok_or(Outside::Form)? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => word.literal(c),
                    c => {
                        word.literal('\\');
                        word.literal(c);
                    }
                },
                c => word.literal(c),
            }
        }
    }

    /// `"$(cat <<'EOF' … EOF)"` in exactly this form is a way to write a text of several lines, and nothing else.
    fn quoted_document(&mut self, word: &mut Reading) -> Result<(), Outside> {
        let rest = self.rest();
        let after = rest.strip_prefix("(cat <<'").ok_or(Outside::Sign('$'))?;
        let (end, body) = after.split_once("'\n").ok_or(Outside::Sign('$'))?;
        if end.is_empty() || !end.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(Outside::Sign('$'));
        }
        let mut text = String::new();
        let mut at = 0;
        for line in body.split_inclusive('\n') {
            at += line.len();
            if line == format!("{end}\n") {
                let close = body[at..].strip_prefix(')').ok_or(Outside::Sign('$'))?;
                let read = rest.len() - close.len();
                text.trim_end_matches('\n').chars().for_each(|c| word.literal(c));
                self.at += read;
                return Ok(());
            }
            text.push_str(line);
        }
        Err(Outside::Sign('$'))
    }

    /// `{}` and `HEAD@{1}` stand for themselves; with a comma or dots in it a shell makes several words of one.
    fn braces(&mut self, word: &mut Reading) -> Result<(), Outside> {
        let end = self.rest().find('}').ok_or(Outside::Sign('{'))?;
        let inner = &self.rest()[..end];
        if !inner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'/')) {
            return Err(Outside::Sign('{'));
        }
        let whole = format!("{{{inner}}}");
        self.at += end + 1;
        whole.chars().for_each(|c| word.literal(c));
        Ok(())
    }

    /// `[a-z]`, `[!a]`.
    fn class(&mut self, word: &mut Reading) -> Result<(), Outside> {
        let end = self.rest().find(']').ok_or(Outside::Sign('['))?;
        let inner = &self.rest()[..end];
        let members = inner.strip_prefix(['!', '^']).unwrap_or(inner);
        let plain = members.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if members.is_empty() || !plain {
            return Err(Outside::Sign('['));
        }
        let whole = format!("[{inner}]");
        self.at += end + 1;
        whole.chars().for_each(|c| word.pattern(c));
        Ok(())
    }
}

fn is_plain_in_pattern(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./+,@%:=-*?[]!^".contains(c)
}

#[derive(Default)]
struct Reading {
    text: String,
    glob: bool,
    /// A sign of patterns that was quoted, and so is none.
    quoted_pattern: bool,
}

impl Reading {
    fn literal(&mut self, c: char) {
        self.quoted_pattern |= matches!(c, '*' | '?' | '[' | ']' | '!' | '^' | '\\');
        self.text.push(c);
    }

    fn pattern(&mut self, c: char) {
        self.glob = true;
        self.text.push(c);
    }
}
