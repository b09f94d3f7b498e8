//! Goals in words, for a terminal. Whatever people and agents wrote is cleaned.

use crate::goal::{Amount, Goal, GoalId, GoalState};
use crate::store::{Budget, Comment};
use serde_json::Value;

/// Of a title in a list.
const TITLE_MAX: usize = 70;
/// Of a commit's name.
const COMMIT_MAX: usize = 10;

/// A goal's line in a list.
pub fn line(goal: &Goal) -> String {
    let title = cycle::bounded(&cycle::clean::line(&goal.title), TITLE_MAX);
    let note = match goal {
        Goal { unmet: 1.., state: GoalState::Queued, .. } => " (after others)".to_owned(),
        Goal { question: Some(question), state: GoalState::Blocked, .. } => format!(" asks: {}", first(question)),
        Goal { error: Some(error), .. } => format!(" ({})", first(error)),
        _ => String::new(),
    };
    format!("{:>5}  {:<10} ${:>7.2}  {title}{note}\n", goal.id, goal.state, goal.spent.usd())
}

fn first(text: &str) -> String {
    cycle::bounded(&cycle::clean::line(text.lines().next().unwrap_or_default()), TITLE_MAX)
}

/// Everything about one goal.
pub fn whole(goal: &Goal, needs: &[GoalId], attached: &[String], comments: &[Comment]) -> String {
    let clean = |text: &str| text.lines().map(cycle::clean::line).collect::<Vec<_>>().join("\n          ");
    let mut text = line(goal);
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("{name:<9} {}\n", clean(&value)));
        }
    };
    field("goal", goal.spec.text.clone());
    field("where", format!("{} on '{}'", goal.repo, goal.base));
    field("after", needs.iter().map(GoalId::to_string).collect::<Vec<_>>().join(", "));
    field("labels", goal.labels.join(", "));
    field("checks", goal.spec.checks.join("\n"));
    field("attempts", format!("{} of {}, iteration {}", goal.attempts, goal.max_attempts, goal.iteration));
    field("cost", format!("${:.2}, {} tokens", goal.spent.usd(), goal.spent.tokens));
    field("worker", goal.owner.clone().unwrap_or_default());
    field("asks", goal.question.clone().unwrap_or_default());
    field("problem", goal.error.clone().unwrap_or_default());
    field("landed", goal.landed.clone().unwrap_or_default());
    field("attached", attached.join(", "));
    for comment in comments {
        field("comment", format!("{}: {}", comment.author, comment.body));
    }
    text
}

/// A line of a goal's log that is no event of its loop: how the goal stands now.
pub fn state_line(event: &Value) -> Option<String> {
    if event["type"] != "goal_state" {
        return None;
    }
    let why = event["reason"].as_str().map(|why| format!(": {}", first(why))).unwrap_or_default();
    let state = event["state"].as_str().unwrap_or("?");
    let short = |commit: &str| format!(" ({})", &commit[..commit.floor_char_boundary(COMMIT_MAX)]);
    let landed = event["landed"].as_str().map(short).unwrap_or_default();
    Some(format!("── goal {}: {state}{landed}{why}\n", event["goal"]))
}

pub fn budget_line(budget: &Budget) -> String {
    let usd = budget.cap.micro_usd.map_or(String::new(), |cap| {
        let cap = Amount { micro_usd: cap, tokens: 0 };
        format!("  ${:.2} of ${:.2} spent, ${:.2} reserved", budget.spent.usd(), cap.usd(), budget.reserved.usd())
    });
    let tokens = budget.cap.tokens.map_or(String::new(), |cap| {
        format!("  {} of {cap} tokens spent, {} reserved", budget.spent.tokens, budget.reserved.tokens)
    });
    format!("{}{usd}{tokens}\n", cycle::clean::line(&budget.scope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_agents_wrote_stays_on_its_line() {
        let event = json!({"type": "goal_state", "goal": 3, "state": "failed", "reason": "no\u{1b}[2J\nmore", "landed": "ä".repeat(9)});
        let line = state_line(&event).unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains('\u{1b}') && line.starts_with("── goal 3: failed (ääää"), "{line}");
        assert_eq!(state_line(&json!({"type": "iteration_started"})), None);
    }
}
