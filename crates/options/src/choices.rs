//! What a client may change while a session runs: model, thinking, effort, style, and the setup of prompts, agents and
//! skills.

use crate::{Options, Setup};
use model::ThinkingAsk;
use project::AgentDef;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::Rc;

pub struct Choices {
    setup: RefCell<Rc<Setup>>,
    /// Tools and system prompt are made anew before the next turn.
    is_stale: Cell<bool>,
    model: RefCell<String>,
    thinking: RefCell<ThinkingAsk>,
    effort: RefCell<Option<String>>,
    style: RefCell<Option<String>>,
}

impl Choices {
    pub fn new(options: &Options) -> Self {
        Self {
            setup: RefCell::new(Rc::new(options.setup.clone())),
            is_stale: Cell::new(true),
            model: RefCell::new(options.asking.model.clone()),
            thinking: RefCell::new(options.asking.thinking.clone()),
            effort: RefCell::new(options.asking.effort.clone()),
            style: RefCell::new(options.settings.output_style.clone()),
        }
    }

    pub fn setup(&self) -> Rc<Setup> {
        Rc::clone(&self.setup.borrow())
    }

    /// Changes what the next turn is set up with.
    pub fn change_setup(&self, change: impl FnOnce(&mut Setup)) {
        change(Rc::make_mut(&mut self.setup.borrow_mut()));
        self.mark_stale();
    }

    pub fn mark_stale(&self) {
        self.is_stale.set(true);
    }

    /// Whether something has changed since this was last asked.
    pub fn take_stale(&self) -> bool {
        self.is_stale.replace(false)
    }

    /// The session's model, whatever a skill chose for one turn.
    pub fn model(&self) -> String {
        self.model.borrow().clone()
    }

    pub fn set_model(&self, id: &str) {
        id.clone_into(&mut self.model.borrow_mut());
        self.mark_stale();
    }

    pub fn thinking(&self) -> Ref<'_, ThinkingAsk> {
        self.thinking.borrow()
    }

    pub fn thinking_mut(&self) -> RefMut<'_, ThinkingAsk> {
        self.thinking.borrow_mut()
    }

    pub fn effort(&self) -> Option<String> {
        self.effort.borrow().clone()
    }

    pub fn set_effort(&self, effort: Option<String>) {
        self.effort.replace(effort);
        self.mark_stale();
    }

    pub fn style(&self) -> Option<String> {
        self.style.borrow().clone()
    }

    pub fn set_style(&self, style: Option<String>) {
        self.style.replace(style);
        self.mark_stale();
    }
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
pub fn missing_agent(setup: &Setup) -> Option<String> {
    let name = setup.agent.as_ref().filter(|name| !setup.agents.iter().any(|agent| agent.name == **name))?;
    let known: Vec<&str> = setup.agents.iter().map(|agent| agent.name.as_str()).collect();
    Some(format!("Error: there is no agent '{name}'. Known: {}", known.join(", ")))
}
