//! What is known of a sub-agent beside its conversation: who called it, and for what.

use crate::SessionError;
use crate::append::create_private;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;

/// Writes `agent-<id>.meta.json` next to the conversation `agent-<id>.jsonl`.
///
/// Readers look for `toolUseId`, and for `parentAgentId` where agents nest.
pub fn write_agent_meta(transcript: &Path, meta: &Value) -> Result<(), SessionError> {
    let path = transcript.with_extension("meta.json");
    let written = create_private(&path).and_then(|mut file| file.write_all(meta.to_string().as_bytes()));
    written.map_err(|source| SessionError::Write { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_sidecar_stands_beside_the_conversation_and_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let transcript = dir.path().join("subagents/agent-ab12.jsonl");
        let meta = json!({"agentType": "general-purpose", "toolUseId": "toolu_1"});
        write_agent_meta(&transcript, &meta).unwrap();
        let written = std::fs::read(dir.path().join("subagents/agent-ab12.meta.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), meta);
        assert!(matches!(write_agent_meta(&transcript, &meta), Err(SessionError::Write { .. })));
    }
}
