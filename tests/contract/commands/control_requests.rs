//! The list of control requests in docs/stream-json.md and the requests that the agent answers are the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where requests are answered: in every file, by an arm of a `match` for each subtype.
const ANSWERS: &str = "crates/agent/src/control";

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The code that answers requests.
fn answers() -> Vec<String> {
    let files = in_repository(ANSWERS).read_dir().expect("a folder").flatten().map(|entry| entry.path());
    files.map(|file| std::fs::read_to_string(file).expect("a file")).collect()
}

/// The texts that stand alone as patterns of arms.
fn arms(code: &str) -> BTreeSet<String> {
    let patterns = code.lines().filter_map(|line| line.trim_start().split_once(" =>")).map(|(pattern, _)| pattern);
    let texts = patterns.flat_map(|pattern| pattern.split(" | "));
    texts.filter_map(|text| text.strip_prefix('"')?.strip_suffix('"')).map(str::to_owned).collect()
}

fn documented(text: &str) -> BTreeSet<String> {
    let list = text.split_once("To us: `").and_then(|(_, after)| after.split_once('`')).expect("the list").0;
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

#[test]
fn the_documented_control_requests_are_those_that_are_answered() {
    let answered: BTreeSet<String> = answers().iter().flat_map(|code| arms(code)).collect();
    let documented = documented(&std::fs::read_to_string(in_repository("docs/stream-json.md")).expect("a file"));
    assert!(answered.contains("initialize") && answered.contains("mcp_toggle"), "the code was read: {answered:?}");
    let missing: Vec<&String> = answered.difference(&documented).collect();
    assert!(missing.is_empty(), "docs/stream-json.md lacks {missing:?}");
    let more: Vec<&String> = documented.difference(&answered).collect();
    assert!(more.is_empty(), "docs/stream-json.md lists {more:?}, which nothing answers");
}

#[test]
fn arms_and_lists_are_read_as_they_are_written() {
    let code = "match subtype {\n    \"a_b\" => one(),\n    \"c\" | \"d\" => {\n    other => Err(\"e\"),\n";
    assert_eq!(arms(code), ["a_b", "c", "d"].map(str::to_owned).into());
    assert_eq!(documented("To us: `x, y,\nz`. From us: `q`"), ["x", "y", "z"].map(str::to_owned).into());
}
