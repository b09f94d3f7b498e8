//! A differential fuzzer of shell commands: what the judge allows is run in bash, and must not do more than allowed.
//!
//! Commands are drawn from a grammar of shell constructs, from the option tables of `policy::programs` and from known
//! attacks, mutated, and judged in every mode but `bypassPermissions`, with and without rules. Those that are allowed
//! run in a scratch folder with canaries ([`place`]). A break is made smaller and printed with its seed.
//! A few seconds by default; `RALPH_FUZZ_SECONDS=3600` for an hour, `RALPH_FUZZ_COMMANDS` for at least that many
//! commands, `RALPH_FAULT_SEED` for other ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world must fail loudly")]
#![cfg(target_os = "linux")]

#[path = "../../../../tests/faults/dice.rs"]
mod dice;
mod disk;
mod draw;
#[path = "../../../../tests/faults/knobs.rs"]
mod knobs;
mod place;

use dice::Dice;
use disk::Disk;
use place::{DENIED, OUTSIDE, Place, Trace};
use ralph_policy::{Call, Decision, PermissionMode, Policy, RuleSet, Source, Targets, Verdict, decide, parse_rule};
use serde_json::json;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

const SECONDS: u64 = 3;
/// Fewer commands that really ran prove nothing; a loaded machine gets more time for them.
const RUN_MIN: usize = 100;
/// The most time that is added for that.
const MORE_TIME: Duration = Duration::from_mins(2);
const SEED: u64 = 20_261_115;
/// Tries to make a break smaller; each may run a command.
const SHRINK_MAX: usize = 100;
/// Commands between two lines about how far a long run is.
const PROGRESS: usize = 20_000;
/// Breaks that are collected before the test ends.
const BREAKS_MAX: usize = 10;

const RULES: [&str; 8] = [
    "allow Bash(echo:*)",
    "allow Bash(ls:*)",
    "allow Bash(find:*)",
    "allow Bash(git log:*)",
    "deny Bash(curl:*)",
    "deny Bash(rm:*)",
    "deny Read(./secret/**)",
    "deny Edit(*.lock)",
];
const MODES: [PermissionMode; 4] =
    [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::Plan, PermissionMode::DontAsk];

struct Setting {
    policy: Policy,
    ruled: bool,
}

fn settings(place: &Place) -> Vec<Setting> {
    let source = Source { name: "fuzz".to_owned(), anchor: place.workspace.clone() };
    let mut rules = RuleSet::default();
    for line in RULES {
        let (list, text) = line.split_once(' ').unwrap();
        let rule = parse_rule(text, &source).unwrap();
        if list == "allow" { rules.allow.push(rule) } else { rules.deny.push(rule) }
    }
    let with = |mode, ruled: bool| Setting {
        policy: Policy {
            mode,
            rules: if ruled { rules.clone() } else { RuleSet::default() },
            roots: vec![place.workspace.clone()],
            cwd: place.workspace.clone(),
            home: Some(place.base.join("home")),
        },
        ruled,
    };
    MODES.into_iter().flat_map(|mode| [with(mode, false), with(mode, true)]).collect()
}

fn judge(setting: &Setting, text: &str) -> Decision {
    decide(&setting.policy, &Call::new("Bash", &json!({ "command": text }), &Targets::default()), &Disk)
}

/// What bash is given if the command is allowed.
fn allowed(setting: &Setting, text: &str) -> Option<String> {
    let decision = judge(setting, text);
    (decision.verdict == Verdict::Allow).then(|| decision.run.unwrap_or_else(|| text.to_owned()))
}

/// What is wrong with what a command did. `None`: nothing.
fn wrong(setting: &Setting, trace: &Trace) -> Option<String> {
    if let Some(name) = trace.ran.first() {
        return Some(format!("it ran the canary {name}"));
    }
    if trace.output.contains(OUTSIDE) {
        return Some("it printed a file from outside the workspace".to_owned());
    }
    if setting.ruled && trace.output.contains(DENIED) {
        return Some("it printed a file that a rule denies".to_owned());
    }
    let key = |path: &&std::path::PathBuf| setting.ruled || !path.ends_with("secret/key");
    if let Some(path) = trace.read.iter().find(key) {
        return Some(format!("it read {}", path.display()));
    }
    let edits = setting.policy.mode == PermissionMode::AcceptEdits;
    let may_change = |path: &Path| edits && path.starts_with("w") && !is_protected(path, setting.ruled);
    let path = trace.changed.iter().find(|path| !may_change(path))?;
    Some(format!("it changed {}", path.display()))
}

