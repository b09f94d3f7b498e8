//! A session that was cut anywhere: what is on disk loads into a conversation that the API accepts.

use crate::request;
use serde_json::Value;
use session::{Stamp, Transcript, UserExtra};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use turn::{Config, Entry, Input, Limits, Now, Role, Settings, Turn, step};

/// A folder for the transcripts of one thread.
pub struct Scratch {
    folder: TempDir,
    number: u64,
}

impl Scratch {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, number: 0 })
    }

    fn path(&mut self) -> PathBuf {
        self.number += 1;
        self.folder.path().join(format!("{}.jsonl", self.number))
    }

    /// Writes the entries, cuts the file (`cut` of a thousand parts stay), and loads it. `results` are those that the
    /// conversation in memory holds: a whole file has them too.
    pub fn check(&mut self, entries: &[Entry], cut: usize, messages: &[Value]) -> Result<(), String> {
        let path = self.path();
        write(&path, entries);
        let Ok(bytes) = fs::read(&path) else { return Ok(()) };
        if cut < 1000 {
            let kept = bytes.len() * cut / 1000;
            fs::write(&path, &bytes[..kept]).map_err(|error| error.to_string())?;
        }
        let loaded = session::load(&path);
        drop(fs::remove_file(&path));
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(session::SessionError::Empty { .. }) if cut < 1000 || !has_messages(entries) => return Ok(()),
            Err(error) => return Err(format!("the transcript does not load: {error}")),
        };
        if cut == 1000 {
            same_results(messages, &loaded.messages)?;
        }
        goes_on(loaded)
    }
}

fn has_messages(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| !matches!(entry, Entry::Meta(_)))
}

fn write(path: &std::path::Path, entries: &[Entry]) {
    let mut transcript = Transcript::create(path, Stamp { session_id: "s".into(), ..Stamp::default() });
    for entry in entries {
        match entry {
            Entry::User { id, message, is_meta, is_compact_summary, tool_use_result, source_assistant, fields } => {
                let extra = UserExtra {
                    tool_use_result: tool_use_result.as_ref(),
                    source_assistant: source_assistant.as_deref(),
                    is_meta: *is_meta,
                    is_compact_summary: *is_compact_summary,
                    fields: fields.as_ref(),
                    ..UserExtra::default()
                };
                transcript.user(id, message, extra);
            }
            Entry::Assistant { id, message, request_id, .. } => {
                transcript.assistant(id, message, request_id.as_deref());
            }
            Entry::System { id, subtype, fields, new_root } => transcript.system(id, subtype, fields, *new_root),
            Entry::Attachment { id, attachment, message } => transcript.attachment(id, attachment, Some(message)),
            Entry::Meta(value) => transcript.meta(value),
        }
    }
}

/// Results by call.
fn results(messages: &[Value]) -> HashMap<&str, &Value> {
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| (block["tool_use_id"].as_str().unwrap_or_default(), &block["content"])).collect()
}

fn same_results(messages: &[Value], loaded: &[Value]) -> Result<(), String> {
    let loaded = results(loaded);
    for (id, content) in results(messages) {
        if loaded.get(id) != Some(&content) {
            return Err(format!("the transcript has {:?} as the result of {id} instead of {content}", loaded.get(id)));
        }
    }
    Ok(())
}

/// A machine that starts from there asks a question that the API accepts.
fn goes_on(loaded: session::Loaded) -> Result<(), String> {
    if loaded.deferred.is_none()
        && let Some(problem) = request::problem(&loaded.messages, true)
    {
        return Err(format!("the loaded transcript: {problem}"));
    }
    let config = Config {
        role: Role::Main,
        settings: Settings::default(),
        limits: Limits::default(),
        messages: loaded.messages,
        preamble: None,
        deferred: None,
        seed: (1, 2),
    };
    let mut turn = Turn::new(config);
    let effects = step(&mut turn, Input::Notice { text: "go on".into() }, Now::default());
    if effects.is_empty() && turn.has_next() { Ok(()) } else { Err("a loaded session does not go on".into()) }
}
