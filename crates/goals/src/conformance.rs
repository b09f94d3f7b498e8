//! The tests that every engine must pass; run against SQLite and against PostgreSQL.

use crate::goal::{Amount, Cap, GoalState, NewGoal, Spec};
use crate::machine::GoalEvent;
use crate::store::{Checkpoint, Edit, Filter, Intent, Place, Store, WorkerName};
use crate::{Exhausted, GoalError, GoalId};
use std::collections::HashSet;
use std::time::{Duration, Instant};

const MINUTE: i64 = 60_000;
/// Long enough for two statements on a busy machine, short enough to wait for.
const SHORT: i64 = 150;

fn worker(id: &str) -> WorkerName {
    WorkerName { id: id.into(), host: "here".into() }
}

fn new(title: &str) -> NewGoal {
    NewGoal {
        title: title.into(),
        repo: "/repo".into(),
        base: "main".into(),
        host: Some("here".into()),
        spec: Spec { text: title.into(), ..Spec::default() },
        max_attempts: 3,
        ..NewGoal::default()
    }
}

async fn pass(ms: i64) {
    tokio::time::sleep(Duration::from_millis(ms as u64)).await;
}

async fn state(store: &Store, id: GoalId) -> GoalState {
    store.goal(id).await.unwrap().state
}

async fn order_is_by_priority_and_age(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let low = store.enqueue(&new("low")).await.unwrap();
    let high = store.enqueue(&NewGoal { priority: 5, ..new("high") }).await.unwrap();
    let draft = store.enqueue(&NewGoal { draft: true, priority: 9, ..new("draft") }).await.unwrap();
    let elsewhere = store.enqueue(&NewGoal { host: Some("there".into()), priority: 9, ..new("x") }).await.unwrap();
    let claimed = store.claim(&worker("w"), MINUTE).await.unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state, claimed.fence), (high, GoalState::Running, 1));
    assert_eq!(store.claim(&worker("w"), MINUTE).await.unwrap().unwrap().id, low);
    assert!(store.claim(&worker("w"), MINUTE).await.unwrap().is_none());
    assert_eq!(state(&store, draft).await, GoalState::Draft);
    assert_eq!(state(&store, elsewhere).await, GoalState::Queued);
    assert_eq!(store.list(&Filter::default()).await.unwrap().len(), 4);
}

async fn a_key_makes_one_goal(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let keyed = NewGoal { key: Some("k".into()), ..new("one") };
    assert_eq!(store.enqueue(&keyed).await.unwrap(), store.enqueue(&keyed).await.unwrap());
    assert!(matches!(store.goal(99).await, Err(GoalError::UnknownGoal(99))));
}

async fn what_a_goal_needs_comes_first(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let first = store.enqueue(&new("first")).await.unwrap();
    let second = store.enqueue(&NewGoal { after: vec![first], priority: 9, ..new("second") }).await.unwrap();
    let circle = Edit { after: Some(vec![second]), ..Edit::default() };
    assert!(matches!(store.edit(first, &circle).await, Err(GoalError::Circle { .. })));
    assert_eq!(store.needs(first).await.unwrap(), [] as [i64; 0], "a refused edit changed something");
    let missing = NewGoal { after: vec![99], ..new("x") };
    assert!(matches!(store.enqueue(&missing).await, Err(GoalError::UnknownGoal(99))));
    let claimed = store.claim(&worker("w"), MINUTE).await.unwrap().unwrap();
    assert_eq!(claimed.id, first);
    assert!(store.claim(&worker("w"), MINUTE).await.unwrap().is_none());
    store.report(first, 1, GoalEvent::Worked { changed: false }).await.unwrap();
    assert_eq!(store.claim(&worker("w"), MINUTE).await.unwrap().unwrap().id, second);
}

