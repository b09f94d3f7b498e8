//! From options to a conversation that is ready for its first prompt.

use super::failed::Failed;
use super::{Writer, warn};
use crate::ask::ToolCall;
use crate::conversation::Conversation;
use crate::emit::Emitter;
use crate::memory::{self, Reader};
use crate::own;
use crate::secrets::Secrets;
use crate::shared::{Kit, Lane, Live, Role, Shared};
use crate::small::{self, Question};
use crate::toolset::Toolset;
use crate::{BuiltinAgents, Options, SessionPlan, Setup, access, frontmatter_hooks, moments, prompt};
use hooks::Hooks;
use project::AgentDef;
use serde_json::{Value, json};
use session::{Mirror, Stamp, Store, Transcript};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

const EFFORT: &str = "CLAUDE_EFFORT";

pub fn open(
    mut options: Options,
    writer: Writer,
    questions: UnboundedSender<Question>,
) -> Result<(Rc<Shared>, Lane), Box<Failed>> {
    let secrets = Secrets::of(&options);
    let emitter = Emitter::new(options.output, options.ascii, options.session.id.clone(), writer)
        .log_to(options.debug_file.as_deref())
        .hiding(secrets.clone());
    let loaded = match earlier(&options) {
        Ok(loaded) => loaded,
        Err(message) => {
            let (input, format) = (options.input, options.output);
            return Err(Box::new(Failed { emitter, input, format, message }));
        }
    };
    add_builtin_agents(&mut options);
    let transcript = transcript(&options, loaded.leaf, mirror(&options, &emitter)).hiding(secrets.list());
    let max_turns = options.limits.max_turns;
    let shared = share(options, emitter, secrets, questions);
    let (preamble, memory) = memory::begin(&shared, Reader::Main);
    let lane = Lane {
        conversation: Conversation::new(loaded.messages, preamble),
        transcript,
        toolset: Toolset::default(),
        tools: shared.kit.context(&shared.options),
        system: Vec::new(),
        role: Role::Main,
        max_turns,
        cancel: Rc::clone(&shared.cancel),
        hooks: RefCell::default(),
        memory,
    };
    let ear = &shared.live.ear;
    // All are set here and nowhere else.
    let _ = (ear.me.set(Rc::downgrade(&shared)), ear.workspace.set(Arc::clone(&lane.tools.workspace)));
    let _ = ear.reads.set(lane.tools.reads.clone());
    moments::remember_settings(&shared);
    shared.live.plan_told.set(crate::planning::was_told(&lane.conversation.messages()));
    shared.live.deferred.replace(loaded.deferred);
    Ok((shared, lane))
}

/// Whether the session to go on with waits for a call that a hook put off. Then it needs no prompt.
pub fn has_deferred(options: &Options) -> bool {
    earlier(options).is_ok_and(|earlier| earlier.deferred.is_some())
}

/// Gives the main lane its tools and its system prompt, at first and whenever a client changed them.
pub fn equip(shared: &Shared, lane: &mut Lane) {
    if !shared.live.stale.replace(false) {
        return;
    }
    let setup = shared.setup();
    let chosen = session_agent(&setup);
    lane.toolset = Toolset::main(shared, &setup);
    if let Some(agent) = chosen {
        lane.toolset = lane.toolset.running_as(agent.tools.as_deref(), &agent.disallowed_tools);
    }
    mark_effort(shared, lane);
    lane.system = prompt::system(shared, chosen.map(|agent| agent.prompt.as_str()));
    shared
        .live
        .system_chars
        .set(lane.system.iter().map(|block| block["text"].as_str().unwrap_or_default().len()).sum());
    shared.live.tools_chars.set(lane.toolset.definitions().iter().map(|tool| tool.to_string().len()).sum());
}

/// Commands see how hard the model thinks that runs them.
pub fn mark_effort(shared: &Shared, lane: &mut Lane) {
    let env = &mut lane.tools.shell.env;
    env.retain(|(name, _)| name != EFFORT);
    env.extend(shared.effort_level(&lane.role).map(|level| (EFFORT.into(), level.into())));
}

