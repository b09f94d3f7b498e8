//! Writing a conversation: who is whose parent, and never a reason for the run to fail.

use crate::append::Appender;
use crate::entry::{Entry, Stamp, entry_line, escaped, line, metadata};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Sees every line, newline included, once it has been given to the file.
pub type Mirror = Rc<dyn Fn(&Path, &[u8])>;

/// Where timestamps come from; tests bring their own.
pub type Clock = fn() -> jiff::Timestamp;

/// What a user entry may say besides its message.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserExtra<'a> {
    /// The structured twin of a tool's result.
    pub tool_use_result: Option<&'a Value>,
    /// The entry that made the tool call answered here; it becomes the parent.
    pub source_assistant: Option<&'a str>,
    /// Not typed by anybody: a reminder, a hook's context.
    pub is_meta: bool,
    pub is_compact_summary: bool,
    /// More of the entry's own fields.
    pub fields: Option<&'a Value>,
    /// In place of the last entry.
    pub parent: Option<&'a str>,
}

/// A conversation being written. Entries form a chain by `parentUuid`; this keeps its end.
pub struct Transcript {
    appender: Option<Appender>,
    mirror: Option<(PathBuf, Mirror)>,
    stamp: Stamp,
    secrets: Vec<String>,
    clock: Clock,
    leaf: Option<String>,
    /// Entry and message id of the last assistant block: the next block of that message is its child.
    last_block: Option<(String, String)>,
    /// Blocks of an unfinished answer that stand beside the file.
    pub(crate) unwritten: usize,
    /// Entries were lost, so named parents may not exist; from then on the chain is a plain line.
    lossy: bool,
}

impl Transcript {
    /// A new conversation. The file appears, private, with the first entry.
    pub fn create(path: &Path, stamp: Stamp) -> Self {
        Self::new(Some(Appender::create(path)), stamp, None)
    }

    /// More of an existing conversation, after the entry `leaf`. A torn last line is isolated first.
    pub fn open_append(path: &Path, stamp: Stamp, leaf: Option<String>) -> Self {
        Self::new(Some(Appender::resume(path)), stamp, leaf)
    }

    /// Keeps the chain but writes nothing.
    pub fn disabled() -> Self {
        Self::new(None, Stamp::default(), None)
    }

    fn new(appender: Option<Appender>, stamp: Stamp, leaf: Option<String>) -> Self {
        let (secrets, clock) = (Vec::new(), jiff::Timestamp::now as Clock);
        Self { appender, mirror: None, stamp, secrets, clock, leaf, last_block: None, unwritten: 0, lossy: false }
    }

    /// Values that never reach the file, such as the API key; each is replaced wherever it occurs.
    #[must_use]
    pub fn hiding(mut self, secrets: Vec<String>) -> Self {
        self.secrets = escaped(secrets);
        self
    }

    /// Shows what is written to somebody else too. A conversation that is not kept is not shown either.
    #[must_use]
    pub fn mirrored(mut self, mirror: Option<Mirror>) -> Self {
        let path = self.appender.as_ref().map(|appender| appender.path().to_owned());
        self.mirror = path.zip(mirror);
        self
    }

    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// A prompt, a tool's result, or a message of our own.
    pub fn user(&mut self, uuid: &str, message: &Value, extra: UserExtra<'_>) {
        let named = extra.parent.or(extra.source_assistant).filter(|_| !self.lossy).map(str::to_owned);
        let parent = named.or_else(|| self.leaf.clone());
        let mut entry = Entry::new(&self.stamp, "user", uuid, self.now());
        entry.parent_uuid = parent.as_deref();
        entry.message = Some(message);
        entry.tool_use_result = extra.tool_use_result;
        entry.source_tool_assistant_uuid = extra.source_assistant;
        entry.is_meta = extra.is_meta.then_some(true);
        entry.is_compact_summary = extra.is_compact_summary.then_some(true);
        entry.fields = extra.fields.and_then(Value::as_object);
        let line = entry_line(&entry, &self.secrets);
        self.append(uuid, line);
    }

    /// One finished block of a model's message.
    pub fn assistant(&mut self, uuid: &str, message: &Value, request_id: Option<&str>) {
        self.assistant_with(uuid, message, request_id, None);
    }

