//! The effect of writing transcripts: opening, forking and going on with them, for the session and for its agents.

use crate::output::Output;
use crate::secrets::Secrets;
use crate::stderr::warn;
use options::{Options, SessionPlan};
use serde_json::{Value, json};
use session::{Mirror, SessionError, Stamp, Store, Transcript};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use turn::{DeferredCall, Subagent};

/// Titles are shown in lists.
const TITLE_CHARS: usize = 200;

pub struct Transcripts {
    options: Rc<Options>,
    output: Rc<Output>,
    secrets: Secrets,
    /// Lines about the session that are written with the next turn's.
    notes: RefCell<Vec<Value>>,
}

/// What was said before, for a resumed session.
#[derive(Default)]
pub struct Earlier {
    pub messages: Vec<Value>,
    pub leaf: Option<String>,
    pub deferred: Option<DeferredCall>,
    /// What the session has cost, as the transcript says.
    pub cost_state: Option<Value>,
    /// The jobs by the clock that it had.
    pub jobs: Option<Value>,
}

/// Why a session cannot be resumed, as the user is told it.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error("Error: the session {} cannot be resumed: {source}", path.display())]
    Unreadable { path: PathBuf, source: SessionError },
    #[error(
        "Resume rejected by --resume-drops-turn: it would also drop the turn of the prompt {other}, not only that of {turn}."
    )]
    DropsAnotherTurn { other: String, turn: String },
}

/// Where the transcripts of this project's sessions are.
pub fn session_store(options: &Options) -> Store {
    Store::new(&options.places.config_dir, &options.cwd, options.session.project_dir_name.as_deref())
}

/// Reads the session to go on with; nothing where a new one begins.
pub fn earlier(options: &Options) -> Result<Earlier, ResumeError> {
    let session = &options.session;
    let (SessionPlan::Resume { from } | SessionPlan::Fork { from }) = &session.plan else {
        return Ok(Earlier::default());
    };
    session::recover(from);
    let loaded = match &session.until {
        Some(entry) => session::load_until(from, entry),
        None => session::load(from),
    };
    let loaded = loaded.map_err(|source| ResumeError::Unreadable { path: from.clone(), source })?;
    if let Some(turn) = &session.drops_turn
        && let Some(other) = loaded.dropped_turns.iter().find(|dropped| *dropped != turn)
    {
        return Err(ResumeError::DropsAnotherTurn { other: other.clone(), turn: turn.clone() });
    }
    let deferred = loaded.deferred.as_ref().map(|entry| {
        let (call, text) = (&entry["deferredToolUse"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
        DeferredCall {
            id: text(&call["id"]),
            name: text(&call["name"]),
            input: call["input"].clone(),
            entry: text(&entry["sourceToolAssistantUUID"]),
        }
    });
    let (cost_state, jobs) = (loaded.cost_state, loaded.jobs);
    Ok(Earlier { messages: loaded.messages, leaf: loaded.leaf, deferred, cost_state, jobs })
}

impl Transcripts {
    pub fn new(options: Rc<Options>, output: Rc<Output>, secrets: Secrets) -> Self {
        Self { options, output, secrets, notes: RefCell::default() }
    }

    /// Who else sees the transcript.
    fn mirror(&self) -> Option<Mirror> {
        if self.options.session.mirror { self.output.mirror() } else { None }
    }

    fn stamp(&self, session_id: &str) -> Stamp {
        let options = &self.options;
        Stamp {
            session_id: session_id.to_owned(),
            cwd: options.cwd.display().to_string(),
            version: options.version.to_owned(),
            git_branch: options.session.git_branch.clone(),
            entrypoint: options.session.entrypoint.clone(),
            agent_id: None,
            sidechain: false,
        }
    }

    /// The session's own, as the options want it.
    pub fn open(&self, leaf: Option<String>) -> Transcript {
        let session = &self.options.session;
        if !session.persist {
            return Transcript::disabled().hiding(self.secrets.list());
        }
        let path = session_store(&self.options).path(&session.id);
        let stamp = self.stamp(&session.id);
        let mirror = self.mirror();
        let mut transcript = match &session.plan {
            SessionPlan::New => Transcript::create(&path, stamp),
            SessionPlan::Resume { from } => Transcript::open_append(from, stamp, leaf),
            SessionPlan::Fork { from } => {
                match session::copy_for_fork(from, &path, &session.id, session.until.as_deref()) {
                    Ok(()) => {
                        show_all(&path, mirror.as_ref());
                        Transcript::open_append(&path, stamp, leaf)
                    }
                    Err(error) => {
                        warn(&format!(
                            "warning: the fork of the session cannot be written ({error}); going on without a transcript"
                        ));
                        Transcript::disabled()
                    }
                }
            }
        }
        .mirrored(mirror);
        if let Some(title) = &session.title {
            transcript.meta(&json!({"type": "custom-title", "customTitle": title, "sessionId": session.id}));
        }
        transcript.hiding(self.secrets.list())
    }

    /// A new one, after `/clear`.
    pub fn begin(&self, session_id: &str) -> Transcript {
        if !self.options.session.persist {
            return Transcript::disabled();
        }
        let transcript = Transcript::create(&session_store(&self.options).path(session_id), self.stamp(session_id));
        transcript.hiding(self.secrets.list()).mirrored(self.mirror())
    }

    /// A sub-agent's, and where it is; that is empty where none is written.
    pub fn of_agent(&self, agent: &Subagent) -> (Transcript, String) {
        if !self.options.session.persist {
            return (Transcript::disabled(), String::new());
        }
        let session_id = self.output.session_id();
        let meta = json!({
            "agentType": agent.agent_type,
            "toolUseId": agent.tool_use_id,
            "description": agent.description,
        });
        let stamp = Stamp { agent_id: Some(agent.agent_id.clone()), sidechain: true, ..self.stamp(&session_id) };
        let path = session_store(&self.options).agent_path(&session_id, &agent.agent_id);
        let file = path.display().to_string();
        let mirror = self.mirror();
        match session::write_agent_meta(&path, &meta) {
            Ok(()) => mirror.iter().for_each(|show| show(&path, metadata(&meta).as_bytes())),
            Err(error) => warn(&format!("warning: {error}")),
        }
        (Transcript::create(&path, stamp).hiding(self.secrets.list()).mirrored(mirror), file)
    }

    /// A title for the session; it is written with the next turn. What was made of it.
    pub fn name_session(&self, title: &str) -> Option<String> {
        let title: String = title.trim().chars().filter(|c| !c.is_control()).take(TITLE_CHARS).collect();
        if title.is_empty() {
            return None;
        }
        let line = json!({"type": "custom-title", "customTitle": title, "sessionId": self.output.session_id()});
        self.notes.borrow_mut().push(line);
        Some(title)
    }

    /// Writes what was said about the session since the last turn.
    pub fn write_notes(&self, transcript: &RefCell<Transcript>) {
        for note in self.notes.take() {
            transcript.borrow_mut().meta(&note);
        }
    }
}

/// A fork's file is there before its first entry of its own.
fn show_all(path: &Path, mirror: Option<&Mirror>) {
    let Some(mirror) = mirror else { return };
    for line in std::fs::read(path).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        mirror(path, line);
    }
}

/// The sidecar as an entry of the agent's own stream.
fn metadata(meta: &Value) -> String {
    let mut entry = json!({"type": "agent_metadata"});
    for (key, value) in meta.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    entry.to_string()
}
