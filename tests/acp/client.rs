//! An ACP client that plays a script and keeps everything it heard.
#![expect(clippy::disallowed_methods, reason = "tests start the binary under test with the caller's PATH")]

use crate::schema;
use mock::Script;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use testkit::World;

/// A client that waits longer waits for ever. Generous, because tests share two cores.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Every message, in order.
    pub heard: Vec<Value>,
    methods: HashMap<u64, String>,
    next: u64,
    /// The kind of option that permission questions are answered with; `None` leaves them open.
    pub choice: Option<&'static str>,
}

pub fn world(turns: Value) -> World {
    World::empty(Script::from_value(turns).expect("a script")).expect("a world")
}

pub fn say(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub fn call(name: &str, input: Value) -> Value {
    json!({"content": [{"type": "tool_use", "name": name, "input": input}]})
}

impl Client {
    pub fn start(world: &World) -> Self {
        Self::start_with(world, &[])
    }

    pub fn start_with(world: &World, env: &[(&str, &str)]) -> Self {
        Self::start_words(world, &[], env)
    }

    /// With words after `ralph acp`.
    pub fn start_words(world: &World, words: &[&str], env: &[(&str, &str)]) -> Self {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ralph"))
            .arg("acp")
            .args(words)
            .current_dir("/")
            .env_clear()
            .env("HOME", world.home())
            .env("PATH", path)
            .env("ANTHROPIC_API_KEY", "sk-ant-test-0000000000000000")
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_BASE_URL", world.mock().url())
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary");
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let stdin = child.stdin.take();
        Self { child, stdin, lines, heard: Vec::new(), methods: HashMap::new(), next: 0, choice: Some("allow_once") }
    }

    /// Connected, with a session in the world's folder.
    pub fn open(world: &World) -> (Self, String) {
        let mut client = Self::start(world);
        client.initialize(json!({}));
        let session = client.new_session(world);
        (client, session)
    }

    pub fn initialize(&mut self, capabilities: Value) -> Value {
        self.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
    }

    pub fn new_session(&mut self, world: &World) -> String {
        let answer = self.ask("session/new", json!({"cwd": world.wd(), "mcpServers": []}));
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {answer}")).to_owned()
    }

    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open input");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("a reader");
    }

    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.methods.insert(self.next, method.to_owned());
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string());
        self.next
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.send("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// The answer to a prompt.
    pub fn turn(&mut self, session: &str, text: &str) -> Value {
        let id = self.prompt(session, text);
        self.answer(id)
    }

    pub fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The next message that fits, or one that was heard and nobody waited for.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!(
                    "it never came; heard: {}",
                    self.heard.iter().map(|line| format!("{line}\n")).collect::<String>()
                )
            };
            let message = self.hear(&line);
            if fits(&message) {
                return message;
            }
        }
    }

    /// Every line is held against the schema as it comes.
    fn hear(&mut self, line: &str) -> Value {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let asked = message["id"].as_u64().and_then(|id| self.methods.get(&id)).map(String::as_str);
        assert_eq!(schema::problem(&message, asked), None);
        self.heard.push(message.clone());
        if message["method"] == "session/request_permission" {
            self.permit(&message);
        }
        message
    }

    fn permit(&mut self, question: &Value) {
        let Some(kind) = self.choice else { return };
        let options = question["params"]["options"].as_array().expect("options");
        let option = options.iter().find(|option| option["kind"] == kind).expect("an option of this kind");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}});
        self.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}).to_string());
    }

    /// The updates of a kind.
    pub fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.heard.iter().filter_map(|message| message.pointer("/params/update"));
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// Everything that the agent said.
    pub fn text(&self) -> String {
        self.updates("agent_message_chunk").iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Ends its input; its exit code.
    pub fn close(mut self) -> Option<i32> {
        self.stdin = None;
        let deadline = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.choice = None;
            self.hear(&line);
        }
        self.child.wait().expect("an end").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes whose command line has this text.
pub fn running(text: &str) -> Vec<i32> {
    let own = std::process::id().to_string();
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()) && *pid != own);
    let has = |pid: &String| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    };
    pids.filter(has).filter_map(|pid| pid.parse().ok()).collect()
}

/// Waits until there are such processes, or none.
pub fn wait_for_processes(text: &str, wanted: bool) {
    let deadline = Instant::now() + PATIENCE;
    while running(text).is_empty() == wanted {
        assert!(Instant::now() < deadline, "processes with '{text}': {:?}", running(text));
        std::thread::sleep(Duration::from_millis(20));
    }
}
