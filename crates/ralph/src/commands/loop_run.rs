//! `ralph [N]` and `ralph resume`: wires the loop to this machine.

use super::loop_rehearse::Fault;
use super::{
    loop_ask, loop_detach, loop_fallback, loop_init, loop_prices, loop_rehearse, loop_replay, loop_resume, loop_screen,
    loop_signals, loop_telemetry,
};
use crate::failure::{Ended, Failure};
use crate::say;
use agent::StdinKind;
use arguments::loop_flags;
use cycle::{EventKind, LoopEvent, VerdictKind};
use jiff::tz::TimeZone;
use resolve::{Environment, runtime, stdin_kind};
use runner::{Auth, Folder, Job, JsonSink, PlainSink, SandboxMode, Settings, Sink};
use sandbox::{Level, Rules};
use settings::Found;
use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use wire::ExitCode;

/// Commands from signals and people; nobody types faster.
const COMMANDS_MAX: usize = 16;
/// For what agents left running, at the very end.
const GRACE: Duration = Duration::from_secs(2);
/// For a screen that closes by itself; a terminal that takes no bytes never lets it.
const SCREEN_CLOSES: Duration = Duration::from_secs(1);

pub fn run(words: &[String], environment: &Environment) -> Ended {
    started(words, environment, None)
}

/// `ralph resume [RUN] [options]`.
pub fn resume(words: &[String], environment: &Environment) -> Ended {
    let (name, flags) = match words.split_first() {
        Some((first, rest)) if !first.starts_with('-') => (Some(first.as_str()), rest),
        _ => (None, words),
    };
    let help = words.iter().any(|word| matches!(word.as_str(), "-h" | "--help"));
    if help {
        return started(&["--help".to_owned()], environment, None);
    }
    let id = runner::find(&Folder::new(&environment.cwd), name)?;
    started(flags, environment, Some(&id))
}

fn started(words: &[String], environment: &Environment, resume: Option<&str>) -> Ended {
    let wanted = loop_flags::parse(words)?;
    let faults = wanted.faults.iter().map(|fault| Fault::parse(fault));
    let faults = faults.collect::<Result<Vec<Fault>, _>>().map_err(Failure::usage)?;
    if wanted.help {
        say::out(&loop_flags::help());
        return Ok(ExitCode::Success);
    }
    if let Some(file) = &wanted.replay {
        let is_on = |switch: Option<bool>| switch == Some(true);
        let show = Show::choose(is_on(wanted.options.json), is_on(wanted.options.no_tui), environment);
        return loop_replay::run(file, show, environment);
    }
    match job(&wanted, environment, resume.map(str::to_owned))? {
        Some(job) if wanted.detach => loop_detach::run(words, resume, job.settings.json, environment),
        Some(job) => go(job, &wanted, &faults, environment),
        // Nothing is wrong: a person was shown what to do next.
        None => Ok(ExitCode::Success),
    }
}

fn go(mut job: Job, wanted: &loop_flags::Wanted, faults: &[Fault], environment: &Environment) -> Ended {
    let show = Show::choose(job.settings.json, job.settings.no_tui, environment);
    job.attended = show == Show::Screen;
    // Words appear on a screen as they come.
    job.settings.live |= show == Show::Screen;
    let rehearsal = wanted.rehearse.as_deref();
    let rehearsal = rehearsal.map(|file| loop_rehearse::prepare(file, faults, &mut job, environment));
    let director = rehearsal.transpose()?;
    // A rehearsal asks nobody but its script.
    if wanted.rehearse.is_none() {
        let lookup = |name: &str| environment.get(name).map(str::to_owned);
        job.fallback = loop_fallback::resolve(&job.settings.fallback, &lookup).map_err(Failure::settings)?;
    }
    hold(&mut job, environment)?;
    super::loop_review::add(&mut job, environment)?;
    let watch = job.settings.watch;
    let calls = goals::Calls::new(&job.settings.notify, &job.env, job.folder.root(), say::out, say::err);
    let calls = calls.map(|mut calls| Box::new(move |event: &LoopEvent| calls.event(event)) as Box<dyn Sink>);
    let more = director.into_iter().chain(calls).collect();
    runtime()?.block_on(traced(job, show, watch, more, environment))
}