async fn a_lease_that_is_over_is_taken_and_the_late_worker_is_refused(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    let first = store.claim(&worker("a"), SHORT).await.unwrap().unwrap();
    let at = Checkpoint { iteration: 2, head: Some("abc".into()), run: Some("r".into()) };
    store.checkpoint(id, first.fence, &at).await.unwrap();
    assert!(store.claim(&worker("b"), MINUTE).await.unwrap().is_none(), "the lease holds");
    pass(SHORT + 50).await;
    let second = store.claim(&worker("b"), MINUTE).await.unwrap().unwrap();
    assert_eq!((second.id, second.fence, second.iteration, second.lost), (id, 2, 2, 1));
    assert_eq!((second.head.as_deref(), second.head_fence, second.run.as_deref()), (Some("abc"), 1, Some("r")));
    assert_eq!(second.attempts, 0, "a lost worker is no failed attempt");
    for refused in [
        store.checkpoint(id, 1, &at).await.err(),
        store.append(id, 1, 1, &["{}".into()]).await.err(),
        store.report(id, 1, GoalEvent::Worked { changed: true }).await.err(),
        store.settle(id, 1, 1, Amount::new(1.0, 1)).await.err(),
        store.reserve(id, 1, Amount::new(1.0, 1)).await.err(),
        store.intend(id, 1, &Intent { new_value: "x".into(), old_value: None }).await.err(),
    ] {
        assert!(matches!(refused, Some(GoalError::LeaseLost { goal, fence: 1 }) if goal == id), "{refused:?}");
    }
    assert_eq!(store.beat(&worker("a"), MINUTE, 1, &[(id, 1)]).await.unwrap(), []);
    assert_eq!(store.beat(&worker("b"), MINUTE, 1, &[(id, 2), (99, 1)]).await.unwrap().len(), 1);
}

/// The write that is refused has locks; a heartbeat that waits for them comes too late to end an agent.
async fn a_refused_write_keeps_nobody_waiting(place: Place) {
    let (store, beats) = (Store::open(&place).await.unwrap(), Store::open(&place).await.unwrap());
    let id = store.enqueue(&new("one")).await.unwrap();
    let claim = store.claim(&worker("a"), MINUTE).await.unwrap().unwrap();
    for _ in 0..3 {
        assert!(store.append(id, claim.fence + 1, 1, &["{}".into()]).await.is_err());
        let asked = Instant::now();
        assert_eq!(beats.beat(&worker("a"), MINUTE, 1, &[(id, claim.fence)]).await.unwrap().len(), 1);
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    }
}

async fn a_beat_keeps_the_lease_and_brings_the_wish_to_cancel(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    let claim = store.claim(&worker("a"), SHORT).await.unwrap().unwrap();
    store.beat(&worker("a"), MINUTE, 1, &[(id, 1)]).await.unwrap();
    pass(SHORT + 50).await;
    assert!(store.claim(&worker("b"), MINUTE).await.unwrap().is_none());
    store.act(id, GoalEvent::Cancel).await.unwrap();
    assert_eq!(state(&store, id).await, GoalState::Running);
    let beats = store.beat(&worker("a"), MINUTE, 1, &[(id, 1)]).await.unwrap();
    assert!(beats[0].cancel && beats[0].fence == claim.fence);
    assert_eq!(store.cancelled(id, claim.fence).await.unwrap().state, GoalState::Cancelled);
    let again = store.act(id, GoalEvent::Cancel).await;
    assert!(matches!(again, Err(GoalError::NotPossible { .. })));
}

/// A worker that gave a claim up, or never heard that it got it, must not keep it from others.
async fn a_claim_that_is_not_named_runs_out(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    store.claim(&worker("a"), SHORT).await.unwrap();
    assert_eq!(store.beat(&worker("a"), MINUTE, 1, &[]).await.unwrap(), []);
    pass(SHORT + 50).await;
    assert_eq!(store.claim(&worker("b"), MINUTE).await.unwrap().unwrap().id, id);
}

async fn a_dead_workers_goal_is_cancelled_when_somebody_wanted_that(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    store.claim(&worker("a"), SHORT).await.unwrap();
    store.act(id, GoalEvent::Cancel).await.unwrap();
    pass(SHORT + 50).await;
    assert!(store.claim(&worker("b"), MINUTE).await.unwrap().is_none());
    assert_eq!(state(&store, id).await, GoalState::Cancelled);
}

