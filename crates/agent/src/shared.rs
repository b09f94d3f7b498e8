//! What all lanes of one process share, and what each has of its own.
//!
//! A lane is one agent at work: the main conversation, or a sub-agent. Everything runs on one thread,
//! so sharing is `Rc` and cells; no lock is ever held across an await.

use crate::cancel::Cancel;
use crate::checkpoints::Checkpoints;
use crate::control::Link;
use crate::conversation::Conversation;
use crate::emit::Emitter;
use crate::ledger::Ledger;
use crate::outside::Outside;
use crate::secrets::Secrets;
use crate::state::Told;
use crate::toolset::Toolset;
use crate::{Options, Setup, access};
use hooks::Hooks;
use serde_json::Value;
use session::Transcript;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use wire::PermissionMode;

pub struct Shared {
    pub options: Options,
    pub emitter: Emitter,
    pub ledger: Ledger,
    /// Stops the turn: the main conversation and whoever it waits for.
    pub cancel: Rc<Cancel>,
    pub kit: Kit,
    pub link: Link,
    pub outside: Outside,
    pub checkpoints: Checkpoints,
    pub live: Live,
    pub access: access::Keeper,
    pub secrets: Secrets,
    /// Sub-agents at work now, against the limit.
    pub agents_running: Cell<usize>,
    pub web_searches: Cell<u32>,
    pub task_list: RefCell<crate::own::TaskList>,
}

/// What the tools of all lanes have in common. The rest is each lane's own: its working folder, and the
/// files it has read.
pub struct Kit {
    pub tasks: tools::Tasks,
    pub web: tools::Web,
    pub denied: tools::Denied,
}

impl Kit {
    pub fn context(&self, options: &Options) -> tools::ToolContext {
        self.context_in(options, options.cwd.clone(), Arc::clone(&self.denied))
    }

    /// For whoever works in another folder, where other paths may be denied.
    pub fn context_in(&self, options: &Options, cwd: PathBuf, denied: tools::Denied) -> tools::ToolContext {
        let roots = options.extra_roots.clone();
        let workspace = tools::Workspace::new(cwd, roots, options.places.home.clone());
        let workspace = workspace.seen_from(options.tools.shell.sandbox.clone());
        tools::ToolContext {
            workspace: Arc::new(workspace),
            reads: tools::ReadLog::default(),
            todos: tools::Todos::default(),
            limits: options.tools.limits,
            must_read_first: model::info(&options.asking.model).reads_before_edit,
            denied,
            shell: options.tools.shell.clone(),
            tasks: self.tasks.clone(),
            web: self.web.clone(),
        }
    }
}

