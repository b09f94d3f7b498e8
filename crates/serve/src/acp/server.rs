//! One agent at work: its process, everything it has said with numbers, and who waits for an answer.

use crate::time::now_ms;
use process::{Child, Pipes, SpawnError, Spec};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot, watch};

/// What is kept for readers that come back; older messages are forgotten.
const LOG_MAX: usize = 32 * 1024 * 1024;
/// Of one message. Pictures travel in them.
const LINE_MAX: usize = 16 * 1024 * 1024;
/// Messages on their way to the agent.
const QUEUE: usize = 64;
/// Between asking an agent to end and killing it.
const GRACE: Duration = Duration::from_secs(2);
/// Requests whose session is remembered; a conversation has some thousands.
const ASKED_MAX: usize = 100_000;
/// Of what an agent says on stderr.
const WORDS_KEPT: usize = 4 * 1024;

#[derive(Debug)]
pub struct AcpServer {
    pub id: String,
    pub agent: String,
    pub created: u64,
    state: Mutex<AcpState>,
    /// The last number; sent again at the end.
    changed: watch::Sender<u64>,
    input: mpsc::Sender<Vec<u8>>,
    stop: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct AcpState {
    log: VecDeque<(u64, Arc<str>)>,
    bytes: usize,
    next: u64,
    /// By the request's id as JSON.
    waiting: HashMap<String, oneshot::Sender<Value>>,
    /// The request whose answer goes to its sender alone, and not to the streams.
    direct: Option<String>,
    /// For streams of sessions: which session's headers a request had, by the request's id.
    asked_by: HashMap<String, String>,
    is_over: bool,
    /// Why it ended, for requests that come later.
    last_words: String,
}

/// Why a message did not reach the agent.
#[derive(Debug)]
pub enum NotSent {
    Over(String),
    Busy,
    /// A request with the same id is not answered yet.
    Twice,
}

impl AcpServer {
    pub fn start(
        id: &str,
        agent: &str,
        spec: Spec,
        sandbox: Option<Arc<sandbox::Sandbox>>,
    ) -> Result<Arc<Self>, SpawnError> {
        let confined = sandbox.as_deref().map(|sandbox| sandbox as &dyn process::Confine);
        let (child, pipes) = Child::with_pipes(spec, confined)?;
        let (input, given) = mpsc::channel(QUEUE);
        let server = Arc::new(Self {
            id: id.to_owned(),
            agent: agent.to_owned(),
            created: now_ms(),
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            input,
            stop: watch::Sender::new(false),
        });
        tokio::spawn(follow(server.clone(), child, pipes, given, sandbox));
        Ok(server)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, AcpState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message; for a request, what will be its response.
    pub fn send(&self, message: &Value) -> Result<Option<oneshot::Receiver<Value>>, NotSent> {
        let key = request_id(message);
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let mut state = self.state();
        if state.is_over {
            return Err(NotSent::Over(state.last_words.clone()));
        }
        if key.as_ref().is_some_and(|key| state.waiting.contains_key(key)) {
            return Err(NotSent::Twice);
        }
        self.input.try_send(line).map_err(|_| NotSent::Busy)?;
        Ok(key.map(|key| {
            let (answer, answered) = oneshot::channel();
            state.waiting.insert(key, answer);
            answered
        }))
    }

    /// Sends a request whose answer is its sender's alone: no stream repeats it. Nothing for a message that is no request.
    pub fn ask(&self, message: &Value) -> Result<Option<oneshot::Receiver<Value>>, NotSent> {
        self.state().direct = request_id(message);
        self.send(message)
    }

    /// Sends a message whose answer is read on a stream: that of the session, where one is named.
    pub fn send_for(&self, message: &Value, session: Option<&str>) -> Result<(), NotSent> {
        if let (Some(key), Some(session)) = (request_id(message), session) {
            let mut state = self.state();
            if state.asked_by.len() >= ASKED_MAX {
                state.asked_by.clear();
            }
            state.asked_by.insert(key, session.to_owned());
        }
        // The receiver is dropped: nobody waits here.
        self.send(message).map(drop)
    }

    /// The session whose stream a message belongs to; nothing for the connection's own.
    pub fn stream_of(&self, line: &str) -> Option<String> {
        let message: Value = serde_json::from_str(line).ok()?;
        match response_id(&message) {
            Some(key) => self.state().asked_by.get(&key).cloned(),
            None => message["params"]["sessionId"].as_str().map(str::to_owned),
        }
    }

    /// Nobody waits for this request any more.
    pub fn forget(&self, message: &Value) {
        if let Some(key) = request_id(message) {
            self.state().waiting.remove(&key);
        }
    }

    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Messages behind a number, and whether more can come.
    pub fn after(&self, number: u64) -> (Vec<(u64, Arc<str>)>, bool) {
        let state = self.state();
        let messages = state.log.iter().filter(|(at, _)| *at > number).cloned().collect();
        (messages, !state.is_over)
    }

    /// Asks the agent to end, and waits until it has.
    pub async fn end(&self) {
        self.stop.send_replace(true);
        let mut changed = self.watch();
        let _ = tokio::time::timeout(GRACE * 2, async {
            while !self.state().is_over && changed.changed().await.is_ok() {}
        })
        .await;
    }

    fn take(&self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        if !message.is_object() {
            return;
        }
        let mut is_direct = false;
        let answered = response_id(&message).and_then(|key| {
            let mut state = self.state();
            is_direct = state.direct.take_if(|direct| *direct == key).is_some();
            state.waiting.remove(&key)
        });
        if !is_direct {
            self.put(line);
        }
        if let Some(answered) = answered {
            // Its client may have left.
            let _ = answered.send(message);
        }
    }

    fn put(&self, line: &str) {
        let mut state = self.state();
        state.next += 1;
        state.bytes += line.len();
        let entry = (state.next, Arc::from(line));
        state.log.push_back(entry);
        while state.bytes > LOG_MAX {
            let Some((_, oldest)) = state.log.pop_front() else { break };
            state.bytes -= oldest.len();
        }
        let last = state.next;
        drop(state);
        self.changed.send_replace(last);
    }

    fn ended(&self, code: i32, last_words: String) {
        let notice = json!({
            "jsonrpc": "2.0",
            "method": "_adapter/agent_exited",
            "params": {"success": code == 0, "code": code},
        });
        self.put(&notice.to_string());
        let mut state = self.state();
        state.is_over = true;
        state.last_words = last_words;
        // The end of the channel tells the waiting request.
        state.waiting.clear();
        let last = state.next;
        drop(state);
        self.changed.send_replace(last);
    }
}

/// Of a request; notifications and responses have none.
fn request_id(message: &Value) -> Option<String> {
    message.get("method")?;
    message.get("id").filter(|id| !id.is_null()).map(Value::to_string)
}

fn response_id(message: &Value) -> Option<String> {
    if message.get("method").is_some() {
        return None;
    }
    message.get("id").filter(|id| !id.is_null()).map(Value::to_string)
}

async fn follow(
    server: Arc<AcpServer>,
    mut child: Child,
    pipes: Pipes,
    given: mpsc::Receiver<Vec<u8>>,
    _sandbox: Option<Arc<sandbox::Sandbox>>,
) {
    let Pipes { stdin, stdout, stderr } = pipes;
    let writing = tokio::spawn(write(stdin, given));
    let hearing = tokio::spawn(last_words(stderr));
    let mut stop = server.stop.subscribe();
    let exit = tokio::select! {
        // The end of its output, or a line that no agent writes: it is over.
        () = read(&server, stdout) => child.stop(GRACE).await,
        // Dropped at once: what `wait_for` returns holds a lock.
        () = async { drop(stop.wait_for(|stop| *stop).await) } => child.stop(GRACE).await,
    };
    writing.abort();
    let words = tokio::time::timeout(Duration::from_millis(200), hearing).await;
    let words = words.ok().and_then(Result::ok).unwrap_or_default();
    server.ended(exit.shell_code(), words);
}

async fn write(mut stdin: Sender, mut given: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = given.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn read(server: &AcpServer, stdout: Receiver) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut reader).take(LINE_MAX as u64);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) if line.last() != Some(&b'\n') && line.len() >= LINE_MAX => return,
            Ok(_) => server.take(String::from_utf8_lossy(&line).trim()),
        }
    }
}

async fn last_words(mut stderr: Receiver) -> String {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut chunk = vec![0; WORDS_KEPT];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        kept.extend(&chunk[..read]);
        let surplus = kept.len().saturating_sub(WORDS_KEPT);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(kept.make_contiguous()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_responses_are_told_apart() {
        let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let request = of(r#"{"id":1,"method":"initialize"}"#);
        let response = of(r#"{"id":"1","result":{}}"#);
        let notification = of(r#"{"method":"session/update"}"#);
        assert_eq!((request_id(&request), response_id(&request)), (Some("1".into()), None));
        assert_eq!((request_id(&response), response_id(&response)), (None, Some("\"1\"".into())));
        assert_eq!((request_id(&notification), response_id(&notification)), (None, None));
    }
}