async fn one_lander_for_a_branch(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let other = NewGoal { base: "next".into(), ..new("other") };
    for goal in [new("one"), new("two"), other] {
        store.enqueue(&goal).await.unwrap();
        store.claim(&worker("w"), MINUTE).await.unwrap();
    }
    for id in 1..=3 {
        store.report(id, 1, GoalEvent::Worked { changed: true }).await.unwrap();
    }
    let one = store.claim(&worker("a"), SHORT).await.unwrap().unwrap();
    let other = store.claim(&worker("b"), MINUTE).await.unwrap().unwrap();
    assert_eq!((one.id, other.id), (1, 3), "another branch has another lane");
    assert!(store.claim(&worker("c"), MINUTE).await.unwrap().is_none());
    pass(SHORT + 50).await;
    let taken = store.claim(&worker("c"), MINUTE).await.unwrap().unwrap();
    assert_eq!((taken.id, taken.state, taken.fence), (1, GoalState::Landing, 3));
    assert!(store.claim(&worker("d"), MINUTE).await.unwrap().is_none(), "the lane is the taker's");
    let landed = GoalEvent::Landed { commit: "c".into(), from: Some("b".into()) };
    assert!(store.report(1, 2, landed.clone()).await.is_err(), "the late lander");
    assert_eq!(store.report(1, 3, landed).await.unwrap().landed.as_deref(), Some("c"));
    assert_eq!(store.claim(&worker("d"), MINUTE).await.unwrap().unwrap().id, 2);
}

async fn intents_are_kept_and_a_cancelled_goal_gets_none(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    store.claim(&worker("w"), MINUTE).await.unwrap();
    let intent = Intent { new_value: "n".into(), old_value: Some("o".into()) };
    assert!(store.intend(id, 1, &intent).await.unwrap());
    store.act(id, GoalEvent::Cancel).await.unwrap();
    assert!(!store.intend(id, 1, &Intent { new_value: "m".into(), old_value: None }).await.unwrap());
    assert_eq!(store.intents(id).await.unwrap(), [intent]);
}

async fn money_is_reserved_settled_and_given_back(place: Place) {
    let store = Store::open(&place).await.unwrap();
    store.set_budget("all", Cap::new(Some(3.0), None)).await.unwrap();
    store.set_budget("label:x", Cap::new(None, Some(100))).await.unwrap();
    let labelled = NewGoal { labels: vec!["x".into()], ..new("one") };
    let id = store.enqueue(&labelled).await.unwrap();
    store.claim(&worker("a"), SHORT).await.unwrap();
    assert!(store.is_metered(id).await.unwrap());
    let wish = Amount::new(2.0, 50);
    assert_eq!(store.reserve(id, 1, wish).await.unwrap(), Ok(()));
    assert_eq!(store.reserve(id, 1, wish).await.unwrap(), Ok(()), "again is the same");
    assert_eq!(store.reserve(id, 1, Amount::new(1.0, 101)).await.unwrap(), Err(Exhausted("label:x".into())));
    assert_eq!(store.reserve(id, 1, Amount::new(3.5, 1)).await.unwrap(), Err(Exhausted("all".into())));
    let budgets = store.budgets().await.unwrap();
    assert_eq!((budgets[0].reserved, budgets[1].reserved), (wish, wish), "a refusal changes nothing");
    store.settle(id, 1, 1, Amount::new(1.5, 40)).await.unwrap();
    store.settle(id, 1, 1, Amount::new(1.5, 40)).await.unwrap();
    let budgets = store.budgets().await.unwrap();
    assert_eq!((budgets[0].spent, budgets[0].reserved), (Amount::new(1.5, 40), Amount::default()));
    assert_eq!(store.goal(id).await.unwrap().spent, Amount::new(1.5, 40));
    assert_eq!(store.reserve(id, 1, Amount::new(1.5, 10)).await.unwrap(), Ok(()));
    pass(SHORT + 50).await;
    store.claim(&worker("b"), MINUTE).await.unwrap().unwrap();
    assert_eq!(store.budgets().await.unwrap()[0].reserved, Amount::default(), "a dead worker's is given back");
    let capped = NewGoal { spec: Spec { max_cost: Some(1.0), ..Spec::default() }, ..new("own") };
    let own = store.enqueue(&capped).await.unwrap();
    store.claim(&worker("b"), MINUTE).await.unwrap();
    assert_eq!(store.reserve(own, 1, Amount::new(1.1, 0)).await.unwrap(), Err(Exhausted(format!("goal {own}"))));
    store.reserve(own, 1, Amount::new(1.0, 0)).await.unwrap().unwrap();
    store.report(own, 1, GoalEvent::Released).await.unwrap();
    assert_eq!(store.budgets().await.unwrap()[0].reserved, Amount::default());
}

