//! The effect of preparing a turn: servers settled, tools and system prompt up to date.

use crate::git_state::GitState;
use crate::{Options, SessionPlan};
use context::conversation_tools::agent;
use context::{Tool, Toolset, overhead, prompt};
use conversation::rules::Rules;
use conversation::{Conversation, HookRunner, MainMachine, Memories, Reader, frontmatter_hooks};
use mcp::SessionServers;
use options::{Choices, initial_prompt, missing_agent, session_agent};
use std::rc::Rc;
use turn::{Change, Prepared};

pub struct Preparer {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub hooks: Rc<HookRunner>,
    pub servers: Rc<SessionServers>,
    pub memories: Rc<Memories>,
    pub machine: Rc<MainMachine>,
    pub git: Rc<GitState>,
}

impl Preparer {
    pub async fn prepare(&self, conversation: &Conversation, is_first: bool) -> Prepared {
        self.rules.begin_turn();
        conversation.effort.replace(None);
        conversation.forget_checks();
        if is_first && let Some(agent) = session_agent(&self.choices.setup()) {
            self.servers.start_for_session(&agent.name, agent.mcp_servers.as_ref());
            frontmatter_hooks::by_session_agent(&self.options, &self.hooks, agent);
        }
        futures_util::future::join(self.servers.settle(), self.git.settle()).await;
        self.hooks.between.settled().await;
        self.equip(conversation);
        let setup = self.choices.setup();
        let is_new = self.options.session.plan == SessionPlan::New;
        Prepared {
            problem: missing_agent(&setup),
            preamble: if is_first { self.preamble(conversation) } else { None },
            initial_prompt: initial_prompt(&setup).filter(|_| is_first && is_new),
        }
    }

    /// Between two requests of a turn: servers that have become ready meanwhile are there from the next one on.
    pub fn refresh(&self, conversation: &Conversation) {
        if self.servers.refresh() {
            self.equip(conversation);
        }
    }

    /// A client has just asked for a system prompt that never changes: what it leaves out stands before the conversation.
    #[expect(clippy::option_option, reason = "the text may be left, replaced, or taken away")]
    fn preamble(&self, conversation: &Conversation) -> Option<Option<String>> {
        let was_static = self.options.setup.prompting.static_system;
        if was_static || !self.choices.setup().prompting.static_system {
            return None;
        }
        let (preamble, known) = self.memories.begin(Reader::Main);
        conversation.memory.replace(known);
        Some(preamble)
    }

    /// Gives the main conversation its tools and its system prompt, at first and whenever a client changed them.
    fn equip(&self, conversation: &Conversation) {
        if !self.choices.take_stale() {
            return;
        }
        let setup = self.choices.setup();
        let agent = session_agent(&setup);
        let from_servers = self.servers.any().then(|| self.servers.tools().iter().map(Tool::of_server).collect());
        let mut toolset = Toolset::main(&self.options, self.rules.mode(), &setup, from_servers);
        if let Some(agent) = agent {
            toolset = toolset.running_as(agent.tools.as_deref(), &agent.disallowed_tools);
        }
        conversation.mark_effort(conversation.effort_level(&self.choices));
        let own = agent.map(|agent| agent.prompt.as_str());
        let system = prompt::system(&self.options, &self.choices, self.servers.instructions(), own, self.git.text());
        for change in [
            Change::Tools(toolset.table(&setup.tool_aliases)),
            Change::OverheadChars(overhead(&system, &toolset)),
            Change::Structured(setup.schema.is_some()),
            Change::PlanInstructions(setup.prompting.plan.clone()),
            Change::SubagentText(setup.subagent_text),
            Change::Background(agent::background(&self.options, &setup)),
        ] {
            self.machine.set(change);
        }
        conversation.toolset.replace(toolset);
        conversation.system.replace(system);
    }
}