/// The run with its export: beside its work, and once more at its end.
async fn traced(
    mut job: Job,
    show: Show,
    watch: bool,
    mut more: Vec<Box<dyn Sink>>,
    environment: &Environment,
) -> Ended {
    let (telemetry, helper) = loop_telemetry::open(environment);
    if !telemetry.is_on() {
        return Box::pin(drive(job, show, watch, more)).await;
    }
    let trace = runner::RunTrace::new(&telemetry);
    job.trace = telemetry.traces().then_some(trace);
    more.push(Box::new(runner::Spans::new(telemetry.clone(), trace)));
    let exporting = telemetry::Exporting::start(telemetry, helper).await;
    let exit = Box::pin(drive(job, show, watch, more)).await;
    // What the console exporter has to say would not be a line of the loop's, so it is not printed.
    exporting.finish().await;
    exit
}

/// `None` where a person was shown what to do before there can be a job.
fn job(wanted: &loop_flags::Wanted, environment: &Environment, resume: Option<String>) -> Result<Option<Job>, Failure> {
    let folder = Folder::new(&environment.cwd);
    let resume = resume.or_else(|| wanted.go_on.then(|| loop_resume::unfinished(&folder)).flatten());
    let options = loop_resume::options(wanted, &folder, resume.as_deref())?;
    let settings = Settings::load(&folder.config(), &options)?;
    // Before the question of trust: whoever sets a loop up here answers that, too.
    if settings.goal.is_none() && folder.find_prompt(settings.prompt.as_deref()).is_none() {
        offer_init(&settings, environment)?;
        return Ok(None);
    }
    if let Some(what) = runner::unedited(&folder, &settings).filter(|_| resume.is_none()) {
        return Err(Failure::settings(format!("{what}.")));
    }
    require_trust(environment)?;
    let path = environment.raw("PATH").unwrap_or_default();
    // A rehearsal is with our own agent, unless another one is named.
    let wish = if wanted.rehearse.is_some() && settings.backend == "auto" { "builtin" } else { &settings.backend };
    let backend = runner::choose(wish, &environment.exe, &environment.cwd, path.as_ref())?;
    let auth = auth(&settings, &backend.name, environment);
    let mut warnings = Vec::new();
    let rules = confined(&settings, environment, &mut warnings)?;
    let beads_socket = beads_socket(&folder, &settings, environment)?;
    Ok(Some(Job {
        folder,
        settings,
        backend,
        auth,
        env: environment.vars.clone(),
        rules,
        confined: None,
        beads_socket,
        reviewer: None,
        warnings,
        zone: TimeZone::system(),
        account: Some(resolve::places(environment).config_dir.join("ralph").join("day.json")),
        work: None,
        resume,
        attended: false,
        flags: loop_resume::record(options, wanted.rehearse.as_deref()),
        price: loop_prices::usd,
        fallback: Vec::new(),
        trace: None,
        rehearsal: None,
    }))
}

