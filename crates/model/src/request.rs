//! One request's body: what the caller wants said, with the prompt-cache marks put in while it is
//! serialised.
//!
//! A conversation may hold megabytes, so the caller's messages are neither copied nor changed. The order of
//! keys never varies: a byte that moves is a cache miss. Marks that came with a message are left out, or a
//! client that marks every one would exceed what the API takes. Deliberately absent: headers and sending.

use crate::catalog::split_long_context;
use crate::tool_definition::{CACHE_KEY, ToolDefinition};
use serde::ser::{Error as _, Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The API looks 20 blocks back from a mark; a second one this far behind the last keeps a long batch of
/// tool results within reach of what the request before it cached.
const SECOND_MARK_DISTANCE: usize = 15;
/// Goes with `output_config.task_budget`.
const TASK_BUDGET_BETA: &str = "task-budgets-2026-03-13";
/// Goes with `[1m]` behind a model's name.
pub(crate) const LONG_CONTEXT_BETA: &str = "context-1m-2025-08-07";
/// Goes with marks that live for an hour.
pub(crate) const LONG_CACHE_BETA: &str = "extended-cache-ttl-2025-04-11";
/// Goes with the API's own search, on the clouds that have it.
pub(crate) const WEB_SEARCH_BETA: &str = "web-search-2025-03-05";
const WEB_SEARCH_TOOL: &str = "\"web_search_";

/// Room for all but the three long lists.
const HEAD_LENGTH: usize = 1024;

/// How long the prompt may stay cached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CachePolicy {
    Off,
    #[default]
    FiveMinutes,
    OneHour,
}

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub model: String,
    pub max_tokens: u64,
    /// Text blocks.
    pub system: Vec<Value>,
    pub messages: Arc<Vec<Value>>,
    pub tools: Arc<[ToolDefinition]>,
    pub tool_choice: Option<Value>,
    pub thinking: Option<Value>,
    pub effort: Option<String>,
    pub betas: Vec<String>,
    pub metadata: Option<Value>,
    /// Merged over our own fields; a null takes a field away.
    pub extra_body: Option<Value>,
    pub cache: CachePolicy,
    pub task_budget: Option<u64>,
    /// After this many overloads in a row the asking ends: set where a fallback model stands by.
    pub overload_retries: Option<u32>,
    /// The span that the request is, for traces that go on behind the API.
    pub traceparent: Option<String>,
}

