//! `/v1/processes/{id}/terminal/ws`: a process's terminal over a WebSocket. Output as binary frames, everything else as JSON.

use super::http::decoded;
use super::running::{Order, Process};
use crate::app::App;
use crate::problem::Problem;
use crate::sse::closed;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use process::TerminalSize;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Of one message of a client: what somebody pastes.
const MESSAGE_MAX: usize = 256 * 1024;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Said {
    Input { data: String, encoding: Option<String> },
    Resize { cols: u16, rows: u16 },
    Close,
}

pub async fn terminal(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let processes = app.processes.as_ref().ok_or_else(|| {
        Problem::denied("this server starts no processes for clients; start it with '--allow-exec' to allow that")
    })?;
    let process = processes.find(&id)?;
    if !process.tty {
        return Err(Problem::conflict(format!("process {id} has no terminal; start it with 'tty'")));
    }
    let upgrade = upgrade.map_err(|error| Problem::invalid(error.to_string()))?;
    let place = app.stream_place()?;
    let app = app.clone();
    let upgrade = upgrade.max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // A client that is gone needs no goodbye.
        let _ = attend(socket, &process, &app, place).await;
    }))
}

fn text(value: &Value) -> Message {
    Message::Text(value.to_string().into())
}

async fn attend(
    mut socket: WebSocket,
    process: &Process,
    app: &App,
    _place: OwnedSemaphorePermit,
) -> Result<(), axum::Error> {
    let mut changed = process.watch();
    let mut seen = 0;
    socket.send(text(&json!({"type": "ready", "processId": process.id}))).await?;
    loop {
        let is_over = !process.is_running();
        for entry in process.after(seen, "pty") {
            seen = entry.sequence;
            socket.send(Message::Binary(entry.data.into())).await?;
        }
        if is_over {
            socket.send(text(&json!({"type": "exit", "exitCode": process.exit_code()}))).await?;
            return socket.send(Message::Close(None)).await;
        }
        tokio::select! {
            told = changed.changed() => if told.is_err() { return Ok(()) },
            () = closed(app.closing.clone()) => return Ok(()),
            said = socket.recv() => match said {
                None | Some(Err(_) | Ok(Message::Close(_))) => return Ok(()),
                Some(Ok(Message::Text(said))) => {
                    match obey(&said, process) {
                        Ok(true) => {}
                        Ok(false) => return Ok(()),
                        Err(error) => socket.send(text(&json!({"type": "error", "message": error.to_string()}))).await?,
                    }
                }
                Some(Ok(_)) => {}
            },
        }
    }
}

/// Why a message of the client is not carried out.
#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the message cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("{0}")]
    Input(String),
    #[error("the process takes no input now")]
    Busy,
}

/// Whether the client stays.
fn obey(said: &str, process: &Process) -> Result<bool, OrderError> {
    let order = match serde_json::from_str(said)? {
        Said::Close => return Ok(false),
        Said::Input { data, encoding } => {
            Order::Input(decoded(&data, encoding.as_deref()).map_err(|problem| OrderError::Input(problem.detail))?)
        }
        Said::Resize { cols, rows } => Order::Resize(TerminalSize { cols: cols.max(1), rows: rows.max(1) }),
    };
    process.order(order).map(|()| true).map_err(|()| OrderError::Busy)
}
