//! The published SDK of sandbox-agent, unmodified, against this server.

use super::world::{Server, search_path};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Run, looping};

pub fn clients() -> Option<PathBuf> {
    let target = binary_folder().join("serve-clients");
    let found = target.join("stamp").is_file();
    if !found {
        eprintln!("SKIPPED: {} is not there; tests/serve/install makes it", target.display());
    }
    found.then_some(target)
}

/// `target/`, from `target/debug/ralph`.
fn binary_folder() -> PathBuf {
    super::world::binary().parent().and_then(|folder| folder.parent()).expect("a target folder").to_owned()
}

/// Runs a script with node; its last line as JSON.
pub fn node(script: &str, args: &[&str]) -> Option<Value> {
    let clients = clients()?;
    let node = search_path().split(':').map(|folder| PathBuf::from(folder).join("node")).find(|node| node.is_file());
    let Some(node) = node else {
        eprintln!("SKIPPED: there is no node on PATH");
        return None;
    };
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/serve/js").join(script);
    let home = tempfile::tempdir().expect("a folder");
    let outcome = Run::new(&node, home.path())
        .env("PATH", &search_path())
        .env("HOME", &home.path().display().to_string())
        .env("TMPDIR", &home.path().display().to_string())
        .args([file.display().to_string(), clients.display().to_string()].iter().map(String::as_str))
        .args(args.iter().copied())
        .deadline(std::time::Duration::from_mins(3))
        .close()
        .finish()
        .expect("a run");
    let last = outcome.lines.last().cloned().unwrap_or_default();
    let value = serde_json::from_str(&last);
    Some(value.unwrap_or_else(|_| panic!("{script} gave no verdict: {:#?}\n{}", outcome.lines, outcome.stderr)))
}

#[test]
fn the_published_sdk_works_unmodified() {
    let turn = json!([{"content": [{"type": "text", "text": "Hello from the mock."}]}]);
    let server = Server::in_world(looping::with_model(turn), &["--allow-exec"]);
    let wd = server.world.wd().display().to_string();
    let address = format!("http://{}", server.host);
    let Some(seen) = node("sdk.mjs", &[&address, &server.full, &wd, "claude"]) else { return };
    assert_eq!((seen["health"].as_str(), seen["file"].as_str()), (Some("ok"), Some("from the SDK")), "{seen}");
    assert_eq!((&seen["ran"], &seen["outside"]), (&json!([0, "hi\n"]), &json!(403)), "{seen}");
    assert!(seen["agents"].as_array().is_some_and(|agents| agents.contains(&json!("claude"))), "{seen}");
    assert_eq!(seen["stop"], "end_turn", "{seen}");
    assert!(seen["updates"].as_u64().is_some_and(|count| count > 0), "{seen}");
}
