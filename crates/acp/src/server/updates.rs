//! The agent's events as `session/update`s.
//!
//! Text and thinking leave in pieces as they come; the finished block is not sent again. A tool call is announced once,
//! then updated. To-do lists leave as plans. Deliberately absent: the end of a turn (`turn.rs`).

use super::Capabilities;
use super::tools::{self, Described};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use wire::{Assistant, Block, Event, Outcome, Partial, Piece, System, ToolDenied, ToolResult, ToolUse, Usage, User};

/// What is assumed until a result says how large the model's window is.
const CONTEXT_WINDOW: u64 = 200_000;

/// Tool calls that are remembered. One turn has some hundreds.
const CALLS_MAX: usize = 10_000;

#[derive(Debug)]
struct Call {
    name: String,
    input: Value,
    is_open: bool,
}

/// One entry of the session's task list.
#[derive(Debug, Clone, PartialEq)]
struct Task {
    id: String,
    text: String,
    active: Option<String>,
    status: String,
}

/// What was said so far in a session, as much as the next update needs.
#[derive(Debug)]
pub(crate) struct Updates {
    cwd: PathBuf,
    client: Capabilities,
    message: Option<String>,
    /// A piece of a text was sent, and its finished block has not come yet.
    text_is_open: bool,
    thinking_is_open: bool,
    calls: HashMap<String, Call>,
    tasks: Vec<Task>,
    window: u64,
    used: u64,
    compactions: u64,
}

impl Updates {
    pub(crate) fn new(cwd: PathBuf, client: Capabilities) -> Self {
        Self {
            cwd,
            client,
            message: None,
            text_is_open: false,
            thinking_is_open: false,
            calls: HashMap::new(),
            tasks: Vec::new(),
            window: CONTEXT_WINDOW,
            used: 0,
            compactions: 0,
        }
    }

