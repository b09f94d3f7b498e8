//! Which settings file a command changes.

use crate::Places;
use std::path::PathBuf;

/// A settings file, as `--scope` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
    Local,
}

impl Scope {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "project" => Some(Self::Project),
            "local" => Some(Self::Local),
            _ => None,
        }
    }

    pub fn file(self, places: &Places) -> PathBuf {
        match self {
            Self::User => places.user_settings(),
            Self::Project => places.project_settings(),
            Self::Local => places.local_settings(),
        }
    }
}
