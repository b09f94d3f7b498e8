//! The session goes over to another model: hooks may refuse, and hear of it.

use super::fields;
use crate::hearing::fire_outside;
use crate::hooks::{Decision, HookEvent};
use crate::shared::Shared;
use serde_json::{Map, Value, json};

/// Prices are per million tokens.
const PER_MILLION: f64 = 1_000_000.0;

/// One change of the model.
pub struct Switch {
    pub from: String,
    pub to: String,
    /// As it was asked for; nothing where the default was.
    pub requested: Option<String>,
    /// `command`, `sdk`, or `auto` where nobody asked.
    pub source: &'static str,
}

impl Switch {
    fn fields(&self, shared: &Shared) -> Map<String, Value> {
        let tokens = shared.live.context_tokens.get();
        let info = model::info(&self.to);
        let cache = shared.options.asking.cache;
        let (ttl, write) = match cache.policy(&self.to) {
            model::CachePolicy::OneHour => ("1h", info.price.cache_write_1h),
            _ => ("5m", info.price.cache_write_5m),
        };
        fields([
            ("from_model", json!(self.from)),
            ("to_model", json!(self.to)),
            ("requested_model", json!(self.requested)),
            ("source", json!(self.source)),
            ("context_tokens", json!(tokens)),
            ("prompt_cache_warm", json!(cache.policy(&self.from) != model::CachePolicy::Off && tokens > 0)),
            ("cache_ttl", json!(ttl)),
            ("estimated_cache_write_usd", json!(tokens as f64 * write / PER_MILLION)),
            ("pricing", json!(if info.cost_basis.is_some() { "default" } else { "catalog" })),
        ])
    }
}

/// Why a hook refuses the change.
pub async fn may_switch(shared: &Shared, switch: &Switch) -> Result<(), String> {
    let event = HookEvent::PreModelSwitch;
    let verdict = fire_outside(shared, event, Some(&switch.to), switch.fields(shared)).await;
    let refused = verdict.blocked.or(verdict.stop);
    // Nobody can be asked in the middle of a switch, so a hook that wants that has its answer.
    let unsettled = matches!(verdict.decision, Some(Decision::Ask | Decision::Defer | Decision::Deny));
    let reason = refused.or_else(|| unsettled.then(|| verdict.reason.unwrap_or_default()));
    // Clients of the reference look for these words.
    reason.map_or(Ok(()), |reason| Err(format!("Model switch blocked by a PreModelSwitch hook: {reason}")))
}

pub async fn switched(shared: &Shared, switch: &Switch) {
    let event = HookEvent::PostModelSwitch;
    let verdict = fire_outside(shared, event, Some(&switch.to), switch.fields(shared)).await;
    shared.live.ear.late.borrow_mut().extend(verdict.contexts);
}
