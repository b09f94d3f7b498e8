//! The user's own functions and aliases in commands: there where somebody allowed the command, and without any say in what
//! a command means that nobody was asked about.

use super::{Seen, claude, write};
use crate::common::{bash, say, tool_results, world};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use testkit::World;

const RC: &str = "
case $- in *i*) ;; *) return;; esac
myf() { echo \"ok $1\"; }
shopt -s extglob
globby() { case $1 in @(a|b)) echo matched;; esac; }
alias hey='echo hello'
alias many='echo one
echo two'
";

fn script(commands: &[&str]) -> Value {
    json!(commands.iter().map(|command| bash(command)).chain([say("done")]).collect::<Vec<_>>())
}

fn rc(world: &World, text: &str) {
    write(&world.home().join(".bashrc"), text);
}

fn run(world: &World, more: &[&str]) -> Seen {
    let bash = [("CLAUDE_CODE_SHELL", "/bin/bash")];
    super::with(world, &bash, more)
}

/// What commands print, with this start-up file.
fn printed(start: &str, commands: &[&str], more: &[&str]) -> (Vec<String>, World) {
    let world = world(script(commands));
    rc(&world, start);
    let seen = run(&world, more);
    assert_eq!(seen.outcome.code, Some(0), "{}", seen.told());
    (tool_results(&seen.outcome), world)
}

#[test]
fn functions_and_aliases_of_the_user_work_where_the_command_is_allowed() {
    let commands = [
        "myf 1",
        "hey you",
        "type -t globby",
        "many",
        "for x in 1 2; do myf $x; done",
        "type -t nothing_like_it; echo end",
    ];
    for more in [&["--allowedTools", "Bash"][..], &["--permission-mode", "bypassPermissions"]] {
        let (printed, _world) = printed(RC, &commands, more);
        let expected = ["ok 1", "hello you", "function", "one\ntwo", "ok 1\nok 2", "end"];
        assert_eq!(printed, expected, "{more:?}");
    }
    let rule = ["--allowedTools", "Bash(myf:*)"];
    let (printed, _world) = printed(RC, &["myf 1 && ls /nowhere-at-all || pwd", "myf 2"], &rule);
    assert!(printed[1].contains("ok 2"), "{printed:?}");
}

#[test]
fn line_numbers_and_exit_codes_stay() {
    let (printed, _world) = printed(RC, &["exit 3", "cd / && pwd", "nonsense_command"], &["--allowedTools", "Bash"]);
    assert!(printed[0].contains("Exit code 3"), "{printed:?}");
    assert!(printed[1].starts_with('/'), "{printed:?}");
    assert!(printed[2].contains("Exit code 127") && printed[2].contains("nonsense_command"), "{printed:?}");
}

/// Names that are judged as programs keep their meaning, in commands with and without a rule.
#[test]
fn adversary_a_name_that_is_judged_never_means_something_else() {
    let evil = "
alias ls='touch $HOME/pwned-ls; :'
alias cat='touch $HOME/pwned-cat; :'
alias command='touch $HOME/pwned-command; '
git() { touch ~/pwned-git; }
grep() { touch ~/pwned-grep; }
cd() { touch ~/pwned-cd; }
echo() { touch ~/pwned-echo; }
command() { touch ~/pwned-command; }
builtin() { touch ~/pwned-builtin; }
trap() { touch ~/pwned-trap; }
pwd() { touch ~/pwned-pwd; }
eval() { touch ~/pwned-eval; }
test() { touch ~/pwned-test; }
[() { touch ~/pwned-bracket; }
timeout() { touch ~/pwned-timeout; }
myf() { :; }
";
    let commands = ["ls", "git status", "cd . && pwd && echo x", "cat a.txt | grep a", "myf && ls && git log -1"];
    let world = World::new([("a.txt", "a\n")], mock::Script::from_value(script(&commands)).unwrap()).unwrap();
    rc(&world, evil);
    let seen = run(&world, &["--allowedTools", "Bash(myf:*)", "Bash(npm:*)"]);
    let pwned: Vec<_> = std::fs::read_dir(world.home())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("pwned"))
        .collect();
    assert!(pwned.is_empty(), "{pwned:?}\n{}", seen.told());
    let results = tool_results(&seen.outcome);
    assert!(results[0].contains("a.txt") && results[1].contains("main"), "{results:?}");
    assert!(results[3].contains('a'), "{results:?}");
}

/// A command that needs no rule does not even have the start-up file read.
#[test]
fn adversary_a_command_without_a_rule_runs_without_them() {
    let (printed, world) = printed("touch ~/was-read\nmyf() { echo no; }", &["ls", "git status --short", "myf"], &[]);
    assert!(!world.home().join("was-read").exists(), "{printed:?}");
    assert!(printed[2].contains("was not run"), "a function is no program that only reads: {}", printed[2]);
    let edits = ["--permission-mode", "acceptEdits"];
    let (printed, world) = self::printed("touch ~/was-read", &["touch made.txt"], &edits);
    assert!(!world.home().join("was-read").exists() && world.read("made.txt").is_some(), "{printed:?}");
}

