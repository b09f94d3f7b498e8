//! What the client asks of us.

use super::{files, flags, initialize, reload, roots, switch, usage};
use crate::cancel::Why;
use crate::shared::Shared;
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;
use wire::{ControlResponse, Event, PermissionMode, Status, System};

/// A stopped task gets this long to be gone before the client is answered.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// Answers one request. Exactly one response goes out for it, at once or when the work is done. `waiting` is
/// what the queue of prompts has to say to it.
pub async fn handle(shared: &Rc<Shared>, request_id: String, request: Value, waiting: Value) {
    let subtype = request["subtype"].as_str().unwrap_or_default();
    // What waits for hooks may wait for a line that the client has still to write; the next turn waits for it.
    if switch::waits(shared, subtype, &request) {
        let (shared, subtype) = (Rc::clone(shared), subtype.to_owned());
        shared.live.ear.between.begin();
        tokio::task::spawn_local(async move {
            let answer = answer(&shared, &subtype, &request, waiting).await;
            shared.live.ear.between.end();
            respond(&shared, &request_id, answer).await;
        });
        return;
    }
    // What talks to servers may take long and must not hold up the lines behind it.
    if subtype.starts_with("mcp_") && subtype != "mcp_status" {
        let shared = Rc::clone(shared);
        tokio::task::spawn_local(async move {
            let answer = crate::outside::control(&shared, &request).await;
            respond(&shared, &request_id, answer).await;
        });
        return;
    }
    let answer = answer(shared, subtype, &request, waiting).await;
    respond(shared, &request_id, answer).await;
}

async fn respond(shared: &Shared, request_id: &str, answer: Result<Value, String>) {
    let response = match answer {
        Ok(payload) => ControlResponse::success(request_id, payload),
        Err(error) if error.starts_with("Unsupported") => ControlResponse::unsupported(request_id, error),
        Err(error) => ControlResponse::error(request_id, error),
    };
    shared.emitter.send(Event::control_response(response)).await;
}

async fn answer(shared: &Rc<Shared>, subtype: &str, request: &Value, waiting: Value) -> Result<Value, String> {
    match subtype {
        "initialize" => initialize::apply(shared, request),
        "interrupt" => {
            shared.cancel.cancel(Why::Client);
            Ok(waiting)
        }
        "cancel_async_message" => Ok(waiting),
        "set_permission_mode" => set_mode(shared, request).await,
        "register_repo_root" => roots::register(shared, request),
        "set_max_thinking_tokens" => set_thinking(shared, request),
        "set_model" => switch::set_model(shared, &request["model"]).await,
        "apply_flag_settings" => flags::apply(shared, &request["settings"]).await,
        "get_settings" => Ok(settings(shared)),
        "get_context_usage" => Ok(usage::context(shared)),
        "mcp_status" => Ok(crate::outside::status(shared)),
        "stop_task" => stop_task(shared, request).await,
        "background_tasks" => background(shared, request),
        "rewind_files" => crate::checkpoints::rewind(shared, request),
        "reload_skills" => Ok(reload::skills(shared)),
        "reload_plugins" => reload::plugins(shared, request),
        "reload_output_styles" => Ok(reload::output_styles(shared)),
        "read_file" => files::read(shared, request),
        "seed_read_state" => files::seed(shared, request),
        "get_task_output" => files::task_output(shared, request),
        "rename_session" => rename(shared, request),
        "get_binary_version" => Ok(json!({"version": shared.options.version})),
        "list_models" => Ok(json!({"models": model::listing(&shared.options.asking.model_env)})),
        "get_session_cost" => Ok(json!({"total_cost_usd": shared.ledger.total_usd()})),
        other => Err(format!("Unsupported control request subtype: {other}")),
    }
}

async fn set_mode(shared: &Shared, request: &Value) -> Result<Value, String> {
    let name = request["mode"].as_str().ok_or("set_permission_mode needs \"mode\", a string")?;
    let mode = PermissionMode::parse(name)
        .ok_or_else(|| format!("unknown permission mode '{name}'; known: {}", PermissionMode::NAMES.join(", ")))?;
    if mode == PermissionMode::BypassPermissions && !shared.options.permissions.may_bypass {
        return Err(
            "bypassPermissions needs --dangerously-skip-permissions or --allow-dangerously-skip-permissions at start"
                .into(),
        );
    }
    change_mode(shared, mode).await;
    Ok(json!({"mode": mode.as_str()}))
}

/// From here on calls are judged in this mode.
pub async fn change_mode(shared: &Shared, mode: PermissionMode) {
    if shared.live.mode.replace(mode) != mode {
        shared.live.stale.set(true);
        shared.emitter.send(Event::System(System::Status(Status::of_mode(mode)))).await;
    }
}

fn set_thinking(shared: &Shared, request: &Value) -> Result<Value, String> {
    let own = &shared.options.asking.thinking;
    let mut thinking = shared.live.thinking.borrow_mut();
    match request.get("max_thinking_tokens") {
        None => {}
        Some(Value::Null) => thinking.flag_budget = own.flag_budget,
        Some(number) => {
            let budget = number.as_u64().ok_or("max_thinking_tokens must be a whole number or null")?;
            thinking.flag_budget = Some(budget);
        }
    }
    match request.get("thinking_display") {
        None => {}
        Some(Value::Null) => thinking.display.clone_from(&own.display),
        Some(display) => {
            let known = display.as_str().filter(|display| ["summarized", "omitted"].contains(display));
            thinking.display = Some(known.ok_or("thinking_display must be summarized, omitted or null")?.to_owned());
        }
    }
    Ok(json!({}))
}

fn settings(shared: &Shared) -> Value {
    json!({
        "effective": shared.options.settings.merged,
        "sources": [],
        "applied": {"model": *shared.live.model.borrow(), "effort": *shared.live.effort.borrow()},
    })
}

fn rename(shared: &Shared, request: &Value) -> Result<Value, String> {
    let title = request["title"].as_str().ok_or("rename_session needs \"title\", a string")?;
    let meant = request["session_id"].as_str().is_none_or(|id| id == shared.emitter.session_id());
    if !meant {
        return Err("the session with this id is over; another one has begun since".into());
    }
    super::name_session(shared, title).ok_or("the title is empty")?;
    Ok(json!({}))
}

/// Commands that are waited for go on by themselves; agents are still waited for.
fn background(shared: &Shared, request: &Value) -> Result<Value, String> {
    if !shared.options.tools.shell.background_allowed {
        return Err("background tasks are switched off for this session".into());
    }
    let left = shared.kit.tasks.leave_alone(request["tool_use_id"].as_str());
    Ok(json!({"backgrounded": left}))
}

async fn stop_task(shared: &Shared, request: &Value) -> Result<Value, String> {
    let id = request["task_id"].as_str().ok_or("stop_task needs \"task_id\", a string")?;
    shared.kit.tasks.stop(id, STOP_WAIT).await.map_err(|error| error.to_string())?;
    Ok(json!({}))
}
