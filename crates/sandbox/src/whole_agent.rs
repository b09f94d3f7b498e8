//! The needs of an agent that is confined as a whole: it is not ours and starts its commands itself.
//!
//! Its own folder may be written (conversations, credentials that it renews), but not what decides there what
//! runs outside, later: settings, hooks, plugins, agents, and whatever the settings name. Everything it starts
//! is in the same box: commands, hooks, tool servers. Deliberately absent, on Linux: its state file beside the
//! folder (`~/.claude.json`). To replace a file, the folder around it must be writable, and that is the home folder.

use crate::layout::{Request, real};
use crate::rules::Agent;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What an agent of another maker needs beside the workspace, when the sandbox is around the agent itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WholeAgent {
    /// Credentials, in the home folder, that it cannot do without: of the cloud that its model is in.
    pub keeps: Vec<PathBuf>,
    /// Folders of its own, in the home folder, besides those of `claude`.
    pub folders: Vec<PathBuf>,
}

/// Its state, in the home folder: logins, trust, servers.
const STATE: &str = ".claude.json";

/// Its own, in the home folder.
const OWN_CREDENTIALS: [&str; 4] = [STATE, ".config/anthropic", ".claude.json.api", ".claude-oauth-credentials.json"];

/// Where it keeps locks and logs, in the home folder.
const OWN_FOLDERS: [&str; 3] = [".local/state/claude", ".cache/claude", ".cache/claude-cli-nodejs"];

/// In its own folder: what is obeyed or run by the next session, which may be outside. Held even where it does
/// not exist.
pub(crate) const PROTECTED: [&str; 11] = [
    "settings.json",
    "settings.local.json",
    "CLAUDE.md",
    "agents",
    "commands",
    "skills",
    "hooks",
    "plugins",
    "output-styles",
    "rules",
    "workflows",
];

/// The same, but only where it is there: the program itself, as some install it. An empty folder would look like it.
const PROTECTED_IF_THERE: [&str; 1] = ["local"];

/// In the folders of other agents, where they are there: settings, instructions, and what is run.
const OBEYED: [&str; 20] = [
    "config.toml",
    "config.yaml",
    "config.json",
    "settings.json",
    "opencode.json",
    "opencode.jsonc",
    "AGENTS.md",
    "GEMINI.md",
    "agent",
    "agents",
    "command",
    "commands",
    "extensions",
    "hooks",
    "plugin",
    "plugins",
    "prompts",
    "rules",
    "skills",
    "tools",
];

/// In its own folder, and its own whatever settings say of them: a rule about reading old conversations names
/// their folder, too.
const STATE_THERE: [&str; 20] = [
    "projects",
    "sessions",
    "session-env",
    "shell-snapshots",
    "todos",
    "tasks",
    "teams",
    "plans",
    "file-history",
    "history.jsonl",
    "paste-cache",
    "image-cache",
    "statsig",
    "telemetry",
    "debug",
    "logs",
    "cache",
    "backups",
    "ide",
    ".credentials.json",
];

/// Longer than anybody's settings.
const SETTINGS_MAX: u64 = 1024 * 1024;
/// Entries of its own folder that are looked at; it has some dozens.
const ENTRIES_MAX: usize = 4096;

impl WholeAgent {
    /// Takes what it may read from what is hidden.
    pub(crate) fn keep_credentials(&self, request: &Request, hidden: &mut Vec<PathBuf>) {
        let more = self.keeps.iter().chain(&self.folders).map(PathBuf::as_path);
        let in_home = OWN_CREDENTIALS.iter().map(Path::new).chain(more);
        let home = request.home.iter();
        let mut own: Vec<PathBuf> =
            home.flat_map(|home| in_home.clone().map(move |name| real(&home.join(name)))).collect();
        own.push(real(&request.config_dir.join(".credentials.json")));
        hidden.retain(|path| !own.iter().any(|own| path.starts_with(own)));
    }

    pub(crate) fn agent(request: &Request) -> Agent {
        let state = request.home.iter().map(|home| real(&home.join(STATE)));
        Agent { replaces: state.filter(|_| cfg!(target_os = "macos")).collect() }
    }

    pub(crate) fn own_folders(&self, request: &Request) -> Vec<PathBuf> {
        let names = || OWN_FOLDERS.iter().map(Path::new).chain(self.folders.iter().map(PathBuf::as_path));
        let home = request.home.iter().flat_map(|home| names().map(|name| home.join(name)));
        let folders = home.chain([request.config_dir.clone()]).map(|path| real(&path));
        folders.filter(|path| path.exists()).collect()
    }

    /// What must stay as it is in its other folders: what the next session, which may be outside, obeys.
    pub(crate) fn protected_elsewhere(&self, request: &Request) -> Vec<PathBuf> {
        let folders = request.home.iter().flat_map(|home| self.folders.iter().map(|name| real(&home.join(name))));
        let obeyed = folders.flat_map(|folder| OBEYED.iter().map(move |name| folder.join(name)));
        obeyed.filter(|path| path.symlink_metadata().is_ok()).collect()
    }

