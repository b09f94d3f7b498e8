//! The `if` field: does a call match a permission rule?
//!
//! Read as a deny rule is, so that a guard runs whenever the call may be one it is meant for: every part of
//! a command chain counts, and a command that cannot be understood matches.

use crate::handler::Condition;
use crate::host::{HookContext, HookHost};
use policy::{Call, PathTarget, PermissionMode, Policy, RuleSet, Targets, decide, normalise};
use serde_json::Value;
use std::path::PathBuf;

/// The fields in which file tools name their file.
const PATH_FIELDS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// Whether a handler with this condition runs for the event's input.
pub(crate) fn holds(condition: &Condition, input: &Value, context: &HookContext<'_>, host: &HookHost<'_>) -> bool {
    let rule = match condition {
        Condition::Always => return true,
        Condition::Never => return false,
        Condition::Rule(rule) => rule,
    };
    let mut rule = rule.as_ref().clone();
    if rule.source.anchor.as_os_str().is_empty() {
        host.project_dir.clone_into(&mut rule.source.anchor);
    }
    let home = host.env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    let policy = Policy {
        // Allows all that the rule does not speak of.
        mode: PermissionMode::BypassPermissions,
        rules: RuleSet { deny: vec![rule], ..RuleSet::default() },
        roots: vec![host.disk.real(host.project_dir)],
        cwd: context.cwd.to_owned(),
        home,
    };
    let call_input = &input["tool_input"];
    let paths: Vec<PathTarget> = PATH_FIELDS
        .iter()
        .filter_map(|field| call_input[*field].as_str())
        .map(|path| {
            let given = normalise(&context.cwd.join(path));
            PathTarget { real: host.disk.real(&given), given, write: false }
        })
        .collect();
    let targets = Targets::paths(paths);
    let call = Call::new(input["tool_name"].as_str().unwrap_or_default(), call_input, &targets);
    matches!(decide(&policy, &call, host.disk).reason_type, "rule" | "unparsable")
}
