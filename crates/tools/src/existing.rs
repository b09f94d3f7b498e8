//! A file about to be changed: its content, its state, and whether the model knows it well enough.

use crate::context::Files;
use crate::read_log::Seen;
use crate::stamp::Stamp;
use crate::text::{self, Text};
use crate::workspace::Target;
use crate::{ToolOutcome, file_error};
use std::io::ErrorKind;

/// Changing a file means holding it twice in memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Longer originals are left out of structured results: no line of the wire may be longer than this.
const MAX_SHOWN_ORIGINAL: usize = 1024 * 1024;

pub(crate) struct Existing {
    pub(crate) text: Text,
    pub(crate) stamp: Stamp,
    pub(crate) seen: Option<Seen>,
}

impl Existing {
    /// `None` if there is no such file yet.
    pub(crate) fn load(files: &Files, target: &Target) -> Result<Option<Self>, ToolOutcome> {
        let file = match files.workspace.open_read(target) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ToolOutcome::error(file_error::opening(target, &error, &files.workspace))),
        };
        let failed = |error| ToolOutcome::error(file_error::reading(target, &error));
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(ToolOutcome::misuse(file_error::is_folder(target)));
        }
        let Some(bytes) = text::load(&file, MAX_BYTES).map_err(failed)? else {
            return Err(ToolOutcome::error(format!(
                "{} is larger than {} MB, the most this tool changes. Use a program such as sed in Bash.",
                target.shown(),
                MAX_BYTES >> 20
            )));
        };
        let seen = files.reads.seen(&target.real);
        Ok(Some(Self { text: Text::decode(bytes), stamp: Stamp::of(&meta), seen }))
    }

    /// Somebody else wrote it after the model saw it.
    pub(crate) fn changed_since_read(&self) -> bool {
        self.seen.is_some_and(|seen| !seen.stamp.same_state(&self.stamp))
    }

    /// The model was shown some of it, but not all.
    pub(crate) fn partly_read(&self) -> bool {
        self.seen.is_some_and(|seen| !seen.whole)
    }

    pub(crate) fn shown(&self) -> String {
        Text::shown(&self.text.body)
    }
}

/// The original for a structured result, unless it would not fit.
pub(crate) fn shown_original(original: &str) -> Option<&str> {
    (original.len() <= MAX_SHOWN_ORIGINAL).then_some(original)
}

pub(crate) fn must_read(target: &Target, partly: bool) -> ToolOutcome {
    let state = if partly { "only part of it has been read" } else { "it has not been read in this conversation" };
    ToolOutcome::misuse(format!("{} was not changed: {state}. Read the whole file first.", target.shown()))
}

pub(crate) fn modified_since_read(target: &Target) -> ToolOutcome {
    ToolOutcome::misuse(format!(
        "{} was modified since read, by the user or a program. Read it again before changing it.",
        target.shown()
    ))
}
