//! Reports of workers and people, and their writes to the store.

use super::{COLUMNS, Store, claimed, goal, locked};
use crate::error::GoalError;
use crate::goal::{Amount, Fence, Goal, GoalId, GoalState};
use crate::machine::{Change, GoalEvent, GoalFacts, step};
use crate::sql::{Tx, Value};
use serde_json::json;

/// Of a reason or a context: enough for the end of a test run, little enough for a prompt.
const TEXT_MAX: usize = 16 * 1024;

/// Where the work stands after an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub iteration: i64,
    pub head: Option<String>,
    pub run: Option<String>,
}

/// What a lander is about to put where: written before the branch moves, so that whoever takes over can tell whether
/// it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub new_value: String,
    pub old_value: Option<String>,
}

impl Store {
    /// What happened to a claimed goal. The claim is over afterwards.
    pub async fn report(&self, id: GoalId, fence: Fence, happening: GoalEvent) -> Result<Goal, GoalError> {
        let tx = self.connection.write().await?;
        let before = claimed(&tx, id, fence).await?;
        let after = apply(&tx, &before, happening).await?;
        tx.commit().await?;
        Ok(after)
    }

    /// A person's wish.
    pub async fn act(&self, id: GoalId, happening: GoalEvent) -> Result<Goal, GoalError> {
        let tx = self.connection.write().await?;
        let before = locked(&tx, id).await?;
        let after = apply(&tx, &before, happening).await?;
        tx.commit().await?;
        Ok(after)
    }

    /// The worker has stopped, as a person wanted.
    pub async fn cancelled(&self, id: GoalId, fence: Fence) -> Result<Goal, GoalError> {
        let tx = self.connection.write().await?;
        let held = claimed(&tx, id, fence).await?;
        let after = apply(&tx, &Goal { owner: None, ..held }, GoalEvent::Cancel).await?;
        tx.commit().await?;
        Ok(after)
    }

    pub async fn checkpoint(&self, id: GoalId, fence: Fence, at: &Checkpoint) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        claimed(&tx, id, fence).await?;
        let sql = "update goal set iteration = $2, head = coalesce($3, head), \
                   head_fence = case when $4 = 1 then $5 else head_fence end, run = $6, lost = 0, updated = {now} where id = $1";
        let has_head = i64::from(at.head.is_some());
        let values: [Value; 6] = [
            id.into(),
            at.iteration.into(),
            at.head.clone().into(),
            has_head.into(),
            fence.into(),
            at.run.clone().into(),
        ];
        tx.execute(sql, &values).await?;
        tx.commit().await
    }

    /// Also says whether a person wants the goal cancelled: then nothing was written, and nothing may land.
    pub async fn intend(&self, id: GoalId, fence: Fence, intent: &Intent) -> Result<bool, GoalError> {
        let tx = self.connection.write().await?;
        if claimed(&tx, id, fence).await?.cancel {
            return Ok(false);
        }
        let sql =
            "insert into intent (goal, fence, new_value, old_value) values ($1, $2, $3, $4) on conflict do nothing";
        let values = [id.into(), fence.into(), intent.new_value.as_str().into(), intent.old_value.clone().into()];
        tx.execute(sql, &values).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// What earlier landers of this goal were about to do.
    pub async fn intents(&self, id: GoalId) -> Result<Vec<Intent>, GoalError> {
        let tx = self.connection.read().await?;
        let rows =
            tx.query("select new_value, old_value from intent where goal = $1 order by fence", &[id.into()]).await?;
        rows.iter().map(|row| Ok(Intent { new_value: row.text(0)?, old_value: row.maybe_text(1)? })).collect()
    }

    /// Commits for which no repository could be found to keep them.
    pub async fn keep_bundle(&self, id: GoalId, fence: Fence, head: &str, bundle: Vec<u8>) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        claimed(&tx, id, fence).await?;
        let sql = "insert into bundle (goal, fence, head, body) values ($1, $2, $3, $4) \
                   on conflict (goal) do update set fence = excluded.fence, head = excluded.head, body = excluded.body";
        tx.execute(sql, &[id.into(), fence.into(), head.into(), Value::Bytes(bundle)]).await?;
        tx.commit().await
    }

    pub async fn bundle(&self, id: GoalId) -> Result<Option<(String, Vec<u8>)>, GoalError> {
        let tx = self.connection.read().await?;
        let row = tx.first("select head, body from bundle where goal = $1", &[id.into()]).await?;
        row.map(|row| Ok((row.text(0)?, row.bytes(1)?))).transpose()
    }
}

