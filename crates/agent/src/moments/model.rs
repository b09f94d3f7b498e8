//! The session goes over to another model: hooks may refuse, and hear of it.

use crate::hearing::fire_outside;
use crate::shared::Shared;
use hooks::{Decision, ModelSwitch, PostModelSwitch, PreModelSwitch};

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
    fn payload(&self, shared: &Shared) -> ModelSwitch {
        let tokens = shared.live.context_tokens.get();
        let info = model::info(&self.to);
        let cache = shared.options.asking.cache;
        let (ttl, write) = match cache.policy(&self.to) {
            model::CachePolicy::OneHour => ("1h", info.price.cache_write_1h),
            _ => ("5m", info.price.cache_write_5m),
        };
        ModelSwitch {
            from_model: self.from.clone(),
            to_model: self.to.clone(),
            requested_model: self.requested.clone(),
            source: self.source,
            context_tokens: tokens,
            prompt_cache_warm: cache.policy(&self.from) != model::CachePolicy::Off && tokens > 0,
            cache_ttl: ttl,
            estimated_cache_write_usd: tokens as f64 * write / PER_MILLION,
            pricing: if info.cost_basis.is_some() { "default" } else { "catalog" },
        }
    }
}

/// Why a hook refuses the change.
pub async fn may_switch(shared: &Shared, switch: &Switch) -> Result<(), String> {
    let payload = PreModelSwitch { to_model: &switch.to, switch: &switch.payload(shared) };
    let verdict = fire_outside(shared, &payload).await;
    let refused = verdict.blocked.or(verdict.stop);
    // Nobody can be asked in the middle of a switch, so a hook that wants that has its answer.
    let unsettled = matches!(verdict.decision, Some(Decision::Ask | Decision::Defer | Decision::Deny));
    let reason = refused.or_else(|| unsettled.then(|| verdict.reason.unwrap_or_default()));
    // Clients of the reference look for these words.
    reason.map_or(Ok(()), |reason| Err(format!("Model switch blocked by a PreModelSwitch hook: {reason}")))
}

pub async fn switched(shared: &Shared, switch: &Switch) {
    let payload = PostModelSwitch { to_model: &switch.to, switch: &switch.payload(shared) };
    let verdict = fire_outside(shared, &payload).await;
    shared.live.ear.late.borrow_mut().extend(verdict.contexts);
}
