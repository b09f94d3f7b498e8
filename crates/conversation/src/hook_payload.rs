//! The events of a machine as the payloads that hooks are told, with what only the runtime knows.

use hooks::{
    BackgroundTask, BatchCall, HookEvent, HookPayload, ModelSwitch, PermissionDenied, PermissionRequest, PostCompact,
    PostModelSwitch, PostToolBatch, PostToolUse, PostToolUseFailure, PreCompact, PreToolUse, SessionEnd, SessionStart,
    Setup, Stop, StopFailure, SubagentStart, SubagentStop, UserPromptExpansion, UserPromptSubmit,
};
use options::Options;
use output::{Secrets, session_store};
use serde_json::json;
use tools::Status;
use turn::Hook;

/// How the registry of tasks knows agents.
pub const AGENT_TASK: &str = "local_agent";

/// Characters of a task's description and command that a hook is told; the contract's number.
const LONGEST_DESCRIPTION: usize = 1_000;

/// Prices are per million tokens.
const PER_MILLION: f64 = 1_000_000.0;

pub struct PayloadFacts<'a> {
    pub options: &'a Options,
    pub secrets: &'a Secrets,
    pub tasks: &'a tools::Tasks,
    pub session_id: String,
    pub context_tokens: u64,
}

/// Which event it is.
pub fn event_of(hook: &Hook) -> HookEvent {
    match hook {
        Hook::Setup { .. } => HookEvent::Setup,
        Hook::SessionStart { .. } => HookEvent::SessionStart,
        Hook::SessionEnd { .. } => HookEvent::SessionEnd,
        Hook::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
        Hook::UserPromptExpansion { .. } => HookEvent::UserPromptExpansion,
        Hook::PreToolUse { .. } => HookEvent::PreToolUse,
        Hook::PermissionRequest { .. } => HookEvent::PermissionRequest,
        Hook::PermissionDenied { .. } => HookEvent::PermissionDenied,
        Hook::PostToolUse { .. } => HookEvent::PostToolUse,
        Hook::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
        Hook::PostToolBatch { .. } => HookEvent::PostToolBatch,
        Hook::Stop { .. } => HookEvent::Stop,
        Hook::SubagentStop { .. } => HookEvent::SubagentStop,
        Hook::StopFailure { .. } => HookEvent::StopFailure,
        Hook::SubagentStart { .. } => HookEvent::SubagentStart,
        Hook::PreCompact { .. } => HookEvent::PreCompact,
        Hook::PostCompact { .. } => HookEvent::PostCompact,
        Hook::PostModelSwitch(_) => HookEvent::PostModelSwitch,
    }
}

/// Hands the payload of an event to whoever fires it.
pub async fn with_payload<T>(hook: Hook, facts: &PayloadFacts<'_>, fire: impl AsyncFnOnce(&dyn HookPayload) -> T) -> T {
    match hook {
        Hook::Setup { trigger } => fire(&Setup { trigger }).await,
        Hook::SessionStart { source, model, agent_type, title } => {
            let (agent_type, session_title) = (agent_type.as_deref(), title.as_deref());
            fire(&SessionStart { source, model: &model, agent_type, session_title }).await
        }
        Hook::SessionEnd { reason } => fire(&SessionEnd { reason }).await,
        Hook::UserPromptSubmit { prompt } => fire(&UserPromptSubmit { prompt: &prompt }).await,
        Hook::UserPromptExpansion { kind, name, args, source, prompt } => {
            fire(&UserPromptExpansion {
                expansion_type: kind,
                command_name: &name,
                command_args: &args,
                command_source: &source,
                prompt: &prompt,
            })
            .await
        }
        Hook::PreToolUse { .. }
        | Hook::PermissionRequest { .. }
        | Hook::PermissionDenied { .. }
        | Hook::PostToolUse { .. }
        | Hook::PostToolUseFailure { .. }
        | Hook::PostToolBatch { .. } => with_call(hook, facts, fire).await,
        Hook::Stop { is_active, last_text } => {
            let background_tasks: &[BackgroundTask] = &background_tasks(facts.tasks);
            let (stop_hook_active, last_assistant_message) = (is_active, last_text.as_str());
            fire(&Stop { stop_hook_active, last_assistant_message, background_tasks, session_crons: &[] }).await
        }
        Hook::SubagentStop { is_active, last_text, agent_id, agent_type } => {
            let background_tasks: &[BackgroundTask] = &background_tasks(facts.tasks);
            fire(&SubagentStop {
                stop_hook_active: is_active,
                last_assistant_message: &last_text,
                background_tasks,
                session_crons: &[],
                agent_id: &agent_id,
                agent_type: &agent_type,
                agent_transcript_path: &agent_transcript(facts, &agent_id),
            })
            .await
        }
        Hook::StopFailure { category, message, last_text } => {
            fire(&StopFailure { error: category, error_details: &message, last_assistant_message: &last_text }).await
        }
        Hook::SubagentStart { agent_id, agent_type } => {
            fire(&SubagentStart { agent_id: &agent_id, agent_type: &agent_type }).await
        }
        Hook::PreCompact { trigger, wish } => fire(&PreCompact { trigger, custom_instructions: wish.as_deref() }).await,
        Hook::PostCompact { trigger, summary } => fire(&PostCompact { trigger, compact_summary: &summary }).await,
        Hook::PostModelSwitch(switch) => {
            let turn::ModelSwitch { from, to } = switch;
            let requested = Some(to.clone());
            let switch =
                model_switch(facts.options, facts.context_tokens, &Switch { from, to, requested, source: "auto" });
            fire(&PostModelSwitch { to_model: &switch.to_model, switch: &switch }).await
        }
    }
}