/// What checks may do, and what people should know about it.
fn confined(
    settings: &Settings,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Option<Rules>, Failure> {
    if settings.sandbox == SandboxMode::Off {
        let policy = resolve::sandbox_is_policy(environment)?;
        return policy.map_or(Ok(None), |why| Err(Failure::settings(why)));
    }
    Ok(resolve::confined_checks(environment, warnings)?)
}

/// The one socket that agents in the sandbox may reach: of the daemon whose issues the loop waits for.
fn beads_socket(folder: &Folder, settings: &Settings, environment: &Environment) -> Result<Option<PathBuf>, Failure> {
    if !settings.watch || settings.sandbox == SandboxMode::Off {
        return Ok(None);
    }
    let policy = resolve::sandbox_is_policy(environment)?;
    Ok(runner::beads_socket(folder).filter(|_| policy.is_none()))
}

/// The box around an agent that is not ours.
fn hold(job: &mut Job, environment: &Environment) -> Result<(), Failure> {
    let level = match job.settings.sandbox {
        SandboxMode::Off => return Ok(()),
        SandboxMode::ReadOnly => Level::ReadOnly,
        SandboxMode::Workspace => Level::Workspace,
    };
    if job.backend.is_ours() {
        return Ok(());
    }
    let foreign = resolve::Foreign {
        name: &job.backend.name,
        level,
        env: &job.env,
        keeps: &job.settings.keep_env,
        beads_socket: job.beads_socket.clone(),
    };
    job.confined = Some(resolve::held(&foreign, environment, &mut job.warnings)?);
    Ok(())
}

/// An agent works here unattended, so somebody has to have said that the folder is trusted.
fn require_trust(environment: &Environment) -> Result<(), Failure> {
    let places = resolve::places(environment);
    let trust = settings::trust_state(&places);
    if let settings::Trust::Path(_) = trust {
        // From before, or of a repository without a commit: from now on its first commit counts as well. Where that
        // cannot be written down, the record counts as it is.
        let _ = settings::trust(&places);
    }
    if trust.is_trusted() {
        return Ok(());
    }
    let here = environment.cwd.display();
    if loop_ask::yes(&format!("{here} is not trusted.\nAgents will work in it on their own. Trust it?")) {
        settings::trust(&places)?;
        return Ok(());
    }
    let why = format!("{here} is not trusted, and agents would work in it on their own");
    Err(Failure::settings(why).hint("Run 'ralph trust' first."))
}

/// Sets a loop up where a person wants that, and says what to do next.
fn offer_init(settings: &Settings, environment: &Environment) -> Result<(), Failure> {
    if let Some(prompt) = &settings.prompt {
        return Err(Failure::settings(format!("the prompt {} is not there.", prompt.display())));
    }
    if loop_ask::yes("No .ralph/prompt.md or docs/PROMPT.md here. Run 'ralph init' now?") {
        return loop_init::run(environment).map(drop);
    }
    let why = Failure::settings("there is no .ralph/prompt.md (or docs/PROMPT.md) here");
    Err(why.hint("Run 'ralph init', edit the files it makes, and start again."))
}

/// A `claude` is given the key that we would use; our own agent finds it by itself.
fn auth(settings: &Settings, backend: &str, environment: &Environment) -> Auth {
    if settings.wants_login() {
        return Auth::Login;
    }
    // Another vendor's agent has no use for the key, and must not get it.
    if backend == "builtin" || runner::acp_command(backend).is_some() {
        return Auth::Ambient;
    }
    let chosen = resolve::credentials_only(None, environment).ok().and_then(|resolution| resolution.chosen);
    match chosen.map(|chosen| chosen.found) {
        Some(Found::ApiKey(key) | Found::ApiKeyFile(key)) => Auth::Key(key.expose().to_owned()),
        _ => Auth::Ambient,
    }
}

/// Where a run is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Show {
    Plain,
    Json,
    Screen,
}

impl Show {
    /// A screen where somebody sits in front of one.
    pub fn choose(json: bool, plain: bool, environment: &Environment) -> Self {
        let can_draw = environment.stdout_is_terminal && environment.get("TERM") != Some("dumb");
        let somebody = can_draw && stdin_kind(false) == StdinKind::Terminal;
        match (json, plain || !somebody) {
            (true, _) => Self::Json,
            (false, true) => Self::Plain,
            (false, false) => Self::Screen,
        }
    }

    /// With `zone`, plain lines begin with the time there.
    pub fn sink(self, zone: Option<TimeZone>) -> Box<dyn Sink> {
        match self {
            Self::Json => Box::new(JsonSink::new(Stdout)),
            _ => Box::new(PlainSink::new(Stdout).with_times(zone)),
        }
    }
}

