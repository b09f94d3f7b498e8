//! `ralph board`: the goals on a screen, and behind each its run.

use super::common::place;
use crate::commands::loop_screen;
use crate::failure::{Ended, Failure};
use agent::StdinKind;
use cycle::LoopEvent;
use goals::{Filter, Goal, GoalError, GoalId, GoalState, Place, Store};
use resolve::{Environment, runtime, stdin_kind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tui::{Board, Card};
use wire::ExitCode;

const COLUMNS: [&str; 6] = ["waiting", "running", "for you", "landing", "done", "not done"];
/// Goals that are over: the newest are enough.
const OVER_SHOWN: usize = 50;
/// How often the log of an opened goal is looked at.
const FOLLOW: Duration = Duration::from_millis(500);

pub fn run(words: &[String], environment: &Environment) -> Ended {
    if let Some(word) = words.first() {
        return Err(Failure::usage(format!("'ralph board' takes no arguments, and '{word}' is one.")));
    }
    let somebody = environment.stdout_is_terminal && stdin_kind(false) == StdinKind::Terminal;
    if !somebody {
        let why = Failure::usage("'ralph board' needs a terminal");
        return Err(why.hint("'ralph goal list --all' prints the goals."));
    }
    shown(environment)?;
    Ok(ExitCode::Success)
}

fn shown(environment: &Environment) -> Result<(), Failure> {
    let place = place(environment)?;
    let runtime = runtime()?;
    let store = runtime.block_on(Store::open(&place))?;
    let mut board = Board::new(&COLUMNS);
    let mut cards = Vec::new();
    loop {
        let bring = || {
            // A store that is away for a moment leaves the last picture.
            if let Ok(goals) = runtime.block_on(store.list(&Filter { all: true, ..Filter::default() })) {
                cards = sorted(&goals);
            }
            cards.clone()
        };
        let failed = |error: std::io::Error| Failure::failed(format!("the screen cannot be shown: {error}."));
        let Some(id) = tui::show_board(&mut board, bring).map_err(failed)? else { return Ok(()) };
        open(id, &place).map_err(failed)?;
    }
}

fn sorted(goals: &[Goal]) -> Vec<Card> {
    let over: Vec<GoalId> =
        goals.iter().rev().filter(|goal| goal.state.is_over()).take(OVER_SHOWN).map(|goal| goal.id).collect();
    let shown = goals.iter().filter(|goal| !goal.state.is_over() || over.contains(&goal.id));
    shown.map(card).collect()
}

fn card(goal: &Goal) -> Card {
    let column = match goal.state {
        GoalState::Draft | GoalState::Queued | GoalState::Waiting => 0,
        GoalState::Running | GoalState::Review => 1,
        GoalState::Blocked => 2,
        GoalState::Landing => 3,
        GoalState::Done => 4,
        GoalState::Failed | GoalState::Cancelled => 5,
    };
    let why = goal.question.as_ref().filter(|_| goal.state == GoalState::Blocked).or(goal.error.as_ref());
    let why = why.and_then(|why| why.lines().next()).unwrap_or_default();
    let note = format!("{} ${:.2} {why}", goal.state, goal.spent.usd());
    Card { id: goal.id, title: goal.title.clone(), note, column, needs_person: goal.state == GoalState::Blocked }
}

/// The goal's run on the loop's screen, live, until somebody leaves.
fn open(id: GoalId, place: &Place) -> std::io::Result<()> {
    let (events, shown) = mpsc::channel::<LoopEvent>();
    let (place, is_open) = (place.clone(), Arc::new(AtomicBool::new(true)));
    let still_open = Arc::clone(&is_open);
    std::thread::Builder::new().name("goal-log".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // A log that cannot be read ends; the board is still there.
        if let Ok(runtime) = runtime {
            let _ = runtime.block_on(follow(id, &place, &events, &still_open));
        }
    })?;
    let clock = || u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    let done = tui::run(shown, |_| {}, tui::Options { clock, suspend: loop_screen::stop, hold: true, attached: false });
    is_open.store(false, Ordering::Relaxed);
    done
}

async fn follow(
    id: GoalId,
    place: &Place,
    events: &mpsc::Sender<LoopEvent>,
    is_open: &AtomicBool,
) -> Result<(), GoalError> {
    let store = Store::open(place).await?;
    let mut after = 0;
    while is_open.load(Ordering::Relaxed) {
        for line in store.tail(id, after).await? {
            after = line.id;
            let Ok(event) = serde_json::from_str::<LoopEvent>(&line.body) else { continue };
            if events.send(event).is_err() {
                return Ok(());
            }
        }
        tokio::time::sleep(FOLLOW).await;
    }
    Ok(())
}
