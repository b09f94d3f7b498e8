//! Another model for the session, asked for by the client or typed as a command. Hooks may refuse it, and they
//! may live in the client: so nothing here holds up the lines that the client writes.

use crate::moments::{self, Switch};
use crate::shared::Shared;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use std::rc::Rc;

/// The answer to a request that changes the model; `None` for any other request. Settings that come with it are
/// applied before this returns.
pub fn begin(
    shared: &Rc<Shared>,
    subtype: &str,
    request: &Value,
) -> Option<LocalBoxFuture<'static, Result<Value, String>>> {
    let model = match subtype {
        "set_model" => &request["model"],
        "apply_flag_settings" => request["settings"].get("model")?,
        _ => return None,
    };
    let others = if subtype == "set_model" {
        Ok(())
    } else {
        super::requests::apply_settings(shared, &request["settings"]).map(drop)
    };
    let wanted = match (others, model) {
        (Err(problem), _) => Err(problem),
        (Ok(()), Value::Null) => Ok(None),
        (Ok(()), Value::String(name)) => Ok(Some(name.clone())),
        _ => Err(format!("{subtype} needs \"model\", a string or null")),
    };
    let shared = Rc::clone(shared);
    shared.live.ear.between.begin();
    let switch = async move {
        let done = match wanted {
            Ok(wanted) => switch_model(&shared, wanted.as_deref(), "sdk").await.map(|_| json!({})),
            Err(problem) => Err(problem),
        };
        shared.live.ear.between.end();
        done
    };
    Some(switch.boxed_local())
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
