//! The functions and aliases of the user's own shell: `nvm`, `conda`, shorthands of every kind.
//!
//! They are taken once, at the first command that may use them, from the user's start-up file and never from the project:
//! not where the home folder or the file itself is inside of it. The shell that reads the file runs in the home folder,
//! without credentials, without input, with a deadline; what it prints before it tells its names is not looked at.
//! Definitions of names that are judged as programs or commands of the shell (`ls`, `git`, `cd`) are left out, so that
//! those words always mean what was judged.
//!
//! Deliberately absent: variables and options of the user's shell, shells other than bash, and the question whether a
//! command may use all this: a command that runs without a rule does not.

use super::Shell;
use process::{CaptureLimits, Output, Spec, Stdin};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// A start-up file that takes longer is not waited for; completions and version managers need about a second.
const DEADLINE: Duration = Duration::from_secs(5);
/// Between asking that shell to end and killing it.
const GRACE: Duration = Duration::from_millis(200);
/// Version managers bring a hundred kilobytes.
const OUTPUT_MAX: usize = 2 * 1024 * 1024;
/// Separates what the start-up file printed from what is asked for.
const MARK: &str = "\u{1}ralph-shell-names\u{1}";

/// What is asked of that shell. Each record ends with NUL: a kind, a name, and for definitions the text. In POSIX mode
/// `unset` is itself whatever functions there are, so that `builtin` can be freed; a backslash keeps aliases away.
const QUESTIONS: &str = r#"
POSIXLY_CORRECT=1; \unset -f builtin unset; \unset POSIXLY_CORRECT
\builtin printf '%s' "$1"
\builtin compgen -b | while IFS= \builtin read -r n; do \builtin printf 'B%s\0' "$n"; done
\builtin compgen -k | while IFS= \builtin read -r n; do \builtin printf 'B%s\0' "$n"; done
\builtin compgen -A function | while IFS= \builtin read -r n; do \builtin printf 'F%s\n' "$n"; \builtin declare -f -- "$n"; \builtin printf '\0'; done
\builtin compgen -a | while IFS= \builtin read -r n; do \builtin printf 'A%s\n' "$n"; \builtin alias -- "$n"; \builtin printf '\0'; done
\builtin printf 'E\0'
"#;

/// Where the names come from, and the names once they were asked for.
#[derive(Clone)]
pub struct UserShell {
    home: PathBuf,
    /// Folders of the project, canonical.
    roots: Vec<PathBuf>,
    taken: Arc<OnceCell<Result<Arc<str>, NoNames>>>,
}

/// Why the user's names are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoNames {
    /// There is nothing to read, or it is not the user's own: nothing to tell.
    Absent,
    Slow,
    /// It ended before it told its names.
    Ended,
}

impl fmt::Display for NoNames {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Absent => Ok(()),
            Self::Slow => write!(
                to,
                "The user's shell functions and aliases are missing: ~/.bashrc did not finish within {} s.",
                DEADLINE.as_secs()
            ),
            Self::Ended => to.write_str(
                "The user's shell functions and aliases are missing: ~/.bashrc ends the shell that reads it.",
            ),
        }
    }
}

impl UserShell {
    /// `None` where the home folder is part of the project.
    pub fn new(home: &Path, roots: &[PathBuf]) -> Option<Self> {
        let home = home.canonicalize().ok()?;
        let roots: Vec<PathBuf> =
            roots.iter().map(|root| root.canonicalize().unwrap_or_else(|_| root.clone())).collect();
        (!is_inside(&home, &roots)).then(|| Self { home, roots, taken: Arc::default() })
    }

    /// The definitions as a text for the shell. The first call takes them; the second value is true for that one alone.
    pub(crate) async fn names(&self, shell: &Shell) -> (Result<Arc<str>, NoNames>, bool) {
        let mut is_first = false;
        let taken = self.taken.get_or_init(async || {
            is_first = true;
            self.take(shell).await
        });
        let taken = taken.await.clone();
        (taken, is_first)
    }

