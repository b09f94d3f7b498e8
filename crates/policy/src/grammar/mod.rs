//! The commands that may run without a person: a small language, read strictly, and written anew.
//!
//! Simple commands of literal words, joined by `|`, `&&`, `||`, `;` and newlines, with plain redirections. What is
//! judged is this tree, and what the shell is given is [`List::render`] of the same tree: how a shell would have read
//! the original text cannot matter. Everything else is [`Outside`], never guessed at. Deliberately absent: expansions,
//! here-documents, loops and conditions, functions, background commands, and all variables but a few that no program
//! takes for an instruction.

mod lexer;
mod render;
mod script;
mod tree;

pub(crate) use render::{BUILTINS, Disarm};
pub(crate) use tree::{List, Outside};

use lexer::Token;
use tree::{Command, Join, Pipeline, Redirect, Stream, Word};

/// Above this no person reviews a command.
const MAX_BYTES: usize = 64 * 1024;
/// Words and signs of one command. A chain that has more is there to wear somebody out.
const MAX_TOKENS: usize = 6_000;

/// Words that a shell takes for grammar where a command begins.
const RESERVED: [&str; 24] = [
    "!", "{", "}", "[[", "]]", "((", "if", "then", "elif", "else", "fi", "for", "foreach", "while", "until", "do",
    "done", "case", "esac", "select", "function", "coproc", "repeat", "in",
];

/// Variables that no program takes for an instruction, whatever their value of letters, digits and `_ . , -` is.
const VARIABLES: [&str; 22] = [
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_COLLATE",
    "TZ",
    "COLUMNS",
    "LINES",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "NODE_ENV",
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "RUST_BACKTRACE",
    "PYTHONUNBUFFERED",
    "CARGO_TERM_COLOR",
];

/// Whether a command may be started with this variable.
pub(crate) fn may_be_given(name: &str, value: &str) -> bool {
    VARIABLES.contains(&name)
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b',' | b'-'))
}

pub(crate) fn parse(text: &str) -> Result<List, Outside> {
    if text.len() > MAX_BYTES {
        return Err(Outside::TooLong);
    }
    // Separators of one shell, locale or terminal that another takes for letters.
    let odd = |c: &char| !matches!(c, '\n' | '\t' | ' ') && (c.is_control() || c.is_whitespace());
    if let Some(c) = text.chars().find(odd) {
        return Err(Outside::Control(c));
    }
    let tokens = lexer::tokens(text, MAX_TOKENS)?;
    Parser { tokens: tokens.into_iter().peekable() }.list()
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
}

impl Parser {
    fn list(&mut self) -> Result<List, Outside> {
        let mut items = Vec::new();
        let mut join = Join::Then;
        self.newlines();
        while self.tokens.peek().is_some() {
            items.push((join, self.pipeline()?));
            join = match self.tokens.next() {
                None => break,
                Some(Token::And) => Join::And,
                Some(Token::Or) => Join::Or,
                Some(Token::End | Token::Newline) => Join::Then,
                Some(_) => return Err(Outside::Form),
            };
            self.newlines();
            if join != Join::Then && self.tokens.peek().is_none() {
                return Err(Outside::Form);
            }
        }
        Ok(List { items })
    }

    fn newlines(&mut self) {
        while self.tokens.next_if_eq(&Token::Newline).is_some() {}
    }

    fn pipeline(&mut self) -> Result<Pipeline, Outside> {
        let keyword = |wanted: &'static str| move |token: &Token| matches!(token, Token::Word(word) if word.is_plain() && word.text == wanted);
        let timed = self.tokens.next_if(keyword("time")).is_some();
        let negated = self.tokens.next_if(keyword("!")).is_some();
        let mut commands = vec![self.command()?];
        while self.tokens.next_if_eq(&Token::Pipe).is_some() {
            self.newlines();
            commands.push(self.command()?);
        }
        Ok(Pipeline { timed, negated, commands })
    }

    fn command(&mut self) -> Result<Command, Outside> {
        let mut command = Command::default();
        loop {
            match self.tokens.peek() {
                Some(Token::Word(_)) => {
                    if let Some(Token::Word(word)) = self.tokens.next() {
                        word_of(&mut command, word)?;
                    }
                }
                Some(Token::Redirect(..)) => {
                    let Some(Token::Redirect(sign)) = self.tokens.next() else { return Err(Outside::Form) };
                    self.redirect(sign, &mut command.redirects)?;
                }
                _ => break,
            }
        }
        if command.words.is_empty() { Err(Outside::Form) } else { Ok(command) }
    }

    fn redirect(&mut self, sign: lexer::Sign, out: &mut Vec<Redirect>) -> Result<(), Outside> {
        use lexer::Sign;
        if let Sign::Join { from, to } = sign {
            out.push(Redirect::Join { from, to });
            return Ok(());
        }
        let Some(Token::Word(to)) = self.tokens.next() else { return Err(Outside::Form) };
        // Some shells force a write with `>!`.
        if to.glob || to.text.is_empty() || to.text == "!" || to.text == "-" {
            return Err(Outside::Form);
        }
        match sign {
            Sign::Read => out.push(Redirect::Read(to)),
            Sign::Write { from, append } => out.push(Redirect::Write { from, to, append }),
            Sign::Both { append } => {
                out.push(Redirect::Write { from: Stream::Output, to, append });
                out.push(Redirect::Join { from: Stream::Error, to: Stream::Output });
            }
            Sign::Join { .. } => {}
        }
        Ok(())
    }
}

fn word_of(command: &mut Command, word: Word) -> Result<(), Outside> {
    if !command.words.is_empty() {
        command.words.push(word);
        return Ok(());
    }
    // Whatever form it has: a shell may take it for an assignment.
    if let Some((name, value)) = word.text.split_once('=') {
        if !word.is_plain() || !may_be_given(name, value) {
            return Err(Outside::Assignment);
        }
        command.variables.push((name.to_owned(), value.to_owned()));
        return Ok(());
    }
    // A first word with a dash would be an option of `time`.
    let reserved = RESERVED.contains(&word.text.as_str()) || word.text == "time";
    if word.glob || word.text.is_empty() || reserved || word.text.starts_with(['!', '-']) {
        return Err(Outside::Form);
    }
    command.words.push(word);
    Ok(())
}
