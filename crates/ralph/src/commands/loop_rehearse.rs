//! `ralph --rehearse SCRIPT`: the same loop against a scripted model on loopback, without a token. A script
//! can hold faults too: limits, cut streams, slow answers (`docs/mock.md`).

use crate::environment::Environment;
use runner::{Auth, Job};
use std::path::Path;

/// Opens nothing anywhere.
const KEY: &str = "sk-ant-rehearsal";

/// Points the job at the script. The server lives as long as what is returned.
pub fn prepare(script: &Path, job: &mut Job, environment: &Environment) -> Result<mock::Mock, String> {
    let file = environment.cwd.join(script);
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let script = mock::Script::from_json(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let script = script.substitute("$WD", &environment.cwd.display().to_string());
    let mock = mock::Mock::start(script).map_err(|error| format!("no loopback server: {error}"))?;
    // No credential of the person's may reach a rehearsal, and no other endpoint be reached by one.
    proc::scrub::credentials(&mut job.env);
    job.env.retain(|(name, _)| !name.to_string_lossy().starts_with("ANTHROPIC_"));
    job.env.push(("ANTHROPIC_BASE_URL".into(), mock.url().into()));
    job.env.push(("ANTHROPIC_API_KEY".into(), KEY.into()));
    job.auth = Auth::Ambient;
    Ok(mock)
}
