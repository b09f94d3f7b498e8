//! The models behind ids that do not name them, as far as they were looked up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What was found out about ids that do not say which model they stand for; shared by all clients of an endpoint.
#[derive(Debug, Clone, Default)]
pub struct ModelsBehind(Arc<Mutex<BTreeMap<String, Option<String>>>>);

impl ModelsBehind {
    pub(crate) fn get(&self, id: &str) -> Option<String> {
        self.0.lock().ok()?.get(id).cloned().flatten()
    }

    pub(crate) fn was_asked(&self, id: &str) -> bool {
        self.0.lock().is_ok_and(|known| known.contains_key(id))
    }

    pub(crate) fn note(&self, id: &str, model: Option<String>) {
        if let Ok(mut known) = self.0.lock() {
            known.insert(id.to_owned(), model);
        }
    }
}
