//! ScheduleWakeup, CronCreate, CronDelete and CronList: prompts that begin by the clock while the session lives.
//!
//! Deliberately absent: the clock and the list (`conversation::Schedule`).

use super::error::CallError;
use policy::names;
use serde_json::Value;
use tools::ToolSpec;

pub static SPECS: [ToolSpec; 4] = [
    ToolSpec::alone(
        &names::SCHEDULE_WAKEUP,
        "End this turn later: after the delay the prompt begins a new turn of this session, which stays alive for it. For work that has to wait for \
         something outside. One wakeup at a time; stop takes it back.",
        r#"{"type":"object","properties":{"delaySeconds":{"type":"number","description":"Seconds from now; 60 to 3600"},"reason":{"type":"string","description":"What is waited for"},"prompt":{"type":"string","description":"What begins the new turn"},"stop":{"type":"boolean","description":"Take the wakeup back"},"noop":{"type":"boolean","description":"Change nothing"}},"required":[],"additionalProperties":false}"#,
    ),
    ToolSpec::alone(
        &names::CRON_CREATE,
        "Begin a turn of this session by the clock, once or again and again. A job comes only while this session runs, and is there again when the \
         session is resumed. A job that comes again and again ends after seven days.",
        r#"{"type":"object","properties":{"cron":{"type":"string","description":"minute hour day month weekday, local time: */5 * * * *"},"prompt":{"type":"string","description":"What begins each turn"},"recurring":{"type":"boolean","description":"Again and again; true if left out"},"durable":{"type":"boolean","description":"Without effect: a job belongs to its session"}},"required":["cron","prompt"],"additionalProperties":false}"#,
    ),
    ToolSpec::alone(
        &names::CRON_DELETE,
        "Take back a job of CronCreate.",
        r#"{"type":"object","properties":{"id":{"type":"string","description":"The job's id"}},"required":["id"],"additionalProperties":false}"#,
    ),
    ToolSpec::beside_others(
        &names::CRON_LIST,
        "The jobs of this session that wait for their time.",
        r#"{"type":"object","properties":{},"additionalProperties":false}"#,
    ),
];

/// What the schema cannot say.
pub(super) fn check(name: &str, input: &Value) -> Result<(), CallError> {
    let quiet = input["stop"] == true || input["noop"] == true;
    let is_blank = |field: &str| input[field].as_str().is_none_or(|text| text.trim().is_empty());
    if name == names::SCHEDULE_WAKEUP.name && !quiet && (input["delaySeconds"].as_f64().is_none() || is_blank("prompt"))
    {
        return Err(CallError::Wakeup);
    }
    if name == names::CRON_CREATE.name && is_blank("prompt") {
        return Err(CallError::JobPrompt);
    }
    Ok(())
}
