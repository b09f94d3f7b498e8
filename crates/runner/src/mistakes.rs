//! Messages for a wrong key of `.ralph/config.toml` or a wrong flag: the place, the key, the allowed values.

use arguments::{Kind, LOOP_OPTIONS, LoopOption};

/// Where a file cannot be read, without the picture of it.
pub(crate) fn unreadable(text: &str, error: &toml::de::Error) -> String {
    format!("line {}: {}", line_of(text, error), error.message().replace('\n', ", "))
}

/// From 1.
pub(crate) fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    before.matches('\n').count() + 1
}

/// Keys that are no option of a run: they are about goals of the repository.
const OTHER_KEYS: [&str; 1] = ["land"];

fn keys() -> impl Iterator<Item = &'static str> {
    LOOP_OPTIONS.iter().map(|option| option.key).chain(OTHER_KEYS)
}

/// What a key takes, in words.
fn allowed(key: &str) -> &'static str {
    LoopOption::of_key(key).map_or(Kind::Text, |option| option.kind).expects()
}

/// What a message shows of a value.
const VALUE_MAX: usize = 40;

/// A value of the file that its key does not take.
pub(crate) fn mistake_in_file(text: &str, line: usize, error: &toml::de::Error) -> String {
    // A list may go over several lines; its key stands on the first.
    let lines: Vec<&str> = text.lines().take(line).collect();
    let begins = lines.iter().rev().find(|line| line.contains('=')).copied().unwrap_or_default();
    let (key, _) = begins.split_once('=').unwrap_or((begins, ""));
    let key = key.trim();
    let value = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    format!("line {line}: '{key}' must be {}, not {}", allowed(key), cycle::bounded(&one_line(value), VALUE_MAX))
}

/// A value of a flag that it does not take. `is_wrong` looks at a table of one key: each flag is judged on its own.
pub(crate) fn mistake_in_flags(flags: &toml::Table, is_wrong: impl Fn(toml::Table) -> bool) -> Option<String> {
    let alone = |key: &String, value: &toml::Value| toml::Table::from_iter([(key.clone(), value.clone())]);
    let (key, value) = flags.iter().find(|(key, value)| is_wrong(alone(key, value)))?;
    let value = serde_json::to_value(value).map(|value| value.to_string()).unwrap_or_default();
    let flag = LoopOption::of_key(key).map_or(key.as_str(), |option| option.name);
    Some(format!("--{flag} must be {}, not {}", allowed(key), cycle::bounded(&value, VALUE_MAX)))
}

fn one_line(text: &str) -> String {
    text.trim().replace('\n', ", ")
}

/// The first key that is none of ours, with its line.
pub(crate) fn unknown_key(text: &str, table: &toml::Table) -> Option<(String, usize)> {
    let at = |key: &str| text.lines().position(|line| key_of(line) == key).map_or(1, |at| at + 1);
    let unknown = table.keys().filter(|key| !keys().any(|known| known == *key));
    unknown.map(|key| (key.clone(), at(key))).min_by_key(|(_, line)| *line)
}

/// The key of a line, or the name of a table.
fn key_of(line: &str) -> &str {
    let line = line.trim_start().trim_start_matches('[');
    let end = line.find(['=', '.', ']']).unwrap_or(line.len());
    line[..end].trim().trim_matches(['"', '\''])
}

/// The key that somebody most likely meant.
pub(crate) fn nearest_key(key: &str) -> Option<&'static str> {
    arguments::nearest(key, keys())
}
