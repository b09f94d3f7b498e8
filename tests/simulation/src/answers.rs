//! What comes of each effect.

use crate::world::World;
use policy::{Decision, Verdict};
use serde_json::{Value, json};
use turn::{
    Attachment, CallContent, CallResult, Command, CommandFailure, Effect, Gather, Gathered, Hook, HookAnswer,
    HookDecision, Input, PermissionAnswer, Prepared, STRUCTURED_OUTPUT, ToolFinish,
};

/// Stands for a credential in what tools and hooks say.
pub const SECRET: &str = "S3CRET-VALUE";

impl World {
    /// The answer to an effect that has one answer.
    pub fn answer(&mut self, effect: Effect) -> Input {
        match effect {
            Effect::Prepare { ticket, is_first } => {
                Input::Prepared { ticket, prepared: Box::new(self.prepared(is_first)) }
            }
            Effect::Gather { ticket, what } => Input::Gathered { ticket, gathered: Box::new(self.gathered(&what)) },
            Effect::ReadCommand { ticket, .. } => Input::CommandRead { ticket, command: self.command() },
            Effect::ExpandCommand { ticket, .. } => {
                let blocks = match self.pick(4) {
                    0 | 1 => Ok(vec![json!({"type": "text", "text": format!("expanded {}", self.number())})]),
                    2 => Ok(Vec::new()),
                    _ => Err(CommandFailure("the command failed".into())),
                };
                Input::CommandExpanded { ticket, blocks }
            }
            Effect::RunCommand { ticket, .. } => {
                let answer = if self.happens(20) { Err(CommandFailure("no".into())) } else { Ok("done".into()) };
                Input::CommandDone { ticket, answer }
            }
            Effect::ResetConversation { ticket } => Input::ConversationReset { ticket, preamble: self.preamble() },
            Effect::FireHook { ticket, hook } => Input::HookAnswered { ticket, answer: Box::new(self.hook(&hook)) },
            Effect::RenewCredentials { ticket } => Input::CredentialsRenewed { ticket, renewed: self.happens(50) },
            Effect::Summarise { ticket, .. } => self.summary(ticket),
            Effect::CheckInput { ticket, name, input, .. } => {
                let checked = if self.happens(8) {
                    Err(CallResult::misuse("not for this tool"))
                } else if name == STRUCTURED_OUTPUT && self.happens(60) {
                    Err(CallResult::error("does not fit the schema"))
                } else {
                    Ok(with_default(input))
                };
                Input::InputChecked { ticket, checked }
            }
            Effect::Judge { ticket, .. } => {
                Input::Judged { ticket, decision: self.decision(), suggestions: Vec::new() }
            }
            Effect::AskPermission { ticket, question } => {
                Input::PermissionAnswered { ticket, answer: self.permission(&question.input) }
            }
            Effect::ApplyUpdates { ticket, .. } => Input::UpdatesApplied { ticket },
            Effect::RunTool { ticket, name, .. } => {
                Input::ToolFinished { ticket, finish: Box::new(self.tool_finish(&name)) }
            }
            Effect::HideSecrets { ticket, result } => Input::SecretsHidden { ticket, result: hidden(result) },
            other => unreachable!("{other:?} has no single answer"),
        }
    }

    fn prepared(&mut self, is_first: bool) -> Prepared {
        Prepared {
            problem: self.happens(2).then(|| "there is no such agent".to_owned()),
            preamble: if is_first && self.happens(20) { Some(self.preamble()) } else { None },
            initial_prompt: if is_first && self.happens(10) { Some("initial".into()) } else { None },
        }
    }

    pub fn preamble(&mut self) -> Option<String> {
        self.happens(30).then(|| "instructions".to_owned())
    }

    fn gathered(&mut self, what: &Gather) -> Gathered {
        let mut gathered = Gathered::default();
        if *what == Gather::InstructionsLoaded || !self.happens(15) {
            return gathered;
        }
        match self.pick(3) {
            0 => gathered.reminders.push(format!("reminder {}", self.number())),
            1 => gathered.late.push(format!("late {}", self.number())),
            _ => {
                let text = ["file", ""][self.pick(2)];
                let blocks = vec![json!({"type": "text", "text": text})];
                gathered.attachments.push(Attachment { attachment: json!({"type": "file"}), blocks });
            }
        }
        gathered
    }

    fn command(&mut self) -> Command {
        match self.pick(8) {
            0 => Command::None,
            1 | 2 => Command::Expands {
                kind: "slash_command",
                name: "fix".into(),
                args: String::new(),
                source: "project".into(),
            },
            3 => Command::Blocks(vec![json!({"type": "text", "text": "init"})]),
            4 => Command::Clear,
            5 => Command::Compact { wish: None },
            6 => Command::Local { name: "cost", args: String::new() },
            _ => Command::Failed("Unknown command".into()),
        }
    }

    fn summary(&mut self, ticket: turn::Ticket) -> Input {
        match self.pick(6) {
            4 => Input::SummaryFinished { ticket, text: " ".into(), preamble: None },
            5 => Input::SummaryFailed { ticket, failure: Box::new(self.failure()) },
            _ => {
                let preamble = if self.happens(30) { Some(self.preamble()) } else { None };
                Input::SummaryFinished { ticket, text: format!("summary {}", self.number()), preamble }
            }
        }
    }

