//! A repository, a store, and agents that do what a goal's text says.

use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::{World, looping};

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

/// Writes each file that the goal names (`write NAME`), and says that it is done.
pub const WRITER: &str = r#"
hear
for name in $(printf '%s' "$line" | grep -o 'write [a-z0-9.-]*' | cut -d' ' -f2 | sort -u); do echo "content of $name" > "$name"; done
structured '"DONE"'
"#;

pub struct Goals {
    pub world: World,
    pub store: Option<String>,
}

impl Goals {
    pub fn new() -> Self {
        Self::with_agent(WRITER)
    }

    pub fn with_agent(script: &str) -> Self {
        let world = looping::folder();
        looping::agent(&world, script);
        Self { world, store: None }
    }

    pub fn repo(&self) -> PathBuf {
        self.world.wd().to_owned()
    }

    pub fn state(&self) -> PathBuf {
        self.world.home().join("state")
    }

    pub fn agent(&self) -> String {
        self.world.home().join("agent.sh").display().to_string()
    }

    #[expect(clippy::disallowed_methods, reason = "workers must live beside each other, and be killed")]
    pub fn command(&self, words: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        testkit::reset_ignored_signals();
        let mut command = Command::new(binary());
        command.args(words).current_dir(self.world.wd()).env_clear();
        command.env("HOME", self.world.home()).env("PATH", path).env("RALPH_STATE", self.state());
        command.env("TMPDIR", self.world.home().parent().unwrap().join("tmp"));
        command
            .env("ANTHROPIC_API_KEY", "sk-ant-test-0000000000000000")
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_BASE_URL", self.world.mock().url());
        command.envs(self.store.iter().map(|store| ("RALPH_STORE", store)));
        command.stdin(Stdio::null());
        command
    }

    /// To its end, with what it and everything that it started took.
    pub fn timed(&self, words: &[&str]) -> process::Timed {
        let like = self.command(words);
        let env = like.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        let spec = process::Spec {
            program: like.get_program().to_owned(),
            args: like.get_args().map(ToOwned::to_owned).collect(),
            cwd: self.repo(),
            env,
            stdin: process::Stdin::Null,
            output: process::Output::Pipes,
            arg0: None,
        };
        process::timed(&spec, "").unwrap()
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// It must succeed; its stdout.
    pub fn ok(&self, words: &[&str]) -> String {
        let done = self.run(words);
        let (out, err) = (String::from_utf8_lossy(&done.stdout).into_owned(), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{words:?}: {out}{err}");
        out
    }

    /// It must fail; its stderr.
    pub fn refused(&self, words: &[&str]) -> String {
        let done = self.run(words);
        assert_eq!(done.status.code(), Some(1), "{words:?}: {}", String::from_utf8_lossy(&done.stdout));
        String::from_utf8_lossy(&done.stderr).trim().to_owned()
    }

    /// A goal for the fake agent, and its number.
    pub fn add(&self, text: &str, options: &[&str]) -> i64 {
        let agent = self.agent();
        let words = [&["goal", "add", text, "--json", "--backend", &agent][..], options].concat();
        let goal: Value = serde_json::from_str(&self.ok(&words)).unwrap();
        goal["id"].as_i64().unwrap()
    }

    pub fn show(&self, id: i64) -> Value {
        serde_json::from_str(&self.ok(&["goal", "show", &id.to_string(), "--json"])).unwrap()
    }

    pub fn state_of(&self, id: i64) -> String {
        self.show(id)["state"].as_str().unwrap().to_owned()
    }

    pub fn all(&self) -> Vec<Value> {
        self.ok(&["goal", "list", "--all", "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Works until nothing is left.
    pub fn drain(&self, words: &[&str]) -> String {
        self.ok(&[&["work", "--drain"][..], words].concat())
    }

    /// A worker beside us.
    pub fn worker(&self, words: &[&str]) -> Worker {
        self.worker_with(words, "RALPH_TEST_DIE_AT", "")
    }

    pub fn worker_with(&self, words: &[&str], name: &str, value: &str) -> Worker {
        let mut command = self.command(&[&["work"][..], words].concat());
        let log = std::fs::File::options().create(true).append(true).open(self.log()).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).env(name, value);
        Worker(command.spawn().unwrap())
    }

    /// A worker whose files cannot grow beyond so many blocks of 512 bytes: to it, the disk is full.
    #[expect(clippy::disallowed_methods, reason = "only a shell can set the limit")]
    pub fn starved_worker(&self, blocks: u32, words: &[&str]) -> Worker {
        let like = self.command(&[&["work"][..], words].concat());
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")])
            .arg(like.get_program())
            .args(like.get_args());
        shell.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let log = std::fs::File::options().create(true).append(true).open(self.log()).unwrap();
        shell.current_dir(self.world.wd()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Worker(shell.spawn().unwrap())
    }

    /// What workers beside us say.
    pub fn log(&self) -> PathBuf {
        self.world.home().join("worker.log")
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(self.world.wd(), args)
    }

    /// What is on the branch of a goal, or on another ref.
    pub fn file_at(&self, name: &str, path: &str) -> Option<String> {
        let done = git_output(self.world.wd(), &["show", &format!("{name}:{path}")]);
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Commits on a ref that carry the goal's trailer.
    pub fn landed_commits(&self, name: &str, id: i64) -> usize {
        let log = self.git(&["log", "--format=%(trailers:key=Ralph-Goal,valueonly)", name]);
        log.lines().filter(|line| line.trim() == id.to_string()).count()
    }

    /// What workers leave behind: clones, trust in them, refs. Nothing is right.
    pub fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        for store in self.state().join("clones").read_dir().into_iter().flatten().flatten() {
            for repo in store.path().read_dir().into_iter().flatten().flatten() {
                left.extend(
                    repo.path()
                        .read_dir()
                        .into_iter()
                        .flatten()
                        .flatten()
                        .map(|entry| entry.path().display().to_string()),
                );
            }
        }
        let known = std::fs::read_to_string(self.world.home().join(".claude.json")).unwrap_or_default();
        let known: Value = serde_json::from_str(&known).unwrap_or_default();
        let trusted = known["projects"].as_object().into_iter().flatten().map(|(folder, _)| folder.clone());
        left.extend(trusted.filter(|folder| folder.contains("/clones/")).map(|folder| format!("trust of {folder}")));
        left.extend(self.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/"]).lines().map(str::to_owned));
        left
    }

    pub fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_mins(1);
        while !is_there() {
            let said = || std::fs::read_to_string(self.log()).unwrap_or_default();
            assert!(Instant::now() < until, "waited in vain for {what}: {:#?}\n{}", self.all(), said());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

pub struct Worker(pub Child);

impl Worker {
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Stops it between two writes to the store. In the middle of one it would keep every other worker waiting for as long as it
    /// stands still, which is right, but not what these tests are about.
    pub fn stand_still(&self) {
        let id = self.0.id().to_string();
        let is_writing = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(3) == Some(&"WRITE") && fields.get(4) == Some(&id.as_str())
        };
        loop {
            self.signal(Signal::STOP);
            while !std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap().contains(") T ") {
                std::thread::yield_now();
            }
            if !std::fs::read_to_string("/proc/locks").unwrap().lines().any(is_writing) {
                return;
            }
            self.signal(Signal::CONT);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub fn ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn git(folder: &Path, args: &[&str]) -> String {
    let done = git_output(folder, args);
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "the tests look at repositories themselves")]
pub fn git_output(folder: &Path, args: &[&str]) -> Output {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    Command::new("git").args(identity).args(args).current_dir(folder).output().unwrap()
}
