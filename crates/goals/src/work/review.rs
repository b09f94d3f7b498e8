//! Another agent looks at the work before it lands: it gets goal, diff and checks, and answers by schema.
//!
//! It sees neither the worker's transcript nor how many iterations that took, and it cannot write.

use super::Job;
use super::heartbeat::Lease;
use crate::error::GoalError;
use crate::goal::{Amount, Goal};
use crate::machine::{APPROVE, GoalEvent};
use crate::repository::words;
use cycle::review::{self, NoOpinion, Opinion};
use process::{CaptureLimits, Output, Spec, Stdin};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const LIMITS: CaptureLimits =
    CaptureLimits { deadline: Duration::from_mins(30), max_output: 8 * 1024 * 1024, grace: Duration::from_secs(2) };
impl Job {
    pub async fn review(&self) -> Result<Goal, GoalError> {
        let (repo, goal) = (self.worker.repository(&self.goal.repo), &self.goal);
        let Some(head) = &goal.head else { return self.report(GoalEvent::Approved).await };
        let bundle = self.worker.store.bundle(goal.id).await?.filter(|(known, _)| known == head);
        let bytes = bundle.as_ref().map(|(_, bytes)| bytes.as_slice());
        let tip = repo.fetch_saved(goal.id, goal.head_fence, &goal.base, bytes).await?;
        let folder = self.folder("review");
        let clone = repo.check_out(&folder.join("repo"), head, &goal.branch()).await?;
        if goal.spec.trusted {
            (self.worker.options.trust_clone)(&goal.repo, &clone.folder)?;
        }
        let range = format!("{tip}...{head}");
        let diff = clone.git(words!["diff", "--no-ext-diff", "--no-textconv", &range], "diff").await?;
        let asked = self.ask_reviewer(&clone.folder, &prompt(goal, &diff)).await;
        self.worker.remove_clone(&folder);
        let happening = match asked? {
            Ok(Opinion::Approved) => GoalEvent::Approved,
            Ok(Opinion::Findings(text)) => {
                GoalEvent::Findings { text: format!("A review of your work found:\n{text}") }
            }
            Err(why) => GoalEvent::Asked {
                question: format!(
                    "The reviewer gave no answer ({why}). Answer '{APPROVE}' to land the work as it is, or say what to do."
                ),
            },
        };
        self.report(happening).await
    }

    async fn ask_reviewer(&self, folder: &Path, prompt: &str) -> Result<Result<Opinion, NoOpinion>, GoalError> {
        let reviewer = self.goal.spec.review.clone().unwrap_or_default();
        let command = (self.worker.options.reviewer)(&reviewer, folder)?;
        let spec = Spec {
            program: command.program.into_os_string(),
            args: command.args.into_iter().map(OsString::from).collect(),
            cwd: folder.to_owned(),
            env: command.env,
            stdin: Stdin::Bytes(prompt.as_bytes().to_vec()),
            output: Output::Pipes,
            arg0: None,
        };
        let running = async {
            match &command.sandbox {
                Some(sandbox) => process::capture_inside(spec, LIMITS, sandbox).await,
                None => process::capture(spec, LIMITS).await,
            }
        };
        let (mut lease, mut stop) = (self.lease.clone(), self.stop.clone());
        let done = tokio::select! {
            done = running => done.map_err(|error| GoalError::Start(error.to_string()))?,
            _ = lease.wait_for(|lease| *lease != Lease::Held) => return Err(self.lost()),
            _ = stop.wait_for(|stop| *stop) => return Err(GoalError::Git { what: "review", why: "stopped".into() }),
        };
        let text = String::from_utf8_lossy(&done.stdout);
        let Ok(result) = serde_json::from_str::<Value>(text.trim()) else {
            let said = String::from_utf8_lossy(&done.stderr);
            return Ok(Err(NoOpinion(said.lines().last().unwrap_or("no result").to_owned())));
        };
        let usage = &result["usage"];
        let counts = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let tokens = counts.iter().filter_map(|name| usage[*name].as_u64()).fold(0, u64::saturating_add);
        let cost = Amount::new(result["total_cost_usd"].as_f64().unwrap_or(0.0), tokens);
        // Reviews have no iteration; one in a claim.
        self.insist(|| self.worker.store.settle(self.goal.id, self.goal.fence, 0, cost)).await?;
        Ok(review::opinion(&result))
    }
}

fn prompt(goal: &Goal, diff: &str) -> String {
    let mut checks = goal.spec.checks.clone();
    checks.push("those of the repository (.ralph/check)".to_owned());
    review::prompt(&format!("{}\n\n{}", goal.title, goal.spec.text), &checks, diff)
}
