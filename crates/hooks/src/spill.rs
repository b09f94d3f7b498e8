//! Texts too long for a conversation: the whole goes to a file, the conversation gets its beginning.

use crate::hook_answer::HookAnswer;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Characters a hook may put into a conversation; the contract's number.
const LONGEST_TEXT: usize = 10_000;

/// Characters that stay: enough to see what it is.
const PREVIEW: usize = 2_000;

/// Shortens what a handler said. `hook_id` names the files, so it must be new for each run.
pub(crate) fn shorten(verdict: &mut HookAnswer, dir: &Path, hook_id: &str) {
    for (index, text) in verdict.texts_mut().enumerate() {
        let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT).and_then(|_| text.char_indices().nth(PREVIEW))
        else {
            continue;
        };
        let note = match write(dir, &format!("hook-{hook_id}-{index}.txt"), text) {
            Ok(path) => format!("the whole text, {} bytes, is in {}", text.len(), path.display()),
            Err(error) => format!("the rest of {} bytes is lost: {}: {error}", text.len(), dir.display()),
        };
        *text = format!("{}…\n[A hook said more than fits here; {note}]", &text[..end]);
    }
}

fn write(dir: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let path = dir.join(name);
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}
