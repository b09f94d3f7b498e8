//! A server in the client's own process: every message is a question to the client.
//!
//! rmcp wants a transport that may move between threads, the client's link lives on one: [`serve_link`]
//! stands between them.

use crate::message;
use futures_util::future::{AbortHandle, Abortable, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::rc::Rc;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Messages on their way; a sender of more waits.
const CHANNEL: usize = 64;

/// An error of whoever lends its connections to servers. This crate only passes its words on.
pub type HostError = Box<dyn std::error::Error + Send + Sync>;

/// The way to the servers in the client's process.
pub trait SdkLink {
    /// Carries one JSON-RPC message; resolves to the client's answer, which for a notification is an
    /// acknowledgement that nobody looks at. Dropping the future means that nobody waits any more.
    fn send(&self, server: &str, message: Value) -> LocalBoxFuture<'static, Result<Value, HostError>>;
}

pub(crate) struct Link {
    outgoing: Sender<Value>,
    incoming: Receiver<ServerJsonRpcMessage>,
}

/// The transport, the way in for what the client sends unasked, and what has to be run beside them.
pub(crate) fn link(
    server: &str,
    link: Rc<dyn SdkLink>,
) -> (Link, Sender<ServerJsonRpcMessage>, impl Future<Output = ()> + use<>) {
    let (outgoing, asked) = mpsc::channel(CHANNEL);
    let (answers, incoming) = mpsc::channel(CHANNEL);
    let serving = serve_link(server.to_owned(), link, asked, answers.clone());
    (Link { outgoing, incoming }, answers, serving)
}

impl Transport<RoleClient> for Link {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let message = serde_json::to_value(&message)?;
            outgoing.send(message).await.map_err(|_| io::ErrorKind::NotConnected.into())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

/// Ends when the transport is gone; what is still asked then is dropped.
async fn serve_link(
    server: String,
    link: Rc<dyn SdkLink>,
    mut asked: Receiver<Value>,
    answers: Sender<ServerJsonRpcMessage>,
) {
    let mut waiting = FuturesUnordered::new();
    let mut abandon: HashMap<RequestId, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            message = asked.recv() => {
                let Some(message) = message else { return };
                if let Some(handle) = cancelled(&message).and_then(|id| abandon.remove(&id)) {
                    handle.abort();
                }
                let id = request_id(&message);
                let (handle, registration) = AbortHandle::new_pair();
                if let Some(id) = &id {
                    abandon.insert(id.clone(), handle);
                }
                let answer = Abortable::new(link.send(&server, message), registration);
                waiting.push(async move { (id, answer.await) });
            }
            Some((id, answer)) = waiting.next() => {
                let Some(id) = id else { continue };
                abandon.remove(&id);
                // Abandoned: nobody waits.
                let Ok(answer) = answer else { continue };
                if answers.send(answered(id, answer)).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn request_id(message: &Value) -> Option<RequestId> {
    message.get("method")?;
    serde_json::from_value(message.get("id")?.clone()).ok()
}

fn cancelled(message: &Value) -> Option<RequestId> {
    let cancel = message.get("method").and_then(Value::as_str) == Some("notifications/cancelled");
    let id = cancel.then(|| message.pointer("/params/requestId")).flatten()?;
    serde_json::from_value(id.clone()).ok()
}

/// The answer came back on the question's own way, so it belongs to it whatever number it carries.
fn answered(id: RequestId, answer: Result<Value, HostError>) -> ServerJsonRpcMessage {
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(reason) => return message::failure(id, reason.to_string()),
    };
    if let (Some(fields), Ok(number)) = (answer.as_object_mut(), serde_json::to_value(&id)) {
        fields.insert("id".into(), number);
    }
    message::read_value(answer).unwrap_or_else(|| message::failure(id, "the client's answer is not understood".into()))
}
