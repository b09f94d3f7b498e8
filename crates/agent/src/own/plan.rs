//! ExitPlanMode: the model has a plan and wants to carry it out.

use crate::Prompter;
use crate::ask::ToolCall;
use crate::calls::Done;
use crate::control::change_mode;
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use policy::names;
use serde_json::json;
use tools::{Outcome, ToolSpec};
use wire::PermissionMode;

pub static SPEC: ToolSpec = ToolSpec::alone(
    &names::EXIT_PLAN_MODE,
    "Hand in your plan and ask to leave plan mode. Call it once the plan is complete; do not ask for approval in text.",
    r#"{"type":"object","properties":{"plan":{"type":"string","description":"The plan, in Markdown"}},"additionalProperties":true}"#,
);

/// Leaving plan mode is a person's decision. Where nobody is there to take it, that is not a denial of a
/// permission, so it is not listed as one.
pub async fn run(shared: &Shared, lane: &Lane, call: &ToolCall) -> Done {
    if shared.options.permissions.prompter == Prompter::Nobody {
        return Outcome::error("The plan cannot be approved: nobody is here to do it. Stay in plan mode and give the plan as your final answer.")
            .into();
    }
    let permitted = match permit(shared, lane, &call.id, "ExitPlanMode", call.input.clone(), Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    // Whoever approved may have chosen the mode to go on in.
    if shared.live.mode.get() == PermissionMode::Plan {
        change_mode(shared, after_plan(shared.options.permissions.mode)).await;
    }
    let structured = json!({"plan": permitted.input["plan"], "isAgent": !lane.role.is_main()});
    let outcome = Outcome::text("The plan is approved. Carry it out now.", structured);
    Done::from(outcome).of(permitted)
}

/// Where the session stood before it planned; a session that began with planning asks from here on.
fn after_plan(started_in: PermissionMode) -> PermissionMode {
    if started_in == PermissionMode::Plan { PermissionMode::Default } else { started_in }
}
