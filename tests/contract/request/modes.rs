//! `--permission-mode auto` where no service judges calls: the folder is worked on, the rest is denied with the reason.

use super::with;
use crate::common::{call, say, tool_results, world};
use serde_json::json;

#[test]
fn auto_reads_and_edits_in_the_folder_and_denies_the_rest() {
    let world = world(json!([
        call("Write", &json!({"file_path": "$WD/n.txt", "content": "new\n"})),
        call("Read", &json!({"file_path": "$WD/n.txt"})),
        call("Edit", &json!({"file_path": "$WD/n.txt", "old_string": "new", "new_string": "old"})),
        call("Bash", &json!({"command": "touch made.txt"})),
        call("Bash", &json!({"command": "ls"})),
        call("Bash", &json!({"command": "curl http://127.0.0.1:9/x"})),
        call("Bash", &json!({"command": "touch $HOME/outside.txt"})),
        call("Write", &json!({"file_path": "$HOME/outside.txt", "content": "x"})),
        call("Write", &json!({"file_path": "$WD/.git/hooks/pre-commit", "content": "x"})),
        call("Read", &json!({"file_path": "/etc/passwd"})),
        call("WebFetch", &json!({"url": "http://127.0.0.1:9/", "prompt": "x"})),
        say("done"),
    ]));
    let seen = with(&world, &[], &["--permission-mode", "auto"]);
    assert_eq!(seen.outcome.code, Some(0), "{}", seen.told());
    assert_eq!(world.read("n.txt").as_deref(), Some("old\n"), "{}", seen.told());
    assert!(world.read("made.txt").is_some());
    assert!(!world.home().join("outside.txt").exists());
    assert_eq!(world.read(".git/hooks/pre-commit"), None);
    let denials = seen.result()["permission_denials"].as_array().cloned().unwrap_or_default();
    assert_eq!(denials.len(), 6, "{denials:#?}");
    for told in &tool_results(&seen.outcome)[5..] {
        assert!(told.contains("auto mode"), "the reason is told: {told}");
    }
}

#[test]
fn auto_obeys_rules() {
    let world = world(json!([
        call("Write", &json!({"file_path": "$WD/n.txt", "content": "new\n"})),
        call("Bash", &json!({"command": "printenv HOME"})),
        say("done"),
    ]));
    let more = ["--permission-mode", "auto", "--disallowedTools", "Write(n.txt)", "--allowedTools", "Bash(printenv:*)"];
    let seen = with(&world, &[], &more);
    assert_eq!(world.read("n.txt"), None, "{}", seen.told());
    assert!(tool_results(&seen.outcome)[1].contains("home"), "{}", seen.told());
}
