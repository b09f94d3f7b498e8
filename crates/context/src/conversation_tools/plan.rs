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

pub static ENTER_SPEC: ToolSpec = ToolSpec::alone(
    &names::ENTER_PLAN_MODE,
    "Begin to plan: from here on you only read, until the user has approved the plan that you hand in with ExitPlanMode. For work with several good \
     ways or with much to change; not for small and clear tasks.",
    r#"{"type":"object","properties":{},"additionalProperties":true}"#,
);

/// Leaving plan mode is a person's decision. Where nobody is there to take it, that is not a denial of a
/// permission, so it is not listed as one.
pub fn check(prompter: &Prompter, mode: PermissionMode) -> Result<(), CallResult> {
    match prompter {
        _ if mode != PermissionMode::Plan => {
            Err(CallResult::misuse("Plan mode is not on, so there is no plan to hand in. Go on with the work."))
        }
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

/// Plan mode is on now.
pub fn entered() -> CallResult {
    let words = "Plan mode is on: read and think, change nothing, and hand in the plan with ExitPlanMode.";
    CallResult::text(words, json!({"message": words}))
}

/// The plan that the model handed in last.
pub fn last(messages: &[Value]) -> Option<String> {
    let blocks =
        messages.iter().rev().filter_map(|message| message["content"].as_array()).flat_map(|all| all.iter().rev());
    let mut plans = blocks.filter(|block| block["type"] == "tool_use" && block["name"] == "ExitPlanMode");
    plans.find_map(|block| block["input"]["plan"].as_str().map(str::to_owned))
}

/// Where the session stood before it planned; a session that began with planning asks from here on.
pub fn after_plan(started_in: PermissionMode) -> PermissionMode {
    if started_in == PermissionMode::Plan { PermissionMode::Default } else { started_in }
}
