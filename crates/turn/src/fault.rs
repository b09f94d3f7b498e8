//! Deliberate faults, for the simulation that must find each of them. Nothing else may switch one on.

/// One way to break the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The result of a call does not reach the conversation.
    DropsResult,
    /// A call that was denied runs.
    RunsDenied,
    /// A call runs with the input that it had before a hook or the client changed it.
    RunsOldInput,
    /// The shell is given a command as it was written instead of as it was judged.
    RunsAsWritten,
    /// A turn ends with two results.
    SecondResult,
    /// The results of a compacted conversation's last calls stay.
    OrphanedResult,
    /// One answer more than the limit.
    OneAnswerMore,
    /// The budget is not looked at.
    IgnoresBudget,
    /// An interrupt loses the next queued prompt.
    LosesQueuedPrompt,
    /// An interrupt does not stop sub-agents.
    SubagentOutlivesInterrupt,
    /// The transcript's entry of a result names another call.
    TornTranscript,
    /// Results are reported in the order in which the calls ended.
    ResultsOutOfOrder,
    /// A result leaves before its secrets are hidden.
    ShowsSecret,
    /// One structured answer more than the limit.
    OneSchemaRetryMore,
    /// Sub-agents nest one deeper than the limit.
    OneLevelDeeper,
    /// One sub-agent more than the limit works at once.
    OneSubagentMore,
    /// A Stop hook may send the model on for ever.
    StopHookWithoutEnd,
    /// An interrupt lets running calls go on.
    IgnoresInterrupt,
    /// A call that was put off gets a result as well.
    DeferredIsAnswered,
    /// An empty text stays in the conversation.
    KeepsEmptyText,
    /// A prompt that waits for its answer is lost by a compaction.
    CompactionLosesPrompt,
}

impl Fault {
    pub const ALL: [Self; 21] = [
        Self::DropsResult,
        Self::RunsDenied,
        Self::RunsOldInput,
        Self::RunsAsWritten,
        Self::SecondResult,
        Self::OrphanedResult,
        Self::OneAnswerMore,
        Self::IgnoresBudget,
        Self::LosesQueuedPrompt,
        Self::SubagentOutlivesInterrupt,
        Self::TornTranscript,
        Self::ResultsOutOfOrder,
        Self::ShowsSecret,
        Self::OneSchemaRetryMore,
        Self::OneLevelDeeper,
        Self::OneSubagentMore,
        Self::StopHookWithoutEnd,
        Self::IgnoresInterrupt,
        Self::DeferredIsAnswered,
        Self::KeepsEmptyText,
        Self::CompactionLosesPrompt,
    ];
}
