//! Tool calls: what was decided about them, what came of them, and how long each part took.

use crate::edit_facts::{EDITORS, language, lines};
use crate::head_commit::head_commit;
use crate::names;
use crate::record::{Recorder, agent_id, cut, millis, new_span};
use crate::shell_facts;
use crate::state::{Call, Wait};
use crate::tool_output::output;
use serde_json::{Map, Value, json};
use telemetry::{Count, Event, Metric, Span, SpanStatus};
use turn::{CallResult, HookAnswer, HookDecision, PermissionAnswer, Role, Ticket};
use wire::PermissionMode;

/// Decided by rules, by the mode, or by nobody being there to ask.
const BY_CONFIG: &str = "config";
const BY_HOOK: &str = "hook";

impl Recorder {
    pub(crate) fn call_begins(&self, role: &Role, ticket: Ticket, id: &str, name: &str, input: &Value) {
        self.with_talk(role, |talk| {
            talk.waits.insert(ticket, (Wait::Check, id.to_owned()));
            let request_id = talk.request_id.clone();
            talk.calls.entry(id.to_owned()).or_insert_with(|| Call {
                name: name.to_owned(),
                input: input.clone(),
                request_id,
                start: telemetry::now(),
                source: BY_CONFIG,
                hook_allows: false,
                running_since: None,
            });
        });
    }

    pub(crate) fn call_waits(&self, role: &Role, ticket: Ticket, wait: Wait, id: &str) {
        self.with_talk(role, |talk| drop(talk.waits.insert(ticket, (wait, id.to_owned()))));
    }

    fn change_call(&self, role: &Role, id: &str, change: impl FnOnce(&mut Call)) {
        self.with_talk(role, |talk| {
            if let Some(call) = talk.calls.get_mut(id) {
                change(call);
            }
        });
    }

    /// An input that no tool understands is neither decided about nor run.
    pub(crate) fn input_checked(&self, role: &Role, ticket: Ticket, is_good: bool) {
        self.with_talk(role, |talk| {
            let about = talk.answered(ticket);
            if let Some((_, id)) = about.filter(|_| !is_good) {
                talk.calls.remove(&id);
            }
        });
    }

