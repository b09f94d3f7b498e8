//! May this call run? Hooks speak first, then `policy`; where the answer is "ask", whoever can be asked
//! is: a hook, the client, a tool of the client's. Nobody there means no.

mod ask;
mod hidden;
mod suggest;
mod updates;

pub use hidden::denied;

use crate::shared::{Lane, Role, Shared};
use hooks::{Decision as Wish, PreToolUse};
use policy::{Call, Decision, Policy, RuleKind, Targets, Verdict};
use serde_json::{Value, json};
use std::time::Instant;
use tools::{Disk, Leaves, Target, Workspace};
use wire::{Event, PermissionMode, System, ToolDenied};

/// A call that may run, with its input as hooks and the client have left it.
pub struct Permitted {
    pub input: Value,
    pub targets: Vec<Target>,
    /// Of a shell command that nobody was asked about: the text that was judged, which is what runs.
    pub run: Option<String>,
    /// What hooks want the model to know beside the result.
    pub contexts: Vec<String>,
    /// When it was permitted.
    pub since: Instant,
}

/// A call that may not.
pub struct Refused {
    /// What the model is told.
    pub words: String,
    /// The client wants the turn to end here.
    pub interrupt: bool,
    /// A hook wants the whole run to stop here.
    pub stop: Option<String>,
    /// A hook wants somebody else to decide, later.
    pub deferred: bool,
}

/// One call on its way to permission.
pub struct Request<'a> {
    pub shared: &'a Shared,
    pub lane: &'a Lane,
    pub tool_use_id: &'a str,
    pub name: &'a str,
}

/// Judges one call. A refusal is recorded and reported already.
pub async fn permit(
    shared: &Shared,
    lane: &Lane,
    tool_use_id: &str,
    name: &str,
    input: Value,
    targets: Vec<Target>,
) -> Result<Permitted, Refused> {
    let request = Request { shared, lane, tool_use_id, name };
    let mut call = Permitted { input, targets, run: None, contexts: Vec::new(), since: Instant::now() };
    let wish = request.hear_hooks(&mut call).await?;
    let decision = judge(shared, lane, name, &call.input, &call.targets);
    let by_rule = decision.reason_type == "rule";
    let asks = match (decision.verdict, wish) {
        (Verdict::Deny, _) => return Err(request.deny(&call.input, &words(name, &decision), Some(&decision)).await),
        (Verdict::Ask, Some(Wish::Allow)) => by_rule,
        (Verdict::Allow, Some(Wish::Ask)) | (Verdict::Ask, _) => true,
        (Verdict::Allow, _) => false,
    };
    // Whoever is asked sees the command as it was written, so that is what a yes is for.
    let call = match decision.verdict {
        _ if asks => ask::ask(&request, call, &decision).await?,
        Verdict::Allow => Permitted { run: decision.run, ..call },
        Verdict::Ask | Verdict::Deny => call,
    };
    Ok(Permitted { since: Instant::now(), ..call })
}

impl Request<'_> {
    /// What the PreToolUse hooks say; a new input is checked like the model's own.
    async fn hear_hooks(&self, call: &mut Permitted) -> Result<Option<Wish>, Refused> {
        let payload = PreToolUse { tool_name: self.name, tool_input: &call.input, tool_use_id: self.tool_use_id };
        let verdict = crate::hearing::fire(self.shared, self.lane, &payload).await;
        call.contexts.extend(verdict.contexts);
        if let Some(reason) = verdict.stop {
            let refused = self.deny(&call.input, &format!("A hook stopped the run: {reason}"), None).await;
            return Err(Refused { stop: Some(reason), ..refused });
        }
        let denied = verdict.blocked.or_else(|| {
            let reason = || verdict.reason.clone().unwrap_or_else(|| "no reason given".into());
            (verdict.decision == Some(Wish::Deny)).then(reason)
        });
        if let Some(reason) = denied {
            let words = format!("{} was not run: a hook refused it ({reason}).", self.name);
            return Err(self.deny(&call.input, &words, None).await);
        }
        if let Some(input) = verdict.updated_input {
            self.replace_input(call, input).await?;
        }
        if verdict.decision == Some(Wish::Defer) {
            return self.put_off().await;
        }
        Ok(verdict.decision)
    }

    /// A call can be put off where it is the only one: the run ends before it, with nothing half done.
    async fn put_off(&self) -> Result<Option<Wish>, Refused> {
        if self.lane.role.is_main() && self.shared.live.ear.single_call.get() {
            return Err(Refused { words: String::new(), interrupt: false, stop: None, deferred: true });
        }
        let content = format!(
            "A hook wanted to put off {}, which is possible only for a single call of the main conversation; it is judged now.",
            self.name
        );
        self.shared.emitter.send(Event::System(System::informational(content, "warning"))).await;
        Ok(None)
    }

    async fn replace_input(&self, call: &mut Permitted, input: Value) -> Result<(), Refused> {
        match crate::calls::checked(self.lane, self.name, &input) {
            Ok((input, targets)) => {
                call.input = input;
                call.targets = targets;
                Ok(())
            }
            Err(problem) => Err(self
                .deny(
                    &input,
                    &format!(
                        "{} was not run: its changed input is not usable ({}).",
                        self.name,
                        crate::after::text_of(&problem)
                    ),
                    None,
                )
                .await),
        }
    }

    /// Records a refusal: in the result's list, and as an event where no client was asked.
    async fn deny(&self, input: &Value, words: &str, decision: Option<&Decision>) -> Refused {
        self.record(input);
        let event = ToolDenied {
            tool_name: self.name.into(),
            tool_use_id: self.tool_use_id.into(),
            message: words.to_owned(),
            agent_id: self.lane.role.agent_id(),
            decision_reason_type: Some(decision.map_or("hook", |decision| decision.reason_type).into()),
            decision_reason: decision.map(|decision| decision.reason.clone()),
            ..ToolDenied::default()
        };
        self.shared.emitter.send(Event::System(System::PermissionDenied(Box::new(event)))).await;
        let mut words = words.to_owned();
        if let Some(decision) = decision {
            let call = (self.tool_use_id, self.name);
            if crate::moments::denied(self.shared, self.lane, call, input, &decision.reason).await {
                words.push_str(" You may try this call again.");
            }
        }
        Refused { words, interrupt: false, stop: None, deferred: false }
    }

    fn record(&self, input: &Value) {
        let denial = json!({"tool_name": self.name, "tool_use_id": self.tool_use_id, "tool_input": input});
        self.shared.live.denials.borrow_mut().push(denial);
    }
}

