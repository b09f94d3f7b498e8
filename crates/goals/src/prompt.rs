//! The prompt of a goal: its text, its comments, and the results of earlier attempts.

use crate::goal::Goal;
use crate::store::{Attachment, Comment};

/// A text file up to this is in the prompt itself; others are named.
const INLINE_MAX: usize = 16 * 1024;
/// Of all comments together; the newest count.
const COMMENTS_MAX: usize = 32 * 1024;

/// Where attached files are in the clone.
pub const ATTACHED: &str = ".ralph/attached";

pub fn goal_text(goal: &Goal, comments: &[Comment], attachments: &[Attachment]) -> String {
    let mut text = format!("{}\n", goal.spec.text.trim());
    if goal.spec.text.trim() != goal.title.trim() && !goal.spec.text.contains(goal.title.trim()) {
        text = format!("{}\n\n{text}", goal.title.trim());
    }
    for file in attachments {
        let place = format!("{ATTACHED}/{}", file.name);
        match std::str::from_utf8(&file.body) {
            Ok(body) if body.len() <= INLINE_MAX => {
                text.push_str(&format!("\n## Attached: {place}\n\n{}\n", body.trim_end()));
            }
            _ => text.push_str(&format!("\n## Attached: {place} ({} bytes; read it)\n", file.body.len())),
        }
    }
    let said = newest(comments);
    if !said.is_empty() {
        text.push_str("\n## Comments\n\n");
        text.push_str(&said);
    }
    if let Some(context) = &goal.context {
        let title = if goal.attempts > 0 {
            format!("What happened in attempt {} of {}", goal.attempts, goal.max_attempts)
        } else {
            "What was said since".to_owned()
        };
        text.push_str(&format!("\n## {title}\n\n{}\n", context.trim()));
    }
    if goal.head.is_some() {
        text.push_str(&format!(
            "\nYour earlier work is in this repository, on the branch '{}'. The branch that it goes to is '{}', as it is \
             now; 'git rebase {}' brings your work onto it. Go on from there.\n",
            goal.branch(),
            goal.base,
            goal.base
        ));
    }
    text
}

fn newest(comments: &[Comment]) -> String {
    let mut kept = Vec::new();
    let mut size = 0;
    for comment in comments.iter().rev() {
        let line = format!("- {}: {}\n", comment.author, comment.body.trim());
        size += line.len();
        if size > COMMENTS_MAX {
            kept.push("- (older comments are left out)\n".to_owned());
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    kept.concat()
}
