//! `apply_flag_settings`: what a client changes of the settings while a session runs. A null takes a value back.
//!
//! Deliberately absent: everything that was used up when the session started, such as servers and the environment.
//! Naming it is no error, and changes nothing.

use super::{change_mode, switch};
use crate::shared::Shared;
use policy::{Rule, Source};
use serde_json::{Value, json};
use wire::PermissionMode;

/// Whose rules these are; the next ones take their place.
const SOURCE: &str = "applied settings";

pub async fn apply(shared: &Shared, settings: &Value) -> Result<Value, String> {
    let map = settings.as_object().ok_or("apply_flag_settings needs \"settings\", an object")?;
    if let Some(permissions) = map.get("permissions") {
        permit(shared, permissions).await?;
    }
    for (key, value) in map {
        match key.as_str() {
            "model" => drop(switch::set_model(shared, value).await?),
            "effortLevel" => {
                let own = shared.options.asking.effort.clone();
                *shared.live.effort.borrow_mut() = value.as_str().map(str::to_owned).or(own);
                shared.live.stale.set(true);
            }
            "alwaysThinkingEnabled" => shared.live.thinking.borrow_mut().always = value.as_bool().unwrap_or(false),
            "outputStyle" => {
                let own = shared.options.settings.output_style.clone();
                *shared.live.output_style.borrow_mut() = value.as_str().map(str::to_owned).or(own);
                shared.live.stale.set(true);
            }
            _ => {}
        }
    }
    Ok(json!({}))
}

/// All of it or nothing: a list with a mistake in it is no list.
async fn permit(shared: &Shared, permissions: &Value) -> Result<(), String> {
    if shared.options.settings.managed["allowManagedPermissionRulesOnly"] == true {
        return Err("the administrator alone sets permission rules here".into());
    }
    let lists = ["allow", "ask", "deny"].map(|kind| rules(shared, permissions, kind));
    let [allow, ask, deny] = lists;
    let (allow, ask, deny) = (allow?, ask?, deny?);
    let mode = match &permissions["defaultMode"] {
        Value::Null => None,
        name => Some(mode(shared, name)?),
    };
    {
        let mut live = shared.live.rules.borrow_mut();
        let live = &mut *live;
        for (list, new) in [(&mut live.allow, allow), (&mut live.ask, ask), (&mut live.deny, deny)] {
            list.retain(|rule| rule.source.name != SOURCE);
            list.extend(new);
        }
    }
    shared.live.stale.set(true);
    if let Some(mode) = mode {
        change_mode(shared, mode).await;
    }
    Ok(())
}

fn rules(shared: &Shared, permissions: &Value, kind: &str) -> Result<Vec<Rule>, String> {
    let listed = match &permissions[kind] {
        Value::Null => return Ok(Vec::new()),
        listed => listed.as_array().ok_or_else(|| format!("permissions.{kind} must be a list"))?,
    };
    let source = Source { name: SOURCE.into(), anchor: shared.options.cwd.clone() };
    let one = |rule: &Value| {
        let text = rule.as_str().ok_or_else(|| format!("permissions.{kind} must be a list of rules"))?;
        policy::parse_rule(text, &source).map_err(|error| error.to_string())
    };
    listed.iter().map(one).collect()
}

fn mode(shared: &Shared, name: &Value) -> Result<PermissionMode, String> {
    let mode =
        name.as_str().and_then(PermissionMode::parse).ok_or_else(|| format!("unknown permission mode {name}"))?;
    let may = mode != PermissionMode::BypassPermissions || shared.options.permissions.may_bypass;
    may.then_some(mode).ok_or_else(|| "bypassPermissions was not made possible at the start".into())
}
