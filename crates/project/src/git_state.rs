//! The state of a repository as the model is told it: branch, changed files, last commits. Pure.
//!
//! Deliberately absent: asking git (`agent`, through `process::Git`).

/// What git is asked for. Submodules are repositories of their own, which nobody has disarmed.
pub const STATUS: [&str; 5] =
    ["status", "--porcelain=v1", "--branch", "--untracked-files=normal", "--ignore-submodules=all"];
pub const LOG: [&str; 5] = ["log", "--max-count=5", "--no-show-signature", "--no-decorate", "--format=%h %s"];

/// Files that are named; a generated folder may hold thousands.
const FILES_MAX: usize = 50;
/// Characters of one line: subjects and paths are other people's words.
const LINE_MAX: usize = 200;

/// The text for the model, from what git printed. `None` where git said nothing of use.
pub fn describe(status: &str, log: &str) -> Option<String> {
    let mut lines = status.lines();
    let branch = lines.next()?.strip_prefix("## ")?;
    let files: Vec<&str> = lines.collect();
    let mut text = format!("# Git when this session began\nBranch: {}\n", line(branch));
    if files.is_empty() {
        text.push_str("Changed files: none\n");
    } else {
        text.push_str("Changed files, as 'git status --short' shows them:\n");
        for file in files.iter().take(FILES_MAX) {
            text.push_str(&format!("{}\n", line(file)));
        }
        if files.len() > FILES_MAX {
            text.push_str(&format!("and {} more\n", files.len() - FILES_MAX));
        }
    }
    let commits: Vec<&str> = log.lines().collect();
    if !commits.is_empty() {
        text.push_str("Last commits:\n");
        for commit in commits {
            text.push_str(&format!("{}\n", line(commit)));
        }
    }
    Some(text)
}

fn line(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = clean.take(LINE_MAX).collect();
    if shown.len() < text.len() && text.chars().count() > LINE_MAX {
        shown.push('…');
    }
    shown.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_files_and_commits_are_told() {
        let text = describe("## main...origin/main [ahead 1]\n M a.txt\n?? new dir/\n", "abc123 start\n").unwrap();
        for part in ["Branch: main...origin/main [ahead 1]", " M a.txt", "?? new dir/", "abc123 start"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let clean = describe("## HEAD (no branch)\n", "").unwrap();
        assert!(clean.contains("Changed files: none") && !clean.contains("Last commits"), "{clean}");
        assert_eq!(describe("", ""), None);
        assert_eq!(describe("fatal: no", "x"), None);
    }

    #[test]
    fn many_files_and_long_names_are_bounded() {
        let status = format!("## main\n{}", "?? file\n".repeat(100_000));
        let text = describe(&status, &format!("abc {}\x1b[31m", "é".repeat(10_000))).unwrap();
        assert!(text.contains("and 99950 more") && text.len() < 4000, "{}", text.len());
        assert!(!text.contains('\x1b'));
    }
}
