//! From options to the parts of a session, each with the handles that it needs.

mod requests;

use crate::commands::Commands;
use crate::control::Requests;
use crate::executor::Parts;
use crate::gatherer::Gatherer;
use crate::git_state::GitState;
use crate::model_asker::ModelAsker;
use crate::permission_asker::PermissionAsker;
use crate::preparer::Preparer;
use crate::servers::session_servers;
use crate::skill_texts::SkillTexts;
use crate::skills::Skills;
use crate::small::{self, Question};
use crate::subagents::Subagents;
use crate::suggester::Suggester;
use crate::tool_runner::ToolRunner;
use crate::worktrees::Worktrees;
use crate::{BuiltinAgents, Elsewhere, InputFormat, Options, Preparation, Prompter, SessionPlan};
use context::conversation_tools::agent;
use context::conversation_tools::task_list::TaskList;
use context::{ToolResources, Toolset};
use conversation::rules::{self, Rules};
use conversation::{
    Access, Beginning, Conversation, FlagSettings, HookParts, HookRunner, KnownAgents, MainMachine, Memories, Mentions,
    ModelSwitcher, Reader, Schedule, SettingsFiles, SubagentStats, TaskNews, Updates, frontmatter_hooks,
};
use hooks::Hooks;
use mcp::SessionServers;
use model::Ledger;
use observer::PluginSeen;
use options::{Choices, compact_at, limits};
use output::{ClientAsker, Earlier, Output, Secrets, States, Transcripts, warn};
use policy::RuleSet;
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::Sender;
use tools::Checkpoints;
use turn::{Config, DeferredCall, Input, Role, Settings, Turn};

/// Everything of a session, put together.
pub struct Wired {
    pub parts: Rc<Parts>,
    pub main: Rc<Conversation>,
    pub requests: Rc<Requests>,
    pub client: Rc<ClientAsker>,
    pub states: Rc<States>,
    pub task_news: Rc<TaskNews>,
    pub suggester: Suggester,
}

/// The handles that nearly everybody has.
struct Base {
    options: Rc<Options>,
    output: Rc<Output>,
    secrets: Secrets,
    choices: Rc<Choices>,
    rules: Rc<Rules>,
    client: Rc<ClientAsker>,
    states: Rc<States>,
    resources: Rc<ToolResources>,
    hooks: Rc<HookRunner>,
    servers: Rc<SessionServers>,
    memories: Rc<Memories>,
    transcripts: Rc<Transcripts>,
    ledger: Rc<Ledger>,
    git: Rc<GitState>,
}

pub fn wire(
    options: Rc<Options>,
    output: Rc<Output>,
    secrets: Secrets,
    mut earlier: Earlier,
    questions: Sender<Question>,
    inbox: Sender<Input>,
) -> Wired {
    let base = base(options, output, secrets, questions);
    if let Some(state) = &earlier.cost_state {
        base.ledger.restore(state);
    }
    let jobs = earlier.jobs.take();
    let main = main_conversation(&base, earlier);
    let machine = Rc::new(MainMachine::new(Rc::clone(&main.machine), Rc::clone(&base.output), inbox));
    let wired = finish(base, main, machine);
    if let Some(jobs) = jobs.filter(|_| wired.parts.options.tools.scheduling) {
        wired.parts.tools.schedule.restore(&jobs);
    }
    wired
}

fn base(options: Rc<Options>, output: Rc<Output>, secrets: Secrets, questions: Sender<Question>) -> Base {
    let choices = Rc::new(Choices::new(&options));
    let rules = Rc::new(Rules::new(Rc::clone(&options)));
    let client = Rc::new(ClientAsker::new(Rc::clone(&output), options.input == InputFormat::StreamJson));
    let states = Rc::new(States::new(Rc::clone(&output), options.state_events));
    let resources = Rc::new(ToolResources {
        tasks: tools::Tasks::default(),
        web: small::web(&options, questions),
        denied: rules::denied(&options, &options.cwd, &[]),
    });
    let hooks = Rc::new(HookRunner::new(HookParts {
        options: Rc::clone(&options),
        output: Rc::clone(&output),
        client: Rc::clone(&client),
        rules: Rc::clone(&rules),
        choices: Rc::clone(&choices),
        secrets: secrets.clone(),
        tasks: resources.tasks.clone(),
        list: configured_hooks(&options),
    }));
    let servers = Rc::new(session_servers(&options, &choices, &client));
    let memories = Rc::new(Memories {
        options: Rc::clone(&options),
        choices: Rc::clone(&choices),
        hooks: Rc::clone(&hooks),
        denied: Arc::clone(&resources.denied),
        sizes: RefCell::default(),
    });
    let transcripts = Rc::new(Transcripts::new(Rc::clone(&options), Rc::clone(&output), secrets.clone()));
    let ledger: Rc<Ledger> = Rc::default();
    Base {
        options,
        output,
        secrets,
        choices,
        rules,
        client,
        states,
        resources,
        hooks,
        servers,
        memories,
        transcripts,
        ledger,
        git: Rc::default(),
    }
}

