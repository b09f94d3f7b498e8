//! One shell word: what it says once quotes are removed, how sure that is, and the code inside it.

use brush_parser::ParserOptions;
use brush_parser::word::{
    self as brush, Parameter, ParameterExpr, ParameterTransformOp, TildeExpr, WordPiece, WordPieceWithSource,
};

use super::guard::{self, Unparsable};

/// How much is known of a word before the shell runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Certainty {
    /// `text` is what the program gets.
    #[default]
    Exact,
    /// `~` or `~/…`; `text` is what follows the slash.
    Home,
    /// A file name pattern; `text` is the pattern.
    Glob,
    /// Known only when it runs.
    Unknown,
}

/// A word of a command.
#[derive(Debug, Clone, Default)]
pub struct Word {
    /// As written.
    pub raw: String,
    /// Quotes removed; the literal parts only where the rest is unknown.
    pub text: String,
    pub certainty: Certainty,
}

impl Word {
    pub(crate) fn exact(&self) -> Option<&str> {
        (self.certainty == Certainty::Exact).then_some(self.text.as_str())
    }

    pub(crate) fn unknown(raw: &str) -> Self {
        Self { raw: raw.to_owned(), text: String::new(), certainty: Certainty::Unknown }
    }
}

/// What reading a word brought to light besides its text.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) word: Word,
    /// Code that runs when the word is expanded.
    pub(super) scripts: Vec<String>,
    /// Arithmetic with names in it: their values are evaluated, code in subscripts included.
    pub(super) evaluates: bool,
    /// Literal text that would be code if something evaluated it.
    pub(super) quoted_code: bool,
    /// Expands to something that may run code unseen.
    pub(super) opaque: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Plain,
    /// Inside double quotes, here-documents and arithmetic: quotes are ordinary characters.
    Quoted,
}

pub(super) fn read(raw: &str, quoting: Quoting) -> Result<Reading, Unparsable> {
    let mut reader = Reader::default();
    if raw.bytes().all(is_plain) {
        reader.text.push_str(raw);
    } else {
        reader.string(raw, quoting)?;
    }
    Ok(reader.finish(raw))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b',' | b'+' | b'%' | b'@' | b':' | b'=')
}

#[derive(Default)]
struct Reader {
    out: Reading,
    text: String,
    unknown: bool,
    glob: bool,
    home: bool,
    bracket: bool,
    group: bool,
}

impl Reader {
    fn finish(mut self, raw: &str) -> Reading {
        let certainty = match (self.unknown || self.group, self.home, self.glob) {
            (false, false, false) => Certainty::Exact,
            (false, true, false) => Certainty::Home,
            (false, false, true) => Certainty::Glob,
            _ => Certainty::Unknown,
        };
        if certainty == Certainty::Home {
            self.text = self.text.trim_start_matches('/').into();
        }
        if self.group {
            // A pattern group where extended globs are on. Elsewhere a subshell, or a syntax error after
            // which the shell goes on reading somewhere else.
            self.out.opaque = true;
            let (_, inner) = raw.split_once('(').unwrap_or_default();
            self.out.scripts.push(inner.rsplit_once(')').map_or(inner, |(inner, _)| inner).to_owned());
        }
        self.out.word = Word { raw: raw.to_owned(), text: self.text, certainty };
        self.out
    }

