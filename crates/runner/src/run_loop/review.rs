//! The reviewer of a run: another agent, which only looks, started with goal, diff and checks.
//!
//! Its prompt holds neither the transcript nor a count of iterations. `cycle` judges its answer.

use super::work::Activity;
use super::{Input, RunLoop, prompt};
use crate::StartError;
use crate::job::Reviewer;
use cycle::review::NoOpinion;
use cycle::{Tokens, review};
use process::{CaptureLimits, Output, Spec, Stdin};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;

/// A reviewer reads files and thinks; one that takes longer is hung.
const LIMITS: CaptureLimits =
    CaptureLimits { deadline: Duration::from_mins(30), max_output: 8 * 1024 * 1024, grace: Duration::from_secs(2) };

impl RunLoop<'_> {
    pub(super) async fn review(&mut self, usd: Option<f64>) -> Option<Input> {
        let Some(mut reviewer) = self.job.reviewer.clone() else {
            return Some(no_review("there is no reviewer".into()));
        };
        self.take_fallback(&mut reviewer);
        let prompt = match self.review_prompt().await {
            Ok(prompt) => prompt,
            Err(error) => return Some(no_review(error.to_string())),
        };
        self.activity =
            Activity::Review(Box::pin(run_reviewer(reviewer, self.job.folder.root().to_owned(), prompt, usd)));
        None
    }

    /// While the run's own provider is at its limit, a reviewer of ours asks the one that the work was done with.
    fn take_fallback(&self, reviewer: &mut Reviewer) {
        let is_ours = reviewer.args.first().is_some_and(|word| word == "agent");
        let Some(other) = self.fallback().filter(|_| is_ours) else { return };
        let model = other.model.clone();
        match reviewer.args.iter().position(|word| word == "--model") {
            Some(at) if at + 1 < reviewer.args.len() => reviewer.args[at + 1] = model,
            _ => reviewer.args.extend(["--model".to_owned(), model]),
        }
        self.take_way(self.way, &mut reviewer.env);
    }

    async fn review_prompt(&self) -> Result<String, StartError> {
        let sources = prompt::read(&self.job.folder, &self.job.settings)?;
        let work = self.state.memory().work.as_ref().map(prompt::work_text);
        let parts = [sources.goal, sources.prompt, work, sources.todo.map(|todo| format!("Todo list:\n\n{todo}"))];
        let goal = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        let checks: Vec<String> = self.checks.iter().map(|check| check.command.clone()).collect();
        let diff = match &self.git {
            Some(git) => git.diff_since(self.state.memory().base.as_deref()).await.ok_or(StartError::NoDiff)?,
            None => "(this folder is no git repository; read the files)".to_owned(),
        };
        Ok(review::prompt(&goal, &checks, &diff))
    }
}

fn no_review(why: String) -> Input {
    Input::Reviewed { opinion: Err(NoOpinion(why)), usd: 0.0, tokens: Tokens::default() }
}

async fn run_reviewer(reviewer: Reviewer, cwd: std::path::PathBuf, prompt: String, usd: Option<f64>) -> Input {
    let mut args: Vec<OsString> = reviewer.args.into_iter().map(OsString::from).collect();
    args.extend(usd.into_iter().flat_map(|usd| ["--max-budget-usd".into(), format!("{usd:.4}").into()]));
    let spec = Spec {
        program: reviewer.program.into_os_string(),
        args,
        cwd,
        env: reviewer.env,
        stdin: Stdin::Bytes(prompt.into_bytes()),
        output: Output::Pipes,
        arg0: None,
    };
    let done = match &reviewer.sandbox {
        Some(sandbox) => process::capture_inside(spec, LIMITS, sandbox).await,
        None => process::capture(spec, LIMITS).await,
    };
    match done {
        Ok(done) if done.timed_out => no_review("it took longer than half an hour".into()),
        Ok(done) => parse_review(&String::from_utf8_lossy(&done.stdout), &String::from_utf8_lossy(&done.stderr)),
        Err(error) => no_review(error.to_string()),
    }
}

fn parse_review(stdout: &str, stderr: &str) -> Input {
    let Ok(result) = serde_json::from_str::<Value>(stdout.trim()) else {
        return no_review(stderr.lines().last().unwrap_or("no result").to_owned());
    };
    let count = |name: &str| result["usage"][name].as_u64().unwrap_or(0);
    let tokens = Tokens {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
    };
    let usd = result["total_cost_usd"].as_f64().unwrap_or(0.0);
    Input::Reviewed { opinion: review::opinion(&result), usd, tokens }
}