async fn a_log_is_complete_in_order_and_without_doubles(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    store.claim(&worker("w"), MINUTE).await.unwrap();
    let lines = ["{\"type\":\"a\"}".to_owned(), "{\"type\":\"b\"}".to_owned()];
    store.append(id, 1, 1, &lines).await.unwrap();
    store.append(id, 1, 2, &[lines[1].clone(), "x".repeat(100_000)]).await.unwrap();
    store.report(id, 1, GoalEvent::AttemptFailed { why: "broken\0".into() }).await.unwrap();
    let tail = store.tail(id, 0).await.unwrap();
    let kinds: Vec<String> = tail
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(&line.body).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["a", "b", "warning", "goal_state"]);
    assert_eq!(store.tail(id, tail[2].id).await.unwrap().len(), 1);
    assert_eq!(store.tail_all(0).await.unwrap().len(), 1);
}

async fn people_comment_attach_answer_and_retry(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    store.comment(id, "me", "look").await.unwrap();
    let file = crate::store::Attachment { name: "a.txt".into(), body: vec![0, 255] };
    store.attach(id, &file).await.unwrap();
    store.attach(id, &file).await.unwrap();
    assert_eq!(store.comments(id).await.unwrap()[0].body, "look");
    assert_eq!(store.attachments(id).await.unwrap(), [file]);
    store.claim(&worker("w"), MINUTE).await.unwrap();
    let asked = store.report(id, 1, GoalEvent::Asked { question: "which?".into() }).await.unwrap();
    assert_eq!((asked.state, asked.question.as_deref()), (GoalState::Blocked, Some("which?")));
    assert!(store.claim(&worker("w"), MINUTE).await.unwrap().is_none());
    let answered = store.act(id, GoalEvent::Answer { text: "the second".into() }).await.unwrap();
    assert_eq!((answered.state, answered.question), (GoalState::Queued, None));
    assert_eq!(answered.context.as_deref(), Some("the second"));
    for attempt in 1..=3 {
        let claim = store.claim(&worker("w"), MINUTE).await.unwrap().unwrap();
        let failed = store.report(id, claim.fence, GoalEvent::AttemptFailed { why: "no".into() }).await.unwrap();
        assert_eq!(failed.attempts, attempt);
    }
    assert_eq!(state(&store, id).await, GoalState::Failed);
    assert_eq!(store.act(id, GoalEvent::Retry).await.unwrap().attempts, 0);
    store.enqueue(&NewGoal { labels: vec!["a\"b".into()], ..new("labelled") }).await.unwrap();
    let filter = Filter { label: Some("a\"b".into()), ..Filter::default() };
    assert_eq!(store.list(&filter).await.unwrap().len(), 1);
}

async fn waiting_goals_go_on_when_it_is_time(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let id = store.enqueue(&new("one")).await.unwrap();
    store.claim(&worker("w"), MINUTE).await.unwrap();
    let now = store.goal(id).await.unwrap().updated;
    let limited = GoalEvent::Limited { until: now + 300, why: "limit".into() };
    assert_eq!(store.report(id, 1, limited).await.unwrap().state, GoalState::Waiting);
    assert!(store.claim(&worker("w"), MINUTE).await.unwrap().is_none());
    assert!(!store.is_drained("here").await.unwrap());
    assert!(store.next_due().await.unwrap().unwrap() > 0);
    pass(350).await;
    assert_eq!(store.claim(&worker("w"), MINUTE).await.unwrap().unwrap().id, id);
}

