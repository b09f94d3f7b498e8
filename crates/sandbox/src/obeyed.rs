//! Whether a path is one that programs outside of a sandbox obey: known by its names alone, at any depth.
//!
//! For programs that change files on behalf of others and are in no sandbox themselves. It is stricter than the rules of a sandbox: these
//! are made for one project folder, and here any folder may be a project later. Deliberately absent: any look at the file system.

use crate::layout::{CHECKOUTS, PROTECTED, PROTECTED_IF_THERE, START_FILES};
use std::path::{Component, Path};

/// Besides the lists of a sandbox: all of git's own files, and the settings that other agents read from a project.
const ALSO: [&str; 7] = [".git", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".goosehints"];

/// Whether changing `path` changes what programs run or what agents may do. A folder that holds such a file counts, too,
/// because it can be moved away or replaced as a whole. `path` is relative to a folder that somebody works in.
pub fn is_obeyed(path: &Path) -> bool {
    let names: Vec<String> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        // Some file systems do not tell upper case from lower case.
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    (0..names.len()).any(|at| {
        let rest = &names[at..];
        let in_checkout = rest.len() > 2 && is_at_or_below(rest, CHECKOUTS);
        let in_project = PROTECTED.iter().chain(&PROTECTED_IF_THERE).chain(&ALSO).any(|entry| touches(rest, entry));
        // Only a home folder has start files.
        let at_home = at == 0 && START_FILES.iter().any(|entry| touches(rest, entry));
        !in_checkout && (in_project || at_home)
    })
}

/// Whether the names are the entry, lie in it, or are a hidden folder that holds it.
fn touches(names: &[String], entry: &str) -> bool {
    is_at_or_below(names, entry) || (entry.starts_with('.') && is_holder(names, entry))
}

fn is_at_or_below(names: &[String], entry: &str) -> bool {
    let wanted = entry.split('/').count();
    names.len() >= wanted && is_start(names, entry)
}

fn is_holder(names: &[String], entry: &str) -> bool {
    names.len() < entry.split('/').count() && is_start(names, entry)
}

/// Whether both are the same as far as the shorter one goes.
fn is_start(names: &[String], entry: &str) -> bool {
    names.iter().zip(entry.split('/')).all(|(name, wanted)| *name == wanted.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_is_known_by_its_names() {
        for (path, obeyed) in [
            (".claude", true),
            (".claude/settings.json", true),
            (".CLAUDE/skills/x/SKILL.md", true),
            ("inner/project/.claude/settings.local.json", true),
            (".claude/worktrees", true),
            (".claude/worktrees/one/src/a.rs", false),
            (".claude/worktrees/one/.claude/settings.json", true),
            (".mcp.json", true),
            ("a/.mcp.json", true),
            (".ralph", true),
            (".ralph/config.toml", true),
            (".ralph/check", true),
            (".ralph/runs/1/answer", true),
            (".ralph/prompt.md", false),
            (".ralph/prompts/x.md", false),
            (".git/hooks/pre-commit", true),
            ("vendor/x/.git/config", true),
            (".gitignore", false),
            (".gitmodules", true),
            (".vscode/tasks.json", true),
            (".gemini/settings.json", true),
            (".bashrc", true),
            (".config/git/config", true),
            (".config/app/x", false),
            (".config", true),
            ("dotfiles/.bashrc", false),
            ("src/library", false),
            ("library/a", false),
            ("Library/LaunchAgents/x", true),
            ("src/main.rs", false),
            ("claude/settings.json", false),
            ("CLAUDE.md", false),
            ("", false),
        ] {
            assert_eq!(is_obeyed(Path::new(path)), obeyed, "{path}");
        }
    }
}
