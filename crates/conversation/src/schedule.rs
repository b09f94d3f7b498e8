//! Prompts that wait for their time: the wakeup that the model has set, and its jobs by the clock.
//!
//! They come while the session runs. A wakeup keeps the process alive, jobs do not. Jobs are written to the transcript, so a
//! resumed session has those again that are not over. Deliberately absent: the turn that such a prompt begins
//! ([`crate::scheduled_input`]), and jobs that outlive their session.

use crate::cron::{Cron, CronError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use policy::names;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use tokio::sync::Notify;
use turn::CallResult;

/// What ids of jobs begin with.
const PREFIX: &str = "cron";
/// More jobs are a model that lost count.
const MOST_JOBS: usize = 50;
/// A wakeup holds the process; nobody waits for longer.
const LONGEST_WAKEUP: Duration = Duration::from_hours(1);
/// A job that comes again and again ends then, as in the reference: nobody pays for one that was forgotten.
const LONGEST_JOB: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The line of a transcript that has the jobs.
const STATE: &str = "scheduled-jobs";
/// The clock may be set while we sleep, so it is looked at this often.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Schedule {
    waiting: RefCell<Vec<Waiting>>,
    changed: Notify,
    made: Cell<u64>,
    /// The jobs have changed since [`Self::state`] was asked.
    is_untold: Cell<bool>,
    shortest: Duration,
}

#[derive(Debug, Clone)]
struct Waiting {
    id: String,
    due: Timestamp,
    prompt: String,
    /// None for a wakeup.
    job: Option<Job>,
}

#[derive(Debug, Clone)]
struct Job {
    text: String,
    cron: Cron,
    is_recurring: bool,
    created: Timestamp,
}

impl Job {
    /// When it comes after this; never, where it has come for the last time.
    fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let is_over = after.duration_since(self.created) >= LONGEST_JOB;
        if is_over || !self.is_recurring { None } else { next(&self.cron, after) }
    }
}

#[derive(Debug, thiserror::Error)]
enum ScheduleError {
    #[error("The time cannot be read: {0}.")]
    Time(#[from] CronError),
    #[error("The time '{0}' never comes.")]
    Never(String),
    #[error("{MOST_JOBS} jobs wait already. Delete one with CronDelete.")]
    TooMany,
    #[error("There is no job '{0}'. CronList shows those that wait.")]
    Unknown(String),
}

impl Schedule {
    pub fn new(shortest: Duration) -> Self {
        let (waiting, made, is_untold) = (RefCell::default(), Cell::default(), Cell::default());
        Self { waiting, changed: Notify::new(), made, is_untold, shortest }
    }

    /// The jobs as a line of the transcript, where they have changed since this was asked last.
    pub fn state(&self) -> Option<Value> {
        let jobs = || self.jobs().iter().map(shown).collect::<Vec<_>>();
        self.is_untold.replace(false).then(|| json!({"type": STATE, "jobs": jobs()}))
    }

    /// Takes the jobs of such a line up again. A job that would have come once and was missed does not come any more, nor
    /// does one that is over; an entry that makes no sense is none.
    pub fn restore(&self, state: &Value) {
        let now = Timestamp::now();
        for entry in state["jobs"].as_array().into_iter().flatten().take(MOST_JOBS) {
            let Some(waiting) = restored(entry, now) else { continue };
            let number = waiting.id.strip_prefix(PREFIX).and_then(|number| number.parse::<u32>().ok());
            self.made.set(self.made.get().max(number.unwrap_or(0).into()));
            self.add(waiting);
        }
    }

    /// A new conversation begins: what was set in the old one belongs to it.
    pub fn clear(&self) {
        self.waiting.borrow_mut().clear();
        self.is_untold.set(false);
        self.changed.notify_one();
    }

    fn jobs(&self) -> Vec<Waiting> {
        self.waiting.borrow().iter().filter(|waiting| waiting.job.is_some()).cloned().collect()
    }

    /// The process has to stay for it.
    pub fn has_wakeup(&self) -> bool {
        self.waiting.borrow().iter().any(|waiting| waiting.job.is_none())
    }

    /// The next prompt whose time has come. May be dropped at any time; nothing is lost.
    pub async fn next(&self) -> String {
        loop {
            let now = Timestamp::now();
            if let Some(prompt) = self.take_due(now) {
                return prompt;
            }
            let due = self.waiting.borrow().iter().map(|waiting| waiting.due).min();
            let wait = due.and_then(|due| Duration::try_from(due.duration_since(now)).ok()).unwrap_or(LOOK_AGAIN);
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(wait.min(LOOK_AGAIN)) => {}
            }
        }
    }

