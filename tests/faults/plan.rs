//! One schedule: everything that will happen to one run. Plain data, printed whole when it breaks something.

use crate::model::Told;
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    pub face: Face,
    pub partials: bool,
    pub model: Vec<Told>,
    pub settings: Value,
    pub servers: Value,
    pub home: Home,
    pub stdout: Stdout,
    pub stderr: Stderr,
    pub strikes: Vec<Strike>,
    /// The client interrupts the turn after so many lines.
    pub interrupt_after: Option<usize>,
    pub max_turns: Option<usize>,
}

/// How prompts go in and answers come out.
#[derive(Debug, Clone, PartialEq)]
pub enum Face {
    /// Both as lines.
    Duplex(Habits),
    /// The prompt is an argument.
    Argument(&'static str),
}

/// What kind of client it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Habits {
    pub prompts: usize,
    /// All prompts at once, or each after the result of the one before.
    pub hurried: bool,
    /// Stdin closes behind the last prompt, or after its result.
    pub leaves_early: bool,
    pub garbage: bool,
    /// The last line has no end and is half a message.
    pub half_a_line: bool,
    /// It introduces itself before the first prompt.
    pub initializes: bool,
    /// It wants to be asked before tools run.
    pub permits: Option<Permits>,
}

/// How it answers when it is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Permits {
    Yes,
    No,
    /// With something that is no answer, and then with a refusal.
    Nonsense,
    /// Not at all: it leaves.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Home {
    Normal,
    ReadOnly,
    /// So many KiB are left on its disk.
    Full(u32),
    /// A file stands where a folder is wanted.
    InTheWay(&'static str),
    /// No file may grow beyond so many blocks of 512 bytes.
    Limited(u32),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stdout {
    Read,
    /// So long a pause after each line.
    Slow(Duration),
    /// Closes its end after so many lines.
    Leaves(usize),
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stderr {
    Read,
    /// Held open and never looked at.
    Ignored,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strike {
    pub signal: i32,
    pub when: When,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    Lines(usize),
    After(Duration),
}

pub const SIGHUP: i32 = 1;
pub const SIGINT: i32 = 2;
pub const SIGKILL: i32 = 9;
pub const SIGTERM: i32 = 15;

impl Plan {
    /// A schedule in which nothing goes wrong but the model.
    pub fn quiet(seed: u64, model: Vec<Told>) -> Self {
        let habits = Habits {
            prompts: 1,
            hurried: true,
            leaves_early: true,
            garbage: false,
            half_a_line: false,
            initializes: false,
            permits: None,
        };
        Self {
            seed,
            face: Face::Duplex(habits),
            partials: true,
            model,
            settings: json!({}),
            servers: json!({}),
            home: Home::Normal,
            stdout: Stdout::Read,
            stderr: Stderr::Read,
            strikes: Vec::new(),
            interrupt_after: None,
            max_turns: None,
        }
    }

    /// Nobody ends the run before its end.
    pub fn is_undisturbed(&self) -> bool {
        self.strikes.is_empty() && self.reader_stays()
    }

    pub fn reader_stays(&self) -> bool {
        matches!(self.stdout, Stdout::Read | Stdout::Slow(_))
    }

    pub fn pauses(&self) -> bool {
        self.model.iter().any(|told| told.turn.stop_reason.as_deref() == Some("pause_turn"))
    }

    pub fn is_killed(&self) -> bool {
        self.strikes.iter().any(|strike| strike.signal == SIGKILL)
    }
}
