//! Shortening a conversation before it outgrows the model's window.

use crate::ask::{self, NoReply};
use crate::conversation::blocks_of;
use crate::judge::GiveUp;
use crate::memory;
use crate::moments;
use crate::shared::{Lane, Shared};
use crate::turn::End;
use crate::{AutoCompact, words};
use serde_json::{Value, json};
use session::UserExtra;
use std::time::Instant;
use wire::{CompactBoundary, CompactMetadata, Event, Status, System};

/// Room kept free for the next answer and its tool results.
const HEADROOM_TOKENS: u64 = 33_000;

/// A conversation may be too long even to be summarised. Then each of its texts is cut to so many bytes,
/// to less and less: the last makes a thousand messages fit any window.
const TEXT_MAX: [usize; 4] = [usize::MAX, 20_000, 2_000, 200];

pub async fn if_needed(shared: &Shared, lane: &mut Lane) -> Result<(), End> {
    let own = model::info(&shared.model(&lane.role)).context_window;
    let window = shared.options.asking.window.map_or(own, |most| most.min(own));
    if lane.conversation.context_tokens < threshold(shared.options.asking.auto_compact, window) {
        return Ok(());
    }
    compact(shared, lane, "auto", None).await
}

fn threshold(setting: AutoCompact, window: u64) -> u64 {
    match setting {
        AutoCompact::Off => u64::MAX,
        AutoCompact::Auto => window.saturating_sub(HEADROOM_TOKENS).max(window / 2),
        AutoCompact::At(tokens) => tokens.min(window),
    }
}

/// Has the model write a summary and goes on from that alone.
pub async fn compact(shared: &Shared, lane: &mut Lane, trigger: &'static str, wish: Option<&str>) -> Result<(), End> {
    if !moments::may_compact(shared, lane, trigger, wish).await {
        return Ok(());
    }
    let started = Instant::now();
    let before = lane.conversation.context_tokens;
    status(shared, lane, Some("compacting")).await;
    let summary = match summarise(shared, lane, wish).await {
        Ok(summary) => summary,
        Err(end) => {
            done(shared, lane, "failed").await;
            return Err(end);
        }
    };
    let text = format!("{}\n\n{summary}", words::SUMMARY_HEAD);
    memory::begin_again(shared, lane);
    let prompt = lane.conversation.compact(&text);
    lane.tools.reads.forget_answers();
    let after = size(shared, &text);
    if lane.role.is_main() {
        shared.live.context_tokens.set(after);
        shared.live.plan_told.set(false);
    }
    let metadata = CompactMetadata {
        trigger: trigger.into(),
        pre_tokens: before,
        post_tokens: Some(after),
        duration_ms: Some(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)),
        ..CompactMetadata::default()
    };
    write(shared, lane, &text, &metadata).await;
    if let Some(prompt) = prompt {
        let message = json!({"role": "user", "content": prompt});
        let extra = UserExtra { is_meta: true, ..UserExtra::default() };
        lane.transcript.user(&shared.emitter.ids().next(), &message, extra);
    }
    done(shared, lane, "success").await;
    moments::compacted(shared, lane, trigger, &summary).await;
    memory::tell(shared, lane).await;
    Ok(())
}

/// Roughly what the next question will take: nobody has counted it yet.
fn size(shared: &Shared, summary: &str) -> u64 {
    let chars = shared.live.system_chars.get() + shared.live.tools_chars.get() + summary.len();
    (chars / crate::control::CHARS_PER_TOKEN) as u64
}

async fn summarise(shared: &Shared, lane: &Lane, wish: Option<&str>) -> Result<String, End> {
    let model = shared.model(&lane.role);
    let mut end = End::GaveUp(GiveUp::Empty);
    for most in TEXT_MAX {
        let messages = in_words(&lane.conversation.messages(), most, wish);
        match ask::aside(shared, &model, words::SUMMARISER, messages).await {
            Ok(reply) => {
                let text: Vec<&str> = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                let text = text.join("\n");
                // Going on from nothing would lose the conversation.
                if !text.trim().is_empty() {
                    return Ok(text);
                }
            }
            Err(NoReply::Cancelled) => return Err(End::Interrupted { streaming: true }),
            Err(NoReply::Failed(failure)) if failure.prompt_too_long => end = End::Api(failure),
            Err(NoReply::Failed(failure)) => return Err(End::Api(failure)),
        }
    }
    Err(end)
}