/// Eight connections on eight threads claim everything: each goal once, no budget exceeded.
async fn eight_workers_race(place: Place) {
    const GOALS: usize = 40;
    let store = Store::open(&place).await.unwrap();
    store.set_budget("all", Cap::new(Some(100.0), None)).await.unwrap();
    for number in 0..GOALS {
        store.enqueue(&new(&format!("goal {number}"))).await.unwrap();
    }
    let threads: Vec<_> = (0..8)
        .map(|number| {
            std::thread::spawn({
                let place = place.clone();
                move || race(&place, number)
            })
        })
        .collect();
    let mut seen = HashSet::new();
    for thread in threads {
        for id in thread.join().unwrap() {
            assert!(seen.insert(id), "goal {id} was claimed twice");
        }
    }
    assert_eq!(seen.len(), GOALS);
    let budget = &store.budgets().await.unwrap()[0];
    assert_eq!(budget.reserved, Amount::default());
    assert!(budget.spent.micro_usd <= 100_000_000, "{budget:?}");
    assert!(budget.spent.micro_usd > 96_000_000, "the race was over before the budget was: {budget:?}");
}

fn race(place: &Place, number: usize) -> Vec<GoalId> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(place).await.unwrap();
        let mut claimed = Vec::new();
        while let Some(goal) = store.claim(&worker(&format!("w{number}")), MINUTE).await.unwrap() {
            claimed.push(goal.id);
            // Three dollars for each of forty goals: more than there is.
            if store.reserve(goal.id, goal.fence, Amount::new(3.0, 0)).await.unwrap().is_ok() {
                store.settle(goal.id, goal.fence, 1, Amount::new(3.0, 0)).await.unwrap();
            }
            store.report(goal.id, goal.fence, GoalEvent::Worked { changed: false }).await.unwrap();
        }
        claimed
    })
}

async fn a_newer_store_is_left_alone(place: Place) {
    let store = Store::open(&place).await.unwrap();
    let tx = store.write_for_test().await.unwrap();
    tx.execute("update meta set value = 99 where key = 'schema'", &[]).await.unwrap();
    tx.commit().await.unwrap();
    let refused = Store::open(&place).await.err();
    assert!(matches!(refused, Some(GoalError::TooNew { found: 99, .. })), "{refused:?}");
}

/// Rows that a slow machine makes within a second or two.
const PART: usize = 5_000;
/// So many that ten of them are the slowest hundredth.
const CLAIMS: usize = 1_000;
const LISTS: usize = 21;

/// `RALPH_GOALS_MANY=100000` is the figure of docs/fleet.md; fewer in every test run.
#[expect(clippy::disallowed_methods, reason = "the size of a test is its caller's to say")]
async fn a_large_store_stays_quick(place: Place) {
    let many: i64 = std::env::var("RALPH_GOALS_MANY").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000);
    let store = Store::open(&place).await.unwrap();
    let tx = store.write_for_test().await.unwrap();
    let spec = serde_json::to_string(&Spec::default()).unwrap();
    let sql = "with recursive n (i) as (select cast($3 as bigint) union all select i + 1 from n where i < $1) \
               insert into goal (title, state, repo, base, spec, priority, labels, max_attempts, created, updated) \
               select 'goal ' || i, case when i % 2 = 0 then 'done' else 'queued' end, '/repo', 'main', cast($2 as text), \
               i % 7, '[]', 3, {now}, {now} from n";
    // A part at a time: a store gives an answer up that takes longer than ten seconds.
    for first in (1..=many).step_by(PART) {
        let last = (first + PART as i64 - 1).min(many);
        tx.execute(sql, &[last.into(), spec.as_str().into(), first.into()]).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..CLAIMS {
        let started = Instant::now();
        let goal = store.claim(&worker("w"), MINUTE).await.unwrap().unwrap();
        times.push(started.elapsed());
        store.report(goal.id, goal.fence, GoalEvent::Worked { changed: false }).await.unwrap();
    }
    times.sort();
    let mut lists: Vec<Duration> = Vec::new();
    for _ in 0..LISTS {
        let started = Instant::now();
        assert!(!store.list(&Filter::default()).await.unwrap().is_empty());
        lists.push(started.elapsed());
    }
    lists.sort();
    let (claimed, listed) = (times[CLAIMS * 99 / 100], lists[LISTS / 2]);
    println!(
        "{many} goals in {}: claim p50 {:?}, p99 {claimed:?}, list p50 {listed:?}, worst {:?}",
        store.name(),
        times[CLAIMS / 2],
        lists[LISTS - 1]
    );
    // Debug builds on busy machines are slower than the release figures; an index that is not used is far slower.
    assert!(claimed < Duration::from_millis(200) && listed < Duration::from_millis(500));
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(Place) -> F, place: Place) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test(place));
}

