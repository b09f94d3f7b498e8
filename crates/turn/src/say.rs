//! Messages of our own in a conversation: reminders, synthetic messages, what belongs to a prompt but was not typed.

use crate::effect::{Effect, Entry};
use crate::state::HookContext;
use crate::turn::{Cx, Turn};
use serde_json::{Value, json};
use wire::{Assistant, Event, Message, PermissionMode, ResultUsage, Usage, User};

impl Turn {
    /// Something that the model should know and no client needs to see.
    pub(crate) fn push_reminder(&mut self, text: &str, cx: &mut Cx) {
        self.push_meta(json!([{"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")}]), cx);
    }

    /// What hooks want the model to know, each in an entry that says where it came from.
    pub(crate) fn push_contexts(&mut self, contexts: Vec<HookContext>, cx: &mut Cx) {
        for HookContext { event, text } in contexts {
            let told = json!([{"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")}]);
            let attachment = json!({
                "type": "hook_additional_context",
                "content": [text],
                "hookName": event,
                "hookEvent": event,
            });
            self.attach(attachment, told, cx);
        }
    }

    /// An attachment: an entry of its own kind, and content for the model.
    pub(crate) fn attach(&mut self, attachment: Value, content: Value, cx: &mut Cx) {
        if crate::conversation::is_blank(&content) {
            return;
        }
        let (id, message) = (self.ids.next_id(), json!({"role": "user", "content": content}));
        cx.push(Effect::Append(Entry::Attachment { id, attachment, message }));
        self.conversation.push_user(content);
    }

    /// The fields of a user entry that say which prompt it belongs to. Only the prompt's own entry names the mode.
    pub(crate) fn entry_fields(&self, mode: Option<PermissionMode>) -> Option<Value> {
        let mut fields = json!({"promptId": self.prompt_id.as_ref()?});
        if let Some(mode) = mode {
            fields["permissionMode"] = json!(mode.as_str());
        }
        Some(fields)
    }

    /// Lists of sessions look for the last prompt near the end of a file.
    pub(crate) fn write_last_prompt(&mut self, cx: &mut Cx) {
        if let Some(prompt) = self.books.prompt.take().filter(|_| self.role.is_main()) {
            cx.push(Effect::Append(Entry::Meta(json!({"type": "last-prompt", "lastPrompt": prompt}))));
        }
    }

    /// Content for the model that nobody typed.
    pub(crate) fn push_meta(&mut self, content: Value, cx: &mut Cx) {
        if crate::conversation::is_blank(&content) {
            return;
        }
        self.append_user(json!({"role": "user", "content": content}), true, cx);
        self.conversation.push_user(content);
    }

    /// A message of ours to the model, visible to clients as synthetic.
    pub(crate) fn push_synthetic(&mut self, text: &str, cx: &mut Cx) {
        if text.trim().is_empty() {
            return;
        }
        let content = json!([{"type": "text", "text": text}]);
        let message = json!({"role": "user", "content": content});
        let id = self.append_user(message.clone(), true, cx);
        self.conversation.push_user(content);
        self.books.user_messages += 1;
        if self.role.is_main() || self.settings.shows_subagent_text {
            let event = User {
                message: Message(message),
                parent_tool_use_id: self.role.parent_tool_use_id(),
                is_synthetic: Some(true),
                ..User::default()
            };
            cx.push(Effect::Emit { event: Box::new(Event::User(Box::new(event))), id: Some(id) });
        }
    }

    /// An answer that the model did not give, to a prompt that it was given. No part of the conversation.
    pub(crate) fn say_synthetic(&mut self, text: &str, cx: &mut Cx) {
        let message = self.synthetic(text);
        self.emit_assistant(message, None, None, cx);
    }

    /// The answer of a command of ours. The transcript has neither: of a session with nothing else there is nothing to resume.
    pub(crate) fn show_synthetic(&mut self, text: &str, cx: &mut Cx) {
        let message = Message(self.synthetic(text));
        cx.emit(Event::Assistant(Box::new(Assistant { message, ..Assistant::default() })));
    }

    /// A message in the form of the model's own, with nothing spent. Readers know it by its model.
    pub(crate) fn synthetic(&mut self, text: &str) -> Value {
        json!({
            "id": self.ids.next_id(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": ResultUsage::from(Usage::default()),
            "context_management": null,
        })
    }

    /// A whole message of ours to the client and into the transcript. `fields` are the entry's own.
    pub(crate) fn emit_assistant(
        &mut self,
        message: Value,
        error: Option<wire::Word>,
        fields: Option<Value>,
        cx: &mut Cx,
    ) {
        let id = self.ids.next_id();
        let (entry, request_id) = (message.clone(), None);
        cx.push(Effect::Append(Entry::Assistant { id: id.clone(), message: entry, request_id, fields }));
        let event = Assistant { message: Message(message), error, ..Assistant::default() };
        cx.push(Effect::Emit { event: Box::new(Event::Assistant(Box::new(event))), id: Some(id) });
    }

    /// A user entry without anything special; its id.
    pub(crate) fn append_user(&mut self, message: Value, is_meta: bool, cx: &mut Cx) -> String {
        let id = self.ids.next_id();
        cx.push(Effect::Append(Entry::User {
            id: id.clone(),
            message,
            is_meta,
            is_compact_summary: false,
            tool_use_result: None,
            source_assistant: None,
            fields: self.entry_fields(None),
        }));
        id
    }

    /// A hook may give the session its title.
    pub(crate) fn name_session(title: Option<&str>, cx: &mut Cx) {
        if let Some(title) = title.map(str::trim).filter(|title| !title.is_empty()) {
            cx.push(Effect::Append(Entry::Meta(json!({"type": "custom-title", "customTitle": title}))));
        }
    }
}
