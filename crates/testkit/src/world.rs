//! A place to run a binary in: an empty home, a git repository, a mock API, and no other environment.
#![expect(clippy::disallowed_methods, reason = "tests need the caller's PATH and a git to make a repository with")]

use crate::Run;
use crate::matching::substitute_text;
use mock::{Mock, Script};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Looks like a key, opens nothing.
const API_KEY: &str = "sk-ant-test-0000000000000000";

/// Used where the caller has no PATH.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Temporary: gone with the value.
pub struct World {
    /// Holds the folders below; removed when dropped.
    _root: tempfile::TempDir,
    wd: PathBuf,
    home: PathBuf,
    tmp: PathBuf,
    mock: Mock,
}

#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    #[error("cannot set up a temporary world: {0}")]
    Io(#[from] std::io::Error),
    #[error("git {what} failed in a temporary folder: {why}; tests need git")]
    Git { what: &'static str, why: String },
}

impl World {
    /// A repository with `files` committed and a model that follows `script`. `$WD` and `$HOME` are
    /// replaced in both.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>, script: Script) -> Result<Self, WorldError> {
        let root = tempfile::tempdir()?;
        let base = root.path().canonicalize()?;
        let [wd, home, tmp] = ["wd", "home", "tmp"].map(|name| base.join(name));
        for folder in [&wd, &home, &tmp] {
            std::fs::create_dir(folder)?;
        }
        let (wd_text, home_text) = (wd.to_string_lossy(), home.to_string_lossy());
        let mock = Mock::start(script.substitute("$WD", &wd_text).substitute("$HOME", &home_text))?;
        for (name, text) in files {
            let path = wd.join(name);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, substitute_text(text, &[("$WD", &wd_text), ("$HOME", &home_text)]))?;
        }
        for (what, args) in [
            ("init", &["init", "-q", "-b", "main"][..]),
            ("add", &["add", "-A"]),
            ("commit", &["commit", "-q", "--allow-empty", "-m", "start"]),
        ] {
            git(&wd, what, args)?;
        }
        Ok(Self { _root: root, wd, home, tmp, mock })
    }

    /// An empty repository.
    pub fn empty(script: Script) -> Result<Self, WorldError> {
        Self::new([], script)
    }

    pub fn wd(&self) -> &Path {
        &self.wd
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn mock(&self) -> &Mock {
        &self.mock
    }

    /// Placeholders and what they stand for here.
    pub fn names(&self) -> [(&'static str, String); 2] {
        [("$WD", self.wd.to_string_lossy().into_owned()), ("$HOME", self.home.to_string_lossy().into_owned())]
    }

    /// A run of `binary` in the working folder with this world's environment.
    pub fn run(&self, binary: &Path) -> Run {
        let path = std::env::var("PATH").unwrap_or_else(|_| PATH.into());
        Run::new(binary, &self.wd)
            .env("HOME", &self.home.to_string_lossy())
            .env("PATH", &path)
            .env("TMPDIR", &self.tmp.to_string_lossy())
            .env("ANTHROPIC_API_KEY", API_KEY)
            // Tests may run as root, who needs a sign that the machine may be lost before permissions are skipped.
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_BASE_URL", &self.mock.url())
    }

    /// A file of the working folder; `None` if there is none.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read(self.wd.join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// With nobody's configuration, so that a developer's own hooks and signing stay out of it.
fn git(folder: &Path, what: &'static str, args: &[&str]) -> Result<(), WorldError> {
    let output = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(WorldError::Git { what, why: String::from_utf8_lossy(&output.stderr).trim().into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock::ScriptedAnswer;

    #[test]
    fn a_world_has_files_a_repository_and_a_home_of_its_own() {
        let script = Script { turns: vec![ScriptedAnswer::text("hi")], ..Script::default() };
        let world = World::new([("src/a.txt", "in $WD\n"), (".gitignore", "x\n"), ("x", "")], script).unwrap();
        let wd = world.wd().to_string_lossy().into_owned();
        assert_eq!(world.read("src/a.txt"), Some(format!("in {wd}\n")));
        assert_eq!(world.read("nope"), None);
        assert!(world.home().read_dir().unwrap().next().is_none());
        let outcome = world
            .run(Path::new("/bin/sh"))
            .args(["-c", "pwd; git status --short; git log --format=%s; echo $HOME; echo $ANTHROPIC_BASE_URL"])
            .finish()
            .unwrap();
        let home = world.home().to_string_lossy().into_owned();
        assert_eq!(outcome.lines, [wd, "start".into(), home, world.mock().url()], "{}", outcome.stderr);
    }
}