/// Asks the machine and writes its answer, with everything that follows from it.
pub(super) async fn apply(tx: &Tx<'_>, before: &Goal, happening: GoalEvent) -> Result<Goal, GoalError> {
    let id = before.id;
    let change =
        step(GoalFacts::from(before), happening).map_err(|source| GoalError::NotPossible { goal: id, source })?;
    let after = write(tx, before, &change).await?;
    if change.releases {
        give_back(tx, before).await?;
        let sql = "delete from lander where repo = $1 and base = $2 and goal = $3";
        tx.execute(sql, &[before.repo.as_str().into(), before.base.as_str().into(), id.into()]).await?;
    }
    if change.state == GoalState::Done && before.state != GoalState::Done {
        let sql = "update goal set unmet = unmet - 1 where id in (select goal from dependency where needs = $1)";
        tx.execute(sql, &[id.into()]).await?;
        tx.execute("delete from bundle where goal = $1", &[id.into()]).await?;
    }
    let reason = change.error.or(change.question).or(change.context).filter(|text| !text.is_empty());
    let body = json!({
        "type": "goal_state", "at": after.updated, "goal": id, "state": after.state, "attempts": after.attempts,
        "reason": reason.map(bounded), "landed": after.landed, "title": after.title,
    });
    note(tx, id, before.fence, &body.to_string()).await?;
    Ok(after)
}

async fn write(tx: &Tx<'_>, before: &Goal, change: &Change) -> Result<Goal, GoalError> {
    let free = i64::from(change.releases);
    let landed = change.landed.as_ref();
    let sql = format!(
        "update goal set state = $2, attempts = $3, rounds = $4, run_at = coalesce($5, run_at), \
         context = case when $6 = '' then null else coalesce($6, context) end, \
         question = case when $7 = '' then null else coalesce($7, question) end, \
         error = $8, landed = coalesce($9, landed), landed_from = coalesce($10, landed_from), \
         run = case when $11 = 1 then null else run end, \
         owner = case when $12 = 1 then null else owner end, lease_until = case when $12 = 1 then null else lease_until end, \
         cancel = $13, updated = {{now}} where id = $1 returning {COLUMNS}"
    );
    let values: [Value; 13] = [
        before.id.into(),
        change.state.word().into(),
        change.attempts.into(),
        change.rounds.into(),
        change.run_at.into(),
        change.context.clone().map(bounded).into(),
        change.question.clone().map(bounded).into(),
        change.error.clone().map(bounded).into(),
        landed.map(|(commit, _)| commit.clone()).into(),
        landed.and_then(|(_, from)| from.clone()).into(),
        i64::from(change.new_run).into(),
        free.into(),
        i64::from(change.ask_to_cancel || (before.cancel && !change.releases)).into(),
    ];
    let row = tx.first(&sql, &values).await?.ok_or(GoalError::UnknownGoal(before.id))?;
    goal(&row)
}

/// Returns what was reserved for an iteration that nobody will settle.
pub(super) async fn give_back(tx: &Tx<'_>, goal: &Goal) -> Result<(), GoalError> {
    if goal.reserved == Amount::default() {
        return Ok(());
    }
    let Amount { micro_usd, tokens } = goal.reserved;
    for scope in reserved_in(tx, goal.id).await? {
        let sql = "update budget set reserved_usd = reserved_usd - $2, reserved_tokens = reserved_tokens - $3 where scope = $1";
        tx.execute(sql, &[scope.into(), micro_usd.into(), tokens.into()]).await?;
    }
    let sql = "update goal set reserved_usd = 0, reserved_tokens = 0, reserved_in = '[]' where id = $1";
    tx.execute(sql, &[goal.id.into()]).await?;
    Ok(())
}

/// The budgets that a reservation was made in: others may have been added since.
pub(super) async fn reserved_in(tx: &Tx<'_>, id: GoalId) -> Result<Vec<String>, GoalError> {
    let row = tx.first("select reserved_in from goal where id = $1", &[id.into()]).await?;
    let text = row.ok_or(GoalError::UnknownGoal(id))?.text(0)?;
    serde_json::from_str(&text).map_err(|_| GoalError::Corrupt(format!("goal {id} has unreadable reservations")))
}

/// A line of our own in the goal's log: numbered downwards, workers number theirs upwards.
async fn note(tx: &Tx<'_>, id: GoalId, fence: Fence, body: &str) -> Result<(), GoalError> {
    let sql = "insert into event (goal, fence, number, at, body) select cast($1 as bigint), cast($2 as bigint), \
               -1 - (select count(*) from event where goal = $1 and fence = $2 and number < 0), {now}, cast($3 as text)";
    tx.execute(sql, &[id.into(), fence.into(), body.into()]).await.map(drop)
}

/// The end of a text is where compilers and test runners say what failed.
fn bounded(text: String) -> String {
    if text.len() <= TEXT_MAX {
        return text;
    }
    format!("…{}", &text[text.ceil_char_boundary(text.len() - TEXT_MAX)..])
}
