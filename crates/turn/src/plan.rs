//! Plan mode, as the model knows it: told when it begins and when it ends, whoever switched it and whenever.
//!
//! Deliberately absent: what it forbids, which `policy` holds whatever the model was told.

use crate::turn::{Cx, Turn};
use crate::words;
use serde_json::Value;
use wire::PermissionMode;

impl Turn {
    /// Tells the main conversation what has changed since it was last told.
    pub(crate) fn tell_plan_mode(&mut self, cx: &mut Cx) {
        let is_on = self.settings.mode == PermissionMode::Plan;
        if std::mem::replace(&mut self.plan_told, is_on) == is_on {
            return;
        }
        if !is_on {
            return self.push_reminder(words::PLAN_MODE_OFF, cx);
        }
        let work = self.settings.plan_instructions.as_deref().unwrap_or(words::PLAN_MODE_WORK);
        let text = format!("{}\n\n{work}\n\n{}", words::PLAN_MODE, words::PLAN_MODE_END);
        self.push_reminder(&text, cx);
    }
}

/// What a conversation that is taken up again was last told.
pub(crate) fn was_told(messages: &[Value]) -> bool {
    let user = messages.iter().rev().filter(|message| message["role"] == "user");
    let texts = user.flat_map(|message| message["content"].as_array().into_iter().flatten().rev());
    let mut texts = texts.filter_map(|block| block["text"].as_str());
    texts.find_map(|text| match (text.contains(words::PLAN_MODE), text.contains(words::PLAN_MODE_OFF)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_word_counts() {
        let said = |texts: &[&str]| -> Vec<Value> {
            let block =
                |text: &&str| json!({"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")});
            vec![
                json!({"role": "user", "content": "hi"}),
                json!({"role": "user", "content": texts.iter().map(block).collect::<Vec<_>>()}),
                json!({"role": "assistant", "content": [{"type": "text", "text": words::PLAN_MODE}]}),
            ]
        };
        for (texts, expected) in [
            (&[][..], false),
            (&[words::PLAN_MODE], true),
            (&[words::PLAN_MODE, words::PLAN_MODE_OFF], false),
            (&[words::PLAN_MODE_OFF, words::PLAN_MODE], true),
        ] {
            assert_eq!(was_told(&said(texts)), expected, "{texts:?}");
        }
    }
}
