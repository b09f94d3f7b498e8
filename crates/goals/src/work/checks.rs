//! The checks of a landing: on the rebased work, in the sandbox, before the branch moves.

use super::Job;
use super::heartbeat::Lease;
use crate::error::GoalError;
use process::{CaptureLimits, Output, Spec, Stdin};
use sandbox::Sandbox;
use std::path::Path;
use std::time::Duration;

/// As in the loop.
const CHECK_TIME: Duration = Duration::from_mins(10);
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// The end of the output, where compilers and test runners say what failed.
const KEPT: usize = 8 * 1024;
const GRACE: Duration = Duration::from_secs(2);
/// A shell's answer to a command that does not exist.
const NO_SUCH_COMMAND: i32 = 127;

#[derive(Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    /// For the agent.
    Failed(String),
    /// For a person: no agent can mend it.
    Missing(String),
}

/// The folder's own check, as the loop runs it.
const OWN: &str = "if [ -x .ralph/check ]; then exec .ralph/check; else exec sh .ralph/check; fi";

impl Job {
    /// Runs all of them, so that the agent hears of every failure at once.
    pub async fn run_checks(&self, folder: &Path, has_own: bool) -> Result<CheckOutcome, GoalError> {
        let given = self.goal.spec.checks.iter().map(|check| (check.as_str(), check.as_str()));
        let own = has_own.then_some((".ralph/check", OWN));
        let mut failures = Vec::new();
        for (name, script) in given.chain(own) {
            let (code, output) = self.run_check(folder, script).await?;
            match code {
                0 => {}
                NO_SUCH_COMMAND if output.lines().last().is_some_and(|line| line.ends_with("not found")) => {
                    let said = output.lines().last().unwrap_or_default();
                    return Ok(CheckOutcome::Missing(format!("the check '{name}' cannot be run: {said}")));
                }
                code => failures.push(format!("The check '{name}' failed (exit code {code}):\n{output}")),
            }
        }
        Ok(if failures.is_empty() { CheckOutcome::Passed } else { CheckOutcome::Failed(failures.join("\n\n")) })
    }

    async fn run_check(&self, folder: &Path, script: &str) -> Result<(i32, String), GoalError> {
        let options = &self.worker.options;
        let rules = (options.rules)(folder)?;
        let sandbox = rules.map(Sandbox::new).transpose().map_err(|error| GoalError::Start(error.to_string()))?;
        let mut env = options.env.clone();
        env.retain(|(name, _)| name != "RALPH_STORE");
        if let Some(sandbox) = &sandbox {
            process::scrub::credentials(&mut env);
            env.extend(sandbox.proxy_env());
        }
        let spec = Spec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: folder.to_owned(),
            env,
            stdin: Stdin::Null,
            output: Output::Pipes,
            arg0: None,
        };
        let limits = CaptureLimits { deadline: CHECK_TIME, max_output: OUTPUT_MAX, grace: GRACE };
        let running = async {
            match &sandbox {
                Some(sandbox) => process::capture_inside(spec, limits, sandbox).await,
                None => process::capture(spec, limits).await,
            }
        };
        let mut lease = self.lease.clone();
        let done = tokio::select! {
            done = running => done.map_err(|error| GoalError::Start(error.to_string()))?,
            _ = lease.wait_for(|lease| *lease == Lease::Lost) => return Err(self.lost()),
        };
        let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
        output.push_str(&String::from_utf8_lossy(&done.stderr));
        let mut output = output[output.ceil_char_boundary(output.len().saturating_sub(KEPT))..].to_owned();
        if done.timed_out {
            output.push_str(&format!("\nstopped after {} s: no end was in sight", CHECK_TIME.as_secs()));
        }
        let code = if done.timed_out { 124 } else { done.exit.shell_code() };
        Ok((code, output))
    }
}
