//! The JSON that a hook may answer with, read for the event it was asked about.
//!
//! Strict where a field decides something: a wrong type or an unknown word makes the whole answer invalid,
//! so that nothing is allowed by accident. Fields that nobody knows are ignored, `null` means absent.

use crate::error::AnswerError;
use crate::event::HookEvent;
use crate::hook_answer::{Decision, HookAnswer};
use crate::property::Refusal;
use serde_json::{Map, Value, json};

/// Where a hook gives no reason of its own.
const NO_REASON: &str = "A hook blocked this and gave no reason.";
const NO_STOP_REASON: &str = "A hook ended the run and gave no reason.";

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Speech {
    pub(crate) verdict: HookAnswer,
    /// Whatever reason was given, also where the answer itself decides nothing.
    pub(crate) reason: Option<String>,
}

/// Reads an answer; the error says which part of it is wrong.
pub(crate) fn hear(event: HookEvent, said: &Value) -> Result<Speech, AnswerError> {
    let Value::Object(said) = said else { return Err(AnswerError::NoObject) };
    let said = Fields { at: "", map: said };
    // Nobody waits for the answer of an async one, and a failed turn has nothing left to decide.
    if event == HookEvent::StopFailure || said.flag("async")? == Some(true) {
        return Ok(Speech::default());
    }
    let empty = Map::new();
    let specific = Fields { at: "hookSpecificOutput.", map: said.object("hookSpecificOutput")?.unwrap_or(&empty) };
    if let Some(named) = specific.text("hookEventName")?.filter(|named| *named != event.as_str()) {
        return Err(AnswerError::OtherEvent { named: named.to_owned(), event: event.as_str() });
    }
    let mut verdict = HookAnswer {
        messages: said.text("systemMessage")?.map(str::to_owned).into_iter().collect(),
        contexts: specific.text("additionalContext")?.map(str::to_owned).into_iter().collect(),
        ..HookAnswer::default()
    };
    let stop_reason = said.text("stopReason")?;
    if said.flag("continue")? == Some(false) {
        verdict.stop = Some(stop_reason.unwrap_or(NO_STOP_REASON).to_owned());
    }
    let own_reason = said.text("reason")?;
    let reason = specific.text("permissionDecisionReason")?.or(own_reason).map(str::to_owned);
    for decision in decisions(event, &said, &specific)? {
        verdict = verdict.merge(decided(event, decision, reason.clone()));
    }
    event_fields(event, &specific, &mut verdict)?;
    Ok(Speech { verdict, reason })
}

/// The general word and the one of PreToolUse; the stricter wins where both are given.
fn decisions(event: HookEvent, said: &Fields, specific: &Fields) -> Result<Vec<Decision>, AnswerError> {
    let mut decisions = Vec::new();
    match said.text("decision")? {
        None => {}
        Some("approve") => decisions.push(Decision::Allow),
        Some("block") => decisions.push(Decision::Deny),
        Some(other) => return Err(unknown("decision", other, "approve or block")),
    }
    if let Some(word) = specific.text("permissionDecision")?.filter(|_| event.permits()) {
        let decision = Decision::parse(word);
        decisions.push(decision.ok_or_else(|| unknown("permissionDecision", word, "allow, ask, defer or deny"))?);
    }
    Ok(decisions)
}

fn decided(event: HookEvent, decision: Decision, reason: Option<String>) -> HookAnswer {
    match decision {
        Decision::Deny => refused(event, reason),
        _ if event.permits() => HookAnswer { decision: Some(decision), reason, ..HookAnswer::default() },
        _ => HookAnswer::default(),
    }
}

/// A hook's "no", as far as the event has one.
pub(crate) fn refused(event: HookEvent, reason: Option<String>) -> HookAnswer {
    let reason = reason.filter(|reason| !reason.trim().is_empty()).unwrap_or_else(|| NO_REASON.to_owned());
    match event.refusal() {
        Refusal::Nothing => HookAnswer::error(format!("{} hooks cannot block anything: {reason}", event.as_str())),
        Refusal::Blocks if event.permits() => HookAnswer {
            decision: Some(Decision::Deny),
            reason: Some(reason.clone()),
            blocked: Some(reason),
            ..HookAnswer::default()
        },
        Refusal::Blocks | Refusal::Tells => HookAnswer { blocked: Some(reason), ..HookAnswer::default() },
    }
}

