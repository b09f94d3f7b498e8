//! What may run: rules, mode and folders as they stand now, and the judgement of `policy` by them.
//!
//! Deliberately absent: who is asked and what follows from an answer (`turn`).

mod hidden;
mod monitor;
mod suggest;

pub use hidden::denied;
pub use suggest::suggestions;

use crate::conversation::Conversation;
use options::Options;
use policy::{Call, Decision, Policy, Rule, RuleKind, RuleSet, Targets, Verdict, names};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use tools::{Disk, UnconfinedReason};
use wire::PermissionMode;

pub struct Rules {
    options: Rc<Options>,
    mode: Cell<PermissionMode>,
    session: RefCell<RuleSet>,
    /// Allow rules that hold for this turn only, from skills.
    grants: RefCell<Vec<Rule>>,
    /// Deny rules of the same kind.
    bans: RefCell<Vec<Rule>>,
    extra_roots: RefCell<Vec<PathBuf>>,
    /// Counts changes, so that what was put together from the rules is made anew only then.
    version: Cell<u64>,
}

impl Rules {
    pub fn new(options: Rc<Options>) -> Self {
        Self {
            mode: Cell::new(options.permissions.mode),
            session: RefCell::new(options.permissions.rules.clone()),
            grants: RefCell::default(),
            bans: RefCell::default(),
            extra_roots: RefCell::default(),
            version: Cell::default(),
            options,
        }
    }

    /// The session's mode.
    pub fn mode(&self) -> PermissionMode {
        self.mode.get()
    }

    pub fn set_mode(&self, mode: PermissionMode) {
        self.mode.set(mode);
    }

    pub fn mode_of(&self, conversation: &Conversation) -> PermissionMode {
        conversation.mode.unwrap_or_else(|| self.mode.get())
    }

    pub fn may_enter(&self, mode: PermissionMode) -> bool {
        match mode {
            PermissionMode::BypassPermissions => self.options.permissions.may_bypass,
            PermissionMode::Auto => !self.options.settings.auto_mode_is_disabled(),
            _ => true,
        }
    }

    /// A copy of the session's rules.
    pub fn list(&self) -> RuleSet {
        self.session.borrow().clone()
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut RuleSet) -> T) -> T {
        self.changed();
        change(&mut self.session.borrow_mut())
    }

    fn changed(&self) {
        self.version.set(self.version.get() + 1);
    }

    /// What a skill allows and forbids for the rest of the turn.
    pub fn add_for_turn(&self, grants: Vec<Rule>, bans: Vec<Rule>) {
        self.changed();
        self.grants.borrow_mut().extend(grants);
        self.bans.borrow_mut().extend(bans);
    }

    pub fn begin_turn(&self) {
        if !self.grants.take().is_empty() | !self.bans.take().is_empty() {
            self.changed();
        }
    }

    pub fn extra_roots(&self) -> Vec<PathBuf> {
        self.extra_roots.borrow().clone()
    }

    pub fn set_extra_roots(&self, roots: Vec<PathBuf>) {
        self.changed();
        self.extra_roots.replace(roots);
    }

    /// The decision of rules and mode alone, without any effect. `wants_a_person`: the tool's server says that nothing but a
    /// person may permit it.
    pub fn judge(
        &self,
        conversation: &Conversation,
        name: &str,
        input: &Value,
        targets: &Targets,
        wants_a_person: bool,
    ) -> Decision {
        // Whoever runs the session has asked for it, with a schema; it does nothing but answer.
        if name == turn::STRUCTURED_OUTPUT {
            return decision(Verdict::Allow, "other", "It was asked for at the start.");
        }
        let mut kept = conversation.policy.borrow_mut();
        if kept.as_ref().is_none_or(|(version, _)| *version != self.version.get()) {
            *kept = Some((self.version.get(), self.policy(conversation)));
        }
        let Some((_, policy)) = kept.as_mut() else { return ask("other", "There are no rules.") };
        policy.mode = self.mode_of(conversation);
        policy.cwd = conversation.tools().workspace.cwd();
        let rules = tools::find(name).map_or(RuleKind::Other, |tool| tool.spec().entry.rules);
        let own = self.decide(policy, &Call { tool: name, rules, input, targets }, wants_a_person);
        if name != names::MONITOR.name {
            return own;
        }
        policy.mode = self.mode_of(conversation);
        if targets.command.is_none() && targets.url.is_some() {
            let page = Call { tool: names::WEB_FETCH.name, rules: RuleKind::Host, input, targets };
            return monitor::socket(own, self.decide(policy, &page, wants_a_person));
        }
        let as_bash = self.decide(policy, &Call { tool: names::BASH.name, rules, input, targets }, wants_a_person);
        monitor::together(own, as_bash)
    }

    fn policy(&self, conversation: &Conversation) -> Policy {
        let mut rules = self.list();
        rules.allow.extend(self.grants.borrow().iter().cloned());
        rules.deny.extend(self.bans.borrow().iter().cloned());
        let own = conversation.rules.borrow();
        rules.allow.extend(own.allow.iter().cloned());
        rules.ask.extend(own.ask.iter().cloned());
        rules.deny.extend(own.deny.iter().cloned());
        let workspace = Rc::clone(&conversation.tools()).workspace.clone();
        let mut roots = workspace.roots().to_vec();
        roots.extend(self.extra_roots.borrow().iter().cloned());
        let home = self.options.places.home.clone();
        Policy { mode: self.mode.get(), rules, roots, cwd: workspace.cwd(), home }
    }

    fn decide(&self, policy: &mut Policy, call: &Call<'_>, wants_a_person: bool) -> Decision {
        let decision = policy::decide(policy, call, &Disk);
        if decision.verdict == Verdict::Allow && wants_a_person {
            return ask("rule", "Its server wants a person to decide about every call.");
        }
        let leaves = if call.tool == "Bash" { self.options.tools.shell.leaves(call.input) } else { None };
        if decision.verdict == Verdict::Allow
            && policy.mode == PermissionMode::BypassPermissions
            && leaves == Some(UnconfinedReason::OnRequest { asked: true })
        {
            // Who skips permissions has not said that the sandbox may be left as well.
            return ask(
                "safety",
                "The command wants to leave the sandbox, which is asked about even where nothing else is.",
            );
        }
        if decision.verdict == Verdict::Allow || leaves.is_some() || !self.is_boxed(call.tool, policy.mode) {
            return decision;
        }
        // What stays inside the sandbox is judged as if everything were allowed that no rule speaks of.
        policy.mode = PermissionMode::BypassPermissions;
        let inside = policy::decide(policy, call, &Disk);
        if inside.verdict == Verdict::Allow { inside } else { decision }
    }

    /// Whether the call is a command that the sandbox holds, in a mode that only asks.
    fn is_boxed(&self, name: &str, mode: PermissionMode) -> bool {
        let asks = matches!(
            mode,
            PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::DontAsk | PermissionMode::Auto
        );
        asks && name == "Bash" && self.options.tools.auto_allow_bash
    }
}

fn ask(reason_type: &'static str, reason: &str) -> Decision {
    decision(Verdict::Ask, reason_type, reason)
}

fn decision(verdict: Verdict, reason_type: &'static str, reason: &str) -> Decision {
    Decision { verdict, reason_type, reason: reason.to_owned(), rule: None, blocked_path: None, run: None }
}
