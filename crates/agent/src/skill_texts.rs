//! The text of a skill as the model gets it: variables filled in, its shell lines run.

use crate::Options;
use conversation::rules::Rules;
use conversation::{Conversation, Inside};
use options::Choices;
use output::Output;
use policy::{Rule, Source};
use project::{ProjectError, Segment, Skill};
use serde_json::json;
use std::rc::Rc;
use turn::{CallContent, InnerCallError};

/// Why a skill has no text.
#[derive(Debug, thiserror::Error)]
pub enum SkillTextError {
    #[error(transparent)]
    File(#[from] ProjectError),
    #[error(transparent)]
    Call(#[from] InnerCallError),
    #[error("The skill's command `{command}` failed: {words}")]
    Command { command: String, words: String },
}

pub struct SkillTexts {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub output: Rc<Output>,
}

impl SkillTexts {
    /// The texts of the skills that an agent starts with. One that cannot be loaded says so in its place.
    pub async fn preloaded(&self, conversation: &Conversation, names: &[String], inside: Inside<'_>) -> Vec<String> {
        let setup = self.choices.setup();
        let mut texts = Vec::new();
        for name in names {
            let skill = project::find_skill(&setup.skills, name).filter(|skill| skill.model_invocable);
            texts.push(match skill {
                Some(skill) => match self.body(conversation, skill, "", "", inside).await {
                    Ok(text) => text,
                    Err(problem) => format!("The skill {name} could not be loaded: {problem}"),
                },
                None => format!("The skill {name} could not be loaded: there is none of this name for you."),
            });
        }
        texts
    }

    /// The skill's text; for a set of skills, each of them.
    pub async fn body(
        &self,
        conversation: &Conversation,
        skill: &Skill,
        args: &str,
        call_id: &str,
        inside: Inside<'_>,
    ) -> Result<String, SkillTextError> {
        self.grant(skill);
        let mut texts = Vec::new();
        let setup = self.choices.setup();
        for (one, text) in project::load_skill(skill, &setup.skills)? {
            let expanded = self.expanded(conversation, one, &text, args, call_id, inside).await?;
            texts.push(format!("Files of this skill are in: {}\n\n{expanded}", one.dir.display()));
        }
        Ok(texts.join("\n\n"))
    }

    /// What a skill says it may use is allowed for the rest of the turn, where its source may grant at all;
    /// what it says it must not use is denied.
    fn grant(&self, skill: &Skill) {
        let source = Source { name: format!("skill {}", skill.name), anchor: self.options.cwd.clone() };
        let rules = |texts: &[String]| -> Vec<Rule> {
            texts.iter().filter_map(|rule| policy::parse_rule(rule, &source).ok()).collect()
        };
        let grants = if skill.may_grant { rules(&skill.allowed_tools) } else { Vec::new() };
        self.rules.add_for_turn(grants, rules(&skill.disallowed_tools));
    }

    async fn expanded(
        &self,
        conversation: &Conversation,
        skill: &Skill,
        text: &str,
        args: &str,
        call_id: &str,
        inside: Inside<'_>,
    ) -> Result<String, SkillTextError> {
        let session_id = self.output.session_id();
        let effort = conversation.effort_level(&self.choices).unwrap_or_default();
        let folder = skill.dir.display().to_string();
        let project = self.options.cwd.display().to_string();
        let (root, data) = skill.plugin.as_ref().map_or_else(Default::default, |plugin| {
            (plugin.root.display().to_string(), plugin.data.display().to_string())
        });
        let mut variables = vec![
            ("CLAUDE_SESSION_ID", session_id.as_str()),
            ("CLAUDE_SKILL_DIR", folder.as_str()),
            ("CLAUDE_PROJECT_DIR", project.as_str()),
            ("CLAUDE_EFFORT", effort.as_str()),
        ];
        if skill.plugin.is_some() {
            variables.extend([("CLAUDE_PLUGIN_ROOT", root.as_str()), ("CLAUDE_PLUGIN_DATA", data.as_str())]);
        }
        let is_switched_off = self.options.settings.flag("disableSkillShellExecution") == Some(true);
        let mut out = String::new();
        for segment in project::expand(text, args, &skill.argument_names, &variables) {
            match segment {
                Segment::Text(text) => out.push_str(&text),
                Segment::Shell { .. } if is_switched_off => {
                    out.push_str("[not run: commands in skills are switched off here]");
                }
                Segment::Shell { command } => {
                    out.push_str(&run_line(conversation, &command, call_id, inside).await?);
                }
            }
        }
        Ok(out)
    }
}

/// A command line inside a skill is a call like any other. One that fails fails the whole skill, because its text would lie.
async fn run_line(
    conversation: &Conversation,
    command: &str,
    call_id: &str,
    inside: Inside<'_>,
) -> Result<String, SkillTextError> {
    let result = conversation.call_inside(&inside, call_id, "Bash", json!({"command": command})).await?;
    if result.is_error() {
        return Err(SkillTextError::Command { command: command.to_owned(), words: result.words() });
    }
    Ok(match result.content {
        CallContent::Text(text) => text,
        CallContent::Blocks(_) => String::new(),
    })
}
