//! Results of an iteration outside of the recording: the commit, the day's account, the open work.

use super::{EventKind, RunLoop, Spent, day};
use crate::{issues, prompt, watch};
use cycle::{AgentOutput, TodoState, todo_items};

/// Of a commit's subject, after its number.
const SUBJECT_MAX: usize = 60;

impl RunLoop<'_> {
    pub(super) async fn commit(&mut self, iteration: u32, summary: &str) {
        let Some(git) = &self.git else { return };
        let message = subject(iteration, summary, &self.job.settings.promise);
        if let Err(why) = git.commit(&message).await {
            self.emit(EventKind::Warning { iteration: Some(iteration), text: why.into() });
        }
    }

    /// Adds to the person's account what came on top since the last time, and learns what other runs used.
    pub(super) fn note_day(&mut self) {
        let Some(file) = self.job.account.clone() else { return };
        let (day, own) = (self.state.day(), self.state.day_own());
        if self.noted.0 != day {
            self.noted = (day, Spent::default());
        }
        // A day that cannot be noted is counted for this run only.
        if let Ok(total) = day::add(&file, day, own.since(self.noted.1)) {
            self.noted.1 = own;
            self.state.set_day_others(total.since(own));
        }
    }

    /// Work that speaks against a claim to be done. Only asked where such a claim may have been made, and no check
    /// decides over it.
    pub(super) async fn open_work(&self, output: &AgentOutput) -> Vec<String> {
        let settings = &self.job.settings;
        let may_claim = settings.is_structured() || output.final_text().contains(settings.promise.trim());
        if self.state.plan().has_checks || !may_claim {
            return Vec::new();
        }
        let todo = prompt::read(&self.job.folder, settings).ok().and_then(|sources| sources.todo);
        let items = todo.map(|todo| todo_items(&todo)).unwrap_or_default();
        let mut open: Vec<String> =
            items.into_iter().filter(|item| item.state != TodoState::Done).map(|item| item.text).collect();
        if let Some((id, title)) =
            self.state.memory().work.as_ref().and_then(|work| Some((work.id.as_ref()?, &work.title)))
            && watch::is_open(&self.job.folder, settings, &self.env, id).await
        {
            open.push(format!("{id} {title}"));
        }
        let begun = issues::in_work(&self.job.folder).into_iter().filter(|issue| !self.in_work_before.contains(issue));
        open.extend(begun);
        open
    }
}

/// The subject of an iteration's commit: the first sentence of its summary that is not the promise.
fn subject(iteration: u32, summary: &str, promise: &str) -> String {
    let words = summary.replace(promise.trim(), "");
    let mut lines = words.lines().map(|line| line.trim_matches(|letter: char| " #*_`\t".contains(letter)));
    match lines.find(|line| line.chars().any(char::is_alphanumeric) && *line != "DONE") {
        Some(line) => format!("ralph {iteration}: {}", cycle::bounded(line, SUBJECT_MAX)),
        None => format!("ralph {iteration}: the work of this iteration"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_never_has_a_promise_as_its_subject() {
        const PROMISE: &str = "<promise>COMPLETE</promise>";
        for (summary, expected) in [
            ("## Mended the door\n\nIt no longer squeaks.", "ralph 3: Mended the door"),
            ("<promise>COMPLETE</promise>", "ralph 3: the work of this iteration"),
            ("**<promise>COMPLETE</promise>**\n", "ralph 3: the work of this iteration"),
            ("All is well. <promise>COMPLETE</promise>", "ralph 3: All is well."),
            ("DONE", "ralph 3: the work of this iteration"),
            ("", "ralph 3: the work of this iteration"),
        ] {
            assert_eq!(subject(3, summary, PROMISE), expected, "{summary}");
        }
    }
}