    fn take_due(&self, now: Timestamp) -> Option<String> {
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|waiting| waiting.due <= now)?;
        let prompt = waiting[at].prompt.clone();
        let again = waiting[at].job.as_ref().and_then(|job| job.next(now));
        match again {
            Some(due) => waiting[at].due = due,
            None => drop(waiting.remove(at)),
        }
        Some(prompt)
    }

    /// One call of the tools; its input was checked.
    pub fn run(&self, name: &str, input: &Value) -> CallResult {
        let done = match name {
            name if name == names::SCHEDULE_WAKEUP.name => return self.wake(input),
            name if name == names::CRON_CREATE.name => self.create(input),
            name if name == names::CRON_DELETE.name => self.delete(input),
            _ => return self.list(),
        };
        done.unwrap_or_else(|error| CallResult::error(error.to_string()))
    }

    fn wake(&self, input: &Value) -> CallResult {
        if input["noop"] == true {
            return CallResult::text("Nothing was changed.", json!({"scheduledFor": null}));
        }
        self.waiting.borrow_mut().retain(|waiting| waiting.job.is_some());
        if input["stop"] == true {
            return CallResult::text("No wakeup waits any more.", json!({"scheduledFor": null, "stopped": true}));
        }
        let asked = input["delaySeconds"].as_f64().filter(|asked| asked.is_finite()).unwrap_or_default().max(0.0);
        let asked = Duration::try_from_secs_f64(asked).unwrap_or(LONGEST_WAKEUP);
        let delay = asked.clamp(self.shortest, LONGEST_WAKEUP);
        let due = Timestamp::now().saturating_add(SignedDuration::try_from(delay).unwrap_or_default());
        let due = due.unwrap_or(Timestamp::MAX);
        let prompt = input["prompt"].as_str().unwrap_or_default().to_owned();
        self.add(Waiting { id: "wakeup".into(), due, prompt, job: None });
        let seconds = delay.as_secs();
        let structured =
            json!({"scheduledFor": due.as_millisecond(), "clampedDelaySeconds": seconds, "wasClamped": delay != asked});
        CallResult::text(format!("A new turn begins in {seconds} s. End this one now."), structured)
    }

    fn create(&self, input: &Value) -> Result<CallResult, ScheduleError> {
        let text = input["cron"].as_str().unwrap_or_default();
        let cron = Cron::parse(text)?;
        let due = next(&cron, Timestamp::now()).ok_or_else(|| ScheduleError::Never(text.to_owned()))?;
        if self.waiting.borrow().len() >= MOST_JOBS {
            return Err(ScheduleError::TooMany);
        }
        self.made.set(self.made.get() + 1);
        let id = format!("{PREFIX}{}", self.made.get());
        let is_recurring = input["recurring"].as_bool().unwrap_or(true);
        let prompt = input["prompt"].as_str().unwrap_or_default().to_owned();
        let job = Job { text: text.to_owned(), cron, is_recurring, created: Timestamp::now() };
        let waiting = Waiting { id, due, prompt, job: Some(job) };
        let shown = shown(&waiting);
        let words = format!(
            "The job {} waits; it begins next at {}. It belongs to this session: it comes only while the session runs{}.",
            waiting.id,
            local(due),
            if is_recurring { ", for seven days at most" } else { "" },
        );
        self.add(waiting);
        self.is_untold.set(true);
        Ok(CallResult::text(words, shown))
    }

    fn delete(&self, input: &Value) -> Result<CallResult, ScheduleError> {
        let id = input["id"].as_str().unwrap_or_default();
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|waiting| waiting.job.is_some() && waiting.id == id);
        let at = at.ok_or_else(|| ScheduleError::Unknown(id.to_owned()))?;
        waiting.remove(at);
        self.is_untold.set(true);
        Ok(CallResult::text(format!("The job {id} is deleted."), json!({"id": id})))
    }

    fn list(&self) -> CallResult {
        let jobs = self.jobs();
        let line = |job: &Waiting| format!("{}: next at {}: {}", job.id, local(job.due), job.prompt);
        let lines: Vec<String> = jobs.iter().map(line).collect();
        let words = if lines.is_empty() { "No job waits.".to_owned() } else { lines.join("\n") };
        CallResult::text(words, json!({"jobs": jobs.iter().map(shown).collect::<Vec<_>>()}))
    }

    fn add(&self, waiting: Waiting) {
        self.waiting.borrow_mut().push(waiting);
        self.changed.notify_one();
    }
}

fn next(cron: &Cron, after: Timestamp) -> Option<Timestamp> {
    let zone = TimeZone::system();
    let local = cron.next_after(zone.to_datetime(after))?;
    zone.to_timestamp(local).ok()
}

fn local(moment: Timestamp) -> String {
    moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

fn shown(waiting: &Waiting) -> Value {
    let job = waiting.job.as_ref();
    let text = job.map_or("", |job| job.text.as_str());
    json!({
        "id": waiting.id,
        "cron": text,
        "prompt": waiting.prompt,
        "humanSchedule": format!("at the times of {text}"),
        "recurring": job.is_some_and(|job| job.is_recurring),
        "durable": false,
        "nextFireAt": waiting.due.as_millisecond(),
        "createdAt": job.map(|job| job.created.as_millisecond()),
    })
}

/// The job of an entry that [`shown`] has written, where it still comes.
fn restored(entry: &Value, now: Timestamp) -> Option<Waiting> {
    let moment = |key: &str| Timestamp::from_millisecond(entry[key].as_i64()?).ok();
    let text = entry["cron"].as_str()?;
    let is_recurring = entry["recurring"].as_bool()?;
    let job = Job { text: text.to_owned(), cron: Cron::parse(text).ok()?, is_recurring, created: moment("createdAt")? };
    let due = if is_recurring { job.next(now)? } else { moment("nextFireAt").filter(|due| *due > now)? };
    let word = |key: &str| entry[key].as_str().map(str::to_owned);
    Some(Waiting { id: word("id")?, due, prompt: word("prompt")?, job: Some(job) })
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
