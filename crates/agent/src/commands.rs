//! The effects of commands: prompts that begin with a slash, by name.

use crate::skills::{Loaded, SkillError, Skills};
use crate::{Options, Setup};
use context::builtin_commands::{self, resolve_alias};
use context::{bundled, texts};
use conversation::{
    CHANGEABLE, Conversation, FlagSettings, FlagSettingsError, Inside, MainMachine, Mentions, ModelSwitcher,
    SwitchError,
};
use mcp::{ServerError, SessionServers};
use model::Ledger;
use options::Choices;
use output::{Output, Secrets, Transcripts, clock};
use project::SkillKind;
use serde_json::{Value, json};
use std::rc::Rc;
use turn::Command;

const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// Names listed in an error.
const NAMES_MAX: usize = 20;

/// Why a command is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("Unknown command: /{name}. Known: /{}", .known.join(", /"))]
    Unknown { name: String, known: Vec<String> },
    #[error(transparent)]
    Prompt(#[from] ServerError),
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error("/rename needs a title.")]
    NoTitle,
    #[error("/config needs key=value, such as /config effortLevel=high")]
    NoPair,
    #[error("{0} cannot be changed while a session runs. These can: {known}", known = CHANGEABLE.join(", "))]
    NotChangeable(String),
    #[error(transparent)]
    Settings(#[from] FlagSettingsError),
    #[error(transparent)]
    Model(#[from] SwitchError),
    #[error("There is no effort \"{0}\". Known: {known}, auto", known = EFFORTS.join(", "))]
    Effort(String),
}

pub struct Commands {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub secrets: Secrets,
    pub ledger: Rc<Ledger>,
    pub choices: Rc<Choices>,
    pub servers: Rc<SessionServers>,
    pub skills: Rc<Skills>,
    pub mentions: Rc<Mentions>,
    pub machine: Rc<MainMachine>,
    pub transcripts: Rc<Transcripts>,
    pub models: Rc<ModelSwitcher>,
    pub flags: Rc<FlagSettings>,
}

impl Commands {
    /// What a prompt is. An unknown command is an error: sent on as a prompt it would look like success.
    pub fn read(&self, text: &str) -> Command {
        let Some((name, args)) = builtin_commands::split(text) else { return Command::None };
        let setup = self.choices.setup();
        let expands = |kind, name: &str, source: &str| {
            let (name, args, source) = (name.to_owned(), args.to_owned(), source.to_owned());
            Command::Expands { kind, name, args, source }
        };
        if let Some(skill) = project::find_skill(&setup.skills, name).filter(|skill| skill.user_invocable) {
            return expands("slash_command", &skill.name, skill.source);
        }
        if let Some(text) = bundled::expand(&self.options, name, args) {
            return Command::Blocks(vec![json!({"type": "text", "text": text})]);
        }
        match resolve_alias(name) {
            Some("init") => {
                let text = format!("{} {args}", texts::INIT);
                Command::Blocks(vec![json!({"type": "text", "text": text})])
            }
            Some("clear") => Command::Clear,
            Some("compact") => Command::Compact { wish: Some(args.to_owned()).filter(|args| !args.is_empty()) },
            Some(name) => Command::Local { name, args: args.to_owned() },
            None if self.servers.prompts().iter().any(|prompt| prompt.full_name == name) => {
                expands("mcp_prompt", name, "mcp")
            }
            None => Command::Failed(
                builtin_commands::elsewhere(name).unwrap_or_else(|| unknown(&self.options, &setup, name).to_string()),
            ),
        }
    }

    /// The text that stands for a command of a skill, a file or a server.
    pub async fn expand(
        &self,
        conversation: &Conversation,
        name: &str,
        args: &str,
        inside: Inside<'_>,
    ) -> Result<Vec<Value>, CommandError> {
        let setup = self.choices.setup();
        let Some(skill) = project::find_skill(&setup.skills, name).filter(|skill| skill.user_invocable) else {
            return match self.servers.prompt(name, &project::split_arguments(args)).await {
                Some(called) => Ok(called?),
                None => Err(unknown(&self.options, &setup, name)),
            };
        };
        let id = self.output.ids().short('s');
        let mut files = Vec::new();
        let text = match self.skills.load(conversation, skill, args, &id, inside).await? {
            Loaded::Body(text) => {
                if skill.kind == SkillKind::Command && self.options.mentions {
                    let found = self.mentions.attachments(conversation, &text).await;
                    files = found.into_iter().flat_map(|attachment| attachment.blocks).collect();
                }
                text
            }
            Loaded::Answer(finished) => {
                let answer = self.secrets.hide(finished.result).words();
                format!("/{name} was carried out by an agent. Give the user its answer:\n\n{answer}")
            }
        };
        let mut blocks = vec![json!({"type": "text", "text": text})];
        blocks.extend(files);
        Ok(blocks)
    }

    /// Runs a command of ours; its answer is the turn's result.
    pub async fn run(&self, name: &str, args: &str) -> Result<String, CommandError> {
        match name {
            "config" => self.config(args).await,
            "context" => Ok(self.context()),
            "cost" | "usage" => Ok(self.cost()),
            "effort" => self.effort(args),
            "mcp" => Ok(self.servers.in_words()),
            "model" => self.model(args).await,
            "rename" => {
                let title = self.transcripts.name_session(args).ok_or(CommandError::NoTitle)?;
                Ok(format!("The session is now called {title}."))
            }
            _ => Ok(help(&self.options, &self.choices.setup())),
        }
    }

    /// `key=value` pairs: those that a client may apply to a running session.
    async fn config(&self, args: &str) -> Result<String, CommandError> {
        let mut settings = serde_json::Map::new();
        for pair in args.split_whitespace() {
            let (key, value) = pair.split_once('=').ok_or(CommandError::NoPair)?;
            if !CHANGEABLE.contains(&key) {
                return Err(CommandError::NotChangeable(key.to_owned()));
            }
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            settings.insert(key.to_owned(), value);
        }
        if settings.is_empty() {
            return Err(CommandError::NoPair);
        }
        self.flags.apply(&settings.into()).await?;
        Ok(format!("Changed for this session: {args}"))
    }

    fn context(&self) -> String {
        let window = model::info(&self.choices.model()).context_window;
        let used = self.machine.context_tokens();
        format!("{used} of {window} tokens used ({:.1} %)", used as f64 / window.max(1) as f64 * 100.0)
    }

    fn cost(&self) -> String {
        let mut text = format!("${:.4} so far ({})\n", self.ledger.total_usd(), clock::now_iso());
        for (name, usage) in self.ledger.by_model() {
            let line =
                json!({"in": usage.input_tokens, "out": usage.output_tokens, "cached": usage.cache_read_input_tokens});
            text.push_str(&format!("{name}: ${:.4} {line}\n", usage.cost_usd));
        }
        text.trim_end().to_owned()
    }

    async fn model(&self, args: &str) -> Result<String, CommandError> {
        if args.is_empty() {
            return Ok(format!("The model is {}.", self.choices.model()));
        }
        let id = self.models.switch(Some(args), "command").await?;
        Ok(format!("The model is now {id}."))
    }

    fn effort(&self, args: &str) -> Result<String, CommandError> {
        let chosen = match args {
            "" => self.choices.effort(),
            "auto" => self.options.asking.effort.clone(),
            name if EFFORTS.contains(&name) => Some(name.to_owned()),
            other => return Err(CommandError::Effort(other.to_owned())),
        };
        self.choices.set_effort(chosen.clone());
        Ok(format!("The effort is {}.", chosen.as_deref().unwrap_or("the model's own")))
    }
}

fn help(options: &Options, setup: &Setup) -> String {
    let own = builtin_commands::listed(options).map(|(name, what, _)| format!("/{name}: {what}"));
    let skills = setup.skills.iter().filter(|skill| skill.user_invocable);
    own.chain(skills.map(|skill| format!("/{}: {}", skill.name, skill.description))).collect::<Vec<_>>().join("\n")
}

fn unknown(options: &Options, setup: &Setup, name: &str) -> CommandError {
    let skills = setup.skills.iter().filter(|skill| skill.user_invocable).map(|skill| skill.name.as_str());
    let own = builtin_commands::listed(options).map(|(name, ..)| name);
    let known = skills.chain(own).take(NAMES_MAX).map(str::to_owned).collect();
    CommandError::Unknown { name: name.to_owned(), known }
}
