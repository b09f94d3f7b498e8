//! An event happens: everything that matches runs at once, and the answers become one verdict.

use super::answer::{self, OnFailure, Raw};
use super::background::{Finished, Open, Streams};
use super::condition;
use super::event::HookEvent;
use super::handler::{Action, Handler, Judge, Mode, Program};
use super::list::Hooks;
use super::verdict::Verdict;
use super::world::{HookNews, Outcome, Scene, World};
use super::{command, http, opinion, spill};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The end of a session waits this long for all its hooks together, unless they ask for more.
const ENDING: Duration = Duration::from_millis(1_500);
/// The most they can ask for: somebody waits for the process to be gone.
const LONGEST_ENDING: Duration = Duration::from_mins(1);
const ENDING_VARIABLE: &str = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS";

/// One event on its way through its handlers.
struct Moment<'a> {
    event: HookEvent,
    /// As clients know it: the event, with its subject where it has one.
    name: String,
    input: Value,
    tool_use_id: Option<&'a str>,
    scene: &'a Scene<'a>,
    world: &'a World<'a>,
}

/// Runs all handlers of `event` that match `subject`. `fields` are the event's own part of the input.
/// Dropping the future ends everything it started, except hooks that run in the background.
pub async fn fire(
    hooks: &Hooks,
    event: HookEvent,
    subject: Option<&str>,
    fields: Map<String, Value>,
    tool_use_id: Option<&str>,
    scene: &Scene<'_>,
    world: &World<'_>,
) -> Verdict {
    if !hooks.wants(event) {
        return Verdict::default();
    }
    let name = match subject {
        Some(subject) => format!("{}:{subject}", event.as_str()),
        None => event.as_str().to_owned(),
    };
    let moment = Moment { event, name, input: scene.input(event, fields), tool_use_id, scene, world };
    let chosen = choose(&hooks.handlers, subject, &moment);
    let most = (event == HookEvent::SessionEnd).then(|| ending(&chosen, world));
    let answers = join_all(chosen.iter().map(|handler| {
        let limit = handler.time_allowed().min(most.unwrap_or(Duration::MAX));
        moment.run(handler, limit, hooks)
    }));
    answers.await.into_iter().fold(Verdict::default(), Verdict::merge)
}