    /// The updates that an event stands for, in order.
    pub(crate) fn event(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::StreamEvent(partial) => self.partial(partial),
            Event::Assistant(assistant) => self.assistant(assistant),
            Event::User(user) => self.user(user),
            Event::System(system) => self.system(system),
            Event::ToolProgress(progress) => self.progress(&progress.tool_use_id),
            Event::Result(outcome) => self.result(outcome),
            _ => Vec::new(),
        }
    }

    fn partial(&mut self, partial: &Partial) -> Vec<Value> {
        let parent = partial.parent_tool_use_id.as_deref();
        match partial.piece() {
            Piece::MessageStart { id, .. } if parent.is_none() => {
                self.message = Some(id.into_owned());
                Vec::new()
            }
            Piece::Text(text) if parent.is_none() && !text.is_empty() => {
                self.text_is_open = true;
                vec![self.chunk("agent_message_chunk", &text)]
            }
            Piece::Thinking(text) if parent.is_none() && !text.is_empty() => {
                self.thinking_is_open = true;
                vec![self.chunk("agent_thought_chunk", &text)]
            }
            Piece::Other => self.begun_call(partial, parent),
            _ => Vec::new(),
        }
    }

    /// A call whose input is still being written.
    fn begun_call(&mut self, partial: &Partial, parent: Option<&str>) -> Vec<Value> {
        let raw = partial.event.get();
        if !raw.contains("content_block_start") || !raw.contains("tool_use") {
            return Vec::new();
        }
        let event: Value = serde_json::from_str(raw).unwrap_or_default();
        let block = &event["content_block"];
        match Block::of(block) {
            Block::ToolUse(call) => self.announce(&call, parent),
            _ => Vec::new(),
        }
    }

    fn assistant(&mut self, event: &Assistant) -> Vec<Value> {
        let parent = event.parent_tool_use_id.as_deref();
        let mut updates = Vec::new();
        if parent.is_none() && event.message.id().is_some() {
            self.message = event.message.id().map(str::to_owned);
        }
        // A missing login is an error of the prompt, for which clients have a button; as words it would be there twice.
        let is_login = event.error.as_deref() == Some("authentication_failed");
        for block in event.message.blocks() {
            match block {
                Block::Text(_) if is_login => {}
                Block::Text(text) if parent.is_none() => {
                    let is_new = !std::mem::take(&mut self.text_is_open) && !text.is_empty();
                    updates.extend(is_new.then(|| self.chunk("agent_message_chunk", text)));
                }
                Block::Thinking(text) if parent.is_none() => {
                    let is_new = !std::mem::take(&mut self.thinking_is_open) && !text.is_empty();
                    updates.extend(is_new.then(|| self.chunk("agent_thought_chunk", text)));
                }
                Block::ToolUse(call) => updates.extend(self.complete_call(&call, parent)),
                _ => {}
            }
        }
        if let Some(usage) = event.message.usage().filter(|_| parent.is_none()) {
            updates.extend(self.usage(&usage));
        }
        updates
    }

    fn chunk(&self, kind: &str, text: &str) -> Value {
        let mut update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        if let Some(message) = &self.message {
            update["messageId"] = json!(message);
        }
        update
    }

    /// The first mention of a call.
    fn announce(&mut self, call: &ToolUse<'_>, parent: Option<&str>) -> Vec<Value> {
        let name = call.name.unwrap_or_default();
        if call.id.is_empty() || self.calls.contains_key(call.id) || self.calls.len() >= CALLS_MAX {
            return Vec::new();
        }
        let input = if call.input.is_object() { call.input.clone() } else { json!({}) };
        self.calls.insert(call.id.into(), Call { name: name.into(), input: input.clone(), is_open: true });
        if tools::is_plan(name) {
            return Vec::new();
        }
        let Described { title, kind, locations, content } = tools::describe(name, &input, &self.cwd);
        let mut update = json!({
            "sessionUpdate": "tool_call", "toolCallId": call.id, "title": title, "kind": kind, "status": "pending",
            "rawInput": input, "content": content, "locations": locations,
            "_meta": {"claudeCode": {"toolName": name}},
        });
        if let Some(parent) = parent {
            update["_meta"]["claudeCode"]["parentToolUseId"] = json!(parent);
        }
        vec![update]
    }

    /// Its input is known now.
    fn complete_call(&mut self, call: &ToolUse<'_>, parent: Option<&str>) -> Vec<Value> {
        if !self.calls.contains_key(call.id) {
            let mut updates = self.announce(call, parent);
            updates.extend(self.plan_of_call(call));
            return updates;
        }
        let Some(known) = self.calls.get_mut(call.id) else { return Vec::new() };
        known.input = call.input.clone();
        let name = known.name.clone();
        if tools::is_plan(&name) {
            return self.plan_of_call(call).into_iter().collect();
        }
        let Described { title, kind, locations, content } = tools::describe(&name, call.input, &self.cwd);
        vec![json!({
            "sessionUpdate": "tool_call_update", "toolCallId": call.id, "title": title, "kind": kind,
            "rawInput": call.input, "content": content, "locations": locations,
            "_meta": {"claudeCode": {"toolName": name}},
        })]
    }

    /// Announces a call that only a permission question has named so far.
    pub(crate) fn asked_call(&mut self, id: &str, name: &str, input: &Value) -> Vec<Value> {
        self.announce(&ToolUse { id, name: Some(name), input }, None)
    }

    /// For a permission question.
    pub(crate) fn call_for_question(&self, id: &str, name: &str, input: &Value) -> Value {
        let Described { title, kind, locations, content } = tools::describe(name, input, &self.cwd);
        json!({
            "toolCallId": id, "title": title, "kind": kind, "status": "pending",
            "rawInput": input, "content": content, "locations": locations,
        })
    }

    fn user(&mut self, event: &User) -> Vec<Value> {
        let structured = event.tool_use_result.clone().unwrap_or_default();
        let mut updates = Vec::new();
        for block in event.message.blocks() {
            if let Block::ToolResult(result) = block {
                updates.extend(self.finish_call(&result, &structured));
            }
        }
        updates
    }

    pub(crate) fn finish_call(&mut self, result: &ToolResult<'_>, structured: &Value) -> Vec<Value> {
        let Some(call) = self.calls.get_mut(result.tool_use_id) else { return Vec::new() };
        if !std::mem::replace(&mut call.is_open, false) {
            return Vec::new();
        }
        let (name, input) = (call.name.clone(), call.input.clone());
        if tools::is_plan(&name) {
            return self.plan_of_result(&name, &input, result, structured).into_iter().collect();
        }
        let raw = if structured.is_null() { result.content } else { structured };
        let mut update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": result.tool_use_id,
            "status": if result.is_error { "failed" } else { "completed" }, "rawOutput": raw,
        });
        let done = tools::finished(&name, result.content, result.is_error, structured);
        if let Some(content) = done.content {
            update["content"] = content.into();
        }
        if let Some(locations) = done.locations {
            update["locations"] = locations.into();
        }
        if name == "ExitPlanMode" && !result.is_error {
            update["title"] = "Exited Plan Mode".into();
        }
        vec![update]
    }

    fn progress(&self, id: &str) -> Vec<Value> {
        let open = self.calls.get(id).filter(|call| call.is_open && !tools::is_plan(&call.name));
        let update = |_| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress"});
        open.map(update).into_iter().collect()
    }

    fn denied(&mut self, denied: &ToolDenied) -> Vec<Value> {
        let content = Value::from(denied.message.as_str());
        let result = ToolResult { tool_use_id: &denied.tool_use_id, is_error: true, content: &content };
        self.finish_call(&result, &Value::Null)
    }

    fn system(&mut self, system: &System) -> Vec<Value> {
        match system {
            System::PermissionDenied(denied) => self.denied(denied),
            System::LocalCommandOutput(output) if !output.content.is_empty() => {
                vec![self.chunk("agent_message_chunk", &output.content)]
            }
            System::Informational(told) if self.client.notices && !told.content.is_empty() => {
                let severity = if told.level == "warning" { "warning" } else { "info" };
                vec![json!({"sessionUpdate": "notice", "severity": severity, "title": told.content})]
            }
            System::Status(status) => match (status.status.as_deref(), status.compact_result.as_deref()) {
                (Some("compacting"), _) => {
                    self.compactions += 1;
                    self.compaction("in_progress")
                }
                (_, Some("success")) => self.compaction("completed"),
                (_, Some(_)) => self.compaction("failed"),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn compaction(&self, status: &str) -> Vec<Value> {
        if self.client.compaction {
            let id = format!("compaction-{}", self.compactions);
            return vec![json!({"sessionUpdate": "compaction_update", "compactionId": id, "status": status})];
        }
        let text = match status {
            "in_progress" => "Compacting the conversation…",
            "completed" => "\nThe conversation is compacted.\n",
            _ => "\nThe conversation could not be compacted.\n",
        };
        vec![json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})]
    }

    fn usage(&mut self, usage: &Usage) -> Option<Value> {
        let used = usage.context_tokens();
        (std::mem::replace(&mut self.used, used) != used).then(|| self.usage_update(None))
    }

    fn usage_update(&self, cost: Option<f64>) -> Value {
        let size = self.window.max(self.used);
        let mut update = json!({"sessionUpdate": "usage_update", "used": self.used, "size": size});
        if let Some(cost) = cost {
            update["cost"] = json!({"amount": cost, "currency": "USD"});
        }
        update
    }

    fn result(&mut self, outcome: &Outcome) -> Vec<Value> {
        let window = outcome.model_usage.values().map(|model| model.context_window).max();
        self.window = window.filter(|window| *window > 0).unwrap_or(self.window);
        let mut updates = self.close_calls();
        if outcome.total_cost_usd.is_some() {
            updates.push(self.usage_update(outcome.total_cost_usd));
        }
        updates
    }

    /// Calls without a result when the turn ends have failed.
    pub(crate) fn close_calls(&mut self) -> Vec<Value> {
        let mut open: Vec<String> =
            self.calls.iter().filter(|(_, call)| call.is_open).map(|(id, _)| id.clone()).collect();
        open.retain(|id| self.calls.get(id).is_some_and(|call| !tools::is_plan(&call.name)));
        open.sort();
        self.calls.clear();
        (self.text_is_open, self.thinking_is_open) = (false, false);
        open.iter()
            .map(|id| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed"}))
            .collect()
    }

    /// `TodoWrite` has the whole list in its input.
    fn plan_of_call(&mut self, call: &ToolUse<'_>) -> Option<Value> {
        if call.name != Some("TodoWrite") {
            return None;
        }
        let todo = |item: &Value| Task {
            id: String::new(),
            text: item["content"].as_str().unwrap_or_default().to_owned(),
            active: item["activeForm"].as_str().map(str::to_owned),
            status: item["status"].as_str().unwrap_or_default().to_owned(),
        };
        self.tasks = call.input["todos"].as_array()?.iter().map(todo).collect();
        Some(self.plan())
    }

    /// The task tools change one entry each, or tell all of them.
    fn plan_of_result(&mut self, name: &str, input: &Value, result: &ToolResult<'_>, data: &Value) -> Option<Value> {
        if result.is_error {
            return None;
        }
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        match name {
            "TaskCreate" => self.tasks.push(Task {
                id: text(&data["task"]["id"]).unwrap_or_else(|| (self.tasks.len() + 1).to_string()),
                text: text(&input["subject"])?,
                active: text(&input["activeForm"]),
                status: "pending".into(),
            }),
            "TaskUpdate" => {
                let id = input["taskId"].as_str().unwrap_or_default().trim_start_matches('#');
                let task = self.tasks.iter_mut().find(|task| task.id == id)?;
                task.status = text(&input["status"]).unwrap_or_else(|| task.status.clone());
                task.text = text(&input["subject"]).unwrap_or_else(|| task.text.clone());
                task.active = text(&input["activeForm"]).or(task.active.take());
                self.tasks.retain(|task| task.status != "deleted");
            }
            "TaskList" => {
                let listed = data["tasks"].as_array()?;
                let one = |item: &Value| {
                    let id = text(&item["id"]).unwrap_or_default();
                    let active = self.tasks.iter().find(|task| task.id == id).and_then(|task| task.active.clone());
                    Task {
                        id,
                        text: text(&item["subject"]).unwrap_or_default(),
                        active,
                        status: text(&item["status"]).unwrap_or_default(),
                    }
                };
                self.tasks = listed.iter().map(one).collect();
            }
            _ => return None,
        }
        Some(self.plan())
    }

    fn plan(&self) -> Value {
        let entry = |task: &Task| {
            let status = match task.status.as_str() {
                known @ ("in_progress" | "completed") => known,
                _ => "pending",
            };
            let active = task.active.as_deref().filter(|_| status == "in_progress");
            json!({"content": active.unwrap_or(&task.text), "priority": "medium", "status": status})
        };
        json!({"sessionUpdate": "plan", "entries": self.tasks.iter().map(entry).collect::<Vec<_>>()})
    }
}

#[cfg(test)]
#[path = "updates_tests.rs"]
mod tests;
