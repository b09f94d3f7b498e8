//! The files of a loop: everything is under `.ralph/`, and nothing else is written.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn ralph(&self) -> PathBuf {
        self.root.join(".ralph")
    }

    pub fn config(&self) -> PathBuf {
        self.ralph().join("config.toml")
    }

    pub fn prompt(&self) -> PathBuf {
        self.ralph().join("prompt.md")
    }

    /// The todo list: the one that is wished for, or the usual one.
    pub fn find_todo(&self, wished: Option<&Path>) -> PathBuf {
        wished.map_or_else(|| self.todo(), |wished| self.root().join(wished))
    }

    pub fn todo(&self) -> PathBuf {
        self.ralph().join("todo.md")
    }

    /// Where another loop keeps its prompt.
    pub fn docs_prompt(&self) -> PathBuf {
        self.root.join("docs/PROMPT.md")
    }

    pub fn check(&self) -> PathBuf {
        self.ralph().join("check")
    }

    pub fn lock(&self) -> PathBuf {
        self.ralph().join("lock")
    }

    pub fn runs(&self) -> PathBuf {
        self.ralph().join("runs")
    }

    pub fn run(&self, id: &str) -> PathBuf {
        self.runs().join(id)
    }

    pub fn events(&self, id: &str) -> PathBuf {
        self.run(id).join("events.ndjson")
    }

    /// The prompt to use: the one asked for, `.ralph/prompt.md`, or `docs/PROMPT.md`.
    pub fn find_prompt(&self, wished: Option<&Path>) -> Option<PathBuf> {
        match wished {
            Some(path) => Some(self.root.join(path)).filter(|path| path.is_file()),
            None => [self.prompt(), self.docs_prompt()].into_iter().find(|path| path.symlink_metadata().is_ok()),
        }
    }
}
