//! The run itself: executes the effects that `cycle` decides, and reports events back to it.

use crate::agent::{AgentEvent, AgentProcess};
use crate::checks::{self, Check};
use crate::git::{Git, Snapshot};
use crate::helper::get;
use crate::job::{Job, Sink};
use crate::record::Recorder;
use crate::run_command::Command;
use crate::run_socket::Server;
use crate::transport::TransportChoice;
use crate::{
    Lock, LockError, RunsError, SandboxMode, StartError, answers, direnv, init, issues, prompt, rehearsal, replay,
    resets, retention, runs, summary,
};
use cycle::{
    AgentEnd, Changes, CheckFinished, Effect, EventKind, Input, IterationReport, IterationStart, LoopEvent, LoopState,
    Memory, OutputReader, Plan, Price, Resumed, RunStarted, SCHEMA, Spent, Verbatim, VerdictKind, decide, todo_items,
};
use process::Env;
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

mod checking;
mod day;
mod launch;
mod ledger;
mod review;
mod work;

use work::{Activity, ActivityEvent};

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Runs(#[from] RunsError),
    #[error("run {0} is done; start a new one with 'ralph'")]
    AlreadyDone(String),
    #[error("{} cannot be written: {source}", file.display())]
    Record { file: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Runs the loop to its verdict. Everything that happens goes to `sinks`.
pub async fn run(
    job: Job,
    sinks: &mut [Box<dyn Sink>],
    commands: &mut mpsc::Receiver<Command>,
) -> Result<VerdictKind, RunError> {
    let (mut run_loop, first) = RunLoop::prepare(job, sinks).await?;
    let mut inputs = VecDeque::from([first]);
    let mut listening = true;
    loop {
        while let Some(input) = inputs.pop_front() {
            let effects = decide(&mut run_loop.state, input, now());
            for effect in effects {
                if let Effect::End(verdict) = effect {
                    run_loop.end();
                    return Ok(verdict);
                }
                inputs.extend(run_loop.perform(effect).await);
            }
        }
        let asking = run_loop.state.is_asking();
        let happened = tokio::select! {
            biased;
            command = commands.recv(), if listening => ActivityEvent::Command(command),
            command = next_socket_command(&mut run_loop.run_socket) => ActivityEvent::Command(Some(command)),
            answer = answers::next(&run_loop.job.folder, &run_loop.run), if asking => {
                ActivityEvent::Command(Some(Command::Answer(answer)))
            }
            happened = run_loop.activity.next() => happened,
            () = until(run_loop.wake) => ActivityEvent::Tick,
        };
        if matches!(happened, ActivityEvent::Command(None)) {
            listening = false;
        }
        inputs.extend(run_loop.react(happened).await);
    }
}

/// The next command from the run's socket, where there is one.
async fn next_socket_command(run_socket: &mut Option<Server>) -> Command {
    match run_socket {
        Some(server) => server.next_command().await,
        None => std::future::pending().await,
    }
}

fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// Clocks jump and machines sleep: a long wait looks at the clock again and again. Often enough for a
/// countdown, too.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

async fn until(wake: Option<u64>) {
    match wake {
        Some(at) => tokio::time::sleep(Duration::from_millis(at.saturating_sub(now())).min(LOOK_AGAIN)).await,
        None => std::future::pending().await,
    }
}

/// The sandbox of the agent in words, and the part that is not confined. An agent that is not ours starts its
/// commands by itself, so all of it is confined.
fn sandbox_summary(job: &Job) -> (Option<String>, Option<String>) {
    let level = job.settings.sandbox.name();
    match (job.settings.sandbox, &job.confined) {
        (SandboxMode::Off, _) => (None, Some("no sandbox".into())),
        (_, Some(_)) => (Some(format!("{level}, around the whole agent")), None),
        (_, None) if job.backend.is_ours() => (Some(format!("{level}, around its commands")), None),
        (_, None) => {
            let open = format!("the sandbox holds checks, but not the commands of {}", job.backend.name);
            (None, Some(open))
        }
    }
}

/// The state that a resumed run starts from; empty for a new run.
#[derive(Default)]
struct ResumedRun {
    memory: Memory,
    /// An iteration that was cut off by the end of the process.
    torn: Option<Box<IterationReport>>,
    backend: Option<String>,
}

fn load_resumed(job: &Job) -> Result<ResumedRun, RunError> {
    let Some(id) = &job.resume else { return Ok(ResumedRun::default()) };
    let info = runs::load_priced(&job.folder, id, job.price)?;
    if info.memory.verdict.as_ref().is_some_and(|verdict| verdict.verdict == VerdictKind::Done) {
        return Err(RunError::AlreadyDone(id.clone()));
    }
    Ok(ResumedRun { memory: info.memory, torn: info.torn, backend: info.start.map(|start| start.backend) })
}

fn plan(job: &Job, has_checks: bool) -> Plan {
    let offset = i64::from(jiff::Timestamp::now().to_zoned(job.zone.clone()).offset().seconds()) * 1000;
    let attended = job.attended || job.settings.waits_for_answers();
    let wait_max_ms = job.rehearsal.as_ref().map(|_| rehearsal::WAIT.as_millis() as u64);
    let review_rounds = job.reviewer.as_ref().map_or(0, |_| job.settings.review_rounds);
    let stand_by = |way: &crate::Fallback| cycle::FallbackModel { name: way.name.clone(), model: way.model.clone() };
    let fallback = job.fallback.iter().map(stand_by).collect();
    Plan { wait_max_ms, review_rounds, fallback, ..job.settings.plan(has_checks, attended, offset) }
}

struct RunLoop<'a> {
    job: Job,
    env: Env,
    git: Option<Git>,
    checks: Vec<Check>,
    recorder: Recorder,
    sinks: &'a mut [Box<dyn Sink>],
    state: LoopState,
    activity: Activity,
    wake: Option<u64>,
    run: String,
    before: Option<Snapshot>,
    /// The transport to the agent.
    transport_choice: TransportChoice,
    /// The agent writes nothing before the end of its input, so its input is closed at once.
    reads_all: bool,
    /// The amount that this run has added to the person's account, and its day.
    noted: (i64, Spent),
    /// Issues that were in work before this run: somebody else's.
    in_work_before: BTreeSet<String>,
    /// A person has asked for the end after this iteration.
    stop_was_asked: bool,
    /// The number of the fallback that the last agent used; 0 is the run's own model.
    way: usize,
    /// The socket of the run. Declared before the lock, so that it is closed before another run can begin.
    run_socket: Option<Server>,
    _lock: Lock,
}

impl<'a> RunLoop<'a> {
    /// Prepares the run, and returns its first input.
    async fn prepare(job: Job, sinks: &'a mut [Box<dyn Sink>]) -> Result<(Self, Input), RunError> {
        let stamp = jiff::Timestamp::now().to_zoned(job.zone.clone()).strftime("%Y%m%d-%H%M%S").to_string();
        let run = match &job.resume {
            Some(id) => id.clone(),
            None => fresh_id(&job, &stamp),
        };
        let owner = format!("process {}, run {run}", std::process::id());
        let lock = Lock::take(&job.folder, &owner)?;
        let ignored = init::ignore_logs(&job.folder);
        let ignored = ignored.err().map(|error| format!(".ralph/.gitignore cannot be written: {error}"));
        retention::prune(&job.folder, &job.settings, job.resume.as_deref());
        let ResumedRun { memory, torn, backend: known_backend } = load_resumed(&job)?;
        let sources = prompt::read(&job.folder, &job.settings).map_err(StartError::from)?;
        let mut env = job.env.clone();
        let warning = direnv::merge(&mut env, job.folder.root()).await;
        let git = Git::open(job.folder.root(), &env, job.rules.as_ref()).await;
        let checks = checks::list(&job.folder, &job.settings);
        let recorder = Recorder::open(&job.folder, &run, &stamp, &env, &job.zone)
            .map_err(|source| RunError::Record { file: job.folder.events(&run), source })?;
        let runtime = get(&env, "XDG_RUNTIME_DIR").map(PathBuf::from);
        let (run_socket, unreachable) = match Server::open(&job.folder, &run, job.price, runtime.as_deref()) {
            Ok(server) => (Some(server), None),
            Err(error) => (None, Some(format!("this run cannot be reached from outside: {error}"))),
        };
        let checks = checks::fixed(checks, &job, &run, git.as_ref()).await?;
        let snapshot = match &git {
            Some(git) => git.snapshot().await,
            None => None,
        };
        let tree = snapshot.as_ref().map(|snapshot| snapshot.tree);
        let plan = plan(&job, !checks.is_empty());
        let resumed = job.resume.is_some().then(|| resumed(&memory));
        let mut state = LoopState::new(plan, memory, Spent::default(), tree, now());
        let today = job.account.as_ref().map(|file| day::read(file, state.day()));
        state.set_day_others(today.unwrap_or_default());
        let in_work_before = issues::in_work(&job.folder).into_iter().collect();
        let title = prompt::title(&sources, &job.folder.root().display().to_string());
        let (sandbox, unconfined) = sandbox_summary(&job);
        let started = RunStarted {
            schema: SCHEMA,
            run: run.clone(),
            folder: job.folder.root().display().to_string(),
            title,
            backend: job.backend.name.clone(),
            model: job.settings.model.clone(),
            limits: job.settings.limits(),
            checks: checks.iter().map(|check| check.command.clone()).collect(),
            head: snapshot.and_then(|snapshot| snapshot.head),
            resumed,
            sandbox,
            unconfined,
            flags: job.flags.clone(),
        };
        // The remembered transport is used only for the same backend.
        let found = state.memory().transport.filter(|_| known_backend.as_ref() == Some(&job.backend.name));
        let transport_choice = TransportChoice::new(job.backend.known, job.settings.pty_mode, found);
        let activity = Activity::Nothing;
        let mut run_loop = Self {
            job,
            env,
            git,
            checks,
            recorder,
            sinks,
            state,
            activity,
            wake: None,
            run,
            before: None,
            transport_choice,
            reads_all: false,
            noted: (0, Spent::default()),
            in_work_before,
            stop_was_asked: false,
            way: 0,
            run_socket,
            _lock: lock,
        };
        run_loop.emit(EventKind::RunStarted(Box::new(started)));
        if let Some(work) = run_loop.job.work.take() {
            run_loop.emit(EventKind::Work(work));
        }
        let prompt_warnings = prompt::prompt_warnings(&sources);
        let uncommitted = run_loop.job.settings.commit && run_loop.git.is_none();
        let uncommitted = uncommitted.then(|| "nothing is committed: this folder is no git repository".to_owned());
        for text in std::mem::take(&mut run_loop.job.warnings)
            .into_iter()
            .chain(ignored)
            .chain(unreachable)
            .chain(warning)
            .chain(uncommitted)
            .chain(prompt_warnings)
        {
            run_loop.emit(EventKind::Warning { iteration: None, text });
        }
        let Some(mut torn) = torn else { return Ok((run_loop, Input::Start)) };
        torn.open_work = run_loop.open_work(&torn.output).await;
        Ok((run_loop, Input::Recovered(torn)))
    }

    /// An event of our own: remembered, recorded, shown.
    fn emit(&mut self, kind: EventKind) {
        let event = kind.at(now());
        self.state.remember(&event);
        self.publish(&event, false);
    }

    fn publish(&mut self, event: &LoopEvent, derived: bool) {
        let trouble = self.recorder.event(event, derived);
        for sink in self.sinks.iter_mut() {
            sink.event(event);
        }
        if let Some(run_socket) = &self.run_socket {
            run_socket.note(event, self.recorder.seq(), self.recorder.is_whole());
        }
        if let Some(text) = trouble {
            let warning = EventKind::Warning { iteration: None, text }.at(event.at);
            for sink in self.sinks.iter_mut() {
                sink.event(&warning);
            }
        }
    }

    fn emit_derived(&mut self, kinds: Vec<EventKind>) {
        for kind in kinds {
            self.publish(&kind.at(now()), true);
        }
    }

    /// Executes an effect, and returns the input that follows from it at once.
    async fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Emit(kind) => {
                let ended = matches!(kind, EventKind::IterationEnded { .. });
                if matches!(kind, EventKind::Question(_)) {
                    answers::forget(&self.job.folder, &self.run);
                }
                // Remembered when it was decided.
                self.publish(&kind.at(now()), false);
                if ended {
                    self.note_day();
                    self.show_todo();
                }
            }
            Effect::StartAgent(start) => return self.start(*start).await,
            Effect::Say(text) => {
                if let Activity::Agent(work) = &mut self.activity {
                    work.running.send(&text);
                }
            }
            Effect::CloseInput => {
                if let Activity::Agent(work) = &mut self.activity {
                    work.running.close_input();
                }
            }
            Effect::StopAgent => {
                if let Activity::Agent(work) | Activity::Summary(work, _) = &mut self.activity {
                    work.running.stop();
                }
            }
            Effect::RunChecks { iteration } => return self.check(iteration, Vec::new()),
            Effect::Review { usd, .. } => return self.review(usd).await,
            Effect::Summarise { through, earlier, entries } => {
                return self.summarise(through, &summary::prompt(earlier.as_deref(), &entries));
            }
            Effect::Commit { iteration, summary } => self.commit(iteration, &summary).await,
            Effect::Wake(at) => self.wake = Some(at),
            Effect::End(_) => {}
        }
        None
    }

    fn show_todo(&mut self) {
        let todo = prompt::read(&self.job.folder, &self.job.settings).ok().and_then(|sources| sources.todo);
        let items = todo.map(|todo| todo_items(&todo)).unwrap_or_default();
        let items = if items.is_empty() { issues::items(&self.job.folder) } else { items };
        if !items.is_empty() {
            self.emit(EventKind::Todo { items });
        }
    }

    fn end(&mut self) {
        self.activity = Activity::Nothing;
        self.note_day();
    }
}

fn resumed(memory: &Memory) -> Resumed {
    Resumed {
        iterations: memory.iterations,
        cost_usd: memory.spent.usd,
        tokens: memory.spent.tokens,
        elapsed_ms: memory.spent.time_ms,
    }
}

/// Sorts by time; two runs in one second get different names.
fn fresh_id(job: &Job, stamp: &str) -> String {
    let taken = |id: &String| job.folder.run(id).exists();
    let numbered = (2..).map(|count| format!("{stamp}-{count}"));
    std::iter::once(stamp.to_owned()).chain(numbered).find(|id| !taken(id)).unwrap_or_default()
}
