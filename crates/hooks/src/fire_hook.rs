//! An event happens: everything that matches runs at once, and the answers become one.

use crate::answer::{self, Raw};
use crate::background::{Finished, Open, Streams};
use crate::condition;
use crate::error::AskError;
use crate::event::{HookEvent, HookPayload};
use crate::handler::OnFailure;
use crate::handler::{Action, Handler, Judge, Mode, Program};
use crate::hook_answer::HookAnswer;
use crate::host::{HookContext, HookHost, HookRun, Outcome};
use crate::list::Hooks;
use crate::{command, http, opinion, spill};
use futures_util::future::join_all;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The end of a session waits this long for all its hooks together, unless they ask for more.
const ENDING: Duration = Duration::from_millis(1_500);
/// The most they can ask for: somebody waits for the process to be gone.
const LONGEST_ENDING: Duration = Duration::from_mins(1);
const ENDING_VARIABLE: &str = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS";

/// One event on its way through its handlers.
struct Fired<'a> {
    event: HookEvent,
    /// As clients know it: the event, with its subject where it has one.
    name: String,
    input: Value,
    tool_use_id: Option<&'a str>,
    context: &'a HookContext<'a>,
    host: &'a HookHost<'a>,
}

/// Runs all handlers that match and merges their answers. Dropping the future ends everything it started, except
/// hooks that run in the background.
pub async fn fire_hook(
    hooks: &Hooks,
    payload: &dyn HookPayload,
    context: &HookContext<'_>,
    host: &HookHost<'_>,
) -> HookAnswer {
    let (event, subject) = (payload.event(), payload.subject());
    if !hooks.wants(event) {
        return HookAnswer::default();
    }
    let (input, tool_use_id) = (context.input(event, payload.fields()), payload.tool_use_id());
    let name = match subject {
        Some(subject) => format!("{}:{subject}", event.as_str()),
        None => event.as_str().to_owned(),
    };
    let fired = Fired { event, name, input, tool_use_id, context, host };
    let chosen = choose(&hooks.handlers, subject, &fired);
    let most = (event == HookEvent::SessionEnd).then(|| ending(&chosen, host));
    let answers = join_all(chosen.iter().map(|handler| {
        let limit = handler.time_allowed().min(most.unwrap_or(Duration::MAX));
        fired.run(handler, limit, hooks)
    }));
    answers.await.into_iter().fold(HookAnswer::default(), HookAnswer::merge)
}

/// Those that match, each once.
fn choose<'h>(handlers: &'h [Handler], subject: Option<&str>, fired: &Fired<'_>) -> Vec<&'h Handler> {
    let event = fired.event;
    let canonical = event.is_about_a_tool().then_some(fired.host.tool_name);
    let mut chosen: Vec<&Handler> = Vec::new();
    for handler in handlers.iter().filter(|handler| handler.event == event) {
        let meant = !event.takes_matcher() || handler.matcher.matches(subject, canonical);
        let again = |other: &&Handler| {
            other.action == handler.action && other.plugin == handler.plugin && other.is_trusted == handler.is_trusted
        };
        // Without help there is nobody to ask; the caller says where that is so.
        let answerable = fired.host.helpers.is_some() || !matches!(handler.action, Action::Opinion { .. });
        let is_spent = handler.once.as_ref().is_some_and(|spent| spent.get());
        if meant
            && answerable
            && !is_spent
            && !chosen.iter().any(again)
            && condition::holds(&handler.condition, &fired.input, fired.context, fired.host)
        {
            if let Some(spent) = &handler.once {
                spent.set(true);
            }
            chosen.push(handler);
        }
    }
    chosen
}

/// How long the end of the session may take.
fn ending(chosen: &[&Handler], host: &HookHost<'_>) -> Duration {
    let set = host.env.iter().find(|(name, _)| name == ENDING_VARIABLE);
    let set = set.and_then(|(_, value)| value.to_str()?.trim().parse().ok()).map(Duration::from_millis);
    let asked = chosen.iter().filter_map(|handler| handler.timeout).max();
    set.unwrap_or_else(|| asked.unwrap_or(ENDING).clamp(ENDING, LONGEST_ENDING))
}