/// What a client may change between two steps of a running turn.
pub struct Live {
    pub mode: Cell<PermissionMode>,
    /// What the model was last told: that plan mode is on.
    pub plan_told: Cell<bool>,
    pub model: RefCell<String>,
    pub setup: RefCell<Rc<Setup>>,
    /// Set up anew before the next turn.
    pub stale: Cell<bool>,
    /// Calls refused in this turn, sub-agents' included, for the result.
    pub denials: RefCell<Vec<Value>>,
    /// Allow rules that hold for this turn only, from skills.
    pub grants: RefCell<Vec<policy::Rule>>,
    /// Deny rules of the same kind.
    pub bans: RefCell<Vec<policy::Rule>>,
    /// What a skill of this turn wants instead of the session's.
    pub turn_model: RefCell<Option<String>>,
    pub turn_effort: RefCell<Option<String>>,
    /// Nobody answers the questions of this turn, although somebody should have: it ends.
    pub no_prompter: RefCell<Option<String>>,
    pub rules: RefCell<policy::RuleSet>,
    pub extra_roots: RefCell<Vec<PathBuf>>,
    pub hooks: RefCell<Rc<Hooks>>,
    pub thinking: RefCell<model::ThinkingAsk>,
    pub effort: RefCell<Option<String>>,
    pub output_style: RefCell<Option<String>>,
    pub told: Told,
    /// SessionStart hooks have been heard.
    pub started: Cell<bool>,
    pub ear: crate::hearing::Ear,
    /// A call that a hook put off; the next turn begins with it.
    pub deferred: RefCell<Option<crate::ask::ToolCall>>,
    /// Lines about the session for its transcript, which only the turn may write to.
    pub notes: RefCell<Vec<Value>>,
    /// Sizes of the main conversation, for clients that ask how full the window is.
    pub context_tokens: Cell<u64>,
    /// The instruction files of the main conversation: path, kind and characters.
    pub memory_files: RefCell<Vec<(String, &'static str, usize)>>,
    pub system_chars: Cell<usize>,
    pub tools_chars: Cell<usize>,
}

/// One agent at work.
pub struct Lane {
    pub conversation: Conversation,
    pub transcript: Transcript,
    pub toolset: Toolset,
    pub tools: tools::ToolContext,
    pub system: Vec<Value>,
    pub role: Role,
    pub max_turns: Option<u32>,
    pub cancel: Rc<Cancel>,
    /// Those that an agent's own file names, and its skills; they run for it alone.
    pub hooks: RefCell<Hooks>,
    pub memory: crate::memory::Known,
}

/// Main conversation or sub-agent; decides what reaches the client and how.
pub enum Role {
    Main,
    Sub(Box<Sub>),
}

pub struct Sub {
    pub agent_id: String,
    /// The call that started it.
    pub tool_use_id: String,
    pub agent_type: String,
    /// What it was sent for, in a few words.
    pub description: String,
    pub model: String,
    pub mode: Option<PermissionMode>,
    pub effort: Option<String>,
    pub depth: u32,
    /// Beside everybody's.
    pub rules: policy::RuleSet,
}

impl Role {
    pub fn is_main(&self) -> bool {
        matches!(self, Self::Main)
    }

    pub fn parent_tool_use_id(&self) -> Option<String> {
        match self {
            Self::Main => None,
            Self::Sub(sub) => Some(sub.tool_use_id.clone()),
        }
    }

    pub fn agent_id(&self) -> Option<String> {
        match self {
            Self::Main => None,
            Self::Sub(sub) => Some(sub.agent_id.clone()),
        }
    }

    pub fn depth(&self) -> u32 {
        match self {
            Self::Main => 0,
            Self::Sub(sub) => sub.depth,
        }
    }
}

impl Shared {
    pub fn setup(&self) -> Rc<Setup> {
        Rc::clone(&self.live.setup.borrow())
    }

    /// Changes what the next turn is set up with.
    pub fn change_setup(&self, change: impl FnOnce(&mut Setup)) {
        change(Rc::make_mut(&mut self.live.setup.borrow_mut()));
        self.live.stale.set(true);
    }

    pub fn mode(&self, role: &Role) -> PermissionMode {
        let own = match role {
            Role::Main => None,
            Role::Sub(sub) => sub.mode,
        };
        own.unwrap_or_else(|| self.live.mode.get())
    }

    pub fn model(&self, role: &Role) -> String {
        match role {
            Role::Main => self.live.turn_model.borrow().clone().unwrap_or_else(|| self.live.model.borrow().clone()),
            Role::Sub(sub) => sub.model.clone(),
        }
    }

    pub fn effort(&self, role: &Role) -> Option<String> {
        let own = match role {
            Role::Main => self.live.turn_effort.borrow().clone(),
            Role::Sub(sub) => sub.effort.clone(),
        };
        own.or_else(|| self.live.effort.borrow().clone())
    }

    /// How hard the model of this role thinks in the end: what was asked for, as far as the model can, or its own.
    pub fn effort_level(&self, role: &Role) -> Option<String> {
        model::effort(&model::info(&self.model(role)), self.effort(role).as_deref())
    }

    /// A transcript that cannot be written never fails a run; it is said once.
    pub fn report_transcript(lane: &mut Lane) {
        if let Some(warning) = lane.transcript.take_warning() {
            crate::front::warn(&warning);
        }
    }
}
