//! The block between `---` lines at the top of skills, commands, agents, rules and styles.
//!
//! Tolerant where people are: unquoted colons, yes/no, lists as text. A block that still makes no sense gives
//! nothing, and the caller skips the file.

use serde_json::{Map, Value};

/// Repairing reads every line on its own; beyond this it is not a slip of a person.
const REPAIR_MAX: usize = 16 * 1024;

/// A document's head and the text below it.
pub(crate) struct Document<'a> {
    pub(crate) meta: Meta,
    pub(crate) body: &'a str,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Meta(Map<String, Value>);

/// The block's text and the body. `None` block where the document has none; `Err` where it never closes.
fn split(text: &str) -> Result<(Option<&str>, &str), Unclosed> {
    let Some(rest) = text.strip_prefix("---").map(|rest| rest.trim_start_matches([' ', '\t'])) else {
        return Ok((None, text));
    };
    let Some(rest) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) else {
        return Ok((None, text));
    };
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = rest[offset + line.len()..].trim_start_matches(['\r', '\n']);
            return Ok((Some(&rest[..offset]), body));
        }
        offset += line.len();
    }
    Err(Unclosed)
}

#[derive(Debug, PartialEq)]
pub(crate) struct Unclosed;

/// Whether the head of a file holds the whole block.
pub(crate) fn is_closed(text: &str) -> bool {
    split(text).is_ok()
}

/// `None` if there is a block that cannot be understood.
pub(crate) fn parse(text: &str) -> Option<Document<'_>> {
    let (block, body) = split(text).ok()?;
    let meta = match block {
        None => Meta::default(),
        Some(block) => Meta(plain(block).or_else(|| yaml(block)).or_else(|| yaml(&quoted(block)?))?),
    };
    Some(Document { meta, body })
}

/// The text below the block, whatever the block says.
pub(crate) fn body(text: &str) -> &str {
    split(text).map_or(text, |(_, body)| body)
}

/// The common case, `key: words` on every line, without a YAML parser: a folder with hundreds of documents must
/// not delay the start. Anything that YAML could read differently is left to YAML (a property test holds it).
fn plain(block: &str) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    for line in block.lines() {
        let (key, value) = line.split_once(": ")?;
        let key_is_plain = key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if !key_is_plain || is_yaml_word(key) || map.contains_key(key) {
            return None;
        }
        map.insert(key.to_owned(), plain_value(value.trim_matches(' '))?);
    }
    Some(map)
}

fn plain_value(value: &str) -> Option<Value> {
    let printable = |text: &str| text.chars().all(|c| c == ' ' || c.is_alphanumeric() || c.is_ascii_punctuation());
    if let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (printable(inner) && !inner.contains(['"', '\\'])).then(|| Value::String(inner.to_owned()));
    }
    match value.bytes().next()? {
        b'1'..=b'9' if value.len() < 9 && value.bytes().all(|b| b.is_ascii_digit()) => value.parse().ok(),
        first if first.is_ascii_alphabetic() => match value {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ if is_yaml_word(value) || ends_early(value) || !printable(value) => None,
            _ => Some(Value::String(value.to_owned())),
        },
        _ => None,
    }
}

/// Where YAML sees another key or a comment begin. A colon or hash inside a word, as in `Bash(ls:*)`, is text.
fn ends_early(value: &str) -> bool {
    value.ends_with(':') || value.contains(": ") || value.contains(" #")
}

/// Words that YAML reads as something other than text.
fn is_yaml_word(value: &str) -> bool {
    ["null", "true", "false", "nan", "inf", "y", "n", "yes", "no", "on", "off"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

fn yaml(block: &str) -> Option<Map<String, Value>> {
    if block.trim().is_empty() {
        return Some(Map::new());
    }
    let options = serde_saphyr::options! {
        strict_booleans: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Value>(block, options).ok()? {
        Value::Object(map) => Some(map),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

/// The block with those lines quoted that are no YAML on their own: `description: Use when: asked` and
/// `argument-hint: [file] [line]` are what people write.
fn quoted(block: &str) -> Option<String> {
    if block.len() > REPAIR_MAX {
        return None;
    }
    let mut out = String::with_capacity(block.len() + 16);
    for line in block.lines() {
        if let Some((indent, item)) = starred_item(line) {
            out.push_str(&format!("{indent}- '{}'\n", item.replace('\'', "''")));
            continue;
        }
        match line.split_once(": ").filter(|(key, value)| is_loose_text(key, value.trim()) && yaml(line).is_none()) {
            Some((key, value)) => {
                out.push_str(key);
                out.push_str(": '");
                out.push_str(&value.trim().replace('\'', "''"));
                out.push('\'');
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Some(out)
}

/// `- **/*.rs`: a pattern to people, a reference to YAML.
fn starred_item(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    let item = trimmed.strip_prefix("- ")?.trim();
    item.starts_with('*').then(|| (&line[..line.len() - trimmed.len()], item))
}

/// Text that its author forgot to quote, as opposed to a list or a quotation that was never finished.
fn is_loose_text(key: &str, value: &str) -> bool {
    let unfinished = match value.chars().next() {
        Some('[') => !value.contains(']'),
        Some('{') => !value.contains('}'),
        first => matches!(first, None | Some('"' | '\'' | '|' | '>' | '&')),
    };
    !unfinished && !key.starts_with([' ', '\t', '-', '#', '"', '\''])
}

impl Meta {
    /// The same reading for a definition that came as JSON.
    pub(crate) fn from_object(object: &Map<String, Value>) -> Self {
        Self(object.clone())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Trimmed text; numbers and truth values as written; `None` when empty.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let text = match self.0.get(key)? {
            Value::String(text) => text.trim().to_owned(),
            scalar @ (Value::Number(_) | Value::Bool(_)) => scalar.to_string(),
            _ => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    /// Text, where `[word]` is meant as written and not as a list of one.
    pub(crate) fn literal(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::Array(_) => Some(format!("[{}]", self.list(key).join(", "))),
            _ => self.text(key),
        }
    }

    /// `None` for anything that is neither yes nor no.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.text(key)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// A list, or text separated by commas; braces hold an entry together, and a space may be part of a path.
    pub(crate) fn globs(&self, key: &str) -> Vec<String> {
        match self.0.get(key) {
            Some(Value::String(text)) => {
                let split = separated(text, ('{', '}'), |c| c == ',' || c == '\n');
                split.map(|glob| glob.trim().to_owned()).filter(|glob| !glob.is_empty()).collect()
            }
            _ => self.list(key),
        }
    }

    /// A list, or text separated by commas or spaces; parentheses hold an entry together.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        self.0.get(key).map(list).unwrap_or_default()
    }
}

/// The same for a JSON value, as agents on the command line have it.
pub(crate) fn list(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => entries(text),
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect(),
        _ => Vec::new(),
    }
}

fn entries(text: &str) -> Vec<String> {
    let split = separated(text, ('(', ')'), |c| c == ',' || c.is_whitespace());
    split.filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// Split where `ends` says so, outside of pairs.
fn separated(text: &str, (opens, closes): (char, char), ends: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |c: char| {
        if c == opens {
            depth += 1;
        } else if c == closes {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && ends(c)
    })
}

#[cfg(test)]
#[path = "frontmatter_tests.rs"]
mod tests;
