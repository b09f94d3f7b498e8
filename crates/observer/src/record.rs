//! Where records are made: gates, the hiding of secrets, and the attributes that all spans have.

use crate::state::{State, Talk, span_of};
use std::cell::{OnceCell, RefCell, RefMut};
use std::path::PathBuf;
use telemetry::{Event, REDACTED, Span, Telemetry, TraceContext};
use turn::Role;

const NANOS_PER_MS: u64 = 1_000_000;
/// At the end of a content that was cut.
const CUT: &str = "…[TRUNCATED]";

type Hide = Box<dyn Fn(&str) -> String>;

pub(crate) struct Recorder {
    pub(crate) telemetry: Telemetry,
    pub(crate) state: RefCell<State>,
    /// The span of another process that interactions belong to.
    pub(crate) incoming: Option<TraceContext>,
    /// Requests and commands carry the trace on.
    pub(crate) propagates: bool,
    /// Where the session works.
    pub(crate) folder: PathBuf,
    pub(crate) hide: OnceCell<Hide>,
}

pub(crate) fn millis(from: u64, to: u64) -> u64 {
    to.saturating_sub(from) / NANOS_PER_MS
}

/// The text within so many UTF-16 units, with the mark of a cut among them; `None` where it is not longer.
pub(crate) fn cut(text: &str, most: usize) -> Option<String> {
    // No text has more units than bytes.
    if text.len() <= most || text.encode_utf16().count() <= most {
        return None;
    }
    let mut room = most.saturating_sub(CUT.encode_utf16().count());
    let fits = |letter: &char| {
        let left = room.checked_sub(letter.len_utf16());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept: String = text.chars().take_while(fits).collect();
    Some(format!("{kept}{CUT}"))
}

/// The name under which a conversation's state is kept.
pub(crate) fn key(role: &Role) -> &str {
    match role {
        Role::Main => "",
        Role::Sub(agent) => &agent.agent_id,
    }
}

pub(crate) fn agent_id(role: &Role) -> Option<&str> {
    match role {
        Role::Main => None,
        Role::Sub(agent) => Some(&agent.agent_id),
    }
}

/// The state of a conversation. An agent's begins below the call that started it.
fn talk<'a>(state: &'a mut State, role: &Role) -> &'a mut Talk {
    let parent = parent_of_agent(state, role);
    let salt = state.interaction.as_ref().map(|interaction| interaction.context.span);
    let fresh = || Talk { parent, salt, ..Talk::default() };
    state.talks.entry(key(role).to_owned()).or_insert_with(fresh)
}

fn parent_of_agent(state: &State, role: &Role) -> Option<TraceContext> {
    let Role::Sub(agent) = role else { return None };
    let context = state.interaction.as_ref()?.context;
    if agent.answers_a_hook {
        return Some(context);
    }
    Some(span_of(context, context.span, &["execution", &agent.tool_use_id]))
}

/// A span with what all have: a provider, a type. Its end is now.
pub(crate) fn new_span(kind: &str, own: TraceContext, parent: Option<TraceContext>, start: u64) -> Span {
    let mut span = Span::new(&format!("claude_code.{kind}"), own, parent.map(|parent| parent.span));
    (span.start, span.end) = (start, telemetry::now().max(start));
    span.with("gen_ai.provider.name", "anthropic").with("span.type", kind)
}

impl Recorder {
    pub(crate) fn hidden(&self, text: &str) -> String {
        self.hide.get().map_or_else(|| text.to_owned(), |hide| hide(text))
    }

    /// Content for a record: without secrets, and no longer than allowed.
    pub(crate) fn content(&self, text: &str) -> String {
        let hidden = self.hidden(text);
        cut(&hidden, self.telemetry.content_max()).unwrap_or(hidden)
    }

    pub(crate) fn gated(&self, text: &str, is_released: bool) -> String {
        if is_released { self.content(text) } else { REDACTED.to_owned() }
    }

    pub(crate) fn details(&self) -> bool {
        self.telemetry.gates().tool_details()
    }

    pub(crate) fn with_talk<T>(&self, role: &Role, change: impl FnOnce(&mut Talk) -> T) -> T {
        change(talk(&mut self.state.borrow_mut(), role))
    }

    /// What spans of a conversation hang below.
    pub(crate) fn parent(&self, role: &Role) -> Option<TraceContext> {
        if !self.telemetry.traces() {
            return None;
        }
        let mut state = self.state.borrow_mut();
        match role {
            Role::Main => state.interaction.as_ref().map(|interaction| interaction.context),
            Role::Sub(_) => talk(&mut state, role).parent,
        }
    }

    /// One of the spans of a call: `tool`, `blocked` or `execution`.
    pub(crate) fn span_of_call(&self, role: &Role, kind: &str, tool_use_id: &str) -> Option<TraceContext> {
        let parent = self.parent(role)?;
        let salt = if role.is_main() { None } else { self.with_talk(role, |talk| talk.salt) };
        Some(span_of(parent, salt.unwrap_or(parent.span), &[kind, tool_use_id]))
    }

    /// An event of the span that is open in a conversation.
    pub(crate) fn record(&self, role: &Role, event: Event) {
        self.telemetry.record_in(event, self.parent(role));
    }

    /// The id of the conversation, as spans tell it.
    pub(crate) fn conversation_id(&self, role: &Role) -> String {
        agent_id(role).map_or_else(|| self.state.borrow().session_id.clone(), str::to_owned)
    }

    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_cut_by_units_with_the_mark_among_them() {
        let units = |text: &str| text.encode_utf16().count();
        let mark = units(CUT);
        assert_eq!(cut("short", 5), None);
        assert_eq!(cut("ääääää", 6), None, "units, not bytes");
        assert_eq!(cut(&"a".repeat(30), 20), Some(format!("{}{CUT}", "a".repeat(20 - mark))));
        // One letter of two units does not fit into a room of one.
        let wide = cut(&"😀".repeat(30), mark + 3).unwrap();
        assert_eq!((wide.as_str(), units(&wide)), (format!("😀{CUT}").as_str(), mark + 2));
        assert_eq!(cut("longer", 0).as_deref(), Some(CUT));
    }
}