fn event_fields(event: HookEvent, specific: &Fields, verdict: &mut HookAnswer) -> Result<(), AnswerError> {
    match event {
        HookEvent::PreToolUse => {
            verdict.updated_input = specific.object("updatedInput")?.cloned().map(Value::Object);
        }
        HookEvent::PostToolUse => {
            let output = specific.value("updatedToolOutput").or_else(|| specific.value("updatedMCPToolOutput"));
            verdict.updated_output = output.cloned();
        }
        HookEvent::PermissionRequest => verdict.permission = permission(specific)?,
        HookEvent::PermissionDenied => verdict.retry = specific.flag("retry")? == Some(true),
        HookEvent::UserPromptSubmit => verdict.session_title = specific.owned("sessionTitle")?,
        HookEvent::SessionStart => {
            verdict.session_title = specific.owned("sessionTitle")?;
            verdict.initial_user_message = specific.owned("initialUserMessage")?;
            verdict.watch_paths = specific.texts("watchPaths")?;
        }
        HookEvent::Elicitation | HookEvent::ElicitationResult => verdict.elicitation = elicitation(specific)?,
        HookEvent::WorktreeCreate => verdict.worktree_path = specific.owned("worktreePath")?,
        HookEvent::CwdChanged | HookEvent::FileChanged => verdict.watch_paths = specific.texts("watchPaths")?,
        _ => {}
    }
    Ok(())
}

fn elicitation(specific: &Fields) -> Result<Option<Value>, AnswerError> {
    let Some(action) = specific.text("action")? else { return Ok(None) };
    if !matches!(action, "accept" | "decline" | "cancel") {
        return Err(unknown("hookSpecificOutput.action", action, "accept, decline or cancel"));
    }
    let mut answer = json!({"action": action});
    if let Some(content) = specific.object("content")? {
        answer["content"] = Value::Object(content.clone());
    }
    Ok(Some(answer))
}

fn permission(specific: &Fields) -> Result<Option<Value>, AnswerError> {
    let Some(decision) = specific.object("decision")? else { return Ok(None) };
    let inner = Fields { at: "hookSpecificOutput.decision.", map: decision };
    match inner.text("behavior")? {
        Some("allow" | "deny") => {}
        other => return Err(unknown("decision.behavior", other.unwrap_or_default(), "allow or deny")),
    }
    inner.object("updatedInput")?;
    inner.text("message")?;
    inner.flag("interrupt")?;
    Ok(Some(Value::Object(decision.clone())))
}

fn unknown(field: &'static str, word: &str, known: &'static str) -> AnswerError {
    AnswerError::Word { field, word: word.to_owned(), known }
}

/// Typed access to an object; `at` is where it stands, for errors.
struct Fields<'a> {
    at: &'static str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn typed<T>(
        &self,
        key: &'static str,
        kind: &'static str,
        as_type: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, AnswerError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        as_type(value).map(Some).ok_or(AnswerError::Type { at: self.at, key, kind })
    }

    fn text(&self, key: &'static str) -> Result<Option<&'a str>, AnswerError> {
        self.typed(key, "a string", Value::as_str)
    }

    fn owned(&self, key: &'static str) -> Result<Option<String>, AnswerError> {
        Ok(self.text(key)?.map(str::to_owned))
    }

    fn texts(&self, key: &'static str) -> Result<Vec<String>, AnswerError> {
        let list = self.typed(key, "a list of strings", |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        });
        Ok(list?.unwrap_or_default())
    }

    fn flag(&self, key: &'static str) -> Result<Option<bool>, AnswerError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    fn object(&self, key: &'static str) -> Result<Option<&'a Map<String, Value>>, AnswerError> {
        self.typed(key, "an object", Value::as_object)
    }
}
