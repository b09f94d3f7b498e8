//! One line of a conversation as bytes. Readers scan these bytes, so order and spelling matter.

use serde::Serialize;
use serde_json::{Map, Value};

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Shorter values would be found inside ordinary words.
const SECRET_MIN: usize = 8;

/// What every entry of a conversation says about where and by what it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp {
    pub session_id: String,
    pub cwd: String,
    pub version: String,
    pub git_branch: String,
    /// Which kind of client started us (`sdk-py`, `sdk-ts`, …).
    pub entrypoint: Option<String>,
    /// Set in a sub-agent's own conversation.
    pub agent_id: Option<String>,
    pub sidechain: bool,
}

/// An entry with a place in the chain.
///
/// The fields that readers look for by their first occurrence come before `message`, whose content may
/// hold the same keys.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry<'a> {
    pub(crate) parent_uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) logical_parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    user_type: &'static str,
    cwd: &'a str,
    session_id: &'a str,
    version: &'a str,
    git_branch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entrypoint: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subtype: Option<&'a str>,
    uuid: &'a str,
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_meta: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_compact_summary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "sourceToolAssistantUUID")]
    pub(crate) source_tool_assistant_uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attachment: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_use_result: Option<&'a Value>,
    #[serde(flatten)]
    pub(crate) fields: Option<&'a Map<String, Value>>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(stamp: &'a Stamp, kind: &'static str, uuid: &'a str, timestamp: String) -> Self {
        Self {
            parent_uuid: None,
            logical_parent_uuid: None,
            is_sidechain: stamp.sidechain,
            agent_id: stamp.agent_id.as_deref(),
            user_type: "external",
            cwd: &stamp.cwd,
            session_id: &stamp.session_id,
            version: &stamp.version,
            git_branch: &stamp.git_branch,
            entrypoint: stamp.entrypoint.as_deref(),
            kind,
            subtype: None,
            uuid,
            timestamp,
            is_meta: None,
            is_compact_summary: None,
            request_id: None,
            source_tool_assistant_uuid: None,
            attachment: None,
            message: None,
            tool_use_result: None,
            fields: None,
        }
    }
}

/// Room for what every entry has.
const FRAME: usize = 1024;

/// The entry as a line, as [`line`] writes it.
pub(crate) fn entry_line(entry: &Entry<'_>, secrets: &[String]) -> Option<Vec<u8>> {
    let long = [entry.message, entry.attachment, entry.tool_use_result];
    let length: usize = long.into_iter().flatten().map(wire::expected_length).sum();
    line_in(Vec::with_capacity(FRAME + length), entry, secrets)
}

/// A line without a place in the chain, `type` first whatever the order it came in: tags are found by it.
pub(crate) fn metadata(entry: &Value, session_id: &str) -> Option<Map<String, Value>> {
    let entry = entry.as_object()?;
    let mut ordered = Map::new();
    ordered.insert("type".into(), entry.get("type").filter(|kind| kind.is_string())?.clone());
    ordered.extend(entry.iter().filter(|(key, _)| *key != "type").map(|(key, value)| (key.clone(), value.clone())));
    ordered.entry("sessionId").or_insert_with(|| session_id.into());
    Some(ordered)
}

/// The entry as a line, newline included, without the secrets. `None` if it cannot be written as JSON.
pub(crate) fn line<T: Serialize>(entry: &T, secrets: &[String]) -> Option<Vec<u8>> {
    line_in(Vec::new(), entry, secrets)
}

fn line_in<T: Serialize>(mut room: Vec<u8>, entry: &T, secrets: &[String]) -> Option<Vec<u8>> {
    serde_json::to_writer(&mut room, entry).ok()?;
    let mut text = String::from_utf8(room).ok()?;
    for secret in secrets {
        if text.contains(&**secret) {
            text = text.replace(&**secret, REDACTED);
        }
    }
    text.push('\n');
    Some(text.into_bytes())
}

/// Secrets as they look inside JSON; those too short to tell apart are left out.
pub(crate) fn escaped(secrets: Vec<String>) -> Vec<String> {
    secrets
        .into_iter()
        .filter(|secret| secret.len() >= SECRET_MIN)
        .map(|secret| {
            let quoted = Value::String(secret).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
        .collect()
}
