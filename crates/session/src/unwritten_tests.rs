use super::*;
use crate::{Stamp, UserExtra, load};
use serde_json::json;

fn block(text: &str) -> Value {
    json!({"id": "m1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]})
}

fn said(path: &Path) -> String {
    load(path).unwrap().messages.last().unwrap()["content"].to_string()
}

#[test]
fn blocks_of_an_unfinished_answer_survive_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut transcript = Transcript::create(&path, Stamp::default());
    transcript.user("u1", &json!({"role": "user", "content": "go"}), UserExtra::default());
    let blocks = [("a1", block("one")), ("a2", block("two"))];
    transcript.keep_unwritten(blocks.iter().map(|(id, message)| (*id, message, None)));
    drop(transcript);
    assert!(!said(&path).contains("one"), "the transcript itself has only whole messages");
    recover(&path);
    assert!(said(&path).contains("one") && said(&path).contains("two"));
    assert!(!beside(&path).exists());
    recover(&path);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap().matches("\"a1\"").count(),
        2,
        "once as itself, once as a parent"
    );
}

#[test]
fn a_message_that_was_written_is_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut transcript = Transcript::create(&path, Stamp::default());
    transcript.user("u1", &json!({"role": "user", "content": "go"}), UserExtra::default());
    let one = block("one");
    transcript.keep_unwritten([("a1", &one, None)].into_iter());
    let left = std::fs::read(beside(&path)).unwrap();
    transcript.assistant("a1", &one, None);
    assert!(!beside(&path).exists(), "the message has ended");
    // A crash between the last line and the removal.
    std::fs::write(beside(&path), left).unwrap();
    let before = std::fs::read(&path).unwrap();
    recover(&path);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_entry_is_left_out_and_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    recover(&path);
    let mut transcript = Transcript::create(&path, Stamp::default());
    transcript.user("u1", &json!({"role": "user", "content": "go"}), UserExtra::default());
    std::fs::write(beside(&path), "{\"uuid\": \"a1\", \"type\": \"assis").unwrap();
    let before = std::fs::read(&path).unwrap();
    recover(&path);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let mut disabled = Transcript::disabled();
    disabled.keep_unwritten([("a1", &block("x"), None)].into_iter());
}