/// The agent that a session runs as.
pub fn session_agent(setup: &Setup) -> Option<&AgentDef> {
    let name = setup.agent.as_ref()?;
    setup.agents.iter().find(|agent| agent.name == *name)
}

/// What it says first.
pub fn initial_prompt(setup: &Setup) -> Option<String> {
    session_agent(setup)?.initial_prompt.clone()
}

/// Why the session cannot run as the agent that was asked for.
pub fn missing_agent(shared: &Shared) -> Option<String> {
    let setup = shared.setup();
    let name = setup.agent.as_ref().filter(|name| !setup.agents.iter().any(|agent| agent.name == **name))?;
    let known: Vec<&str> = setup.agents.iter().map(|agent| agent.name.as_str()).collect();
    Some(format!("Error: there is no agent '{name}'. Known: {}", known.join(", ")))
}

#[derive(Default)]
struct Earlier {
    messages: Vec<Value>,
    leaf: Option<String>,
    deferred: Option<ToolCall>,
}

/// What was said before, for a resumed session.
fn earlier(options: &Options) -> Result<Earlier, String> {
    let session = &options.session;
    let (SessionPlan::Resume { from } | SessionPlan::Fork { from }) = &session.plan else {
        return Ok(Earlier::default());
    };
    let loaded = match &session.until {
        Some(entry) => session::load_until(from, entry),
        None => session::load(from),
    };
    let loaded = loaded.map_err(|error| format!("Error: the session {} cannot be resumed: {error}", from.display()))?;
    if let Some(turn) = &session.drops_turn
        && let Some(other) = loaded.dropped_turns.iter().find(|dropped| *dropped != turn)
    {
        return Err(format!(
            "Resume rejected by --resume-drops-turn: it would also drop the turn of the prompt {other}, not only that of {turn}."
        ));
    }
    let deferred = loaded.deferred.as_ref().map(|entry| {
        let (call, text) = (&entry["deferredToolUse"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
        ToolCall {
            id: text(&call["id"]),
            name: text(&call["name"]),
            input: call["input"].clone(),
            bad_input: None,
            entry: text(&entry["sourceToolAssistantUUID"]),
        }
    });
    Ok(Earlier { messages: loaded.messages, leaf: loaded.leaf, deferred })
}

/// Who else sees the transcript.
pub fn mirror(options: &Options, emitter: &Emitter) -> Option<Mirror> {
    if options.session.mirror { emitter.mirror() } else { None }
}

fn transcript(options: &Options, leaf: Option<String>, mirror: Option<Mirror>) -> Transcript {
    let session = &options.session;
    if !session.persist {
        return Transcript::disabled();
    }
    let store = Store::new(&options.places.config_dir, &options.cwd, session.project_dir_name.as_deref());
    let path = store.path(&session.id);
    let stamp = stamp(options, &session.id);
    let mut transcript = match &session.plan {
        SessionPlan::New => Transcript::create(&path, stamp),
        SessionPlan::Resume { from } => Transcript::open_append(from, stamp, leaf),
        SessionPlan::Fork { from } => {
            match session::copy_for_fork(from, &path, &session.id, session.until.as_deref()) {
                Ok(()) => {
                    show_all(&path, mirror.as_ref());
                    Transcript::open_append(&path, stamp, leaf)
                }
                Err(error) => {
                    warn(&format!(
                        "warning: the fork of the session cannot be written ({error}); going on without a transcript"
                    ));
                    Transcript::disabled()
                }
            }
        }
    }
    .mirrored(mirror);
    if let Some(title) = &session.title {
        transcript.meta(&json!({"type": "custom-title", "customTitle": title, "sessionId": session.id}));
    }
    transcript
}

/// A fork's file is there before its first entry of its own.
fn show_all(path: &Path, mirror: Option<&Mirror>) {
    let Some(mirror) = mirror else { return };
    for line in std::fs::read(path).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        mirror(path, line);
    }
}

pub fn stamp(options: &Options, session_id: &str) -> Stamp {
    Stamp {
        session_id: session_id.to_owned(),
        cwd: options.cwd.display().to_string(),
        version: options.version.to_owned(),
        git_branch: options.session.git_branch.clone(),
        entrypoint: options.session.entrypoint.clone(),
        agent_id: None,
        sidechain: false,
    }
}

fn add_builtin_agents(options: &mut Options) {
    if options.bare || options.builtin_agents == BuiltinAgents::None {
        return;
    }
    let all = options.builtin_agents == BuiltinAgents::All;
    for agent in own::builtin_agents().into_iter().filter(|agent| all || agent.name == own::GENERAL_AGENT) {
        if !options.setup.agents.iter().any(|known| known.name == agent.name) {
            options.setup.agents.push(agent);
        }
    }
}

fn share(options: Options, emitter: Emitter, secrets: Secrets, questions: UnboundedSender<Question>) -> Rc<Shared> {
    let kit = Kit {
        tasks: tools::Tasks::default(),
        web: small::web(&options, questions),
        denied: crate::permit::denied(&options, &options.cwd, &[]),
    };
    Rc::new(Shared {
        live: Live {
            mode: Cell::new(options.permissions.mode),
            plan_told: Cell::new(false),
            model: RefCell::new(options.asking.model.clone()),
            setup: RefCell::new(Rc::new(options.setup.clone())),
            stale: Cell::new(true),
            denials: RefCell::default(),
            grants: RefCell::default(),
            bans: RefCell::default(),
            turn_model: RefCell::default(),
            turn_effort: RefCell::default(),
            no_prompter: RefCell::default(),
            rules: RefCell::new(options.permissions.rules.clone()),
            extra_roots: RefCell::default(),
            hooks: RefCell::new(Rc::new(hooks(&options))),
            thinking: RefCell::new(options.asking.thinking.clone()),
            effort: RefCell::new(options.asking.effort.clone()),
            output_style: RefCell::new(options.settings.output_style.clone()),
            told: crate::state::Told::default(),
            started: Cell::new(false),
            ear: crate::hearing::Ear::default(),
            deferred: RefCell::default(),
            notes: RefCell::default(),
            context_tokens: Cell::new(0),
            memory_files: RefCell::default(),
            system_chars: Cell::new(0),
            tools_chars: Cell::new(0),
        },
        emitter,
        ledger: crate::ledger::Ledger::default(),
        cancel: Rc::default(),
        kit,
        outside: crate::outside::Outside::default(),
        link: crate::control::Link::new(options.input == crate::InputFormat::StreamJson),
        checkpoints: crate::checkpoints::Checkpoints::new(options.checkpoint_dir.clone()),
        access: access::Keeper::default(),
        secrets,
        agents_running: Cell::new(0),
        web_searches: Cell::new(0),
        task_list: RefCell::default(),
        options,
    })
}

fn hooks(options: &Options) -> Hooks {
    let (mut hooks, mut warnings) = (Hooks::default(), Vec::new());
    for layer in &options.settings.hooks {
        let origin = layer.file.as_ref().map_or_else(|| "settings".into(), |file| file.display().to_string());
        let (more, problems) = Hooks::from_settings(&layer.value, &origin);
        let may_grant = !layer.source.is_folder() || options.settings.folder_is_trusted;
        let more = if may_grant { more } else { more.untrusted() };
        hooks.add(more.anchored(&layer.anchor));
        warnings.extend(problems);
    }
    warnings.extend(::hooks::frontmatter_hooks::restrict(&options.settings.merged, &mut hooks));
    for warning in warnings {
        warn(&warning);
    }
    for plugin in &options.setup.plugins.loaded {
        hooks.add(frontmatter_hooks::of_plugin(options, plugin));
    }
    hooks
}