fn main_conversation(base: &Base, earlier: Earlier) -> Rc<Conversation> {
    let (preamble, memory) = base.memories.begin(Reader::Main);
    let machine = main_machine(&base.options, earlier.messages, preamble, earlier.deferred);
    let beginning = Beginning {
        role: Role::Main,
        transcript: base.transcripts.open(earlier.leaf),
        toolset: Toolset::default(),
        tools: base.resources.context(&base.options),
        system: Vec::new(),
        mode: None,
        effort: None,
        rules: RuleSet::default(),
        hooks: Hooks::default(),
        memory,
    };
    Rc::new(Conversation::new(beginning, machine))
}

fn main_machine(
    options: &Options,
    messages: Vec<Value>,
    preamble: Option<String>,
    deferred: Option<DeferredCall>,
) -> Turn {
    let is_somebody_there = options.permissions.prompter != Prompter::Nobody;
    let settings = Settings {
        mode: options.permissions.mode,
        model: options.asking.model.clone(),
        fallback: options.asking.fallback.clone(),
        prompter: if is_somebody_there { turn::Prompter::Somebody } else { turn::Prompter::Nobody },
        wants_structured: options.setup.schema.is_some(),
        compact_at: compact_at(options, &options.asking.model),
        plan_instructions: options.setup.prompting.plan.clone(),
        shows_subagent_text: options.setup.subagent_text,
        replays_prompts: options.replay_user && options.input == InputFormat::StreamJson,
        reads_commands: options.slash,
        reads_mentions: options.mentions,
        setup_trigger: setup_trigger(options),
        start_source: start_source(options),
        session_agent: options.setup.agent.clone(),
        session_title: options.session.title.clone(),
        ..Settings::default()
    };
    Turn::new(Config {
        role: Role::Main,
        settings,
        limits: limits(options, options.limits.max_turns),
        messages,
        preamble,
        deferred,
        seed: uuid::Uuid::new_v4().as_u64_pair(),
    })
}

/// What `--init` and `--maintenance` ask for, before anything else.
pub fn setup_trigger(options: &Options) -> Option<&'static str> {
    match options.preparation {
        Some(Preparation::Init | Preparation::InitOnly) => Some("init"),
        Some(Preparation::Maintenance) => Some("maintenance"),
        None => None,
    }
}

pub fn start_source(options: &Options) -> &'static str {
    match &options.session.plan {
        SessionPlan::New => "startup",
        SessionPlan::Resume { .. } => "resume",
        SessionPlan::Fork { .. } => "fork",
    }
}

/// What changes the session.
struct Changers {
    settings: Rc<SettingsFiles>,
    updates: Rc<Updates>,
    models: Rc<ModelSwitcher>,
    flags: Rc<FlagSettings>,
}

fn changers(base: &Base, machine: &Rc<MainMachine>) -> Changers {
    let (options, choices, rules, hooks) = (&base.options, &base.choices, &base.rules, &base.hooks);
    let settings =
        Rc::new(SettingsFiles::new(Rc::clone(options), Rc::clone(&base.output), Rc::clone(rules), Rc::clone(hooks)));
    let updates = Rc::new(Updates {
        options: Rc::clone(options),
        rules: Rc::clone(rules),
        choices: Rc::clone(choices),
        machine: Rc::clone(machine),
        hooks: Rc::clone(hooks),
        settings: Rc::clone(&settings),
    });
    let models = Rc::new(ModelSwitcher {
        options: Rc::clone(options),
        choices: Rc::clone(choices),
        hooks: Rc::clone(hooks),
        machine: Rc::clone(machine),
    });
    let flags = Rc::new(FlagSettings {
        options: Rc::clone(options),
        choices: Rc::clone(choices),
        rules: Rc::clone(rules),
        updates: Rc::clone(&updates),
        models: Rc::clone(&models),
    });
    Changers { settings, updates, models, flags }
}

