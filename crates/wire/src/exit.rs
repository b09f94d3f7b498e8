//! The exit codes of our processes. The numbers are API: loops and SDKs branch on them.

/// Exit codes of both programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Agent: the last result was no error. Loop: done, and the checks agreed.
    Success,
    /// An error result, a failed run, bad usage or bad configuration.
    Failure,
    /// Loop: a limit was reached (iterations, time, cost, tokens).
    Limit,
    /// Loop: a person is needed (blocked or stuck).
    NeedsHuman,
    /// Ended by SIGINT.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
}

impl ExitCode {
    pub const ALL: [Self; 6] =
        [Self::Success, Self::Failure, Self::Limit, Self::NeedsHuman, Self::Interrupted, Self::Terminated];

    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Limit => 2,
            Self::NeedsHuman => 3,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success; for the loop: done, and checked",
            Self::Failure => "an error result, or bad usage or configuration",
            Self::Limit => "loop: a limit was reached (iterations, time, cost, tokens)",
            Self::NeedsHuman => "loop: a person is needed (blocked or stuck)",
            Self::Interrupted => "interrupted by SIGINT",
            Self::Terminated => "ended by SIGTERM",
        }
    }
}

/// The documented table, one line a code.
pub fn table() -> String {
    ExitCode::ALL.iter().map(|exit| format!("{:>3}  {}\n", exit.code(), exit.meaning())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_api() {
        assert_eq!(
            super::table(),
            "  0  success; for the loop: done, and checked\n\
             \x20 1  an error result, or bad usage or configuration\n\
             \x20 2  loop: a limit was reached (iterations, time, cost, tokens)\n\
             \x20 3  loop: a person is needed (blocked or stuck)\n\
             130  interrupted by SIGINT\n\
             143  ended by SIGTERM\n"
        );
    }
}