fn is_protected(path: &Path, ruled: bool) -> bool {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.iter().any(|name| matches!(*name, ".git" | ".claude" | ".vscode"))
        || names.last().is_some_and(|name| {
            matches!(*name, ".mcp.json" | ".envrc" | ".bashrc" | ".profile" | ".gitconfig")
                || (ruled && Path::new(name).extension().is_some_and(|end| end == "lock"))
        })
        || names.ends_with(&[".ralph", "config.toml"])
        || names.ends_with(&[".ralph", "check"])
}

/// A command that would hurt the machine if the judge is wrong about it is judged, but not run.
fn is_too_dangerous(text: &str) -> bool {
    let rest = text.replace("/dev/null", "");
    let inside = |before: &str| before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/');
    let absolute = rest.match_indices('/').any(|(at, _)| !inside(&rest[..at]));
    let writes = ["rm", "mv", "cp", "dd", ">", "sed", "touch", "mkdir", "kill", "chmod", "chown", "ln"];
    text.matches("..").count() > 5
        || text.contains("kill")
        || (absolute && writes.iter().any(|word| text.contains(word)))
}

struct Break {
    text: String,
    original: String,
    mode: PermissionMode,
    ruled: bool,
    what: String,
}

struct Fuzzer {
    place: Place,
    settings: Vec<Setting>,
    /// What each text did.
    seen: HashMap<u64, Trace>,
    breaks: Vec<Break>,
    judged: usize,
    allowed: usize,
    run: usize,
}

impl Fuzzer {
    fn new(name: &str) -> Self {
        let place = Place::new(name);
        let settings = settings(&place);
        Self { place, settings, seen: HashMap::new(), breaks: Vec::new(), judged: 0, allowed: 0, run: 0 }
    }

    fn attempt(&mut self, at: usize, text: &str) {
        self.judged += 1;
        let setting = &self.settings[at];
        let Some(run) = allowed(setting, text) else { return };
        self.allowed += 1;
        if is_too_dangerous(&run) {
            return;
        }
        // What a text does is the same in every mode, unless a canary stands for the denied `rm`.
        let mut hasher = DefaultHasher::new();
        (&run, setting.ruled && run.contains("rm")).hash(&mut hasher);
        let key = hasher.finish();
        if !self.seen.contains_key(&key) {
            self.run += 1;
            let mut trace = self.place.run(&run, setting.ruled);
            // Only a canary in it counts, and memory is short.
            if !trace.output.contains("canary-") {
                trace.output = String::new();
            }
            self.seen.insert(key, trace);
        }
        if let Some(what) = wrong(&self.settings[at], &self.seen[&key]) {
            self.record(at, text, &what);
        }
    }

    fn break_of(&mut self, at: usize, run: &str) -> Option<String> {
        let trace = self.place.run(run, self.settings[at].ruled);
        wrong(&self.settings[at], &trace)
    }

    #[expect(clippy::print_stdout, reason = "a long run shows what it finds when it finds it")]
    fn record(&mut self, at: usize, original: &str, what: &str) {
        let text = self.shrink(at, original);
        if self.breaks.iter().any(|known| known.text == text) {
            return;
        }
        let Setting { policy, ruled } = &self.settings[at];
        let found =
            Break { text, original: original.to_owned(), mode: policy.mode, ruled: *ruled, what: what.to_owned() };
        println!("break in {:?}: {:?} ({})", found.mode, found.text, found.what);
        self.breaks.push(found);
    }

    /// The same break with less text.
    fn shrink(&mut self, at: usize, original: &str) -> String {
        let mut text: Vec<char> = original.chars().collect();
        let mut tries = 0;
        let mut size = text.len() / 2;
        while size > 0 && tries < SHRINK_MAX {
            let mut start = 0;
            let mut smaller = false;
            while start + size <= text.len() && tries < SHRINK_MAX {
                let candidate: Vec<char> = [&text[..start], &text[start + size..]].concat();
                let line: String = candidate.iter().collect();
                tries += 1;
                let run = allowed(&self.settings[at], &line).filter(|run| !is_too_dangerous(run));
                if run.is_some_and(|run| self.break_of(at, &run).is_some()) {
                    text = candidate;
                    smaller = true;
                } else {
                    start += size;
                }
            }
            if !smaller || size > text.len() {
                size /= 2;
            }
        }
        text.into_iter().collect()
    }

