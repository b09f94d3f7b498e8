//! Our files through the readers of others: the algorithm by which the official SDKs rebuild a
//! conversation, and the byte scans by which they list sessions.

use crate::{Stamp, Transcript, UserExtra};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

const ID: &str = "11111111-2222-4333-8444-555555555555";
const CHAIN_TYPES: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

fn flag(entry: &Value, key: &str) -> bool {
    entry.get(key).is_some_and(|value| *value != json!(false) && !value.is_null())
}

fn text<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

/// Terminals, nearest message, the latest of the main chain, back to the root, siblings put back.
fn get_session_messages(file: &str) -> Vec<String> {
    let entries: Vec<Value> = file
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|entry| CHAIN_TYPES.contains(&text(entry, "type").unwrap_or_default()) && text(entry, "uuid").is_some())
        .collect();
    let by_uuid: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(position, entry)| (text(entry, "uuid").unwrap(), position)).collect();
    let parents: HashSet<&str> = entries.iter().filter_map(|entry| text(entry, "parentUuid")).collect();
    let parent = |position: usize| text(&entries[position], "parentUuid").and_then(|uuid| by_uuid.get(uuid).copied());
    let is_message = |position: usize| matches!(text(&entries[position], "type"), Some("user" | "assistant"));

    let leaves: Vec<usize> = (0..entries.len())
        .filter(|position| !parents.contains(text(&entries[*position], "uuid").unwrap()))
        .filter_map(|terminal| std::iter::successors(Some(terminal), |at| parent(*at)).find(|at| is_message(*at)))
        .collect();
    let is_main = |at: &usize| !["isSidechain", "teamName", "isMeta"].iter().any(|key| flag(&entries[*at], key));
    let Some(leaf) = leaves.iter().copied().filter(is_main).max().or_else(|| leaves.iter().copied().max()) else {
        return Vec::new();
    };
    let mut chain: Vec<usize> = std::iter::successors(Some(leaf), |at| parent(*at)).collect();
    chain.reverse();

    let visible = |at: &usize| is_message(*at) && is_main(at);
    with_siblings(&entries, &chain)
        .into_iter()
        .filter(visible)
        .map(|at| text(&entries[at], "uuid").unwrap().into())
        .collect()
}

fn with_siblings(entries: &[Value], chain: &[usize]) -> Vec<usize> {
    let id = |at: usize| entries[at].pointer("/message/id").and_then(Value::as_str);
    let mut seen: HashSet<usize> = chain.iter().copied().collect();
    let mut out = Vec::new();
    for (step, at) in chain.iter().copied().enumerate() {
        out.push(at);
        let ends_message = id(at).is_some() && chain.get(step + 1).is_none_or(|next| id(*next) != id(at));
        if !ends_message {
            continue;
        }
        let blocks: Vec<usize> = (0..entries.len()).filter(|other| id(*other) == id(at)).collect();
        let uuids: HashSet<&str> = blocks.iter().filter_map(|block| text(&entries[*block], "uuid")).collect();
        let answers = |other: &usize| {
            let entry = &entries[*other];
            entry["message"]["content"].to_string().contains("\"tool_result\"")
                && ["parentUuid", "sourceToolAssistantUUID"]
                    .iter()
                    .any(|key| text(entry, key).is_some_and(|uuid| uuids.contains(uuid)))
        };
        let results: Vec<usize> = (0..entries.len()).filter(answers).collect();
        out.extend(blocks.into_iter().chain(results).filter(|other| seen.insert(*other)));
    }
    out
}

struct Written {
    dir: tempfile::TempDir,
}

impl Written {
    fn by(write: impl FnOnce(&mut Transcript)) -> Self {
        let written = Self { dir: tempfile::tempdir().unwrap() };
        let stamp =
            Stamp { session_id: ID.into(), cwd: "/w/my \"dir\"".into(), git_branch: "main".into(), ..Stamp::default() };
        write(&mut Transcript::create(&written.path(), stamp));
        written
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("t.jsonl")
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }
}

fn prompt(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn block(id: &str, block: &Value) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "content": [block]})
}

fn call(tool: &str) -> Value {
    json!({"type": "tool_use", "id": tool, "name": "X", "input": {"cwd": "/elsewhere", "tag": "v1"}})
}

fn result(tool: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "content": "x"}]})
}

fn parallel(transcript: &mut Transcript) {
    let from = |source| UserExtra { source_assistant: Some(source), ..UserExtra::default() };
    transcript.user("u1", &prompt("go"), UserExtra::default());
    transcript.assistant("a1", &block("m1", &json!({"type": "text", "text": "Both."})), None);
    transcript.assistant("a2", &block("m1", &call("t1")), None);
    transcript.assistant("a3", &block("m1", &call("t2")), None);
    transcript.user("r1", &result("t1"), from("a2"));
    transcript.user("r2", &result("t2"), from("a3"));
    transcript.assistant("a4", &block("m2", &json!({"type": "text", "text": "Done."})), None);
}

