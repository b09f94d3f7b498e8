//! One parser for the options of all programs, by their tables.
//!
//! A table is a text of words as in a manual: `-n` and `--name` are flags, `-n=` and `--name=` need a value
//! (attached or in the next word), `-n[=]` and `--name[=]` take one only when it is attached. After a colon stands
//! what the option means: `read` (the value is a file), `tree`, `follows`, `pattern` (the first operand is a file
//! already), `format` (a format of git), `list` (git shows and makes nothing). Without a meaning the option and its
//! value are harmless, whatever the value is.

use super::effects::Arg;

/// How a program takes its options.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    /// Options end at the first operand.
    pub(super) ordered: bool,
    /// `-5` is an option.
    pub(super) number: bool,
    /// `-abc` is one option, not three.
    pub(super) whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    Flag,
    Required,
    Attached,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) name: &'static str,
    pub(super) arity: Arity,
    pub(super) meanings: &'static str,
}

impl Listed {
    fn means(self, meaning: &str) -> bool {
        self.meanings.split(',').any(|word| word == meaning)
    }
}

/// The options and operands that a program would see.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) operands: Vec<&'a Arg>,
    /// The options that were given, with their values.
    pub(super) given: Vec<(&'static str, Option<String>)>,
    pub(super) reads: Vec<Arg>,
    pub(super) tree: bool,
    pub(super) follows: bool,
    pub(super) pattern: bool,
    pub(super) list: bool,
}

impl Parsed<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    pub(super) fn values<'s>(&'s self, names: &'s [&str]) -> impl Iterator<Item = &'s str> {
        self.given.iter().filter(|(name, _)| names.contains(name)).filter_map(|(_, value)| value.as_deref())
    }

    fn take(&mut self, listed: Listed, value: Option<&str>) -> Option<()> {
        self.tree |= listed.means("tree");
        self.follows |= listed.means("follows");
        self.pattern |= listed.means("pattern");
        self.list |= listed.means("list");
        if let Some(value) = value {
            if listed.means("format") && runs_programs(value) {
                return None;
            }
            if listed.means("read") {
                self.reads.push(Arg::new(value));
            }
        }
        self.given.push((listed.name, value.map(str::to_owned)));
        Some(())
    }
}

/// Formats of git that ask `gpg` about a signature or start another git.
fn runs_programs(format: &str) -> bool {
    ["%G", "signature", "describe"].iter().any(|part| format.contains(part))
}

pub(super) fn listed(table: &'static str) -> impl Iterator<Item = Listed> {
    table.split_whitespace().map(|word| {
        let (option, meanings) = word.split_once(':').unwrap_or((word, ""));
        let (name, arity) = match (option.strip_suffix("[=]"), option.strip_suffix('=')) {
            (Some(name), _) => (name, Arity::Attached),
            (None, Some(name)) => (name, Arity::Required),
            (None, None) => (option, Arity::Flag),
        };
        Listed { name, arity, meanings }
    })
}

fn lookup(tables: &[&'static str], name: &str) -> Option<Listed> {
    tables.iter().flat_map(|table| listed(table)).find(|option| option.name == name)
}

/// `None`: an option that is not listed, or a word that cannot be told from one.
pub(super) fn parse<'a>(tables: &[&'static str], style: Style, args: &'a [Arg]) -> Option<Parsed<'a>> {
    let mut parsed = Parsed::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        if text == "--" {
            parsed.operands.extend(rest);
            break;
        }
        if arg.glob && arg.literal_start().is_empty() {
            return None;
        }
        if !text.starts_with('-') || text == "-" {
            parsed.operands.push(arg);
            if style.ordered {
                parsed.operands.extend(rest);
                break;
            }
        } else if style.number && text[1..].bytes().all(|b| b.is_ascii_digit()) {
            parsed.given.push(("-number", None));
        } else if text.starts_with("--") || style.whole {
            word(&mut parsed, tables, arg, &mut rest)?;
        } else {
            cluster(&mut parsed, tables, arg, &mut rest)?;
        }
    }
    Some(parsed)
}

/// The next word as a value. A pattern may become several words, so it is none.
fn next_value<'a>(rest: &mut std::slice::Iter<'a, Arg>) -> Option<&'a str> {
    rest.next().filter(|arg| !arg.glob).map(|arg| arg.text.as_str())
}

fn word<'a>(
    parsed: &mut Parsed<'a>,
    tables: &[&'static str],
    arg: &'a Arg,
    rest: &mut std::slice::Iter<'a, Arg>,
) -> Option<()> {
    let (name, value) = match arg.text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (arg.text.as_str(), None),
    };
    let option = lookup(tables, name)?;
    // Whatever the pattern becomes, it starts with this option and its sign.
    let literal = arg.literal_start().len() > name.len();
    if arg.glob && !(literal && option.meanings.is_empty()) {
        return None;
    }
    match (option.arity, value) {
        (Arity::Flag, Some(_)) => None,
        (Arity::Required, None) => {
            let value = next_value(rest)?;
            parsed.take(option, Some(value))
        }
        (_, value) => parsed.take(option, value),
    }
}

fn cluster<'a>(
    parsed: &mut Parsed<'a>,
    tables: &[&'static str],
    arg: &'a Arg,
    rest: &mut std::slice::Iter<'a, Arg>,
) -> Option<()> {
    let text = arg.text.as_str();
    let literal = arg.literal_start().len();
    for (at, letter) in text.char_indices().skip(1) {
        if !letter.is_ascii() || at >= literal {
            return None;
        }
        let option = lookup(tables, &format!("-{letter}"))?;
        let attached = &text[at + 1..];
        match option.arity {
            Arity::Required | Arity::Attached if !attached.is_empty() => {
                // Some parsers drop the sign, others take it for a part of the name.
                let unclear = attached.starts_with('=') || arg.glob;
                if unclear && !option.meanings.is_empty() {
                    return None;
                }
                return parsed.take(option, Some(attached));
            }
            Arity::Required => {
                let value = next_value(rest)?;
                return parsed.take(option, Some(value));
            }
            Arity::Flag | Arity::Attached => parsed.take(option, None)?,
        }
    }
    Some(())
}