fn subagents(base: &Base) -> (Rc<Subagents>, Rc<SkillTexts>) {
    let skill_texts = Rc::new(SkillTexts {
        options: Rc::clone(&base.options),
        choices: Rc::clone(&base.choices),
        rules: Rc::clone(&base.rules),
        output: Rc::clone(&base.output),
    });
    let subagents = Rc::new(Subagents {
        options: Rc::clone(&base.options),
        output: Rc::clone(&base.output),
        secrets: base.secrets.clone(),
        choices: Rc::clone(&base.choices),
        rules: Rc::clone(&base.rules),
        hooks: Rc::clone(&base.hooks),
        servers: Rc::clone(&base.servers),
        resources: Rc::clone(&base.resources),
        memories: Rc::clone(&base.memories),
        transcripts: Rc::clone(&base.transcripts),
        skill_texts: Rc::clone(&skill_texts),
        git: Rc::clone(&base.git),
        running: Rc::new(Cell::new(0)),
        stats: SubagentStats::default(),
        known: KnownAgents::default(),
        drive: OnceCell::new(),
    });
    (subagents, skill_texts)
}

/// The providers that fallbacks name, beside the session's own.
fn elsewhere(base: &Base) -> Vec<(String, Access)> {
    let others = base.options.asking.elsewhere.iter();
    let access = |other: &Elsewhere| Access::to(Rc::clone(&base.options), base.secrets.clone(), other.client.clone());
    others.map(|other| (other.name.clone(), access(other))).collect()
}

fn finish(base: Base, main: Rc<Conversation>, machine: Rc<MainMachine>) -> Wired {
    let changers = changers(&base, &machine);
    let (subagents, texts) = subagents(&base);
    let model = Rc::new(ModelAsker {
        options: Rc::clone(&base.options),
        access: Access::new(Rc::clone(&base.options), base.secrets.clone()),
        elsewhere: elsewhere(&base),
        output: Rc::clone(&base.output),
        ledger: Rc::clone(&base.ledger),
        choices: Rc::clone(&base.choices),
        servers: Rc::clone(&base.servers),
    });
    let skills = Rc::new(Skills {
        options: Rc::clone(&base.options),
        choices: Rc::clone(&base.choices),
        texts,
        hooks: Rc::clone(&base.hooks),
        machine: Rc::clone(&machine),
        subagents: Rc::clone(&subagents),
    });
    let mentions = Rc::new(Mentions { rules: Rc::clone(&base.rules), servers: Rc::clone(&base.servers) });
    let checkpoints = Rc::new(Checkpoints::new(base.options.checkpoint_dir.clone()));
    let task_news = Rc::new(TaskNews {
        options: Rc::clone(&base.options),
        output: Rc::clone(&base.output),
        tasks: base.resources.tasks.clone(),
        secrets: base.secrets.clone(),
    });
    let suggester = Suggester {
        choices: Rc::clone(&base.choices),
        rules: Rc::clone(&base.rules),
        machine: Rc::clone(&machine),
        model: Rc::clone(&model),
    };
    let requests = requests::requests(&base, &changers, &machine, &main, &checkpoints, &model);
    let parts = Parts {
        tools: tool_runner(&base, &changers, &model, &checkpoints, &skills, (&task_news, &subagents)),
        permissions: PermissionAsker {
            options: Rc::clone(&base.options),
            client: Rc::clone(&base.client),
            states: Rc::clone(&base.states),
            hooks: Rc::clone(&base.hooks),
            servers: Rc::clone(&base.servers),
        },
        commands: commands(&base, &changers, &machine, skills, &mentions),
        preparer: Preparer {
            options: Rc::clone(&base.options),
            choices: Rc::clone(&base.choices),
            rules: Rc::clone(&base.rules),
            hooks: Rc::clone(&base.hooks),
            servers: Rc::clone(&base.servers),
            memories: Rc::clone(&base.memories),
            machine: Rc::clone(&machine),
            git: Rc::clone(&base.git),
        },
        gatherer: Gatherer {
            options: Rc::clone(&base.options),
            memories: Rc::clone(&base.memories),
            mentions,
            hooks: Rc::clone(&base.hooks),
            settings: changers.settings,
            machine: Rc::clone(&machine),
        },
        options: base.options,
        output: base.output,
        secrets: base.secrets,
        ledger: base.ledger,
        choices: base.choices,
        rules: base.rules,
        servers: base.servers,
        hooks: base.hooks,
        updates: changers.updates,
        memories: base.memories,
        transcripts: base.transcripts,
        machine,
        model,
        subagents,
        checkpoints,
        started: Instant::now(),
        last_is_error: Cell::new(false),
        is_closed: Cell::new(false),
    };
    let (client, states) = (base.client, base.states);
    Wired { parts: Rc::new(parts), main, requests, client, states, task_news, suggester }
}

