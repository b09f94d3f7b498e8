//! Prompts that begin with a slash: commands and skills, by name.

use super::builtin;
use crate::moments::prompt_expands;
use crate::own::{Called, call_skill};
use crate::shared::{Lane, Shared};
use crate::{mentions, outside, words};
use hooks::UserPromptExpansion;
use project::SkillKind;
use serde_json::{Value, json};
use std::rc::Rc;

/// What a prompt turned out to be.
pub enum Slash {
    /// No command: a prompt like any other.
    Prompt,
    /// A command or skill of the project or the user, or a server's prompt: what the model is told, and what hooks
    /// add to it.
    Blocks { blocks: Vec<Value>, contexts: Vec<String> },
    /// One of ours.
    Builtin { name: &'static str, args: String },
}

/// An unknown command is an error: sent on as a prompt it would look like success.
pub async fn read(shared: &Rc<Shared>, lane: &Lane, text: &str, client_composed: bool) -> Result<Slash, String> {
    if client_composed || !shared.options.slash {
        return Ok(Slash::Prompt);
    }
    let Some((name, args)) = split(text) else {
        return Ok(Slash::Prompt);
    };
    let setup = shared.setup();
    if let Some(skill) = project::find_skill(&setup.skills, name).filter(|skill| skill.user_invocable) {
        let command = UserPromptExpansion {
            expansion_type: "slash_command",
            command_name: &skill.name,
            command_args: args,
            command_source: skill.source,
            prompt: text,
        };
        let contexts = prompt_expands(shared, lane, &command).await?;
        let id = shared.emitter.ids().short('s');
        let mut files = Vec::new();
        let text = match Box::pin(call_skill(shared, lane, skill, args, &id)).await? {
            Called::Body(text) => {
                if skill.kind == SkillKind::Command && shared.options.mentions {
                    files = mentions::attachments(shared, lane, &text).await;
                }
                text
            }
            Called::Answer(done) => {
                let answer = crate::after::text_of(&shared.secrets.hide(done.outcome));
                format!("/{name} was carried out by an agent. Give the user its answer:\n\n{answer}")
            }
        };
        let mut blocks = vec![json!({"type": "text", "text": text})];
        blocks.extend(files);
        return Ok(Slash::Blocks { blocks, contexts });
    }
    if name == "init" {
        let text = format!("{} {args}", words::INIT);
        return Ok(Slash::Blocks { blocks: vec![json!({"type": "text", "text": text})], contexts: Vec::new() });
    }
    if let Some(name) = builtin::meant(name) {
        return Ok(Slash::Builtin { name, args: args.to_owned() });
    }
    if !outside::prompts(shared).iter().any(|prompt| prompt.full_name == name) {
        return Err(builtin::elsewhere(name).unwrap_or_else(|| unknown(shared, name)));
    }
    let command = UserPromptExpansion {
        expansion_type: "mcp_prompt",
        command_name: name,
        command_args: args,
        command_source: "mcp",
        prompt: text,
    };
    let contexts = prompt_expands(shared, lane, &command).await?;
    match outside::call_prompt(shared, name, args).await {
        Some(called) => called.map(|blocks| Slash::Blocks { blocks, contexts }),
        None => Err(unknown(shared, name)),
    }
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

/// Names listed in an error.
const NAMES_MAX: usize = 20;

fn unknown(shared: &Shared, name: &str) -> String {
    let setup = shared.setup();
    let skills = setup.skills.iter().filter(|skill| skill.user_invocable).map(|skill| skill.name.as_str());
    let names: Vec<&str> = skills.chain(builtin::COMMANDS.iter().map(|(name, _)| *name)).take(NAMES_MAX).collect();
    format!("Unknown command: /{name}. Known: /{}", names.join(", /"))
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
