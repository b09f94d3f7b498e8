//! One attempt at a goal: a clone, the loop in it, and what came of it.

use super::Job;
use super::child::{Following, LoopEnd};
use crate::checkout::Checkout;
use crate::error::{Exhausted, GoalError};
use crate::goal::{Amount, Goal, GoalState, Moment};
use crate::machine::GoalEvent;
use crate::prompt;
use crate::repository::Repository;
use serde_json::Value;
use std::path::Path;

/// What an iteration may cost where a budget counts and nobody said otherwise.
const ITERATION: Amount = Amount { micro_usd: 1_000_000, tokens: 2_000_000 };

/// As in the loop: iterations of a run, and failed ones in a row. Where a budget counts, the loop is started for one
/// iteration at a time and cannot count them itself.
const ITERATIONS_MAX: u32 = 30;
const FAILURES_MAX: u32 = 3;

/// Events that a recording does not have: derived from the agent's lines, or not of the loop.
const NOT_RECORDED: [&str; 6] =
    ["agent_text", "agent_thinking", "tool_call", "tool_result", "permission_denied", "goal_state"];

impl Job {
    pub async fn attempt(&self) -> Result<Goal, GoalError> {
        let repo = self.worker.repository(&self.goal.repo);
        let folder = self.folder("work");
        let (clone, tip) = self.clone(&repo, &folder.join("repo")).await?;
        let goal_file = folder.join("goal.md");
        self.write_goal(&goal_file, &clone.folder).await?;
        let mut following = Following::new(self, &repo, &clone);
        let end = self.iterate(&mut following, &goal_file).await?;
        // Whatever the end, the work that is there is kept.
        self.check_lease()?;
        clone.disarm()?;
        clone.commit_rest(&format!("{}\n\nRalph-Goal: {}\n", self.goal.title, self.goal.id)).await?;
        let head = following.checkpoint().await?;
        following.ship().await;
        self.die_at("worked");
        let done = match happening(end, head != tip, self.worker.now().await) {
            Some(happening) => self.report(happening).await,
            None => self.insist(|| self.worker.store.cancelled(self.goal.id, self.goal.fence)).await,
        };
        self.worker.remove_clone(&folder);
        if done.as_ref().is_ok_and(|goal| goal.state == GoalState::Done) {
            repo.forget(self.goal.id).await;
        }
        done
    }