    /// What must stay as it is in its own folder.
    pub(crate) fn protected(own: &Path) -> Vec<PathBuf> {
        let mut protected: Vec<PathBuf> = PROTECTED.iter().map(|name| own.join(name)).collect();
        protected.extend(PROTECTED_IF_THERE.iter().map(|name| own.join(name)).filter(|path| path.exists()));
        let settings: String = PROTECTED[..2].iter().map(|name| small_text(&own.join(name))).collect();
        let entries = std::fs::read_dir(own).into_iter().flatten().filter_map(Result::ok).take(ENTRIES_MAX);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let named = names.filter(|name| !STATE_THERE.contains(&name.as_str()) && is_named(&settings, own, name));
        protected.extend(named.map(|name| own.join(name)));
        protected
    }
}

/// Whether a text has this name of the folder in it, and not only as the beginning of another name: a script that
/// settings start, a folder of such scripts.
fn is_named(text: &str, own: &Path, name: &str) -> bool {
    let folder = own.file_name().unwrap_or_default().to_string_lossy();
    let starts = |before: &str| {
        let folders = [&*folder, ".claude", "CLAUDE_CONFIG_DIR", "CLAUDE_CONFIG_DIR}"];
        before.strip_suffix('/').is_some_and(|before| folders.iter().any(|folder| before.ends_with(folder)))
    };
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    text.match_indices(name).any(|(at, _)| starts(&text[..at]) && ends(&text[at + name.len()..]))
}

fn small_text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(SETTINGS_MAX).read_to_end(&mut bytes));
    if read.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, layout};

    fn request(root: &Path) -> Request {
        let whole = Some(WholeAgent { keeps: vec![".aws".into()], folders: vec![".codex".into()] });
        Request { temp: Vec::new(), whole, ..layout::tests::request(root) }
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["w/.claude", "h/.claude/projects", "h/.claude/scripts", "h/.local/state/claude", "h/.aws"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let settings = r#"{"hooks": {"Stop": [{"command": "~/.claude/scripts/stop.sh --all"}]},
            "permissions": {"allow": ["Read(~/.claude/projects/**)"]}}"#;
        std::fs::write(root.join("h/.claude/settings.json"), settings).unwrap();
        std::fs::create_dir_all(root.join("h/.codex/sessions")).unwrap();
        std::fs::write(root.join("h/.codex/config.toml"), "").unwrap();
        (dir, root)
    }

    #[test]
    fn it_writes_what_is_its_own_and_nothing_that_runs_later() {
        let (_dir, root) = scratch();
        for level in [Level::Workspace, Level::ReadOnly] {
            let rules = Request { level, ..request(&root) }.rules();
            for (path, fine) in [
                ("h/.claude/projects/p/s.jsonl", true),
                ("h/.claude/.credentials.json", true),
                ("h/.claude/new-state", true),
                ("h/.local/state/claude/locks/x", true),
                ("h/.codex/sessions/x", true),
                ("h/.codex/auth.json", true),
                ("h/.codex/config.toml", false),
                ("h/.claude/settings.json", false),
                ("h/.claude/settings.local.json", false),
                ("h/.claude/plugins/p/hook.sh", false),
                ("h/.claude/scripts/stop.sh", false),
                ("h/.claude.json", false),
                ("h/.bashrc", false),
                ("w/.claude/settings.json", false),
                ("w/src/x", level == Level::Workspace),
            ] {
                assert_eq!(rules.may_write(&root.join(path)).is_ok(), fine, "{level:?} {path}");
            }
            for (path, fine) in [
                ("h/.claude/.credentials.json", true),
                ("h/.claude.json", true),
                ("h/.aws/credentials", true),
                ("h/.ssh/id", false),
                ("h/.config/gh/hosts.yml", false),
            ] {
                assert_eq!(rules.may_read(&root.join(path)).is_ok(), fine, "{level:?} {path}");
            }
        }
    }

    #[test]
    fn who_wants_it_opens_a_protected_file() {
        let (_dir, root) = scratch();
        let rules = Request { allow_write: vec!["~/.claude/settings.json".into()], ..request(&root) }.rules();
        assert!(rules.may_write(&root.join("h/.claude/settings.json")).is_ok());
        assert!(rules.may_write(&root.join("h/.claude/settings.local.json")).is_err());
    }

    #[test]
    fn who_works_at_home_lets_it_have_its_folder() {
        let (_dir, root) = scratch();
        let rules = Request { roots: vec![root.join("h")], ..request(&root) }.rules();
        assert!(rules.may_write(&root.join("h/.claude/projects/x")).is_ok());
        assert!(rules.may_write(&root.join("h/.claude/settings.json")).is_err());
    }

    #[test]
    fn settings_name_whole_names() {
        let text = r#"{"command": "$HOME/.claude/line.sh", "b": "/x/other/a", "c": "${CLAUDE_CONFIG_DIR}/c.py x"}"#;
        for (name, named) in [("line.sh", true), ("line", false), ("other", false), ("HOME", false), ("c.py", true)] {
            assert_eq!(is_named(text, Path::new("/h/.claude"), name), named, "{name}");
        }
        assert!(is_named("sh /etc/agent/run.sh", Path::new("/etc/agent"), "run.sh"));
    }
}
