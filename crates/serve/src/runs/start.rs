//! Starting a run: `ralph --detach …` in a served folder, with what the request says as flags.

use crate::app::App;
use crate::children;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use runner::Folder;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// `ralph --detach` waits a minute at most for the run to answer.
const START_TIME: Duration = Duration::from_secs(70);
/// Where prompts that came by HTTP are kept, in `.ralph/`.
const PROMPTS: &str = ".ralph/prompts";
/// Of a prompt.
const PROMPT_MAX: usize = 256 * 1024;

/// A field that is not known is refused: a limit with a slip in its name would be none.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StartBody {
    folder: Option<String>,
    /// The prompt's text, or its file in the folder; without both, the folder's own.
    prompt: Option<String>,
    file: Option<String>,
    iterations: Option<u32>,
    checks: Vec<String>,
    backend: Option<String>,
    model: Option<String>,
    limits: StartLimits,
    sandbox: Option<String>,
    /// Waits for answers instead of ending as blocked; the page is there to give them.
    wait_for_answers: Option<bool>,
    commit: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StartLimits {
    duration: Option<String>,
    cost_usd: Option<f64>,
    tokens: Option<u64>,
    iteration_time: Option<String>,
    iteration_cost_usd: Option<f64>,
}

/// The flags of a run. What would run a program of the client's choice outside of the sandbox needs `exec`.
fn flags(body: &StartBody, prompt: Option<&str>, exec: bool) -> Result<Vec<String>, Problem> {
    if let Some(backend) = body.backend.as_ref().filter(|name| !exec && !is_plain_name(name)) {
        return Err(Problem::denied(format!("the backend '{backend}' needs a server with '--allow-exec'")));
    }
    if body.sandbox.as_deref().is_some_and(|level| level == "off") && !exec {
        return Err(Problem::denied("a run without a sandbox needs a server with '--allow-exec'"));
    }
    let mut words = Vec::new();
    let mut add = |flag: &str, value: Option<String>| words.extend(value.map(|value| format!("--{flag}={value}")));
    add("max", body.iterations.map(|number| number.to_string()));
    add("prompt", prompt.map(str::to_owned).or_else(|| body.file.clone()));
    add("backend", body.backend.clone());
    add("model", body.model.clone());
    add("sandbox", body.sandbox.clone());
    add("duration", body.limits.duration.clone());
    add("max-cost", body.limits.cost_usd.map(|usd| usd.to_string()));
    add("max-tokens", body.limits.tokens.map(|tokens| tokens.to_string()));
    add("iteration-time", body.limits.iteration_time.clone());
    add("iteration-cost", body.limits.iteration_cost_usd.map(|usd| usd.to_string()));
    body.checks.iter().for_each(|check| add("check", Some(check.clone())));
    if body.wait_for_answers.unwrap_or(true) {
        add("on-question", Some("wait".into()));
    }
    if body.commit == Some(true) {
        words.push("--commit".into());
    }
    // People watch: words are shown as they come.
    words.push("--live".into());
    Ok(words)
}

/// `builtin`, `claude`, `auto` and names like them; no paths and no command lines.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

pub async fn start(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let body: StartBody = request::json(&headers, body).await?;
    let (_, folder) = app.folders.place_folder(body.folder.as_deref())?;
    if !app.folders.roots().contains(&folder) {
        return Err(Problem::invalid(format!("{} is no served folder; runs start in one of those", folder.display())));
    }
    if body.prompt.is_some() && body.file.is_some() {
        return Err(Problem::invalid("a prompt is given as text or as a file, not as both"));
    }
    let prompt = match &body.prompt {
        None => None,
        Some(text) if text.trim().is_empty() => return Err(Problem::invalid("the prompt is empty")),
        Some(text) if text.len() > PROMPT_MAX => return Err(Problem::too_large("the prompt is too long")),
        Some(text) => {
            let name = format!("{PROMPTS}/{}.md", uuid::Uuid::new_v4().simple());
            app.folders.place(&folder.join(&name).display().to_string())?.write(text.as_bytes())?;
            Some(name)
        }
    };
    if let Some(file) = &body.file {
        app.folders.place(&folder.join(file).display().to_string())?;
    }
    let flags = flags(&body, prompt.as_deref(), app.processes.is_some())?;
    let id = start_detached(&app, &Folder::new(&folder), flags).await?;
    app.runs.look_again();
    Ok((StatusCode::CREATED, Json(json!({"id": id, "run": id, "folder": folder.display().to_string()}))))
}

/// Starts a run that does not end with this server. Its id.
pub async fn start_detached(app: &App, folder: &Folder, mut words: Vec<String>) -> Result<String, Problem> {
    words.extend(["--detach".to_owned(), "--json".to_owned()]);
    let said = children::ralph(app, folder.root(), words, START_TIME).await?;
    run_of(&said).ok_or_else(|| Problem::internal("the run did not say its id"))
}

/// The run that `ralph --detach --json` names.
fn run_of(said: &str) -> Option<String> {
    let said: Value = serde_json::from_str(said.trim()).ok()?;
    said["run"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: Value, exec: bool) -> Result<Vec<String>, u16> {
        let body = serde_json::from_value(body).unwrap();
        flags(&body, None, exec).map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn a_request_becomes_flags_that_cannot_be_mistaken_for_others() {
        let words = of(
            json!({"iterations": 3, "checks": ["--x", "cargo test"], "model": "--help", "limits": {"cost_usd": 1.5}}),
            false,
        );
        let expected = [
            "--max=3",
            "--model=--help",
            "--max-cost=1.5",
            "--check=--x",
            "--check=cargo test",
            "--on-question=wait",
            "--live",
        ];
        assert_eq!(words.unwrap(), expected);
        assert!(of(json!({"wait_for_answers": false}), false).unwrap().iter().all(|word| word != "--on-question=wait"));
    }

    #[test]
    fn programs_of_the_clients_choice_need_allow_exec() {
        for body in [
            json!({"backend": "/bin/sh"}),
            json!({"backend": "acp:'sh -c x'"}),
            json!({"sandbox": "off"}),
            json!({"backend": ""}),
        ] {
            assert_eq!(of(body.clone(), false), Err(403), "{body}");
            assert!(of(body, true).is_ok());
        }
        assert!(of(json!({"backend": "builtin", "sandbox": "read-only"}), false).is_ok());
    }
}
