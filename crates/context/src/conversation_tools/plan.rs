//! ExitPlanMode: the model has a plan and wants to carry it out.

use options::Prompter;
use policy::names;
use serde_json::{Value, json};
use tools::ToolSpec;
use turn::CallResult;
use wire::PermissionMode;

pub static SPEC: ToolSpec = ToolSpec::alone(
    &names::EXIT_PLAN_MODE,
    "Hand in your plan and ask to leave plan mode. Call it once the plan is complete; do not ask for approval in text.",
    r#"{"type":"object","properties":{"plan":{"type":"string","description":"The plan, in Markdown"}},"additionalProperties":true}"#,
);

/// Leaving plan mode is a person's decision. Where nobody is there to take it, that is not a denial of a
/// permission, so it is not listed as one.
pub fn check(prompter: &Prompter) -> Result<(), CallResult> {
    match prompter {
        Prompter::Nobody => Err(CallResult::error(
            "The plan cannot be approved: nobody is here to do it. Stay in plan mode and give the plan as your final answer.",
        )),
        _ => Ok(()),
    }
}

pub fn run(input: &Value, is_agent: bool) -> CallResult {
    let structured = json!({"plan": input["plan"], "isAgent": is_agent});
    CallResult::text("The plan is approved. Carry it out now.", structured)
}

/// Where the session stood before it planned; a session that began with planning asks from here on.
pub fn after_plan(started_in: PermissionMode) -> PermissionMode {
    if started_in == PermissionMode::Plan { PermissionMode::Default } else { started_in }
}
