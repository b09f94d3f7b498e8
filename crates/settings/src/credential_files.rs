//! Every file that this agent itself would read as a credential: the one list that sandboxes hide.

use crate::Places;
use std::path::PathBuf;

impl Places {
    /// Absolute; whether they exist or not.
    pub fn credential_files(&self) -> Vec<PathBuf> {
        self.key_files().into_iter().chain(self.login_files()).collect()
    }
}