/// Those that match, each once.
fn choose<'h>(handlers: &'h [Handler], subject: Option<&str>, moment: &Moment<'_>) -> Vec<&'h Handler> {
    let event = moment.event;
    let mut chosen: Vec<&Handler> = Vec::new();
    for handler in handlers.iter().filter(|handler| handler.event == event) {
        let meant = !event.takes_matcher() || handler.matcher.matches(subject, event.is_about_a_tool());
        let again = |other: &&Handler| {
            other.action == handler.action && other.plugin == handler.plugin && other.is_trusted == handler.is_trusted
        };
        // Without help there is nobody to ask; the caller says where that is so.
        let answerable = moment.world.helpers.is_some() || !matches!(handler.action, Action::Opinion { .. });
        let is_spent = handler.once.as_ref().is_some_and(|spent| spent.get());
        if meant
            && answerable
            && !is_spent
            && !chosen.iter().any(again)
            && condition::holds(&handler.condition, &moment.input, moment.scene, moment.world)
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
fn ending(chosen: &[&Handler], world: &World<'_>) -> Duration {
    let set = world.env.iter().find(|(name, _)| name == ENDING_VARIABLE);
    let set = set.and_then(|(_, value)| value.to_str()?.trim().parse().ok()).map(Duration::from_millis);
    let asked = chosen.iter().filter_map(|handler| handler.timeout).max();
    set.unwrap_or_else(|| asked.unwrap_or(ENDING).clamp(ENDING, LONGEST_ENDING))
}

impl Moment<'_> {
    async fn run(&self, handler: &Handler, limit: Duration, hooks: &Hooks) -> Verdict {
        let who = Open { hook_id: (self.world.ids)(), name: self.name.clone(), event: self.event };
        if let Action::Command { program, mode: mode @ (Mode::Background | Mode::Rewakes) } = &handler.action {
            return self.leave(handler, program, *mode, limit, hooks, who);
        }
        let mut watched = Watched::start(&who, self.world.observe);
        let raw = self.ask(handler, limit).await;
        let answer = answer::read(self.event, &handler.label(), handler.on_failure(), &raw);
        watched.end(&streams(&raw), answer.outcome);
        let mut verdict = if handler.is_trusted { answer.verdict } else { answer.verdict.without_grants() };
        spill::shorten(&mut verdict, self.world.spill_dir, &who.hook_id);
        verdict
    }

    async fn ask(&self, handler: &Handler, limit: Duration) -> Raw {
        match &handler.action {
            Action::Tool { .. } | Action::Opinion { who: Judge::Agent, .. } if !handler.is_trusted => {
                Raw::Failed("it does not run before the folder is trusted ('ralph trust')".into())
            }
            Action::Command { program, .. } => {
                let spec = command::prepare(program, handler, self.event, self.bytes(), self.scene, self.world);
                command::run(spec, limit).await
            }
            Action::Http { url, headers, env } => {
                let env: &[String] = if handler.is_trusted { env } else { &[] };
                http::ask(url, headers, env, self.bytes(), limit, self.world).await
            }
            Action::Tool { server, tool, input } => self.use_tool(server, tool, input, limit).await,
            Action::Opinion { words, model, who } => {
                let question = opinion::question(words, &self.input, model.clone(), *who);
                let Some(helpers) = self.world.helpers else { return Raw::Failed("no model can be asked here".into()) };
                match timeout(limit, helpers.judge(question)).await {
                    Ok(Ok(text)) => Raw::Opinion(text),
                    Ok(Err(why)) => Raw::Failed(why),
                    Err(_) => Raw::TimedOut(limit),
                }
            }
            Action::Callback { id, .. } => self.call(id, limit).await,
        }
    }

    /// What a tool says is read as what a command prints.
    async fn use_tool(&self, server: &str, tool: &str, input: &Value, limit: Duration) -> Raw {
        let Some(helpers) = self.world.helpers else { return Raw::Failed("no server can be asked here".into()) };
        let input = opinion::filled(input, &self.input);
        match timeout(limit, helpers.call_tool(server, tool, input)).await {
            Ok(Ok(stdout)) => Raw::Exit { code: 0, stdout, stderr: String::new() },
            Ok(Err(why)) => Raw::Failed(why),
            Err(_) => Raw::TimedOut(limit),
        }
    }

    /// The client keeps time too, so its own "too late" is silence like ours.
    async fn call(&self, id: &str, limit: Duration) -> Raw {
        let Some(callbacks) = self.world.callbacks else { return Raw::Failed("no client is connected".into()) };
        let started = Instant::now();
        let answer = timeout(limit, callbacks.call(id, self.input.clone(), self.tool_use_id, limit)).await;
        match answer {
            Ok(Ok(said)) => Raw::Said(said),
            Ok(Err(why)) if started.elapsed() < limit => Raw::Failed(why),
            Ok(Err(_)) | Err(_) => Raw::TimedOut(limit),
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
    ) -> Verdict {
        let spec = command::prepare(program, handler, self.event, self.bytes(), self.scene, self.world);
        let is_trusted = handler.is_trusted;
        let (event, label, dir) = (self.event, handler.label(), self.world.spill_dir.to_owned());
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
            (self.world.observe)(started);
            return Verdict::default();
        }
        Verdict::error(format!("{} hook {name} was not started: too many run in the background", event.as_str()))
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
        Raw::Said(Value::Null) | Raw::TimedOut(_) => Streams::default(),
        Raw::Said(said) => Streams { stdout: said.to_string(), ..Streams::default() },
        Raw::Opinion(text) => Streams { stdout: text.clone(), ..Streams::default() },
        Raw::Failed(why) => Streams { stderr: why.clone(), ..Streams::default() },
    }
}

/// Sees to it that every started hook has a response, also one that an interrupt cuts off.
struct Watched<'a> {
    who: &'a Open,
    observe: &'a dyn Fn(HookNews),
    open: bool,
}

impl<'a> Watched<'a> {
    fn start(who: &'a Open, observe: &'a dyn Fn(HookNews)) -> Self {
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