macro_rules! engines {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() {
                let folder = tempfile::tempdir().unwrap();
                super::run(super::$name, super::Place::File(folder.path().join("goals.db")));
            })*
        }
        mod postgres {
            $(#[test] fn $name() {
                if let Some(place) = super::postgres_place(stringify!($name)) {
                    super::run(super::$name, place);
                }
            })*
        }
    };
}

engines!(
    order_is_by_priority_and_age,
    a_key_makes_one_goal,
    what_a_goal_needs_comes_first,
    a_lease_that_is_over_is_taken_and_the_late_worker_is_refused,
    a_refused_write_keeps_nobody_waiting,
    a_beat_keeps_the_lease_and_brings_the_wish_to_cancel,
    a_claim_that_is_not_named_runs_out,
    a_dead_workers_goal_is_cancelled_when_somebody_wanted_that,
    one_lander_for_a_branch,
    intents_are_kept_and_a_cancelled_goal_gets_none,
    money_is_reserved_settled_and_given_back,
    a_log_is_complete_in_order_and_without_doubles,
    people_comment_attach_answer_and_retry,
    waiting_goals_go_on_when_it_is_time,
    eight_workers_race,
    a_newer_store_is_left_alone,
    a_large_store_stays_quick,
);

#[test]
fn a_wrong_password_is_said_and_never_shown() {
    let Some(Place::Postgres(address)) = postgres_place("a_wrong_password") else { return };
    let server = server().as_ref().unwrap();
    server.sql("postgres", "create role locked login password 'right'").unwrap();
    let file = server.folder().join("data/pg_hba.conf");
    let rules = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("local all locked scram-sha-256\n{rules}")).unwrap();
    server.sql("postgres", "select pg_reload_conf()").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let wrong = address.replace("postgres://ralph@", "postgres://locked:geheim@");
    let until = Instant::now() + Duration::from_secs(10);
    let error = loop {
        // The server takes a moment to read its rules.
        match runtime.block_on(Store::open(&Place::Postgres(wrong.clone()))) {
            Err(error @ GoalError::Denied { .. }) => break error,
            other => assert!(Instant::now() < until, "{:?}", other.err()),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let said = format!("{error:?} {}", error.with_hint());
    assert!(said.contains("refused") && !said.contains("geheim"), "{said}");
}

fn server() -> &'static Result<testkit::postgres::Postgres, String> {
    static SERVER: std::sync::OnceLock<Result<testkit::postgres::Postgres, String>> = std::sync::OnceLock::new();
    SERVER.get_or_init(testkit::postgres::Postgres::start)
}

/// A database of its own on one server for all tests. Where there is none, a line says what was left out.
fn postgres_place(test: &str) -> Option<Place> {
    use std::io::Write as _;
    match server() {
        Ok(server) => {
            let name = format!("t_{}", &test[..test.len().min(50)]);
            Some(Place::Postgres(server.database(&name).unwrap()))
        }
        Err(why) => {
            // Past the harness, which would swallow it.
            let _ = writeln!(std::io::stderr(), "LEFT OUT: {test} on PostgreSQL: {why}");
            None
        }
    }
}