    fn string(&mut self, raw: &str, quoting: Quoting) -> Result<(), Unparsable> {
        guard::word(raw)?;
        let options = ParserOptions::default();
        let pieces = match quoting {
            Quoting::Plain => brush::parse(raw, &options),
            Quoting::Quoted => brush::parse_heredoc(raw, &options),
        };
        let pieces = pieces.map_err(|error| Unparsable::Syntax(error.to_string()))?;
        self.pieces(&pieces, raw, quoting)
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], raw: &str, quoting: Quoting) -> Result<(), Unparsable> {
        pieces.iter().try_for_each(|piece| self.piece(piece, raw, quoting))
    }

    fn piece(&mut self, piece: &WordPieceWithSource, raw: &str, quoting: Quoting) -> Result<(), Unparsable> {
        match &piece.piece {
            WordPiece::Text(text) if quoting == Quoting::Quoted => self.text.push_str(text),
            WordPiece::Text(text) => self.unquoted(text),
            WordPiece::SingleQuotedText(text) => self.literal(text),
            WordPiece::AnsiCQuotedText(text) => match ansi_c(text) {
                Some(decoded) => self.literal(&decoded),
                None => self.unknown = true,
            },
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.pieces(inner, raw, Quoting::Quoted)?;
            }
            WordPiece::EscapeSequence(escape) => self.literal(escape.get(1..).unwrap_or_default()),
            WordPiece::TildeExpansion(TildeExpr::Home) if self.text.is_empty() => self.home = true,
            WordPiece::TildeExpansion(_) => self.unknown = true,
            WordPiece::ParameterExpansion(expression) => {
                self.unknown = true;
                self.expansion(expression, quoting)?;
            }
            WordPiece::CommandSubstitution(code) => {
                self.unknown = true;
                self.out.scripts.push(code.clone());
            }
            WordPiece::BackquotedCommandSubstitution(_) => {
                self.unknown = true;
                let inner = raw.get(piece.start_index + 1..piece.end_index.saturating_sub(1)).unwrap_or_default();
                self.out.scripts.push(unescape_backquoted(inner, quoting));
            }
            WordPiece::ArithmeticExpression(expression) => {
                self.unknown = true;
                self.arithmetic(&expression.value)?;
            }
        }
        Ok(())
    }

    fn literal(&mut self, text: &str) {
        self.out.quoted_code |= text.contains(['$', '`']);
        self.text.push_str(text);
    }

    fn unquoted(&mut self, text: &str) {
        // A lone `[` is the command of that name.
        self.bracket |= text.contains('[');
        self.glob |= text.contains(['*', '?']) || (self.bracket && text.contains(']'));
        self.unknown |= text.replace("{}", "").contains('{') || text.contains("=~") || text.contains(":~");
        self.group |= text.contains('(');
        self.text.push_str(text);
    }

    fn arithmetic(&mut self, expression: &str) -> Result<(), Unparsable> {
        if two_operands_in_a_row(expression) {
            // No arithmetic: some shells then take `((` for two subshells.
            return Err(Unparsable::Ambiguous);
        }
        self.out.evaluates |= expression.contains(|c: char| c.is_alphabetic() || c == '_' || c == '$');
        let inner = read(expression, Quoting::Quoted)?;
        self.absorb(inner);
        Ok(())
    }

    fn absorb(&mut self, inner: Reading) {
        self.out.scripts.extend(inner.scripts);
        self.out.evaluates |= inner.evaluates;
        self.out.quoted_code |= inner.quoted_code;
        self.out.opaque |= inner.opaque;
    }

    fn nested(&mut self, text: Option<&String>, quoting: Quoting) -> Result<(), Unparsable> {
        let Some(text) = text else { return Ok(()) };
        // Between double quotes the shells and the parser disagree about quotes in here.
        if quoting == Quoting::Quoted && text.contains(['\'', '"', '\\']) {
            return Err(Unparsable::Ambiguous);
        }
        let inner = read(text, quoting)?;
        self.absorb(inner);
        Ok(())
    }

    fn expansion(&mut self, expression: &ParameterExpr, quoting: Quoting) -> Result<(), Unparsable> {
        use ParameterExpr as E;
        let (parameter, indirect) = match expression {
            E::Parameter { parameter, indirect }
            | E::ParameterLength { parameter, indirect }
            | E::UseDefaultValues { parameter, indirect, .. }
            | E::AssignDefaultValues { parameter, indirect, .. }
            | E::IndicateErrorIfNullOrUnset { parameter, indirect, .. }
            | E::UseAlternativeValue { parameter, indirect, .. }
            | E::RemoveSmallestSuffixPattern { parameter, indirect, .. }
            | E::RemoveLargestSuffixPattern { parameter, indirect, .. }
            | E::RemoveSmallestPrefixPattern { parameter, indirect, .. }
            | E::RemoveLargestPrefixPattern { parameter, indirect, .. }
            | E::Substring { parameter, indirect, .. }
            | E::Transform { parameter, indirect, .. }
            | E::UppercaseFirstChar { parameter, indirect, .. }
            | E::UppercasePattern { parameter, indirect, .. }
            | E::LowercaseFirstChar { parameter, indirect, .. }
            | E::LowercasePattern { parameter, indirect, .. }
            | E::ReplaceSubstring { parameter, indirect, .. } => (Some(parameter), *indirect),
            E::VariableNames { .. } | E::MemberKeys { .. } => (None, false),
        };
        self.out.opaque |= indirect;
        if let Some(Parameter::NamedWithIndex { index, .. }) = parameter {
            self.arithmetic(index)?;
        }
        match expression {
            E::UseDefaultValues { default_value: text, .. }
            | E::AssignDefaultValues { default_value: text, .. }
            | E::IndicateErrorIfNullOrUnset { error_message: text, .. }
            | E::UseAlternativeValue { alternative_value: text, .. }
            | E::RemoveSmallestSuffixPattern { pattern: text, .. }
            | E::RemoveLargestSuffixPattern { pattern: text, .. }
            | E::RemoveSmallestPrefixPattern { pattern: text, .. }
            | E::RemoveLargestPrefixPattern { pattern: text, .. }
            | E::UppercaseFirstChar { pattern: text, .. }
            | E::UppercasePattern { pattern: text, .. }
            | E::LowercaseFirstChar { pattern: text, .. }
            | E::LowercasePattern { pattern: text, .. } => self.nested(text.as_ref(), quoting),
            E::ReplaceSubstring { pattern, replacement, .. } => {
                self.nested(Some(pattern), quoting)?;
                self.nested(replacement.as_ref(), quoting)
            }
            E::Substring { offset, length, .. } => {
                self.arithmetic(&offset.value)?;
                length.as_ref().map_or(Ok(()), |length| self.arithmetic(&length.value))
            }
            E::Transform { op, .. } => {
                self.out.opaque |= matches!(op, ParameterTransformOp::PromptExpand);
                Ok(())
            }
            E::Parameter { .. } | E::ParameterLength { .. } | E::VariableNames { .. } | E::MemberKeys { .. } => Ok(()),
        }
    }
}

