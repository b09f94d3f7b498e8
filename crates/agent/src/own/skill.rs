//! Skill: a document of the project or the user, loaded into the conversation when it is needed.

use crate::Setup;
use crate::ask::ToolCall;
use crate::calls::Done;
use crate::frontmatter_hooks;
use crate::own::errand::{self, Errand};
use crate::own::subagent;
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use policy::names;
use project::{Segment, Skill};
use serde_json::json;
use std::rc::Rc;
use tools::{Content, Invocation, Outcome, ToolSpec};

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

pub async fn run(shared: &Rc<Shared>, lane: &Lane, call: &ToolCall) -> Done {
    let Some(name) = call.input["skill"].as_str().map(|name| name.trim().trim_start_matches('/')) else {
        return Outcome::misuse("Skill needs \"skill\", the name of a skill, as a string.").into();
    };
    let setup = shared.setup();
    let Some(skill) = project::find_skill(&setup.skills, name) else {
        return Outcome::misuse(format!("There is no skill \"{name}\". Known: {}", known(shared))).into();
    };
    if !skill.model_invocable {
        return Outcome::misuse(format!("The skill \"{name}\" is for people to start, not for you.")).into();
    }
    let permitted = match permit(shared, lane, &call.id, "Skill", call.input.clone(), Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    let args = permitted.input["args"].as_str().unwrap_or_default();
    let done = match self::call(shared, lane, skill, args, &call.id).await {
        Ok(Called::Body(body)) => Done {
            follow_up: Some(body),
            ..Done::from(Outcome::text(
                format!("Loading the skill {name}"),
                json!({"success": true, "commandName": name}),
            ))
        },
        Ok(Called::Answer(done)) => *done,
        Err(problem) => Outcome::error(problem).into(),
    };
    done.of(permitted)
}

/// What calling a skill came to.
pub enum Called {
    /// Its text, for the conversation that called it.
    Body(String),
    /// What an agent of its own made of it.
    Answer(Box<Done>),
}

/// Loads a skill, or has an agent carry it out where it says so.
pub async fn call(
    shared: &Rc<Shared>,
    lane: &Lane,
    skill: &Skill,
    args: &str,
    call_id: &str,
) -> Result<Called, String> {
    let task = body(shared, lane, skill, args, call_id).await?;
    if !skill.fork {
        if lane.role.is_main() {
            choose_model(shared, skill);
        }
        frontmatter_hooks::by_skill(shared, lane, skill);
        return Ok(Called::Body(task));
    }
    errand::within_limits(shared, lane)?;
    let setup = shared.setup();
    let agent = subagent::named(&setup, skill.agent.as_deref())?;
    let isolated = agent.isolation.as_deref() == Some("worktree");
    let errand = Errand {
        agent,
        task: &task,
        description: &skill.name,
        tool_use_id: call_id,
        model: skill.model.as_deref(),
        isolated,
        hooks: frontmatter_hooks::of_forked_skill(&shared.options, skill),
    };
    Ok(Called::Answer(Box::new(errand::in_foreground(shared, lane, &errand).await)))
}

/// For the rest of the turn the skill may choose who answers and how hard they think.
fn choose_model(shared: &Shared, skill: &Skill) {
    if let Some(name) = skill.model.as_deref().filter(|name| *name != "inherit") {
        *shared.live.turn_model.borrow_mut() = Some(model::resolve(name, &shared.options.asking.model_env));
    }
    if let Some(effort) = &skill.effort {
        *shared.live.turn_effort.borrow_mut() = Some(effort.clone());
    }
}

/// The texts of the skills that an agent starts with. One that cannot be loaded says so in its place.
pub async fn preloaded(shared: &Shared, lane: &Lane, names: &[String]) -> Vec<String> {
    let setup = shared.setup();
    let mut texts = Vec::new();
    for name in names {
        let skill = project::find_skill(&setup.skills, name).filter(|skill| skill.model_invocable);
        texts.push(match skill {
            Some(skill) => match body(shared, lane, skill, "", "").await {
                Ok(text) => text,
                Err(problem) => format!("The skill {name} could not be loaded: {problem}"),
            },
            None => format!("The skill {name} could not be loaded: there is none of this name for you."),
        });
    }
    texts
}

fn known(shared: &Shared) -> String {
    let setup = shared.setup();
    let names: Vec<&str> = setup.skills.iter().map(|skill| skill.name.as_str()).take(50).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// The skill's text as the model gets it; for a set of skills, each of them.
async fn body(shared: &Shared, lane: &Lane, skill: &Skill, args: &str, call_id: &str) -> Result<String, String> {
    grant(shared, skill);
    let mut texts = Vec::new();
    let setup = shared.setup();
    for (one, text) in project::load_skill(skill, &setup.skills).map_err(|error| error.to_string())? {
        let expanded = expanded(shared, lane, one, &text, args, call_id).await?;
        texts.push(format!("Files of this skill are in: {}\n\n{expanded}", one.dir.display()));
    }
    Ok(texts.join("\n\n"))
}

/// What a skill says it may use is allowed for the rest of the turn, where its source may grant at all;
/// what it says it must not use is denied.
fn grant(shared: &Shared, skill: &Skill) {
    let source = policy::Source { name: format!("skill {}", skill.name), anchor: shared.options.cwd.clone() };
    let rules = |texts: &[String]| -> Vec<policy::Rule> {
        texts.iter().filter_map(|rule| policy::parse_rule(rule, &source).ok()).collect()
    };
    shared.live.bans.borrow_mut().extend(rules(&skill.disallowed_tools));
    if skill.may_grant {
        shared.live.grants.borrow_mut().extend(rules(&skill.allowed_tools));
    }
}

async fn expanded(
    shared: &Shared,
    lane: &Lane,
    skill: &Skill,
    text: &str,
    args: &str,
    call_id: &str,
) -> Result<String, String> {
    let session_id = shared.emitter.session_id();
    let effort = shared.effort_level(&lane.role).unwrap_or_default();
    let folder = skill.dir.display().to_string();
    let project = shared.options.cwd.display().to_string();
    let (root, data) = skill
        .plugin
        .as_ref()
        .map_or_else(Default::default, |plugin| (plugin.root.display().to_string(), plugin.data.display().to_string()));
    let mut variables = vec![
        ("CLAUDE_SESSION_ID", session_id.as_str()),
        ("CLAUDE_SKILL_DIR", folder.as_str()),
        ("CLAUDE_PROJECT_DIR", project.as_str()),
        ("CLAUDE_EFFORT", effort.as_str()),
    ];
    if skill.plugin.is_some() {
        variables.extend([("CLAUDE_PLUGIN_ROOT", root.as_str()), ("CLAUDE_PLUGIN_DATA", data.as_str())]);
    }
    let mut out = String::new();
    for segment in project::expand(text, args, &skill.argument_names, &variables) {
        match segment {
            Segment::Text(text) => out.push_str(&text),
            Segment::Shell { .. } if shared.options.settings.flag("disableSkillShellExecution") == Some(true) => {
                out.push_str("[not run: commands in skills are switched off here]");
            }
            Segment::Shell { command } => out.push_str(&run_line(shared, lane, &command, call_id).await?),
        }
    }
    Ok(out)
}

/// A command line inside a skill runs like any other command: permitted or not at all. One that fails
/// fails the whole skill, because its text would lie.
async fn run_line(shared: &Shared, lane: &Lane, command: &str, call_id: &str) -> Result<String, String> {
    let input = json!({"command": command});
    let permitted = permit(shared, lane, call_id, "Bash", input, Vec::new()).await.map_err(|refused| refused.words)?;
    let (input, run) = (&permitted.input, permitted.run.as_deref());
    let targets = policy::Targets::default();
    let invocation = Invocation { tool_use_id: call_id, input, targets: &targets, run };
    let shell = tools::find("Bash").ok_or("there is no shell for commands in skills")?;
    let outcome = tools::run(shell, invocation, &lane.tools).await;
    let text = match &outcome.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(_) => String::new(),
    };
    if outcome.is_error() { Err(format!("The skill's command `{command}` failed: {text}")) } else { Ok(text) }
}
