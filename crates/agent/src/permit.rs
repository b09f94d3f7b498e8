//! May this call run? Asks `policy`, and where the answer is "ask", whoever can be asked. Today nobody
//! can, and nobody means no.

use crate::shared::{Lane, Shared};
use policy::{Call, Decision, PathFact, Policy, Verdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tools::Target;
use wire::{Event, System, ToolDenied};

/// Judges one call. `Err` is what the model is told; the denial is recorded and reported already.
pub async fn permit(
    shared: &Shared,
    lane: &Lane,
    tool_use_id: &str,
    name: &str,
    input: &Value,
    targets: &[Target],
) -> Result<(), String> {
    let decision = judge(shared, lane, name, input, targets);
    match decision.verdict {
        Verdict::Allow => Ok(()),
        Verdict::Deny | Verdict::Ask => Err(deny(shared, lane, tool_use_id, name, input, &decision).await),
    }
}

/// The decision alone, without any effect.
pub fn judge(shared: &Shared, lane: &Lane, name: &str, input: &Value, targets: &[Target]) -> Decision {
    let workspace = &lane.tools.workspace;
    let mut rules = shared.options.permissions.rules.clone();
    rules.allow.extend(shared.live.grants.borrow().iter().cloned());
    let policy = Policy {
        mode: shared.mode(&lane.role),
        rules,
        roots: workspace.roots().to_vec(),
        cwd: workspace.cwd(),
        home: shared.options.places.home.clone(),
    };
    let paths: Vec<PathFact> = targets
        .iter()
        .map(|target| PathFact { given: target.given.clone(), real: target.real.clone(), write: target.write })
        .collect();
    policy::decide(&policy, &Call { tool: name, input, paths: &paths }, &Disk)
}

async fn deny(shared: &Shared, lane: &Lane, id: &str, name: &str, input: &Value, decision: &Decision) -> String {
    let message = words(name, decision);
    shared.live.denials.borrow_mut().push(json!({"tool_name": name, "tool_use_id": id, "tool_input": input}));
    let event = ToolDenied {
        tool_name: name.into(),
        tool_use_id: id.into(),
        message: message.clone(),
        agent_id: lane.role.agent_id(),
        decision_reason_type: Some(decision.reason_type),
        decision_reason: Some(decision.reason.clone()),
    };
    shared.emitter.send(Event::System(System::PermissionDenied(event))).await;
    message
}

fn words(name: &str, decision: &Decision) -> String {
    let reason = decision.reason.trim_end_matches('.');
    match decision.verdict {
        Verdict::Ask => format!(
            "{name} was not run: it needs a permission and nobody is here to give it ({reason}). \
             Go on without it; if the task cannot be done that way, say what you would have run and why."
        ),
        _ => format!(
            "{name} was not run: it is not permitted ({reason}). Do not try to get around this; go on without it."
        ),
    }
}

/// The real file system, for paths that stand inside shell commands.
pub struct Disk;

impl policy::Resolve for Disk {
    fn real(&self, path: &Path) -> PathBuf {
        tools::real_path(path)
    }
}
