//! Plan mode, as the model knows it: told when it begins and when it ends, whoever switched it and whenever.
//!
//! Deliberately absent: what it forbids, which `policy` holds whatever the model was told.

use crate::shared::{Lane, Shared};
use crate::turn::whisper;
use crate::words;
use serde_json::Value;
use wire::PermissionMode;

/// Tells the main conversation what has changed since it was last told.
pub fn tell(shared: &Shared, lane: &mut Lane) {
    let is_on = shared.live.mode.get() == PermissionMode::Plan;
    if shared.live.plan_told.replace(is_on) == is_on {
        return;
    }
    if !is_on {
        whisper(shared, lane, words::PLAN_MODE_OFF);
        return;
    }
    let setup = shared.setup();
    let work = setup.prompting.plan.as_deref().unwrap_or(words::PLAN_MODE_WORK);
    whisper(shared, lane, &format!("{}\n\n{work}\n\n{}", words::PLAN_MODE, words::PLAN_MODE_END));
}

/// What a conversation that is taken up again was last told.
pub fn was_told(messages: &[Value]) -> bool {
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
