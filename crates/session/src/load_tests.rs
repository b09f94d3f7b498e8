use super::*;
use crate::{Stamp, Transcript, UserExtra, copy_for_fork};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

const OLD: &str = "11111111-2222-4333-8444-555555555555";
const NEW: &str = "22222222-2222-4333-8444-555555555555";

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("t.jsonl")
    }

    fn with(text: &str) -> Self {
        let folder = Self::new();
        std::fs::write(folder.path(), text).unwrap();
        folder
    }

    fn load(&self) -> Loaded {
        load(&self.path()).unwrap()
    }
}

fn stamp() -> Stamp {
    Stamp { session_id: OLD.into(), ..Stamp::default() }
}

fn prompt(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn said(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]})
}

fn call(id: &str, tool: &str) -> Value {
    json!({"id": id, "role": "assistant", "model": "m",
        "content": [{"type": "tool_use", "id": tool, "name": "X", "input": {}}]})
}

fn result(tool: &str, text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "content": text}]})
}

fn from(source: &str) -> UserExtra<'_> {
    UserExtra { source_assistant: Some(source), ..UserExtra::default() }
}

/// Two turns; the first with two parallel calls.
fn conversation() -> Folder {
    let folder = Folder::new();
    let mut transcript = Transcript::create(&folder.path(), stamp());
    transcript.user("u1", &prompt("go"), UserExtra::default());
    transcript.assistant("a1", &call("m1", "t1"), None);
    transcript.assistant("a2", &call("m1", "t2"), None);
    transcript.user("r1", &result("t1", "one"), from("a1"));
    transcript.user("r2", &result("t2", "two"), from("a2"));
    transcript.assistant("a3", &said("m2", "done"), None);
    transcript.user("u2", &prompt("more"), UserExtra::default());
    transcript.assistant("a4", &said("m3", "fine"), None);
    transcript.meta(&json!({"type": "custom-title", "customTitle": "work"}));
    folder
}

fn outline(loaded: &Loaded) -> String {
    let mut lines = String::new();
    for message in &loaded.messages {
        let blocks: Vec<String> = match &message["content"] {
            Value::Array(blocks) => blocks
                .iter()
                .map(|block| match block["type"].as_str().unwrap() {
                    "tool_use" => format!("call {}", block["id"].as_str().unwrap()),
                    "tool_result" if block["is_error"] == true => {
                        format!("lost {}", block["tool_use_id"].as_str().unwrap())
                    }
                    "tool_result" => format!("result {}", block["content"].as_str().unwrap()),
                    _ => block["text"].as_str().unwrap().to_owned(),
                })
                .collect(),
            text => vec![text.as_str().unwrap().to_owned()],
        };
        let role = if message["role"] == "user" { ">" } else { "<" };
        writeln!(lines, "{role} {}", blocks.join(", ")).unwrap();
    }
    lines
}

#[test]
fn what_was_written_is_read_back() {
    let loaded = conversation().load();
    assert_eq!(outline(&loaded), "> go\n< call t1, call t2\n> result one, result two\n< done\n> more\n< fine\n");
    assert_eq!((loaded.leaf.as_deref(), loaded.last_prompt.as_deref()), (Some("a4"), Some("more")));
    assert_eq!((loaded.model.as_deref(), loaded.title.as_deref()), (Some("m"), Some("work")));
    assert_eq!((loaded.lines, loaded.skipped_lines), (9, 0));
}

#[test]
fn a_run_that_was_killed_resumes_from_its_last_whole_line() {
    let whole = std::fs::read(conversation().path()).unwrap();
    for end in (1..whole.len()).step_by(3) {
        let folder = Folder::new();
        std::fs::write(folder.path(), &whole[..end]).unwrap();
        let Ok(before) = load(&folder.path()) else {
            assert!(end < whole.iter().position(|byte| *byte == b'\n').unwrap(), "cut at {end}");
            continue;
        };
        Transcript::open_append(&folder.path(), stamp(), before.leaf).user(
            "u9",
            &prompt("again"),
            UserExtra::default(),
        );
        let after = folder.load();
        assert_eq!(after.leaf.as_deref(), Some("u9"), "cut at {end}");
        assert!(outline(&after).trim_end().ends_with("again"), "cut at {end}: {}", outline(&after));
        assert!(outline(&after).starts_with("> go"), "cut at {end}: {}", outline(&after));
    }
}

