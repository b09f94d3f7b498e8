//! A folder with a loop in it, agents to put into it, and a terminal to watch it on.

use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{Left, Run, Terminal, World};

pub const PROMISE: &str = "<promise>COMPLETE</promise>";
pub const CTRL_C: &str = "\u{3}";
pub const ENTER: &str = "\r";
pub const ESCAPE: &str = "\u{1b}";
/// The longest thing to watch takes eight seconds on an idle machine.
pub const DEADLINE: Duration = Duration::from_secs(40);
/// For what only a file can tell.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What every agent begins with: it counts its calls, keeps what it hears, and knows how to speak and wait.
const PREAMBLE: &str = r#"#!/bin/sh
n=$(cat "$HOME/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/count"
say() { printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"s1"}\n' "$n" "$1"; }
result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$1"; }
hear() { read -r line; printf '%s\n' "$line" >> "$HOME/heard"; }
work() { echo "$n" >> work.txt; }
gate() { while [ ! -e "$HOME/$1" ]; do sleep 0.02; done; }
"#;

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

pub fn folder() -> World {
    with_files([(".ralph/prompt.md", "# Build it\n"), (".ralph/todo.md", "- [x] one\n- [x] two\n")])
}

/// A trusted repository.
pub fn with_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> World {
    let world = World::new(files, mock::Script::default()).unwrap();
    let trusted = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), trusted.to_string()).unwrap();
    world
}

pub fn ralph(world: &World, words: &[&str]) -> Run {
    world.run(&binary()).named("ralph").args(words.iter().copied()).deadline(DEADLINE)
}

/// An agent; the script runs once for each call.
pub fn agent(world: &World, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = world.home().join("agent.sh");
    std::fs::write(&path, format!("{PREAMBLE}{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A loop with this agent on a screen of 100 by 30. Without the sandbox: agents keep their notes in the home folder.
pub fn looped(world: &World, script: &str, words: &[&str]) -> Terminal {
    let backend = format!("--backend={}", agent(world, script).display());
    let run =
        ralph(world, &[&backend, "--failure-pause", "0", "--sandbox", "off", "--stay"]).args(words.iter().copied());
    Terminal::start(&run, 100, 30).unwrap()
}

/// A recording of ours, played on a screen of this size.
pub fn replayed(world: &World, recording: &str, columns: u16, rows: u16) -> Terminal {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tui/src/recordings").join(recording);
    let run = ralph(world, &["--replay", &file.display().to_string()]);
    Terminal::start(&run, columns, rows).unwrap()
}

/// Opens a gate that an agent waits at.
pub fn open(world: &World, gate: &str) {
    std::fs::write(world.home().join(gate), "").unwrap();
}

pub fn heard(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.home().join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits for what no screen tells.
pub fn eventually(what: &str, happened: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// As a shell wants to find its terminal.
pub fn assert_restored(left: &Left) {
    let screen = &left.screen;
    assert!(!screen.alternate, "the borrowed screen was not left");
    assert!(!screen.cursor_hidden, "the cursor stays hidden; the screen shows:\n{}", screen.text());
    assert!(left.cooked, "typed lines are not echoed");
    let last = |part: &[u8]| left.bytes.windows(part.len()).rposition(|bytes| bytes == part);
    for mode in ["2026", "2004"] {
        let (on, off) = (format!("\u{1b}[?{mode}h"), format!("\u{1b}[?{mode}l"));
        assert!(last(on.as_bytes()) < last(off.as_bytes()), "mode {mode} is still on");
    }
}

/// Leaves a run that has ended by itself.
pub fn leave(terminal: Terminal) -> Left {
    terminal.wait_for("q leaves").unwrap();
    terminal.press("q").unwrap();
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    left
}