fn two_operands_in_a_row(expression: &str) -> bool {
    let operand = |c: char| c.is_alphanumeric() || c == '_';
    let own = expression.split('`').next().and_then(|own| own.split("$(").next()).unwrap_or_default();
    let words: Vec<&str> = own.split_whitespace().collect();
    words.windows(2).any(|pair| pair[0].ends_with(operand) && pair[1].starts_with(operand))
}

/// Inside backquotes a backslash is dropped before `$`, a backquote and itself.
fn unescape_backquoted(inner: &str, quoting: Quoting) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let drops = c == '\\'
            && chars
                .peek()
                .is_some_and(|next| matches!(next, '$' | '`' | '\\') || (*next == '"' && quoting == Quoting::Quoted));
        out.push(if drops { chars.next().unwrap_or(c) } else { c });
    }
    out
}

/// `$'…'`. `None` where it makes bytes that are no text.
fn ansi_c(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let escape = after.chars().next()?;
        rest = &after[escape.len_utf8()..];
        let (value, used) = match escape {
            'n' => (10, 0),
            't' => (9, 0),
            'r' => (13, 0),
            'a' => (7, 0),
            'b' => (8, 0),
            'e' | 'E' => (27, 0),
            'f' => (12, 0),
            'v' => (11, 0),
            '\\' | '\'' | '"' | '?' => (u32::from(escape), 0),
            'x' => number(rest, 16, 2)?,
            'u' => number(rest, 16, 4)?,
            'U' => number(rest, 16, 8)?,
            '0'..='7' => {
                let digits = &after[..=number(rest, 8, 2).map_or(0, |(_, used)| used)];
                (u32::from_str_radix(digits, 8).ok()?, digits.len() - 1)
            }
            _ => return None,
        };
        if value == 0 {
            // A shell string ends at NUL.
            return Some(out);
        }
        // Bytes above ASCII written one by one may join to anything.
        if value > 127 && !matches!(escape, 'u' | 'U') {
            return None;
        }
        out.push(char::from_u32(value)?);
        rest = &rest[used..];
    }
    out.push_str(rest);
    Some(out)
}

fn number(text: &str, radix: u32, most: usize) -> Option<(u32, usize)> {
    let digits = text.bytes().take(most).take_while(|b| char::from(*b).is_digit(radix)).count();
    Some((u32::from_str_radix(text.get(..digits)?, radix).ok()?, digits))
}
