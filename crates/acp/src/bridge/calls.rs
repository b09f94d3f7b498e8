//! A tool call of an ACP agent as the loop knows calls: a name, an input, a result.

use serde_json::{Map, Value, json};

/// Of a result, for the loop.
const RESULT_MAX: usize = 64 * 1024;

/// Everything that was said of one call; what comes later replaces.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) title: String,
    pub(super) kind: String,
    status: String,
    raw_input: Value,
    raw_output: Value,
    content: Vec<Value>,
    /// What its command has printed, where the agent sends that in pieces.
    printed: String,
    path: Option<String>,
    pub(super) is_told: bool,
    pub(super) is_done: bool,
}

impl Call {
    pub(super) fn merge(&mut self, update: &Value) {
        for (key, place) in [("title", &mut self.title), ("kind", &mut self.kind), ("status", &mut self.status)] {
            if let Some(text) = update[key].as_str() {
                text.clone_into(place);
            }
        }
        for (key, place) in [("rawInput", &mut self.raw_input), ("rawOutput", &mut self.raw_output)] {
            if let Some(value) = update.get(key).filter(|value| !value.is_null()) {
                place.clone_from(value);
            }
        }
        if let Some(content) = update["content"].as_array() {
            self.content.clone_from(content);
        }
        let pieces = ["terminal_output_delta", "terminal_output"].map(|key| &update["_meta"][key]["data"]);
        for piece in pieces.iter().filter_map(|piece| piece.as_str()) {
            let room = RESULT_MAX.saturating_sub(self.printed.len());
            self.printed.push_str(&piece[..piece.floor_char_boundary(room)]);
        }
        if let Some(path) = update["locations"][0]["path"].as_str() {
            self.path = Some(path.to_owned());
        }
    }

    /// Enough is known to show it.
    pub(super) fn is_ready(&self) -> bool {
        let has_input = self.raw_input.as_object().is_some_and(|input| !input.is_empty());
        has_input || self.path.is_some() || !self.content.is_empty() || self.has_begun()
    }

    fn has_begun(&self) -> bool {
        !matches!(self.status.as_str(), "" | "pending")
    }

    /// `None` while it runs; else whether it failed.
    pub(super) fn ending(&self) -> Option<bool> {
        match self.status.as_str() {
            "completed" => Some(false),
            "failed" => Some(true),
            _ => None,
        }
    }

    /// The nearest tool of `claude`'s.
    pub(super) fn name(&self) -> &str {
        match self.kind.as_str() {
            "read" => "Read",
            "edit" | "delete" | "move" => "Edit",
            "search" => "Grep",
            "execute" => "Bash",
            "fetch" => "WebFetch",
            "think" => "Task",
            _ => self.name_by_input(),
        }
    }

    /// One agent says no kinds: a command is a command, and a text for a path is an edit. For people; permissions go by kind.
    fn name_by_input(&self) -> &str {
        let has = |keys: &[&str]| keys.iter().any(|key| !self.raw_input[*key].is_null());
        if has(&["command", "cmd"]) {
            return "Bash";
        }
        if has(&["path", "file_path", "filePath"]) && has(&["content", "after", "new_string"]) {
            return "Edit";
        }
        if self.title.is_empty() { "Tool" } else { &self.title }
    }

