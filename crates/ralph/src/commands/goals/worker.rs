//! `ralph work`: wires a worker to this machine.

use super::common::place;
use crate::failure::{Ended, Failure};
use crate::say;
use arguments::LoopOptions;
use goals::command_line::{self, WorkArguments};
use goals::{GoalError, ReviewCommand, Reviewer, Target, WorkEnd, WorkOptions};
use resolve::{Environment, hangup_is_ignored, runtime};
use runner::{SandboxMode, Settings};
use sandbox::Rules;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use wire::ExitCode;

/// For what agents left running, at the very end.
const GRACE: Duration = Duration::from_secs(2);

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let options = options(&command_line::work(words)?, environment)?;
    runtime()?.block_on(async {
        process::adopt_orphans();
        process::harden();
        let (tell, stop) = watch::channel(false);
        let listening = tokio::spawn(listen(tell));
        let done = goals::work(options, stop).await;
        process::end_all(GRACE).await;
        let by_signal = listening.is_finished();
        Ok(match done? {
            WorkEnd::Drained => ExitCode::Success,
            WorkEnd::Stopped if by_signal => ExitCode::Terminated,
            WorkEnd::Stopped => ExitCode::Interrupted,
        })
    })
}

/// Any of them ends the worker in order. A second one changes nothing: every wait on the way out is short.
async fn listen(tell: watch::Sender<bool>) {
    let stays = hangup_is_ignored();
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    let mut hangup = if stays { None } else { signal(SignalKind::hangup()).ok() };
    let hung_up = async {
        match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        }
    };
    let interrupted = tokio::select! {
        _ = interrupt.recv() => true,
        _ = terminate.recv() => false,
        _ = hung_up => false,
    };
    let _ = tell.send(true);
    if interrupted {
        // Not finished: that is how the end tells the two apart.
        std::future::pending::<()>().await;
    }
}

fn options(wanted: &WorkArguments, environment: &Environment) -> Result<WorkOptions, Failure> {
    let none = || Failure::settings("there is no home folder to keep clones in").hint("Set RALPH_STATE.");
    let state = environment.state_folder().ok_or_else(none)?;
    // Clones are nobody else's to look into.
    let mut private = std::fs::DirBuilder::new();
    private
        .recursive(true)
        .mode(0o700)
        .create(&state)
        .map_err(|error| Failure::failed(format!("{} cannot be made: {error}.", state.display())))?;
    let state = state.canonicalize().unwrap_or(state);
    let file = runner::Folder::new(&environment.cwd).config();
    let configured = Settings::load(&file, &LoopOptions::default())?;
    let notify = if wanted.notify.is_empty() { configured.notify } else { wanted.notify.clone() };
    let (for_rules, for_review) = (environment.clone(), environment.clone());
    let (for_trust, for_forget) = (environment.clone(), environment.clone());
    Ok(WorkOptions {
        place: place(environment)?,
        state,
        slots: wanted.slots,
        drain: wanted.drain,
        lease: wanted.lease,
        host: host(),
        exe: environment.exe.clone(),
        env: environment.vars.clone(),
        rules: Box::new(move |folder| rules(folder, &for_rules).map_err(|failure| no_start(&failure))),
        trust_clone: Box::new(move |repo, clone| {
            trust_clone(repo, clone, &for_trust).map_err(|failure| no_start(&failure))
        }),
        forget_clone: Box::new(move |folder| {
            // A record that stays behind names a folder that does not exist: it allows nothing.
            let _ = settings::forget_trust(&resolve::places(&for_forget), folder);
        }),
        reviewer: Box::new(move |reviewer, folder| {
            reviewer_command(reviewer, folder, &for_review).map_err(|failure| no_start(&failure))
        }),
        say: {
            let json = wanted.json;
            Box::new(
                move |line| if json { say::err(line) } else { say::out(&format!("{}\n", cycle::clean::line(line))) },
            )
        },
        ended: {
            let json = wanted.json;
            Box::new(move |goal| {
                if json {
                    say::out(&format!("{}\n", super::common::as_json(goal)));
                }
            })
        },
        notify: notify.iter().map(|text| Target::parse(text)).collect(),
        terminal: Box::new(say::out),
        die_at: environment.get("RALPH_TEST_DIE_AT").filter(|_| cfg!(debug_assertions)).map(str::to_owned),
    })
}

/// For a goal that waits: what failed, as its problem.
fn no_start(failure: &Failure) -> GoalError {
    GoalError::Start(failure.reason())
}

/// This machine's name, by which its folders are told from those of others.
pub fn host() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let read = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
    read.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

/// What checks may do in a clone: what the loop's checks may there.
fn rules(folder: &Path, environment: &Environment) -> Result<Option<Rules>, Failure> {
    let there = environment.in_folder(folder);
    let settings = Settings::load(&runner::Folder::new(folder).config(), &LoopOptions::default())?;
    if settings.sandbox == SandboxMode::Off {
        let policy = resolve::sandbox_is_policy(&there)?;
        return policy.map_or(Ok(None), |why| Err(Failure::settings(why)));
    }
    Ok(resolve::confined_checks(&there, &mut Vec::new())?)
}

/// The one place where a clone inherits the trust of its repository; goals of repositories that nobody vouched for never
/// come here. A folder of this machine must be trusted still; an address was vouched for with the goal (`--trust`).
fn trust_clone(repo: &str, clone: &Path, environment: &Environment) -> Result<(), Failure> {
    if !goals::is_local(repo) {
        let there = resolve::places(&environment.in_folder(clone));
        return Ok(settings::trust(&there).map(drop)?);
    }
    let source = resolve::places(&environment.in_folder(Path::new(repo)));
    if settings::inherit_trust(&source, clone)? {
        return Ok(());
    }
    let what_to_do = "run 'ralph trust' there, then 'ralph goal retry'";
    Err(Failure::settings(format!("{repo} is not trusted any more; {what_to_do}")))
}

fn reviewer_command(reviewer: &Reviewer, folder: &Path, environment: &Environment) -> Result<ReviewCommand, Failure> {
    let command = crate::commands::loop_review::command(reviewer, folder, environment, &environment.vars)?;
    let runner::Reviewer { program, args, env, sandbox } = command;
    Ok(ReviewCommand { program, args, env, sandbox })
}
