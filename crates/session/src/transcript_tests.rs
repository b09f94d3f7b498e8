use super::*;
use serde_json::json;
use std::path::PathBuf;

fn stamp() -> Stamp {
    Stamp {
        session_id: "11111111-2222-4333-8444-555555555555".into(),
        cwd: "/w".into(),
        version: "1.0.0".into(),
        git_branch: "main".into(),
        ..Stamp::default()
    }
}

fn noon() -> jiff::Timestamp {
    jiff::Timestamp::UNIX_EPOCH
}

fn written(write: impl FnOnce(&mut Transcript)) -> (Vec<Value>, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    let mut transcript =
        Transcript::create(&path, stamp()).with_clock(noon).hiding(vec!["sk-ant-\"secret".into(), "x".into()]);
    write(&mut transcript);
    assert_eq!(transcript.take_warning(), None);
    let text = std::fs::read_to_string(&path).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), text)
}

fn block(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]})
}

fn parents(entries: &[Value]) -> Vec<(&str, Option<&str>)> {
    entries.iter().map(|entry| (entry["uuid"].as_str().unwrap(), entry["parentUuid"].as_str())).collect()
}

#[test]
fn an_entry_has_the_layout_that_readers_scan_for() {
    let (_, text) = written(|transcript| {
        transcript.user("u1", &json!({"role": "user", "content": "hi"}), UserExtra::default());
        transcript.assistant("a1", &block("msg_1", "Hello."), Some("req_1"));
    });
    assert_eq!(
        text,
        "{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\",\
         \"sessionId\":\"11111111-2222-4333-8444-555555555555\",\"version\":\"1.0.0\",\"gitBranch\":\"main\",\
         \"type\":\"user\",\"uuid\":\"u1\",\"timestamp\":\"1970-01-01T00:00:00.000Z\",\
         \"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n\
         {\"parentUuid\":\"u1\",\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\",\
         \"sessionId\":\"11111111-2222-4333-8444-555555555555\",\"version\":\"1.0.0\",\"gitBranch\":\"main\",\
         \"type\":\"assistant\",\"uuid\":\"a1\",\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"requestId\":\"req_1\",\
         \"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"m\",\
         \"content\":[{\"type\":\"text\",\"text\":\"Hello.\"}]}}\n"
    );
}

#[test]
fn parallel_results_follow_their_calls_and_the_next_message_the_last_result() {
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]});
    let from = |source| UserExtra { source_assistant: Some(source), ..UserExtra::default() };
    let (entries, _) = written(|transcript| {
        transcript.user("u1", &json!({"role": "user", "content": "go"}), UserExtra::default());
        transcript.assistant("a1", &block("msg_1", "one"), None);
        // The first call was answered while the second block still streamed.
        transcript.user("r1", &result, from("a1"));
        transcript.assistant("a2", &block("msg_1", "two"), None);
        transcript.user("r2", &result, from("a2"));
        transcript.assistant("a3", &block("msg_2", "done"), None);
        transcript.user("u2", &json!({"role": "user", "content": "more"}), UserExtra::default());
        assert_eq!(transcript.leaf(), Some("u2"));
    });
    assert_eq!(
        parents(&entries),
        [
            ("u1", None),
            ("a1", Some("u1")),
            ("r1", Some("a1")),
            ("a2", Some("a1")),
            ("r2", Some("a2")),
            ("a3", Some("r2")),
            ("u2", Some("a3")),
        ]
    );
    assert_eq!(entries[4]["sourceToolAssistantUUID"], "a2");
}

#[test]
fn a_compaction_starts_the_chain_anew() {
    let (entries, _) = written(|transcript| {
        transcript.user("u1", &json!({"role": "user", "content": "go"}), UserExtra::default());
        transcript.system("s1", "compact_boundary", &json!({"compactMetadata": {"trigger": "auto"}}), true);
        let summary = UserExtra { is_compact_summary: true, ..UserExtra::default() };
        transcript.user("u2", &json!({"role": "user", "content": "so far"}), summary);
        transcript.system("s2", "informational", &json!({"content": "note"}), false);
    });
    assert_eq!(parents(&entries), [("u1", None), ("s1", None), ("u2", Some("s1")), ("s2", Some("u2"))]);
    assert_eq!((&entries[1]["logicalParentUuid"], &entries[1]["subtype"]), (&json!("u1"), &json!("compact_boundary")));
    assert_eq!(entries[1]["compactMetadata"]["trigger"], "auto");
    assert_eq!((&entries[2]["isCompactSummary"], entries[2].get("isMeta")), (&json!(true), None));
}