impl Request {
    /// The body of `POST /v1/messages`.
    pub fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        self.written(self.merged(self.head()))
    }

    /// The lists are long, so the room for them is made at once.
    fn written(&self, head: Map<String, Value>) -> Result<Vec<u8>, serde_json::Error> {
        let values = self.system.iter().chain(self.messages.iter());
        let tools = self.tools.iter().map(|tool| tool.raw().get().len() + 1);
        let length = HEAD_LENGTH + values.map(wire::expected_length).chain(tools).sum::<usize>();
        let mut body = Vec::with_capacity(length);
        serde_json::to_writer(&mut body, &Body { request: self, head })?;
        Ok(body)
    }

    /// The body of `POST /v1/messages/count_tokens`: only what occupies the context.
    pub fn count_body(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut head = self.head();
        head.retain(|key, _| matches!(key.as_str(), "model" | "tool_choice" | "thinking"));
        self.written(head)
    }

    /// The body of `POST /v1/messages` as a value, for profiles that leave parts of it out.
    pub(crate) fn body_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(Body { request: self, head: self.merged(self.head()) })
    }

    /// The same bodies with their fields changed by a provider, before the three long lists follow.
    pub(crate) fn body_with(
        &self,
        is_count: bool,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<Vec<u8>, serde_json::Error> {
        let mut head = self.head();
        if is_count {
            head.retain(|key, _| matches!(key.as_str(), "model" | "tool_choice" | "thinking"));
        }
        change(&mut head);
        self.written(if is_count { head } else { self.merged(head) })
    }

    /// The model's id as it is sent: a wish for the long context is a beta's.
    pub(crate) fn model_id(&self) -> &str {
        split_long_context(&self.model).0
    }

    /// The caller's betas and those that our own fields need.
    pub(crate) fn all_betas(&self) -> impl Iterator<Item = &str> {
        let long = split_long_context(&self.model).1;
        let is_search = |tool: &ToolDefinition| tool.raw().get().contains(WEB_SEARCH_TOOL);
        let needed = [
            (self.task_budget.is_some(), TASK_BUDGET_BETA),
            (long, LONG_CONTEXT_BETA),
            (self.cache == CachePolicy::OneHour, LONG_CACHE_BETA),
            // Only a question beside the conversation has it, and that has no other tool.
            (self.tools.len() == 1 && self.tools.iter().any(is_search), WEB_SEARCH_BETA),
        ];
        let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, beta)| beta);
        self.betas.iter().map(String::as_str).chain(needed)
    }

    /// Everything but the three long lists.
    fn head(&self) -> Map<String, Value> {
        let mut config = Map::new();
        config.extend(self.effort.as_ref().map(|effort| ("effort".to_owned(), json!(effort))));
        let budget = self.task_budget.map(|total| json!({"type": "tokens", "total": total}));
        config.extend(budget.map(|budget| ("task_budget".to_owned(), budget)));
        let fields = [
            ("model", Some(json!(self.model_id()))),
            ("max_tokens", Some(json!(self.max_tokens))),
            ("stream", Some(json!(true))),
            ("tool_choice", self.tool_choice.clone()),
            ("thinking", self.thinking.clone()),
            ("output_config", (!config.is_empty()).then_some(Value::Object(config))),
            ("metadata", self.metadata.clone()),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Our fields with the user's merged over them.
    pub(crate) fn merged(&self, mut head: Map<String, Value>) -> Map<String, Value> {
        let Some(Value::Object(extra)) = &self.extra_body else { return head };
        for (key, value) in extra {
            match (head.get_mut(key), value) {
                (_, Value::Null) => drop(head.shift_remove(key)),
                (Some(Value::Object(ours)), Value::Object(theirs)) => ours.extend(theirs.clone()),
                // Betas are added to ours, which our own fields need.
                (Some(Value::Array(ours)), Value::Array(theirs)) if key == "anthropic_beta" => {
                    let new: Vec<Value> = theirs.iter().filter(|beta| !ours.contains(beta)).cloned().collect();
                    ours.extend(new);
                }
                _ => drop(head.insert(key.clone(), value.clone())),
            }
        }
        head
    }

    fn mark(&self) -> Option<Value> {
        match self.cache {
            CachePolicy::Off => None,
            CachePolicy::FiveMinutes => Some(json!({"type": "ephemeral"})),
            CachePolicy::OneHour => Some(json!({"type": "ephemeral", "ttl": "1h"})),
        }
    }
}

struct Body<'a> {
    request: &'a Request,
    head: Map<String, Value>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Request { system, messages, tools, .. } = self.request;
        let mark = self.request.mark();
        let mark = mark.as_ref();
        let ours = |key: &str, empty: bool| !empty && !self.head.contains_key(key);
        let mut map = to.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        if ours("system", system.is_empty()) {
            let last = system.iter().rposition(takes_mark);
            map.serialize_entry("system", &Blocks { all: system, marked: [last, None], mark })?;
        }
        if ours("tools", tools.is_empty()) {
            // A tool whose schema is loaded later is not part of the prefix and may not be marked.
            let last = tools.iter().rposition(|tool| !tool.is_deferred());
            map.serialize_entry("tools", &Tools { all: tools, marked: last, mark })?;
        }
        if ours("messages", false) {
            map.serialize_entry("messages", &Messages { all: messages, marked: message_marks(messages), mark })?;
        }
        map.end()
    }
}

