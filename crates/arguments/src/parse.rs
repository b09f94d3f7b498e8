//! Words to [`Arguments`]: which flags, with which values, and what is left over.

use crate::flags::{Arity, Flag};
use crate::nearest::nearest;
use crate::typed::Arguments;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    #[error("error: unknown option '{option}'{hint}")]
    Unknown { option: String, hint: String },
    #[error("error: option '{option}' needs a value{hint}")]
    MissingValue { option: String, hint: String },
    #[error("error: option '{option}' takes no value")]
    UnwantedValue { option: String },
}

/// Reads the words after the program name.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Arguments, UsageError> {
    let mut arguments = Arguments::default();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            arguments.positionals.extend(words.filter(|word| !word.is_empty()));
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            take_long(&mut arguments, long, &mut words)?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            take_short(&mut arguments, letters, &mut words)?;
        } else if !word.is_empty() {
            arguments.positionals.push(word);
        }
    }
    Ok(arguments)
}

type Words<I> = std::iter::Peekable<I>;

fn take_long<I: Iterator<Item = String>>(
    arguments: &mut Arguments,
    long: &str,
    words: &mut Words<I>,
) -> Result<(), UsageError> {
    let (name, inline) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    let flag = Flag::long(name).ok_or_else(|| unknown(&format!("--{name}"), name))?;
    take(arguments, flag, &format!("--{name}"), inline, words)
}

fn take_short<I: Iterator<Item = String>>(
    arguments: &mut Arguments,
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
        take(arguments, flag, &option, inline, words)?;
        if done {
            break;
        }
    }
    Ok(())
}

fn take<I: Iterator<Item = String>>(
    arguments: &mut Arguments,
    flag: &'static Flag,
    option: &str,
    inline: Option<String>,
    words: &mut Words<I>,
) -> Result<(), UsageError> {
    if let Some(value) = inline {
        return match (flag.arity, value.as_str()) {
            (Arity::None, "true" | "1") => {
                (flag.set)(arguments, None);
                Ok(())
            }
            (Arity::None, "false" | "0") => Ok(()),
            (Arity::None, _) => Err(UsageError::UnwantedValue { option: option.into() }),
            _ => {
                (flag.set)(arguments, Some(value));
                Ok(())
            }
        };
    }
    match flag.arity {
        Arity::None | Arity::OptionalInline => (flag.set)(arguments, None),
        Arity::One | Arity::Repeat => {
            let value = required(option, words)?;
            (flag.set)(arguments, Some(value));
        }
        Arity::Named(known) => {
            let value = words.next_if(|word| known.contains(&word.as_str()));
            (flag.set)(arguments, value);
        }
        Arity::Optional => {
            let value = words.next_if(|word| !word.starts_with('-')).filter(|word| !word.is_empty());
            (flag.set)(arguments, value);
        }
        Arity::Many => {
            let first = required(option, words)?;
            (flag.set)(arguments, Some(first));
            while let Some(more) = words.next_if(|word| !word.starts_with('-')) {
                (flag.set)(arguments, Some(more));
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
