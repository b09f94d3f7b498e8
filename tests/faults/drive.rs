//! Plays one schedule against the binary and writes down what happened.

use crate::client::Client;
use crate::house::House;
use crate::model;
use crate::plan::{Face, Habits, Plan, Stderr, Stdout};
use mock::{Mock, Recorded};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A run that takes longer hangs: twice what the slowest schedule takes on a busy machine.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// After the exit whatever it started has this long to be gone; the agent itself waits for it before.
pub const GONE_WITHIN: Duration = Duration::from_secs(2);

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

pub enum News {
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
            .env("IS_SANDBOX", "1")
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

/// Every transcript under a home.
pub fn transcripts(home: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = list(&home.join(".claude/projects")).flat_map(|folder| list(&folder).collect::<Vec<_>>());
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}
