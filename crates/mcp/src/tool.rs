//! One tool of a server, as the rest of the agent needs it. Pure.
//!
//! Read from plain JSON, field by field: a server that describes one of its tools badly loses that
//! description, not the tool, and never the others.

use crate::schema::flattened;
use serde_json::{Map, Value, json};
use tools::bounded::cut;

/// Of a tool's description: it is paid for in every request.
pub(crate) const DESCRIPTION_MAX: usize = 2 * 1024;

/// The most a tool may ask to be shown inline, in characters.
const RESULT_CHARS_MAX: usize = 500_000;

#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The name before the model: `mcp__server__tool`, at most 64 plain characters, nobody else's.
    pub full_name: String,
    pub server: String,
    /// The server's own name for it.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// An object schema without combinators at its root.
    pub schema: Value,
    /// Hints of the server, which may lie: never a reason to allow anything by themselves.
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
    /// `_meta` as given, `null` without.
    pub meta: Value,
    pub max_result_chars: Option<usize>,
    /// Never approved without a person.
    pub requires_user: bool,
    /// A successful call ends the turn.
    pub end_turn: bool,
    /// Never deferred behind a search.
    pub always_load: bool,
    /// The hints that were given, in the words of `mcp_status`.
    pub(crate) hints: Map<String, Value>,
}

impl McpTool {
    /// Reads one entry of `tools/list`; `None` for one without a name, which nobody could call.
    pub(crate) fn read(server: &str, always_load: bool, given: &Value) -> Option<Self> {
        let name = given.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())?;
        // A person judges calls by these words.
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(|text| wire::visible(text).into_owned());
        let hint = |key: &str| given.get("annotations").and_then(|hints| hints.get(key)).and_then(Value::as_bool);
        let meta = given.get("_meta").cloned().unwrap_or(Value::Null);
        let flag = |key: &str| meta.get(key).and_then(Value::as_bool).unwrap_or(false);
        let chars = meta.get("anthropic/maxResultSizeChars").and_then(Value::as_u64);
        let words = [("readOnly", "readOnlyHint"), ("destructive", "destructiveHint"), ("openWorld", "openWorldHint")];
        let hints = words.iter().filter_map(|(word, key)| Some(((*word).to_owned(), hint(key)?.into()))).collect();
        Some(Self {
            full_name: String::new(),
            server: server.to_owned(),
            name: name.to_owned(),
            title: text(given.get("title"))
                .or_else(|| text(given.pointer("/annotations/title")))
                .map(|title| cut(&title, DESCRIPTION_MAX)),
            description: cut(&text(given.get("description")).unwrap_or_default(), DESCRIPTION_MAX),
            schema: flattened(given.get("inputSchema")),
            // The protocol's own defaults: what is not said is the worse.
            read_only: hint("readOnlyHint").unwrap_or(false),
            destructive: hint("destructiveHint").unwrap_or(true),
            idempotent: hint("idempotentHint").unwrap_or(false),
            open_world: hint("openWorldHint").unwrap_or(true),
            max_result_chars: chars.map(|chars| usize::try_from(chars).unwrap_or(usize::MAX).min(RESULT_CHARS_MAX)),
            requires_user: flag("anthropic/requiresUserInteraction"),
            end_turn: flag("claude/endTurn"),
            always_load: always_load || flag("anthropic/alwaysLoad"),
            hints,
            meta,
        })
    }

    /// As `mcp_status` shows it.
    pub(crate) fn shown(&self) -> Value {
        json!({"name": wire::visible(&self.name), "description": self.description, "annotations": self.hints})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &Value) -> Option<McpTool> {
        McpTool::read("srv", false, given)
    }

    #[test]
    fn a_bare_tool_gets_the_cautious_defaults() {
        let tool = read(&json!({"name": "t"})).unwrap();
        assert_eq!((tool.read_only, tool.destructive, tool.idempotent, tool.open_world), (false, true, false, true));
        assert_eq!((tool.title, tool.description.as_str(), tool.meta), (None, "", Value::Null));
        assert_eq!(tool.schema, json!({"type": "object", "properties": {}}));
        assert_eq!((tool.requires_user, tool.end_turn, tool.max_result_chars), (false, false, None));
    }

    #[test]
    fn what_is_said_is_kept() {
        let meta = json!({"anthropic/maxResultSizeChars": 9_000_000, "anthropic/requiresUserInteraction": true,
            "claude/endTurn": true, "anthropic/alwaysLoad": true, "other": 1});
        let given = json!({"name": "t", "title": "T!", "description": "é".repeat(2000), "_meta": meta,
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "title": "no"}});
        let tool = read(&given).unwrap();
        assert_eq!((tool.title.as_deref(), tool.read_only, tool.destructive), (Some("T!"), true, false));
        assert!(tool.description.len() <= DESCRIPTION_MAX && tool.description.starts_with('é'));
        assert_eq!(
            (tool.max_result_chars, tool.requires_user, tool.end_turn, tool.always_load),
            (Some(500_000), true, true, true)
        );
        assert_eq!(tool.meta, meta);
        assert_eq!(tool.shown()["annotations"], json!({"readOnly": true, "destructive": false}));
    }

    #[test]
    fn nothing_hides_in_what_a_tool_says() {
        let given = json!({"name": "t", "description": "a\u{200b}b", "title": "x\u{202e}",
            "inputSchema": {"type": "object", "properties": {"p": {"type": "string", "description": "c\u{e0041}"}}}});
        let tool = read(&given).unwrap();
        assert_eq!((tool.description.as_str(), tool.title.as_deref()), ("a[U+200B]b", Some("x[U+202E]")));
        assert_eq!(tool.schema["properties"]["p"], json!({"type": "string", "description": "c[U+E0041]"}));
    }

    #[test]
    fn wrong_types_are_as_good_as_absent() {
        let given = json!({"name": "t", "description": 5, "annotations": {"readOnlyHint": "yes"}, "_meta": [], "inputSchema": 1});
        let tool = read(&given).unwrap();
        assert_eq!((tool.description.as_str(), tool.read_only), ("", false));
        for nameless in [json!({}), json!({"name": ""}), json!({"name": 5}), json!("t"), json!(null)] {
            assert!(read(&nameless).is_none(), "{nameless}");
        }
    }
}
