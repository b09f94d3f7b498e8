//! Shortening a conversation before it outgrows the model's window: a summary takes the place of the messages.

use crate::conversation::blocks_of;
use crate::effect::{Effect, Entry};
use crate::fault::Fault;
use crate::hook::{Hook, HookAnswer};
use crate::model_answer::ModelFailure;
use crate::next::GiveUp;
use crate::result::{End, reason};
use crate::state::{Compaction, Resume, Step};
use crate::turn::{Cx, Turn};
use crate::words;
use serde_json::{Value, json};
use wire::{CompactBoundary, CompactMetadata, Event, Status, System};

/// A conversation may be too long even to be summarised. Then each of its texts is cut to so many bytes,
/// to less and less: the last makes a thousand messages fit any window.
const TEXT_MAX: [usize; 4] = [usize::MAX, 20_000, 2_000, 200];

/// A question beside the conversation needs the gist of it, not every file that was read.
const ASIDE_TEXT_MAX: usize = 20_000;

/// A rough rule, for a number that nobody has counted yet.
const CHARS_PER_TOKEN: usize = 4;

impl Turn {
    pub(crate) fn compact_before_asking(&mut self, cx: &mut Cx) {
        self.compact("auto", None, Resume::Answer, cx);
    }

    pub(crate) fn compact_after_overflow(&mut self, cx: &mut Cx) {
        self.compact("auto", None, Resume::Question, cx);
    }

    pub(crate) fn compact_by_command(&mut self, wish: Option<String>, cx: &mut Cx) {
        self.compact("manual", wish, Resume::Command, cx);
    }

    fn compact(&mut self, trigger: &'static str, wish: Option<String>, resume: Resume, cx: &mut Cx) {
        let hook = Hook::PreCompact { trigger, wish: wish.clone() };
        let end = End::GaveUp(GiveUp::Empty);
        let compaction = Compaction { trigger, wish, resume, started_ms: cx.now.ms, attempt: 0, end };
        self.fire(hook, Step::PreCompact(Box::new(compaction)), cx);
    }

    pub(crate) fn compaction_allowed(&mut self, mut compaction: Box<Compaction>, answer: &HookAnswer, cx: &mut Cx) {
        if let Some(reason) = &answer.blocked {
            return match compaction.resume {
                Resume::Command => {
                    self.command_done(Ok(format!("A hook kept the conversation as it is: {reason}")), cx);
                }
                Resume::Answer | Resume::Question => self.compaction_done(&compaction, cx),
            };
        }
        compaction.started_ms = cx.now.ms;
        self.tell_compaction(Some("compacting"), None, cx);
        self.summarise(compaction, cx);
    }

    fn summarise(&mut self, compaction: Box<Compaction>, cx: &mut Cx) {
        let Some(most) = TEXT_MAX.get(compaction.attempt) else {
            let end = compaction.end.clone();
            return self.compaction_failed(&compaction, end, cx);
        };
        if self.interrupt.is_some() {
            return self.compaction_failed(&compaction, End::Interrupted { streaming: true }, cx);
        }
        let messages = in_words(&self.conversation.messages(), *most, compaction.wish.as_deref());
        let model = self.model_in_use();
        let ticket = self.wait(Step::Summary(compaction));
        cx.push(Effect::Summarise { ticket, model, messages });
    }

    pub(crate) fn summary_failed(&mut self, mut compaction: Box<Compaction>, failure: Box<ModelFailure>, cx: &mut Cx) {
        let may_be_shorter = failure.prompt_too_long;
        compaction.end = End::Api(failure);
        if may_be_shorter {
            compaction.attempt += 1;
            return self.summarise(compaction, cx);
        }
        let end = compaction.end.clone();
        self.compaction_failed(&compaction, end, cx);
    }

    #[expect(clippy::option_option, reason = "the text before the first message may be left, replaced, or taken away")]
    pub(crate) fn summary_finished(
        &mut self,
        mut compaction: Box<Compaction>,
        summary: &str,
        preamble: Option<Option<String>>,
        cx: &mut Cx,
    ) {
        // Going on from nothing would lose the conversation.
        if summary.trim().is_empty() {
            compaction.attempt += 1;
            return self.summarise(compaction, cx);
        }
        let before = self.conversation.context_tokens;
        if let Some(preamble) = preamble {
            self.conversation.set_preamble(preamble);
        }
        let text = format!("{}\n\n{summary}", words::SUMMARY_HEAD);
        let results = self.last_results();
        let prompt = self.conversation.compact(&text);
        if self.has_fault(Fault::OrphanedResult) {
            self.conversation.push_results(results);
        }
        if self.has_fault(Fault::CompactionLosesPrompt) {
            self.conversation.compact(&text);
        }
        self.plan_told = false;
        cx.push(Effect::ForgetReads);
        let metadata = CompactMetadata {
            trigger: compaction.trigger.into(),
            pre_tokens: before,
            post_tokens: Some(((self.settings.overhead_chars + text.len()) / CHARS_PER_TOKEN) as u64),
            duration_ms: Some(cx.now.ms.saturating_sub(compaction.started_ms)),
            ..CompactMetadata::default()
        };
        self.write_boundary(&text, &metadata, cx);
        if let Some(prompt) = prompt {
            self.append_user(json!({"role": "user", "content": prompt}), true, cx);
        }
        self.tell_compaction(None, Some("success"), cx);
        let hook = Hook::PostCompact { trigger: compaction.trigger, summary: summary.to_owned() };
        self.fire(hook, Step::PostCompact(compaction), cx);
    }

