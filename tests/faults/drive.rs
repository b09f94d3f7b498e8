//! Plays one schedule against the binary and writes down what happened.

use crate::house::House;
use crate::model;
use crate::plan::{Face, Habits, Permits, Plan, Stderr, Stdout, When};
use mock::{Mock, Recorded};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A run that takes longer hangs: twice what the slowest schedule takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// After the exit whatever it started has this long to be gone; the agent itself waits for it before.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// The agent's own deadlines, short enough to wait for and long enough for a busy machine.
const SILENCE_MS: &str = "2000";

/// Marks whatever the run starts, through any number of forks.
const MARK: &str = "RALPH_FAULT_MARK";

/// The world of one schedule.
pub struct Stage {
    root: tempfile::TempDir,
    pub house: House,
    mark: String,
}

/// What happened.
#[derive(Debug, Default)]
pub struct Seen {
    pub lines: Vec<String>,
    /// Behind the last line end.
    pub torn: String,
    pub stderr: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// Signals that were sent while it ran.
    pub struck: Vec<i32>,
    pub prompts: usize,
    pub bad_lines: usize,
    /// What the run started and left behind.
    pub alive: Vec<String>,
    pub requests: Vec<Recorded>,
    pub elapsed: Duration,
    /// From the last signal to the exit.
    pub dying: Duration,
}

impl Seen {
    pub fn events(&self) -> Vec<Value> {
        self.lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub fn results(&self) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == "result").collect()
    }
}

enum News {
    Line(String),
    Torn(String),
    /// The reader has closed its end.
    Left,
    Exited(ExitStatus),
}

