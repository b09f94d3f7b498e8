//! May this call run? Rules, modes, shell analysis, path and host rules.
//!
//! [`decide`] is pure and total: every call gets a verdict, and what is not provably allowed is asked.
//! Deliberately absent: I/O (paths are resolved through [`Resolve`]), prompting, hooks, and what an
//! unanswered question means: the caller turns `Ask` into a denial when nobody is there to answer.

// Modules stand in the order of their use, lower ones first.
pub mod names;
mod pattern;

mod path_pattern;

mod rule;

mod call;

mod survey;

mod paths;

pub mod programs;
pub mod shell;

mod grammar;

mod bash;

mod decide;

pub use bash::{Exclusions, is_judged_name, runs_plain_programs};
pub use call::{Call, Decision, Kind, Listing, Name, PathTarget, Policy, Resolve, Targets, Verdict};
pub use decide::decide;
pub use names::{Offered, RuleKind, ToolEntry};
pub use path_pattern::normalise;
pub use rule::{Rule, RuleError, RuleSet, Source, Specifier, parse_rule, split_list};
pub use wire::PermissionMode;

#[cfg(test)]
mod tests;