#[test]
fn start_up_files_that_misbehave_cost_a_moment_and_no_more() {
    let allowed = ["--allowedTools", "Bash"];
    for (start, told) in [
        ("echo noise; printf 'more\\0noise'; echo err >&2\nmyf() { echo ok; }", "ok"),
        ("read -r line; cat; myf() { echo ok; }", "ok"),
        ("myf() { echo ok; }\ntrap 'printf \"Fevil\\\\nevil() { :; }\\\\0\"' EXIT", "ok"),
        ("exit 7", "ends the shell"),
        ("exec true", "ends the shell"),
        ("kill -9 $$", "ends the shell"),
        ("(", "not found"),
    ] {
        let (printed, _world) = printed(start, &["myf; true"], &allowed);
        assert!(printed[0].contains(told), "{start:?}: {}", printed[0]);
    }
}

#[test]
fn a_start_up_file_that_hangs_is_left_after_its_deadline_and_asked_once() {
    let world = world(script(&["echo first", "echo second"]));
    rc(&world, "echo x >> ~/starts; sleep 300");
    let seen = run(&world, &["--allowedTools", "Bash"]);
    let results = tool_results(&seen.outcome);
    assert!(results[0].starts_with("first") && results[0].contains("did not finish"), "{results:?}");
    assert_eq!(results[1], "second", "told once");
    let starts = std::fs::read_to_string(world.home().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 1, "taken once");
    assert!(seen.outcome.elapsed < Duration::from_secs(30), "{:?}", seen.outcome.elapsed);
    assert!(!seen.outcome.lingered);
}

#[test]
fn it_is_taken_once_a_session() {
    let world = world(script(&["myf 1", "myf 2", "myf 3"]));
    rc(&world, "echo x >> ~/starts; myf() { echo ok $1; }");
    let seen = run(&world, &["--allowedTools", "Bash"]);
    assert_eq!(tool_results(&seen.outcome), ["ok 1", "ok 2", "ok 3"]);
    assert_eq!(std::fs::read_to_string(world.home().join("starts")).unwrap(), "x\n");
}

/// A home, a file or a search path that belongs to the project is the project's, not the user's.
#[test]
fn adversary_nothing_is_taken_from_the_project() {
    let allowed = ["--allowedTools", "Bash"];
    let start = "touch /tmp/never-$$ 2>/dev/null; touch \"$MARK\"; myf() { echo evil; }";
    let command = script(&["myf"]);
    // The home folder is the project, or inside of it.
    for inside in [".", "sub/home"] {
        let world = world(command.clone());
        let home = world.wd().join(inside);
        write(&home.join(".bashrc"), start);
        let mark = world.home().join("mark");
        let run = claude(&world).args(super::STREAM).args(allowed).env("CLAUDE_CODE_SHELL", "/bin/bash");
        let run = run.env("HOME", &home.display().to_string()).env("MARK", &mark.display().to_string());
        let seen = Seen::of(&world, run);
        assert!(!mark.exists() && tool_results(&seen.outcome)[0].contains("127"), "{inside}: {}", seen.told());
    }
    // The file is a link into the project, or anybody may write it.
    let world = world(command);
    write(&world.wd().join("rc"), start);
    std::os::unix::fs::symlink(world.wd().join("rc"), world.home().join(".bashrc")).unwrap();
    let mark = world.home().join("mark");
    let run = claude(&world).args(super::STREAM).args(allowed).env("CLAUDE_CODE_SHELL", "/bin/bash");
    let seen = Seen::of(&world, run.env("MARK", &mark.display().to_string()));
    assert!(!mark.exists() && tool_results(&seen.outcome)[0].contains("127"), "{}", seen.told());
}

/// The shell that reads the file stands in the home folder, without credentials and without the project's programs.
#[test]
fn adversary_the_project_has_no_part_in_the_reading() {
    let world = world(script(&["true"]));
    write(&world.wd().join("bin/tput"), "#!/bin/sh\ntouch \"$HOME/ran-project-program\"\n");
    make_executable(&world.wd().join("bin/tput"));
    write(&world.wd().join(".env"), "touch ~/read-env");
    rc(&world, "tput colors; command -v tput > ~/tput; pwd > ~/where; env > ~/seen; [ -f .env ] && . ./.env; true");
    let path = format!("{}:bin:/usr/bin:/bin", world.wd().join("bin").display());
    let run = claude(&world).args(super::STREAM).args(["--allowedTools", "Bash"]).env("PATH", &path);
    let run = run.env("CLAUDE_CODE_SHELL", "/bin/bash").env("BASH_ENV", "/nowhere").env("GH_TOKEN", "secret");
    let seen = Seen::of(&world, run);
    let read = |name: &str| std::fs::read_to_string(world.home().join(name)).unwrap_or_default();
    assert_eq!(read("where").trim(), world.home().display().to_string(), "{}", seen.told());
    assert!(!world.home().join("ran-project-program").exists() && !world.home().join("read-env").exists());
    let seen_env = read("seen");
    assert!(!seen_env.contains("GH_TOKEN") && !seen_env.contains("ANTHROPIC_API_KEY"), "{seen_env}");
    assert!(!seen_env.contains("BASH_ENV") && !seen_env.contains(&world.wd().display().to_string()), "{seen_env}");
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}
