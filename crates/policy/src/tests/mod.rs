//! Table tests over the whole crate. One line a case: what is called, and what must come out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{
    Call, Decision, PathFact, PermissionMode, Policy, Resolve, RuleSet, Source, Verdict, decide, normalise, parse_rule,
};

mod properties;
mod read_only;
mod rules;
mod shell_cases;
mod shell_policy;
mod tools;

/// A file system of symlinks only.
#[derive(Default)]
pub(crate) struct Links(BTreeMap<PathBuf, PathBuf>);

impl Links {
    pub(crate) fn new(links: &[(&str, &str)]) -> Self {
        Self(links.iter().map(|(from, to)| (PathBuf::from(from), PathBuf::from(to))).collect())
    }
}

impl Resolve for Links {
    fn real(&self, path: &Path) -> PathBuf {
        let mut out = PathBuf::from("/");
        for part in path.components() {
            match part {
                std::path::Component::ParentDir => drop(out.pop()),
                std::path::Component::Normal(name) => {
                    out.push(name);
                    while let Some(target) = self.0.get(&out) {
                        out.clone_from(target);
                    }
                }
                _ => {}
            }
        }
        out
    }
}

pub(crate) struct World {
    pub(crate) policy: Policy,
    pub(crate) fs: Links,
}

/// Rules are written `allow Bash(x)`, `ask …`, `deny …`.
pub(crate) fn world(mode: PermissionMode, rules: &[&str]) -> World {
    let source = Source { name: "test".to_owned(), anchor: PathBuf::from("/w") };
    let mut set = RuleSet::default();
    for line in rules {
        let (list, text) = line.split_once(' ').expect("list and rule");
        let rule = parse_rule(text, &source).expect("a rule");
        match list {
            "allow" => set.allow.push(rule),
            "ask" => set.ask.push(rule),
            "deny" => set.deny.push(rule),
            other => panic!("no list {other}"),
        }
    }
    let policy = Policy {
        mode,
        rules: set,
        roots: vec![PathBuf::from("/w"), PathBuf::from("/added")],
        cwd: PathBuf::from("/w"),
        home: Some(PathBuf::from("/home/u")),
    };
    let fs = Links::new(&[("/w/etc", "/etc"), ("/w/leak", "/w/secret"), ("/w/sub/out", "/outside")]);
    World { policy, fs }
}

impl World {
    pub(crate) fn bash(&self, command: &str) -> Decision {
        self.call("Bash", &json!({ "command": command }), &[])
    }

    pub(crate) fn call(&self, tool: &str, input: &Value, paths: &[PathFact]) -> Decision {
        decide(&self.policy, &Call { tool, input, paths }, &self.fs)
    }

    pub(crate) fn fact(&self, path: &str, write: bool) -> PathFact {
        let path = self.policy.cwd.join(path);
        PathFact { given: normalise(&path), real: self.fs.real(&path), write }
    }

    pub(crate) fn file(&self, tool: &str, path: &str) -> Decision {
        self.call(tool, &json!({ "file_path": path }), &[self.fact(path, false)])
    }
}

pub(crate) fn check(verdict: Verdict, commands: &[&str], world: &World) {
    let wrong: Vec<String> = commands
        .iter()
        .map(|command| (command, world.bash(command)))
        .filter(|(_, decision)| decision.verdict != verdict)
        .map(|(command, decision)| {
            format!("{command:?}: {:?} {} ({})", decision.verdict, decision.reason, decision.reason_type)
        })
        .collect();
    assert!(wrong.is_empty(), "should be {verdict:?}:\n{}", wrong.join("\n"));
}
