//! What must hold for any bytes at all. Used by the libFuzzer targets and, for a few seconds each, by the ordinary
//! tests (`tests/fuzz`).

#[path = "../../tests/faults/api.rs"]
mod api;
mod config_files;
mod event_stream;
mod path_resolver;
mod recording;
mod shell;
mod stdin;
mod transcript;

use std::path::PathBuf;

/// Holds whatever bytes against what must be true, and panics where it is not.
type Body = fn(&[u8]);

/// Name of the target and of its corpus, and its body.
pub const ALL: [(&str, Body); 10] = [
    ("stdin_line", stdin::line),
    ("sse", sse),
    ("shell", shell::command),
    ("rules", shell::rules),
    ("path_resolver", path_resolver::resolve),
    ("transcript", transcript::load),
    ("config_files", config_files::load),
    ("recording", recording::load),
    ("event_stream", event_stream::frames),
    ("event_stream_checksums", event_stream::checksums),
];

/// Holds `bytes` against the body of that name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, body) = ALL.iter().find(|(known, _)| *known == name).expect("a target of that name");
    body(bytes);
}

/// A stream in pieces of any size is the same stream, and every event that is passed on is one line of JSON.
fn sse(bytes: &[u8]) {
    let whole = model::read_recorded(bytes, usize::MAX);
    for piece in [1, 3, 16] {
        assert_eq!(model::read_recorded(bytes, piece), whole, "in pieces of {piece}");
    }
    for partial in &whole.partials {
        // As JSON has it: half a surrogate pair is the sender's own, and passed on like everything else.
        assert!(serde_json::from_slice::<&serde_json::value::RawValue>(partial).is_ok(), "{partial:?}");
        assert!(!partial.contains(&b'\n'), "{partial:?}");
    }
}

/// A folder for the files of a body, the same one for every input of a thread.
fn scratch() -> PathBuf {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a folder for what is tried");
    }
    FOLDER.with(|folder| folder.path().canonicalize().expect("a folder that is there"))
}
