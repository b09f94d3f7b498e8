//! Claims and leases, and the release of goals whose workers are gone.

use super::{COLUMNS, Store, goal, locked, reports};
use crate::error::GoalError;
use crate::goal::{Fence, Goal, GoalId};
use crate::machine::GoalEvent;
use crate::sql::{Tx, Value};

/// Claims of dead workers that are looked at together; the next claim takes the rest.
const EXPIRED_AT_ONCE: usize = 50;

/// A worker, by a name that no other process ever has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerName {
    pub id: String,
    pub host: String,
}

/// A claim that still holds after a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRenewal {
    pub goal: GoalId,
    pub fence: Fence,
    /// A person wants it to stop.
    pub cancel: bool,
}

impl Store {
    /// The most urgent goal that can be worked on: landings first, since they hold up others, then by priority and
    /// age. The goals of workers whose lease is over are free again.
    pub async fn claim(&self, worker: &WorkerName, lease_ms: i64) -> Result<Option<Goal>, GoalError> {
        let tx = self.connection.write().await?;
        expire(&tx).await?;
        let found = match next_landing(&tx, &worker.host).await? {
            Some(id) => Some(id),
            None => next_work(&tx, &worker.host).await?,
        };
        let Some(id) = found else {
            tx.commit().await?;
            return Ok(None);
        };
        let sql = format!(
            "update goal set owner = $2, fence = fence + 1, lease_until = {{now}} + $3, updated = {{now}}, \
             state = case when state in ('queued', 'waiting') then 'running' else state end \
             where id = $1 returning {COLUMNS}"
        );
        let row = tx.first(&sql, &[id.into(), worker.id.as_str().into(), lease_ms.into()]).await?;
        let claimed = goal(&row.ok_or(GoalError::UnknownGoal(id))?)?;
        if claimed.state == crate::GoalState::Landing {
            let sql = "update lander set goal = $3, fence = $4 where repo = $1 and base = $2";
            let lane = [claimed.repo.as_str().into(), claimed.base.as_str().into(), id.into(), claimed.fence.into()];
            tx.execute(sql, &lane).await?;
        }
        tx.commit().await?;
        Ok(Some(claimed))
    }

    /// Prolongs the leases of these claims, and says which of them the worker still has. Others that the store knows
    /// as its own it has given up, or never heard of: they run out.
    pub async fn beat(
        &self,
        worker: &WorkerName,
        lease_ms: i64,
        slots: i64,
        claims: &[(GoalId, Fence)],
    ) -> Result<Vec<LeaseRenewal>, GoalError> {
        let tx = self.connection.write().await?;
        let mut rows = Vec::new();
        for (id, fence) in claims {
            let sql = "update goal set lease_until = {now} + $2 where owner = $1 and id = $3 and fence = $4 \
                       returning id, fence, cancel";
            let values = [worker.id.as_str().into(), lease_ms.into(), (*id).into(), (*fence).into()];
            rows.extend(tx.query(sql, &values).await?);
        }
        let sql = "insert into worker (id, host, slots, seen) values ($1, $2, $3, {now}) \
                   on conflict (id) do update set seen = excluded.seen, slots = excluded.slots";
        tx.execute(sql, &[worker.id.as_str().into(), worker.host.as_str().into(), slots.into()]).await?;
        tx.commit().await?;
        let beat = |row: &crate::sql::Row| {
            Ok(LeaseRenewal { goal: row.int(0)?, fence: row.int(1)?, cancel: row.int(2)? != 0 })
        };
        rows.iter().map(beat).collect()
    }

