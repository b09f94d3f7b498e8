//! What the session has cost: every model call once, by model, sub-agents and compaction included.
//!
//! A session that goes on in another process goes on with what it has cost before; what *this* process has spent is
//! counted apart, because that is what `--max-budget-usd` is about.

use crate::catalog::{self, ModelInfo};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use wire::{ModelUsage, Usage};

/// Costs of one session. Shared by the main conversation and its sub-agents.
#[derive(Default)]
pub struct Ledger(RefCell<Entries>);

#[derive(Default)]
struct Entries {
    by_model: BTreeMap<String, ModelUsage>,
    /// Costs of earlier processes that no model is named for.
    unnamed_usd: f64,
    /// What this process has spent. No `/clear` gives it back.
    spent_usd: f64,
    /// As the last result told it.
    told: BTreeMap<String, ModelUsage>,
    /// Milliseconds in which the API was asked, and of whole turns, of this process.
    time_ms: (u64, u64),
    /// Message ids already in the ledger. A repeated id (a resent or duplicated message) costs nothing twice.
    seen: HashSet<String>,
}

/// Ids remembered for de-duplication. Duplicates come close together, so old ones may be forgotten.
const SEEN_MAX: usize = 4096;

impl Ledger {
    /// What the message costs; `None` where it was booked before.
    pub fn book(&self, message_id: &str, info: &ModelInfo, usage: &Usage) -> Option<f64> {
        let mut entries = self.0.borrow_mut();
        if entries.seen.len() >= SEEN_MAX {
            entries.seen.clear();
        }
        if !message_id.is_empty() && !entries.seen.insert(message_id.to_owned()) {
            return None;
        }
        let cost = catalog::cost_usd(usage, info);
        entries.spent_usd += cost;
        let entry = entries.by_model.entry(info.id.clone()).or_default();
        entry.input_tokens = entry.input_tokens.saturating_add(usage.input_tokens);
        entry.output_tokens = entry.output_tokens.saturating_add(usage.output_tokens);
        entry.cache_read_input_tokens = entry.cache_read_input_tokens.saturating_add(usage.cache_read_input_tokens);
        entry.cache_creation_input_tokens =
            entry.cache_creation_input_tokens.saturating_add(usage.cache_creation_input_tokens);
        entry.web_search_requests = entry.web_search_requests.saturating_add(usage.server_tool_use.web_search_requests);
        entry.cost_usd += cost;
        entry.context_window = info.context_window;
        entry.max_output_tokens = info.max_output;
        entry.provider = Some(info.provider).filter(|name| !name.is_empty()).map(str::to_owned);
        entry.canonical_model = Some(info.canonical_model());
        entry.cost_basis = Some(info.basis_name().to_owned());
        Some(cost)
    }

    /// Goes on with what a `cost-state` line of the transcript says. A line that makes no sense says nothing.
    pub fn restore(&self, state: &Value) {
        let by_model: BTreeMap<String, ModelUsage> =
            serde_json::from_value(state["modelUsage"].clone()).unwrap_or_default();
        let named: f64 = by_model.values().map(|usage| usage.cost_usd).sum();
        let mut entries = self.0.borrow_mut();
        entries.unnamed_usd = (state["totalCostUSD"].as_f64().unwrap_or(0.0) - named).max(0.0);
        entries.told.clone_from(&by_model);
        entries.by_model = by_model;
    }

    /// The line of the transcript from which a later process goes on; nothing where nothing was spent.
    pub fn cost_state(&self) -> Option<Value> {
        let entries = self.0.borrow();
        let is_unknown = |usage: &ModelUsage| usage.cost_basis.as_deref() == Some("unknown");
        (!entries.by_model.is_empty()).then(|| {
            json!({
                "type": "cost-state",
                "totalCostUSD": entries.total_usd(),
                "modelUsage": entries.by_model,
                "hasUnknownModelCost": entries.by_model.values().any(is_unknown),
            })
        })
    }

    /// A turn is over.
    pub fn add_time(&self, api_ms: u64, total_ms: u64) {
        let mut entries = self.0.borrow_mut();
        entries.time_ms = (entries.time_ms.0.saturating_add(api_ms), entries.time_ms.1.saturating_add(total_ms));
    }

