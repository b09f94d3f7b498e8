//! Skill: a document of the project or the user, loaded into the conversation when it is needed.
//!
//! Deliberately absent: loading it (`skills`).

use super::error::CallError;
use options::Setup;
use policy::names;
use project::Skill;
use serde_json::Value;
use tools::ToolSpec;

/// Names listed in an error.
const NAMES_MAX: usize = 50;

pub static SPEC: ToolSpec = ToolSpec::alone(
    &names::SKILL,
    "Load a skill: instructions for a certain kind of work, written by the people of this project. \
                  Load the one that fits before you start on such work.",
    r#"{"type":"object","properties":{"skill":{"type":"string","description":"The skill's name"},"args":{"type":"string","description":"What to tell it"}},"required":["skill"],"additionalProperties":false}"#,
);

/// Room for the listing in the tool's description.
const LISTING_CHARS: usize = 8_000;

pub fn listing(setup: &Setup) -> String {
    let mut text = String::new();
    let most = setup.listing_chars.unwrap_or(LISTING_CHARS);
    // Those for some files only are told of when such a file is touched.
    for skill in setup.skills.iter().filter(|skill| skill.model_invocable && skill.paths.is_empty()) {
        let line = format!("- {}: {}\n", skill.name, skill.listing());
        if text.len() + line.len() > most {
            text.push_str("- … more, by name\n");
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The skill that a call means.
pub fn called<'a>(setup: &'a Setup, input: &Value) -> Result<&'a Skill, CallError> {
    let Some(name) = name_of(input) else {
        return Err(CallError::SkillField);
    };
    let Some(skill) = project::find_skill(&setup.skills, name) else {
        return Err(CallError::NoSkill { name: name.to_owned(), known: known(setup) });
    };
    if !skill.model_invocable {
        return Err(CallError::SkillForPeople(name.to_owned()));
    }
    Ok(skill)
}

/// The name that a call gives.
pub fn name_of(input: &Value) -> Option<&str> {
    input["skill"].as_str().map(|name| name.trim().trim_start_matches('/'))
}

fn known(setup: &Setup) -> String {
    let names: Vec<&str> = setup.skills.iter().map(|skill| skill.name.as_str()).take(NAMES_MAX).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
