//! Prompts that wait for their time: the wakeup that the model has set, and its jobs by the clock.
//!
//! They live as long as the session. A wakeup keeps the process alive, jobs do not. Deliberately absent: the turn that
//! such a prompt begins, which is one like any other.

use crate::cron::{Cron, CronError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use policy::names;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use tokio::sync::Notify;
use turn::CallResult;

/// More jobs are a model that lost count.
const MOST_JOBS: usize = 50;
/// A wakeup holds the process; nobody waits for longer.
const LONGEST_WAKEUP: Duration = Duration::from_hours(1);
/// The clock may be set while we sleep, so it is looked at this often.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Schedule {
    waiting: RefCell<Vec<Waiting>>,
    changed: Notify,
    made: Cell<u64>,
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
        Self { waiting: RefCell::default(), changed: Notify::new(), made: Cell::default(), shortest }
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
        let again = waiting[at].job.as_ref().filter(|job| job.is_recurring).and_then(|job| next(&job.cron, now));
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
        let id = format!("cron{}", self.made.get());
        let is_recurring = input["recurring"].as_bool().unwrap_or(true);
        let prompt = input["prompt"].as_str().unwrap_or_default().to_owned();
        let waiting = Waiting { id, due, prompt, job: Some(Job { text: text.to_owned(), cron, is_recurring }) };
        let shown = shown(&waiting);
        let words = format!("The job {} waits; it begins next at {}.", waiting.id, local(due));
        self.add(waiting);
        Ok(CallResult::text(words, shown))
    }

    fn delete(&self, input: &Value) -> Result<CallResult, ScheduleError> {
        let id = input["id"].as_str().unwrap_or_default();
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|waiting| waiting.job.is_some() && waiting.id == id);
        let at = at.ok_or_else(|| ScheduleError::Unknown(id.to_owned()))?;
        waiting.remove(at);
        Ok(CallResult::text(format!("The job {id} is deleted."), json!({"id": id})))
    }

    fn list(&self) -> CallResult {
        let waiting = self.waiting.borrow();
        let jobs: Vec<&Waiting> = waiting.iter().filter(|waiting| waiting.job.is_some()).collect();
        let line = |job: &&Waiting| format!("{}: next at {}: {}", job.id, local(job.due), job.prompt);
        let lines: Vec<String> = jobs.iter().map(line).collect();
        let words = if lines.is_empty() { "No job waits.".to_owned() } else { lines.join("\n") };
        CallResult::text(words, json!({"jobs": jobs.into_iter().map(shown).collect::<Vec<_>>()}))
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wakeup_comes_once_and_holds_the_process_until_then() {
        let schedule = Schedule::new(Duration::from_millis(5));
        let input = json!({"delaySeconds": 0, "prompt": "go on"});
        let told = schedule.run("ScheduleWakeup", &input);
        assert_eq!((&told.structured["wasClamped"], schedule.has_wakeup()), (&json!(true), true));
        assert_eq!(schedule.next().await, "go on");
        assert!(!schedule.has_wakeup());
        schedule.run("ScheduleWakeup", &json!({"delaySeconds": 1e9, "prompt": "late"}));
        let again = schedule.run("ScheduleWakeup", &json!({"delaySeconds": 3000, "prompt": "later"}));
        assert_eq!(again.structured["clampedDelaySeconds"], 3000);
        assert_eq!(schedule.waiting.borrow().len(), 1, "one at a time");
        schedule.run("ScheduleWakeup", &json!({"stop": true}));
        assert!(!schedule.has_wakeup());
    }

    #[test]
    fn jobs_are_listed_come_again_and_are_deleted() {
        let schedule = Schedule::new(Duration::from_mins(1));
        let made = schedule.run("CronCreate", &json!({"cron": "*/5 * * * *", "prompt": "look"}));
        assert_eq!((&made.structured["id"], &made.structured["recurring"]), (&json!("cron1"), &json!(true)));
        assert!(!schedule.has_wakeup(), "a job does not hold the process");
        let due = schedule.waiting.borrow()[0].due;
        assert_eq!(schedule.take_due(due).as_deref(), Some("look"));
        assert!(schedule.waiting.borrow()[0].due > due);
        schedule.run("CronCreate", &json!({"cron": "0 0 1 1 *", "prompt": "once", "recurring": false}));
        let due = schedule.waiting.borrow()[1].due;
        schedule.waiting.borrow_mut()[0].due = Timestamp::MAX;
        assert_eq!(schedule.take_due(due).as_deref(), Some("once"));
        let listed = schedule.run("CronList", &json!({}));
        assert_eq!(listed.structured["jobs"].as_array().map(Vec::len), Some(1));
        assert!(!schedule.run("CronDelete", &json!({"id": "cron1"})).is_error());
        for (name, input) in [
            ("CronDelete", json!({"id": "cron1"})),
            ("CronCreate", json!({"cron": "nonsense", "prompt": "x"})),
            ("CronCreate", json!({"cron": "0 0 31 2 *", "prompt": "x"})),
        ] {
            assert!(schedule.run(name, &input).is_error(), "{input}");
        }
    }
}
