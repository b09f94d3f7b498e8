//! The invariants of the store, as queries. Each query finds violations; an empty answer is right.

use super::Store;
use crate::error::GoalError;

const QUERIES: [(&str, &str); 8] = [
    (
        "a budget is exceeded",
        "select scope from budget where (cap_usd is not null and spent_usd + reserved_usd > cap_usd) \
         or (cap_tokens is not null and spent_tokens + reserved_tokens > cap_tokens)",
    ),
    ("a reservation is negative", "select scope from budget where reserved_usd < 0 or reserved_tokens < 0"),
    (
        "a reservation belongs to nobody",
        "select cast(id as text) from goal where owner is null and (reserved_usd <> 0 or reserved_tokens <> 0)",
    ),
    (
        "a budget holds more than its goals have reserved",
        "select scope from budget where reserved_usd > (select coalesce(cast(sum(reserved_usd) as bigint), 0) from goal)",
    ),
    (
        "a goal that is over has a worker",
        "select cast(id as text) from goal where owner is not null and state in ('done', 'failed', 'cancelled')",
    ),
    (
        "a worker's goal is in a state that nobody works on",
        "select cast(id as text) from goal where owner is not null and state not in ('running', 'review', 'landing')",
    ),
    (
        "a goal counts its unmet needs wrongly",
        "select cast(id as text) from goal g where unmet <> (select count(*) from dependency d join goal n on n.id = d.needs \
         where d.goal = g.id and n.state <> 'done')",
    ),
    (
        "a goal was done more than once",
        "select cast(goal as text) from event where body like '%\"goal_state\"%' and body like '%\"state\":\"done\"%' \
         group by goal having count(*) > 1",
    ),
];

impl Store {
    /// What is wrong in the store, in words.
    pub async fn violations(&self) -> Result<Vec<String>, GoalError> {
        let tx = self.connection.read().await?;
        let mut found = Vec::new();
        for (what, sql) in QUERIES {
            for row in tx.query(sql, &[]).await? {
                found.push(format!("{what}: {}", row.text(0)?));
            }
        }
        Ok(found)
    }
}
