//! `auth status`: which credential is used, and why the others are not. Never prints a secret.

use crate::environment::Environment;
use crate::failure::{Ended, Failure};
use crate::{resolve, say};
use arguments::Arguments;
use serde_json::json;
use wire::ExitCode;

pub fn run(words: &[String], environment: &Environment, typed: Option<&Arguments>) -> Ended {
    let (command, flags): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| !word.starts_with('-'));
    match command.as_slice() {
        ["status"] => status(environment, typed, flags.contains(&"--text")),
        ["login" | "logout"] => {
            let why = Failure::agent("Error: this agent does not log in by itself");
            Err(why.hint("Set ANTHROPIC_API_KEY, or configure apiKeyHelper in your user settings."))
        }
        _ => Err(Failure::form("usage: auth status [--json|--text]")),
    }
}

fn status(environment: &Environment, typed: Option<&Arguments>, as_text: bool) -> Ended {
    // The switches count from the settings' `env`, too.
    let whole = resolve::with_settings(typed, environment);
    let lookup = |name: &str| whole.get(name).map(str::to_owned);
    let choice = model::Choice::from_switches(&model::Variables::new(&lookup));
    if let Some(switch) = choice.switch() {
        for ignored in choice.ignored_switches() {
            say::err(&format!("warning: {ignored} is ignored, because {switch} is set as well; unset one of them"));
        }
        say::out(&by_provider(choice.name(), switch, as_text));
        return Ok(ExitCode::Success);
    }
    let resolution = resolve::credentials_only(typed, environment)?;
    let chosen = resolution.chosen.as_ref();
    let text = if as_text { in_words(&resolution) } else { in_json(&resolution) };
    say::out(&text);
    Ok(if chosen.is_some() { ExitCode::Success } else { ExitCode::Failure })
}

/// A cloud's credentials are found when a request is sent, so nothing is looked for here.
fn by_provider(name: &str, switch: &str, as_text: bool) -> String {
    if as_text {
        return format!(
            "API provider: {name} ({switch} is set). Its credentials are looked for at the first request.\n"
        );
    }
    let value = json!({"loggedIn": true, "authMethod": "third_party", "apiProvider": name});
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
}

fn in_words(resolution: &settings::Resolution) -> String {
    let mut text = match &resolution.chosen {
        Some(chosen) => format!("Logged in with {}\n", chosen.label),
        None => "Not logged in. Set ANTHROPIC_API_KEY, or configure apiKeyHelper in your user settings.\n".into(),
    };
    for one in &resolution.considered {
        text.push_str(&format!("  {}: {}\n", one.name, one.verdict));
    }
    text
}

fn in_json(resolution: &settings::Resolution) -> String {
    let considered: Vec<_> =
        resolution.considered.iter().map(|one| json!({"name": one.name, "verdict": one.verdict})).collect();
    let value = json!({
        "loggedIn": resolution.chosen.is_some(),
        "authMethod": resolution.chosen.as_ref().map_or("none", |chosen| chosen.label.as_str()),
        "apiProvider": "firstParty",
        "apiKeySource": resolution.chosen.as_ref().map(|chosen| chosen.source.as_str()),
        "considered": considered,
    });
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
}
