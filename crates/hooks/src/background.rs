//! Hooks that nobody waits for: started now, looked at before the next turn, ended with the run.

use crate::event::HookEvent;
use crate::hook_answer::HookAnswer;
use crate::host::{HookRun, Outcome};
use std::cell::RefCell;
use std::mem::take;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// A hook on every tool call that never ends must not fill the machine.
const MOST_AT_ONCE: usize = 32;

/// Bytes shown of a stream. Both stand in one line, and twice: clients give up on lines of a MiB.
const LONGEST_STREAM: usize = 64 * 1024;

/// A background hook that has ended.
#[derive(Debug)]
pub struct Finished {
    pub news: HookRun,
    pub verdict: HookAnswer,
    /// It wants to be heard now, whether or not anybody is asking for anything.
    pub wakes: bool,
}

/// Who a background hook is, for its last word.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) hook_id: String,
    pub(crate) name: String,
    pub(crate) event: HookEvent,
}

impl Open {
    pub(crate) fn started(&self) -> HookRun {
        HookRun::Started { hook_id: self.hook_id.clone(), name: self.name.clone(), event: self.event }
    }

    pub(crate) fn response(&self, said: &Streams, outcome: Outcome) -> HookRun {
        let (stdout, stderr) = (start_of(&said.stdout), start_of(&said.stderr));
        HookRun::Response {
            hook_id: self.hook_id.clone(),
            name: self.name.clone(),
            event: self.event,
            output: format!("{stdout}{stderr}"),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            exit_code: said.exit_code,
            outcome: outcome.as_str(),
        }
    }
}

fn start_of(stream: &str) -> &str {
    &stream[..stream.floor_char_boundary(LONGEST_STREAM)]
}

/// What a handler showed of itself.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit_code: Option<i32>,
}

#[derive(Debug, Default)]
pub(crate) struct Background {
    tasks: RefCell<JoinSet<(String, Finished)>>,
    open: RefCell<Vec<Open>>,
    ended: Arc<Notify>,
}

impl Background {
    /// `false`: too many run already, and this one was not started.
    pub(crate) fn start(&self, who: Open, work: impl Future<Output = Finished> + Send + 'static) -> bool {
        if self.tasks.borrow().len() >= MOST_AT_ONCE {
            return false;
        }
        let hook_id = who.hook_id.clone();
        self.open.borrow_mut().push(who);
        let ended = Arc::clone(&self.ended);
        self.tasks.borrow_mut().spawn(async move {
            let finished = work.await;
            ended.notify_one();
            (hook_id, finished)
        });
        true
    }

    pub(crate) async fn one_finished(&self) {
        self.ended.notified().await;
    }

    pub(crate) fn take_finished(&self) -> Vec<Finished> {
        let mut finished = Vec::new();
        while let Some(ended) = self.tasks.borrow_mut().try_join_next() {
            // One that panicked stays open, and is reported as cancelled at the end.
            let Ok((hook_id, ended)) = ended else { continue };
            self.open.borrow_mut().retain(|open| open.hook_id != hook_id);
            finished.push(ended);
        }
        finished
    }

    pub(crate) async fn end(&self) -> Vec<HookRun> {
        let mut news: Vec<HookRun> = self.take_finished().into_iter().map(|finished| finished.news).collect();
        let mut tasks = take(&mut *self.tasks.borrow_mut());
        // Dropping the work kills the process and all it started.
        tasks.shutdown().await;
        let cancelled = take(&mut *self.open.borrow_mut());
        news.extend(cancelled.iter().map(|open| open.response(&Streams::default(), Outcome::Cancelled)));
        news
    }
}
