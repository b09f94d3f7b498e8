//! The environment of what we start: ours, with the marks that scripts look for.

use crate::environment::Environment;
use options::Session;
use std::ffi::OsString;
use std::path::Path;

/// Where our own measurements go is not where those of a child should go.
const TELEMETRY: &str = "OTEL_";

/// For hooks and servers.
pub fn without_telemetry(environment: &Environment) -> process::Env {
    let is_ours = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(TELEMETRY));
    environment.vars.iter().filter(|(name, _)| !is_ours(name)).cloned().collect()
}

/// For commands of the model.
pub fn commands(environment: &Environment, session: &Session, shell: &Path) -> process::Env {
    let mut env = without_telemetry(environment);
    if environment.is_on("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB") {
        process::scrub::credentials(&mut env);
    }
    let text = OsString::from;
    let marks = [
        ("CLAUDECODE", text("1")),
        ("CLAUDE_CODE_CHILD_SESSION", text("1")),
        ("CLAUDE_CODE_SESSION_ID", text(&session.id)),
        ("CLAUDE_PID", text(&std::process::id().to_string())),
        ("CLAUDE_CODE_ENTRYPOINT", text(session.entrypoint.as_deref().unwrap_or_default())),
        ("CLAUDE_CODE_EXECPATH", environment.exe.clone().into_os_string()),
        // Nobody looks on: programs that ask for this wait for no answer.
        ("CLAUDE_CODE_SESSION_ATTENDED", text("0")),
        ("AI_AGENT", text(concat!("ralph_", env!("CARGO_PKG_VERSION"), "_agent"))),
        ("SHELL", shell.as_os_str().to_owned()),
        // There is no terminal: an editor would fail, and what it was opened for with it.
        ("GIT_EDITOR", text("true")),
        // A question before the first download, and a line in somebody's package.json.
        ("COREPACK_ENABLE_AUTO_PIN", text("0")),
        // On Windows, a program is not looked for in the working folder.
        ("NoDefaultCurrentDirectoryInExePath", text("1")),
    ];
    env.retain(|(name, _)| !marks.iter().any(|(mark, _)| name == mark));
    env.extend(marks.map(|(name, value)| (OsString::from(name), value)));
    env
}