#[test]
fn a_call_that_was_never_answered_is_answered_for_the_model() {
    let folder = Folder::new();
    let mut transcript = Transcript::create(&folder.path(), stamp());
    transcript.user("u1", &prompt("go"), UserExtra::default());
    transcript.assistant("a1", &call("m1", "t1"), None);
    transcript.assistant("a2", &call("m1", "t2"), None);
    transcript.user("r1", &result("t1", "one"), from("a1"));
    drop(transcript);
    let loaded = folder.load();
    assert_eq!(outline(&loaded), "> go\n< call t1, call t2\n> result one, lost t2\n");
    Transcript::open_append(&folder.path(), stamp(), loaded.leaf).user("u2", &prompt("on"), UserExtra::default());
    assert_eq!(outline(&folder.load()), "> go\n< call t1, call t2\n> result one, lost t2, on\n");
}

#[test]
fn after_a_compaction_only_what_follows_is_sent() {
    let folder = conversation();
    let mut transcript = Transcript::open_append(&folder.path(), stamp(), Some("a4".into()));
    transcript.system("s1", "compact_boundary", &json!({}), true);
    transcript.user("u3", &prompt("a summary"), UserExtra { is_compact_summary: true, ..UserExtra::default() });
    transcript.user("u4", &prompt("a reminder"), UserExtra { is_meta: true, ..UserExtra::default() });
    transcript.assistant("a5", &said("m4", "on we go"), None);
    assert_eq!(outline(&folder.load()), "> a summary, a reminder\n< on we go\n");
}

#[test]
fn a_run_that_was_killed_between_a_compaction_and_its_summary_keeps_its_conversation() {
    let folder = conversation();
    let before = outline(&folder.load());
    let mut transcript = Transcript::open_append(&folder.path(), stamp(), folder.load().leaf);
    transcript.system("s1", "compact_boundary", &json!({}), true);
    drop(transcript);
    assert_eq!(outline(&folder.load()), before);
    let mut transcript = Transcript::open_append(&folder.path(), stamp(), folder.load().leaf);
    transcript.user("u9", &prompt("on"), UserExtra::default());
    assert_eq!(outline(&folder.load()), format!("{before}> on\n"));
}

#[test]
fn a_conversation_can_be_resumed_at_an_earlier_entry() {
    let folder = conversation();
    for (uuid, expected, dropped) in [
        ("a3", "> go\n< call t1, call t2\n> result one, result two\n< done\n", vec!["u2"]),
        ("a1", "> go\n< call t1\n> lost t1\n", vec!["u1", "u2"]),
        ("r1", "> go\n< call t1, call t2\n> result one, lost t2\n", vec!["u1", "u2"]),
        ("u2", "> go\n< call t1, call t2\n> result one, result two\n< done\n> more\n", vec!["u2"]),
        ("a4", &outline(&folder.load()), vec![]),
    ] {
        let loaded = load_until(&folder.path(), uuid).unwrap();
        assert_eq!((&*outline(&loaded), loaded.leaf.as_deref()), (expected, Some(uuid)));
        assert_eq!(loaded.dropped_turns, dropped, "{uuid}");
    }
    assert!(matches!(load_until(&folder.path(), "nope"), Err(SessionError::NoSuchEntry { .. })));

    let mut transcript = Transcript::open_append(&folder.path(), stamp(), Some("a1".into()));
    transcript.user("u5", &prompt("instead"), UserExtra::default());
    assert_eq!(outline(&folder.load()), "> go\n< call t1\n> lost t1, instead\n", "what was given up stays away");
}

#[test]
fn foreign_lines_are_passed_over() {
    let own = std::fs::read_to_string(conversation().path()).unwrap();
    let mut mixed = String::from("\u{feff}not json\n\n[1,2]\n{\"type\":\"user\",\"uuid\":7}\n");
    for line in own.lines() {
        writeln!(mixed, "{line}\n{{\"type\":\"future\",\"x\":[]}}\n{{\"type\":\"tag\",\"tag\":\"t\"}}").unwrap();
    }
    mixed.push_str(
        "{\"type\":\"user\",\"uuid\":\"side\",\"isSidechain\":true,\"message\":{\"content\":\"x\"}}\n{\"torn",
    );
    let loaded = Folder::with(&mixed).load();
    assert_eq!(outline(&loaded), outline(&conversation().load()));
    assert_eq!(loaded.skipped_lines, 4);
}

