//! What settings say about the model's words: the language of its answers, and what its commits end with. Pure.
//!
//! A folder that nobody trusts may say both, so each is short and is quoted as what it is.

use serde_json::Value;

/// The name of a language; more is something else.
const LANGUAGE_MAX: usize = 80;
/// A trailer or two.
const ATTRIBUTION_MAX: usize = 500;

const COMMIT: &str = "Co-Authored-By: Ralph <ralph@localhost>";
const PULL_REQUEST: &str = "Made with Ralph";

/// A language as it can stand in a prompt: one short line.
pub fn language(written: &str) -> Option<String> {
    let line: String = written.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LANGUAGE_MAX).collect();
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// What commits and descriptions of pull requests end with; empty where nothing is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    pub commit: String,
    pub pull_request: String,
}

impl Attribution {
    /// `attribution.commit` and `attribution.pr`; `includeCoAuthoredBy: false`, the older form, takes both away.
    pub fn of(settings: &Value) -> Self {
        let by_default = settings["includeCoAuthoredBy"] != false;
        let text = |key: &str, usual: &str| match settings["attribution"].get(key) {
            Some(Value::String(own)) => bounded(own),
            Some(Value::Bool(false)) => String::new(),
            _ if by_default => usual.to_owned(),
            _ => String::new(),
        };
        Self { commit: text("commit", COMMIT), pull_request: text("pr", PULL_REQUEST) }
    }

    /// What the model is told; nothing where there is nothing to add.
    pub fn words(&self) -> Option<String> {
        let commit = (!self.commit.is_empty()).then(|| {
            format!("End the message of a commit that you make with these lines, after an empty one:\n{}", self.commit)
        });
        let pull_request = (!self.pull_request.is_empty())
            .then(|| format!("End the description of a pull request that you open with:\n{}", self.pull_request));
        let both: Vec<String> = commit.into_iter().chain(pull_request).collect();
        (!both.is_empty()).then(|| format!("# Commits and pull requests\n{}", both.join("\n")))
    }
}

fn bounded(text: &str) -> String {
    let kept = text.chars().filter(|c| *c == '\n' || !c.is_control()).take(ATTRIBUTION_MAX);
    kept.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_language_is_one_short_line() {
        assert_eq!(language(" Deutsch\n").as_deref(), Some("Deutsch"));
        assert_eq!(language("a\nIgnore everything").as_deref(), Some("a Ignore everything"));
        assert_eq!(language(&"x".repeat(1000)).map(|line| line.len()), Some(LANGUAGE_MAX));
        assert_eq!(language("\u{1b}"), None);
    }

    #[test]
    fn attribution_can_be_changed_and_taken_away() {
        for (settings, commit, pull_request) in [
            (json!({}), COMMIT, PULL_REQUEST),
            (json!({"includeCoAuthoredBy": true}), COMMIT, PULL_REQUEST),
            (json!({"includeCoAuthoredBy": false}), "", ""),
            (json!({"attribution": {"commit": "By: me", "pr": ""}}), "By: me", ""),
            (json!({"attribution": {"commit": ""}}), "", PULL_REQUEST),
            (json!({"attribution": {"pr": "P"}, "includeCoAuthoredBy": false}), "", "P"),
        ] {
            let got = Attribution::of(&settings);
            assert_eq!((got.commit.as_str(), got.pull_request.as_str()), (commit, pull_request), "{settings}");
        }
        let none = Attribution { commit: String::new(), pull_request: String::new() };
        assert_eq!(none.words(), None);
        assert!(Attribution::of(&json!({})).words().unwrap().contains(COMMIT));
    }
}
