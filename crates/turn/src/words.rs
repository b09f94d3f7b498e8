//! Texts for the model that the machine puts into a conversation, in our own words.

pub(crate) const SUMMARISE: &str = "\
Write the hand-over notes for this session now; the messages above will be gone and your notes are all that is left. Include:
1. What the user asked for, every request, the latest one word for word.
2. Decisions taken and why; rules the user or the project set.
3. Files read or changed, by full path, with the parts of code that matter.
4. Commands run and what they showed; errors and how they were solved.
5. What is done, what is half done, and the exact next step.
Be complete and concrete. Do not call tools. Do not address the user.";

pub(crate) const SUMMARY_HEAD: &str = "\
The earlier part of this session was too long to keep. These are the notes on it; go on from where they end, without asking what was asked before.";

/// Before and after the way to work in plan mode, which clients may bring.
pub(crate) const PLAN_MODE: &str = "Plan mode is on: change nothing, neither files nor anything else.";
pub(crate) const PLAN_MODE_WORK: &str = "Look around, read and think until you know what is to be done and how.";
pub(crate) const PLAN_MODE_END: &str = "When you have a plan, call ExitPlanMode with it.";
pub(crate) const PLAN_MODE_OFF: &str = "Plan mode is off: you may carry out what was planned.";

/// The result of a call that an interrupt cut off.
pub(crate) const INTERRUPTED_CALL: &str = "[Request interrupted by user for tool use]";
/// The message after an answer that an interrupt cut off.
pub(crate) const INTERRUPTED_ANSWER: &str = "[Request interrupted by user]";
