//! `read_file`, `seed_read_state`, `get_task_output`: a client looks at files through us, under the rules of the Read
//! tool where they are not our own.

use base64::Engine as _;
use conversation::Conversation;
use conversation::rules::Rules;
use output::Secrets;
use policy::{Targets, Verdict};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::rc::Rc;
use std::time::UNIX_EPOCH;
use tools::{Target, Tasks};

/// Of a file, where the client does not say; a line on the wire stays below a mebibyte.
const CONTENTS: u64 = 512 * 1024;
/// The same in base64, which is longer by a third.
const BYTES: u64 = 384 * 1024;
/// Of a task's output: its end is what people look for.
const OUTPUT: u64 = 8 * 1024;

pub fn read(rules: &Rules, main: &Conversation, secrets: &Secrets, request: &Value) -> Result<Value, String> {
    let (tools, target) = target(main, request, "read_file")?;
    let input = json!({"file_path": target.given});
    let decision = rules.judge(main, "Read", &input, &Targets::paths(vec![target.clone()]), false);
    if decision.verdict != Verdict::Allow || (tools.denied)(&target.real) {
        return Err(format!("{} may not be read: {}", target.given.display(), decision.reason));
    }
    let fail = |error: std::io::Error| format!("{} cannot be read: {error}", target.given.display());
    let file = tools.workspace.open_read(&target).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(format!("{} is not a file", target.given.display()));
    }
    let encoded = match request["encoding"].as_str() {
        None | Some("utf-8") => false,
        Some("base64") => true,
        Some(other) => return Err(format!("the encoding {other} is unknown; use utf-8 or base64")),
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
        answer["contents"] = json!(text(&bytes, truncated));
        if std::str::from_utf8(&bytes).is_err_and(|error| error.error_len().is_some()) {
            answer["lossy"] = json!(true);
        }
    }
    if truncated {
        answer["truncated"] = json!(true);
    }
    Ok(secrets.hide_value(answer))
}

/// A cut in the middle of a character takes the whole character away.
fn text(bytes: &[u8], truncated: bool) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if truncated && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}

/// The client saw the model read this file in a part of the conversation that is gone. It counts as read if it is
/// still as it was then.
pub fn seed(main: &Conversation, request: &Value) -> Result<Value, String> {
    let (tools, target) = target(main, request, "seed_read_state")?;
    let mtime = request["mtime"].as_f64().ok_or("seed_read_state needs \"mtime\", in milliseconds")?;
    if let Ok(meta) = std::fs::metadata(&target.real)
        && let Ok(changed) = meta.modified()
        && meta.is_file()
        && changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as f64 <= mtime
    {
        tools.reads.known(&target.real, tools::Stamp::of(&meta));
    }
    Ok(json!({}))
}

fn target(main: &Conversation, request: &Value, what: &str) -> Result<(Rc<tools::ToolContext>, Target), String> {
    let path = request["path"].as_str().ok_or_else(|| format!("{what} needs \"path\", a string"))?;
    let tools = main.tools();
    let target = tools.workspace.resolve(path).map_err(|error| error.to_string())?;
    Ok((tools, target))
}

pub fn task_output(tasks: &Tasks, secrets: &Secrets, request: &Value) -> Result<Value, String> {
    let id = request["task_id"].as_str().ok_or("get_task_output needs \"task_id\", a string")?;
    let task = tasks.get(id).map_err(|error| error.to_string())?;
    let fail = |error: std::io::Error| format!("the output of {id} cannot be read: {error}");
    let mut file = match File::open(&task.output_file) {
        Ok(file) => file,
        // It has written nothing yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(json!({"output": "", "total_bytes": 0, "truncated": false}));
        }
        Err(error) => return Err(fail(error)),
    };
    let total = file.metadata().map_err(fail)?.len();
    file.seek(SeekFrom::Start(total.saturating_sub(OUTPUT))).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(OUTPUT).read_to_end(&mut bytes).map_err(fail)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    let answer = json!({"output": output, "total_bytes": total, "truncated": total > OUTPUT});
    Ok(secrets.hide_value(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_no_half_characters() {
        assert_eq!(text("aé".as_bytes(), false), "aé");
        assert_eq!(text(&"aé".as_bytes()[..2], true), "a");
        assert_eq!(text(b"a\xff", true), "a\u{fffd}");
    }
}
