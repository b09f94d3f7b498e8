//! Which subject of an event (a tool's name, a reason, a source) a group of handlers is for.
//!
//! Plain lists of names are compared whole; anything else is a JavaScript regular expression, look-ahead
//! included, that may match anywhere. A pattern that cannot be read matches nothing and is warned about.

use fancy_regex::{Regex, RegexBuilder};

/// Steps back before a pattern is given up. Names are short: an honest pattern needs a few dozen.
const MOST_BACKTRACKING: usize = 100_000;

/// Longer patterns are not written by people, and compiling them takes memory.
const LONGEST_PATTERN: usize = 10_000;

/// The name that a tool has now.
pub(crate) type Canonical = fn(&str) -> &str;

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
    /// Could not be read.
    Nothing,
}

impl Matcher {
    /// The matcher, and what is wrong with it.
    pub(crate) fn parse(text: &str) -> (Self, Option<String>) {
        if text.is_empty() || text == "*" {
            return (Self::All, None);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_ ,|-".contains(c);
        if text.chars().all(plain) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return (Self::Names(names.map(str::to_owned).collect()), None);
        }
        if text.len() > LONGEST_PATTERN {
            let why = format!("the pattern is longer than {LONGEST_PATTERN} bytes");
            return (Self::Nothing, Some(why));
        }
        match RegexBuilder::new(text).backtrack_limit(MOST_BACKTRACKING).build() {
            Ok(pattern) => (Self::Pattern(Box::new(pattern)), None),
            Err(error) => (Self::Nothing, Some(error.to_string())),
        }
    }

    /// The files that a matcher of file names spells out: `.envrc|.env` means those two, not a pattern.
    pub(crate) fn file_names(&self) -> Vec<String> {
        match self {
            Self::Names(names) => names.clone(),
            Self::Pattern(pattern) => {
                let plain = |name: &&str| !name.is_empty() && !name.contains(|c: char| "*?[](){}^$+\\".contains(c));
                pattern.as_str().split('|').map(str::trim).filter(plain).map(str::to_owned).collect()
            }
            Self::All | Self::Nothing => Vec::new(),
        }
    }

    /// `canonical`: the subject is the name of a tool, which may have had another one.
    pub(crate) fn matches(&self, subject: Option<&str>, canonical: Option<Canonical>) -> bool {
        let Some(subject) = subject else { return matches!(self, Self::All) };
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Names(names) => {
                let same = |name: &str| canonical.is_some_and(|canonical| canonical(name) == canonical(subject));
                names.iter().any(|name| name == subject || same(name))
            }
            // A pattern too slow to answer may have been meant: then the hook runs.
            Self::Pattern(pattern) => spellings(subject, canonical).any(|name| pattern.is_match(name).unwrap_or(true)),
        }
    }
}

fn spellings(subject: &str, canonical: Option<Canonical>) -> impl Iterator<Item = &str> {
    // Names that the tool had before; patterns still say them.
    let entry = policy::names::find(subject).filter(|_| canonical.is_some());
    let former = entry.into_iter().flat_map(|entry| entry.aliases.iter().copied());
    std::iter::once(subject).chain(former)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(name: &str) -> &str {
        if name == "Task" { "Agent" } else { name }
    }

    #[test]
    fn matchers_mean_what_people_write() {
        let but_readers = "^(?!(Glob|Grep|Read)$).*";
        for (matcher, subject, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("bash", "Bash", false),
            ("Write|Edit", "Edit", true),
            ("Write, Edit", "Edit", true),
            ("Write | Edit", "Write", true),
            ("Write|Edit", "NotebookEdit", false),
            ("|", "Bash", false),
            ("mcp__memory", "mcp__memory__read", false),
            ("mcp__memory__.*", "mcp__memory__read", true),
            ("mcp__.*__write.*", "mcp__files__write_one", true),
            ("Edit.*", "NotebookEdit", true),
            ("^Edit$", "NotebookEdit", false),
            ("Notebook.", "Bash", false),
            (but_readers, "Bash", true),
            (but_readers, "Grep", false),
            (but_readers, "GrepMore", true),
            (r"\/tmp\/", "/tmp/x", true),
            ("(", "Bash", false),
            ("*Bash", "Bash", false),
            ("Task", "Agent", true),
            ("^Task$", "Agent", true),
            ("Agent", "Agent", true),
        ] {
            assert_eq!(
                Matcher::parse(matcher).0.matches(Some(subject), Some(canonical)),
                expected,
                "{matcher} on {subject}"
            );
        }
    }

    #[test]
    fn former_tool_names_are_names_of_tools_only() {
        assert!(!Matcher::parse("Task").0.matches(Some("Agent"), None));
    }

    #[test]
    fn without_a_subject_only_a_matcher_for_all_matches() {
        for (matcher, expected) in [("", true), ("*", true), ("Bash", false), (".*", false)] {
            assert_eq!(Matcher::parse(matcher).0.matches(None, None), expected, "{matcher}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (matcher, broken) in [("(", true), ("[a", true), ("Bash", false), ("(?!x)y", false)] {
            assert_eq!(Matcher::parse(matcher).1.is_some(), broken, "{matcher}");
        }
        assert!(Matcher::parse(&".".repeat(LONGEST_PATTERN + 1)).1.is_some());
    }

    #[test]
    fn a_pattern_without_end_is_given_up_and_its_hook_runs() {
        let (slow, problem) = Matcher::parse("(a|b|ab)*(?=c)c");
        assert_eq!(problem, None);
        assert!(slow.matches(Some(&"ab".repeat(100)), None));
        assert!(!slow.matches(Some("ab"), None));
    }
}
