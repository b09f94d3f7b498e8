//! The tables, and how an older store becomes a newer one.

use crate::error::GoalError;
use crate::sql::Connection;

/// What this program knows. A store with a higher number was made by a newer program.
pub const VERSION: i64 = 1;

/// Migrations, in order; number N brings a store to schema N. Each is one transaction.
const MIGRATIONS: [&str; VERSION as usize] = [FIRST];

const FIRST: &str = "
create table goal (
  id {identity},
  idem text unique,
  title text not null,
  state text not null,
  repo text not null,
  base text not null,
  host text,
  spec text not null,
  priority bigint not null,
  labels text not null,
  created bigint not null,
  updated bigint not null,
  run_at bigint not null default 0,
  attempts bigint not null default 0,
  max_attempts bigint not null,
  lost bigint not null default 0,
  fence bigint not null default 0,
  owner text,
  lease_until bigint,
  cancel bigint not null default 0,
  iteration bigint not null default 0,
  head text,
  head_fence bigint not null default 0,
  run text,
  context text,
  question text,
  error text,
  spent_usd bigint not null default 0,
  spent_tokens bigint not null default 0,
  reserved_usd bigint not null default 0,
  reserved_tokens bigint not null default 0,
  landed text,
  landed_from text,
  rounds bigint not null default 0,
  unmet bigint not null default 0,
  reserved_in text not null default '[]',
  settled text
);
create index goal_ready on goal (priority desc, id)
  where owner is null and unmet = 0 and state in ('queued', 'waiting', 'review');
create index goal_landing on goal (priority desc, id) where owner is null and state = 'landing';
create index goal_held on goal (lease_until) where owner is not null;
create index goal_open on goal (id) where state not in ('done', 'failed', 'cancelled');
create table dependency (
  goal bigint not null references goal (id),
  needs bigint not null references goal (id),
  primary key (goal, needs)
);
create index dependency_needs on dependency (needs);
create table budget (
  scope text primary key,
  cap_usd bigint,
  cap_tokens bigint,
  spent_usd bigint not null default 0,
  spent_tokens bigint not null default 0,
  reserved_usd bigint not null default 0,
  reserved_tokens bigint not null default 0
);
create table event (
  id {identity},
  goal bigint not null references goal (id),
  fence bigint not null,
  number bigint not null,
  at bigint not null,
  body text not null,
  unique (goal, fence, number)
);
create table comment (
  id {identity},
  goal bigint not null references goal (id),
  at bigint not null,
  author text not null,
  body text not null
);
create index comment_goal on comment (goal);
create table attachment (
  id {identity},
  goal bigint not null references goal (id),
  name text not null,
  body {bytes} not null,
  unique (goal, name)
);
create table bundle (
  goal bigint primary key references goal (id),
  fence bigint not null,
  head text not null,
  body {bytes} not null
);
create table intent (
  goal bigint not null references goal (id),
  fence bigint not null,
  new_value text not null,
  old_value text,
  primary key (goal, fence, new_value)
);
create table lander (
  repo text not null,
  base text not null,
  goal bigint not null,
  fence bigint not null,
  primary key (repo, base)
);
create table worker (
  id text primary key,
  host text not null,
  slots bigint not null,
  seen bigint not null
);
";

/// Where several processes meet a new store at once, one of them makes the tables. Says the store's number.
pub async fn migrate(connection: &Connection) -> Result<i64, GoalError> {
    if let Some(id) = current(connection).await {
        return Ok(id);
    }
    let tx = connection.write().await?;
    tx.batch("{alone}").await?;
    tx.batch("create table if not exists meta (key text primary key, value bigint not null)").await?;
    let known = tx.first("select value from meta where key = 'schema' {lock}", &[]).await?;
    let found = known.map_or(Ok(0), |row| row.int(0))?;
    if found > VERSION {
        return Err(GoalError::TooNew { store: connection.name(), found, known: VERSION });
    }
    for migration in MIGRATIONS.iter().skip(found as usize) {
        tx.batch(migration).await?;
    }
    if found < VERSION {
        let sql = "insert into meta (key, value) values ('schema', $1) \
                   on conflict (key) do update set value = excluded.value";
        tx.execute(sql, &[VERSION.into()]).await?;
    }
    let sql = "insert into meta (key, value) values ('store', $1) on conflict (key) do nothing";
    tx.execute(sql, &[random().into()]).await?;
    let id = tx.first("select value from meta where key = 'store'", &[]).await?;
    let id = id.ok_or_else(|| GoalError::Corrupt("the store has no number".into()))?.int(0)?;
    tx.commit().await?;
    Ok(id)
}

/// A number that no other store gets: keys of a hasher come from the system's random numbers.
fn random() -> i64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let number = std::hash::RandomState::new().build_hasher().finish();
    i64::try_from(number >> 1).unwrap_or(1)
}

/// The usual case takes no lock. An error means that there are no tables yet.
async fn current(connection: &Connection) -> Option<i64> {
    let tx = connection.read().await.ok()?;
    let sql = "select s.value, n.value from meta s join meta n on n.key = 'store' where s.key = 'schema'";
    let row = tx.first(sql, &[]).await.ok()??;
    row.int(0).is_ok_and(|found| found == VERSION).then(|| row.int(1).ok())?
}
