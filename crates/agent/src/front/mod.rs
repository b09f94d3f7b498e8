//! The front: reads prompts, runs turns, answers signals, and ends the process in order.
//!
//! Lines from stdin are taken at any moment, also while a turn runs; end of input means "finish what
//! is queued, then exit". Exactly one result ends every turn, whatever happened in it.

mod builtin;
mod desk;
mod failed;
mod opening;
mod recall;
mod slash;
mod stdin;
mod suggest;
mod user_turn;
mod writer;

pub use builtin::COMMANDS as BUILTIN_COMMANDS;
pub use failed::failed_start;
pub use opening::{mark_effort, mirror};
pub use user_turn::plugins;
pub use writer::{PIPE_BUF, Writer, warn};

use crate::cancel::Why;
use crate::shared::{Lane, Shared};
use crate::state::{self, State};
use crate::{InputFormat, Options, OutputFormat, Preparation, hearing, moments, outside, small};
use desk::{Desk, Outside, Work};
use std::rc::Rc;
use std::time::Duration;
use stdin::Text;
use wire::ExitCode;

/// What we started gets this long between SIGTERM and SIGKILL when we go.
const CHILD_GRACE: Duration = Duration::from_millis(300);

/// Runs one agent process from its options to its exit code.
pub async fn run(options: Options) -> ExitCode {
    if options.preparation == Some(Preparation::InitOnly) {
        return prepare_only(options).await;
    }
    let first = tokio::select! {
        first = first_prompt(&options) => first,
        exit = early_signal() => return exit,
    };
    let prompt = match first {
        Ok(prompt) => prompt,
        Err(message) => {
            warn(&message);
            return ExitCode::Failure;
        }
    };
    let writer = match Writer::start() {
        Ok(writer) => writer,
        Err(error) => {
            warn(&format!("error: no thread for stdout could be started: {error}"));
            return ExitCode::Failure;
        }
    };
    let input = options.input;
    let (questions, asked) = tokio::sync::mpsc::unbounded_channel();
    let (shared, lane) = match opening::open(options, writer, questions) {
        Ok(opened) => opened,
        Err(failed) => return failed::fail(failed).await,
    };
    let desk = match Desk::open(&shared, input, prompt) {
        Ok(desk) => desk,
        Err(error) => {
            warn(&format!("error: {error}"));
            return ExitCode::Failure;
        }
    };
    // Tools run on any thread and ask the small model through a channel; its answers come from here.
    let here = tokio::task::LocalSet::new();
    here.spawn_local(small::serve(Rc::downgrade(&shared), asked));
    here.run_until(Box::pin(serve(&shared, lane, desk))).await
}

/// Setup and SessionStart hooks, and nothing else.
async fn prepare_only(options: Options) -> ExitCode {
    let writer = match Writer::start() {
        Ok(writer) => writer,
        Err(error) => {
            warn(&format!("error: no thread for stdout could be started: {error}"));
            return ExitCode::Failure;
        }
    };
    let (questions, _nobody) = tokio::sync::mpsc::unbounded_channel();
    let (shared, mut lane) = match opening::open(options, writer, questions) {
        Ok(opened) => opened,
        Err(failed) => return failed::fail(failed).await,
    };
    // Nobody reads stdin, so nobody in the client can be asked.
    shared.link.close();
    let hooks = async {
        outside::start(&shared);
        outside::settle(&shared).await;
        moments::setup(&shared, &mut lane).await;
        moments::session_starts(&shared, &mut lane, moments::start_source(&shared)).await;
    };
    let here = tokio::task::LocalSet::new();
    let exit = tokio::select! {
        () = here.run_until(hooks) => ExitCode::Success,
        exit = early_signal() => exit,
    };
    hearing::end(&shared).await;
    outside::end(&shared).await;
    process::end_all(CHILD_GRACE).await;
    shared.emitter.finish().await;
    exit
}

/// A signal while we still wait for stdin.
async fn early_signal() -> ExitCode {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => ExitCode::Interrupted,
        _ = terminate.recv() => ExitCode::Terminated,
    }
}

