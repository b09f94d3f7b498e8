//! The transport to an agent: pipes or a terminal. Pure.
//!
//! A pipe is better where it works: messages go in while the agent runs. A terminal is for agents that will
//! not work without one: because it was asked for, because the agent is known for it by name, or because it
//! was tried without and refused. An agent that says nothing at all on the one is tried on the other.

pub(crate) use cycle::Transport;
use cycle::{AgentEnd, AgentOutput};

/// The expected transport of a backend before its first start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportHint {
    /// Our own agent: it works on pipes.
    Ours,
    /// Our bridge to an ACP agent: it works on pipes, but the agent behind it is not ours.
    Bridge,
    /// Nothing: pipes are tried first.
    Nothing,
    /// It was named as one that wants a terminal.
    WantsTerminal,
}

/// The transport of this run's agent, and how certain it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportChoice {
    /// Not tried yet.
    First(Transport),
    /// The other one did not work; it was started again on this.
    Second(Transport),
    /// It works, or the other one did not help: no more is tried.
    Settled(Transport),
}

/// How one attempt went.
pub(crate) struct Attempt<'a> {
    pub end: &'a AgentEnd,
    pub output: &'a AgentOutput,
    /// What it said that was no event, and on standard error.
    pub words: &'a str,
}

impl TransportChoice {
    /// `terminal`: asked for. `before`: what an earlier part of this run found out.
    pub(crate) fn new(known: TransportHint, terminal: bool, before: Option<Transport>) -> Self {
        match (known, before) {
            _ if terminal => Self::Settled(Transport::Terminal),
            (TransportHint::Ours | TransportHint::Bridge, _) => Self::Settled(Transport::Pipe),
            (_, Some(found)) => Self::Settled(found),
            (TransportHint::Nothing, None) => Self::First(Transport::Pipe),
            (TransportHint::WantsTerminal, None) => Self::First(Transport::Terminal),
        }
    }

    pub(crate) fn transport(self) -> Transport {
        let (Self::First(transport) | Self::Second(transport) | Self::Settled(transport)) = self;
        transport
    }

    /// Whether an agent may be left early because it says nothing.
    pub(crate) fn is_trial(self) -> bool {
        matches!(self, Self::First(_))
    }

    /// What follows from an attempt. From first to second means: start it again.
    pub(crate) fn after(self, attempt: &Attempt) -> Self {
        match self {
            Self::First(on) if attempt.refuses(on) => Self::Second(other(on)),
            Self::First(on) | Self::Second(on) if attempt.works() => Self::Settled(on),
            Self::Second(on) if *attempt.end != AgentEnd::Stopped => Self::Settled(other(on)),
            same => same,
        }
    }
}

fn other(transport: Transport) -> Transport {
    match transport {
        Transport::Pipe => Transport::Terminal,
        Transport::Terminal => Transport::Pipe,
    }
}

impl Attempt<'_> {
    fn spoke(&self) -> bool {
        self.output.turns > 0 || self.output.session.is_some() || !self.output.last_text.is_empty()
    }

    fn works(&self) -> bool {
        self.spoke() || *self.end == AgentEnd::Exited(0) && !self.words.trim().is_empty()
    }

    /// It says that it wants a terminal, or it hangs without a word as some do without one, and some on one.
    fn refuses(&self, on: Transport) -> bool {
        match self.end {
            _ if self.spoke() => false,
            AgentEnd::Exited(code) => on == Transport::Pipe && *code != 0 && names_a_terminal(self.words),
            AgentEnd::Silent(_) => self.words.trim().is_empty(),
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
    use Transport::{Pipe, Terminal};
    use TransportChoice::{First, Second, Settled};

    fn output(text: &str) -> AgentOutput {
        let mut reader = cycle::OutputReader::new(1);
        reader.read_line(text);
        reader.into_output()
    }

    const RESULT: &str = r#"{"type":"result","is_error":true,"result":"needs a tty"}"#;

    #[test]
    fn a_refusal_is_told_from_other_failures() {
        for (on, end, said, words, next) in [
            (Pipe, AgentEnd::Exited(1), "", "claude: stdin is not a terminal", Second(Terminal)),
            (Pipe, AgentEnd::Exited(2), "", "Error: the input device is not a TTY", Second(Terminal)),
            (Pipe, AgentEnd::Exited(1), "", "Raw mode is not supported on the current process.stdin", Second(Terminal)),
            (Pipe, AgentEnd::Silent(1), "", " \n", Second(Terminal)),
            (Pipe, AgentEnd::Silent(1), "", "loading", First(Pipe)),
            (Pipe, AgentEnd::Exited(1), "", "pretty determinate", First(Pipe)),
            (Pipe, AgentEnd::Exited(1), "", "", First(Pipe)),
            (Pipe, AgentEnd::Exited(1), RESULT, "not a tty", Settled(Pipe)),
            (Pipe, AgentEnd::Exited(0), "", "a plain answer about a tty", Settled(Pipe)),
            (Pipe, AgentEnd::Stopped, "", "", First(Pipe)),
            (Pipe, AgentEnd::Signalled(9), "", "tty", First(Pipe)),
            (Terminal, AgentEnd::Silent(1), "", "", Second(Pipe)),
            (Terminal, AgentEnd::Exited(1), "", "not a tty", First(Terminal)),
            (Terminal, AgentEnd::Exited(1), RESULT, "", Settled(Terminal)),
        ] {
            let output = output(said);
            let attempt = Attempt { end: &end, output: &output, words };
            assert_eq!(First(on).after(&attempt), next, "{on:?} {end:?} {said} {words}");
        }
    }

    #[test]
    fn the_other_is_tried_once_and_kept_only_if_it_helps() {
        let refusal = output("");
        let result = output(RESULT);
        let after = |end, output, words| Second(Terminal).after(&Attempt { end, output, words });
        assert_eq!(after(&AgentEnd::Exited(1), &refusal, "not a tty"), Settled(Pipe));
        assert_eq!(after(&AgentEnd::Silent(1), &refusal, ""), Settled(Pipe));
        assert_eq!(after(&AgentEnd::Exited(0), &refusal, "plain words"), Settled(Terminal));
        assert_eq!(after(&AgentEnd::Exited(1), &result, ""), Settled(Terminal));
        assert_eq!(after(&AgentEnd::Stopped, &refusal, ""), Second(Terminal));
        let again = Attempt { end: &AgentEnd::Exited(1), output: &refusal, words: "not a tty" };
        assert_eq!(Settled(Pipe).after(&again), Settled(Pipe));
    }

    #[test]
    fn what_is_tried_first_is_what_was_asked_for_then_what_is_known_then_what_was_found_out() {
        for (known, terminal, before, footing) in [
            (TransportHint::Ours, false, None, Settled(Pipe)),
            (TransportHint::Ours, true, None, Settled(Terminal)),
            (TransportHint::Ours, false, Some(Terminal), Settled(Pipe)),
            (TransportHint::Bridge, false, None, Settled(Pipe)),
            (TransportHint::Nothing, false, None, First(Pipe)),
            (TransportHint::Nothing, true, Some(Pipe), Settled(Terminal)),
            (TransportHint::Nothing, false, Some(Terminal), Settled(Terminal)),
            (TransportHint::WantsTerminal, false, None, First(Terminal)),
            (TransportHint::WantsTerminal, false, Some(Pipe), Settled(Pipe)),
        ] {
            assert_eq!(TransportChoice::new(known, terminal, before), footing, "{known:?} {terminal} {before:?}");
        }
    }
}
