//! Shortening a conversation before it outgrows the model's window.

use crate::ask::{self, NoReply};
use crate::shared::{Lane, Shared};
use crate::moments;
use crate::turn::End;
use crate::{AutoCompact, words};
use serde_json::{Value, json};
use session::UserExtra;
use std::time::Instant;
use wire::{CompactBoundary, CompactMetadata, Event, System};

/// Room kept free for the next answer and its tool results.
const HEADROOM_TOKENS: u64 = 33_000;

pub async fn if_needed(shared: &Shared, lane: &mut Lane) -> Result<(), End> {
    let own = model::info(&shared.model(&lane.role)).context_window;
    let window = shared.options.asking.window.map_or(own, |most| most.min(own));
    if lane.conversation.context_tokens < threshold(shared.options.asking.auto_compact, window) {
        return Ok(());
    }
    compact(shared, lane, "auto").await
}

fn threshold(setting: AutoCompact, window: u64) -> u64 {
    match setting {
        AutoCompact::Off => u64::MAX,
        AutoCompact::Auto => window.saturating_sub(HEADROOM_TOKENS).max(window / 2),
        AutoCompact::At(tokens) => tokens.min(window),
    }
}

/// Has the model write a summary and goes on from that alone.
pub async fn compact(shared: &Shared, lane: &mut Lane, trigger: &'static str) -> Result<(), End> {
    if !moments::may_compact(shared, lane, trigger).await {
        return Ok(());
    }
    let started = Instant::now();
    let before = lane.conversation.context_tokens;
    status(shared, lane, Some("compacting")).await;
    let summary = summarise(shared, lane).await?;
    let text = format!("{}\n\n{summary}", words::SUMMARY_HEAD);
    lane.conversation.compact(&text);
    lane.tools.reads.forget_answers();
    let metadata = CompactMetadata {
        trigger,
        pre_tokens: before,
        post_tokens: None,
        duration_ms: Some(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)),
    };
    write(shared, lane, &text, &metadata).await;
    status(shared, lane, None).await;
    moments::compacted(shared, lane, trigger, &summary).await;
    Ok(())
}

async fn summarise(shared: &Shared, lane: &Lane) -> Result<String, End> {
    let mut messages: Vec<Value> = lane.conversation.messages().to_vec();
    strip_pictures(&mut messages);
    let question = json!({"role": "user", "content": words::SUMMARISE});
    messages.push(question);
    let model = shared.model(&lane.role);
    match ask::aside(shared, &model, words::SUMMARISER, messages).await {
        Ok(reply) => {
            let text: Vec<&str> = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            Ok(text.join("\n"))
        }
        Err(NoReply::Cancelled) => Err(End::Interrupted { streaming: true }),
        Err(NoReply::Failed(failure)) => Err(End::Api(failure)),
    }
}

/// Pictures and documents cost much and tell a summary little.
fn strip_pictures(messages: &mut [Value]) {
    fn visit(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(visit),
            Value::Object(map) if map.get("type").is_some_and(|kind| kind == "image" || kind == "document") => {
                *value = json!({"type": "text", "text": "[a picture or document was here]"});
            }
            Value::Object(map) => {
                if let Some(content) = map.get_mut("content") {
                    visit(content);
                }
            }
            _ => {}
        }
    }
    messages.iter_mut().for_each(visit);
}

async fn write(shared: &Shared, lane: &mut Lane, text: &str, metadata: &CompactMetadata) {
    let fields = json!({"content": "Conversation compacted", "compactMetadata": metadata});
    lane.transcript.system(&shared.emitter.ids().next(), "compact_boundary", &fields, true);
    let extra = UserExtra { is_compact_summary: true, ..UserExtra::default() };
    lane.transcript.user(&shared.emitter.ids().next(), &json!({"role": "user", "content": text}), extra);
    if lane.role.is_main() {
        let boundary = CompactBoundary { compact_metadata: metadata.clone() };
        shared.emitter.send(Event::System(System::CompactBoundary(boundary))).await;
    }
}

async fn status(shared: &Shared, lane: &Lane, status: Option<&'static str>) {
    if lane.role.is_main() {
        shared.emitter.send(Event::System(System::Status { status, permission_mode: None })).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_leaves_room_and_never_vanishes() {
        assert_eq!(threshold(AutoCompact::Auto, 200_000), 167_000);
        assert_eq!(threshold(AutoCompact::Auto, 1_000_000), 967_000);
        assert_eq!(threshold(AutoCompact::Auto, 40_000), 20_000);
        assert_eq!(threshold(AutoCompact::At(300_000), 200_000), 200_000);
        assert_eq!(threshold(AutoCompact::Off, 200_000), u64::MAX);
    }

    #[test]
    fn pictures_are_named_instead_of_sent() {
        let mut messages =
            vec![json!({"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{}}]}]})];
        strip_pictures(&mut messages);
        assert_eq!(messages[0]["content"][0]["content"][0]["type"], "text");
    }
}
