//! How one question to the model ended.

use serde_json::{Value, json};
use wire::Usage;

/// A finished answer. The runtime has added its cost to what [`crate::Now`] says before it hands this over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelAnswer {
    /// As the model sent them; the machine fills in the inputs that the blocks of `BlockFinished` had.
    pub blocks: Vec<Value>,
    pub stop_reason: Option<String>,
    pub stop_sequence: Option<String>,
    pub usage: Usage,
    /// The stream broke after at least one whole block.
    pub incomplete: bool,
    pub api_ms: u64,
    pub ttft_ms: Option<u64>,
    pub ttft_stream_ms: Option<u64>,
}

impl ModelAnswer {
    /// Gives a message with one of the blocks the stop reason and the counts of the whole answer. Readers of transcripts
    /// count a message once, from any of its lines.
    pub(crate) fn complete(&self, message: &mut Value) {
        message["stop_reason"] = json!(self.stop_reason);
        message["stop_sequence"] = json!(self.stop_sequence);
        if !message["usage"].is_object() {
            message["usage"] = json!({});
        }
        let mut counts = self.usage.clone();
        let split = &mut counts.cache_creation;
        if split.ephemeral_1h_input_tokens == 0 && split.ephemeral_5m_input_tokens == 0 {
            // Some gateways leave the split out; without a word the shorter lifetime is meant.
            split.ephemeral_5m_input_tokens = counts.cache_creation_input_tokens;
        }
        if let (Ok(Value::Object(counts)), Some(usage)) =
            (serde_json::to_value(counts), message["usage"].as_object_mut())
        {
            usage.extend(counts);
        }
    }
}

/// Where a failure comes from, as far as it matters for what is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureSource {
    /// Nothing was sent: the configuration does not allow it.
    Setup,
    /// The API answered with an HTTP error.
    Http,
    /// Everything else: connections and streams.
    Connection,
}

/// No answer came, and the HTTP layer has given up.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFailure {
    pub source: FailureSource,
    pub status: Option<u16>,
    /// The word that `assistant.error` carries.
    pub category: &'static str,
    pub message: String,
    /// The API's own word for it.
    pub api_type: Option<String>,
    pub reset: Option<Reset>,
    pub api_ms: u64,
    /// The conversation does not fit: a compaction may help.
    pub prompt_too_long: bool,
    /// The model is overloaded: another one may not be.
    pub overloaded: bool,
}

/// When a limit that was hit ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// Seconds since 1970.
    pub seconds: i64,
    /// The same as a time of day, for people.
    pub time_of_day: String,
}

impl ModelFailure {
    /// Whether another model may do better: this one is overloaded, gone, or its server fails whatever is asked.
    pub(crate) fn is_of_the_model(&self) -> bool {
        let server_fails = self.source == FailureSource::Http && self.category == "server_error";
        self.overloaded || server_fails || self.category == "model_not_found"
    }
}
