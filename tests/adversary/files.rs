//! Predictable temp files, links planted where we write, disks that are full, secrets on disk.

use crate::kit::{bash, call, duplex, finish, modes_below, say, script, stream};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;
use testkit::World;

const ID: &str = "11111111-2222-4333-8444-555555555555";

fn projects(world: &World) -> PathBuf {
    world.home().join(".claude/projects")
}

/// The folder that this world's transcripts go to.
fn project(world: &World) -> PathBuf {
    let slug: String =
        world.wd().to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    projects(world).join(slug)
}

fn session(world: &World) -> testkit::Run {
    stream(world).args(["--session-id", ID, "--dangerously-skip-permissions"])
}

#[test]
fn f34_all_that_is_written_is_private() {
    let edit = call("Write", &json!({"file_path": "$WD/made", "content": "x"}));
    let long = bash("seq 100000");
    let background = call("Bash", &json!({"command": "echo hi", "run_in_background": true}));
    let world = World::empty(script(json!([edit, long, background, say("done"), say("done")]))).unwrap();
    let debug = world.home().join("debug.log").display().to_string();
    let outcome = finish(session(&world).args(["--debug-file", &debug]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut found = modes_below(world.home());
    found.extend(modes_below(&world.home().with_file_name("tmp")));
    assert!(found.iter().any(|(path, _)| path.extension().is_some_and(|end| end == "jsonl")), "{found:?}");
    let open: Vec<_> = found.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "others may look at {open:#?}");
}

#[test]
fn f34_what_was_planted_where_we_write_is_not_followed() {
    let plant = |world: &World, kind: &str| {
        let folder = project(world);
        std::fs::create_dir_all(&folder).unwrap();
        let victim = world.home().join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        let path = folder.join(format!("{ID}.jsonl"));
        match kind {
            "link" => symlink(&victim, path).unwrap(),
            "dangling link" => symlink(world.home().join("made-by-link"), path).unwrap(),
            "folder" => std::fs::create_dir(path).unwrap(),
            "pipe" => {
                let made = testkit::Run::new(std::path::Path::new("/usr/bin/mkfifo"), &folder).named("mkfifo");
                made.args([path.display().to_string()]).finish().unwrap();
            }
            _ => unreachable!(),
        }
    };
    for kind in ["link", "dangling link", "folder", "pipe"] {
        let world = World::empty(script(json!([say("done")]))).unwrap();
        plant(&world, kind);
        let outcome = finish(session(&world).deadline(Duration::from_secs(20)).close());
        // Either the name is refused at the start, or the run goes on with a warning; never through the link.
        assert!(!outcome.stderr.is_empty() || outcome.code == Some(1), "{kind}: nobody was told");
        assert_eq!(std::fs::read_to_string(world.home().join("victim")).unwrap(), "untouched", "{kind}");
        assert!(!world.home().join("made-by-link").exists(), "{kind}: written through a link");
    }
}

#[test]
fn f34_a_temp_folder_full_of_traps_is_survived() {
    let world = World::empty(script(json!([bash("echo hi; seq 50000"), say("done")]))).unwrap();
    let tmp = world.home().with_file_name("tmp");
    let victim = world.home().join("victim");
    std::fs::write(&victim, "untouched").unwrap();
    for name in ["claude", "ralph", "claude-0", "claude-1000", "claude-cwd", "ralph-0", ".claude"] {
        symlink(&victim, tmp.join(name)).unwrap();
    }
    let outcome = finish(session(&world).close());
    assert_eq!(outcome.result().unwrap()["result"], "done", "{}", outcome.stderr);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
}

/// Whatever keeps the conversation from being written: the run goes on, and says so once.
fn goes_on_with_one_warning(world: &World, run: testkit::Run, what: &str) {
    let outcome = finish(run.deadline(Duration::from_secs(30)).close());
    let result = outcome.result().unwrap_or_else(|| panic!("{what}: no result; {}", outcome.stderr));
    assert_eq!((&result["result"], outcome.code), (&json!("done"), Some(0)), "{what}: {}", outcome.stderr);
    let told = outcome.stderr.lines().filter(|line| line.contains("conversation")).count();
    assert_eq!(told, 1, "{what}: {}", outcome.stderr);
    assert_eq!(world.mock().requests().len(), 3, "{what}");
}

#[test]
fn f35_a_place_that_cannot_be_written_costs_a_warning() {
    let turns = || script(json!([bash("echo one"), bash("echo two"), say("done")]));
    let world = World::empty(turns()).unwrap();
    std::fs::create_dir(world.home().join(".claude")).unwrap();
    std::fs::write(projects(&world), "a file where a folder should be").unwrap();
    goes_on_with_one_warning(&world, session(&world), "not a folder");
    let world = World::empty(turns()).unwrap();
    std::fs::create_dir_all(projects(&world)).unwrap();
    symlink("/proc/none", project(&world)).unwrap();
    goes_on_with_one_warning(&world, session(&world), "a link to nowhere");
    let world = World::empty(turns()).unwrap();
    goes_on_with_one_warning(&world, session(&world).env("CLAUDE_CONFIG_DIR", "/proc/none"), "a read-only place");
}

/// A quota: writes fail in the middle of the file, with a signal unless somebody ignores it.
#[test]
fn f35_a_quota_in_the_middle_of_the_file_costs_a_warning_and_no_whole_line() {
    let big = "x".repeat(3_000);
    let turns =
        script(json!([bash(&format!("echo {big}")), bash(&format!("echo {big}")), say("done"), say("resumed")]));
    let world = World::empty(turns).unwrap();
    let script = format!(
        "ulimit -f 8; exec \"$RALPH\" agent -p go --verbose --output-format stream-json --dangerously-skip-permissions --session-id {ID}"
    );
    let run =
        world.run(std::path::Path::new("/bin/sh")).named("sh").env("RALPH", &crate::kit::binary().to_string_lossy());
    goes_on_with_one_warning(&world, run.args(["-c", &script]), "a quota");
    let text = std::fs::read_to_string(project(&world).join(format!("{ID}.jsonl"))).unwrap();
    let whole = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert!(whole > 0, "nothing was kept");
    // It is resumed from its last whole line.
    let outcome = finish(stream(&world).args(["--resume", ID, "--dangerously-skip-permissions"]).close());
    assert_eq!(outcome.result().unwrap()["result"], "resumed", "{}", outcome.stderr);
    let asked = world.mock().requests().last().unwrap().body["messages"].to_string();
    assert_eq!(asked.matches("\"go\"").count(), 2, "the first prompt is part of it: {asked}");
}

#[test]
fn f35_a_torn_last_line_is_left_out_and_not_built_upon() {
    let world = World::empty(script(json!([say("one"), say("two"), say("three")]))).unwrap();
    finish(session(&world).close());
    let path = project(&world).join(format!("{ID}.jsonl"));
    for torn in [
        "{\"type\":\"user\",\"uuid\":\"x",
        "\u{0}\u{0}\u{0}\u{0}",
        "\n\n{}\n[1]\nnull\n\"x\"",
        "{\"type\":\"assistant\",\"message\":5}\n",
    ] {
        let mut text = std::fs::read(&path).unwrap();
        text.extend_from_slice(torn.as_bytes());
        std::fs::write(&path, text).unwrap();
    }
    let outcome = finish(stream(&world).args(["--resume", ID]).close());
    assert_eq!(outcome.result().unwrap()["result"], "two", "{}", outcome.stderr);
    let outcome = finish(stream(&world).args(["--resume", ID]).close());
    assert_eq!(outcome.result().unwrap()["result"], "three", "{}", outcome.stderr);
    let asked = world.mock().requests()[2].body["messages"].to_string();
    assert!(asked.contains("one") && asked.contains("two"), "{asked}");
}

#[test]
fn f36_our_secrets_are_in_no_file_and_in_no_line() {
    let key = "sk-ant-api03-hush-hush-hush-hush-hush-hush";
    let look = "echo $ANTHROPIC_API_KEY; env | grep ANTHROPIC; echo key is $ANTHROPIC_API_KEY >&2";
    let world = World::empty(script(json!([bash(look), say("one"), say("two")]))).unwrap();
    let debug = world.home().join("debug.log").display().to_string();
    let run =
        duplex(&world).args(["--dangerously-skip-permissions", "--debug-file", &debug, "--include-partial-messages"]);
    let run = run.env("ANTHROPIC_API_KEY", key).prompt("go").wait(json!({"type": "result"})).prompt("on");
    let outcome = finish(run.wait(json!({"type": "result"})).close());
    assert_eq!(outcome.unmet, [] as [Value; 0]);
    for (path, _) in modes_below(world.home()).into_iter().filter(|(path, _)| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("hush-hush"), "{} holds the key", path.display());
    }
}