    fn hook(&mut self, hook: &Hook) -> HookAnswer {
        let mut answer = HookAnswer::default();
        if !self.happens(self.plan.hooks) {
            return answer;
        }
        let is_call = matches!(hook, Hook::PreToolUse { .. });
        match self.pick(9) {
            0 => answer.contexts.push(format!("context {}", self.number())),
            1 | 2 => answer.blocked = Some("blocked".into()),
            3 => answer.stop = Some("stopped".into()),
            4 if is_call => {
                let decisions = [HookDecision::Allow, HookDecision::Ask, HookDecision::Deny, HookDecision::Defer];
                answer.decision = Some(decisions[self.pick(4)]);
            }
            5 if is_call => answer.updated_input = Some(json!({"v": self.number(), "by": "hook"})),
            6 if is_call => {
                answer.updated_input = Some(json!({"v": self.number(), "by": "hook"}));
                answer.decision = Some(if self.happens(30) { HookDecision::Defer } else { HookDecision::Allow });
            }
            _ => self.hook_of_its_kind(hook, &mut answer),
        }
        answer
    }

    fn hook_of_its_kind(&mut self, hook: &Hook, answer: &mut HookAnswer) {
        match hook {
            Hook::PermissionRequest { input, .. } => answer.permission = Some(self.permission_object(input)),
            Hook::PermissionDenied { .. } => answer.retry = true,
            Hook::PostToolUse { .. } | Hook::PostToolUseFailure { .. } => {
                answer.updated_output = Some(match self.pick(3) {
                    0 => json!(format!("replaced {}", self.number())),
                    1 => json!(format!("replaced by {SECRET}")),
                    _ => json!([{"type": "text", "text": format!("replaced by {SECRET}")}]),
                });
            }
            Hook::SessionStart { .. } => answer.initial_user_message = Some(["hello", " "][self.pick(2)].into()),
            Hook::UserPromptSubmit { .. } => answer.session_title = Some("title".into()),
            Hook::PreToolUse { .. } => answer.decision = Some(HookDecision::Defer),
            _ => {}
        }
    }

    fn decision(&mut self) -> Decision {
        let verdicts = [Verdict::Allow, Verdict::Allow, Verdict::Ask, Verdict::Ask, Verdict::Deny];
        let verdict = verdicts[self.pick(verdicts.len())];
        let reason_type = if self.happens(30) { "rule" } else { "mode" };
        let run = self.happens(30).then(|| format!("as judged {}", self.number()));
        Decision { verdict, reason_type, reason: "reason.".into(), rule: None, blocked_path: None, run }
    }

    fn permission(&mut self, input: &Value) -> PermissionAnswer {
        match self.pick(12) {
            10 => PermissionAnswer::Nobody,
            11 => PermissionAnswer::NoPrompter("no such tool".into()),
            _ => PermissionAnswer::Answer(self.permission_object(input)),
        }
    }

    fn permission_object(&mut self, input: &Value) -> Value {
        match self.pick(9) {
            0 | 1 => json!({"behavior": "allow"}),
            2 => json!({"behavior": "allow", "updatedInput": input}),
            3 => json!({"behavior": "allow", "updatedInput": {"v": self.number(), "by": "client"}}),
            4 => json!({"behavior": "allow", "updatedPermissions": [{"type": "setMode"}]}),
            5 => {
                json!({"behavior": "allow", "updatedPermissions": [{"type": "addRules"}], "updatedInput": {"v": self.number()}})
            }
            6 => json!({"behavior": "deny", "message": "no"}),
            7 => json!({"behavior": "deny", "interrupt": true}),
            _ => json!({"behaviour": "allow"}),
        }
    }

    fn tool_finish(&mut self, name: &str) -> ToolFinish {
        let number = self.number();
        let text = match self.pick(4) {
            2 => format!("result {number} {SECRET}"),
            _ => format!("result {number}"),
        };
        let result = match self.pick(5) {
            3 => CallResult::error(text),
            4 => CallResult {
                content: CallContent::Blocks(vec![json!({"type": "text", "text": text})]),
                structured: json!([text]),
                flag: turn::ErrorFlag::No,
            },
            _ => CallResult::text(text.clone(), json!({"text": text})),
        };
        let mut finish = ToolFinish::from(result);
        if name == "Skill" && self.happens(60) {
            finish.follow_up = Some(["body", " "][self.pick(2)].into());
        }
        if name == STRUCTURED_OUTPUT && !finish.result.is_error() {
            finish.structured = Some(json!({"v": number}));
        }
        if name.starts_with("mcp__") {
            finish.ends_turn = self.happens(20);
        }
        if self.happens(3) {
            finish.stop = Some("stopped inside".into());
        }
        finish
    }
}

/// Checks fill in what a schema leaves to a default.
fn with_default(mut input: Value) -> Value {
    if let Value::Object(map) = &mut input {
        map.entry("d").or_insert(json!(0));
    }
    input
}

fn hidden(mut result: CallResult) -> CallResult {
    result.structured = hidden_value(result.structured);
    result.content = match result.content {
        CallContent::Text(text) => CallContent::Text(text.replace(SECRET, "[secret]")),
        CallContent::Blocks(blocks) => CallContent::Blocks(blocks.into_iter().map(hidden_value).collect()),
    };
    result
}

fn hidden_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(SECRET, "[secret]")),
        Value::Array(items) => items.into_iter().map(hidden_value).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, hidden_value(value))).collect(),
        other => other,
    }
}