/// The prompt of the command line with what was piped in; `None` where prompts come as messages.
async fn first_prompt(options: &Options) -> Result<Option<String>, String> {
    if options.input == InputFormat::StreamJson {
        return Ok(options.prompt.clone());
    }
    let argument = options.prompt.clone().filter(|prompt| prompt != "-");
    let piped = match stdin::text(options.stdin, argument.is_some()).await {
        Ok(Text::Some(text)) => Some(text),
        Ok(Text::None) => None,
        Ok(Text::Silent) => {
            warn(
                "warning: nothing came on stdin in 6 s; going on without it. Use < /dev/null if nothing is meant to come.",
            );
            None
        }
        Err(error @ stdin::StdinError::Unreadable(_)) if argument.is_some() => {
            warn(&format!("warning: {error}; going on with the prompt argument alone"));
            None
        }
        Err(error) => return Err(format!("Error: {error}")),
    };
    let prompt = match (argument, piped) {
        (Some(argument), Some(piped)) => format!("{argument}\n{piped}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) if opening::has_deferred(options) => return Ok(None),
        (None, None) => opening::initial_prompt(&options.setup)
            .ok_or("Error: Input must be provided either through stdin or as a prompt argument when using --print")?,
    };
    if prompt.trim().is_empty() {
        return Err("Error: Input contained only whitespace. Provide a prompt as an argument or on stdin.".into());
    }
    Ok(Some(prompt))
}

/// Turn after turn until there is nothing left to do.
async fn serve(shared: &Rc<Shared>, mut lane: Lane, mut desk: Desk) -> ExitCode {
    outside::start(shared);
    let mut last = ExitCode::Success;
    let forced = loop {
        let work = match desk.next(shared).await {
            Outside::Work(work) => work,
            Outside::Over => break None,
            Outside::Stop(exit) => break Some(exit),
        };
        state::tell(shared, State::Running).await;
        let ended = turn(shared, &mut lane, &mut desk, work).await;
        desk.rest(shared).await;
        match ended {
            Ok(is_error) => last = if is_error { ExitCode::Failure } else { ExitCode::Success },
            Err(exit) => break Some(exit),
        }
        if last == ExitCode::Success
            && suggest::is_due(shared, &lane)
            && let Some(exit) = suggest::after(shared, &lane, &mut desk).await
        {
            break Some(exit);
        }
    };
    moments::session_ends(shared, &lane, "other").await;
    hearing::end(shared).await;
    outside::end(shared).await;
    user_turn::keep(shared, &mut lane, desk.left_over());
    let exit = forced.unwrap_or(if desk.saw_bad_line() { ExitCode::Failure } else { last });
    shared.kit.tasks.stop_all(CHILD_GRACE).await;
    desk.settle(shared).await;
    process::end_all(CHILD_GRACE).await;
    for task in shared.kit.tasks.list() {
        shared.secrets.hide_in_file(&task.output_file);
    }
    if exit == ExitCode::Terminated {
        return exit;
    }
    // A reader may take its time over the last lines; whoever ends us does not have to.
    tokio::select! {
        () = shared.emitter.finish() => exit,
        ended = desk.signalled() => ended,
    }
}

/// One turn, with an ear to the outside. `Err` ends the process.
async fn turn(shared: &Rc<Shared>, lane: &mut Lane, desk: &mut Desk, work: Work) -> Result<bool, ExitCode> {
    shared.cancel.rearm();
    let mut stopping = None;
    let running = user_turn::run(shared, lane, work);
    let mut running = std::pin::pin!(running);
    let is_error = loop {
        tokio::select! {
            biased;
            is_error = &mut running => break is_error,
            happened = desk.happening(shared) => {
                let Some(exit) = desk.handle(shared, happened).await else { continue };
                // The first signal ends the turn with its result; SIGTERM and a second signal end us.
                if exit == ExitCode::Terminated || stopping.is_some() {
                    return Err(exit);
                }
                let why = if exit == ExitCode::Interrupted { Why::Signal } else { Why::ReaderLeft };
                shared.cancel.cancel(why);
                stopping = Some(exit);
            }
        }
    };
    match stopping {
        Some(exit) => Err(exit),
        None => Ok(is_error),
    }
}

/// Denials are easy to miss in plain text, where no event shows them.
fn mention_denials(shared: &Shared) {
    let denials = shared.live.denials.borrow();
    if shared.options.output != OutputFormat::Text || denials.is_empty() {
        return;
    }
    let mut names: Vec<&str> = denials.iter().filter_map(|denial| denial["tool_name"].as_str()).collect();
    names.dedup();
    warn(&format!("note: {} tool calls were not permitted ({})", denials.len(), names.join(", ")));
}
