//! Command hooks: a process in a session of its own, the input on its stdin.

use crate::answer::Raw;
use crate::event::HookEvent;
use crate::handler::{Handler, Plugin, Program, Shell};
use crate::host::{HookContext, HookHost};
use process::{CaptureLimits, Captured, Env, Output, Spec, Stdin};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Kept of each stream. An answer may carry a whole tool output; more than this no model reads.
pub(crate) const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// Between asking a late hook to end and killing it.
const GRACE: Duration = Duration::from_millis(500);

/// Everything needed to start it, with nothing borrowed: it may outlive the event.
pub(crate) fn prepare(
    program: &Program,
    handler: &Handler,
    event: HookEvent,
    input: Vec<u8>,
    context: &HookContext<'_>,
    host: &HookHost<'_>,
) -> Spec {
    let folders = folders(handler.plugin.as_ref(), host);
    let (program, args) = match program {
        Program::Exec { program, args } => {
            (filled(program, &folders).into(), args.iter().map(|arg| filled(arg, &folders).into()).collect())
        }
        Program::Shell { shell, text } => {
            let (shell, flags): (&str, &[&str]) = match shell {
                Shell::Sh => ("sh", &["-c"]),
                Shell::Bash => ("bash", &["-c"]),
                Shell::Pwsh => ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
            };
            // A folder's name is not shell code: one with special characters is left to the shell, which
            // has it as a variable.
            let harmless: Vec<_> = folders.iter().filter(|(_, folder)| is_plain(folder)).copied().collect();
            let args = flags.iter().map(OsString::from).chain([filled(text, &harmless).into()]);
            (shell.into(), args.collect())
        }
    };
    let cwd = if context.cwd.is_dir() { context.cwd } else { host.project_dir };
    Spec {
        program,
        args,
        cwd: cwd.to_owned(),
        env: environment(&folders, handler.is_trusted, event, context, host),
        stdin: Stdin::Bytes(input),
        output: Output::Pipes,
        arg0: None,
    }
}

pub(crate) async fn run(spec: Spec, limit: Duration) -> Raw {
    let limits = CaptureLimits { deadline: limit, max_output: LARGEST_ANSWER, grace: GRACE };
    match process::capture(spec, limits).await {
        Ok(Captured { timed_out: true, exit, .. }) => Raw::TimedOut(limit, Some(exit.shell_code())),
        Ok(ended) => Raw::Exit {
            code: ended.exit.shell_code(),
            stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        },
        Err(error) => Raw::Failed(error.into()),
    }
}

type Folders<'a> = Vec<(&'static str, &'a Path)>;

fn folders<'a>(plugin: Option<&'a Plugin>, host: &HookHost<'a>) -> Folders<'a> {
    let mut folders = vec![("CLAUDE_PROJECT_DIR", host.project_dir)];
    if let Some(plugin) = plugin {
        folders.extend([("CLAUDE_PLUGIN_ROOT", plugin.root.as_path()), ("CLAUDE_PLUGIN_DATA", plugin.data.as_path())]);
    }
    folders
}

fn filled(text: &str, folders: &[(&str, &Path)]) -> String {
    folders
        .iter()
        .fold(text.to_owned(), |text, (name, folder)| text.replace(&format!("${{{name}}}"), &folder.to_string_lossy()))
}

fn is_plain(folder: &Path) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%=:,".contains(c);
    folder.to_str().is_some_and(|folder| folder.chars().all(plain))
}

fn environment(
    folders: &Folders<'_>,
    is_trusted: bool,
    event: HookEvent,
    context: &HookContext<'_>,
    host: &HookHost<'_>,
) -> Env {
    let mut own: Env = folders.iter().map(|(name, folder)| ((*name).into(), (*folder).into())).collect();
    own.push(("CLAUDECODE".into(), "1".into()));
    own.push(("CLAUDE_CODE_SESSION_ID".into(), context.session_id.into()));
    own.push(("CLAUDE_PID".into(), std::process::id().to_string().into()));
    own.extend(context.effort.map(|level| ("CLAUDE_EFFORT".into(), level.into())));
    // Lines in it become the environment of later commands.
    own.extend(
        host.env_file
            .filter(|_| is_trusted && event.has_env_file())
            .map(|file| ("CLAUDE_ENV_FILE".into(), file.into())),
    );
    // Telemetry of the conversation is not the hook's: its own programs would report as us.
    let inherited = host
        .env
        .iter()
        .filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"OTEL_") && !own.iter().any(|(set, _)| set == name));
    let is_basic = |name: &OsString| process::scrub::BASIC_ENV.iter().any(|kept| name == kept);
    let mut env: Env = inherited.filter(|(name, _)| is_trusted || is_basic(name)).cloned().collect();
    env.append(&mut own);
    env
}
