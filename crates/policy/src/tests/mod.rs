//! Table tests over the whole crate. One line a case: what is called, and what must come out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    Call, Decision, Kind, Listing, Name, PathTarget, PermissionMode, Policy, Resolve, RuleSet, Source, Targets,
    Verdict, decide, normalise, parse_rule,
};

mod exclusions;
mod judged;
mod properties;
mod read_only;
mod rules;
mod shell_cases;
mod shell_policy;
mod tools;
mod unnamed;
mod unseen;

/// A file system of symlinks, and of files by their inode. Folders are where something is in them.
#[derive(Default)]
pub(crate) struct Links {
    links: BTreeMap<PathBuf, PathBuf>,
    files: BTreeMap<PathBuf, u64>,
}

impl Links {
    pub(crate) fn new(links: &[(&str, &str)]) -> Self {
        let links = links.iter().map(|(from, to)| (PathBuf::from(from), PathBuf::from(to))).collect();
        Self { links, files: BTreeMap::new() }
    }

    pub(crate) fn with_files(mut self, files: &[(&str, u64)]) -> Self {
        self.files = files.iter().map(|(path, ino)| (PathBuf::from(path), *ino)).collect();
        self
    }

    fn names(&self) -> impl Iterator<Item = &PathBuf> {
        self.links.keys().chain(self.files.keys())
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
                    while let Some(target) = self.links.get(&out) {
                        out.clone_from(target);
                    }
                }
                _ => {}
            }
        }
        out
    }

    fn list(&self, folder: &Path, most: usize) -> Listing {
        let mut found = BTreeMap::new();
        for path in self.names() {
            let Ok(below) = path.strip_prefix(folder) else { continue };
            let mut parts = below.components();
            let Some(first) = parts.next() else { continue };
            let whole = folder.join(first);
            let kind = match (parts.next(), self.links.contains_key(&whole)) {
                (Some(_), _) => Kind::Folder,
                (None, true) => Kind::Link,
                (None, false) => Kind::Other,
            };
            let ino = self.files.get(&whole).copied().unwrap_or_default();
            found.insert(whole, Name { text: first.as_os_str().to_owned(), kind, ino });
        }
        if found.len() > most { Listing::TooMany } else { Listing::Names(found.into_values().collect()) }
    }

    fn exists(&self, path: &Path) -> bool {
        self.names().any(|name| name.starts_with(path))
    }

    fn repository_runs_programs(&self, _: &Path) -> bool {
        false
    }

    fn shared_inode(&self, path: &Path) -> Option<u64> {
        let ino = self.files.get(path)?;
        (self.files.values().filter(|other| *other == ino).count() > 1).then_some(*ino)
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

    pub(crate) fn call(&self, tool: &str, input: &Value, paths: &[PathTarget]) -> Decision {
        decide(&self.policy, &Call::new(tool, input, &Targets::paths(paths.to_vec())), &self.fs)
    }

    pub(crate) fn fact(&self, path: &str, write: bool) -> PathTarget {
        let path = self.policy.cwd.join(path);
        PathTarget { given: normalise(&path), real: self.fs.real(&path), write }
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

/// What users wait for at most; unoptimised builds are an order slower.
const QUICK: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 50 });
/// Other tests run beside these: the best of some tries is what it takes.
const TRIES: usize = 5;

pub(crate) fn quick(what: &str, work: impl Fn()) {
    let timed = |_| {
        let before = Instant::now();
        work();
        before.elapsed()
    };
    let best = (0..TRIES).map(timed).scan(false, |done, took| (!std::mem::replace(done, took < QUICK)).then_some(took));
    let best = best.min().unwrap_or_default();
    assert!(best < QUICK, "{what} took {best:?}");
}
