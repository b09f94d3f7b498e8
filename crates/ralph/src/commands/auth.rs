//! `auth status`: which credential is used, and why the others are not. Never prints a secret.

use crate::failure::{Ended, Failure};
use crate::say;
use arguments::Arguments;
use resolve::Environment;
use serde_json::json;
use settings::Found;
use wire::ExitCode;

const COMMANDS: [&str; 3] = ["status", "login", "logout"];
const USAGE: &str = "usage: auth status [--json|--text] | login | logout";

pub fn run(words: &[String], environment: &Environment, typed: Option<&Arguments>) -> Ended {
    let (command, flags): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| !word.starts_with('-'));
    match command.as_slice() {
        ["status"] => status(environment, typed, flags.contains(&"--text")),
        ["login" | "logout"] => {
            let why = Failure::agent("Error: this agent can neither log in with a browser nor log out");
            Err(why.hint(
                "Set ANTHROPIC_API_KEY; or set CLAUDE_CODE_OAUTH_TOKEN to a token that another program made; or configure \
                 apiKeyHelper in your user settings. A login that another program has stored is used and renewed.",
            ))
        }
        [word, ..] if !COMMANDS.contains(word) => Err(super::mcp::unknown("auth", word, &COMMANDS)),
        _ => Err(Failure::form(USAGE)),
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
        say::out(&by_provider(choice.name(), as_text, &whole));
        return Ok(ExitCode::Success);
    }
    let resolution = resolve::credentials_only(typed, environment)?;
    let chosen = resolution.chosen.as_ref();
    let text = if as_text { in_words(&resolution) } else { in_json(&resolution, &resolve::places(environment)) };
    say::out(&text);
    Ok(if chosen.is_some() { ExitCode::Success } else { ExitCode::Failure })
}

/// A cloud's credentials are found when a request is sent, so nothing is looked for here.
fn by_provider(name: &str, as_text: bool, environment: &Environment) -> String {
    if as_text {
        let lines = resolve::described_provider(environment);
        return lines.iter().map(|(label, value)| format!("{label}: {value}\n")).collect();
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

fn in_json(resolution: &settings::Resolution, places: &settings::Places) -> String {
    let considered: Vec<_> =
        resolution.considered.iter().map(|one| json!({"name": one.name, "verdict": one.verdict})).collect();
    let chosen = resolution.chosen.as_ref();
    let value = json!({
        "loggedIn": chosen.is_some(),
        "authMethod": chosen.map_or("none", |chosen| method(&chosen.found)),
        "apiProvider": "firstParty",
        "apiKeySource": chosen.map(|chosen| chosen.source.as_str()),
        "credential": chosen.map(|chosen| chosen.label.as_str()),
        "loginExpiresAt": chosen.and_then(|chosen| expiry(&chosen.found)),
        "configDirectory": places.config_dir,
        "projectsDirectory": places.config_dir.join("projects"),
        "considered": considered,
    });
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
}

/// The kind of credential, in the reference's words.
fn method(found: &Found) -> &'static str {
    match found {
        Found::ApiKey(_) | Found::ApiKeyFile(_) | Found::TokenAndKey { .. } => "api_key",
        Found::Helper { .. } => "apiKeyHelper",
        Found::AuthToken(_) | Found::OAuthToken(_) => "oauth_token",
        Found::OAuthFile(_) => "claude.ai",
    }
}

/// When a stored login ends; a key and a token in a variable do not say.
fn expiry(found: &Found) -> Option<String> {
    let Found::OAuthFile(login) = found else { return None };
    jiff::Timestamp::from_millisecond(login.expires_at_ms?).ok().map(|time| time.to_string())
}