/// The decision of rules and mode alone, without any effect.
pub fn judge(shared: &Shared, lane: &Lane, name: &str, input: &Value, targets: &[Target]) -> Decision {
    judge_in(shared, (&lane.role, &lane.tools.workspace), name, input, targets)
}

/// The same for whoever has this role in this workspace.
pub fn judge_in(
    shared: &Shared,
    (role, workspace): (&Role, &Workspace),
    name: &str,
    input: &Value,
    targets: &[Target],
) -> Decision {
    let mut rules = shared.live.rules.borrow().clone();
    rules.allow.extend(shared.live.grants.borrow().iter().cloned());
    rules.deny.extend(shared.live.bans.borrow().iter().cloned());
    if let Role::Sub(sub) = role {
        rules.allow.extend(sub.rules.allow.iter().cloned());
        rules.ask.extend(sub.rules.ask.iter().cloned());
        rules.deny.extend(sub.rules.deny.iter().cloned());
    }
    let mut roots = workspace.roots().to_vec();
    roots.extend(shared.live.extra_roots.borrow().iter().cloned());
    let mut policy = Policy {
        mode: shared.mode(role),
        rules,
        roots,
        cwd: workspace.cwd(),
        home: shared.options.places.home.clone(),
    };
    let rules = tools::find(name).map_or(RuleKind::Other, |tool| tool.spec().entry.rules);
    let targets = Targets::paths(targets.to_vec());
    let call = Call { tool: name, rules, input, targets: &targets };
    let decision = policy::decide(&policy, &call, &Disk);
    if decision.verdict == Verdict::Allow && crate::outside::wants_a_person(shared, name) {
        let reason = "Its server wants a person to decide about every call.".to_owned();
        return Decision {
            verdict: Verdict::Ask,
            reason_type: "rule",
            reason,
            rule: None,
            blocked_path: None,
            run: None,
        };
    }
    let leaves = if name == "Bash" { shared.options.tools.shell.leaves(input) } else { None };
    if decision.verdict == Verdict::Allow
        && policy.mode == PermissionMode::BypassPermissions
        && leaves == Some(Leaves::OnRequest { asked: true })
    {
        // Who skips permissions has not said that the sandbox may be left as well.
        let reason =
            "The command wants to leave the sandbox, which is asked about even where nothing else is.".to_owned();
        return Decision {
            verdict: Verdict::Ask,
            reason_type: "safety",
            reason,
            rule: None,
            blocked_path: None,
            run: None,
        };
    }
    if decision.verdict == Verdict::Allow || leaves.is_some() || !boxed(shared, name, policy.mode) {
        return decision;
    }
    // What stays inside the sandbox is judged as if everything were allowed that no rule speaks of.
    policy.mode = PermissionMode::BypassPermissions;
    let inside = policy::decide(&policy, &call, &Disk);
    if inside.verdict == Verdict::Allow { inside } else { decision }
}

/// Whether the call is a command that the sandbox holds, in a mode that only asks.
fn boxed(shared: &Shared, name: &str, mode: PermissionMode) -> bool {
    let asks = matches!(mode, PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::DontAsk);
    asks && name == "Bash" && shared.options.tools.auto_allow_bash
}

fn words(name: &str, decision: &Decision) -> String {
    let reason = decision.reason.trim_end_matches('.');
    match decision.verdict {
        Verdict::Ask => format!(
            "{name} was not run: it needs a permission and nobody is here to give it ({reason}). \
             Go on without it; if the task cannot be done that way, say what you would have run and why."
        ),
        _ => format!(
            "{name} was not run: it is not permitted ({reason}). Do not try to get around this; go on without it."
        ),
    }
}
