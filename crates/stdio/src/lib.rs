//! The front end on stdin and stdout: reads prompts, runs turns, answers signals, and ends the process in order.
//!
//! Lines from stdin are taken at any moment, also while a turn runs; end of input means "finish what
//! is queued, then exit". It knows a session by its commands and events alone.

mod desk;
mod failed;
mod stdin;
mod writer;

pub use failed::failed_start;

use agent::session::{Session, State, Turns, has_deferred, initial_prompt};
use agent::{InputFormat, Options, Preparation, warn};
use desk::{Desk, Happened, Outside};
use failed::Failed;
use std::rc::Rc;
use stdin::Text;
use turn::InterruptCause;
use wire::{Event, ExitCode, System};
use writer::Writer;

/// Runs one agent process from its options to its exit code.
pub async fn run(options: Options) -> ExitCode {
    if options.preparation == Some(Preparation::InitOnly) {
        return with_session(options, None, true).await;
    }
    let first = tokio::select! {
        first = first_prompt(&options) => first,
        exit = early_signal() => return exit,
    };
    match first {
        Ok(prompt) => with_session(options, prompt, false).await,
        Err(error) => {
            warn(&format!("Error: {error}"));
            ExitCode::Failure
        }
    }
}

async fn with_session(options: Options, prompt: Option<String>, prepares_only: bool) -> ExitCode {
    let writer = match Writer::start() {
        Ok(writer) => writer,
        Err(error) => {
            warn(&format!("error: no thread for stdout could be started: {error}"));
            return ExitCode::Failure;
        }
    };
    let (input, format) = (options.input, options.output);
    let here = tokio::task::LocalSet::new();
    let work = async move {
        let (session, turns) = match Session::open(options, Rc::new(writer)) {
            Ok(opened) => opened,
            Err(not) => {
                return failed::fail(Failed { output: not.output, input, format, message: not.message }).await;
            }
        };
        if prepares_only {
            return prepare_only(&session).await;
        }
        match Desk::open(&session, input, prompt) {
            Ok(desk) => serve(&session, turns, desk).await,
            Err(error) => {
                warn(&format!("error: {error}"));
                ExitCode::Failure
            }
        }
    };
    here.run_until(Box::pin(work)).await
}

/// Setup and SessionStart hooks, and nothing else.
async fn prepare_only(session: &Session) -> ExitCode {
    let exit = tokio::select! {
        () = session.prepare_only() => ExitCode::Success,
        exit = early_signal() => exit,
    };
    session.end_helpers().await;
    session.end_tasks().await;
    session.output().finish().await;
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

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
enum PromptError {
    #[error(transparent)]
    Stdin(#[from] stdin::StdinError),
    #[error("Input must be provided either through stdin or as a prompt argument when using --print")]
    None,
    #[error("Input contained only whitespace. Provide a prompt as an argument or on stdin.")]
    Empty,
}

/// The prompt of the command line with what was piped in; `None` where prompts come as messages.
async fn first_prompt(options: &Options) -> Result<Option<String>, PromptError> {
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
        Err(error) => return Err(error.into()),
    };
    let prompt = match (argument, piped) {
        (Some(argument), Some(piped)) => format!("{argument}\n{piped}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) if has_deferred(options) => return Ok(None),
        (None, None) => initial_prompt(&options.setup).ok_or(PromptError::None)?,
    };
    if prompt.trim().is_empty() {
        return Err(PromptError::Empty);
    }
    Ok(Some(prompt))
}

/// Turn after turn until there is nothing left to do.
async fn serve(session: &Rc<Session>, mut turns: Turns, mut desk: Desk) -> ExitCode {
    session.start_servers();
    for install in &session.options().plugin_installs {
        session.output().send(Event::System(System::PluginInstall(install.clone()))).await;
    }
    let mut last = ExitCode::Success;
    let forced = loop {
        match desk.next(session).await {
            Outside::Work => {}
            Outside::Over => break None,
            Outside::Stop(exit) => break Some(exit),
        }
        session.tell_state(State::Running).await;
        let ended = turn(session, &mut turns, &mut desk).await;
        desk.rest(session).await;
        match ended {
            Ok(is_error) => last = if is_error { ExitCode::Failure } else { ExitCode::Success },
            Err(exit) => break Some(exit),
        }
        if last == ExitCode::Success
            && session.is_suggestion_due()
            && let Some(exit) = suggest(session, &mut desk).await
        {
            break Some(exit);
        }
    };
    turns.close("other").await;
    session.end_helpers().await;
    let exit = forced.unwrap_or(if desk.saw_bad_line() { ExitCode::Failure } else { last });
    session.end_tasks().await;
    if exit == ExitCode::Terminated {
        return exit;
    }
    // A reader may take its time over the last lines; whoever ends us does not have to.
    tokio::select! {
        () = session.output().finish() => exit,
        ended = desk.signalled() => ended,
    }
}

/// One turn, while lines and signals are taken. `Err` ends the process.
async fn turn(session: &Rc<Session>, turns: &mut Turns, desk: &mut Desk) -> Result<bool, ExitCode> {
    let mut stopping = None;
    let mut running = std::pin::pin!(turns.run());
    let is_error = loop {
        tokio::select! {
            biased;
            is_error = &mut running => break is_error,
            happened = desk.happening(session) => {
                let Some(exit) = desk.handle(session, happened).await else { continue };
                // The first signal ends the turn with its result; SIGTERM and a second signal end us.
                if exit == ExitCode::Terminated || stopping.is_some() {
                    return Err(exit);
                }
                let by_signal = exit == ExitCode::Interrupted;
                session.interrupt(if by_signal { InterruptCause::Signal } else { InterruptCause::ReaderLeft });
                stopping = Some(exit);
            }
        }
    };
    match stopping {
        Some(exit) => Err(exit),
        None => Ok(is_error),
    }
}

/// Guesses what comes next, until something else is to be done. `Some` where the process should stop.
async fn suggest(session: &Rc<Session>, desk: &mut Desk) -> Option<ExitCode> {
    let mut guess = std::pin::pin!(session.suggest());
    loop {
        tokio::select! {
            () = &mut guess => return None,
            happened = desk.happening(session) => {
                let is_over = matches!(happened, Happened::Line(None));
                let stop = desk.handle(session, happened).await;
                // The client has said all it had to say, and may still listen.
                if !is_over {
                    return stop;
                }
            }
        }
    }
}
