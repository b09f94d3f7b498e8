//! From the end of a command to what the model and the client are told. Pure.

use super::command::{answer_of_exit_one, is_silent};
use crate::shell::output::{Excerpt, FAILURE_CHARS, FLOOD, KEPT, ends};
use crate::{Content, ErrorFlag, ToolOutcome};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const NOTHING_SAID: &str = "(Bash completed with no output)";

/// A command that ended by itself.
pub(crate) struct Finished<'a> {
    pub(crate) command: &'a str,
    pub(crate) code: i32,
    pub(crate) output: &'a Excerpt,
    /// Where the output stayed, when it is not whole here.
    pub(crate) kept_at: Option<&'a Path>,
    /// What we have to say about the call itself.
    pub(crate) notice: Option<&'a str>,
}

pub(crate) fn finished(end: &Finished<'_>) -> ToolOutcome {
    let answer = if end.code == 1 { answer_of_exit_one(end.command) } else { None };
    if end.code != 0 && answer.is_none() {
        return failed(end);
    }
    let place = end.kept_at.map(|path| kept_note(path, end.output.bytes));
    let said = if end.output.text.is_empty() && end.notice.is_none() { NOTHING_SAID } else { &end.output.text };
    let mut structured = twin(end.command, &end.output.text, end.notice.unwrap_or_default());
    if let Some(answer) = answer {
        structured["returnCodeInterpretation"] = json!(answer);
    }
    if let Some(path) = end.kept_at {
        structured["persistedOutputPath"] = json!(path.to_string_lossy());
        structured["persistedOutputSize"] = json!(end.output.bytes);
    }
    success(lines(&[said, place.as_deref().unwrap_or_default(), end.notice.unwrap_or_default()]), structured)
}

fn failed(end: &Finished<'_>) -> ToolOutcome {
    let place = end.kept_at.map(|path| kept_note(path, end.output.bytes));
    ToolOutcome::error(lines(&[
        &format!("Exit code {}", end.code),
        &ends(&end.output.text, FAILURE_CHARS),
        place.as_deref().unwrap_or_default(),
        end.notice.unwrap_or_default(),
    ]))
}

/// A command that we ended, and why.
pub(crate) fn ended_by_us(code: i32, why: &str, output: &Excerpt, kept_at: Option<&Path>) -> ToolOutcome {
    let place = kept_at.map(|path| kept_note(path, output.bytes));
    ToolOutcome::error(lines(&[
        &format!("Exit code {code}"),
        why,
        &ends(&output.text, FAILURE_CHARS),
        place.as_deref().unwrap_or_default(),
    ]))
}

pub(crate) fn timed_out(limit: Duration) -> String {
    format!("Command did not complete within its {} timeout and was ended.", seconds(limit))
}

pub(crate) fn flooded() -> String {
    format!("Command was ended because it wrote more than {} of output.", size(FLOOD))
}

/// A command that goes on as a task: asked for, or since it outlived its timeout.
pub(crate) fn in_background(command: &str, id: &str, path: &Path, outlived: Option<Duration>) -> ToolOutcome {
    let how = match outlived {
        Some(limit) => {
            format!("Command did not complete within its {} timeout and was moved to the background", seconds(limit))
        }
        None => "Command is running in the background".to_owned(),
    };
    let text = format!(
        "{how} as task {id}. Its output goes to {}. You are told when it ends; read that file to look in before, or \
         stop it with TaskStop.",
        path.display()
    );
    let mut structured = twin(command, "", "");
    structured["backgroundTaskId"] = json!(id);
    if let Some(limit) = outlived {
        structured["timedOutAfterMs"] = json!(limit.as_millis() as u64);
    }
    success(text, structured)
}

fn success(text: String, structured: Value) -> ToolOutcome {
    ToolOutcome::new(Content::Text(text), structured, ErrorFlag::No)
}

fn twin(command: &str, stdout: &str, stderr: &str) -> Value {
    json!({
        "stdout": stdout,
        "stderr": stderr,
        "interrupted": false,
        "isImage": false,
        "noOutputExpected": is_silent(command),
    })
}