    /// A worker leaves in order.
    pub async fn leave(&self, worker: &WorkerName) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        tx.execute("delete from worker where id = $1", &[worker.id.as_str().into()]).await?;
        tx.commit().await
    }

    /// Whether this claim is the goal's, and its worker's lease not over. For whoever cleans up.
    pub async fn is_live(&self, id: GoalId, fence: Fence) -> Result<bool, GoalError> {
        let tx = self.connection.read().await?;
        let sql = "select 1 from goal where id = $1 and fence = $2 and owner is not null and lease_until > {now}";
        Ok(tx.first(sql, &[id.into(), fence.into()]).await?.is_some())
    }

    pub async fn now(&self) -> Result<i64, GoalError> {
        let tx = self.connection.read().await?;
        tx.first("select {now}", &[]).await?.map_or(Ok(0), |row| row.int(0))
    }

    /// Whether anything is left that a worker of this machine could ever do by itself.
    pub async fn is_drained(&self, host: &str) -> Result<bool, GoalError> {
        let tx = self.connection.read().await?;
        // A goal that waits for one that failed, or for a person, is nothing that a worker can bring about.
        let sql = "select 1 from goal where state in ('queued', 'waiting', 'review', 'landing', 'running') \
                   and (host is null or host = $1) and not exists (select 1 from dependency d join goal n on n.id = d.needs \
                   where d.goal = goal.id and n.state in ('draft', 'blocked', 'failed', 'cancelled')) limit 1";
        Ok(tx.first(sql, &[host.into()]).await?.is_none())
    }

    /// When the next goal that waits may go on, in milliseconds from now.
    pub async fn next_due(&self) -> Result<Option<i64>, GoalError> {
        let tx = self.connection.read().await?;
        let sql = "select min(run_at) - {now} from goal where owner is null and state in ('queued', 'waiting', 'review', 'landing')";
        match tx.first(sql, &[]).await? {
            Some(row) => row.maybe_int(0),
            None => Ok(None),
        }
    }
}

/// Takes goals from workers whose lease is over, with what they had reserved.
async fn expire(tx: &Tx<'_>) -> Result<(), GoalError> {
    let sql = format!(
        "select id from goal where owner is not null and lease_until < {{now}} order by lease_until \
         limit {EXPIRED_AT_ONCE} {{skip_locked}}"
    );
    for row in tx.query(&sql, &[]).await? {
        let goal = locked(tx, row.int(0)?).await?;
        let lost = goal.lost + 1;
        // A landing that began may have reached the branch: whoever takes it over looks before it is cancelled.
        let cancelled = goal.cancel && goal.state != crate::GoalState::Landing;
        tx.execute("update goal set lost = $2 where id = $1", &[goal.id.into(), lost.into()]).await?;
        if cancelled {
            let held = Goal { owner: None, ..goal };
            reports::apply(tx, &held, GoalEvent::Cancel).await?;
        } else {
            reports::apply(tx, &goal, GoalEvent::WorkerLost { lost }).await?;
        }
    }
    Ok(())
}

async fn next_work(tx: &Tx<'_>, host: &str) -> Result<Option<GoalId>, GoalError> {
    let sql = "select id from goal where owner is null and unmet = 0 and state in ('queued', 'waiting', 'review') \
               and run_at <= {now} and (host is null or host = $1) order by priority desc, id limit 1 {skip_locked}";
    tx.first(sql, &[host.into()]).await?.map(|row| row.int(0)).transpose()
}

/// A goal whose repository and branch nobody lands on at the moment. Afterwards the lane is locked.
async fn next_landing(tx: &Tx<'_>, host: &str) -> Result<Option<GoalId>, GoalError> {
    let sql = "select id, repo, base from goal where owner is null and state = 'landing' and run_at <= {now} \
               and (host is null or host = $1) and not exists (select 1 from lander l join goal h on h.id = l.goal \
               where l.repo = goal.repo and l.base = goal.base and h.id <> goal.id and h.fence = l.fence \
               and h.owner is not null and h.lease_until >= {now}) \
               order by priority desc, id limit 1 {skip_locked}";
    let Some(row) = tx.first(sql, &[host.into()]).await? else { return Ok(None) };
    let (id, lane) = (row.int(0)?, [Value::from(row.text(1)?), Value::from(row.text(2)?)]);
    let [repo, base] = lane.clone();
    let sql = "insert into lander (repo, base, goal, fence) values ($1, $2, 0, 0) on conflict (repo, base) do nothing";
    tx.execute(sql, &[repo, base]).await?;
    // Two statements: only what begins after the lock is held sees what the one before us has written.
    let sql = "select goal, fence from lander where repo = $1 and base = $2 {lock}";
    let Some(holder) = tx.first(sql, &lane).await? else { return Ok(None) };
    let sql =
        "select 1 from goal where id = $1 and fence = $2 and owner is not null and lease_until >= {now} and id <> $3";
    let busy = tx.first(sql, &[holder.int(0)?.into(), holder.int(1)?.into(), id.into()]).await?;
    Ok(busy.is_none().then_some(id))
}
