//! Commands and rules: every one gets a verdict, and more denial never means more permission.

use policy::{
    Call, Listing, PermissionMode, Policy, Resolve, RuleSet, Source, Targets, Verdict, decide, parse_rule, split_list,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A verdict is wanted while somebody waits, on the worst input and a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// A file system without links, and without files.
struct Plain;

impl Resolve for Plain {
    fn real(&self, path: &Path) -> PathBuf {
        policy::normalise(path)
    }

    fn list(&self, _folder: &Path, _most: usize) -> Listing {
        Listing::NotAFolder
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }

    fn repository_runs_programs(&self, _: &Path) -> bool {
        false
    }

    fn shared_inode(&self, _path: &Path) -> Option<u64> {
        None
    }
}

pub fn command(bytes: &[u8]) {
    let command = String::from_utf8_lossy(bytes);
    let started = Instant::now();
    for mode in [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::BypassPermissions] {
        let free = policy(mode, &["Bash(git *)", "Bash(npm run test:*)", "Read(./**)"], &[]);
        let strict =
            policy(mode, &["Bash(git *)", "Bash(npm run test:*)", "Read(./**)"], &["Bash(rm:*)", "Read(./s/**)"]);
        let closed = policy(mode, &["Bash"], &["Bash"]);
        let (free, strict) = (verdict(&free, &command), verdict(&strict, &command));
        assert!(rank(strict) >= rank(free), "a denial made {command:?} {strict:?} after {free:?}");
        assert_eq!(verdict(&closed, &command), Verdict::Deny, "{command:?}");
    }
    assert!(started.elapsed() < SOON, "{:?} for {command:?}", started.elapsed());
}

/// The first line is a rule or a list of them, the rest a command to hold against it.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (list, command) = text.split_once('\n').unwrap_or((&text, "git status"));
    for rule in split_list(list) {
        let Ok(parsed) = parse_rule(&rule, &source()) else { continue };
        let again = parse_rule(&parsed.text, &source()).expect("what was read once is read again");
        assert_eq!(again, parsed, "{rule:?}");
        let none = policy(PermissionMode::Default, &[], &[]);
        let mut denies = none.clone();
        denies.rules.deny.push(parsed);
        assert!(rank(verdict(&denies, command)) >= rank(verdict(&none, command)), "deny {rule:?} for {command:?}");
    }
}

fn source() -> Source {
    Source { name: "fuzz".into(), anchor: "/w".into() }
}

fn policy(mode: PermissionMode, allow: &[&str], deny: &[&str]) -> Policy {
    let list = |texts: &[&str]| texts.iter().filter_map(|text| parse_rule(text, &source()).ok()).collect();
    let rules = RuleSet { allow: list(allow), deny: list(deny), ..RuleSet::default() };
    Policy { mode, rules, roots: vec!["/w".into()], cwd: "/w".into(), home: Some("/home/u".into()) }
}

fn verdict(policy: &Policy, command: &str) -> Verdict {
    let input = json!({"command": command});
    decide(policy, &Call::new("Bash", &input, &Targets::default()), &Plain).verdict
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}
