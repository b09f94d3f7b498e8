//! Words to [`Typed`]: which flags, with which values, and what is left over.

use crate::flags::{Arity, Flag};
use crate::nearest::nearest;
use std::collections::HashMap;

/// What was typed, before anything is made of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Typed {
    values: HashMap<&'static str, Vec<String>>,
    /// Everything that is no flag and no flag's value, empty words dropped.
    pub positionals: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    #[error("error: unknown option '{option}'{hint}")]
    Unknown { option: String, hint: String },
    #[error("error: option '{option}' needs a value{hint}")]
    MissingValue { option: String, hint: String },
    #[error("error: option '{option}' takes no value")]
    UnwantedValue { option: String },
}

impl Typed {
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The last value given; `Some("")` where it was given empty, `None` where it was not given.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.last().map(String::as_str)
    }

    pub fn values(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        self.values.keys().copied()
    }

    fn note(&mut self, flag: &Flag, value: Option<String>) {
        let values = self.values.entry(flag.name).or_default();
        if matches!(flag.arity, Arity::One | Arity::Optional | Arity::OptionalInline | Arity::Named(_)) {
            values.clear();
        }
        values.extend(value);
    }
}

/// Reads the words after the program name.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Typed, UsageError> {
    let mut typed = Typed::default();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            typed.positionals.extend(words.filter(|word| !word.is_empty()));
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            take_long(&mut typed, long, &mut words)?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            take_short(&mut typed, letters, &mut words)?;
        } else if !word.is_empty() {
            typed.positionals.push(word);
        }
    }
    Ok(typed)
}

type Words<I> = std::iter::Peekable<I>;

fn take_long<I: Iterator<Item = String>>(
    typed: &mut Typed,
    long: &str,
    words: &mut Words<I>,
) -> Result<(), UsageError> {
    let (name, inline) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    let flag = Flag::long(name).ok_or_else(|| unknown(&format!("--{name}"), name))?;
    take(typed, flag, &format!("--{name}"), inline, words)
}

fn take_short<I: Iterator<Item = String>>(
    typed: &mut Typed,
    letters: &str,
    words: &mut Words<I>,
) -> Result<(), UsageError> {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let option = format!("-{letter}");
        let flag = Flag::short(letter).ok_or_else(|| unknown(&format!("-{letters}"), letters))?;
        let inline = match flag.arity {
            Arity::None => None,
            _ => Some(rest.as_str()).filter(|value| !value.is_empty()).map(|value| {
                let value = value.strip_prefix('=').unwrap_or(value);
                value.to_owned()
            }),
        };
        let done = inline.is_some();
        take(typed, flag, &option, inline, words)?;
        if done {
            break;
        }
    }
    Ok(())
}

fn take<I: Iterator<Item = String>>(
    typed: &mut Typed,
    flag: &'static Flag,
    option: &str,
    inline: Option<String>,
    words: &mut Words<I>,
) -> Result<(), UsageError> {
    if let Some(value) = inline {
        return match (flag.arity, value.as_str()) {
            (Arity::None, "true" | "1") => {
                typed.note(flag, None);
                Ok(())
            }
            (Arity::None, "false" | "0") => Ok(()),
            (Arity::None, _) => Err(UsageError::UnwantedValue { option: option.into() }),
            _ => {
                typed.note(flag, Some(value));
                Ok(())
            }
        };
    }
    match flag.arity {
        Arity::None | Arity::OptionalInline => typed.note(flag, None),
        Arity::One | Arity::Repeat => {
            let value = required(option, words)?;
            typed.note(flag, Some(value));
        }
        Arity::Named(known) => {
            let value = words.next_if(|word| known.contains(&word.as_str()));
            typed.note(flag, value);
        }
        Arity::Optional => {
            let value = words.next_if(|word| !word.starts_with('-')).filter(|word| !word.is_empty());
            typed.note(flag, value);
        }
        Arity::Many => {
            let first = required(option, words)?;
            typed.note(flag, Some(first));
            while let Some(more) = words.next_if(|word| !word.starts_with('-')) {
                typed.note(flag, Some(more));
            }
        }
    }
    Ok(())
}

/// The next word, whatever it looks like, unless it is plainly another of our flags: a forgotten
/// value must not eat the next option.
fn required<I: Iterator<Item = String>>(option: &str, words: &mut Words<I>) -> Result<String, UsageError> {
    let is_flag = |word: &String| {
        word.strip_prefix("--").is_some_and(|long| {
            let name = long.split_once('=').map_or(long, |(name, _)| name);
            Flag::long(name).is_some()
        })
    };
    let hint = words.peek().filter(|word| is_flag(word)).map(|word| format!(" before '{word}'"));
    match hint {
        Some(hint) => Err(UsageError::MissingValue { option: option.into(), hint }),
        None => words.next().ok_or(UsageError::MissingValue { option: option.into(), hint: String::new() }),
    }
}

fn unknown(option: &str, name: &str) -> UsageError {
    let hint = match nearest(name, Flag::all_names()) {
        Some(near) => format!(" (did you mean '--{near}'?)"),
        None if option.contains(char::is_whitespace) => " (a prompt that begins with '-' goes after '--')".into(),
        None => String::new(),
    };
    UsageError::Unknown { option: option.into(), hint }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
