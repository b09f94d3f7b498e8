//! EnterWorktree and ExitWorktree: what they say of themselves, and which names a worktree may have.
//!
//! Deliberately absent: making and removing a checkout (`agent`).

use super::error::CallError;
use policy::names;
use serde_json::Value;
use tools::ToolSpec;

pub static SPECS: [ToolSpec; 2] = [
    ToolSpec::alone(
        &names::ENTER_WORKTREE,
        "Move this session into a git worktree of its own, on a branch of its own, so that your changes meet nobody else's. Only where the user wants \
         that. It is made below .claude/worktrees, or used again where it is there.",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Its name: letters, digits, dot, dash, underscore"},"path":{"type":"string","description":"A worktree below .claude/worktrees that is there already"}},"required":[],"additionalProperties":false}"#,
    ),
    ToolSpec::alone(
        &names::EXIT_WORKTREE,
        "Leave the worktree that EnterWorktree has moved you into, and go back to where the session was.",
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["keep","remove"],"description":"What becomes of the worktree and its branch"},"discard_changes":{"type":"boolean","description":"Remove it although it has changes; they are lost"}},"required":["action"],"additionalProperties":false}"#,
    ),
];

/// As long as a branch's name may reasonably be.
const NAME_MAX: usize = 64;

/// What the schema cannot say.
pub(super) fn check(name: &str, input: &Value) -> Result<(), CallError> {
    if name == names::ENTER_WORKTREE.name && worktree_name(input).is_none() {
        return Err(CallError::WorktreeName);
    }
    Ok(())
}

/// The name that a call means: its own, or the last part of a path below the folder of worktrees. Nothing that could lead
/// elsewhere.
pub fn worktree_name(input: &Value) -> Option<&str> {
    let name = match (input["name"].as_str(), input["path"].as_str()) {
        (Some(name), None) => name,
        (None, Some(path)) => {
            let (above, name) = path.trim_end_matches('/').rsplit_once('/')?;
            Some(name).filter(|_| above.ends_with(".claude/worktrees") && !above.contains(".."))?
        }
        _ => return None,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    (starts && name.len() <= NAME_MAX && name.chars().all(is_plain) && !name.contains("..") && !name.ends_with('.'))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_plain_names_below_the_folder() {
        for (input, expected) in [
            (json!({"name": "fix-7"}), Some("fix-7")),
            (json!({"path": "/r/.claude/worktrees/fix_7/"}), Some("fix_7")),
            (json!({"path": ".claude/worktrees/a"}), Some("a")),
            (json!({"path": "/r/../x/.claude/worktrees/a"}), None),
            (json!({"path": "/tmp/a"}), None),
            (json!({"name": "../x"}), None),
            (json!({"name": "a/b"}), None),
            (json!({"name": "-x"}), None),
            (json!({"name": ".git"}), None),
            (json!({"name": "a..b"}), None),
            (json!({"name": ""}), None),
            (json!({"name": "a", "path": ".claude/worktrees/b"}), None),
            (json!({}), None),
        ] {
            assert_eq!(worktree_name(&input), expected, "{input}");
        }
    }
}
