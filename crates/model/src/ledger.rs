//! What the process has spent: every model call once, by model, sub-agents and compaction included.

use crate::catalog::{self, ModelInfo};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use wire::{ModelUsage, Usage};

/// Costs of one process. Shared by the main conversation and its sub-agents.
#[derive(Default)]
pub struct Ledger(RefCell<Entries>);

#[derive(Default)]
struct Entries {
    by_model: BTreeMap<String, ModelUsage>,
    /// Message ids already in the ledger. A repeated id (a resent or duplicated message) costs nothing twice.
    seen: HashSet<String>,
}

/// Ids remembered for de-duplication. Duplicates come close together, so old ones may be forgotten.
const SEEN_MAX: usize = 4096;

impl Ledger {
    pub fn book(&self, message_id: &str, info: &ModelInfo, usage: &Usage) {
        let mut entries = self.0.borrow_mut();
        if entries.seen.len() >= SEEN_MAX {
            entries.seen.clear();
        }
        if !message_id.is_empty() && !entries.seen.insert(message_id.to_owned()) {
            return;
        }
        let entry = entries.by_model.entry(info.id.clone()).or_default();
        entry.input_tokens = entry.input_tokens.saturating_add(usage.input_tokens);
        entry.output_tokens = entry.output_tokens.saturating_add(usage.output_tokens);
        entry.cache_read_input_tokens = entry.cache_read_input_tokens.saturating_add(usage.cache_read_input_tokens);
        entry.cache_creation_input_tokens =
            entry.cache_creation_input_tokens.saturating_add(usage.cache_creation_input_tokens);
        entry.web_search_requests = entry.web_search_requests.saturating_add(usage.server_tool_use.web_search_requests);
        entry.cost_usd += catalog::cost_usd(usage, info);
        entry.context_window = info.context_window;
        entry.max_output_tokens = info.max_output;
        entry.provider = Some(info.provider).filter(|name| !name.is_empty()).map(str::to_owned);
        entry.canonical_model = Some(info.canonical_model());
        entry.cost_basis = Some(info.basis_name().to_owned());
    }

    /// After `/clear` the ledger starts anew.
    pub fn reset(&self) {
        *self.0.borrow_mut() = Entries::default();
    }

    pub fn total_usd(&self) -> f64 {
        // Not `sum`: of nothing it is -0.0, which clients would print.
        self.0.borrow().by_model.values().fold(0.0, |sum, usage| sum + usage.cost_usd)
    }

    pub fn by_model(&self) -> BTreeMap<String, ModelUsage> {
        self.0.borrow().by_model.clone()
    }
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
}
