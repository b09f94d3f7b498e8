//! Another model for the session, asked for by the client or typed as a command. Hooks may refuse it.

use crate::hearing;
use crate::moments::{self, Switch};
use crate::shared::Shared;
use hooks::HookEvent;
use serde_json::{Value, json};

/// Whether the answer to a request waits for hooks. They may live in the client, so the lines that it goes on
/// writing must not wait for the answer.
pub fn waits(shared: &Shared, subtype: &str, request: &Value) -> bool {
    let changes = match subtype {
        "set_model" => true,
        "apply_flag_settings" => request["settings"].get("model").is_some(),
        _ => false,
    };
    changes
        && [HookEvent::PreModelSwitch, HookEvent::PostModelSwitch].iter().any(|event| hearing::wants(shared, *event))
}

pub async fn set_model(shared: &Shared, model: &Value) -> Result<Value, String> {
    let wanted = match model {
        Value::Null => None,
        Value::String(name) => Some(name.as_str()),
        _ => return Err("the model must be a string or null".into()),
    };
    switch_model(shared, wanted, "sdk").await.map(|_| json!({}))
}

/// Changes the model unless a hook refuses; the id of the new one.
pub async fn switch_model(shared: &Shared, wanted: Option<&str>, source: &'static str) -> Result<String, String> {
    let asking = &shared.options.asking;
    let named = wanted.filter(|name| !name.is_empty() && *name != "default");
    let to = named.map_or_else(|| asking.model.clone(), |name| model::resolve(name, &asking.model_env));
    let from = shared.live.model.borrow().clone();
    let switch = Switch { from, to: to.clone(), requested: named.map(str::to_owned), source };
    let changes = switch.from != switch.to;
    if changes {
        moments::may_switch(shared, &switch).await?;
    }
    shared.live.model.borrow_mut().clone_from(&to);
    shared.live.stale.set(true);
    if changes {
        moments::switched(shared, &switch).await;
    }
    Ok(to)
}
