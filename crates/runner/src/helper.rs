//! Short-lived programs (git, checks, direnv), started through `process` and bounded in time and output; and variables of
//! their environment.

use process::{CaptureLimits, Captured, Env, Output, SpawnError, Spec, Stdin};
use sandbox::Sandbox;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between asking and killing.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) async fn capture(
    program: &OsStr,
    args: &[&str],
    cwd: &Path,
    env: Env,
    deadline: Duration,
    max_output: usize,
) -> Result<Captured, SpawnError> {
    capture_in(None, program, args, cwd, env, deadline, max_output, None).await
}

#[expect(clippy::too_many_arguments, reason = "the words of one call; two callers")]
pub(crate) async fn capture_in(
    sandbox: Option<&Sandbox>,
    program: &OsStr,
    args: &[&str],
    cwd: &Path,
    env: Env,
    deadline: Duration,
    max_output: usize,
    tell: Option<&tokio::sync::mpsc::Sender<Vec<u8>>>,
) -> Result<Captured, SpawnError> {
    let spec = Spec {
        program: program.to_owned(),
        args: args.iter().map(OsString::from).collect(),
        cwd: cwd.to_owned(),
        env,
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    };
    let limits = CaptureLimits { deadline, max_output, grace: GRACE };
    if let Some(tell) = tell {
        let sandbox = sandbox.map(|sandbox| sandbox as &dyn process::Confine);
        return process::capture_telling(spec, limits, sandbox, tell).await;
    }
    match sandbox {
        Some(sandbox) => process::capture_inside(spec, limits, sandbox).await,
        None => process::capture(spec, limits).await,
    }
}

/// Where a program is, by absolute folders of the search path only: a repository's own folder is none.
pub(crate) fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(is_program)
}

pub(crate) fn get<'a>(env: &'a Env, name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

pub(crate) fn set(env: &mut Env, name: &str, value: Option<&OsStr>) {
    env.retain(|(known, _)| known != name);
    if let Some(value) = value {
        env.push((name.into(), value.into()));
    }
}