impl Stage {
    pub fn new(plan: &Plan) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["wd", "home", "tmp", "bin"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(crate::binary(), root.path().join("bin/claude")).unwrap();
        let house = House::new(&root.path().join("home"), plan.home);
        let mark = format!("{MARK}={}-{}", plan.seed, root.path().display());
        Self { root, house, mark }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The agent with nothing in its environment but this world.
    pub fn command(&self, mock: &Mock) -> Command {
        let mut command = self.house.command(&self.path("bin/claude"), &self.path("wd"));
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("TMPDIR", self.path("tmp"))
            .env("ANTHROPIC_API_KEY", "sk-ant-test-0000000000000000")
            .env("ANTHROPIC_BASE_URL", mock.url())
            .env("CLAUDE_CODE_MAX_RETRIES", "2")
            .env("API_TIMEOUT_MS", SILENCE_MS)
            .env("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", SILENCE_MS)
            .env("CLAUDE_STREAM_IDLE_TIMEOUT_MS", SILENCE_MS)
            .env("MCP_TIMEOUT", SILENCE_MS)
            .env("MCP_TOOL_TIMEOUT", SILENCE_MS);
        let (name, value) = self.mark.split_once('=').unwrap();
        command.env(name, value);
        command
    }

    /// A model that follows the script, with this world's paths in it.
    pub fn mock(&self, script: mock::Script) -> Mock {
        Mock::start(script.substitute("$WD", &self.path("wd").display().to_string())).unwrap()
    }

    /// Plays the schedule.
    pub fn play(&self, plan: &Plan) -> Seen {
        let mock = self.mock(model::script(&plan.model));
        let mut command = self.command(&mock);
        command.args(args(plan));
        if plan.stdout == Stdout::Closed {
            command.stdout(std::process::Stdio::null());
        }
        let started = Instant::now();
        let mut child = command.spawn().unwrap();
        let (news, heard) = channel();
        if let Some(stdout) = child.stdout.take() {
            let news = news.clone();
            let habit = plan.stdout;
            std::thread::spawn(move || read(stdout, habit, &news));
        }
        let (stderr, _held) = listen(child.stderr.take().unwrap(), plan.stderr);
        let stdin = child.stdin.take().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        std::thread::spawn(move || drop(child.wait().map(|status| news.send(News::Exited(status)))));
        let mut client = Client::new(plan, stdin, pid, started);
        client.attend(&heard);
        let mut seen = client.seen;
        seen.elapsed = started.elapsed();
        seen.alive = self.left_alive();
        seen.stderr = stderr.recv_timeout(GONE_WITHIN).unwrap_or_default();
        seen.requests = mock.requests();
        seen
    }

    /// Processes of this run that are still there; ended before this returns.
    fn left_alive(&self) -> Vec<String> {
        let until = Instant::now() + GONE_WITHIN;
        loop {
            let found = self.marked();
            if found.is_empty() {
                return Vec::new();
            }
            if Instant::now() > until {
                for (pid, _) in &found {
                    // It may have ended by itself.
                    let _ = kill_process(*pid, Signal::KILL);
                }
                return found.into_iter().map(|(pid, what)| format!("{} {what}", pid.as_raw_nonzero())).collect();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn marked(&self) -> Vec<(Pid, String)> {
        let numbers =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let pids = numbers.filter_map(|name| Pid::from_raw(name.parse().ok()?));
        pids.filter_map(|pid| Some((pid, self.is_ours(pid)?))).collect()
    }

    /// Its command line, if it is one of this run's and no zombie.
    fn is_ours(&self, pid: Pid) -> Option<String> {
        let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let environment = std::fs::read(folder.join("environ")).ok()?;
        environment.split(|byte| *byte == 0).find(|entry| *entry == self.mark.as_bytes())?;
        let line = std::fs::read(folder.join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    }
}

fn args(plan: &Plan) -> Vec<String> {
    let mut args: Vec<String> = vec!["-p".into()];
    let mut more = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    match &plan.face {
        Face::Duplex(Habits { permits: Some(_), .. }) => more(&["--permission-prompt-tool", "stdio"]),
        _ => more(&["--dangerously-skip-permissions"]),
    }
    if let Some(most) = plan.max_turns {
        more(&["--max-turns", &most.to_string()]);
    }
    match &plan.face {
        Face::Duplex(_) => more(&["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]),
        Face::Argument("stream-json") => more(&["do it", "--output-format", "stream-json", "--verbose"]),
        Face::Argument(format) => more(&["do it", "--output-format", format]),
    }
    if plan.partials {
        more(&["--include-partial-messages"]);
    }
    if plan.settings != json!({}) {
        more(&["--settings", &plan.settings.to_string()]);
    }
    if plan.servers != json!({}) {
        more(&["--mcp-config", &plan.servers.to_string()]);
    }
    args
}

/// Reads lines as this reader does, until the pipe closes or the reader has had enough.
fn read(stdout: ChildStdout, habit: Stdout, news: &Sender<News>) {
    let mut stdout = BufReader::new(stdout);
    let mut count = 0;
    let mut line = Vec::new();
    loop {
        if habit == Stdout::Leaves(count) {
            // A client that hears nothing more has nothing more to say.
            drop(stdout);
            let _ = news.send(News::Left);
            return;
        }
        line.clear();
        if !stdout.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            return;
        }
        count += 1;
        let text = String::from_utf8_lossy(&line).into_owned();
        let told = match text.strip_suffix('\n') {
            Some(whole) => News::Line(whole.into()),
            None => News::Torn(text),
        };
        if news.send(told).is_err() {
            return;
        }
        if let Stdout::Slow(pause) = habit {
            std::thread::sleep(pause);
        }
    }
}

/// All that came on stderr, once it is closed; or the pipe itself, for one who holds it and never looks.
fn listen(mut pipe: ChildStderr, habit: Stderr) -> (Receiver<String>, Option<ChildStderr>) {
    let (done, all) = channel();
    match habit {
        Stderr::Gone => (all, None),
        Stderr::Ignored => (all, Some(pipe)),
        Stderr::Read => {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                // Whatever came before an error is worth showing.
                let _ = pipe.read_to_end(&mut text);
                let _ = done.send(String::from_utf8_lossy(&text).into_owned());
            });
            (all, None)
        }
    }
}

/// The client's side of the conversation.
struct Client<'a> {
    plan: &'a Plan,
    stdin: Option<ChildStdin>,
    pid: Pid,
    started: Instant,
    strikes: Vec<crate::plan::Strike>,
    results: usize,
    interrupted: bool,
    struck_at: Option<Instant>,
    seen: Seen,
}

impl<'a> Client<'a> {
    fn new(plan: &'a Plan, stdin: ChildStdin, pid: Pid, started: Instant) -> Self {
        let strikes = plan.strikes.clone();
        let mut client = Self {
            plan,
            stdin: Some(stdin),
            pid,
            started,
            strikes,
            results: 0,
            interrupted: false,
            struck_at: None,
            seen: Seen::default(),
        };
        client.speak();
        client
    }

    /// Says whatever is to be said by now.
    fn speak(&mut self) {
        let Face::Duplex(habits) = &self.plan.face else {
            self.seen.prompts = 1;
            self.stdin = None;
            return;
        };
        let habits = *habits;
        if habits.initializes && self.seen.prompts == 0 {
            let request = json!({"subtype": "initialize", "hooks": null});
            self.write(&format!("{}\n", json!({"type": "control_request", "request_id": "init", "request": request})));
        }
        while self.seen.prompts < habits.prompts && (habits.hurried || self.seen.prompts <= self.results) {
            if habits.garbage && self.write("this is no JSON\n") {
                self.seen.bad_lines += 1;
            }
            let prompt = format!("do number {}", self.seen.prompts);
            let line = json!({"type": "user", "message": {"role": "user", "content": prompt}});
            if !self.write(&format!("{line}\n")) {
                return;
            }
            self.seen.prompts += 1;
        }
        let all_said = self.seen.prompts == habits.prompts;
        if all_said && self.stdin.is_some() && (habits.leaves_early || self.results >= habits.prompts) {
            if habits.half_a_line && self.write("{\"type\":\"user\",\"mess") {
                self.seen.bad_lines += 1;
            }
            self.stdin = None;
        }
    }

    /// False where nobody reads any more.
    fn write(&mut self, text: &str) -> bool {
        let written = self.stdin.as_mut().is_some_and(|stdin| stdin.write_all(text.as_bytes()).is_ok());
        if !written {
            self.stdin = None;
        }
        written
    }

    fn attend(&mut self, heard: &Receiver<News>) {
        let deadline = self.started + DEADLINE;
        let mut exited: Option<Instant> = None;
        loop {
            self.strike();
            let now = Instant::now();
            let wait = match exited {
                // The rest of its lines is in the pipe; a slow reader takes its time over them.
                Some(_) => GONE_WITHIN,
                None => self.next_strike().unwrap_or(deadline).min(deadline).saturating_duration_since(now),
            };
            match heard.recv_timeout(wait) {
                Ok(News::Line(line)) => self.hear(line),
                Ok(News::Torn(text)) => self.seen.torn = text,
                Ok(News::Left) => self.stdin = None,
                Ok(News::Exited(status)) => {
                    exited = Some(Instant::now());
                    (self.seen.code, self.seen.signal) = (status.code(), status.signal());
                    self.seen.dying = self.struck_at.map_or(Duration::ZERO, |at| at.elapsed());
                    self.strikes.clear();
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) if exited.is_some() => return,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    self.seen.timed_out = true;
                    // It may end at this very moment.
                    let _ = kill_process(self.pid, Signal::KILL);
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn hear(&mut self, line: String) {
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        self.seen.lines.push(line);
        if event["type"] == "result" && event["origin"]["kind"] != "task-notification" {
            self.results += 1;
            self.speak();
        }
        if self.plan.interrupt_after.is_some_and(|lines| self.seen.lines.len() > lines) && !self.interrupted {
            self.interrupted = true;
            let request = json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}});
            self.write(&format!("{request}\n"));
        }
        if event["type"] == "control_request" {
            self.answer(&event["request_id"]);
        }
    }

    /// Answers a question of the agent, or does not.
    fn answer(&mut self, id: &Value) {
        let Face::Duplex(Habits { permits: Some(permits), .. }) = &self.plan.face else { return };
        let reply = |body: Value| json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": body}});
        let refusal = reply(json!({"behavior": "deny", "message": "no"}));
        let said = match permits {
            Permits::Yes => format!("{}\n", reply(json!({"behavior": "allow", "updatedInput": null}))),
            Permits::No => format!("{refusal}\n"),
            Permits::Nonsense => format!("{}\n{refusal}\n", reply(json!({"behaviour": 7}))),
            Permits::Never => {
                self.stdin = None;
                return;
            }
        };
        self.write(&said);
    }

    fn next_strike(&self) -> Option<Instant> {
        let times = self.strikes.iter().filter_map(|strike| match strike.when {
            When::After(delay) => Some(self.started + delay),
            When::Lines(_) => None,
        });
        times.min()
    }

    fn strike(&mut self) {
        let (lines, elapsed) = (self.seen.lines.len(), self.started.elapsed());
        let due = |strike: &crate::plan::Strike| match strike.when {
            When::Lines(count) => lines >= count,
            When::After(delay) => elapsed >= delay,
        };
        let (now, later): (Vec<_>, Vec<_>) = self.strikes.iter().copied().partition(due);
        self.strikes = later;
        for strike in now {
            if let Some(signal) = Signal::from_named_raw(strike.signal)
                && kill_process(self.pid, signal).is_ok()
            {
                self.seen.struck.push(strike.signal);
                self.struck_at = Some(Instant::now());
            }
        }
    }
}

/// Every transcript under a home.
pub fn transcripts(home: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = list(&home.join(".claude/projects")).flat_map(|folder| list(&folder).collect::<Vec<_>>());
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}