impl Fired<'_> {
    async fn run(&self, handler: &Handler, limit: Duration, hooks: &Hooks) -> HookAnswer {
        let who = Open { hook_id: (self.host.ids)(), name: self.name.clone(), event: self.event };
        if let Action::Command { program, mode: mode @ (Mode::Background | Mode::Rewakes) } = &handler.action {
            return self.leave(handler, program, *mode, limit, hooks, who);
        }
        let mut watched = Watched::start(&who, self.host.observe);
        let raw = self.ask(handler, limit).await;
        let answer = answer::read(self.event, &handler.label(), handler.on_failure(), &raw);
        watched.end(&streams(&raw), answer.outcome);
        let mut verdict = if handler.is_trusted { answer.verdict } else { answer.verdict.without_grants() };
        spill::shorten(&mut verdict, self.host.spill_dir, &who.hook_id);
        verdict
    }

    async fn ask(&self, handler: &Handler, limit: Duration) -> Raw {
        match &handler.action {
            Action::Tool { .. } | Action::Opinion { who: Judge::Agent, .. } if !handler.is_trusted => {
                Raw::Failed(AskError::Untrusted)
            }
            Action::Command { program, .. } => {
                let spec = command::prepare(program, handler, self.event, self.bytes(), self.context, self.host);
                command::run(spec, limit).await
            }
            Action::Http { url, headers, env } => {
                let env: &[String] = if handler.is_trusted { env } else { &[] };
                http::ask(url, headers, env, self.bytes(), limit, self.host).await
            }
            Action::Tool { server, tool, input } => self.use_tool(server, tool, input, limit).await,
            Action::Opinion { words, model, who } => {
                let question = opinion::question(words, &self.input, model.clone(), *who);
                let Some(helpers) = self.host.helpers else { return Raw::Failed(AskError::NoModel) };
                match timeout(limit, helpers.judge(question)).await {
                    Ok(Ok(text)) => Raw::Opinion(text),
                    Ok(Err(why)) => Raw::Failed(why),
                    Err(_) => Raw::TimedOut(limit, None),
                }
            }
            Action::Callback { id, .. } => self.call(id, limit).await,
        }
    }

    /// What a tool says is read as what a command prints.
    async fn use_tool(&self, server: &str, tool: &str, input: &Value, limit: Duration) -> Raw {
        let Some(helpers) = self.host.helpers else { return Raw::Failed(AskError::NoServer) };
        let input = opinion::filled(input, &self.input);
        match timeout(limit, helpers.call_tool(server, tool, input)).await {
            Ok(Ok(stdout)) => Raw::Exit { code: 0, stdout, stderr: String::new() },
            Ok(Err(why)) => Raw::Failed(why),
            Err(_) => Raw::TimedOut(limit, None),
        }
    }

    /// The client keeps time too, so its own "too late" is silence like ours.
    async fn call(&self, id: &str, limit: Duration) -> Raw {
        let Some(callbacks) = self.host.callbacks else { return Raw::Failed(AskError::NoClient) };
        let started = Instant::now();
        let answer = timeout(limit, callbacks.call(id, self.input.clone(), self.tool_use_id, limit)).await;
        match answer {
            Ok(Ok(said)) => Raw::Said(said),
            Ok(Err(why)) if started.elapsed() < limit => Raw::Failed(why),
            Ok(Err(_)) | Err(_) => Raw::TimedOut(limit, None),
        }
    }

    /// Starts a hook that nobody waits for.
    fn leave(
        &self,
        handler: &Handler,
        program: &Program,
        mode: Mode,
        limit: Duration,
        hooks: &Hooks,
        who: Open,
    ) -> HookAnswer {
        let spec = command::prepare(program, handler, self.event, self.bytes(), self.context, self.host);
        let is_trusted = handler.is_trusted;
        let (event, label, dir) = (self.event, handler.label(), self.host.spill_dir.to_owned());
        let (started, name, me) = (who.started(), handler.label(), who.clone());
        let work = async move {
            let raw = command::run(spec, limit).await;
            let answer = answer::read(event, &label, OnFailure::Continue, &raw);
            let mut verdict = if is_trusted { answer.verdict } else { answer.verdict.without_grants() };
            spill::shorten(&mut verdict, &dir, &me.hook_id);
            let wakes = mode == Mode::Rewakes && matches!(&raw, Raw::Exit { code: 2, .. });
            if let Raw::Exit { stderr, .. } = &raw
                && wakes
                && verdict.blocked.is_none()
            {
                // At an event that cannot be refused, exit code 2 still has something to say.
                verdict.blocked = Some(stderr.trim().to_owned());
            }
            Finished { news: me.response(&streams(&raw), answer.outcome), verdict, wakes }
        };
        if hooks.background.start(who, work) {
            (self.host.observe)(started);
            return HookAnswer::default();
        }
        HookAnswer::error(format!("{} hook {name} was not started: too many run in the background", event.as_str()))
    }

    fn bytes(&self) -> Vec<u8> {
        format!("{}\n", self.input).into_bytes()
    }
}

fn streams(raw: &Raw) -> Streams {
    match raw {
        Raw::Exit { code, stdout, stderr } => {
            Streams { stdout: stdout.clone(), stderr: stderr.clone(), exit_code: Some(*code) }
        }
        Raw::Http { body, .. } => Streams { stdout: body.clone(), ..Streams::default() },
        Raw::TimedOut(_, exit_code) => Streams { exit_code: *exit_code, ..Streams::default() },
        Raw::Said(Value::Null) => Streams::default(),
        Raw::Said(said) => Streams { stdout: said.to_string(), ..Streams::default() },
        Raw::Opinion(text) => Streams { stdout: text.clone(), ..Streams::default() },
        Raw::Failed(why) => Streams { stderr: why.to_string(), ..Streams::default() },
    }
}

/// Sees to it that every started hook has a response, also one that an interrupt cuts off.
struct Watched<'a> {
    who: &'a Open,
    observe: &'a dyn Fn(HookRun),
    open: bool,
}

impl<'a> Watched<'a> {
    fn start(who: &'a Open, observe: &'a dyn Fn(HookRun)) -> Self {
        observe(who.started());
        Self { who, observe, open: true }
    }

    fn end(&mut self, said: &Streams, outcome: Outcome) {
        self.open = false;
        (self.observe)(self.who.response(said, outcome));
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if self.open {
            self.end(&Streams::default(), Outcome::Cancelled);
        }
    }
}
