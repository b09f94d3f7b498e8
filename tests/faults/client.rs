//! The client's side of one schedule: what it says and when, and the signals that somebody sends meanwhile.

use crate::drive::{DEADLINE, GONE_WITHIN, News, Seen};
use crate::plan::{Face, Habits, Permits, Plan, Strike, When};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The client's side of the conversation.
pub struct Client<'a> {
    plan: &'a Plan,
    stdin: Option<ChildStdin>,
    pid: Pid,
    started: Instant,
    strikes: Vec<Strike>,
    results: usize,
    interrupted: bool,
    struck_at: Option<Instant>,
    pub seen: Seen,
}

impl<'a> Client<'a> {
    pub fn new(plan: &'a Plan, stdin: ChildStdin, pid: Pid, started: Instant) -> Self {
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

    pub fn attend(&mut self, heard: &Receiver<News>) {
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
        let due = |strike: &Strike| match strike.when {
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
