//! A start that failed ends like a failed turn: with a result in the asked format, and exit 1.

use super::{Writer, stdin};
use agent::session::Output;
use agent::{InputFormat, OutputFormat, warn};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::timeout;
use wire::{ExitCode, Outcome};

/// A client writes as soon as it has started us. Gone before that, we would leave it with a broken pipe
/// instead of the reason; a busy machine may need this long.
const FIRST_LINE: Duration = Duration::from_secs(2);

/// Lines of one burst come closer together than this.
const NEXT_LINE: Duration = Duration::from_millis(50);

/// What is needed to say so.
pub struct Failed {
    pub output: Rc<Output>,
    pub input: InputFormat,
    pub format: OutputFormat,
    pub message: String,
}

/// A start that failed before there were options: the same ending, from a message alone.
pub async fn failed_start(input: InputFormat, format: OutputFormat, message: String) -> ExitCode {
    let Ok(writer) = Writer::start() else {
        warn(&message);
        return ExitCode::Failure;
    };
    let output = Rc::new(Output::new(format, false, uuid::Uuid::new_v4().to_string(), Rc::new(writer)));
    fail(Failed { output, input, format, message }).await
}

pub async fn fail(failed: Failed) -> ExitCode {
    if matches!(failed.format, OutputFormat::StreamJson | OutputFormat::JsonList) {
        failed.output.result(zeroed(&failed.message)).await;
    }
    warn(&failed.message);
    failed.output.finish().await;
    if failed.input == InputFormat::StreamJson {
        let_it_write().await;
    }
    ExitCode::Failure
}

/// Takes what the client writes at its start, and throws it away.
async fn let_it_write() {
    let Ok(mut lines) = stdin::lines() else { return };
    let mut patience = FIRST_LINE;
    while let Ok(Some(_)) = timeout(patience, lines.recv()).await {
        patience = NEXT_LINE;
    }
}

fn zeroed(message: &str) -> Outcome {
    Outcome {
        subtype: "error_during_execution".into(),
        is_error: Some(true),
        errors: Some(vec![message.to_owned()]),
        total_cost_usd: Some(0.0),
        terminal_reason: "turn_setup_failed".into(),
        fast_mode_state: "off".into(),
        ..Outcome::default()
    }
}