fn kept_note(path: &Path, bytes: u64) -> String {
    let cut = if bytes > KEPT { format!(", of which the first {} were kept", size(KEPT)) } else { String::new() };
    format!(
        "[The output has {}{cut}. It is in {}; look into it with Read (offset, limit) or Grep.]",
        size(bytes),
        path.display()
    )
}

fn lines(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 { format!("{}s", limit.as_secs()) } else { format!("{}ms", limit.as_millis()) }
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end<'a>(command: &'a str, code: i32, output: &'a Excerpt, notice: Option<&'a str>) -> Finished<'a> {
        Finished { command, code, output, kept_at: None, notice }
    }

    fn said(text: &str) -> Excerpt {
        Excerpt { text: text.into(), whole: true, bytes: text.len() as u64 }
    }

    #[test]
    fn results_of_the_captures() {
        let twin = |stdout: &str, silent: bool| json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": silent});
        for (command, output, text, structured) in [
            ("true", "", NOTHING_SAID, twin("", false)),
            ("mkdir d1", "", NOTHING_SAID, twin("", true)),
            ("pwd", "/w/src", "/w/src", twin("/w/src", false)),
        ] {
            let outcome = finished(&end(command, 0, &said(output), None));
            assert_eq!(outcome, success(text.into(), structured), "{command}");
        }
        let outcome = finished(&end("echo out; echo err >&2; exit 3", 3, &said("out\nerr"), None));
        assert_eq!(outcome, ToolOutcome::error("Exit code 3\nout\nerr"));
    }

    #[test]
    fn exit_one_as_an_answer_is_no_error() {
        let outcome = finished(&end("grep x f", 1, &said(""), None));
        assert_eq!(
            (outcome.flag, &outcome.structured["returnCodeInterpretation"]),
            (ErrorFlag::No, &json!("Nothing matched"))
        );
        assert!(finished(&end("grep x f", 2, &said("bad"), None)).is_error());
        assert!(finished(&end("make", 1, &said("bad"), None)).is_error());
    }

    #[test]
    fn notices_stand_after_the_output_and_in_stderr() {
        let outcome = finished(&end("cd /", 0, &said(""), Some("N")));
        assert_eq!((outcome.content, &outcome.structured["stderr"]), (Content::Text("N".into()), &json!("N")));
        let outcome = finished(&end("cd / && x", 5, &said("out"), Some("N")));
        assert_eq!(outcome.content, Content::Text("Exit code 5\nout\nN".into()));
    }

    #[test]
    fn long_failures_are_cut_in_the_middle() {
        let long = said(&"x".repeat(25_000));
        let outcome = finished(&end("make", 2, &long, None));
        let Content::Text(text) = outcome.content else { panic!("no text") };
        assert!(
            text.len() < FAILURE_CHARS + 100 && text.contains("... [15000 characters truncated] ..."),
            "{}",
            text.len()
        );
    }

    #[test]
    fn kept_outputs_are_named() {
        let output = Excerpt { text: "a … z".into(), whole: false, bytes: 100 << 20 };
        let outcome = finished(&Finished { kept_at: Some(Path::new("/s/b1")), ..end("cat", 0, &output, None) });
        assert_eq!(outcome.structured["persistedOutputPath"], json!("/s/b1"));
        assert_eq!(outcome.structured["persistedOutputSize"], json!(100 << 20));
        let Content::Text(text) = outcome.content else { panic!("no text") };
        assert!(text.contains("100.0 MiB, of which the first 64.0 MiB") && text.contains("/s/b1"), "{text}");
    }

    #[test]
    fn going_on_in_the_background_says_where() {
        let outcome = in_background("x", "b1", Path::new("/s/b1"), Some(Duration::from_mins(2)));
        let Content::Text(text) = &outcome.content else { panic!("no text") };
        assert!(text.contains("its 120s timeout and was moved to the background") && text.contains("/s/b1"), "{text}");
        assert_eq!((&outcome.structured["backgroundTaskId"], outcome.flag), (&json!("b1"), ErrorFlag::No));
        assert_eq!(outcome.structured["timedOutAfterMs"], json!(120_000));
    }
}
