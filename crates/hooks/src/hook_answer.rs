//! What hooks have said, merged: the strictest decision wins, and nothing that was said is lost.

use serde_json::Value;

/// In the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Allow,
    Ask,
    /// End the run here and let the caller decide the call later.
    Defer,
    Deny,
}

impl Decision {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "defer" => Some(Self::Defer),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookAnswer {
    /// Why what was about to happen must not; after a tool has run, what the model is told about it.
    pub blocked: Option<String>,
    /// Of the call, for PreToolUse. `Deny` comes with `blocked`.
    pub decision: Option<Decision>,
    /// Of the decision.
    pub reason: Option<String>,
    /// The whole input that replaces the call's.
    pub updated_input: Option<Value>,
    /// For the model.
    pub contexts: Vec<String>,
    /// For the user.
    pub messages: Vec<String>,
    /// The whole run ends, for this reason.
    pub stop: Option<String>,
    /// Replaces what the tool answered.
    pub updated_output: Option<Value>,
    /// The decision object of a PermissionRequest hook; its `behavior` is `allow` or `deny`.
    pub permission: Option<Value>,
    /// The model may try a denied call again.
    pub retry: bool,
    pub session_title: Option<String>,
    pub initial_user_message: Option<String>,
    /// What is answered to a server's question: `action`, and `content` with it.
    pub elicitation: Option<Value>,
    /// The checkout that was made.
    pub worktree_path: Option<String>,
    /// Files to watch from here on.
    pub watch_paths: Vec<String>,
    /// Failures that block nothing, for stderr and debug logs.
    pub errors: Vec<String>,
}

impl HookAnswer {
    pub(crate) fn error(text: String) -> Self {
        Self { errors: vec![text], ..Self::default() }
    }

    /// `later` is of a handler that stands later in the configuration: where only one can win and
    /// strictness does not say which, it does.
    pub(crate) fn merge(mut self, later: Self) -> Self {
        match later.decision.cmp(&self.decision) {
            std::cmp::Ordering::Greater => (self.decision, self.reason) = (later.decision, later.reason),
            std::cmp::Ordering::Equal => self.reason = self.reason.or(later.reason),
            std::cmp::Ordering::Less => {}
        }
        self.blocked = both(self.blocked, later.blocked);
        self.updated_input = later.updated_input.or(self.updated_input);
        self.contexts.extend(later.contexts);
        self.messages.extend(later.messages);
        self.stop = self.stop.or(later.stop);
        self.updated_output = later.updated_output.or(self.updated_output);
        self.permission = match (self.permission, later.permission) {
            (Some(first), Some(other)) => Some(if denies(&other) && !denies(&first) { other } else { first }),
            (first, other) => first.or(other),
        };
        self.retry |= later.retry;
        self.session_title = later.session_title.or(self.session_title);
        self.initial_user_message = both(self.initial_user_message, later.initial_user_message);
        self.elicitation = self.elicitation.or(later.elicitation);
        self.worktree_path = later.worktree_path.or(self.worktree_path);
        self.watch_paths.extend(later.watch_paths);
        self.errors.extend(later.errors);
        self
    }

    /// What is left of it where nobody trusts the hook: refusals, stops and words. Nothing that lets a call run,
    /// changes it, answers for the user or chooses where work is done.
    pub(super) fn without_grants(mut self) -> Self {
        if self.decision == Some(Decision::Allow) {
            (self.decision, self.reason) = (None, None);
        }
        Self {
            updated_input: None,
            permission: self.permission.filter(denies),
            retry: false,
            initial_user_message: None,
            elicitation: None,
            worktree_path: None,
            watch_paths: Vec::new(),
            ..self
        }
    }

    /// Every text that somebody will read.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.blocked, &mut self.reason, &mut self.stop, &mut self.initial_user_message]
            .into_iter()
            .flatten()
            .chain(&mut self.contexts)
            .chain(&mut self.messages)
            .chain(&mut self.errors)
    }
}

fn both(first: Option<String>, later: Option<String>) -> Option<String> {
    match (first, later) {
        (Some(first), Some(later)) if first != later => Some(format!("{first}\n{later}")),
        (first, later) => first.or(later),
    }
}

fn denies(permission: &Value) -> bool {
    permission["behavior"] == "deny"
}
