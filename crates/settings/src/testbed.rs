//! A scratch home, working folder and managed folder for tests.

use std::path::{Path, PathBuf};

use crate::Places;

pub(crate) struct Bed {
    root: tempfile::TempDir,
    pub(crate) places: Places,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        for name in ["home/.claude", "work", "etc"] {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        let places =
            Places { managed_dir: real.join("etc"), ..Places::new(real.join("work"), Some(real.join("home")), None) };
        Self { root, places }
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(relative)
    }

    pub(crate) fn dir(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn file(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn link(&self, target: &Path, relative: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Marks a folder as trusted in the global file.
    pub(crate) fn trust(&self, relative: &str) {
        let key = self.path(relative).display().to_string();
        let state = serde_json::json!({ "projects": { key: { "hasTrustDialogAccepted": true } } });
        self.file("home/.claude.json", &state.to_string());
    }
}
