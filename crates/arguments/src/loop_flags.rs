//! What was typed after `ralph`: every key of `.ralph/config.toml` is a flag ([`crate::LOOP_OPTIONS`]), plus a few that
//! are about this one run.

use crate::loop_table::{Kind, LOOP_OPTIONS, LoopOption, LoopOptions};
use std::path::PathBuf;

/// Flags about this run alone.
const OWN: [(&str, &str); 7] = [
    ("detach", "start a run that goes on by itself; see it with 'ralph attach', end it with 'ralph stop'"),
    ("rehearse", "run against a script or a recording (--rehearse FILE), without a token"),
    ("fault", "what goes wrong in a rehearsal: limit, crash, malformed, slow; --fault crash@2, slow@3=30s"),
    ("continue", "go on with the last run where it is not done"),
    ("replay", "play a recording instead of running (--replay [FILE or RUN])"),
    ("help", "this text"),
    ("h", "the same"),
];

/// What `--replay` plays.
#[derive(Debug, PartialEq)]
pub enum Recording {
    Newest,
    /// A file, or the id of a run.
    File(PathBuf),
}

#[derive(Debug, Default, PartialEq)]
pub struct Wanted {
    pub options: LoopOptions,
    pub go_on: bool,
    /// The run outlives whoever starts it.
    pub detach: bool,
    pub replay: Option<Recording>,
    /// A script for the model.
    pub rehearse: Option<PathBuf>,
    /// What is to go wrong in a rehearsal, as it was typed.
    pub faults: Vec<String>,
    pub help: bool,
}

/// Whether `ralph WORD …` is about the loop: all flags are, misspelt ones too.
pub fn is_ours(word: &str) -> bool {
    word.starts_with('-') || word.parse::<u32>().is_ok()
}

/// Whether a word of a run is about how it is shown: nobody looks at a detached run, and `--detach` has been obeyed.
pub fn is_about_showing(word: &str) -> bool {
    let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    word.starts_with('-') && ["detach", "json", "no-tui", "stay"].contains(&name)
}

/// A mistake in what was typed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopFlagError {
    #[error("'{first}' and '{second}' are two numbers of iterations; give one.")]
    TwoNumbers { first: String, second: String },
    #[error("'{0}' is neither a number of iterations nor a flag. See 'ralph --help'.")]
    Stray(String),
    #[error("unknown option '{word}'. {hint}")]
    Unknown { word: String, hint: String },
    #[error("option '--{0}' needs a value.")]
    MissingValue(String),
    #[error("option '--{name}' needs {needed}, not '{value}'.")]
    WrongValue { name: String, needed: &'static str, value: String },
    #[error("option '--fault' is for rehearsals; add --rehearse FILE.")]
    FaultAlone,
}

pub fn parse(words: &[String]) -> Result<Wanted, LoopFlagError> {
    let mut wanted = Wanted::default();
    let mut words = words.iter().peekable();
    let mut number: Option<&String> = None;
    while let Some(word) = words.next() {
        if let Ok(max) = word.parse::<u32>() {
            if let Some(before) = number.replace(word) {
                return Err(LoopFlagError::TwoNumbers { first: before.clone(), second: word.clone() });
            }
            wanted.options.max = Some(max);
            continue;
        }
        let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            return Err(LoopFlagError::Stray(word.clone()));
        };
        let (name, inline) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        if wanted.own(name, inline, &mut words)? {
            continue;
        }
        let Some(option) = LoopOption::find(name) else { return Err(unknown(word, name)) };
        let value = match (inline, option.kind) {
            (Some(value), _) => value,
            (None, Kind::Switch) => "true",
            (None, Kind::Maybe) => {
                let is_value = |word: &&String| !word.starts_with('-') && word.parse::<u32>().is_err();
                words.next_if(is_value).map_or("true", String::as_str)
            }
            (None, _) => words.next().ok_or_else(|| LoopFlagError::MissingValue(name.to_owned()))?,
        };
        (option.put)(&mut wanted.options, value).map_err(|needed| wrong(name, needed.0, value))?;
    }
    if wanted.rehearse.is_none() && !wanted.faults.is_empty() {
        return Err(LoopFlagError::FaultAlone);
    }
    Ok(wanted)
}

fn wrong(name: &str, needed: &'static str, value: &str) -> LoopFlagError {
    LoopFlagError::WrongValue { name: name.to_owned(), needed, value: value.to_owned() }
}

fn unknown(word: &str, name: &str) -> LoopFlagError {
    let names = LOOP_OPTIONS.iter().flat_map(|option| [Some(option.name), option.alias]).flatten();
    // One letter is as near to any other.
    let names = names.chain(OWN.iter().map(|(flag, _)| *flag)).filter(|known| known.len() > 1);
    let near = crate::nearest(name, names).map(|near| format!("Did you mean '--{near}'?"));
    let hint = near.unwrap_or_else(|| {
        let of_agent = |flag: &crate::Flag| {
            flag.name == name
                || flag.aliases.contains(&name)
                || flag.short.is_some_and(|short| name == short.to_string())
        };
        let agents = crate::FLAGS.iter().any(of_agent);
        let where_else = if agents { "It is one of the agent: 'ralph agent …'." } else { "See 'ralph 1 --help'." };
        where_else.to_owned()
    });
    LoopFlagError::Unknown { word: word.to_owned(), hint }
}

