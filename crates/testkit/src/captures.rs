//! Recorded conversations, played against a binary.

use crate::matching::{differences, shown, substitute, substitute_text};
use crate::{Outcome, Run, Step, World};
use mock::Script;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Several times what the slowest recording takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// Of what came out, a failure shows this many of the last lines.
const SHOWN_LINES: usize = 40;

/// One recorded conversation; see `tests/contract/captures/README.md`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    #[serde(skip)]
    pub name: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// In the order in which they are made: some results depend on it.
    pub files: serde_json::Map<String, Value>,
    pub before: Vec<Vec<String>>,
    pub stdin: Vec<Vec<Value>>,
    pub model_turns: Value,
    pub exit_code: i32,
    pub stderr_empty: bool,
    pub stdout: Vec<Value>,
    pub files_after: BTreeMap<String, Option<String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a recorded conversation: {source}", path.display())]
    Parse { path: PathBuf, source: serde_json::Error },
}

/// The recordings of this repository.
pub fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/captures")
}

/// Every recording in a folder, by name.
pub fn load_dir(dir: &Path) -> Result<Vec<Capture>, CaptureError> {
    let unreadable = |source| CaptureError::Read { path: dir.into(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

pub fn load(path: &Path) -> Result<Capture, CaptureError> {
    let text = std::fs::read_to_string(path).map_err(|source| CaptureError::Read { path: path.into(), source })?;
    let capture: Capture =
        serde_json::from_str(&text).map_err(|source| CaptureError::Parse { path: path.into(), source })?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Capture { name, ..capture })
}

/// Plays a recording against `binary`. The error says what differs and what came out.
pub fn run(capture: &Capture, binary: &Path) -> Result<(), String> {
    let script = Script::from_value(capture.model_turns.clone()).map_err(|error| error.to_string())?;
    // A file given as JSON is written as JSON.
    let texts: Vec<(&str, String)> = capture
        .files
        .iter()
        .map(|(name, value)| (&**name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let files = texts.iter().map(|(name, text)| (*name, text.as_str()));
    let world = World::new(files, script).map_err(|error| error.to_string())?;
    let names = world.names();
    let mut names: Vec<(&str, &str)> = names.iter().map(|(name, value)| (*name, &**value)).collect();
    let mut first = None;
    for args in &capture.before {
        let outcome = finish(prepare(capture, &world, binary, args, &names).close())?;
        first = first.or_else(|| outcome.session_id());
    }
    if let Some(id) = &first {
        names.push(("$SID", id));
    }
    let mut run = prepare(capture, &world, binary, &capture.args, &names);
    for step in &capture.stdin {
        run = run.step(parse_step(step, &names)?);
    }
    let outcome = finish(run)?;
    let problems = problems(capture, &world, &outcome, &names);
    if problems.is_empty() { Ok(()) } else { Err(report(capture, &problems, &outcome)) }
}

fn prepare(capture: &Capture, world: &World, binary: &Path, args: &[String], names: &[(&str, &str)]) -> Run {
    let run = world.run(binary).deadline(DEADLINE).args(args.iter().map(|arg| substitute_text(arg, names)));
    capture.env.iter().fold(run, |run, (name, value)| run.env(name, &substitute_text(value, names)))
}

fn finish(run: Run) -> Result<Outcome, String> {
    run.finish().map_err(|error| error.to_string())
}

fn parse_step(step: &[Value], names: &[(&str, &str)]) -> Result<Step, String> {
    let operand = step.get(1).map(|value| substitute(value, names));
    match (step.first().and_then(Value::as_str), operand) {
        (Some("close"), None) => Ok(Step::Close),
        (Some("send"), Some(Value::String(raw))) => Ok(Step::SendRaw(format!("{raw}\n").into_bytes())),
        (Some("send"), Some(line)) => Ok(Step::Send(line)),
        (Some("wait"), Some(event)) => Ok(Step::Wait(event)),
        (Some("sleep"), Some(Value::Number(seconds))) => {
            let pause = seconds.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            pause.map(Step::Sleep).ok_or_else(|| format!("cannot sleep {seconds} seconds"))
        }
        (Some("signal"), Some(Value::String(name))) if name.ends_with("INT") => Ok(Step::Signal(2)),
        (Some("signal"), Some(Value::String(name))) if name.ends_with("TERM") => Ok(Step::Signal(15)),
        _ => Err(format!("unknown step {}", Value::from(step.to_vec()))),
    }
}

fn problems(capture: &Capture, world: &World, outcome: &Outcome, names: &[(&str, &str)]) -> Vec<String> {
    let mut problems = Vec::new();
    if outcome.timed_out {
        problems.push(format!("still running after {} s: killed", DEADLINE.as_secs()));
    }
    problems.extend(outcome.unmet.iter().map(|event| format!("stdin waited in vain for {event}")));
    let expected: Vec<Value> = capture.stdout.iter().map(|event| substitute(event, names)).collect();
    problems.extend(missing_event(&expected, &outcome.lines));
    if outcome.code != Some(capture.exit_code) {
        problems.push(format!("exit code: expected {}, got {:?}", capture.exit_code, outcome.code));
    }
    if outcome.stderr.is_empty() != capture.stderr_empty {
        let expected = if capture.stderr_empty { "nothing" } else { "some text" };
        problems.push(format!("stderr: expected {expected}, got {:?}", outcome.stderr));
    }
    for (name, text) in &capture.files_after {
        let text = text.as_ref().map(|text| substitute_text(text, names));
        let actual = world.read(name);
        if actual != text {
            problems.push(format!("file {name} afterwards: expected {text:?}, got {actual:?}"));
        }
    }
    problems
}

/// The first expected event that does not come, with how the nearest one differs.
fn missing_event(expected: &[Value], lines: &[String]) -> Option<String> {
    let actual: Vec<Value> = lines.iter().map(|line| parse_line(line)).collect();
    let mut next = 0;
    for (index, event) in expected.iter().enumerate() {
        let found = actual[next..].iter().zip(&lines[next..]).position(|(actual, line)| matches(event, actual, line));
        if let Some(position) = found {
            next += position + 1;
            continue;
        }
        let nearest = nearest(event, &actual[next..]);
        return Some(format!(
            "event {} of {} did not come after line {next}: {}{nearest}",
            index + 1,
            expected.len(),
            shown(event)
        ));
    }
    None
}

fn parse_line(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.into()))
}

fn matches(expected: &Value, actual: &Value, line: &str) -> bool {
    match plain_text(expected) {
        Some(text) => text == line,
        None => differences(expected, actual).is_empty(),
    }
}

/// `{"text": …}` alone stands for a line that is no event.
fn plain_text(expected: &Value) -> Option<&str> {
    expected.as_object().filter(|map| map.len() == 1)?.get("text")?.as_str()
}

fn nearest(expected: &Value, actual: &[Value]) -> String {
    let same_kind = |event: &&Value| ["type", "subtype"].iter().all(|key| event.get(key) == expected.get(key));
    let candidates = actual.iter().filter(same_kind).map(|event| differences(expected, event));
    match candidates.min_by_key(Vec::len) {
        Some(differences) => format!("\n  the nearest one differs:\n    {}", differences.join("\n    ")),
        None => "\n  and none of its type came".into(),
    }
}

fn report(capture: &Capture, problems: &[String], outcome: &Outcome) -> String {
    let skipped = outcome.lines.len().saturating_sub(SHOWN_LINES);
    let lines: Vec<String> = outcome.lines.iter().skip(skipped).map(|line| shown(&parse_line(line))).collect();
    format!(
        "{}: {} problem(s)\n- {}\nstdout ({} lines, {skipped} not shown):\n  {}\nstderr:\n  {}\n",
        capture.name,
        problems.len(),
        problems.join("\n- "),
        outcome.lines.len(),
        lines.join("\n  "),
        outcome.stderr.replace('\n', "\n  "),
    )
}

#[cfg(test)]
#[path = "captures_tests.rs"]
mod tests;
