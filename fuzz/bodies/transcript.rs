//! A transcript of any content: read or refused, and what is read can be sent.

use serde_json::Value;

pub fn load(bytes: &[u8]) {
    let file = super::scratch().join("session.jsonl");
    std::fs::write(&file, bytes).expect("a file");
    let Ok(loaded) = session::load(&file) else { return };
    if loaded.messages.is_empty() {
        return;
    }
    // A prompt follows it, so it may end with an answer.
    let broken = super::api::unacceptable(&Value::Array(loaded.messages), true);
    assert_eq!(broken, None, "from {:?}", String::from_utf8_lossy(bytes));
}
