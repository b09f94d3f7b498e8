//! The arguments of a program and what it does to files because of them.

/// One argument of a command, as the program gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    pub text: String,
    /// Contains an unquoted pattern that the shell expands.
    pub glob: bool,
}

/// The files that a command touches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// Files and folders that are read.
    pub reads: Vec<Arg>,
    /// Files and folders that are created, changed or removed.
    pub writes: Vec<Arg>,
    /// Everything below the named folders is touched too.
    pub tree: bool,
    /// Links below the named folders are followed.
    pub follows: bool,
    /// Reads the working folder without naming it.
    pub cwd: bool,
    /// Opens the git repository of the working folder.
    pub git: bool,
}

impl Arg {
    /// A word that the shell gives to the program as it is written.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), glob: false }
    }

    /// Whether the shell may make an option of it. The text before the first sign of a pattern is literal.
    pub(super) fn may_become_option(&self) -> bool {
        self.glob && (self.literal_start().is_empty() || self.text.starts_with('-'))
    }

    pub(super) fn literal_start(&self) -> &str {
        let end = if self.glob { self.text.find(['*', '?', '[']).unwrap_or(0) } else { self.text.len() };
        &self.text[..end]
    }
}
