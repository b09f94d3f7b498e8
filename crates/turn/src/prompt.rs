//! From a prompt to its place in the conversation: commands, hooks, attachments.

use crate::conversation::{is_unusable, last_text, message, text_of, usable, without_last_text};
use crate::effect::{Effect, Entry, Gather};
use crate::error::CommandFailure;
use crate::hook::{Hook, HookAnswer};
use crate::input::{Attachment, Command, Gathered};
use crate::result::End;
use crate::state::{ComingPrompt, HookContext, Step};
use crate::turn::{Cx, Turn};
use serde_json::{Value, json};
use wire::{Event, Informational, System, UserInput};

/// As much of a prompt as lists of sessions show.
const LAST_PROMPT_CHARS: usize = 2_000;

/// A command as readers of transcripts know it: its name and its words, each in a tag of its own.
fn as_command(content: Value) -> Value {
    let typed = last_text(&content).trim().to_owned();
    let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((&typed, ""));
    let text = format!(
        "<command-message>{}</command-message>\n<command-name>{name}</command-name>\n<command-args>{}</command-args>",
        name.trim_start_matches('/'),
        args.trim()
    );
    match without_last_text(content) {
        others if others.is_empty() => Value::String(text),
        mut others => {
            others.push(json!({"type": "text", "text": text}));
            Value::Array(others)
        }
    }
}

impl Turn {
    pub(crate) fn begin_prompt(&mut self, prompt: Box<UserInput>, cx: &mut Cx) {
        if is_unusable(&prompt.message.content) {
            cx.inform("The message was empty; nothing was sent to the model.", "notice");
            return self.finish(End::Done, cx);
        }
        if let Some(id) = &prompt.uuid {
            cx.push(Effect::SetPromptId(id.clone()));
            self.prompt_id = Some(id.clone());
        }
        let may_be_command = self.settings.reads_commands && prompt.client_composed != Some(true);
        let is_command = may_be_command && last_text(&prompt.message.content).trim_start().starts_with('/');
        let coming = ComingPrompt { prompt, command: None, contexts: Vec::new() };
        if is_command {
            let text = last_text(&coming.prompt.message.content).to_owned();
            let ticket = self.wait(Step::ReadCommand(coming));
            cx.push(Effect::ReadCommand { ticket, text });
        } else {
            self.submit_prompt(coming, cx);
        }
    }

    pub(crate) fn command_read(&mut self, mut coming: ComingPrompt, command: Command, cx: &mut Cx) {
        match command {
            Command::None => self.submit_prompt(coming, cx),
            Command::Expands { kind, name, args, source } => {
                let prompt = last_text(&coming.prompt.message.content).to_owned();
                let (known, given) = (name.clone(), args.clone());
                let hook = Hook::UserPromptExpansion { kind, name, args, source, prompt };
                self.fire(hook, Step::ExpansionHook { coming, name: known, args: given }, cx);
            }
            Command::Blocks(blocks) => {
                coming.command = Some(blocks);
                self.submit_prompt(coming, cx);
            }
            Command::Clear => self.fire(Hook::SessionEnd { reason: "clear" }, Step::ClearHook, cx),
            Command::Compact { .. } if !self.conversation.can_be_shortened() => {
                self.command_done(Ok("There is nothing to compact yet.".into()), cx);
            }
            Command::Compact { wish } => self.compact_by_command(wish, cx),
            Command::Local { name, args } => {
                let ticket = self.wait(Step::LocalCommand);
                cx.push(Effect::RunCommand { ticket, name, args });
            }
            Command::Failed(problem) => self.finish(End::BadCommand(problem), cx),
        }
    }

    pub(crate) fn expansion_allowed(
        &mut self,
        mut coming: ComingPrompt,
        name: String,
        args: String,
        answer: HookAnswer,
        cx: &mut Cx,
    ) {
        if let Some(reason) = answer.blocked.or(answer.stop) {
            return self.finish(End::BadCommand(format!("A hook refused /{name}: {reason}")), cx);
        }
        coming.contexts.extend(HookContext::all("UserPromptExpansion", answer.contexts));
        let ticket = self.wait(Step::Expand(coming));
        cx.push(Effect::ExpandCommand { ticket, name, args });
    }

    pub(crate) fn command_expanded(
        &mut self,
        mut coming: ComingPrompt,
        blocks: Result<Vec<Value>, CommandFailure>,
        cx: &mut Cx,
    ) {
        self.drop_inner_calls(cx);
        coming.contexts.append(&mut self.command_contexts);
        if let Some(reason) = self.command_stop.take() {
            return self.finish(End::HookStopped(reason), cx);
        }
        match blocks {
            Ok(blocks) => {
                coming.command = Some(blocks);
                self.submit_prompt(coming, cx);
            }
            Err(failure) => self.finish(End::BadCommand(failure.0), cx),
        }
    }

