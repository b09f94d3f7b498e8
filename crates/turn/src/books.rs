//! The counters of one turn.

use crate::model_answer::ModelAnswer;
use crate::next::Nudged;
use serde_json::Value;
use wire::Usage;

#[derive(Debug, Clone, Default)]
pub(crate) struct Books {
    pub(crate) started_ms: u64,
    /// What started the turn, where that was not a plain prompt.
    pub(crate) origin: Option<Value>,
    pub(crate) usage: Usage,
    pub(crate) api_ms: u64,
    /// The prompt, cut, for the end of the turn in the transcript.
    pub(crate) prompt: Option<String>,
    /// Answers of the model, against [`crate::Limits::max_answers`].
    pub(crate) answers: u32,
    /// Messages to the model since the prompt; the wire's `num_turns` counts them.
    pub(crate) user_messages: u64,
    pub(crate) tool_uses: u64,
    /// How many of the models to fall back on were taken; the rest of the turn goes on with the last.
    pub(crate) fallen_back: usize,
    pub(crate) last_text: String,
    /// The model paused: it goes on with its own last message.
    pub(crate) resends: bool,
    pub(crate) stop_reason: Option<String>,
    pub(crate) structured: Option<Value>,
    pub(crate) schema_failures: u32,
    pub(crate) nudged: Nudged,
    /// Times a Stop hook sent the model on.
    pub(crate) stop_blocks: u32,
    pub(crate) ttft_ms: Option<u64>,
    pub(crate) ttft_stream_ms: Option<u64>,
    pub(crate) time_to_request_ms: Option<u64>,
}

impl Books {
    pub(crate) fn begin(now_ms: u64, origin: Option<Value>) -> Self {
        Self { started_ms: now_ms, origin, ..Self::default() }
    }

    pub(crate) fn elapsed_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.started_ms)
    }

    /// `num_turns` of the result. A question that failed or was interrupted counts like one that was answered.
    pub(crate) fn messages(&self) -> u64 {
        self.user_messages + u64::from(self.time_to_request_ms.is_some())
    }

    pub(crate) fn asking(&mut self, now_ms: u64) {
        let elapsed = self.elapsed_ms(now_ms);
        self.time_to_request_ms.get_or_insert(elapsed);
    }

    pub(crate) fn answered(&mut self, answer: &ModelAnswer) {
        self.answers += 1;
        self.api_ms += answer.api_ms;
        self.stop_reason.clone_from(&answer.stop_reason);
        if self.ttft_ms.is_none() {
            self.ttft_ms = answer.ttft_ms;
            self.ttft_stream_ms = answer.ttft_stream_ms;
        }
        let said = answer.blocks.iter().rev().filter_map(|block| block["text"].as_str());
        if let Some(text) = said.into_iter().find(|text| !text.trim().is_empty()) {
            text.clone_into(&mut self.last_text);
        }
    }
}