    /// The clone at the last commit of the work, or of the branch; and the branch's commit.
    async fn clone(&self, repo: &Repository, folder: &Path) -> Result<(Checkout, String), GoalError> {
        let goal = &self.goal;
        let (start, tip) = match &goal.head {
            None => {
                let tip = repo.refresh(&goal.base, &[]).await?;
                (tip.clone(), tip)
            }
            Some(head) => {
                let bundle = self.worker.store.bundle(goal.id).await?.filter(|(known, _)| known == head);
                let bytes = bundle.as_ref().map(|(_, bytes)| bytes.as_slice());
                let tip = repo.fetch_saved(goal.id, goal.head_fence, &goal.base, bytes).await?;
                (head.clone(), tip)
            }
        };
        let clone = repo.check_out(folder, &start, &goal.branch()).await?;
        if goal.spec.trusted {
            (self.worker.options.trust_clone)(&goal.repo, folder)?;
        }
        // The branch as it is now, for an agent that brings its work onto it.
        let base = folder.join(".git/refs/heads").join(&goal.base);
        let written = base
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&base, format!("{tip}\n")));
        written.map_err(|source| GoalError::File { path: base, verb: "written", source })?;
        Ok((clone, tip))
    }

    async fn write_goal(&self, file: &Path, clone: &Path) -> Result<(), GoalError> {
        let store = &self.worker.store;
        let (comments, attachments) = (store.comments(self.goal.id).await?, store.attachments(self.goal.id).await?);
        let put = |path: &Path, bytes: &[u8]| {
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| std::fs::write(path, bytes)).map_err(|source| GoalError::File {
                path: path.to_owned(),
                verb: "written",
                source,
            })
        };
        for attachment in &attachments {
            // A name, never a way to somewhere else.
            let Some(name) = Path::new(&attachment.name).file_name() else { continue };
            put(&clone.join(prompt::ATTACHED).join(name), &attachment.body)?;
        }
        put(file, prompt::goal_text(&self.goal, &comments, &attachments).as_bytes())
    }

    /// Runs the loop: once, or, where a budget counts, one iteration at a time.
    async fn iterate(&self, following: &mut Following<'_>, goal_file: &Path) -> Result<LoopEnd, GoalError> {
        let goal = &self.goal;
        let metered = self.insist(|| self.worker.store.is_metered(goal.id)).await?;
        let mut resume = self.restore_run(&following.clone.folder).await?;
        if !resume {
            following.progress.run = None;
            following.progress.iteration = 0;
        }
        loop {
            let mut words = Vec::new();
            match following.progress.run.as_ref().filter(|_| resume) {
                Some(run) => words.extend(["resume".to_owned(), run.clone(), "--json".into()]),
                None => words.push("--json".into()),
            }
            words.extend(flags(goal, goal_file));
            let next = following.progress.iteration + 1;
            if metered {
                let wish = match self.reserve().await? {
                    Ok(wish) => wish,
                    Err(end) => return Ok(end),
                };
                words.extend(["--max".into(), next.to_string()]);
                words.extend(["--iteration-cost".into(), wish.usd().to_string()]);
                words.extend(["--iteration-tokens".into(), wish.tokens.to_string()]);
            } else if let Some(max) = goal.spec.max_iterations {
                words.extend(["--max".into(), max.to_string()]);
            }
            let end = following.run(words).await?;
            let is_limit = matches!(&end, LoopEnd::Verdict { kind, .. } if kind == "limit");
            let max = goal.spec.max_iterations.unwrap_or(ITERATIONS_MAX);
            let more = following.progress.iteration < i64::from(max) && following.progress.failures < FAILURES_MAX;
            // It did the one iteration that it was given, and nothing else ended it.
            if !(metered && is_limit && more && following.progress.iteration >= next) {
                return Ok(end);
            }
            following.checkpoint().await?;
            resume = true;
        }
    }

    /// Money for the next iteration, or how the attempt ends without.
    async fn reserve(&self) -> Result<Result<Amount, LoopEnd>, GoalError> {
        let (store, goal) = (&self.worker.store, self.insist(|| self.worker.store.goal(self.goal.id)).await?);
        let asked = Amount {
            micro_usd: goal.spec.iteration_cost.map_or(ITERATION.micro_usd, |usd| Amount::new(usd, 0).micro_usd),
            tokens: goal.spec.iteration_tokens.map_or(ITERATION.tokens, |tokens| Amount::new(0.0, tokens).tokens),
        };
        let left = |cap: Option<i64>, spent: i64, wish: i64| cap.map_or(wish, |cap| wish.min(cap - spent));
        let (cap, spent) = (goal.cap(), goal.spent);
        let wish = Amount {
            micro_usd: left(cap.micro_usd, spent.micro_usd, asked.micro_usd),
            tokens: left(cap.tokens, spent.tokens, asked.tokens),
        };
        if wish.micro_usd <= 0 || wish.tokens <= 0 {
            let reason = "what this goal may cost is used up; raise it with 'ralph goal edit', then 'ralph goal retry'";
            return Ok(Err(LoopEnd::Verdict { kind: "exhausted".into(), reason: reason.into(), question: None }));
        }
        Ok(match self.insist(|| store.reserve(goal.id, goal.fence, wish)).await? {
            Ok(()) => Ok(wish),
            Err(Exhausted(scope)) => {
                let question = format!(
                    "The budget '{scope}' has less left than an iteration may cost (${:.2}). Raise it with 'ralph goal budget', \
                     or lower --iteration-cost; then 'ralph goal retry {}'.",
                    wish.usd(),
                    goal.id
                );
                Err(LoopEnd::Verdict { kind: "blocked".into(), reason: String::new(), question: Some(question) })
            }
        })
    }

    /// Puts the recording of the last worker's run into the clone, up to the last iteration whose commits we have.
    async fn restore_run(&self, clone: &Path) -> Result<bool, GoalError> {
        let Some(run) = &self.goal.run else { return Ok(false) };
        let mut lines: Vec<String> = Vec::new();
        let mut after = 0;
        loop {
            let some = self.insist(|| self.worker.store.tail(self.goal.id, after)).await?;
            let Some(last) = some.last() else { break };
            after = last.id;
            lines.extend(some.into_iter().map(|line| line.body));
        }
        let kept = recording(&lines, run, self.goal.iteration);
        if kept.is_empty() || self.goal.iteration == 0 {
            return Ok(false);
        }
        let file = clone.join(".ralph/runs").join(run).join("events.ndjson");
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&file, kept.join("\n") + "\n")).map_err(|source| GoalError::File {
            path: file,
            verb: "written",
            source,
        })?;
        Ok(true)
    }
}

/// The lines of a run, without those after its last finished iteration.
fn recording(lines: &[String], run: &str, iteration: i64) -> Vec<String> {
    let mut kept = Vec::new();
    let mut inside = false;
    let mut end = 0;
    for line in lines {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "run_started" {
            inside = event["run"].as_str() == Some(run);
        }
        if !inside || NOT_RECORDED.contains(&kind) {
            continue;
        }
        // Another iteration of the same number, by a worker that was lost, was never finished.
        if kind == "iteration_started" && event["iteration"].as_i64().is_some_and(|number| number > iteration) {
            continue;
        }
        kept.push(line.clone());
        if kind == "iteration_ended" && event["iteration"].as_i64().is_some_and(|number| number <= iteration) {
            end = kept.len();
        }
    }
    kept.truncate(end);
    kept
}

