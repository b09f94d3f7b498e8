//! The sub-commands of the agent, `claude COMMAND …`. Commands of the reference that are not here are errors that say
//! what to use; none of them reaches a model.

use super::{auth, doctor, mcp, plugin, purge};
use crate::failure::{Ended, Failure};
use crate::say;
use arguments::{AgentCommand, Arguments, help};
use resolve::Environment;
use serde_json::{Value, json};
use wire::ExitCode;

pub fn run(words: &[String], typed: &Arguments, environment: &Environment) -> Ended {
    let Some((name, rest)) = words.split_first() else { return Ok(ExitCode::Failure) };
    let Some(command) = AgentCommand::find(name) else { return Ok(ExitCode::Failure) };
    if let Some(line) = command.refusal(name) {
        return refuse(&line);
    }
    if rest.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        say::out(&help::agent_command(command));
        return Ok(ExitCode::Success);
    }
    match command.name {
        "auth" => auth::run(rest, environment, Some(typed)),
        "mcp" => mcp::run(rest, typed, environment),
        "plugin" => plugin::run(rest, environment),
        "doctor" => doctor::run(environment, false, false),
        "agents" => agents(rest),
        "auto-mode" => auto_mode(rest, typed, environment),
        "purge" => purge::run(rest, environment),
        "project" => purge::run(rest.get(1..).unwrap_or_default(), environment),
        _ => {
            say::out(&help::agent());
            Ok(ExitCode::Success)
        }
    }
}

pub fn misspelled(word: &str, near: &str) -> Ended {
    refuse(&format!("error: unknown command '{word}' (did you mean '{near}'?). A prompt goes after -p."))
}

fn refuse(line: &str) -> Ended {
    Err(Failure::agent(line))
}

/// Background sessions of the reference. `--bg` is refused here, so a script that waits for them finds none.
fn agents(words: &[String]) -> Ended {
    let mut as_json = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--json" => as_json = true,
            "--all" => {}
            "--cwd" => drop(rest.next()),
            word if word.starts_with("--cwd=") => {}
            other => return refuse(&format!("error: '{other}' is unknown. Usage: claude agents [--json]")),
        }
    }
    say::out(if as_json { "[]\n" } else { "No background sessions: this agent starts none.\n" });
    Ok(ExitCode::Success)
}

/// The lists that the reference's safety check reads. There is none here, so they are shown and decide nothing.
fn auto_mode(words: &[String], typed: &Arguments, environment: &Environment) -> Ended {
    let mut rules = json!({"allow": [], "soft_deny": [], "environment": []});
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["defaults"] => {}
        ["config"] => match resolve::loaded_settings(typed, environment) {
            Ok(settings) => add_rules(&mut rules, &settings.merged["autoMode"]),
            Err(refusal) => return Err(refusal.into()),
        },
        ["reset", ..] => {
            return refuse("Error: nothing was changed. Remove 'autoMode' from your user settings yourself.");
        }
        _ => return refuse("usage: claude auto-mode config|defaults"),
    }
    say::out(&format!("{}\n", serde_json::to_string_pretty(&rules).unwrap_or_default()));
    Ok(ExitCode::Success)
}

fn add_rules(rules: &mut Value, configured: &Value) {
    for (key, value) in configured.as_object().into_iter().flatten() {
        rules[key] = value.clone();
    }
}
