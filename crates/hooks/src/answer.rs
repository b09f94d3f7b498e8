//! From the way a handler ended to what it means. Pure: the table of exit codes, status codes and failures.

use crate::error::{AnswerError, AskError};
use crate::event::HookEvent;
use crate::handler::OnFailure;
use crate::hook_answer::HookAnswer;
use crate::host::Outcome;
use crate::opinion;
use crate::property::Refusal;
use crate::speech::{Speech, hear, refused};
use serde_json::Value;
use std::time::Duration;

/// Enough of a failed hook's words to see what is wrong; the rest is in its own logs.
const LONGEST_ERROR: usize = 1_000;

/// How a handler ended.
#[derive(Debug)]
pub(crate) enum Raw {
    Exit {
        code: i32,
        stdout: String,
        stderr: String,
    },
    Http {
        status: u16,
        body: String,
    },
    /// A callback's answer.
    Said(Value),
    /// What a model thinks.
    Opinion(String),
    /// The time that it had, and how its process ended, where there was one.
    TimedOut(Duration, Option<i32>),
    /// It could not be asked at all, or refused to answer.
    Failed(AskError),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) verdict: HookAnswer,
    pub(crate) outcome: Outcome,
}

/// Reads what `label`, the handler in words, came back with.
pub(crate) fn read(event: HookEvent, label: &str, on_failure: OnFailure, raw: &Raw) -> Answer {
    let failed = |why: &str, block: bool| {
        let text = clipped(&format!("{} hook {label} {why}", event.as_str()));
        let mut verdict = HookAnswer::error(text.clone());
        if block && event.refusal() != Refusal::Nothing {
            verdict = verdict.merge(refused(event, Some(text)));
        }
        verdict
    };
    let always = on_failure == OnFailure::Block;
    let heard = |said: Result<HookAnswer, AnswerError>| match said {
        Ok(verdict) => Answer { verdict, outcome: Outcome::Success },
        Err(why) => {
            Answer { verdict: failed(&format!("gave an invalid answer: {why}"), always), outcome: Outcome::Error }
        }
    };
    match raw {
        Raw::Exit { code: 0, stdout, .. } => heard(spoken(event, stdout)),
        Raw::Exit { code: 2, stdout, stderr } => {
            Answer { verdict: forbidden(event, stdout, stderr), outcome: Outcome::Error }
        }
        Raw::Exit { code, stdout, stderr } => {
            let verdict = json(event, stdout).and_then(Result::ok).unwrap_or_default().verdict;
            // Half a checkout is none.
            let blocks = event == HookEvent::WorktreeCreate;
            let error = failed(&format!("failed with exit code {code}: {}", stderr.trim()), blocks);
            Answer { verdict: verdict.merge(error), outcome: Outcome::Error }
        }
        Raw::Http { status: 200..=299, body } if body.trim().is_empty() => heard(Ok(HookAnswer::default())),
        Raw::Http { status: 200..=299, body } => {
            let said = json(event, body).unwrap_or_else(|| Err(AnswerError::Body));
            heard(said.map(|speech| speech.verdict))
        }
        Raw::Http { status, .. } => {
            Answer { verdict: failed(&format!("answered with HTTP status {status}"), false), outcome: Outcome::Error }
        }
        Raw::Said(Value::Null) => heard(Ok(HookAnswer::default())),
        Raw::Said(said) => heard(hear(event, said).map(|speech| speech.verdict)),
        Raw::Opinion(text) => heard(opinion::read(event, text)),
        Raw::TimedOut(limit, _) => {
            let silent = on_failure == OnFailure::BlockOnTimeout && event == HookEvent::PreToolUse;
            let why = format!("gave no answer within {} s and was stopped", limit.as_secs_f32());
            Answer { verdict: failed(&why, always || silent), outcome: Outcome::Cancelled }
        }
        Raw::Failed(why) => {
            Answer { verdict: failed(&format!("could not run: {why}"), always), outcome: Outcome::Error }
        }
    }
}

/// stdout of a command that went well: JSON, or plain text that some events take as context.
fn spoken(event: HookEvent, stdout: &str) -> Result<HookAnswer, AnswerError> {
    if let Some(said) = json(event, stdout) {
        return said.map(|speech| speech.verdict);
    }
    let text = stdout.trim();
    if event == HookEvent::WorktreeCreate && !text.is_empty() {
        return Ok(HookAnswer { worktree_path: Some(text.to_owned()), ..HookAnswer::default() });
    }
    let is_context = event.hears_plain_text() && !text.is_empty();
    Ok(HookAnswer { contexts: is_context.then(|| text.to_owned()).into_iter().collect(), ..HookAnswer::default() })
}

/// Exit code 2: no, whatever else stdout may say.
fn forbidden(event: HookEvent, stdout: &str, stderr: &str) -> HookAnswer {
    let speech = json(event, stdout).and_then(Result::ok).unwrap_or_default();
    if speech.verdict.blocked.is_some() || event == HookEvent::StopFailure {
        return speech.verdict;
    }
    let reason = speech.reason.unwrap_or_else(|| stderr.trim().to_owned());
    speech.verdict.merge(refused(event, Some(reason)))
}

/// `None`: not meant as JSON.
fn json(event: HookEvent, text: &str) -> Option<Result<Speech, AnswerError>> {
    let text = text.trim();
    text.starts_with('{').then(|| {
        let value = serde_json::from_str(text).map_err(AnswerError::Json)?;
        hear(event, &value)
    })
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST_ERROR) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.trim_end().to_owned(),
    }
}
