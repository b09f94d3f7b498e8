//! A landing, step by step. It may be cut off between any two; the next lander goes on from what is there.

use super::Job;
use super::checks::CheckOutcome;
use super::heartbeat::Lease;
use crate::error::GoalError;
use crate::goal::{Goal, LandingMode};
use crate::landing::{self, MoveOutcome, Prepared, Ready};
use crate::machine::GoalEvent;
use crate::repository::{Repository, words};
use crate::store::Intent;

/// Others push to the branch, too. A branch that moves this often while our checks run is left for later.
const RACES_MAX: u32 = 5;
/// A person is at work in the checked-out tree.
const UNCLEAN_PAUSE_MS: i64 = 60_000;
const RACED_PAUSE_MS: i64 = 5_000;
/// Digits of a commit's name that people recognise.
const SHORT_ID: usize = 12;

enum LandingAttempt {
    Landed(Intent),
    Ended(GoalEvent),
    Raced,
}

impl Job {
    pub async fn land(&self) -> Result<Goal, GoalError> {
        let repo = self.worker.repository(&self.goal.repo);
        self.die_at("claimed");
        for _ in 0..RACES_MAX {
            let intents = self.worker.store.intents(self.goal.id).await?;
            // A lander has died after the commit point; or its git has come there since we looked last.
            if let Some(intent) = landing::find_landed(&repo, &self.goal, &intents).await? {
                let _ = landing::finish_tree(&repo, &self.goal, &intent).await;
                return self.landed(&repo, intent).await;
            }
            if *self.lease.borrow() == Lease::Cancel || self.goal.cancel {
                return self.insist(|| self.worker.store.cancelled(self.goal.id, self.goal.fence)).await;
            }
            let tried = self.try_to_land(&repo).await;
            let _ = std::fs::remove_dir_all(self.folder("land"));
            match tried? {
                LandingAttempt::Landed(intent) => return self.landed(&repo, intent).await,
                LandingAttempt::Ended(happening) => {
                    if happening == GoalEvent::NothingToLand {
                        repo.forget(self.goal.id).await;
                    }
                    return self.report(happening).await;
                }
                LandingAttempt::Raced => {}
            }
        }
        let at = self.worker.now().await + RACED_PAUSE_MS;
        let why = format!("'{}' moved {RACES_MAX} times while the checks ran", self.goal.base);
        self.report(GoalEvent::Trouble { at, why }).await
    }

    async fn try_to_land(&self, repo: &Repository) -> Result<LandingAttempt, GoalError> {
        let goal = &self.goal;
        let bundle = self.worker.store.bundle(goal.id).await?.filter(|(head, _)| Some(head) == goal.head.as_ref());
        let bytes = bundle.as_ref().map(|(_, bytes)| bytes.as_slice());
        let (lender, onto) = match repo.lending_itself(&goal.base).await? {
            Some(found) if bytes.is_none() => found,
            _ => (repo.clone(), repo.fetch_saved(goal.id, goal.head_fence, &goal.base, bytes).await?),
        };
        let folder = self.folder("land").join("repo");
        let ready = match landing::prepare(&lender, goal, onto, &folder).await? {
            Prepared::Nothing => return Ok(LandingAttempt::Ended(GoalEvent::NothingToLand)),
            Prepared::Conflict(why) => return Ok(LandingAttempt::Ended(GoalEvent::LandingRefused { why })),
            Prepared::Ready(ready) => ready,
        };
        self.die_at("rebased");
        let has_own = landing::bring_check(&ready, !goal.spec.checks.is_empty()).await?;
        match self.run_checks(&ready.checkout.folder, has_own).await? {
            CheckOutcome::Passed => {}
            CheckOutcome::Failed(why) => {
                let why = format!("Rebased onto '{}', your work does not pass:\n\n{why}", goal.base);
                return Ok(LandingAttempt::Ended(GoalEvent::LandingRefused { why }));
            }
            CheckOutcome::Missing(why) => return Ok(LandingAttempt::Ended(GoalEvent::Hopeless { why })),
        }
        self.die_at("checked");
        if self.is_stopped() {
            return Ok(LandingAttempt::Ended(GoalEvent::Released));
        }
        self.move_target(repo, &ready).await
    }

    async fn move_target(&self, repo: &Repository, ready: &Ready) -> Result<LandingAttempt, GoalError> {
        let goal = &self.goal;
        let old = landing::target_value(repo, &landing::target(goal)).await?;
        if goal.spec.land == LandingMode::Push && old.as_deref() != Some(ready.onto.as_str()) {
            return Ok(LandingAttempt::Raced);
        }
        if let Some(old) = old.as_deref().filter(|_| goal.spec.land != LandingMode::Push)
            && !self.is_own(repo, old, ready).await?
        {
            let why = format!(
                "the branch '{}' exists and has work that is not this goal's ({}); rename or delete it, then 'ralph goal retry {}'",
                goal.branch(),
                &old[..old.len().min(SHORT_ID)],
                goal.id
            );
            return Ok(LandingAttempt::Ended(GoalEvent::Hopeless { why }));
        }
        let intent = Intent { new_value: ready.commit.clone(), old_value: old.clone() };
        if !self.insist(|| self.worker.store.intend(goal.id, goal.fence, &intent)).await? {
            // Cancelled in the meantime; the next round sees it.
            return Ok(LandingAttempt::Raced);
        }
        self.die_at("intended");
        // The last moment at which nothing has happened.
        self.check_lease()?;
        match landing::move_target(repo, goal, ready, old.as_deref(), |step| self.die_at(step)).await? {
            MoveOutcome::Yes => {
                self.die_at("moved");
                Ok(LandingAttempt::Landed(intent))
            }
            MoveOutcome::Raced => Ok(LandingAttempt::Raced),
            MoveOutcome::Unclean(why) => {
                let at = self.worker.now().await + UNCLEAN_PAUSE_MS;
                Ok(LandingAttempt::Ended(GoalEvent::Trouble { at, why }))
            }
        }
    }

    /// Whether the goal's branch may be replaced: an earlier landing of this goal made it, or the new commit contains it.
    /// Another store counts its goals from 1 as well, and a person may have chosen the same name.
    async fn is_own(&self, repo: &Repository, old: &str, ready: &Ready) -> Result<bool, GoalError> {
        let intents = self.worker.store.intents(self.goal.id).await?;
        if intents.iter().any(|intent| intent.new_value == old) {
            return Ok(true);
        }
        let name = landing::target(&self.goal);
        if !repo.is_local() {
            repo.refresh(&self.goal.base, &[name]).await?;
        }
        let contained = words!["merge-base", "--is-ancestor", old, &ready.commit];
        Ok(ready.checkout.git(contained, "merge-base").await.is_ok())
    }

    async fn landed(&self, repo: &Repository, intent: Intent) -> Result<Goal, GoalError> {
        if self.goal.spec.land == LandingMode::Pr
            && let Err(why) = self.open_pull_request(repo).await
        {
            let note = format!("The branch is there, but the pull request is not: {why}");
            let _ = self.worker.store.comment(self.goal.id, "ralph", &note).await;
            self.worker.say(&format!("goal {}: {note}", self.goal.id));
        }
        repo.forget(self.goal.id).await;
        self.die_at("forgotten");
        self.report(GoalEvent::Landed { commit: intent.new_value, from: intent.old_value }).await
    }
}
