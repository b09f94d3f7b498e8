//! Prompts that begin with a slash: commands and skills, by name.

use crate::own::skill_body;
use crate::shared::{Lane, Shared};

/// The command's text for the model, `None` for an ordinary prompt, or why it cannot run. An unknown
/// command is an error: sent on as a prompt it would look like success.
pub async fn read(shared: &Shared, lane: &Lane, text: &str, client_composed: bool) -> Result<Option<String>, String> {
    if client_composed || !shared.options.slash {
        return Ok(None);
    }
    let Some((name, args)) = split(text) else {
        return Ok(None);
    };
    let Some(skill) = config::find_skill(&shared.options.skills, name).filter(|skill| skill.user_invocable) else {
        return Err(unknown(shared, name));
    };
    skill_body(shared, lane, skill, args, "").await.map(Some)
}

/// `/name rest`. A path such as `/tmp/x` and a lone slash are no commands.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, args) = rest.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
    is_name.then_some((name, args.trim()))
}

fn unknown(shared: &Shared, name: &str) -> String {
    let names: Vec<&str> = shared
        .options
        .skills
        .iter()
        .filter(|skill| skill.user_invocable)
        .map(|skill| skill.name.as_str())
        .take(20)
        .collect();
    let known = if names.is_empty() { "There are none here.".into() } else { format!("Known: /{}", names.join(", /")) };
    format!("Unknown command: /{name}. {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_paths() {
        for (text, expected) in [
            ("/fix 42", Some(("fix", "42"))),
            ("  /fix\n a b ", Some(("fix", "a b"))),
            ("/plugin:cmd", Some(("plugin:cmd", ""))),
            ("/", None),
            ("/tmp/x is full", None),
            ("/ fix", None),
            ("fix /it", None),
            ("//x", None),
            ("/42", None),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
