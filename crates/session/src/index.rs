//! A conversation file without its contents: who follows whom, and where each entry stands.
//!
//! Keeping only this makes a file of any size cheap to open: texts are read again, and only those of the
//! entries that still matter.

use crate::lines::{Line, Lines, Span};
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::collections::HashMap;
use std::io;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Assistant,
    /// Everything before it has been summed up after it.
    CompactBoundary,
    /// Came along with a prompt, or from a hook.
    Attachment,
    /// Part of the chain, but nothing the model saw.
    Other,
}

/// One entry of the chain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) uuid: String,
    pub(crate) parent: Option<String>,
    pub(crate) kind: Kind,
    /// Of a sub-agent or a team, not of this conversation.
    pub(crate) aside: bool,
    pub(crate) meta: bool,
    pub(crate) message_id: Option<String>,
    pub(crate) model: Option<String>,
    /// Holds a tool's result.
    pub(crate) answers: bool,
    /// The entry that made the call answered here.
    pub(crate) source: Option<String>,
    pub(crate) span: Span,
}

impl Node {
    /// Something a person asked, which is what begins a turn.
    pub(crate) fn is_prompt(&self) -> bool {
        self.kind == Kind::User && !self.aside && !self.meta && !self.answers
    }
}

/// What one pass over the file finds.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) nodes: Vec<Node>,
    pub(crate) by_uuid: HashMap<String, usize>,
    pub(crate) custom_title: Option<String>,
    pub(crate) ai_title: Option<String>,
    pub(crate) last_prompt: Option<String>,
    /// The last line that says what the session has cost.
    pub(crate) cost_state: Option<Span>,
    /// The last line that has the jobs by the clock.
    pub(crate) jobs: Option<Span>,
    pub(crate) lines: usize,
    pub(crate) skipped_lines: usize,
}

impl Index {
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut index = Self::default();
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            index.add(&line);
        }
        Ok(index)
    }

    fn add(&mut self, line: &Line<'_>) {
        self.lines += 1;
        let Some(bytes) = line.bytes else {
            self.skipped_lines += 1;
            return;
        };
        match serde_json::from_slice::<Head>(bytes) {
            Ok(head) => self.note(head, line.span),
            // Blank lines are what isolates a torn one.
            Err(_) if bytes.trim_ascii().is_empty() => {}
            Err(_) => self.skipped_lines += 1,
        }
    }

    fn note(&mut self, head: Head, span: Span) {
        match head.kind.as_deref() {
            Some("custom-title") => self.custom_title = head.custom_title,
            Some("ai-title") => self.ai_title = head.ai_title,
            Some("last-prompt") => self.last_prompt = head.last_prompt,
            Some("cost-state") => self.cost_state = Some(span),
            Some("scheduled-jobs") => self.jobs = Some(span),
            _ => {
                if let Some(node) = head.into_node(span) {
                    // An entry written twice (a disk that was full in between) counts where it stands last.
                    self.by_uuid.insert(node.uuid.clone(), self.nodes.len());
                    self.nodes.push(node);
                }
            }
        }
    }
}

/// As much of a line as the index needs. A field of another type than ours makes the line a foreign one.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(rename = "type")]
    kind: Option<String>,
    subtype: Option<String>,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    is_sidechain: Option<bool>,
    team_name: Option<String>,
    is_meta: Option<bool>,
    #[serde(rename = "sourceToolAssistantUUID")]
    source_tool_assistant_uuid: Option<String>,
    message: Option<MessageHead>,
    custom_title: Option<String>,
    ai_title: Option<String>,
    last_prompt: Option<String>,
}

impl Head {
    fn into_node(self, span: Span) -> Option<Node> {
        let message = self.message.unwrap_or_default();
        let kind = match (self.kind.as_deref()?, self.subtype.as_deref()) {
            ("user", _) => Kind::User,
            ("assistant", _) => Kind::Assistant,
            ("attachment", _) => Kind::Attachment,
            ("system", Some("compact_boundary")) => Kind::CompactBoundary,
            _ => Kind::Other,
        };
        Some(Node {
            uuid: self.uuid?,
            parent: self.parent_uuid,
            kind,
            aside: self.is_sidechain.unwrap_or(false) || self.team_name.is_some(),
            meta: self.is_meta.unwrap_or(false),
            message_id: message.id,
            model: message.model,
            answers: message.content.answers,
            source: self.source_tool_assistant_uuid,
            span,
        })
    }
}

#[derive(Default, serde::Deserialize)]
struct MessageHead {
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    content: ContentHead,
}

/// Whether a message's content holds a tool's result, found without keeping the content.
#[derive(Default)]
struct ContentHead {
    answers: bool,
}

#[derive(serde::Deserialize)]
struct BlockHead {
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl<'de> Deserialize<'de> for ContentHead {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = ContentHead;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a text or a list of blocks")
    }

    fn visit_str<E>(self, _: &str) -> Result<ContentHead, E> {
        Ok(ContentHead::default())
    }

    fn visit_unit<E>(self) -> Result<ContentHead, E> {
        Ok(ContentHead::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<ContentHead, A::Error> {
        while let Some(block) = blocks.next_element::<BlockHead>()? {
            if block.kind.as_deref() == Some("tool_result") {
                while blocks.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(ContentHead { answers: true });
            }
        }
        Ok(ContentHead::default())
    }
}
