//! A folder with a loop in it that waits at gates, and a client of its socket.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{Outcome, Run, Service, World, looping};

pub use looping::{agent, folder, heard, is_gone, of, verdict, with_model};

/// For what only a file can tell, on a machine that does other things, too.
pub const PATIENCE: Duration = Duration::from_mins(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// In scripts of agents: waits until the test opens this gate.
pub const GATE: &str = "gate() { while [ ! -e \"$HOME/$1\" ]; do sleep 0.02; done; }; ";

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

pub fn open_gate(world: &World, name: &str) {
    std::fs::write(world.home().join(name), "").unwrap();
}

pub fn ralph(world: &World, words: &[&str]) -> Run {
    looping::ralph(&binary(), world, words).env("RALPH", &binary().display().to_string()).deadline(PATIENCE)
}

/// A loop with this agent, beside the test.
pub fn looped(world: &World, script: &str, words: &[&str]) -> std::thread::JoinHandle<Outcome> {
    let run = looping::looped(&binary(), world, &format!("{GATE}{script}"), words)
        .env("RALPH", &binary().display().to_string())
        .deadline(PATIENCE)
        .close();
    std::thread::spawn(move || run.finish().unwrap())
}

/// `ralph attach` beside the test: it has printed its first line, so it is attached.
pub fn attached(world: &World, words: &[&str]) -> Service {
    let home = world.home().display().to_string();
    let words = [&["attach"], words].concat();
    Service::start(&binary(), world.wd(), &words, &[("HOME", &home), ("PATH", "/usr/bin:/bin")]).unwrap()
}

/// To its own end: its exit code and all that it printed.
pub fn followed(service: Service) -> (Option<i32>, String) {
    let first = format!("{}\n", service.greeting);
    // A signal that changes nothing.
    let (status, rest) = service.end(Signal::CONT).unwrap();
    (status.code(), first + &rest)
}

/// A command to its end.
pub fn done(world: &World, words: &[&str]) -> Outcome {
    let outcome = ralph(world, words).close().finish().unwrap();
    assert!(!outcome.timed_out, "it hung: {words:?} {}", outcome.stderr);
    outcome
}

pub fn soon<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The folder of the newest run.
pub fn run_folder(folder: &Path) -> Option<PathBuf> {
    let runs = std::fs::read_dir(folder.join(".ralph/runs")).ok()?.flatten();
    runs.map(|run| run.path()).max()
}

pub fn recording(folder: &Path) -> String {
    run_folder(folder).and_then(|run| std::fs::read_to_string(run.join("events.ndjson")).ok()).unwrap_or_default()
}

pub fn wait_for_words(world: &World, words: &str) {
    soon(words, || recording(world.wd()).contains(words).then_some(()));
}

/// A client that speaks the protocol by hand.
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// To the run that is at work, once it is.
    pub fn connect(world: &World) -> (Self, Value) {
        let stream = soon("a socket", || UnixStream::connect(run_folder(world.wd())?.join("socket")).ok());
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self { stream: BufReader::new(stream) };
        let hello = client.receive().expect("a first line");
        (client, hello)
    }

    pub fn into_stream(self) -> UnixStream {
        self.stream.into_inner()
    }

    pub fn send(&mut self, request: &Value) {
        self.send_raw(&format!("{request}\n"));
    }

    pub fn send_raw(&mut self, text: &str) {
        // A run that cuts us has said why.
        let _ = self.stream.get_mut().write_all(text.as_bytes());
    }

    /// `None` at the end of the connection.
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        loop {
            let line = self.receive().expect("a response");
            if line.get("id").is_some() {
                return line;
            }
        }
    }

    /// Every event from here to the end, and that there was one.
    pub fn all_events(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let line = self.receive().expect("an end before the connection's");
            if line.get("end").is_some() {
                assert_eq!(self.receive(), None);
                return events;
            }
            if line.get("event").is_some() {
                events.push(line);
            }
        }
    }
}

pub fn events_from(seq: u64) -> Value {
    json!({"id": "events", "do": "events", "from": seq})
}