#[test]
fn a_lost_parent_does_not_lose_what_came_before() {
    let own = std::fs::read_to_string(conversation().path()).unwrap();
    let damaged: String = own
        .lines()
        .map(|line| if line.contains("\"uuid\":\"a3\"") { "{oops\n".into() } else { format!("{line}\n") })
        .collect();
    assert_eq!(
        outline(&Folder::with(&damaged).load()),
        "> go\n< call t1, call t2\n> result one, result two, more\n< fine\n"
    );
}

#[test]
fn equal_ids_of_two_processes_are_not_one_message() {
    let folder = Folder::new();
    let mut transcript = Transcript::create(&folder.path(), stamp());
    transcript.user("u1", &prompt("one"), UserExtra::default());
    transcript.assistant("a1", &call("m1", "t1"), None);
    transcript.user("r1", &result("t1", "first"), from("a1"));
    let mut transcript = Transcript::open_append(&folder.path(), stamp(), Some("r1".into()));
    transcript.user("u2", &prompt("two"), UserExtra::default());
    transcript.assistant("a2", &call("m1", "t1"), None);
    transcript.user("r2", &result("t1", "second"), from("a2"));
    assert_eq!(outline(&folder.load()), "> one\n< call t1\n> result first, two\n< call t1\n> result second\n");
}

#[test]
fn a_loop_of_parents_ends() {
    let line = |uuid: &str, parent: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"{uuid}\"}}}}\n"
        )
    };
    let loaded = Folder::with(&(line("a", "b") + &line("b", "a"))).load();
    assert_eq!(outline(&loaded), "> a, b\n");
}

#[test]
fn nothing_to_read_is_an_error_that_says_so() {
    let folder = Folder::with("{\"type\":\"tag\",\"tag\":\"x\"}\n");
    assert!(matches!(load(&folder.path()), Err(SessionError::Empty { .. })));
    assert!(matches!(load(Path::new("/nonexistent/x.jsonl")), Err(SessionError::Read { .. })));
    assert!(matches!(load(folder.dir.path()), Err(SessionError::Read { .. })), "a folder");
}

#[test]
fn a_fork_is_a_copy_with_its_own_id_and_leaves_the_source_alone() {
    let folder = conversation();
    let before = std::fs::read(folder.path()).unwrap();
    let fork = folder.dir.path().join("deep/fork.jsonl");
    copy_for_fork(&folder.path(), &fork, NEW, None).unwrap();
    assert_eq!(load(&fork).unwrap(), folder.load());
    let text = std::fs::read_to_string(&fork).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries.iter().all(|entry| entry["sessionId"] == NEW));
    assert_eq!(entries[0]["forkedFrom"], json!({"sessionId": OLD, "messageUuid": "u1"}));
    assert!(text.contains("{\"type\":\"custom-title\""));
    Transcript::open_append(&fork, stamp(), Some("a4".into())).user("u9", &prompt("x"), UserExtra::default());
    assert_eq!(std::fs::read(folder.path()).unwrap(), before);
}

#[test]
fn a_fork_may_end_early_and_never_leaves_half_a_file() {
    let folder = conversation();
    let fork = folder.dir.path().join("fork.jsonl");
    copy_for_fork(&folder.path(), &fork, NEW, Some("a3")).unwrap();
    assert_eq!(load(&fork).unwrap().leaf.as_deref(), Some("a3"));
    let refused = copy_for_fork(&folder.path(), &fork, NEW, None);
    assert!(matches!(refused, Err(SessionError::Write { .. })), "an existing file is kept");
    assert!(fork.exists());
    let other = folder.dir.path().join("other.jsonl");
    assert!(matches!(copy_for_fork(&folder.path(), &other, NEW, Some("nope")), Err(SessionError::NoSuchEntry { .. })));
    let empty = Folder::with("\n");
    assert!(matches!(copy_for_fork(&empty.path(), &other, NEW, None), Err(SessionError::Empty { .. })));
    assert!(!other.exists());
}