impl Wanted {
    fn own<'a>(
        &mut self,
        name: &str,
        inline: Option<&str>,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'a String>>,
    ) -> Result<bool, LoopFlagError> {
        match name {
            "continue" => self.go_on = switch(name, inline)?,
            "detach" => self.detach = switch(name, inline)?,
            "help" | "h" => self.help = switch(name, inline)?,
            "rehearse" => self.rehearse = Some(own_value(name, inline, words)?.into()),
            "fault" => self.faults.push(own_value(name, inline, words)?),
            "replay" => {
                let next = words.next_if(|word| !word.starts_with('-'));
                let file = inline.or(next.map(String::as_str));
                self.replay = Some(file.map_or(Recording::Newest, |file| Recording::File(file.into())));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn switch(name: &str, inline: Option<&str>) -> Result<bool, LoopFlagError> {
    inline.map_or(Ok(true), |value| value.parse().map_err(|_| wrong(name, "true or false", value)))
}

fn own_value<'a>(
    name: &str,
    inline: Option<&str>,
    words: &mut impl Iterator<Item = &'a String>,
) -> Result<String, LoopFlagError> {
    let value = inline.map(str::to_owned).or_else(|| words.next().cloned());
    value.ok_or_else(|| LoopFlagError::MissingValue(name.to_owned()))
}

/// The options of a run as they are typed, with what they do.
pub fn option_lines() -> Vec<(String, &'static str)> {
    let keys = LOOP_OPTIONS.iter().flat_map(|option| {
        let value = match option.kind {
            Kind::Switch => "",
            Kind::Maybe => " [value]",
            _ => " <value>",
        };
        let alias = option.alias.map(|alias| (format!("--{alias}{value}"), "the same"));
        [Some((format!("--{}{value}", option.name), option.help)), alias].into_iter().flatten()
    });
    // `-h` is known, but nobody needs to be told of it.
    let own = OWN.iter().filter(|(flag, _)| flag.len() > 1).map(|(flag, help)| (format!("--{flag}"), *help));
    keys.chain(own).collect()
}

pub fn help() -> String {
    let mut text =
        String::from("Usage: ralph [N] [options]\n\nRuns an agent in iterations until it is done, and checked.\n\n");
    for (option, help) in option_lines() {
        text.push_str(&format!("  {option:<28} {help}\n"));
    }
    text.push_str("\nEvery option but --detach, --rehearse, --fault, --continue, --replay and --help is also a key of .ralph/config.toml.\n\nExit codes:\n");
    text + &wire::exit_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Wanted, LoopFlagError> {
        parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn adversary_37_both_forms_of_a_value_are_the_same() {
        assert_eq!(parsed("--max=3").unwrap(), parsed("--max 3").unwrap());
        assert_eq!(parsed("--max-iterations=3").unwrap(), parsed("3").unwrap());
        assert_eq!(parsed("--check make --check=lint").unwrap().options.check.unwrap().len(), 2);
        assert_eq!(parsed("--commit").unwrap(), parsed("--commit=true").unwrap());
        assert_eq!(parsed("--review builtin:opus").unwrap(), parsed("--review=builtin:opus").unwrap());
        assert_eq!(parsed("--review 20").unwrap(), parsed("20 --review").unwrap(), "a number is one of iterations");
        assert_eq!(parsed("--review --commit").unwrap(), parsed("--review=true --commit").unwrap());
        assert_eq!(parsed("--continue=false").unwrap(), Wanted::default());
        assert_eq!(parsed("--json").unwrap().options.json, Some(true));
        assert_eq!(parsed("--json=false").unwrap().options.json, Some(false));
    }

    #[test]
    fn mistakes_are_one_line_with_a_hint() {
        for (words, message) in [
            ("--max x", "option '--max' needs a whole number, not 'x'."),
            ("--max", "option '--max' needs a value."),
            ("--rehearse", "option '--rehearse' needs a value."),
            ("--fault crash", "option '--fault' is for rehearsals; add --rehearse FILE."),
            ("--modle m", "unknown option '--modle'. Did you mean '--model'?"),
            ("--max-iteratons 3", "unknown option '--max-iteratons'. Did you mean '--max-iterations'?"),
            ("-p hi", "unknown option '-p'. It is one of the agent: 'ralph agent …'."),
            ("--output-formt=x", "unknown option '--output-formt=x'. Did you mean '--output-format'?"),
            ("--zzzzzz", "unknown option '--zzzzzz'. See 'ralph 1 --help'."),
            ("3 4", "'3' and '4' are two numbers of iterations; give one."),
            ("--watch=x", "option '--watch' needs true or false, not 'x'."),
            ("3 four", "'four' is neither a number of iterations nor a flag. See 'ralph --help'."),
        ] {
            assert_eq!(parsed(words).unwrap_err().to_string(), message, "{words}");
        }
    }

    #[test]
    fn every_flag_is_a_key_and_every_key_a_flag() {
        let template = include_str!("../../runner/src/templates/config.toml");
        let words = |line: &str| line.trim_start_matches("# ").split(" = ").next().unwrap_or_default().to_owned();
        let keys: Vec<String> = template.lines().filter(|line| line.contains(" = ")).map(words).collect();
        for key in keys {
            assert!(LoopOption::of_key(&key).is_some(), "{key} has no flag");
        }
    }

    #[test]
    fn what_was_typed_wins_over_what_was_typed_before() {
        let earlier = parsed("--max-cost 5 --model opus --check a").unwrap().options;
        let now = parsed("7 --model haiku").unwrap().options;
        let both = now.or(earlier);
        assert_eq!((both.max, both.max_cost, both.model.as_deref()), (Some(7), Some(5.0), Some("haiku")));
        assert_eq!(both.check, Some(vec!["a".to_owned()]));
    }
}
