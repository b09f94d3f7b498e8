//! What others wrote, on its way to a terminal or a log: no sequence that the terminal obeys, no text that is not what
//! it looks like, no credential.

use crate::kit::{bash, binary, finish, say, script, stream};
use crate::loopback::{Loopback, reply};
use serde_json::json;
use testkit::{Terminal, World, looping};

/// A title, a cleared screen, a hyperlink, a query that answers itself, and text that runs backwards.
const HOSTILE: &str = "begin\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31m\u{1b}]8;;http://evil\u{1b}\\x\u{1b}[6n\u{9b}31m\u{202e}txt\u{2066}\u{200b}end";
const TOKEN: &str = "ghp_token_of_the_user_0123456789";

fn is_harmless(text: &str) -> bool {
    let bad = |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || wire_hidden(c);
    !text.chars().any(bad)
}

fn wire_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn text_for_a_terminal_is_cleaned_and_text_for_a_program_is_not() {
    let world = World::new([], script(json!([say(HOSTILE), say(HOSTILE)]))).unwrap();
    let run = world.run(&binary()).args(["-p", "go"]);
    let left = Terminal::start(&run, 120, 30).unwrap().finish().unwrap();
    let shown = String::from_utf8_lossy(&left.bytes).into_owned();
    assert!(shown.contains("begin") && shown.contains("end"), "{shown:?}");
    assert!(is_harmless(&shown), "{shown:?}");
    let outcome = finish(world.run(&binary()).args(["-p", "go"]).close());
    assert!(outcome.lines.join("\n").contains("\u{1b}]0;owned"), "{:?}", outcome.lines);
}

#[test]
fn an_error_of_the_api_is_cleaned() {
    for status in [400, 401, 500] {
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": HOSTILE}}).to_string();
        let api = Loopback::start(move |_| reply(status, "application/json", &body));
        let world = World::new([], script(json!([]))).unwrap();
        let run = world.run(&binary()).args(["-p", "go"]).env("ANTHROPIC_BASE_URL", &format!("http://{}", api.address));
        let left = Terminal::start(&run.env("CLAUDE_CODE_MAX_RETRIES", "0"), 120, 30).unwrap().finish().unwrap();
        let shown = String::from_utf8_lossy(&left.bytes).into_owned();
        assert!(shown.contains("begin") || shown.contains("401"), "{status}: {shown:?}");
        assert!(is_harmless(&shown), "{status}: {shown:?}");
    }
}

#[test]
fn a_server_that_fails_shows_neither_sequences_nor_credentials() {
    let noisy = format!("printf '%s\\n' '{HOSTILE}' >&2; env | grep -E 'TOKEN|MINE' >&2; echo \"args $1\" >&2; exit 3");
    let servers = json!({"mcpServers": {"s": {"command": "sh", "args": ["-c", noisy, "x", "${GITHUB_TOKEN}"], "env": {"MINE": "${PLAIN}"}}}});
    let text = servers.to_string();
    let world = World::new([("mine.json", text.as_str())], script(json!([say("done")]))).unwrap();
    let debug = world.home().join("debug.txt");
    // With stream-json the `init` event says that a server failed, and stderr stays empty.
    let run = world.run(&binary()).args(["-p", "go", "--output-format", "json"]);
    let run = run.args(["--mcp-config", "mine.json", "--debug-file", debug.to_str().unwrap()]);
    let outcome = finish(run.env("GITHUB_TOKEN", TOKEN).env("PLAIN", "plain-but-secret-0123").close());
    assert_eq!(outcome.result().unwrap()["result"], "done", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("begin") && outcome.stderr.contains("[secret]"), "{}", outcome.stderr);
    assert!(is_harmless(&outcome.stderr), "{:?}", outcome.stderr);
    let all = format!("{}{:?}{}", outcome.stderr, outcome.lines, std::fs::read_to_string(debug).unwrap());
    assert!(!all.contains(TOKEN) && !all.contains("plain-but-secret"), "{all}");
}

#[test]
fn a_debug_file_holds_no_credential() {
    let key = "sk-ant-test-of-the-user-0123456789";
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo the key is $ANTHROPIC_API_KEY"}]}]}});
    let world = World::new([], script(json!([bash("echo $ANTHROPIC_API_KEY"), say("done")]))).unwrap();
    let debug = world.home().join("debug.txt");
    let run = stream(&world).args(["--settings", &hook.to_string(), "--include-hook-events", "--allowedTools", "Bash"]);
    let outcome = finish(run.args(["--debug-file", debug.to_str().unwrap()]).env("ANTHROPIC_API_KEY", key).close());
    let logged = std::fs::read_to_string(debug).unwrap();
    assert!(logged.contains("the key is") && !logged.contains(key), "{logged}\n{}", outcome.stderr);
}

#[test]
fn the_files_of_a_loop_hold_no_credential_that_an_agent_prints() {
    let world = looping::folder();
    let script =
        format!("say \"token $GITHUB_TOKEN\"; echo $GITHUB_TOKEN >&2; result \"$GITHUB_TOKEN {}\"", looping::PROMISE);
    let run = looping::looped(&binary(), &world, &script, &["--max-iterations", "1", "--keep-env", "GITHUB_TOKEN"]);
    let outcome = finish(run.env("GITHUB_TOKEN", TOKEN).close());
    let mut files = vec![world.wd().join(".ralph")];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()));
        } else {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(TOKEN), "{}: {text}", path.display());
            seen += usize::from(text.contains("[secret]"));
        }
    }
    assert!(seen > 0, "nothing was hidden: {:?} {}", outcome.lines, outcome.stderr);
}
