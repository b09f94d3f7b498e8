//! A fold over a recording, for lists and for a run's own page. The recording is read once, and then only its new lines.

use super::Found;
use cycle::{CheckFinished, EventKind, IterationStarted, LoopEvent, Memory, Receipt, RunStarted, TodoItem};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;

/// Results of checks that are kept, with the end of what they printed.
const CHECKS_MAX: usize = 100;
const CHECK_OUTPUT_MAX: usize = 8 * 1024;
/// Iterations whose receipts are kept; a run of a night has some hundreds.
const RECEIPTS_MAX: usize = 5_000;
/// The head of a line that says what kind it is.
const HEAD: usize = 64;

#[derive(Debug, Default)]
pub struct RunFold {
    /// Bytes that were read, up to the end of a line.
    offset: u64,
    /// Lines that were read.
    pub seq: u64,
    pub started: u64,
    pub start: Option<RunStarted>,
    /// The commit that it began with, however often it went on.
    pub head: Option<String>,
    pub memory: Memory,
    pub receipts: Vec<EndedIteration>,
    pub checks: Vec<(u64, CheckFinished)>,
    todo: Vec<TodoItem>,
    last_at: u64,
    current: Option<(IterationStarted, u64)>,
    check_running: Option<String>,
    waiting: Option<(u64, String)>,
    is_paused: bool,
}

#[derive(Debug, Clone)]
pub struct EndedIteration {
    pub iteration: u32,
    /// When it ended, and in which line.
    pub at: u64,
    pub seq: u64,
    pub receipt: Receipt,
}

