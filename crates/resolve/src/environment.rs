//! The outside, read once: arguments, environment, home, working folder, and what the standard
//! streams are. The only place that asks the operating system for any of it.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]

use options::StdinKind;
use rustix::fs::FileType;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Clone)]
pub struct Environment {
    /// The program name as called, then the words after it.
    pub program: OsString,
    pub words: Vec<String>,
    pub vars: Vec<(OsString, OsString)>,
    by_name: HashMap<String, String>,
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    pub exe: PathBuf,
    pub stdout_is_terminal: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    #[error("the working folder cannot be read ({0}). Change to a folder that exists.")]
    Cwd(std::io::Error),
    #[error("argument {0} is not UTF-8")]
    NotText(usize),
}

impl Environment {
    pub fn read() -> Result<Self, EnvironmentError> {
        let mut args = std::env::args_os();
        let program = args.next().unwrap_or_default();
        let mut words = Vec::new();
        for (at, word) in args.enumerate() {
            words.push(word.into_string().map_err(|_| EnvironmentError::NotText(at + 1))?);
        }
        let vars: Vec<_> = std::env::vars_os().collect();
        let text = |(name, value): &(OsString, OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
        let by_name = vars.iter().filter_map(text).collect();
        let cwd = std::env::current_dir().and_then(std::fs::canonicalize).map_err(EnvironmentError::Cwd)?;
        Ok(Self {
            program,
            words,
            by_name,
            cwd,
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            exe: std::env::current_exe().unwrap_or_default(),
            stdout_is_terminal: rustix::termios::isatty(rustix::stdio::stdout()),
            vars,
        })
    }

    /// A variable as it is set, possibly to nothing.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    /// A variable that is set to something; an empty value counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable that is text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What the settings' `env` block says wins over what the shell says.
    pub fn overlay(&mut self, more: &[(String, String)]) {
        for (name, value) in more {
            self.by_name.insert(name.clone(), value.clone());
            self.vars.retain(|(known, _)| known != name.as_str());
            self.vars.push((name.into(), value.into()));
        }
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }

    pub fn is_off(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off"))
    }

    /// Where `ralph` keeps what is not for people: the goals' store, mirrors and clones.
    pub fn state_folder(&self) -> Option<PathBuf> {
        let absolute = |name: &str| self.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("RALPH_STATE")
            .or_else(|| absolute("XDG_STATE_HOME").map(|folder| folder.join("ralph")))
            .or_else(|| self.home.as_ref().map(|home| home.join(".local/state/ralph")))
    }

    /// The same outside, as seen from another folder.
    #[must_use]
    pub fn in_folder(&self, folder: &Path) -> Self {
        Self { cwd: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()), ..self.clone() }
    }

    /// Numbers as people write them: `2e3`, `64_000`.
    pub fn number(&self, name: &str) -> Option<u64> {
        let text = self.get(name)?.replace('_', "");
        text.parse().ok().or_else(|| {
            text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0).map(|value| value as u64)
        })
    }
}

/// The program name as called, where `--version` is the only argument: that answer needs nothing else of the outside.
pub fn asks_only_version() -> Option<OsString> {
    let mut args = std::env::args_os();
    let program = args.next()?;
    (args.next()? == "--version" && args.next().is_none()).then_some(program)
}

/// `nohup` starts programs that are to outlive their terminal with SIGHUP ignored.
pub fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    // Signal n is bit n-1, and SIGHUP is signal 1.
    u64::from_str_radix(ignored.trim(), 16).is_ok_and(|signals| signals & 1 != 0)
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn temp_dir() -> PathBuf {
    std::env::temp_dir()
}

/// What stdin is. Only pipes need a closer look, and only where a prompt makes them optional.
pub fn stdin_kind(has_prompt: bool) -> StdinKind {
    let Ok(stat) = rustix::fs::fstat(rustix::stdio::stdin()) else {
        return StdinKind::Closed;
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice if rustix::termios::isatty(rustix::stdio::stdin()) => StdinKind::Terminal,
        FileType::Fifo if !has_prompt => StdinKind::Pipe,
        FileType::Fifo if ancestor_writes_pipe(stat.st_ino) => StdinKind::InheritedPipe,
        FileType::Fifo => StdinKind::Pipe,
        // Node gives its children sockets; whoever holds the other end started us.
        FileType::Socket => StdinKind::InheritedPipe,
        _ => StdinKind::File,
    }
}

/// Parents looked at. A shell, a wrapper and a supervisor or two are usual; more is not.
const ANCESTORS_MAX: usize = 16;

/// Whether one of the processes that started us holds the writing end of our stdin. Then nobody in a
/// pipeline is about to feed it, and it may stay silent for ever.
fn ancestor_writes_pipe(inode: u64) -> bool {
    let wanted = format!("pipe:[{inode}]");
    let ancestors = ancestors();
    let looks: Vec<Option<bool>> = ancestors.iter().map(|pid| holds(&process(*pid), &wanted)).collect();
    is_inherited(&looks, || somebody_else_holds(&ancestors, &wanted))
}

/// An ancestor that we may not look at (a login service's, say) counts as a holder, since the wait is then
/// bounded, unless the one who feeds the pipe is found elsewhere.
fn is_inherited(ancestors: &[Option<bool>], somebody_else: impl FnOnce() -> bool) -> bool {
    ancestors.contains(&Some(true)) || (ancestors.contains(&None) && !somebody_else())
}

fn ancestors() -> Vec<i32> {
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    std::iter::successors(parent, |pid| parent_of(*pid)).take_while(|pid| *pid > 1).take(ANCESTORS_MAX).collect()
}

fn somebody_else_holds(ancestors: &[i32], wanted: &str) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut others = pids.filter(|pid| !ancestors.contains(pid));
    others.any(|pid| holds(&process(pid), wanted) == Some(true))
}

fn process(pid: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn holds(process: &Path, wanted: &str) -> Option<bool> {
    for entry in std::fs::read_dir(process.join("fd")).ok()? {
        let name = entry.ok()?.file_name();
        let is_it = std::fs::read_link(process.join("fd").join(&name)).is_ok_and(|link| link.as_os_str() == wanted);
        if is_it && writable(&process.join("fdinfo").join(&name)) {
            return Some(true);
        }
    }
    Some(false)
}

fn writable(info: &Path) -> bool {
    let text = std::fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("1").trim();
    i64::from_str_radix(flags, 8).is_ok_and(|flags| flags & 0o3 != 0)
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::is_inherited;

    #[test]
    fn a_pipe_is_inherited_when_an_ancestor_may_hold_it_and_nobody_else_does() {
        const HOLDS: Option<bool> = Some(true);
        const FREE: Option<bool> = Some(false);
        for (ancestors, somebody_else, expected) in [
            (&[][..], false, false),
            (&[FREE, FREE][..], false, false),
            (&[FREE, HOLDS][..], false, true),
            (&[HOLDS][..], true, true),
            (&[FREE, None][..], false, true),
            (&[FREE, None][..], true, false),
            (&[None, HOLDS][..], true, true),
        ] {
            assert_eq!(is_inherited(ancestors, || somebody_else), expected, "{ancestors:?}, {somebody_else}");
        }
    }
}