fn tool_runner(
    base: &Base,
    changers: &Changers,
    model: &Rc<ModelAsker>,
    checkpoints: &Rc<Checkpoints>,
    skills: &Rc<Skills>,
    (task_news, subagents): (&Rc<TaskNews>, &Rc<Subagents>),
) -> ToolRunner {
    ToolRunner {
        options: Rc::clone(&base.options),
        choices: Rc::clone(&base.choices),
        rules: Rc::clone(&base.rules),
        updates: Rc::clone(&changers.updates),
        hooks: Rc::clone(&base.hooks),
        servers: Rc::clone(&base.servers),
        model: Rc::clone(model),
        checkpoints: Rc::clone(checkpoints),
        skills: Rc::clone(skills),
        task_news: Rc::clone(task_news),
        task_list: RefCell::new(TaskList::default()),
        web_searches: Cell::new(0),
        schedule: Schedule::new(base.options.tools.shortest_wakeup),
        subagents: Rc::clone(subagents),
        worktrees: Worktrees {
            options: Rc::clone(&base.options),
            resources: Rc::clone(&base.resources),
            rules: Rc::clone(&base.rules),
            hooks: Rc::clone(&base.hooks),
            entered: RefCell::default(),
        },
    }
}

fn commands(
    base: &Base,
    changers: &Changers,
    machine: &Rc<MainMachine>,
    skills: Rc<Skills>,
    mentions: &Rc<Mentions>,
) -> Commands {
    Commands {
        options: Rc::clone(&base.options),
        output: Rc::clone(&base.output),
        secrets: base.secrets.clone(),
        ledger: Rc::clone(&base.ledger),
        choices: Rc::clone(&base.choices),
        servers: Rc::clone(&base.servers),
        skills,
        mentions: Rc::clone(mentions),
        machine: Rc::clone(machine),
        transcripts: Rc::clone(&base.transcripts),
        models: Rc::clone(&changers.models),
        flags: Rc::clone(&changers.flags),
    }
}

/// Agents of ours beside those that are configured.
pub fn add_builtin_agents(options: &mut Options) {
    if options.bare || options.builtin_agents == BuiltinAgents::None {
        return;
    }
    let all = options.builtin_agents == BuiltinAgents::All;
    for agent in agent::builtin().into_iter().filter(|agent| all || agent.name == agent::GENERAL_AGENT) {
        if !options.setup.agents.iter().any(|known| known.name == agent.name) {
            options.setup.agents.push(agent);
        }
    }
}

fn configured_hooks(options: &Options) -> Hooks {
    let (mut hooks, mut warnings) = (Hooks::default(), Vec::new());
    for layer in &options.settings.hooks {
        let origin = layer.file.as_ref().map_or_else(|| "settings".into(), |file| file.display().to_string());
        let (more, problems) = Hooks::from_settings(&layer.value, &origin);
        let may_grant = !layer.source.is_folder() || options.settings.folder_is_trusted;
        let more = if may_grant { more } else { more.untrusted() };
        hooks.add(more.anchored(&layer.anchor));
        options.observer.hooks_registered(layer.source.as_str(), &layer.value);
        warnings.extend(problems);
    }
    warnings.extend(::hooks::frontmatter_hooks::restrict(&options.settings.merged, &mut hooks));
    for warning in warnings {
        warn(&warning);
    }
    for plugin in &options.setup.plugins.loaded {
        hooks.add(frontmatter_hooks::of_plugin(options, plugin));
        let (has_hooks, has_mcp) = (!plugin.hooks.is_empty(), !plugin.mcp_servers.is_empty());
        let (skills, agents) = (plugin.skills.len(), plugin.agents.len());
        options.observer.plugin_loaded(&PluginSeen { has_hooks, has_mcp, skills, agents });
    }
    hooks
}

/// A client talks to us, so its user can be asked.
pub fn talks(options: &Options) -> bool {
    options.input == InputFormat::StreamJson
}