    fn report(&self, seed: u64) -> String {
        let one = |found: &Break| {
            format!(
                "{:?}\n    {} mode, rules: {}; {}\n    from {:?}\n",
                found.text,
                found.mode.as_str(),
                found.ruled,
                found.what,
                found.original
            )
        };
        let list: String = self.breaks.iter().map(one).collect();
        format!("RALPH_FAULT_SEED={seed}: {} breaks\n{list}", self.breaks.len())
    }
}

#[test]
fn what_is_allowed_does_no_more_than_allowed() {
    let seed = knobs::number("RALPH_FAULT_SEED", SEED);
    let until = Instant::now() + Duration::from_secs(knobs::number("RALPH_FUZZ_SECONDS", SECONDS));
    let at_least = knobs::number("RALPH_FUZZ_COMMANDS", 0) as usize;
    let mut fuzzer = Fuzzer::new("fuzz");
    let started = Instant::now();
    let corpus = draw::corpus();
    for text in &draw::attacks() {
        for at in 0..fuzzer.settings.len() {
            if fuzzer.breaks.len() < BREAKS_MAX {
                fuzzer.attempt(at, text);
            }
        }
    }
    let mut dice = Dice::new(seed);
    let mut said = 0;
    let goes_on = |fuzzer: &Fuzzer| {
        let now = Instant::now();
        let few = fuzzer.judged < at_least || (fuzzer.run <= RUN_MIN && now < until + MORE_TIME);
        (now < until || few) && fuzzer.breaks.len() < BREAKS_MAX
    };
    while goes_on(&fuzzer) {
        let text = draw::command(&mut dice, &corpus);
        for _ in 0..2 {
            let at = dice.below(fuzzer.settings.len());
            fuzzer.attempt(at, &text);
        }
        if fuzzer.judged >= said + PROGRESS {
            said = fuzzer.judged;
            println!("{said} commands judged, {} run, {} breaks", fuzzer.run, fuzzer.breaks.len());
        }
    }
    println!(
        "{} commands judged, {} allowed, {} run in {:?} from RALPH_FAULT_SEED={seed}",
        fuzzer.judged,
        fuzzer.allowed,
        fuzzer.run,
        started.elapsed()
    );
    assert!(fuzzer.breaks.is_empty(), "{}", fuzzer.report(seed));
    assert!(fuzzer.run > RUN_MIN, "only {} commands ran, so this proved nothing", fuzzer.run);
}

/// Each kind of break is made once, without a judge, and the canaries notice it.
#[test]
fn every_kind_of_break_is_seen() {
    let mut fuzzer = Fuzzer::new("canaries");
    let default = 0;
    let ruled = 1;
    let edits = 2;
    for (at, run, wanted) in [
        (default, "evil", "canary bin/evil"),
        (default, "./evil.sh", "canary w/evil.sh"),
        (default, "PATH=evil; ls", "canary w/evil/ls"),
        (default, "PATH=.:$PATH; ls", "canary w/ls"),
        (default, "printf x%n PATH; ls", "canary w/1/ls"),
        (default, "git grep -nO./evil.sh a", "canary w/evil.sh"),
        (default, "cat leak", "printed"),
        (default, "cat door/secret.txt | rev", "read"),
        (default, "md5sum ~/.ssh/id", "read"),
        (default, "touch made", "changed w/made"),
        (default, "rm a.txt", "changed w/a.txt"),
        (default, "mkdir sub/d", "changed w/sub/d"),
        (ruled, "cat secret/key", "rule denies"),
        (ruled, "xxd secret/key", "read"),
        (ruled, "rm nothing", "canary denied/rm"),
        (edits, "echo x > ../outside/new", "changed outside/new"),
        (edits, "sed -i.json s/a/b/ .mcp", "changed w/.mcp.json"),
        (edits, "touch .git/config", "changed w/.git/config"),
        (edits, "echo x > Cargo.lock; evil", "canary"),
    ] {
        let found = fuzzer.break_of(at, run);
        assert!(found.as_ref().is_some_and(|what| what.contains(wanted)), "{run:?}: {found:?}");
    }
    for (at, run) in [
        (default, "ls -la; cat a.txt; git status; git log -p"),
        (edits, "touch made; rm a.txt"),
        (default, "cat secret/key"),
    ] {
        assert_eq!(fuzzer.break_of(at, run), None, "{run:?}");
    }
}