#[test]
fn parallel_tool_calls_are_rebuilt_in_full() {
    let written = Written::by(|transcript| {
        parallel(transcript);
        transcript.user("u2", &prompt("more"), UserExtra::default());
    });
    let mut seen = get_session_messages(&written.file());
    assert_eq!(seen.last().map(String::as_str), Some("u2"));
    assert_eq!(seen.first().map(String::as_str), Some("u1"));
    seen.sort();
    assert_eq!(seen, ["a1", "a2", "a3", "a4", "r1", "r2", "u1", "u2"]);
}

#[test]
fn a_turn_and_the_next_prompt_are_adjacent() {
    let written = Written::by(|transcript| {
        transcript.user("u1", &prompt("one"), UserExtra::default());
        transcript.assistant("a1", &block("m1", &json!({"type": "text", "text": "1"})), None);
        transcript.meta(&json!({"type": "last-prompt", "lastPrompt": "one"}));
        transcript.user("u2", &prompt("two"), UserExtra::default());
        transcript.assistant("a2", &block("m2", &json!({"type": "text", "text": "2"})), None);
    });
    assert_eq!(get_session_messages(&written.file()), ["u1", "a1", "u2", "a2"]);
}

#[test]
fn after_a_compaction_readers_see_the_summary_and_what_follows() {
    let written = Written::by(|transcript| {
        parallel(transcript);
        transcript.system("s", "compact_boundary", &json!({"compactMetadata": {"trigger": "auto"}}), true);
        transcript.user("u3", &prompt("so far"), UserExtra { is_compact_summary: true, ..UserExtra::default() });
        transcript.user("m", &prompt("hidden"), UserExtra { is_meta: true, ..UserExtra::default() });
        transcript.assistant("a5", &block("m3", &json!({"type": "text", "text": "on"})), None);
    });
    assert_eq!(get_session_messages(&written.file()), ["u3", "a5"]);
}

/// The first `"key":"value"` in the text, as readers find it.
fn first_field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let start = text.find(&format!("\"{key}\":\""))? + key.len() + 4;
    let mut escaped = false;
    let end = text[start..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some(&text[start..start + end])
}

#[test]
fn the_scans_of_session_lists_find_what_they_look_for() {
    let written = Written::by(|transcript| {
        parallel(transcript);
        transcript.meta(&json!({"tag": "mine", "sessionId": ID, "type": "tag"}));
    });
    let file = written.file();
    let first_line = file.lines().next().unwrap();
    assert!(!first_line.contains("\"isSidechain\":true"));
    assert!(first_field(first_line, "timestamp").is_some_and(|time| time.len() == 24 && time.ends_with('Z')));
    assert_eq!(first_field(&file, "cwd"), Some("/w/my \\\"dir\\\""));
    assert_eq!(first_field(&file, "gitBranch"), Some("main"));
    let is_prompt = |line: &&str| line.contains("\"type\":\"user\"") && !line.contains("\"tool_result\"");
    let prompt: Value = serde_json::from_str(file.lines().find(is_prompt).unwrap()).unwrap();
    assert_eq!((text(&prompt, "type"), &prompt["message"]["content"]), (Some("user"), &json!("go")));
    assert!(file.lines().any(|line| line.starts_with("{\"type\":\"tag\"")));
    assert!(file.contains("\"role\":\"assistant\""), "what Stop hooks grep for");
}

#[test]
fn a_hidden_prompt_is_marked_in_the_bytes_that_readers_look_for() {
    let written = Written::by(|transcript| {
        transcript.user("m", &prompt("reminder"), UserExtra { is_meta: true, ..UserExtra::default() });
        transcript.user("c", &prompt("summary"), UserExtra { is_compact_summary: true, ..UserExtra::default() });
    });
    assert!(written.file().contains("\"isMeta\":true") && written.file().contains("\"isCompactSummary\":true"));
}

#[test]
fn others_may_append_while_we_write_and_both_are_kept() {
    use std::io::Write as _;
    let written = Written::by(|transcript| transcript.user("u1", &prompt("one"), UserExtra::default()));
    let mut ours = Transcript::open_append(
        &written.path(),
        Stamp { session_id: ID.into(), ..Stamp::default() },
        Some("u1".into()),
    );
    ours.user("u2", &prompt("two"), UserExtra::default());
    let mut theirs = std::fs::OpenOptions::new().append(true).open(written.path()).unwrap();
    theirs.write_all(b"{\"type\":\"custom-title\",\"customTitle\":\"renamed\",\"sessionId\":\"x\"}\n").unwrap();
    ours.user("u3", &prompt("three"), UserExtra::default());
    assert_eq!(get_session_messages(&written.file()), ["u1", "u2", "u3"]);
    assert_eq!(crate::load(&written.path()).unwrap().title.as_deref(), Some("renamed"));
}
