//! Other commands of this program, run as children, with the same checks and messages as on the command line.

use crate::app::App;
use crate::problem::Problem;
use process::{CaptureLimits, Output, Spec, Stdin};
use std::path::Path;
use std::time::Duration;

/// Of what a command prints: a report has every diff of a run in it.
const OUTPUT_MAX: usize = 32 * 1024 * 1024;
const GRACE: Duration = Duration::from_secs(1);
/// Of a message that goes into a refusal.
const MESSAGE_MAX: usize = 1000;

/// What `ralph ARGS` prints in this folder. Its refusal is ours.
pub async fn ralph(app: &App, folder: &Path, args: Vec<String>, deadline: Duration) -> Result<String, Problem> {
    let name = args.first().cloned().unwrap_or_default();
    let spec = Spec {
        program: app.exe.clone().into_os_string(),
        args: args.into_iter().map(Into::into).collect(),
        cwd: folder.to_owned(),
        env: app.env.clone(),
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: Some("ralph".into()),
    };
    let done = process::capture(spec, CaptureLimits { deadline, max_output: OUTPUT_MAX, grace: GRACE }).await;
    let done = done.map_err(|error| Problem::internal(error.to_string()))?;
    if done.timed_out {
        return Err(Problem::timeout(format!("'ralph {name}' did not finish within {} s", deadline.as_secs())));
    }
    if !done.exit.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
        let last = last.trim().trim_start_matches("error: ");
        return Err(Problem::conflict(cycle::bounded(last, MESSAGE_MAX)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