/// What the loop is told beside `--json`.
fn flags(goal: &Goal, goal_file: &Path) -> Vec<String> {
    let spec = &goal.spec;
    // The worker calls people itself: what the repository's configuration says of it is for its own loops.
    let mut words = ["--commit", "--notify=", "--goal"].map(str::to_owned).to_vec();
    words.push(goal_file.display().to_string());
    for check in &spec.checks {
        words.push(format!("--check={check}"));
    }
    for (flag, value) in [
        ("--backend", &spec.backend),
        ("--model", &spec.model),
        ("--reasoning", &spec.reasoning),
        ("--duration", &spec.duration),
    ] {
        words.extend(value.iter().map(|value| format!("{flag}={value}")));
    }
    words
}

/// `None`: a person cancelled it. `now` is by the store's clock.
fn happening(end: LoopEnd, changed: bool, now: Moment) -> Option<GoalEvent> {
    let happening = match end {
        LoopEnd::Cancelled => return None,
        LoopEnd::Stopped => GoalEvent::Released,
        LoopEnd::Waits { for_ms, reason } => GoalEvent::Limited { until: now + for_ms, why: reason },
        LoopEnd::Died { started: false, words, code } => {
            let why = words.lines().last().unwrap_or_default().trim_start_matches("error: ");
            GoalEvent::Hopeless { why: format!("the loop did not start (exit code {code}): {why}") }
        }
        LoopEnd::Died { words, code, .. } => {
            let why = words.lines().last().unwrap_or_default();
            GoalEvent::AttemptFailed { why: format!("the loop ended without a verdict (exit code {code}) {why}") }
        }
        LoopEnd::Verdict { kind, reason, question } => match kind.as_str() {
            "done" => GoalEvent::Worked { changed },
            "blocked" => GoalEvent::Asked { question: question.unwrap_or(reason) },
            "exhausted" => GoalEvent::Hopeless { why: reason },
            // Somebody ended the loop beside us.
            "interrupted" | "terminated" => GoalEvent::Released,
            other => GoalEvent::AttemptFailed { why: format!("The loop ended as '{other}': {reason}") },
        },
    };
    Some(happening)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_ends_with_the_last_iteration_that_was_kept() {
        let lines = [
            r#"{"type":"goal_state"}"#,
            r#"{"type":"run_started","run":"old"}"#,
            r#"{"type":"iteration_ended","iteration":9}"#,
            r#"{"type":"run_started","run":"r"}"#,
            r#"{"type":"iteration_started","iteration":1}"#,
            r#"{"type":"agent_text","iteration":1}"#,
            r#"{"type":"iteration_ended","iteration":1}"#,
            r#"{"type":"iteration_started","iteration":2}"#,
            r#"{"type":"warning"}"#,
        ]
        .map(str::to_owned);
        let kept = recording(&lines, "r", 1);
        assert_eq!(kept, [lines[3].clone(), lines[4].clone(), lines[6].clone()]);
        assert_eq!(recording(&lines, "other", 1), [] as [String; 0]);
    }

    #[test]
    fn verdicts_become_happenings() {
        let verdict = |kind: &str| LoopEnd::Verdict { kind: kind.into(), reason: "why".into(), question: None };
        assert_eq!(happening(verdict("done"), true, 0), Some(GoalEvent::Worked { changed: true }));
        assert_eq!(happening(verdict("blocked"), true, 0), Some(GoalEvent::Asked { question: "why".into() }));
        assert!(matches!(happening(verdict("stuck"), true, 0), Some(GoalEvent::AttemptFailed { .. })));
        assert!(matches!(happening(verdict("limit"), true, 0), Some(GoalEvent::AttemptFailed { .. })));
        assert_eq!(happening(verdict("terminated"), true, 0), Some(GoalEvent::Released));
        assert_eq!(happening(LoopEnd::Cancelled, true, 0), None);
        let waits = LoopEnd::Waits { for_ms: 5, reason: "limit".into() };
        assert_eq!(happening(waits, true, 100), Some(GoalEvent::Limited { until: 105, why: "limit".into() }));
        let refused = LoopEnd::Died { code: 1, started: false, words: "error: not trusted".into() };
        assert!(
            matches!(happening(refused, false, 0), Some(GoalEvent::Hopeless { why }) if why.contains("not trusted"))
        );
    }
}
