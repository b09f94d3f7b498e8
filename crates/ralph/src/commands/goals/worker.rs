//! `ralph work`: wires a worker to this machine.

use super::arguments::{self, WorkArguments};
use super::common::{Refusal, place, refuse};
use crate::environment::{Environment, hangup_is_ignored};
use crate::runtime::runtime;
use crate::{resolve, say};
use goals::{ReviewCommand, Reviewer, Target, WorkEnd, WorkOptions};
use runner::{SandboxWish, Settings};
use sandbox::Rules;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use wire::ExitCode;

/// For what agents left running, at the very end.
const GRACE: Duration = Duration::from_secs(2);

pub fn run(words: &[String], environment: &Environment) -> ExitCode {
    let wanted = match arguments::work(words) {
        Ok(wanted) => wanted,
        Err(line) => return refuse(&Refusal(line)),
    };
    let options = match options(&wanted, environment) {
        Ok(options) => options,
        Err(refusal) => return refuse(&refusal),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    runtime.block_on(async {
        process::adopt_orphans();
        process::harden();
        let (tell, stop) = watch::channel(false);
        let listening = tokio::spawn(listen(tell));
        let done = goals::work(options, stop).await;
        process::end_all(GRACE).await;
        let by_signal = listening.is_finished();
        match done {
            Ok(WorkEnd::Drained) => ExitCode::Success,
            Ok(WorkEnd::Stopped) if by_signal => ExitCode::Terminated,
            Ok(WorkEnd::Stopped) => ExitCode::Interrupted,
            Err(error) => refuse(&error.into()),
        }
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

fn options(wanted: &WorkArguments, environment: &Environment) -> Result<WorkOptions, Refusal> {
    let state = environment
        .state_folder()
        .ok_or_else(|| Refusal("error: there is no home folder to keep clones in. Set RALPH_STATE.".into()))?;
    // Clones are nobody else's to look into.
    let mut private = std::fs::DirBuilder::new();
    private
        .recursive(true)
        .mode(0o700)
        .create(&state)
        .map_err(|error| Refusal(format!("error: {} cannot be made: {error}.", state.display())))?;
    let state = state.canonicalize().unwrap_or(state);
    let file = runner::Folder::new(&environment.cwd).config();
    let configured = Settings::load(&file, toml::Table::new()).map_err(|error| Refusal(format!("error: {error}")))?;
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
        rules: Box::new(move |folder| rules(folder, &for_rules)),
        trust_clone: Box::new(move |repo, clone| trust_clone(repo, clone, &for_trust)),
        forget_clone: Box::new(move |folder| {
            // A record that stays behind names a folder that does not exist: it allows nothing.
            let _ = settings::forget_trust(&resolve::places(&for_forget), folder);
        }),
        reviewer: Box::new(move |reviewer, folder| reviewer_command(reviewer, folder, &for_review)),
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

/// This machine's name, by which its folders are told from those of others.
pub fn host() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let read = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
    read.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

/// What checks may do in a clone: what the loop's checks may there.
fn rules(folder: &Path, environment: &Environment) -> Result<Option<Rules>, String> {
    let there = environment.in_folder(folder);
    let settings =
        Settings::load(&runner::Folder::new(folder).config(), toml::Table::new()).map_err(|error| error.to_string())?;
    if settings.sandbox == SandboxWish::Off {
        let policy = resolve::sandbox_is_policy(&there).map_err(|refusal| refusal.text)?;
        return policy.map_or(Ok(None), |why| Err(why.to_owned()));
    }
    resolve::confined_checks(&there, &mut Vec::new()).map_err(|refusal| refusal.text)
}

/// The one place where a clone inherits the trust of its repository; goals of repositories that nobody vouched for never
/// come here. A folder of this machine must be trusted still; an address was vouched for with the goal (`--trust`).
fn trust_clone(repo: &str, clone: &Path, environment: &Environment) -> Result<(), String> {
    if !goals::is_local(repo) {
        let there = resolve::places(&environment.in_folder(clone));
        return settings::trust(&there).map(drop).map_err(|error| error.to_string());
    }
    let source = resolve::places(&environment.in_folder(Path::new(repo)));
    match settings::inherit_trust(&source, clone) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{repo} is not trusted any more; run 'ralph trust' there, then 'ralph goal retry'")),
        Err(error) => Err(error.to_string()),
    }
}

fn reviewer_command(reviewer: &Reviewer, folder: &Path, environment: &Environment) -> Result<ReviewCommand, String> {
    let command = crate::commands::loop_review::command(reviewer, folder, environment, &environment.vars)?;
    let runner::Reviewer { program, args, env, sandbox } = command;
    Ok(ReviewCommand { program, args, env, sandbox })
}