struct Tools<'a> {
    all: &'a [ToolDefinition],
    marked: Option<usize>,
    mark: Option<&'a Value>,
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seq = to.serialize_seq(Some(self.all.len()))?;
        for (at, tool) in self.all.iter().enumerate() {
            match self.mark.filter(|_| self.marked == Some(at)) {
                Some(mark) => seq.serialize_element(&tool.marked(mark).map_err(S::Error::custom)?)?,
                None => seq.serialize_element(tool.raw())?,
            }
        }
        seq.end()
    }
}

/// A block by its message and its place in it. A message that is plain text is its own block 0.
type Place = (usize, usize);

/// The last block that takes a mark, and the nearest one a good way before it.
fn message_marks(messages: &[Value]) -> [Option<Place>; 2] {
    let mut marks = [None, None];
    let mut distance = 0;
    for (at, message) in messages.iter().enumerate().rev() {
        let content = &message["content"];
        let blocks = content.as_array().map_or(1, Vec::len);
        for block in (0..blocks).rev() {
            let takes = match content {
                Value::Array(blocks) => takes_mark(&blocks[block]),
                other => other.as_str().is_some_and(|text| !text.is_empty()),
            };
            if takes && marks[0].is_none() {
                marks[0] = Some((at, block));
                distance = 0;
            } else if takes && distance >= SECOND_MARK_DISTANCE {
                marks[1] = Some((at, block));
                return marks;
            }
            distance += 1;
        }
    }
    marks
}

/// The API refuses marks on thinking and on empty text.
fn takes_mark(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("thinking" | "redacted_thinking") => false,
        Some("text") => block["text"].as_str().is_some_and(|text| !text.is_empty()),
        kind => kind.is_some(),
    }
}

struct Messages<'a> {
    all: &'a [Value],
    marked: [Option<Place>; 2],
    mark: Option<&'a Value>,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seq = to.serialize_seq(Some(self.all.len()))?;
        for (at, message) in self.all.iter().enumerate() {
            let inside = |place: Option<Place>| place.filter(|place| place.0 == at).map(|place| place.1);
            seq.serialize_element(&Message { plain: message, marked: self.marked.map(inside), mark: self.mark })?;
        }
        seq.end()
    }
}

struct Message<'a> {
    plain: &'a Value,
    marked: [Option<usize>; 2],
    mark: Option<&'a Value>,
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.plain else { return self.plain.serialize(to) };
        let mut map = to.serialize_map(Some(fields.len()))?;
        for (key, value) in fields {
            match value {
                Value::Array(blocks) if key == "content" => {
                    map.serialize_entry(key, &Blocks { all: blocks, marked: self.marked, mark: self.mark })?;
                }
                Value::String(text)
                    if key == "content" && self.mark.is_some() && self.marked[0].or(self.marked[1]).is_some() =>
                {
                    map.serialize_entry(key, &[json!({"type": "text", "text": text, CACHE_KEY: self.mark})])?;
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

struct Blocks<'a> {
    all: &'a [Value],
    marked: [Option<usize>; 2],
    mark: Option<&'a Value>,
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seq = to.serialize_seq(Some(self.all.len()))?;
        for (at, block) in self.all.iter().enumerate() {
            let mark = self.mark.filter(|_| self.marked.contains(&Some(at)));
            seq.serialize_element(&Block { plain: block, mark })?;
        }
        seq.end()
    }
}

struct Block<'a> {
    plain: &'a Value,
    mark: Option<&'a Value>,
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.plain else { return self.plain.serialize(to) };
        let mut map = to.serialize_map(None)?;
        for (key, value) in fields.iter().filter(|(key, _)| *key != CACHE_KEY) {
            map.serialize_entry(key, value)?;
        }
        if let Some(mark) = self.mark {
            map.serialize_entry(CACHE_KEY, mark)?;
        }
        map.end()
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
