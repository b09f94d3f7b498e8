//! Where a setting can come from, and the pair "value and its origin".

use std::path::PathBuf;

use crate::SettingsError;

/// In rising precedence: a later source overrides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    User,
    Project,
    Local,
    Flag,
    Managed,
}

impl SourceKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Flag => "flag",
            Self::Managed => "managed",
        }
    }

    /// Whether the folder wrote it, that is: anybody who can make the user clone a repository.
    pub fn is_folder(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: SourceKind,
    /// `None` for text given on the command line.
    pub file: Option<PathBuf>,
    /// The folder that a path pattern starting with `/` is relative to.
    pub anchor: PathBuf,
}

/// `--setting-sources`: which files count. Managed settings and `--settings` always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    pub user: bool,
    pub project: bool,
    pub local: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl Sources {
    pub const NONE: Self = Self { user: false, project: false, local: false };

    /// An empty list means none of them.
    pub fn parse(list: &str) -> Result<Self, SettingsError> {
        let mut sources = Self::NONE;
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                _ => return Err(SettingsError::UnknownSource(name.to_owned())),
            }
        }
        Ok(sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_sources_are_exactly_the_names_given() {
        let rows = [
            ("", Some((false, false, false))),
            (" , ", Some((false, false, false))),
            ("user", Some((true, false, false))),
            ("user,project", Some((true, true, false))),
            (" local , user ", Some((true, false, true))),
            ("user,project,local", Some((true, true, true))),
            ("all", None),
            ("User", None),
        ];
        for (list, expected) in rows {
            let got = Sources::parse(list).ok().map(|s| (s.user, s.project, s.local));
            assert_eq!(got, expected, "{list:?}");
        }
    }

    #[test]
    fn precedence_is_the_order_of_the_variants() {
        use SourceKind::{Flag, Local, Managed, Project, User};
        assert!(User < Project && Project < Local && Local < Flag && Flag < Managed);
    }
}
