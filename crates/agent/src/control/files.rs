//! Requests about files: a client reads them through us, under the rules of the Read tool, tells which ones the model has
//! read, and takes edits back.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use base64::Engine as _;
use conversation::Conversation;
use conversation::rules::Rules;
use output::Secrets;
use policy::{Targets, Verdict};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::UNIX_EPOCH;
use tools::{Checkpoints, PathError, RewindError, Target, rewind};

/// Of a file, where the client does not say; a line on the wire stays below a mebibyte.
const CONTENTS: u64 = 512 * 1024;
/// The same in base64, which is longer by a third.
const BYTES: u64 = 384 * 1024;

pub struct FileRequests {
    pub rules: Rc<Rules>,
    pub main: Rc<Conversation>,
    pub secrets: Secrets,
    pub checkpoints: Rc<Checkpoints>,
}

#[derive(Debug, thiserror::Error)]
enum FileRequestError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("{} may not be read: {reason}", .path.display())]
    Denied { path: PathBuf, reason: String },
    #[error("{} cannot be read: {why}", .path.display())]
    Unreadable { path: PathBuf, why: std::io::Error },
    #[error("{} is not a file", .0.display())]
    NoFile(PathBuf),
    #[error("the encoding {0} is unknown; use utf-8 or base64")]
    Encoding(String),
    #[error("seed_read_state needs \"mtime\", in milliseconds")]
    NoTime,
}

impl Group for FileRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "read_file" => Reply::now(read(&self, &request)),
            "seed_read_state" => Reply::now(seed(&self.main, &request)),
            "rewind_files" => Reply::now(take_back(&self.checkpoints, &self.main.tools(), &request)),
            _ => return None,
        })
    }
}

/// Every file as it was when a prompt came.
fn take_back(checkpoints: &Checkpoints, tools: &tools::ToolContext, request: &Value) -> Result<Value, RewindError> {
    rewind(checkpoints, &tools.workspace, tools.shell.fence(), request)
}

fn read(handles: &FileRequests, request: &Value) -> Result<Value, FileRequestError> {
    let (tools, target) = target(&handles.main, request)?;
    let input = json!({"file_path": target.given});
    let decision = handles.rules.judge(&handles.main, "Read", &input, &Targets::paths(vec![target.clone()]), false);
    if decision.verdict != Verdict::Allow || (tools.denied)(&target.real) {
        return Err(FileRequestError::Denied { path: target.given, reason: decision.reason });
    }
    let fail = |why: std::io::Error| FileRequestError::Unreadable { path: target.given.clone(), why };
    let file = tools.workspace.open_read(&target).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(FileRequestError::NoFile(target.given));
    }
    let encoded = match request["encoding"].as_str() {
        None | Some("utf-8") => false,
        Some("base64") => true,
        Some(other) => return Err(FileRequestError::Encoding(other.to_owned())),
    };
    let most = if encoded { BYTES } else { CONTENTS };
    let most = request["max_bytes"].as_u64().map_or(most, |wanted| wanted.min(most));
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(fail)?;
    let truncated = bytes.len() as u64 > most;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let mut answer = json!({"contents": "", "absPath": target.given});
    if encoded {
        answer["contents"] = json!(base64::engine::general_purpose::STANDARD.encode(&bytes));
        answer["encoding"] = json!("base64");
    } else {
        answer["contents"] = json!(whole_text(&bytes, truncated));
        if std::str::from_utf8(&bytes).is_err_and(|error| error.error_len().is_some()) {
            answer["lossy"] = json!(true);
        }
    }
    if truncated {
        answer["truncated"] = json!(true);
    }
    Ok(handles.secrets.hide_value(answer))
}

/// A cut in the middle of a character takes the whole character away.
fn whole_text(bytes: &[u8], truncated: bool) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if truncated && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}

/// The client saw the model read this file in a part of the conversation that is gone. It counts as read if it is
/// still as it was then.
fn seed(main: &Conversation, request: &Value) -> Result<Value, FileRequestError> {
    let (tools, target) = target(main, request)?;
    let mtime = request["mtime"].as_f64().ok_or(FileRequestError::NoTime)?;
    if let Ok(meta) = std::fs::metadata(&target.real)
        && let Ok(changed) = meta.modified()
        && meta.is_file()
        && changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as f64 <= mtime
    {
        tools.reads.known(&target.real, tools::Stamp::of(&meta));
    }
    Ok(json!({}))
}

fn target(main: &Conversation, request: &Value) -> Result<(Rc<tools::ToolContext>, Target), FileRequestError> {
    let path = text(request, "path")?;
    let tools = main.tools();
    let target = tools.workspace.resolve(path)?;
    Ok((tools, target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_no_half_characters() {
        assert_eq!(whole_text("aé".as_bytes(), false), "aé");
        assert_eq!(whole_text(&"aé".as_bytes()[..2], true), "a");
        assert_eq!(whole_text(b"a\xff", true), "a\u{fffd}");
    }
}
