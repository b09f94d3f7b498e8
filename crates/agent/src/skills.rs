//! Loading a skill, or having an agent carry it out where it says so.

use crate::Options;
use crate::skill_texts::{SkillTextError, SkillTexts};
use crate::subagents::{Assignment, Finished, SubagentError, Subagents};
use context::conversation_tools::{CallError, agent};
use conversation::{Conversation, HookRunner, Inside, MainMachine, frontmatter_hooks};
use options::Choices;
use project::Skill;
use std::rc::Rc;
use tokio::sync::mpsc::channel;
use turn::{AgentWait, Change};

/// What calling a skill came to.
pub enum Loaded {
    /// Its text, for the conversation that called it.
    Body(String),
    /// What an agent of its own made of it.
    Answer(Box<Finished>),
}

/// Why a skill is not loaded, or not carried out.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error(transparent)]
    Text(#[from] SkillTextError),
    #[error(transparent)]
    Agent(#[from] CallError),
    #[error(transparent)]
    Subagent(#[from] SubagentError),
}

pub struct Skills {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub texts: Rc<SkillTexts>,
    pub hooks: Rc<HookRunner>,
    pub machine: Rc<MainMachine>,
    pub subagents: Rc<Subagents>,
}

impl Skills {
    pub async fn load(
        &self,
        conversation: &Conversation,
        skill: &Skill,
        args: &str,
        call_id: &str,
        inside: Inside<'_>,
    ) -> Result<Loaded, SkillError> {
        let task = self.texts.body(conversation, skill, args, call_id, inside).await?;
        if !skill.fork {
            if conversation.role.is_main() {
                self.choose_model(conversation, skill);
            }
            frontmatter_hooks::by_skill(&self.options, &self.hooks, conversation, skill);
            return Ok(Loaded::Body(task));
        }
        self.subagents.may_start(conversation)?;
        let counted = self.subagents.count_one();
        let setup = self.choices.setup();
        let agent = agent::named(&setup, skill.agent.as_deref())?.clone();
        let assignment = Assignment {
            is_isolated: agent.isolation.as_deref() == Some("worktree"),
            agent,
            task,
            description: skill.name.clone(),
            tool_use_id: call_id.to_owned(),
            name: None,
            model: skill.model.clone(),
            hooks: frontmatter_hooks::of_forked_skill(&self.options, skill),
        };
        let (_nobody, inbox) = channel(1);
        let work = self.subagents.attend(conversation, &assignment, (counted, inbox), inside, AgentWait::ToTheEnd);
        Ok(Loaded::Answer(Box::new(Box::pin(work).await?)))
    }

    /// For the rest of the turn the skill may choose who answers and how hard they think.
    fn choose_model(&self, conversation: &Conversation, skill: &Skill) {
        if let Some(name) = skill.model.as_deref().filter(|name| *name != "inherit") {
            let env = &self.options.asking.model_env;
            let model = model::resolve(name, env);
            if env.allows(&model) {
                self.machine.set(Change::TurnModel(model));
            }
        }
        if let Some(effort) = &skill.effort {
            conversation.effort.replace(Some(effort.clone()));
        }
    }
}
