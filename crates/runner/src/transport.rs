//! How an agent is spoken with: over pipes, or on a terminal. Pure.
//!
//! A pipe is better where it works: messages go in while the agent runs. A terminal is for agents that will
//! not work without one: because it was asked for, because the agent is known for it by name, or because it
//! was tried without and refused.

use cycle::{AgentEnd, Heard};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Pipe,
    Terminal,
}

/// What this run has learnt about its agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Need {
    #[default]
    Unknown,
    /// It refused to work on a pipe, and was started again on a terminal.
    Tried,
    Proven,
    /// It works without, or a terminal did not help: none is tried again.
    Refuted,
}

/// How one attempt went.
pub(crate) struct Attempt<'a> {
    pub transport: Transport,
    pub end: &'a AgentEnd,
    pub heard: &'a Heard,
    /// What it said that was no event, and on standard error.
    pub words: &'a str,
}

impl Need {
    /// `known`: by configuration, or by the agent's name.
    pub(crate) fn transport(self, known: bool) -> Transport {
        if known || matches!(self, Self::Tried | Self::Proven) { Transport::Terminal } else { Transport::Pipe }
    }

    /// What follows from an attempt. From unknown to tried means: start it again.
    pub(crate) fn after(self, attempt: &Attempt) -> Self {
        match (self, attempt.transport) {
            (Self::Unknown, Transport::Pipe) if attempt.refuses() => Self::Tried,
            (Self::Unknown, Transport::Pipe) if attempt.works() => Self::Refuted,
            (Self::Tried, Transport::Terminal) if attempt.works() => Self::Proven,
            (Self::Tried, Transport::Terminal) if *attempt.end != AgentEnd::Stopped => Self::Refuted,
            (same, _) => same,
        }
    }
}

impl Attempt<'_> {
    fn spoke(&self) -> bool {
        self.heard.turns > 0 || self.heard.session.is_some() || !self.heard.last_text.is_empty()
    }

    fn works(&self) -> bool {
        self.spoke() || *self.end == AgentEnd::Exited(0) && !self.words.trim().is_empty()
    }

    /// It says that it wants a terminal, or it hangs without a word as some do without one.
    fn refuses(&self) -> bool {
        match self.end {
            _ if self.spoke() => false,
            AgentEnd::Exited(code) => *code != 0 && names_a_terminal(self.words),
            AgentEnd::Silent => self.words.trim().is_empty(),
            _ => false,
        }
    }
}

/// A mistake here costs one more start, so few words are enough.
fn names_a_terminal(words: &str) -> bool {
    let words = words.to_lowercase();
    let mut single = words.split(|letter: char| !letter.is_alphanumeric());
    words.contains("raw mode") || single.any(|word| matches!(word, "tty" | "isatty" | "pty" | "terminal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Heard {
        let mut listener = cycle::Listener::new(1);
        listener.hear(text);
        listener.into_heard()
    }

    const RESULT: &str = r#"{"type":"result","is_error":true,"result":"needs a tty"}"#;

    #[test]
    fn a_refusal_is_told_from_other_failures() {
        for (end, said, words, next) in [
            (AgentEnd::Exited(1), "", "claude: stdin is not a terminal", Need::Tried),
            (AgentEnd::Exited(2), "", "Error: the input device is not a TTY", Need::Tried),
            (AgentEnd::Exited(1), "", "Raw mode is not supported on the current process.stdin", Need::Tried),
            (AgentEnd::Silent, "", " \n", Need::Tried),
            (AgentEnd::Silent, "", "loading", Need::Unknown),
            (AgentEnd::Exited(1), "", "pretty determinate", Need::Unknown),
            (AgentEnd::Exited(1), "", "", Need::Unknown),
            (AgentEnd::Exited(1), RESULT, "not a tty", Need::Refuted),
            (AgentEnd::Exited(0), "", "a plain answer about a tty", Need::Refuted),
            (AgentEnd::Stopped, "", "", Need::Unknown),
            (AgentEnd::Signalled(9), "", "tty", Need::Unknown),
        ] {
            let heard = heard(said);
            let attempt = Attempt { transport: Transport::Pipe, end: &end, heard: &heard, words };
            assert_eq!(Need::Unknown.after(&attempt), next, "{end:?} {said} {words}");
        }
    }

    #[test]
    fn a_terminal_is_tried_once_and_kept_only_if_it_helps() {
        let refusal = heard("");
        let result = heard(RESULT);
        let on = |end, heard, words| Attempt { transport: Transport::Terminal, end, heard, words };
        assert_eq!(Need::Tried.after(&on(&AgentEnd::Exited(1), &refusal, "not a tty")), Need::Refuted);
        assert_eq!(Need::Tried.after(&on(&AgentEnd::Silent, &refusal, "")), Need::Refuted);
        assert_eq!(Need::Tried.after(&on(&AgentEnd::Exited(0), &refusal, "plain words")), Need::Proven);
        assert_eq!(Need::Tried.after(&on(&AgentEnd::Exited(1), &result, "")), Need::Proven);
        assert_eq!(Need::Tried.after(&on(&AgentEnd::Stopped, &refusal, "")), Need::Tried);
        let again = Attempt { transport: Transport::Pipe, ..on(&AgentEnd::Exited(1), &refusal, "not a tty") };
        assert_eq!(Need::Refuted.after(&again), Need::Refuted);
        for (need, known, transport) in [
            (Need::Unknown, false, Transport::Pipe),
            (Need::Refuted, false, Transport::Pipe),
            (Need::Tried, false, Transport::Terminal),
            (Need::Proven, false, Transport::Terminal),
            (Need::Refuted, true, Transport::Terminal),
        ] {
            assert_eq!(need.transport(known), transport, "{need:?} {known}");
        }
    }
}
