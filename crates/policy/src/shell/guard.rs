//! Checks before parsing: inputs that would make the parser slow, abort it, or make it read something
//! else than a shell does. Each refusal costs a question, never a wrong answer.

use brush_parser::Token;

/// Why the text of a command is not analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unparsable {
    #[error("the command is longer than {} bytes", MAX_BYTES)]
    TooLong,
    #[error("the command has more than {} words and signs", MAX_TOKENS)]
    TooMany,
    #[error("the command nests too deeply to be analysed")]
    TooDeep,
    #[error("the command holds the control character {0:?}")]
    Control(char),
    #[error("the command uses a form that shells read differently")]
    Ambiguous,
    #[error("the command is not understood as shell: {0}")]
    Syntax(String),
}

/// Above this nothing is parsed: no person reviews such a command, and the parser is not linear in it.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Words and signs of one command. A script of several hundred lines has fewer; a chain that has more is there to wear
/// somebody out, and parsing it would take longer than anyone should wait.
pub(crate) const MAX_TOKENS: usize = 6_000;
/// Openers that are not closed again. The parser overflows its stack in the thousands.
const MAX_NESTING: usize = 60;
/// The parser tries `((` as arithmetic and as two subshells, doubling its work with every level.
const MAX_PARENS: usize = 10;
/// `case` items are tried twice, likewise.
const MAX_CASES: usize = 5;
/// Parentheses in one word: an unmatched one is tried in several ways at each level.
const MAX_WORD_PARENS: usize = 6;
/// `${a[${b[…` is tried about thirteen ways a level.
const MAX_SUBSCRIPTS: usize = 2;
/// The tokenizer is quadratic in the tokens that follow `<<` on its line.
const MAX_HERE_LINE: usize = 4 * 1024;
/// Longer numbers overflow the parser's descriptor and directory-stack types.
const MAX_DIGITS: usize = 9;

pub(super) fn text(command: &str) -> Result<(), Unparsable> {
    if command.len() > MAX_BYTES {
        return Err(Unparsable::TooLong);
    }
    // Separators of one shell, locale or terminal that another takes for letters.
    let odd = |c: &char| !matches!(c, '\n' | '\t' | ' ') && (c.is_control() || c.is_whitespace());
    if let Some(c) = command.chars().find(odd) {
        return Err(Unparsable::Control(c));
    }
    if nesting(command) > MAX_NESTING {
        return Err(Unparsable::TooDeep);
    }
    let joined = command.replace("\\\n", "");
    if ambiguous(&joined) || long_number(&joined) {
        return Err(Unparsable::Ambiguous);
    }
    if joined.lines().any(|line| line.len() > MAX_HERE_LINE && line.contains("<<")) {
        return Err(Unparsable::TooLong);
    }
    Ok(())
}

/// The highest count of open brackets, without regard to quotes.
fn nesting(command: &str) -> usize {
    let (mut depth, mut highest) = (0_usize, 0_usize);
    for byte in command.bytes() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        highest = highest.max(depth);
    }
    highest
}

fn ambiguous(joined: &str) -> bool {
    // After arithmetic has begun it no longer knows a shift from a here-document.
    let arithmetic = [joined.find("(("), joined.find("$[")].into_iter().flatten().min();
    let confused = arithmetic.is_some_and(|at| joined[at..].contains("<<")) && joined.contains('\n');
    confused || here_line_goes_on(joined)
}

/// The tokenizer loses its place when the line of a `<<` goes on with a substitution, ends the one that it
/// stands in, or opens a quote that the next line closes.
fn here_line_goes_on(joined: &str) -> bool {
    let opened = ["$(", "${", "$["].iter().filter_map(|open| joined.find(open)).min();
    let mut start = 0;
    for line in joined.split('\n') {
        if let Some(at) = line.find("<<") {
            let rest = &line[at..];
            let substitutes = ["$(", "${", "$[", "`"].iter().any(|open| rest.contains(open));
            let closes = opened.is_some_and(|opened| opened < start + at) && rest.contains([')', '}', ']']);
            let odd = |quote: char| rest.matches(quote).count() % 2 == 1;
            if substitutes || closes || odd('"') || odd('\'') {
                return true;
            }
        }
        start += line.len() + 1;
    }
    false
}

fn long_number(joined: &str) -> bool {
    let bytes = joined.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        if !bytes[start].is_ascii_digit() {
            start += 1;
            continue;
        }
        let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
        let redirects = matches!(bytes.get(end), Some(b'<' | b'>'));
        let tilde = joined[..start].ends_with(['~', '+', '-']) && joined[..start].contains('~');
        if end - start > MAX_DIGITS && (redirects || tilde) {
            return true;
        }
        start = end;
    }
    false
}

pub(super) fn tokens(tokens: &[Token]) -> Result<(), Unparsable> {
    if tokens.len() > MAX_TOKENS {
        return Err(Unparsable::TooMany);
    }
    let (mut parens, mut cases, mut blocks) = (0_usize, 0_usize, 0_usize);
    for token in tokens {
        match (token, token.to_str()) {
            (Token::Operator(..), "(") => parens += 1,
            (Token::Operator(..), ")") => parens = parens.saturating_sub(1),
            (Token::Word(..), "case") => cases += 1,
            (Token::Word(..), "esac") => cases = cases.saturating_sub(1),
            (Token::Word(..), "if" | "for" | "while" | "until" | "select" | "coproc" | "{" | "!") => blocks += 1,
            (Token::Word(..), "fi" | "done" | "}") => blocks = blocks.saturating_sub(1),
            _ => {}
        }
        if let Token::Word(word, _) = token
            && false_ansi_quote(word)
        {
            return Err(Unparsable::Ambiguous);
        }
        if parens > MAX_PARENS || cases > MAX_CASES || blocks > MAX_NESTING {
            return Err(Unparsable::TooDeep);
        }
    }
    Ok(())
}

/// The tokenizer takes the quote in `\$'` and `$$'` for the start of an ANSI-C string; shells do not.
fn false_ansi_quote(word: &str) -> bool {
    if !word.contains("$'") {
        return false;
    }
    let mut open: Option<u8> = None;
    let mut ansi = false;
    let bytes = word.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (open, bytes[at]) {
            (None | Some(b'"'), b'\\') => at += 1,
            (Some(b'\''), b'\\') if ansi => at += 1,
            (None, b'\'') => {
                ansi = at > 0 && bytes[at - 1] == b'$';
                // Whatever stands before the dollar may have used it up.
                if ansi && at > 1 && matches!(bytes[at - 2], b'\\' | b'$') {
                    return true;
                }
                open = Some(b'\'');
            }
            (None, b'"') => open = Some(b'"'),
            (Some(quote), byte) if quote == byte => open = None,
            _ => {}
        }
        at += 1;
    }
    false
}

/// Before one word, or the body of a here-document, goes to the word parser.
pub(super) fn word(raw: &str) -> Result<(), Unparsable> {
    let (mut parens, mut highest, mut expansions, mut most) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut last = ' ';
    for c in raw.chars() {
        match c {
            '(' => parens += 1,
            ')' => parens = parens.saturating_sub(1),
            '{' if last == '$' => expansions += 1,
            '}' => expansions = expansions.saturating_sub(1),
            _ => {}
        }
        highest = highest.max(parens);
        most = most.max(expansions);
        last = c;
    }
    let subscripts = if raw.contains('[') { most } else { 0 };
    if highest > MAX_WORD_PARENS || subscripts > MAX_SUBSCRIPTS || most > MAX_WORD_PARENS {
        return Err(Unparsable::TooDeep);
    }
    Ok(())
}