/// The events of tool calls.
async fn with_call<T>(hook: Hook, facts: &PayloadFacts<'_>, fire: impl AsyncFnOnce(&dyn HookPayload) -> T) -> T {
    match &hook {
        Hook::PreToolUse { name, input, tool_use_id } => {
            fire(&PreToolUse { tool_name: name, tool_input: input, tool_use_id }).await
        }
        Hook::PermissionRequest { name, input, tool_use_id, suggestions } => {
            let permission_suggestions = suggestions.as_slice();
            fire(&PermissionRequest { tool_name: name, tool_input: input, permission_suggestions, tool_use_id }).await
        }
        Hook::PermissionDenied { name, input, tool_use_id, reason } => {
            fire(&PermissionDenied { tool_name: name, tool_input: input, tool_use_id, reason }).await
        }
        Hook::PostToolUse { name, input, tool_use_id, response, duration_ms } => {
            let tool_response = facts.secrets.hide_value(response.clone());
            let duration_ms = *duration_ms;
            fire(&PostToolUse { tool_name: name, tool_input: input, tool_use_id, duration_ms, tool_response }).await
        }
        Hook::PostToolUseFailure { name, input, tool_use_id, error, duration_ms } => {
            fire(&PostToolUseFailure {
                tool_name: name,
                tool_input: input,
                tool_use_id,
                duration_ms: *duration_ms,
                error: facts.secrets.hide_value(json!(error)),
                is_interrupt: false,
            })
            .await
        }
        Hook::PostToolBatch { calls } => {
            let tool_calls = calls
                .iter()
                .map(|call| BatchCall {
                    tool_name: call["tool_name"].as_str().unwrap_or_default(),
                    tool_input: &call["tool_input"],
                    tool_use_id: call["tool_use_id"].as_str().unwrap_or_default(),
                    tool_response: &call["tool_response"],
                })
                .collect();
            fire(&PostToolBatch { tool_calls }).await
        }
        _ => fire(&Setup { trigger: "" }).await,
    }
}

/// One change of the model.
pub struct Switch {
    pub from: String,
    pub to: String,
    /// As it was asked for; nothing where the default was.
    pub requested: Option<String>,
    /// `command`, `sdk`, or `auto` where nobody asked.
    pub source: &'static str,
}

pub fn model_switch(options: &Options, tokens: u64, switch: &Switch) -> ModelSwitch {
    let info = model::info(&switch.to);
    let cache = options.asking.cache;
    let (ttl, write) = match cache.policy(&switch.to) {
        model::CachePolicy::OneHour => ("1h", info.price.cache_write_1h),
        _ => ("5m", info.price.cache_write_5m),
    };
    ModelSwitch {
        from_model: switch.from.clone(),
        to_model: switch.to.clone(),
        requested_model: switch.requested.clone(),
        source: switch.source,
        context_tokens: tokens,
        prompt_cache_warm: cache.policy(&switch.from) != model::CachePolicy::Off && tokens > 0,
        cache_ttl: ttl,
        estimated_cache_write_usd: tokens as f64 * write / PER_MILLION,
        pricing: if info.cost_basis.is_some() { "default" } else { "catalog" },
    }
}

/// Tells a session that is done from one that waits for its background work.
fn background_tasks(tasks: &tools::Tasks) -> Vec<BackgroundTask> {
    let running = tasks.list().into_iter().filter(|task| task.status == Status::Running);
    running
        .map(|task| BackgroundTask {
            kind: if task.kind == AGENT_TASK { "subagent" } else { "shell" },
            status: task.status.as_str(),
            description: clipped(&task.description),
            command: task.command.as_deref().map(clipped),
            id: task.id,
        })
        .collect()
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}… [+{} chars]", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}

fn agent_transcript(facts: &PayloadFacts<'_>, agent_id: &str) -> String {
    session_store(facts.options).agent_path(&facts.session_id, agent_id).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::clipped;

    #[test]
    fn long_descriptions_say_how_much_is_missing() {
        assert_eq!(clipped("short"), "short");
        let long = clipped(&"é".repeat(1_003));
        assert!(long.ends_with("é… [+3 chars]") && long.chars().count() == 1_000 + "… [+3 chars]".chars().count());
    }
}