    fn last_results(&self) -> Vec<Value> {
        if !self.has_fault(Fault::OrphanedResult) {
            return Vec::new();
        }
        let last = self.conversation.messages().last().map(|last| blocks_of(last["content"].clone()));
        last.unwrap_or_default().into_iter().filter(crate::conversation::is_result).collect()
    }

    fn write_boundary(&mut self, text: &str, metadata: &CompactMetadata, cx: &mut Cx) {
        cx.push(Effect::Append(Entry::System {
            id: self.ids.next_id(),
            subtype: "compact_boundary",
            fields: json!({
                "content": "Conversation compacted",
                "isMeta": false,
                "level": "info",
                // The transcript's spelling differs from the wire's.
                "compactMetadata": {
                    "trigger": metadata.trigger,
                    "preTokens": metadata.pre_tokens,
                    "postTokens": metadata.post_tokens,
                    "durationMs": metadata.duration_ms,
                },
            }),
            new_root: true,
        }));
        cx.push(Effect::Append(Entry::User {
            id: self.ids.next_id(),
            message: json!({"role": "user", "content": text}),
            is_meta: false,
            is_compact_summary: true,
            tool_use_result: None,
            source_assistant: None,
            fields: None,
        }));
        if self.role.is_main() {
            let boundary = CompactBoundary { compact_metadata: metadata.clone(), ..CompactBoundary::default() };
            cx.emit(Event::System(System::CompactBoundary(boundary)));
        }
    }

    pub(crate) fn compaction_failed(&mut self, compaction: &Compaction, end: End, cx: &mut Cx) {
        self.tell_compaction(None, Some("failed"), cx);
        match compaction.resume {
            Resume::Command => self.finish(End::BadCommand(reason(&end)), cx),
            Resume::Answer | Resume::Question => self.finish(end, cx),
        }
    }

    /// The conversation is short, or a hook wants it left as it is.
    pub(crate) fn compaction_done(&mut self, compaction: &Compaction, cx: &mut Cx) {
        match compaction.resume {
            Resume::Answer => self.begin_answer(cx),
            Resume::Question => self.next_question(cx),
            Resume::Command => {
                // Clients that follow a session take the new size and settings from it.
                cx.push(Effect::EmitInit);
                self.command_done(Ok("The conversation was compacted.".into()), cx);
            }
        }
    }

    fn tell_compaction(&self, status: Option<&'static str>, compact_result: Option<&'static str>, cx: &mut Cx) {
        if self.role.is_main() {
            let status = Status {
                status: status.map(Into::into),
                compact_result: compact_result.map(Into::into),
                ..Status::default()
            };
            cx.emit(Event::System(System::Status(status)));
        }
    }
}

/// The conversation as plain text, with the wish for a summary behind it: without tools on offer the API
/// takes no calls and no results, and pictures cost much and tell a summary little. Roles alternate.
fn in_words(messages: &[Value], most: usize, wish: Option<&str>) -> Vec<Value> {
    let told = in_roles(messages, most);
    let wish = wish.map(|wish| format!("\nWhat the user wants of these notes: {wish}")).unwrap_or_default();
    joined(told, format!("{}{wish}", words::SUMMARISE))
}

/// A conversation with a question behind it, for a request without tools.
pub fn asked_aside(messages: &[Value], question: &str) -> Vec<Value> {
    joined(in_roles(messages, ASIDE_TEXT_MAX), question.to_owned())
}

/// Messages of one role that follow each other are one.
fn joined<'a>(told: impl Iterator<Item = (&'a str, String)>, asked: String) -> Vec<Value> {
    let mut joined: Vec<(&str, String)> = Vec::new();
    for (role, text) in told.filter(|(_, text)| !text.trim().is_empty()).chain([("user", asked)]) {
        match joined.last_mut() {
            Some((last, so_far)) if *last == role => so_far.push_str(&format!("\n\n{text}")),
            _ => joined.push((role, text)),
        }
    }
    joined.into_iter().map(|(role, text)| json!({"role": role, "content": text})).collect()
}

/// Who said what, in plain text.
fn in_roles(messages: &[Value], most: usize) -> impl Iterator<Item = (&str, String)> {
    messages.iter().map(move |message| {
        let blocks = blocks_of(message["content"].clone());
        let texts: Vec<String> = blocks.iter().filter_map(tell).map(|text| cut(text, most)).collect();
        (message["role"].as_str().unwrap_or("user"), texts.join("\n\n"))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

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