/// Runs a job to its verdict, under the signals of this process. `more` sees every event first.
pub async fn drive(mut job: Job, show: Show, watch: bool, more: Vec<Box<dyn Sink>>) -> Ended {
    process::adopt_orphans();
    process::watch_over();
    // What a run left behind that was killed together with its watcher.
    std::thread::spawn(process::sweep);
    process::harden();
    let (sender, mut receiver) = mpsc::channel(COMMANDS_MAX);
    let (sink, left) = match show {
        Show::Screen => {
            let screen = loop_screen::open(sender.clone(), job.settings.stay);
            (screen.sink, Some(screen.left))
        }
        other => (other.sink(job.settings.timestamps.then(|| job.zone.clone())), None),
    };
    loop_signals::listen(sender);
    let signals = if left.is_some() { EndSignals::open() } else { None };
    let suspending = tokio::spawn(process::follow_suspensions());
    let last = Rc::new(RefCell::new(None));
    let kept = Rc::clone(&last);
    let keep = move |event: &LoopEvent| {
        if matches!(event.kind, EventKind::Verdict(_)) {
            kept.replace(Some(event.clone()));
        }
    };
    let mut sink = sink;
    if let Some(id) = job.resume.as_ref().filter(|_| show == Show::Screen) {
        // The screen shows what the run did before. What cannot be read is only not shown.
        let _ = runner::replay(&job.folder.events(id), job.price, |event| sink.event(event));
    }
    let mut sinks: Vec<Box<dyn Sink>> = more.into_iter().chain([sink, Box::new(keep) as Box<dyn Sink>]).collect();
    let verdict = loop {
        let verdict = Box::pin(runner::run(job.clone(), &mut sinks, &mut receiver)).await;
        if !(watch && matches!(verdict, Ok(VerdictKind::Done))) {
            break verdict;
        }
        job.work = runner::wait_for_work(&job, &mut sinks, &mut receiver).await;
        if job.work.is_none() {
            break verdict;
        }
        job.resume = None;
    };
    drop(sinks);
    suspending.abort();
    process::end_all(GRACE).await;
    if let Some(left) = left {
        let leaves =
            !job.settings.stay || matches!(verdict, Err(_) | Ok(VerdictKind::Interrupted | VerdictKind::Terminated));
        if !wait_for_screen(left, leaves, signals).await {
            // Whatever is said now would wait for ever in a terminal that takes no bytes.
            return Ok(verdict.map_or(ExitCode::Failure, VerdictKind::exit));
        }
        // The screen is gone with all it showed; its last line stays.
        if let Some(event) = last.take() {
            Show::Plain.sink(None).event(&event);
        }
    }
    Ok(verdict?.exit())
}

/// Signals that end a screen. Opened before a run, so that none is missed between the verdict and the wait for a look.
pub struct EndSignals {
    terminate: Signal,
    hangup: Signal,
}

impl EndSignals {
    pub fn open() -> Option<Self> {
        Some(Self { terminate: signal(SignalKind::terminate()).ok()?, hangup: signal(SignalKind::hangup()).ok()? })
    }

    /// Waits for one, also for one that came before. For ever where they cannot be received.
    pub async fn next(signals: &mut Option<Self>) {
        let Some(signals) = signals else { return std::future::pending().await };
        tokio::select! {
            _ = signals.terminate.recv() => {}
            _ = signals.hangup.recv() => {}
        }
    }
}

/// Until the screen is left, or the process is told to end. Without `--stay`, and after a run that somebody ended
/// or that could not begin, the screen leaves by itself. Says whether the terminal was given back.
pub async fn wait_for_screen(left: oneshot::Receiver<()>, leaves: bool, mut signals: Option<EndSignals>) -> bool {
    tokio::select! {
        _ = left => {}
        () = EndSignals::next(&mut signals) => {}
        () = tokio::time::sleep(SCREEN_CLOSES), if leaves => {}
    }
    tui::restore()
}

/// The commands' one way to stdout, for sinks. A reader that left is no error.
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        say::out(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