    /// The same with more of the entry's own fields.
    pub fn assistant_with(&mut self, uuid: &str, message: &Value, request_id: Option<&str>, fields: Option<&Value>) {
        self.append_assistant(uuid, message, request_id, fields);
        // The last block of an answer ends it; until then its blocks stood beside the file.
        if std::mem::take(&mut self.unwritten) > 0
            && let Some(path) = self.path()
        {
            crate::unwritten::forget(path);
        }
    }

    fn append_assistant(&mut self, uuid: &str, message: &Value, request_id: Option<&str>, fields: Option<&Value>) {
        let id = message.get("id").and_then(Value::as_str);
        let sibling = self.last_block.as_ref().filter(|(_, last)| id == Some(&**last)).map(|(entry, _)| entry.clone());
        let parent = sibling.filter(|_| !self.lossy).or_else(|| self.leaf.clone());
        let line = self.assistant_line(uuid, message, request_id, fields, parent.as_deref());
        self.last_block = id.map(|id| (uuid.to_owned(), id.to_owned()));
        self.append(uuid, line);
    }

    pub(crate) fn assistant_line(
        &self,
        uuid: &str,
        message: &Value,
        request_id: Option<&str>,
        fields: Option<&Value>,
        parent: Option<&str>,
    ) -> Option<Vec<u8>> {
        let mut entry = Entry::new(&self.stamp, "assistant", uuid, self.now());
        entry.parent_uuid = parent;
        entry.message = Some(message);
        entry.request_id = request_id;
        entry.fields = fields.and_then(Value::as_object);
        entry_line(&entry, &self.secrets)
    }

    /// Where it is written; nothing where it is not.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.appender.as_ref().map(Appender::path)
    }

    /// Something that happened. `new_root` starts the chain anew, as a compaction does.
    pub fn system(&mut self, uuid: &str, subtype: &str, fields: &Value, new_root: bool) {
        let leaf = self.leaf.clone();
        let mut entry = Entry::new(&self.stamp, "system", uuid, self.now());
        let place = if new_root { &mut entry.logical_parent_uuid } else { &mut entry.parent_uuid };
        *place = leaf.as_deref();
        entry.subtype = Some(subtype);
        entry.fields = fields.as_object();
        let line = entry_line(&entry, &self.secrets);
        self.append(uuid, line);
    }

    /// Something that came along with a prompt or from a hook. `message` is what the model sees of it.
    pub fn attachment(&mut self, uuid: &str, attachment: &Value, message: Option<&Value>) {
        let leaf = self.leaf.clone();
        let mut entry = Entry::new(&self.stamp, "attachment", uuid, self.now());
        entry.parent_uuid = leaf.as_deref();
        entry.attachment = Some(attachment);
        entry.message = message;
        let line = entry_line(&entry, &self.secrets);
        self.append(uuid, line);
    }

    /// A line that is no part of the chain (`custom-title`, `tag`, `last-prompt`, …). One that is not an
    /// object with a `type` is not written: no reader could tell what it is.
    pub fn meta(&mut self, entry: &Value) {
        let mut entry = metadata(entry, &self.stamp.session_id);
        // Whoever goes on from the last prompt has to know what followed it.
        if let (Some(fields), Some(leaf)) = (&mut entry, &self.leaf)
            && fields["type"] == "last-prompt"
        {
            fields.insert("leafUuid".into(), leaf.clone().into());
        }
        let line = entry.and_then(|entry| line(&entry, &self.secrets));
        self.keep(line);
    }

    /// The last entry of the chain: what the next one follows.
    pub fn leaf(&self) -> Option<&str> {
        self.leaf.as_deref()
    }

    /// The first failure to write, once. The run goes on.
    pub fn take_warning(&mut self) -> Option<String> {
        self.appender.as_mut().and_then(Appender::take_warning)
    }

    fn append(&mut self, uuid: &str, line: Option<Vec<u8>>) {
        if self.keep(line) {
            self.leaf = Some(uuid.to_owned());
        } else {
            self.lossy = true;
        }
    }

    /// `false` where a line that should have been written is lost.
    fn keep(&mut self, line: Option<Vec<u8>>) -> bool {
        let Some(appender) = &mut self.appender else { return true };
        let Some(line) = line else { return false };
        let shown = self.mirror.as_ref().map(|mirror| (mirror, line.clone()));
        let kept = appender.append(line);
        if let Some(((path, mirror), line)) = shown.filter(|_| kept) {
            mirror(path, &line);
        }
        kept
    }

    fn now(&self) -> String {
        (self.clock)().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
