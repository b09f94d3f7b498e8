//! A call of a tool where nobody can be asked: hooks and rules decide, and whatever would be asked about is denied.
//!
//! Deliberately absent: `PermissionRequest` hooks, which answer for a person, and running the call.

use crate::conversation::Conversation;
use crate::hook_runner::HookRunner;
use crate::rules::Rules;
use policy::Verdict;
use serde_json::Value;
use turn::{CallResult, Hook, HookAnswer, HookDecision};

/// A call without a turn.
pub struct UnattendedCall<'a> {
    pub conversation: &'a Conversation,
    pub tool_use_id: &'a str,
    pub name: &'a str,
}

/// A call that may run: its input, and of a shell command the text that was judged.
pub struct Allowed {
    pub input: Value,
    pub run: Option<String>,
}

impl UnattendedCall<'_> {
    /// Whether the call may run. `check` is the tool's own check of an input.
    pub async fn judge(
        &self,
        hooks: &HookRunner,
        rules: &Rules,
        input: Value,
        check: impl Fn(Value) -> Result<Value, CallResult>,
    ) -> Result<Allowed, CallResult> {
        let (name, tool_use_id) = (self.name.to_owned(), self.tool_use_id.to_owned());
        let mut input = check(input)?;
        let hook = Hook::PreToolUse { name, input: input.clone(), tool_use_id };
        let answer = hooks.fire_for(self.conversation, hook).await;
        if let Some(reason) = refused_by_hook(&answer) {
            return Err(CallResult::error(format!("{} was not run: a hook refused it ({reason}).", self.name)));
        }
        if let Some(changed) = answer.updated_input {
            input = check(changed)?;
        }
        let targets = self.conversation.targets(self.tool_use_id, self.name);
        let decision = rules.judge(self.conversation, self.name, &input, &targets, false);
        if let Some(words) = turn::refusal_unattended(self.name, &decision, answer.decision) {
            return Err(CallResult::error(words));
        }
        // A yes of the rules is for the text that they have judged; a yes of a hook is for the input as it is.
        let run = decision.run.filter(|_| decision.verdict == Verdict::Allow);
        Ok(Allowed { input, run })
    }

    /// Tells hooks what came of it; they may replace the result.
    pub async fn finish(&self, hooks: &HookRunner, input: Value, result: CallResult, duration_ms: u64) -> CallResult {
        let (name, tool_use_id) = (self.name.to_owned(), self.tool_use_id.to_owned());
        let hook = if result.is_error() {
            Hook::PostToolUseFailure { name, input, tool_use_id, error: result.words(), duration_ms }
        } else {
            Hook::PostToolUse { name, input, tool_use_id, response: result.structured.clone(), duration_ms }
        };
        match hooks.fire_for(self.conversation, hook).await.updated_output {
            Some(output) => result.replaced(output),
            None => result,
        }
    }
}

fn refused_by_hook(answer: &HookAnswer) -> Option<String> {
    let is_denied = matches!(answer.decision, Some(HookDecision::Deny | HookDecision::Defer));
    let reason = || answer.reason.clone().unwrap_or_else(|| "no reason given".into());
    answer.stop.clone().or_else(|| answer.blocked.clone()).or_else(|| is_denied.then(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_no_of_a_hook_is_a_no() {
        let answer = |change: fn(&mut HookAnswer)| {
            let mut answer = HookAnswer { reason: Some("why".into()), ..HookAnswer::default() };
            change(&mut answer);
            refused_by_hook(&answer)
        };
        assert_eq!(answer(|_| ()), None);
        assert_eq!(answer(|answer| answer.decision = Some(HookDecision::Allow)), None);
        assert_eq!(answer(|answer| answer.decision = Some(HookDecision::Ask)), None, "the judgement denies it");
        for decision in [HookDecision::Deny, HookDecision::Defer] {
            let refused = refused_by_hook(&HookAnswer { decision: Some(decision), ..HookAnswer::default() });
            assert_eq!(refused.as_deref(), Some("no reason given"));
        }
        assert_eq!(answer(|answer| answer.blocked = Some("b".into())).as_deref(), Some("b"));
        assert_eq!(answer(|answer| answer.stop = Some("s".into())).as_deref(), Some("s"));
    }
}