impl RunFold {
    /// Reads what is new. A recording that became shorter is another one.
    pub fn read_on(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if length < self.offset {
            *self = Self::default();
        }
        if length == self.offset {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line)?;
            // Without its end it is not written yet.
            if read == 0 || line.last() != Some(&b'\n') {
                return Ok(());
            }
            self.offset += read as u64;
            self.seq += 1;
            self.take(&line);
        }
    }

    fn take(&mut self, line: &[u8]) {
        let head = String::from_utf8_lossy(&line[..line.len().min(HEAD)]);
        // Agents' lines are most of a recording, and none of what is shown here but their time.
        if head.contains("\"type\":\"agent\"") {
            let digits = head.trim_start_matches("{\"at\":");
            let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
            self.last_at = digits[..end].parse().unwrap_or(self.last_at);
            return;
        }
        if let Ok(event) = LoopEvent::parse(&String::from_utf8_lossy(line)) {
            self.fold(&event);
        }
    }

    fn fold(&mut self, event: &LoopEvent) {
        self.last_at = event.at;
        match &event.kind {
            EventKind::RunStarted(start) => {
                if self.start.is_none() {
                    self.started = event.at;
                    self.head.clone_from(&start.head);
                }
                self.start = Some((**start).clone());
                (self.waiting, self.is_paused, self.current) = (None, false, None);
            }
            EventKind::IterationStarted(start) => {
                self.current = Some((start.clone(), event.at));
                self.waiting = None;
            }
            EventKind::IterationEnded { iteration, receipt } => {
                self.current = None;
                if self.receipts.len() < RECEIPTS_MAX {
                    let (at, seq, receipt) = (event.at, self.seq, (**receipt).clone());
                    self.receipts.push(EndedIteration { iteration: *iteration, at, seq, receipt });
                }
            }
            EventKind::CheckStarted { command, .. } => self.check_running = Some(command.clone()),
            EventKind::CheckFinished(check) => {
                self.check_running = None;
                let mut check = check.clone();
                let from = check.output.ceil_char_boundary(check.output.len().saturating_sub(CHECK_OUTPUT_MAX));
                check.output = check.output.split_off(from);
                if self.checks.len() >= CHECKS_MAX {
                    self.checks.remove(0);
                }
                self.checks.push((event.at, check));
            }
            EventKind::Todo { items } => self.todo.clone_from(items),
            EventKind::Waiting { until, reason, .. } => self.waiting = Some((*until, reason.clone())),
            EventKind::Paused => self.is_paused = true,
            EventKind::Resumed => self.is_paused = false,
            _ => {}
        }
        self.memory.fold(event);
    }

    /// How it stands, in one word. `owner` is who is at work on it.
    pub fn state(&self, owner: Option<&str>) -> &'static str {
        let is_asking = self.memory.question.is_some() && self.current.is_none();
        match (owner, &self.memory.verdict) {
            (Some(_), Some(_)) => "watching",
            (None, Some(_)) => "ended",
            (None, None) => "unfinished",
            (Some(_), None) if self.is_paused => "paused",
            (Some(_), None) if is_asking => "asking",
            (Some(_), None) if self.waiting.is_some() => "waiting",
            (Some(_), None) => "working",
        }
    }

    /// What waits for a person: the open question of a run at work, or of one that ended with it.
    fn question(&self) -> Option<&cycle::Question> {
        let asked = self.memory.question.as_ref()?;
        let ended = self.memory.verdict.as_ref();
        ended.is_none_or(|verdict| verdict.question.is_some()).then_some(asked)
    }

    pub fn summary(&self, found: &Found, owner: Option<&str>) -> Value {
        let start = self.start.as_ref();
        let spent = self.memory.spent;
        let costs: Vec<f64> = self.receipts.iter().map(|ended| ended.receipt.cost_usd).collect();
        let said = self.receipts.iter().rev().map(|ended| ended.receipt.summary.trim()).find(|said| !said.is_empty());
        let last = said.and_then(|said| said.lines().find(|line| !line.trim().is_empty() && !line.starts_with('<')));
        json!({
            "id": found.id,
            "folder": found.folder.root().display().to_string(),
            "title": start.map(|start| start.title.as_str()),
            "work": self.memory.work.as_ref().map(|work| work.title.as_str()),
            "backend": start.map(|start| start.backend.as_str()),
            "model": self.current.as_ref().map(|(current, _)| current.model.as_str()).or(start.map(|start| start.model.as_str())),
            "state": self.state(owner),
            "verdict": self.memory.verdict,
            "iteration": self.current.as_ref().map_or(self.memory.iterations, |(current, _)| current.iteration),
            "iterations": self.memory.iterations,
            "max_iterations": start.map_or(0, |start| start.limits.iterations),
            "cost_usd": spent.usd,
            "max_cost_usd": start.and_then(|start| start.limits.run.usd),
            "tokens": spent.tokens,
            "elapsed_ms": spent.time_ms,
            "started": self.started,
            "last_event_at": self.last_at,
            "iteration_started": self.current.as_ref().map(|(_, at)| at),
            "waiting_until": self.waiting.as_ref().map(|(until, _)| until),
            "waiting_for": self.waiting.as_ref().map(|(_, reason)| reason),
            "question": self.question(),
            "check_running": self.check_running,
            "last": last.map(|line| cycle::bounded(line, 200)),
            "costs": costs,
            "pid": owner.and_then(pid),
            "seq": self.seq,
        })
    }

    pub fn detail(&self, found: &Found, owner: Option<&str>) -> Value {
        let mut value = self.summary(found, owner);
        let start = self.start.as_ref();
        value["limits"] = json!(start.map(|start| start.limits));
        value["checks"] = json!(start.map(|start| &start.checks));
        value["sandbox"] = json!(start.and_then(|start| start.sandbox.as_ref()));
        value["unconfined"] = json!(start.and_then(|start| start.unconfined.as_ref()));
        value["todo"] = json!(self.todo);
        value["receipts"] = self.receipts.iter().map(EndedIteration::json).collect();
        let checks = self.checks.iter().map(|(at, check)| {
            let mut check = json!(check);
            check["at"] = json!(at);
            check
        });
        value["check_results"] = checks.collect();
        value
    }
}

impl EndedIteration {
    pub fn json(&self) -> Value {
        json!({"iteration": self.iteration, "at": self.at, "seq": self.seq, "receipt": self.receipt})
    }
}

/// From the lock's words: `process 12, run …`.
fn pid(owner: &str) -> Option<u32> {
    let digits = owner.split_once("process ")?.1;
    digits[..digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
