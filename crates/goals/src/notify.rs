//! Calling somebody: a command, a web address, or the terminal.
//!
//! What an agent wrote is data in the event, never a part of a command or an address. A call that fails changes nothing.

use crate::goal::{Goal, GoalState};
use process::{CaptureLimits, Env, Output, Spec, Stdin};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Nobody waits for a slow receiver: the slot is held meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);
const COMMAND: CaptureLimits =
    CaptureLimits { deadline: PATIENCE, max_output: 16 * 1024, grace: Duration::from_secs(1) };
/// Of a title on a terminal.
const WORDS_MAX: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// For a shell; the event is its standard input.
    Command(String),
    Web(String),
    /// Title, bell, and OSC 9.
    Terminal,
}

/// Why a call did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    #[error(transparent)]
    Process(#[from] process::SpawnError),
    #[error("exit code {0}")]
    Exit(i32),
    /// Without the address, which may hold a token.
    #[error(transparent)]
    Web(#[from] reqwest::Error),
    #[error("status {0}")]
    Status(u16),
}

impl Target {
    pub fn parse(text: &str) -> Self {
        match text {
            "terminal" => Self::Terminal,
            address if address.starts_with("https://") || address.starts_with("http://") => {
                Self::Web(address.to_owned())
            }
            command => Self::Command(command.to_owned()),
        }
    }

    /// What went wrong, for a warning.
    pub async fn send(&self, event: &Value, env: &Env, cwd: &Path, terminal: &dyn Fn(&str)) -> Result<(), NotifyError> {
        match self {
            Self::Terminal => {
                terminal(&terminal_bytes(event));
                Ok(())
            }
            Self::Command(command) => run(command, event, env, cwd).await,
            Self::Web(address) => post(address, event).await,
        }
    }
}

/// The event of a goal that somebody may want to hear of.
pub fn event(goal: &Goal) -> Option<Value> {
    let name = match goal.state {
        GoalState::Blocked => "blocked",
        GoalState::Failed => "failed",
        GoalState::Done if goal.landed.is_some() => "landed",
        GoalState::Done => "done",
        GoalState::Waiting => "limit",
        _ => return None,
    };
    let why = goal.question.as_ref().or(goal.error.as_ref());
    Some(json!({
        "event": name, "goal": goal.id, "title": goal.title, "state": goal.state, "reason": why,
        "repo": goal.repo, "base": goal.base, "landed": goal.landed, "cost_usd": goal.spent.usd(),
    }))
}

async fn run(command: &str, event: &Value, env: &Env, cwd: &Path) -> Result<(), NotifyError> {
    let spec = Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        cwd: cwd.to_owned(),
        env: env.iter().filter(|(name, _)| name != "RALPH_STORE").cloned().collect(),
        stdin: Stdin::Bytes(format!("{event}\n").into_bytes()),
        output: Output::Pipes,
        arg0: None,
    };
    let done = process::capture(spec, COMMAND).await?;
    if done.exit.success() { Ok(()) } else { Err(NotifyError::Exit(done.exit.shell_code())) }
}

async fn post(address: &str, event: &Value) -> Result<(), NotifyError> {
    // Somebody else may have chosen one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none()).build();
    let client = client?;
    let request = client.post(address).header("content-type", "application/json").body(event.to_string());
    // Without the address, which may hold a token.
    let answer = request.send().await.map_err(reqwest::Error::without_url)?;
    if answer.status().is_success() { Ok(()) } else { Err(NotifyError::Status(answer.status().as_u16())) }
}

/// Nothing of the event can end the sequence that it is in.
fn terminal_bytes(event: &Value) -> String {
    let words = format!(
        "ralph: goal {} {}: {}",
        event["goal"],
        event["event"].as_str().unwrap_or_default(),
        event["title"].as_str().unwrap_or_default()
    );
    let words: String = words.chars().filter(|letter| !letter.is_control()).take(WORDS_MAX).collect();
    format!("\x1b]0;{words}\x07\x1b]9;{words}\x07\x07")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_write_cannot_end_a_sequence() {
        let bytes = terminal_bytes(&json!({"goal": 1, "event": "done", "title": "x\u{7}\u{1b}]52;c;evil\u{9c}"}));
        assert_eq!(bytes.matches('\x07').count(), 3);
        assert_eq!(bytes.matches('\x1b').count(), 2);
        assert!(!bytes.contains('\u{9c}'));
    }

    #[test]
    fn where_a_call_goes_is_read_from_its_words() {
        assert_eq!(Target::parse("terminal"), Target::Terminal);
        assert_eq!(Target::parse("https://x.test/y"), Target::Web("https://x.test/y".into()));
        assert_eq!(Target::parse("notify-send hi"), Target::Command("notify-send hi".into()));
    }

    /// Answers one request, and returns what it was.
    fn listener(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
        use std::io::{Read as _, Write as _};
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/hook?token=secret", socket.local_addr().unwrap());
        let heard = std::thread::spawn(move || {
            let (mut stream, _) = socket.accept().unwrap();
            let (mut text, mut chunk) = (String::new(), [0; 4096]);
            while !text.ends_with('}') {
                let read = stream.read(&mut chunk).unwrap();
                assert!(read > 0, "{text}");
                text.push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
            write!(stream, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            text
        });
        (address, heard)
    }

    #[test]
    fn a_web_address_gets_the_event_and_its_refusal_is_told_without_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let event = json!({"event": "done", "title": "\r\nx-evil: 1\r\n\r\n"});
        let send =
            |address: &str| runtime.block_on(Target::parse(address).send(&event, &Vec::new(), Path::new("/"), &|_| {}));
        let (address, heard) = listener("204 No Content");
        send(&address).unwrap();
        let heard = heard.join().unwrap().to_lowercase();
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("post /hook?token=secret http/1.1") && head.contains("content-type: application/json")
        );
        assert!(!head.contains("x-evil"), "what an agent wrote is data: {head}");
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), event);
        for (answer, why) in
            [("500 No", "status 500"), ("302 Elsewhere\r\nlocation: http://127.0.0.1:1/", "status 302")]
        {
            let (address, heard) = listener(answer);
            assert_eq!(send(&address).unwrap_err().to_string(), why, "redirects are not followed");
            heard.join().unwrap();
        }
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = send(&format!("http://{nobody}/hook?token=secret")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }

    #[test]
    fn a_command_gets_the_event_as_its_input() {
        let dir = tempfile::tempdir().unwrap();
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let event = json!({"title": "$(touch evil); `touch evil`"});
        let target = Target::parse("cat > got");
        let sent = target.send(&event, &env, dir.path(), &|_| {});
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(sent).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("got")).unwrap().trim(), event.to_string());
        assert!(!dir.path().join("evil").exists());
    }
}
