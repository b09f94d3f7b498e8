//! EnterWorktree and ExitWorktree: the main conversation moves into a checkout of its own below `.claude/worktrees`, and back.
//!
//! Rules about the project's paths follow it. Nothing outside of that folder is entered or removed, and what was changed in a
//! checkout is only thrown away where the call says so. Deliberately absent: merging, and worktrees that others have made.

use crate::Options;
use crate::checkouts::{Checkout, DEADLINE, Existing, check_out, run};
use crate::subagents::moved_rules;
use context::ToolResources;
use conversation::rules::{self, Rules};
use conversation::{Conversation, HookRunner};
use hooks::CwdChanged;
use policy::RuleSet;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::rc::Rc;
use turn::CallResult;

pub struct Worktrees {
    pub options: Rc<Options>,
    pub resources: Rc<ToolResources>,
    pub rules: Rc<Rules>,
    pub hooks: Rc<HookRunner>,
    pub entered: RefCell<Option<Entered>>,
}

/// Where the conversation is, and what it had before.
pub struct Entered {
    checkout: Checkout,
    before: Rc<tools::ToolContext>,
}

impl Worktrees {
    pub async fn enter(&self, conversation: &Conversation, name: &str) -> CallResult {
        if let Some(entered) = &*self.entered.borrow() {
            let root = entered.checkout.root.display();
            return CallResult::error(format!(
                "You are in the worktree {root} already. Leave it with ExitWorktree first."
            ));
        }
        let options = &self.options;
        let root = options.places.checkout_root().join(".claude/worktrees").join(name);
        if let Some(Err(error)) = conversation.tools().shell.fence().map(|fence| fence.may_write(&root)) {
            return CallResult::error(format!("No worktree was made: {error}."));
        }
        let checkout = match check_out(&options.env, &options.places, name, Existing::Use).await {
            Ok(checkout) => checkout,
            Err(error) => return CallResult::error(format!("No worktree was made: {error}.")),
        };
        let moved = moved_rules(&self.rules.list(), &options.cwd, &checkout.cwd);
        let denied = rules::denied(options, &checkout.cwd, &moved.deny);
        let mut inside = self.resources.context_in(options, checkout.cwd.clone(), denied);
        let before = conversation.tools();
        // Commands go on to know how hard the model thinks.
        inside.shell = before.shell.clone();
        let (before, old) = (conversation.replace_tools(Rc::new(inside)), before.workspace.cwd());
        self.move_to(conversation, moved);
        let new = &checkout.cwd;
        self.hooks.fire(conversation, &CwdChanged { old_cwd: &old, new_cwd: new }).await;
        let words = format!("You work in the worktree {} on the branch {} now.", new.display(), checkout.branch);
        let structured = json!({"worktreePath": checkout.root, "worktreeBranch": checkout.branch, "message": words});
        self.entered.replace(Some(Entered { checkout, before }));
        CallResult::text(words, structured)
    }

    pub async fn leave(&self, conversation: &Conversation, input: &Value) -> CallResult {
        let Some(entered) = self.entered.take() else {
            return CallResult::error("You are in no worktree that EnterWorktree has made.");
        };
        let removes = input["action"] == "remove";
        if removes && input["discard_changes"] != true && is_changed(&entered.checkout).await {
            let root = entered.checkout.root.display().to_string();
            self.entered.replace(Some(entered));
            return CallResult::error(format!(
                "The worktree {root} has changes or commits of its own. Keep it, or say discard_changes to lose them."
            ));
        }
        let Entered { checkout, before } = entered;
        let (old, new) = (conversation.tools().workspace.cwd(), before.workspace.cwd());
        conversation.replace_tools(before);
        self.move_to(conversation, RuleSet::default());
        self.hooks.fire(conversation, &CwdChanged { old_cwd: &old, new_cwd: &new }).await;
        let removed = if removes { remove(&checkout).await } else { Ok(()) };
        let what = match (removes, removed) {
            (false, _) => "is kept".to_owned(),
            (true, Ok(())) => "is removed".to_owned(),
            (true, Err(error)) => format!("could not be removed: {error}"),
        };
        let words = format!("You are back in {}. The worktree {} {what}.", new.display(), checkout.root.display());
        let structured = json!({
            "action": if removes { "remove" } else { "keep" },
            "originalCwd": new,
            "worktreePath": checkout.root,
            "worktreeBranch": checkout.branch,
            "restoredCwd": new,
            "originalCwdMissing": !new.is_dir(),
            "message": words,
        });
        CallResult::text(words, structured)
    }

    /// Calls are judged with these rules beside everybody's from here on.
    fn move_to(&self, conversation: &Conversation, rules: RuleSet) {
        conversation.rules.replace(rules);
        self.rules.change(|_| ());
    }
}

/// What cannot be told counts as changed.
async fn is_changed(checkout: &Checkout) -> bool {
    let git = checkout.git.clone().without_filters(&checkout.repository, DEADLINE).await;
    let words = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all"];
    let status = run(&git, &checkout.root, &words).await;
    let head = run(&git, &checkout.root, &["rev-parse", "--verify", "HEAD"]).await;
    !(status.is_ok_and(|status| status.is_empty()) && head.is_ok_and(|head| head.trim() == checkout.base))
}

async fn remove(checkout: &Checkout) -> Result<(), process::GitError> {
    let git = checkout.git.clone().without_filters(&checkout.repository, DEADLINE).await;
    let words = ["worktree", "remove", "--force"].map(OsStr::new);
    let words: Vec<&OsStr> = words.into_iter().chain([checkout.root.as_os_str()]).collect();
    git.run(&checkout.repository, &words, DEADLINE).await?;
    let words = ["branch", "-D", "--quiet", checkout.branch.as_str()].map(OsStr::new);
    git.run(&checkout.repository, &words, DEADLINE).await.map(drop)
}
