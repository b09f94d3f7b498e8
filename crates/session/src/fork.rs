//! A copy of a conversation under a new id. The source is only read.

use crate::SessionError;
use crate::append::create_private;
use crate::lines::Lines;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// Copies `from` to the new file `to` as session `new_id`, up to and including the entry `until`.
///
/// Entries keep their uuids and say where they came from; lines that are not JSON objects stay behind.
pub fn copy_for_fork(from: &Path, to: &Path, new_id: &str, until: Option<&str>) -> Result<(), SessionError> {
    let unreadable = |source| SessionError::Read { path: from.into(), source };
    let unwritable = |source| SessionError::Write { path: to.into(), source };
    let mut lines = Lines::open(from).map_err(unreadable)?;
    let file = create_private(to).map_err(unwritable)?;
    let copied = copy(&mut lines, BufWriter::new(file), new_id, until);
    let failure = match copied {
        Ok(Copied { reached: false, .. }) if until.is_some() => {
            SessionError::NoSuchEntry { path: from.into(), uuid: until.unwrap_or_default().into() }
        }
        Ok(Copied { entries: 0, .. }) => SessionError::Empty { path: from.into() },
        Ok(_) => return Ok(()),
        Err(Failure::Read(source)) => unreadable(source),
        Err(Failure::Write(source)) => unwritable(source),
    };
    // Half a copy, or an empty one, would be taken for a session. If it cannot be removed, the error at
    // hand is still the one to report.
    let _ = std::fs::remove_file(to);
    Err(failure)
}

struct Copied {
    entries: usize,
    reached: bool,
}

enum Failure {
    Read(io::Error),
    Write(io::Error),
}

fn copy(lines: &mut Lines, mut to: BufWriter<File>, new_id: &str, until: Option<&str>) -> Result<Copied, Failure> {
    let mut copied = Copied { entries: 0, reached: false };
    while let Some(line) = lines.next().map_err(Failure::Read)? {
        let Ok(Value::Object(mut entry)) = serde_json::from_slice(line.bytes.unwrap_or_default()) else { continue };
        let uuid = entry.get("uuid").and_then(Value::as_str).map(str::to_owned);
        rename(&mut entry, uuid.as_deref(), new_id);
        writeln!(to, "{}", Value::Object(entry)).map_err(Failure::Write)?;
        copied.entries += usize::from(uuid.is_some());
        if until.is_some() && uuid.as_deref() == until {
            copied.reached = true;
            break;
        }
    }
    to.flush().map_err(Failure::Write)?;
    Ok(copied)
}

fn rename(entry: &mut Map<String, Value>, uuid: Option<&str>, new_id: &str) {
    let old = entry.get("sessionId").cloned();
    if old.is_some() || uuid.is_some() {
        entry.insert("sessionId".into(), new_id.into());
    }
    if let Some(uuid) = uuid {
        entry.insert("forkedFrom".into(), json!({"sessionId": old, "messageUuid": uuid}));
    }
}