    pub(crate) fn hook_answered(&self, role: &Role, ticket: Ticket, answer: &HookAnswer, mode: PermissionMode) {
        let about = self.with_talk(role, |talk| talk.answered(ticket));
        match about {
            Some((Wait::PreHook, id)) => {
                let is_no = answer.decision == Some(HookDecision::Deny) || answer.blocked.is_some();
                if is_no || answer.stop.is_some() {
                    self.change_call(role, &id, |call| call.source = BY_HOOK);
                    return self.rejected(role, &id, mode);
                }
                let allows = answer.decision == Some(HookDecision::Allow);
                self.change_call(role, &id, |call| call.hook_allows = allows);
            }
            Some((Wait::PermissionHook, id)) => {
                let Some(permission) = &answer.permission else { return };
                self.change_call(role, &id, |call| call.source = BY_HOOK);
                if permission["behavior"] != "allow" {
                    self.rejected(role, &id, mode);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn judged(&self, role: &Role, ticket: Ticket, decision: &policy::Decision) {
        let Some((_, id)) = self.with_talk(role, |talk| talk.answered(ticket)) else { return };
        let is_asked = decision.verdict == policy::Verdict::Ask;
        self.change_call(role, &id, |call| {
            if is_asked && call.hook_allows {
                call.source = BY_HOOK;
            }
        });
    }

    pub(crate) fn permission_answered(
        &self,
        role: &Role,
        ticket: Ticket,
        answer: &PermissionAnswer,
        mode: PermissionMode,
    ) {
        let Some((_, id)) = self.with_talk(role, |talk| talk.answered(ticket)) else { return };
        // Where nobody was there the rules have the last word.
        let PermissionAnswer::Answer(answer) = answer else { return };
        let is_yes = answer["behavior"] == "allow";
        let is_lasting = answer["updatedPermissions"].as_array().is_some_and(|updates| !updates.is_empty());
        let source = match (is_yes, is_lasting, answer["interrupt"] == true) {
            (true, true, _) => "user_permanent",
            (true, false, _) => "user_temporary",
            (false, _, true) => "user_abort",
            (false, _, false) => "user_reject",
        };
        self.change_call(role, &id, |call| call.source = source);
        if !is_yes {
            self.rejected(role, &id, mode);
        }
    }

    /// The call is over without having run.
    pub(crate) fn rejected(&self, role: &Role, id: &str, mode: PermissionMode) {
        let Some(call) = self.with_talk(role, |talk| talk.calls.remove(id)) else { return };
        self.decided(role, id, &call, false, mode);
        self.call_span(role, id, &call, None);
    }

    /// The call may run, with this input.
    pub(crate) fn runs(&self, role: &Role, ticket: Ticket, id: &str, input: &Value, mode: PermissionMode) {
        let now = telemetry::now();
        let call = self.with_talk(role, |talk| {
            talk.waits.insert(ticket, (Wait::Running, id.to_owned()));
            let call = talk.calls.get_mut(id)?;
            call.input = input.clone();
            call.running_since = Some(now);
            Some(call.clone())
        });
        if let Some(call) = call {
            if input["run_in_background"] == true && call.name == "Agent" {
                self.state().background_calls.insert(id.to_owned());
            }
            self.decided(role, id, &call, true, mode);
        }
    }

    fn decided(&self, role: &Role, id: &str, call: &Call, is_yes: bool, mode: PermissionMode) {
        let decision = if is_yes { "accept" } else { "reject" };
        let gates = self.telemetry.gates();
        let event = Event::tool_decision(&call.name, id, is_yes, call.source, gates)
            .with_some("tool_parameters", self.parameters(call, None))
            .with("permission_mode", mode.as_str())
            .with_some("request_id", call.request_id.as_deref())
            .with_some("agent_id", agent_id(role));
        let blocked = self.span_of_call(role, "blocked", id);
        self.telemetry.record_in(event, blocked.or_else(|| self.parent(role)));
        if EDITORS.contains(&call.name.as_str()) {
            let count = Count::new(Metric::EditDecisions, 1.0)
                .with("decision", decision)
                .with("source", call.source)
                .with("tool_name", call.name.as_str());
            self.telemetry.count(count.with("language", language(&call.input)));
        }
        let Some(own) = blocked else { return };
        let tool = self.span_of_call(role, "tool", id);
        let span = new_span("tool.blocked_on_user", own, tool, call.start);
        let lasted = millis(span.start, span.end);
        let span = span.with("gen_ai.conversation.id", self.conversation_id(role)).with("duration_ms", lasted);
        self.telemetry.span(span.with("decision", decision).with("source", call.source));
    }

    /// Of cancelled work nothing is told.
    pub(crate) fn stopped(&self, role: &Role, ticket: Ticket) {
        self.with_talk(role, |talk| {
            talk.requests.remove(&ticket);
            if let Some((_, id)) = talk.answered(ticket) {
                talk.calls.remove(&id);
            }
        });
    }

    pub(crate) fn finished(&self, role: &Role, ticket: Ticket, result: &CallResult) {
        let ended = self.with_talk(role, |talk| {
            let (_, id) = talk.answered(ticket)?;
            talk.calls.remove(&id).map(|call| (id, call, talk.model.clone()))
        });
        let Some((id, call, model)) = ended else { return };
        let since = call.running_since.unwrap_or(call.start);
        let lasted = millis(since, telemetry::now());
        let (words, is_error) = (result.words(), result.is_error());
        let commit = self.commit_made(&call, (!is_error).then_some(&words));
        let (revision, branch) = commit.map_or((None, None), |(revision, branch)| (Some(revision), branch));
        let event = Event::new("tool_result")
            .with("tool_name", names::tool(&call.name, "mcp_tool", self.details()))
            .with("tool_use_id", id.as_str())
            .with("success", (!is_error).to_string())
            .with("duration_ms", lasted.to_string())
            .with_some("error_type", is_error.then(|| error_class(&call.name)))
            .with_some("error", (is_error && self.details()).then(|| self.content(&words)))
            .with_some("tool_parameters", self.parameters(&call, Some(&words)))
            .with_input(&self.shown_input(&call.input), self.telemetry.gates())
            .with_some("tool_result_size_bytes", (!is_error).then(|| words.len().to_string()))
            .with_some("mcp_server_scope", self.server_scope(&call.name))
            .with_some("vcs.ref.head.revision", revision)
            .with_some("vcs.ref.head.name", branch.as_deref())
            .with_some("vcs.ref.head.type", branch.as_ref().map(|_| "branch"))
            .with_some("request_id", call.request_id.as_deref())
            .with_some("agent_id", agent_id(role));
        self.record(role, event);
        if !is_error {
            self.count_work(&call, result, &model);
        }
        self.execution_span(role, &id, &call, &words, is_error);
        self.call_span(role, &id, &call, Some(result));
        if call.name == "Skill" && !is_error {
            self.skill_activated(role, &call);
        }
        if let Some((server, tool)) = names::mcp_tool(&call.name) {
            let tool = (server.to_owned(), tool.to_owned());
            self.with_talk(role, |talk| {
                talk.mcp_result.get_or_insert(tool);
            });
        }
    }

    fn count_work(&self, call: &Call, result: &CallResult, model: &str) {
        if EDITORS.contains(&call.name.as_str())
            && let Some((added, removed)) = lines(&result.structured)
        {
            for (kind, lines) in [("added", added), ("removed", removed)] {
                let count = Count::new(Metric::LinesOfCode, lines as f64).with("type", kind);
                self.telemetry.count(count.with("model", model));
            }
        }
        if call.name == "Bash" {
            let command = call.input["command"].as_str().unwrap_or_default();
            if shell_facts::commits(command) {
                self.telemetry.count(Count::new(Metric::Commits, 1.0));
            }
            if shell_facts::opens_pull_request(command) {
                self.telemetry.count(Count::new(Metric::PullRequests, 1.0));
            }
        }
    }

    fn skill_activated(&self, role: &Role, call: &Call) {
        let name = call.input["skill"].as_str().or(call.input["command"].as_str()).unwrap_or_default();
        self.state().skill = Some(name.to_owned());
        let shown = if self.details() { name } else { "custom_skill" };
        let event = Event::new("skill_activated").with("skill.name", shown);
        self.record(role, event.with("invocation_trigger", "claude-proactive"));
    }

    fn execution_span(&self, role: &Role, id: &str, call: &Call, words: &str, is_error: bool) {
        let Some(own) = self.span_of_call(role, "execution", id) else { return };
        let tool = self.span_of_call(role, "tool", id);
        let span = new_span("tool.execution", own, tool, call.running_since.unwrap_or(call.start));
        let lasted = millis(span.start, span.end);
        let mut span = span
            .with("gen_ai.conversation.id", self.conversation_id(role))
            .with("tool_use_id", id)
            .with("gen_ai.tool.call.id", id)
            .with("duration_ms", lasted)
            .with("success", !is_error);
        if is_error {
            let class = error_class(&call.name);
            let error = if self.details() { self.content(words) } else { class.to_owned() };
            span.status = SpanStatus::Error(error.clone());
            span = span.with("error.type", "tool_error").with("error", error).with("error_class", class);
        }
        self.telemetry.span(span);
    }

    fn call_span(&self, role: &Role, id: &str, call: &Call, result: Option<&CallResult>) {
        let Some(own) = self.span_of_call(role, "tool", id) else { return };
        let server = names::mcp_tool(&call.name).filter(|_| self.details());
        let name = names::tool(&call.name, "mcp_tool", self.details());
        let span = new_span("tool", own, self.parent(role), call.start)
            .with("tool_name", name)
            .with("tool_name_safe", names::tool(&call.name, "mcp_other", false))
            .with("gen_ai.operation.name", "execute_tool")
            .with("gen_ai.tool.name", server.map_or(name, |(_, tool)| tool))
            .with_some("anthropic.mcp.server.name", server.map(|(server, _)| server))
            .with("gen_ai.conversation.id", self.conversation_id(role));
        let lasted = millis(span.start, span.end);
        let mut span = self
            .about_command(span, call)
            .with("tool_use_id", id)
            .with("gen_ai.tool.call.id", id)
            .with("duration_ms", lasted)
            .with_some("agent_id", agent_id(role));
        let result_to_tell = result.filter(|_| self.telemetry.gates().tool_content());
        if let Some(told) = result_to_tell.and_then(|result| output(call, result, self.details())) {
            let content = told.iter().flat_map(|(name, text)| self.marked_content(name, text)).collect();
            span.events.push(("tool.output".to_owned(), span.end, content));
        }
        self.telemetry.span(self.detailed_call(span, call, result));
    }

    /// Content with the length that it had, where it was cut.
    fn marked_content(&self, name: &str, text: &str) -> Vec<telemetry::Attribute> {
        let hidden = self.hidden(text);
        let Some(short) = cut(&hidden, self.telemetry.content_max()) else {
            return vec![(name.to_owned(), hidden.into())];
        };
        let length = hidden.encode_utf16().count() as u64;
        vec![
            (name.to_owned(), short.into()),
            (format!("{name}_truncated"), true.into()),
            (format!("{name}_original_length"), length.into()),
        ]
    }

    /// Where the server of a tool was configured.
    fn server_scope(&self, tool: &str) -> Option<String> {
        let (server, _) = names::mcp_tool(tool)?;
        let state = self.state();
        let found = state.servers.iter().find(|(name, _)| names::server_in_tools(name) == server);
        found.map(|(_, (_, _, scope))| scope.clone())
    }

    /// The kind of a shell command; with details also what was touched and started.
    fn about_command(&self, mut span: Span, call: &Call) -> Span {
        if call.name == "Bash" {
            let command = call.input["command"].as_str().unwrap_or_default();
            let (class, program) = shell_facts::class(command);
            span = span.with("bash_command_class", class).with("bash_argv0", program);
        }
        if !self.details() {
            return span;
        }
        let told = [
            ("file_path", "file_path"),
            ("command", "full_command"),
            ("skill", "skill_name"),
            ("subagent_type", "subagent_type"),
        ];
        for (key, name) in told {
            span = span.with_some(name, call.input[key].as_str().map(|text| self.content(text)));
        }
        span
    }

    /// The commit that a shell command made, by what it printed, and the commit's branch; where details are released. Git
    /// prints the beginning of the commit's name, and the repository may have the rest.
    fn commit_made(&self, call: &Call, output: Option<&str>) -> Option<(String, Option<String>)> {
        let command = call.input["command"].as_str().filter(|_| call.name == "Bash" && self.details())?;
        let (id, branch) = output.filter(|_| shell_facts::commits(command)).and_then(shell_facts::commit_of)?;
        let whole = head_commit(&self.folder).filter(|whole| whole.starts_with(id));
        Some((whole.unwrap_or_else(|| id.to_owned()), branch.map(|branch| self.content(branch))))
    }

    /// What a call is about, as JSON in a text, where details are released.
    fn parameters(&self, call: &Call, output: Option<&str>) -> Option<String> {
        if !self.details() {
            return None;
        }
        let mut told = Map::new();
        let text = |key: &str| call.input[key].as_str().unwrap_or_default();
        match call.name.as_str() {
            "Bash" => {
                let command = text("command");
                told.insert("bash_command".into(), json!(shell_facts::program(command)));
                told.insert("full_command".into(), json!(command));
                for key in ["timeout", "description", "dangerouslyDisableSandbox"] {
                    let value = &call.input[key];
                    if !value.is_null() {
                        told.insert(key.into(), value.clone());
                    }
                }
                if let Some((id, branch)) = self.commit_made(call, output) {
                    told.insert("git_commit_id".into(), json!(id));
                    told.extend(branch.map(|branch| ("git_branch".to_owned(), json!(branch))));
                }
            }
            "Skill" => drop(told.insert("skill_name".into(), json!(text("skill")))),
            "Agent" => drop(told.insert("subagent_type".into(), json!(text("subagent_type")))),
            name => {
                let (server, tool) = names::mcp_tool(name)?;
                told.insert("mcp_server_name".into(), json!(server));
                told.insert("mcp_tool_name".into(), json!(tool));
            }
        }
        Some(self.content(&Value::Object(told).to_string()))
    }

    /// The input without secrets, where it is shown at all.
    fn shown_input(&self, input: &Value) -> Value {
        if !self.details() {
            return input.clone();
        }
        serde_json::from_str(&self.hidden(&input.to_string())).unwrap_or(Value::Null)
    }
}

fn error_class(tool: &str) -> &'static str {
    match tool {
        "Bash" => "ShellError",
        name if name.starts_with("mcp__") => "McpToolCallError",
        _ => "ToolError",
    }
}