/// The conversation as plain text, with the wish for a summary behind it: without tools on offer the API
/// takes no calls and no results, and pictures cost much and tell a summary little. Roles alternate.
fn in_words(messages: &[Value], most: usize, wish: Option<&str>) -> Vec<Value> {
    let told = messages.iter().map(|message| {
        let blocks = blocks_of(message["content"].clone());
        let texts: Vec<String> = blocks.iter().filter_map(tell).map(|text| cut(text, most)).collect();
        (message["role"].as_str().unwrap_or("user"), texts.join("\n\n"))
    });
    let wish = wish.map(|wish| format!("\nWhat the user wants of these notes: {wish}")).unwrap_or_default();
    let asked = format!("{}{wish}", words::SUMMARISE);
    let mut joined: Vec<(&str, String)> = Vec::new();
    for (role, text) in told.filter(|(_, text)| !text.is_empty()).chain([("user", asked)]) {
        match joined.last_mut() {
            Some((last, so_far)) if *last == role => so_far.push_str(&format!("\n\n{text}")),
            _ => joined.push((role, text)),
        }
    }
    joined.into_iter().map(|(role, text)| json!({"role": role, "content": text})).collect()
}

fn tell(block: &Value) -> Option<String> {
    match block["type"].as_str()? {
        "text" => block["text"].as_str().map(str::to_owned),
        "tool_use" | "server_tool_use" => {
            Some(format!("[called {} with {}]", block["name"].as_str().unwrap_or("a tool"), block["input"]))
        }
        "tool_result" => {
            let texts: Vec<String> = blocks_of(block["content"].clone()).iter().filter_map(tell).collect();
            Some(format!("[it returned: {}]", texts.join("\n")))
        }
        "image" | "document" => Some("[a picture or document was here]".into()),
        _ => None,
    }
}

/// Beginning and end tell more than the middle.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

async fn write(shared: &Shared, lane: &mut Lane, text: &str, metadata: &CompactMetadata) {
    let fields = json!({"content": "Conversation compacted", "compactMetadata": metadata});
    lane.transcript.system(&shared.emitter.ids().next(), "compact_boundary", &fields, true);
    let extra = UserExtra { is_compact_summary: true, ..UserExtra::default() };
    lane.transcript.user(&shared.emitter.ids().next(), &json!({"role": "user", "content": text}), extra);
    if lane.role.is_main() {
        let boundary = CompactBoundary { compact_metadata: metadata.clone(), ..CompactBoundary::default() };
        shared.emitter.send(Event::System(System::CompactBoundary(boundary))).await;
    }
}

async fn status(shared: &Shared, lane: &Lane, status: Option<&'static str>) {
    tell_status(shared, lane, status, None).await;
}

async fn done(shared: &Shared, lane: &Lane, result: &'static str) {
    tell_status(shared, lane, None, Some(result)).await;
}

async fn tell_status(shared: &Shared, lane: &Lane, status: Option<&'static str>, compact_result: Option<&'static str>) {
    if lane.role.is_main() {
        let status = Status {
            status: status.map(Into::into),
            compact_result: compact_result.map(Into::into),
            ..Status::default()
        };
        shared.emitter.send(Event::System(System::Status(status))).await;
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
    fn a_conversation_is_told_without_tools_and_pictures() {
        let messages = [
            json!({"role":"user","content":"list"}),
            json!({"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}),
            json!({"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"a.txt"},{"type":"image","source":{}}]}]}),
            json!({"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}),
        ];
        assert_eq!(
            Value::Array(in_words(&messages, usize::MAX, None)),
            json!([
                {"role":"user","content":"list"},
                {"role":"assistant","content":"[called Bash with {\"command\":\"ls\"}]"},
                {"role":"user","content":
                    format!("[it returned: a.txt\n[a picture or document was here]]\n\n{}", words::SUMMARISE)},
            ])
        );
    }

    #[test]
    fn long_texts_keep_both_ends_and_whole_characters() {
        assert_eq!(cut("short".into(), 5), "short");
        assert_eq!(cut("ééééé".into(), 6), "é\n[6 bytes left out]\né");
    }
}