#[test]
fn metadata_starts_with_its_type_and_has_no_place_in_the_chain() {
    let (_, text) = written(|transcript| {
        transcript.meta(&json!({"tag": "x", "type": "tag"}));
        transcript.meta(&json!({"no": "type"}));
        transcript.meta(&json!("nothing"));
        assert_eq!(transcript.leaf(), None);
    });
    assert_eq!(text, "{\"type\":\"tag\",\"tag\":\"x\",\"sessionId\":\"11111111-2222-4333-8444-555555555555\"}\n");
}

#[test]
fn adversary_36_secrets_never_reach_the_file() {
    let (entries, text) = written(|transcript| {
        transcript.user("u1", &json!({"role": "user", "content": "key=sk-ant-\"secret x"}), UserExtra::default());
    });
    assert!(!text.contains("sk-ant"), "{text}");
    assert_eq!(entries[0]["message"]["content"], "key=[redacted] x");
}

#[test]
fn a_subagent_says_so_on_every_entry() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let stamp = Stamp { agent_id: Some("abc".into()), sidechain: true, entrypoint: Some("sdk-py".into()), ..stamp() };
    Transcript::create(&path, stamp).user("u", &json!({"role": "user", "content": "go"}), UserExtra::default());
    let entry: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(
        (&entry["agentId"], &entry["isSidechain"], &entry["entrypoint"]),
        (&json!("abc"), &json!(true), &json!("sdk-py"))
    );
}

#[test]
fn without_a_file_the_chain_is_kept_and_nothing_is_said() {
    let mut transcript = Transcript::disabled();
    transcript.user("u1", &json!({}), UserExtra::default());
    assert_eq!((transcript.take_warning(), transcript.leaf()), (None, Some("u1")));
}

#[test]
fn a_file_that_cannot_be_written_costs_one_warning_and_keeps_the_chain_whole() {
    let mut transcript = Transcript::create(&PathBuf::from("/dev/null/x.jsonl"), stamp());
    let big = json!({"role": "user", "content": "x".repeat(3 * 1024 * 1024)});
    transcript.user("u1", &big, UserExtra::default());
    assert!(transcript.take_warning().is_some_and(|warning| warning.contains("/dev/null/x.jsonl")));
    transcript.user("u2", &big, UserExtra::default());
    assert_eq!(transcript.leaf(), Some("u1"), "what was dropped is nobody's parent");
    transcript.user("r", &json!({}), UserExtra { source_assistant: Some("u2"), ..UserExtra::default() });
    assert_eq!((transcript.take_warning(), transcript.leaf()), (None, Some("r")));
}

#[test]
fn a_mirror_sees_the_lines_of_the_file_and_nothing_of_a_conversation_that_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let seen: Rc<std::cell::RefCell<Vec<Vec<u8>>>> = Rc::default();
    let (sink, expected) = (Rc::clone(&seen), path.clone());
    let mirror: Mirror = Rc::new(move |path, line| {
        assert_eq!(path, expected);
        sink.borrow_mut().push(line.to_vec());
    });
    let mut transcript = Transcript::create(&path, Stamp::default()).hiding(vec!["hush-hush".into()]);
    transcript = transcript.mirrored(Some(Rc::clone(&mirror)));
    transcript.user("u1", &serde_json::json!({"role": "user", "content": "hush-hush"}), UserExtra::default());
    transcript.meta(&serde_json::json!({"type": "tag", "tag": "t"}));
    assert_eq!(seen.borrow().concat(), std::fs::read(&path).unwrap());
    assert_eq!(seen.borrow().len(), 2);
    let mut nowhere = Transcript::disabled().mirrored(Some(mirror));
    nowhere.user("u2", &serde_json::json!({"role": "user", "content": "x"}), UserExtra::default());
    assert_eq!(seen.borrow().len(), 2);
}
