//! Messages of our own in a conversation: reminders, synthetic messages, what belongs to a prompt but was not typed.

use crate::effect::{Effect, Entry};
use crate::turn::{Cx, Turn};
use serde_json::{Value, json};
use wire::{Event, Message, User};

impl Turn {
    /// Something that the model should know and no client needs to see.
    pub(crate) fn push_reminder(&mut self, text: &str, cx: &mut Cx) {
        self.push_meta(json!([{"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")}]), cx);
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
