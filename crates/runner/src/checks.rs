//! The checks that make "done" mean done. Run in order, all of them, so that the next prompt hears of
//! every failure at once.

use crate::command::capture_in;
use crate::{Folder, Settings};
use cycle::CheckFinished;
use proc::Env;
use proc::sandbox::{Rules, Sandbox};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Read of a check's output.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// Kept of it: the end, where compilers and test runners say what failed.
const KEPT: usize = 8 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// As people wrote it.
    pub command: String,
    script: String,
    /// The check that lies in the folder, as it was when the run began.
    guarded: Option<(PathBuf, u64)>,
}

pub(crate) fn list(folder: &Folder, settings: &Settings) -> Vec<Check> {
    let given =
        settings.check.iter().map(|command| Check { command: command.clone(), script: command.clone(), guarded: None });
    let file = folder.check();
    let own = print(&file).map(|print| Check {
        command: ".ralph/check".into(),
        script: "if [ -x .ralph/check ]; then exec .ralph/check; else exec sh .ralph/check; fi".into(),
        guarded: Some((file, print)),
    });
    given.chain(own).collect()
}

fn print(file: &Path) -> Option<u64> {
    let bytes = std::fs::read(file).ok()?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Some(hasher.finish())
}

/// In the sandbox where there is one: a check executes what the agent wrote.
pub(crate) async fn run(
    check: Check,
    iteration: u32,
    folder: PathBuf,
    mut env: Env,
    deadline: Duration,
    rules: Option<Rules>,
) -> CheckFinished {
    let started = Instant::now();
    let finished = |passed, exit_code, output: String| CheckFinished {
        iteration,
        command: check.command.clone(),
        passed,
        exit_code,
        output,
        duration_ms: started.elapsed().as_millis() as u64,
    };
    // A check that the agent could rewrite would check nothing.
    if let Some((file, before)) = &check.guarded
        && print(file) != Some(*before)
    {
        let why = "this check was changed while the loop ran; put it back, or start the loop anew";
        return finished(false, 1, why.into());
    }
    // Made for this check alone: between checks nothing of it is in the workspace.
    let sandbox = match rules.map(Sandbox::new).transpose() {
        Ok(sandbox) => sandbox,
        Err(error) => return finished(false, 126, error.to_string()),
    };
    if let Some(sandbox) = &sandbox {
        proc::scrub::credentials(&mut env);
        env.extend(sandbox.proxy_env());
    }
    let script = ["-c", &check.script];
    match capture_in(sandbox.as_ref(), "/bin/sh".as_ref(), &script, &folder, env, deadline, OUTPUT_MAX).await {
        Ok(done) => {
            let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
            output.push_str(&String::from_utf8_lossy(&done.stderr));
            let mut output = output[output.ceil_char_boundary(output.len().saturating_sub(KEPT))..].to_owned();
            if done.timed_out {
                output.push_str(&format!("\nstopped after {} s: no end was in sight", deadline.as_secs()));
            }
            finished(done.exit.success() && !done.timed_out, done.exit.shell_code(), output)
        }
        Err(error) => finished(false, 127, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Env {
        vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]
    }

    fn go(folder: &Path, check: &Check, deadline: Duration) -> CheckFinished {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(check.clone(), 1, folder.to_owned(), env(), deadline, None))
    }

    #[test]
    fn a_check_passes_only_by_its_exit_code_and_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        for (command, passed, code, words) in [
            ("echo fine", true, 0, "fine"),
            ("echo bad >&2; exit 4", false, 4, "bad"),
            ("no-such-program-here", false, 127, "not found"),
            ("sleep 60", false, 143, "no end was in sight"),
        ] {
            let settings = Settings { check: vec![command.into()], ..Settings::default() };
            let check = &list(&folder, &settings)[0];
            let wait = if command.starts_with("sleep") { Duration::from_millis(200) } else { Duration::from_secs(30) };
            let done = go(dir.path(), check, wait);
            assert_eq!((done.passed, done.exit_code), (passed, code), "{command}: {}", done.output);
            assert!(done.output.contains(words), "{command}: {}", done.output);
        }
    }

    #[test]
    fn the_folders_own_check_runs_and_may_not_be_changed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir(folder.ralph()).unwrap();
        assert_eq!(list(&folder, &Settings::default()), []);
        std::fs::write(folder.check(), "exit 3\n").unwrap();
        let check = list(&folder, &Settings::default()).remove(0);
        assert_eq!(go(dir.path(), &check, Duration::from_secs(30)).exit_code, 3);
        std::fs::write(folder.check(), "exit 0\n").unwrap();
        let done = go(dir.path(), &check, Duration::from_secs(30));
        assert!(!done.passed && done.output.contains("was changed"));
    }
}