    /// A command of ours: no model call, its answer is the result.
    pub(crate) fn command_done(&mut self, answer: Result<String, CommandFailure>, cx: &mut Cx) {
        match answer {
            Ok(text) => {
                if !text.is_empty() {
                    self.show_synthetic(&text, cx);
                }
                self.books.last_text = text;
                self.finish(End::Done, cx);
            }
            Err(failure) => self.finish(End::BadCommand(failure.0), cx),
        }
    }

    /// The messages go at once: whatever happens until the runtime has its new session, they belong to the old one.
    pub(crate) fn clear(&mut self, cx: &mut Cx) {
        self.conversation = crate::conversation::Conversation::default();
        self.deferred = None;
        self.plan_told = false;
        cx.push(Effect::ForgetReads);
        let ticket = self.wait(Step::ClearReset);
        cx.push(Effect::ResetConversation { ticket });
    }

    fn submit_prompt(&mut self, coming: ComingPrompt, cx: &mut Cx) {
        let prompt = text_of(&coming.prompt.message.content).into_owned();
        self.fire(Hook::UserPromptSubmit { prompt }, Step::PromptHook(coming), cx);
    }

    pub(crate) fn prompt_allowed(&mut self, mut coming: ComingPrompt, answer: HookAnswer, cx: &mut Cx) {
        if let Some(reason) = answer.blocked.or(answer.stop) {
            return self.refuse_prompt(&reason, cx);
        }
        Self::name_session(answer.session_title.as_deref(), cx);
        coming.contexts.extend(HookContext::all("UserPromptSubmit", answer.contexts));
        self.take_prompt(coming, cx);
    }

    /// A hook refuses the prompt. That is no failure of the run: clients are told, and nothing is sent to the model.
    fn refuse_prompt(&mut self, reason: &str, cx: &mut Cx) {
        let content = format!("A hook refused the prompt: {reason}");
        cx.emit(Event::System(System::Informational(Informational {
            content: content.clone(),
            level: "warning".into(),
            prevent_continuation: Some(true),
            ..Informational::default()
        })));
        self.finish(End::PromptRefused(content), cx);
    }

    /// The prompt into transcript and conversation.
    fn take_prompt(&mut self, coming: ComingPrompt, cx: &mut Cx) {
        let ComingPrompt { prompt, command, contexts } = coming;
        let id = prompt.uuid.unwrap_or_else(|| self.ids.next_id());
        cx.push(Effect::BeginCheckpoint { id: id.clone() });
        let content = prompt.message.content;
        let text = text_of(&content);
        let written = if command.is_some() { as_command(content.clone()) } else { content.clone() };
        cx.push(Effect::Append(Entry::User {
            id,
            message: message("user", written),
            is_meta: false,
            is_compact_summary: false,
            tool_use_result: None,
            source_assistant: None,
            fields: self.entry_fields(Some(self.settings.mode)),
        }));
        let shown: String = text.chars().take(LAST_PROMPT_CHARS).collect();
        cx.push(Effect::Append(Entry::Meta(json!({"type": "last-prompt", "lastPrompt": shown}))));
        self.books.prompt = Some(shown);
        // Most prompts mention nothing, and a prompt may be megabytes.
        let may_mention = self.settings.reads_mentions && prompt.client_composed != Some(true) && command.is_none();
        let mentions = (may_mention && text.contains('@')).then(|| text.into_owned());
        match command {
            Some(blocks) => {
                self.conversation.push_user(usable(Value::Array(without_last_text(content))));
                self.push_meta(Value::Array(blocks), cx);
            }
            None => self.conversation.push_user(usable(content)),
        }
        let ticket = self.wait(Step::AfterPrompt { contexts });
        cx.push(Effect::Gather { ticket, what: Gather::AfterPrompt { mentions } });
    }

    pub(crate) fn prompt_complete(&mut self, contexts: Vec<HookContext>, gathered: Gathered, cx: &mut Cx) {
        for Attachment { attachment, blocks } in gathered.attachments {
            self.attach(attachment, Value::Array(blocks), cx);
        }
        for text in gathered.reminders {
            self.push_reminder(&text, cx);
        }
        self.push_contexts(contexts, cx);
        for text in gathered.late {
            self.push_reminder(&text, cx);
        }
        self.next_question(cx);
    }
}
