//! Names of worktrees, as `--worktree` takes them.

/// A branch name and a folder name; file systems allow 255 bytes.
const NAME_MAX: usize = 64;

/// Whether a word can name a worktree: it becomes a folder and a part of a branch's name.
pub fn is_worktree_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name.chars().all(is_plain)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.to_ascii_lowercase().ends_with(".lock")
}

#[cfg(test)]
mod tests {
    use super::is_worktree_name;

    #[test]
    fn names_are_plain() {
        for name in ["wt1", "fix-7", "a.b_c", "A"] {
            assert!(is_worktree_name(name), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", "..", ".x", "-x", "a/b", "a b", "a..b", "x.lock", "x.", "#7", "https://h/1", "é", &long] {
            assert!(!is_worktree_name(name), "{name}");
        }
    }
}