    /// The answer to `get_usage`. Plans and their limits are a subscription's, which no key has.
    pub fn shown(&self) -> Value {
        let entries = self.0.borrow();
        json!({
            "session": {
                "total_cost_usd": entries.total_usd(),
                "total_api_duration_ms": entries.time_ms.0,
                "total_duration_ms": entries.time_ms.1,
                "model_usage": entries.by_model,
            },
            "subscription_type": null,
            "rate_limits_available": false,
            "rate_limits": null,
            "behaviors": null,
        })
    }

    /// After `/clear` the ledger starts anew.
    pub fn reset(&self) {
        let mut entries = self.0.borrow_mut();
        *entries = Entries { spent_usd: entries.spent_usd, ..Entries::default() };
    }

    /// Of the whole session.
    pub fn total_usd(&self) -> f64 {
        self.0.borrow().total_usd()
    }

    /// Of this process.
    pub fn spent_usd(&self) -> f64 {
        self.0.borrow().spent_usd
    }

    pub fn by_model(&self) -> BTreeMap<String, ModelUsage> {
        self.0.borrow().by_model.clone()
    }

    /// What was added since the last result, and from here on counts as told.
    pub fn take_untold(&self) -> BTreeMap<String, ModelUsage> {
        let mut entries = self.0.borrow_mut();
        let mut untold = entries.by_model.clone();
        let told = std::mem::replace(&mut entries.told, untold.clone());
        for (name, usage) in &mut untold {
            if let Some(before) = told.get(name) {
                subtract(usage, before);
            }
        }
        untold.retain(|_, usage| usage.input_tokens > 0 || usage.output_tokens > 0 || usage.cost_usd > 0.0);
        untold
    }
}

impl Entries {
    fn total_usd(&self) -> f64 {
        // Not `sum`: of nothing it is -0.0, which clients would print.
        self.by_model.values().fold(self.unnamed_usd, |sum, usage| sum + usage.cost_usd)
    }
}

fn subtract(usage: &mut ModelUsage, before: &ModelUsage) {
    usage.input_tokens = usage.input_tokens.saturating_sub(before.input_tokens);
    usage.output_tokens = usage.output_tokens.saturating_sub(before.output_tokens);
    usage.cache_read_input_tokens = usage.cache_read_input_tokens.saturating_sub(before.cache_read_input_tokens);
    usage.cache_creation_input_tokens =
        usage.cache_creation_input_tokens.saturating_sub(before.cache_creation_input_tokens);
    usage.web_search_requests = usage.web_search_requests.saturating_sub(before.web_search_requests);
    usage.cost_usd = (usage.cost_usd - before.cost_usd).max(0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(format!("{:?}", Ledger::default().total_usd()), "0.0");
    }

    #[test]
    fn a_message_is_booked_once() {
        let ledger = Ledger::default();
        let info = catalog::info("claude-sonnet-5-5");
        let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
        ledger.book("m1", &info, &usage);
        ledger.book("m1", &info, &usage);
        assert!((ledger.total_usd() - 2.0).abs() < 1e-9, "{}", ledger.total_usd());
        ledger.book("m2", &info, &usage);
        assert_eq!(ledger.by_model()["claude-sonnet-5-5"].input_tokens, 2_000_000);
    }

    #[test]
    fn a_session_goes_on_with_what_it_has_cost_and_a_budget_does_not() {
        let (first, second) = (Ledger::default(), Ledger::default());
        let info = catalog::info("claude-sonnet-5-5");
        let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(first.cost_state(), None);
        first.book("m1", &info, &usage);
        second.restore(&first.cost_state().unwrap());
        second.book("m2", &info, &usage);
        assert!((second.total_usd() - 4.0).abs() < 1e-9 && (second.spent_usd() - 2.0).abs() < 1e-9);
        assert_eq!(second.take_untold()["claude-sonnet-5-5"].input_tokens, 1_000_000);
        assert!(second.take_untold().is_empty());
        second.reset();
        assert!(second.total_usd() == 0.0 && second.spent_usd() > 0.0);
        second.restore(&json!({"totalCostUSD": 1.5}));
        assert!((second.total_usd() - 1.5).abs() < 1e-9);
        second.restore(&json!({"totalCostUSD": "x", "modelUsage": 7}));
        assert!(second.total_usd() == 0.0);
    }
}