    /// The agent's own input, with the fields that the loop shows.
    pub(super) fn input(&self) -> Value {
        let mut input = self.raw_input.as_object().cloned().unwrap_or_default();
        let mut add = |key: &str, value: &str| {
            if !input.contains_key(key) && !value.is_empty() {
                input.insert(key.into(), value.into());
            }
        };
        match self.name() {
            "Read" | "Edit" => {
                let known =
                    self.path.as_deref().or_else(|| self.diff_path()).or_else(|| self.raw_input["path"].as_str());
                add("file_path", known.unwrap_or(&self.title));
            }
            "Bash" => {
                let words = self.raw_input["command"].as_array().or_else(|| self.raw_input["cmd"].as_array());
                let words = words.map(|words| words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
                let line = self.raw_input["cmd"].as_str().map(str::to_owned).or(words);
                if self.raw_input["command"].is_array() {
                    input.insert("command".into(), line.unwrap_or_default().into());
                } else {
                    add("command", line.as_deref().unwrap_or(&self.title));
                }
            }
            "Grep" => add("pattern", &self.title),
            "WebFetch" => add("url", &self.title),
            _ => add("description", &self.title),
        }
        input.into()
    }

    fn diff_path(&self) -> Option<&str> {
        self.content.iter().find(|one| one["type"] == "diff")?["path"].as_str()
    }

    pub(super) fn result_text(&self) -> String {
        let text = |one: &Value| match one["type"].as_str() {
            Some("content") => one["content"]["text"].as_str().map(str::to_owned),
            Some("diff") => Some(format!("changed {}", one["path"].as_str().unwrap_or_default())),
            _ => None,
        };
        let mut texts: Vec<String> = self.content.iter().filter_map(text).collect();
        if texts.is_empty() && !self.printed.is_empty() {
            texts.push(self.printed.clone());
        }
        if texts.is_empty() {
            texts.extend(match &self.raw_output {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                Value::Object(output) => Some(output_text(output)),
                other => Some(other.to_string()),
            });
        }
        let mut text = texts.join("\n");
        text.truncate(text.floor_char_boundary(RESULT_MAX));
        text
    }
}

fn output_text(output: &Map<String, Value>) -> String {
    let fields = ["output", "formatted_output", "aggregated_output", "stdout", "error", "message"];
    let found = fields.iter().find_map(|field| output.get(*field)?.as_str());
    found.map_or_else(|| json!(output).to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "tests write their values in place")]
    fn call(update: Value) -> Call {
        let mut call = Call::default();
        call.merge(&update);
        call
    }

    #[test]
    fn calls_are_named_after_the_nearest_tool() {
        for (update, name, key, value) in [
            (json!({"kind": "execute", "title": "ls"}), "Bash", "command", "ls"),
            (json!({"kind": "execute", "title": "t", "rawInput": {"cmd": "ls -l"}}), "Bash", "command", "ls -l"),
            (json!({"kind": "execute", "rawInput": {"command": ["sh", "-c", "ls"]}}), "Bash", "command", "sh -c ls"),
            (json!({"kind": "edit", "locations": [{"path": "/a"}]}), "Edit", "file_path", "/a"),
            (
                json!({"kind": "edit", "content": [{"type": "diff", "path": "/b", "newText": ""}]}),
                "Edit",
                "file_path",
                "/b",
            ),
            (json!({"kind": "read", "rawInput": {"file_path": "/c"}}), "Read", "file_path", "/c"),
            (json!({"kind": "strange", "title": "Dance"}), "Dance", "description", "Dance"),
            (json!({"title": "write", "rawInput": {"path": "/d", "content": "x"}}), "Edit", "file_path", "/d"),
            (json!({"title": "shell", "rawInput": {"command": "ls"}}), "Bash", "command", "ls"),
            (json!({"title": "tree", "rawInput": {"path": "/d"}}), "tree", "path", "/d"),
            (json!({}), "Tool", "x", ""),
        ] {
            let call = call(update.clone());
            assert_eq!(call.name(), name, "{update}");
            assert_eq!(call.input()[key].as_str().unwrap_or_default(), value, "{update}");
        }
    }

    #[test]
    fn a_call_is_shown_when_something_is_known_of_it() {
        assert!(!call(json!({"title": "x", "status": "pending", "rawInput": {}})).is_ready());
        assert!(call(json!({"title": "x", "rawInput": {"a": 1}})).is_ready());
        assert!(call(json!({"title": "x", "status": "in_progress"})).is_ready());
        assert_eq!(call(json!({"status": "completed"})).ending(), Some(false));
        assert_eq!(call(json!({"status": "failed"})).ending(), Some(true));
    }

    #[test]
    fn results_have_their_text_from_wherever_it_is() {
        let block = json!([{"type": "content", "content": {"type": "text", "text": "a"}}, {"type": "terminal", "terminalId": "x"}]);
        assert_eq!(call(json!({"content": block})).result_text(), "a");
        assert_eq!(call(json!({"rawOutput": {"stdout": "o", "exit": 1}})).result_text(), "o");
        assert_eq!(call(json!({"rawOutput": "plain"})).result_text(), "plain");
        assert_eq!(call(json!({})).result_text(), "");
        let mut call = call(json!({"content": [{"type": "terminal", "terminalId": "x"}]}));
        for piece in ["one\n", "two\n"] {
            call.merge(&json!({"_meta": {"terminal_output_delta": {"data": piece, "terminal_id": "x"}}}));
        }
        assert_eq!(call.result_text(), "one\ntwo\n", "codex-acp sends what a command prints in pieces");
    }
}
