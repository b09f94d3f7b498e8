//! The to-do list that the TodoWrite tool keeps.

use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// The current list, as the model wrote it.
#[derive(Debug, Clone, Default)]
pub struct Todos(Arc<Mutex<Vec<Value>>>);

impl Todos {
    pub fn current(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, new: Vec<Value>) -> Vec<Value> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), new)
    }
}