    async fn take(&self, shell: &Shell) -> Result<Arc<str>, NoNames> {
        if shell.program.file_name() != Some("bash".as_ref()) || !self.has_own_file() {
            return Err(NoNames::Absent);
        }
        let spec = Spec {
            program: shell.program.clone().into_os_string(),
            args: ["-i", "-c", QUESTIONS, "bash", MARK].map(OsString::from).to_vec(),
            cwd: self.home.clone(),
            env: self.environment(&shell.env),
            stdin: Stdin::Null,
            output: Output::Pipes,
            arg0: None,
        };
        let limits = CaptureLimits { deadline: DEADLINE, max_output: OUTPUT_MAX, grace: GRACE };
        let done = process::capture(spec, limits).await.map_err(|_| NoNames::Ended)?;
        if done.timed_out {
            return Err(NoNames::Slow);
        }
        definitions(&done.stdout).map(Arc::from).ok_or(NoNames::Ended)
    }

    /// The file that bash reads, if it is the user's own in every respect.
    fn has_own_file(&self) -> bool {
        let Ok(file) = self.home.join(".bashrc").canonicalize() else { return false };
        let Ok(facts) = file.metadata() else { return false };
        let is_mine = facts.uid() == rustix::process::geteuid().as_raw() || facts.uid() == 0;
        let others_write = facts.mode() & 0o022 != 0;
        facts.is_file() && is_mine && !others_write && !is_inside(&file, &self.roots)
    }

    /// Ours, without credentials, without what makes a shell read other files, and without programs of the project.
    fn environment(&self, env: &process::Env) -> process::Env {
        let mut env = env.clone();
        process::scrub::credentials(&mut env);
        let is_ours = |name: &str| {
            matches!(
                name,
                "HOME" | "PATH" | "PWD" | "OLDPWD" | "BASH_ENV" | "ENV" | "PROMPT_COMMAND" | "BASHOPTS" | "SHELLOPTS"
            ) || name.starts_with("BASH_FUNC_")
        };
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
        let own = std::env::split_paths(&path).filter(|folder| {
            let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            folder.is_absolute() && !is_inside(&real, &self.roots)
        });
        let path = std::env::join_paths(own).unwrap_or_else(|_| "/usr/bin:/bin".into());
        env.retain(|(name, _)| !name.to_str().is_some_and(is_ours));
        env.push(("HOME".into(), self.home.clone().into_os_string()));
        env.push(("PATH".into(), path));
        env
    }
}

fn is_inside(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// What a command's shell is given, from what the user's shell told. `None` where it did not come to its end.
fn definitions(told: &[u8]) -> Option<String> {
    let at = memchr::memmem::rfind(told, MARK.as_bytes())?;
    let told = std::str::from_utf8(&told[at + MARK.len()..]).ok()?;
    let mut records: Vec<&str> = told.split('\0').collect();
    // What is printed on the way out is no answer either.
    let end = records.iter().position(|record| *record == "E")?;
    records.truncate(end);
    let own: Vec<&str> = records.iter().filter_map(|record| record.strip_prefix('B')).collect();
    let kept = |kind: char| {
        let named = records.iter().filter_map(move |record| record.strip_prefix(kind)?.split_once('\n'));
        named.filter(|(name, _)| !own.contains(name) && may_define(name)).map(|(_, text)| text.trim_end())
    };
    let functions: Vec<&str> = kept('F').collect();
    let aliases: Vec<&str> = kept('A').collect();
    // Functions first: where aliases are known already they are expanded in the bodies.
    let mut text = String::from("shopt -s extglob\n");
    for definition in functions {
        text.push_str(definition);
        text.push('\n');
    }
    text.push_str("shopt -u extglob\nshopt -s expand_aliases\n");
    for definition in aliases {
        text.push_str(definition);
        text.push('\n');
    }
    Some(text)
}

/// A name that no judgement depends on, and that is one.
fn may_define(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:+@%,".contains(c);
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-') && !policy::is_judged_name(name)
}

#[cfg(test)]
#[path = "user_shell_tests.rs"]
mod tests;
