//! Looking at goals.

use super::common::{Refusal, as_json};
use crate::environment::Environment;
use crate::say;
use goals::{Filter, Goal, GoalId, GoalState, LogLine, Store, is_local};
use runner::{PlainSink, Sink as _};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a followed log is looked at.
const FOLLOW: Duration = Duration::from_millis(500);
const GIT: Duration = Duration::from_mins(1);
/// Of a title in a list.
const TITLE_MAX: usize = 70;

pub async fn list(
    all: bool,
    state: Option<GoalState>,
    label: Option<String>,
    json: bool,
    store: &Store,
) -> Result<(), Refusal> {
    let goals = store.list(&Filter { all, state, label }).await?;
    if json {
        for goal in &goals {
            say::out(&format!("{}\n", as_json(goal)));
        }
        return Ok(());
    }
    if goals.is_empty() {
        say::out("No goals. 'ralph goal add TEXT' makes one.\n");
    }
    let lines: String = goals.iter().map(line).collect();
    say::out(&lines);
    Ok(())
}

fn line(goal: &Goal) -> String {
    let title = cycle::bounded(&cycle::clean::line(&goal.title), TITLE_MAX);
    let note = match goal {
        Goal { unmet: 1.., state: GoalState::Queued, .. } => " (after others)".to_owned(),
        Goal { question: Some(question), state: GoalState::Blocked, .. } => format!(" asks: {}", first(question)),
        Goal { error: Some(error), .. } => format!(" ({})", first(error)),
        _ => String::new(),
    };
    format!("{:>5}  {:<10} ${:>7.2}  {title}{note}\n", goal.id, goal.state, goal.spent.usd())
}

fn first(text: &str) -> String {
    cycle::bounded(&cycle::clean::line(text.lines().next().unwrap_or_default()), TITLE_MAX)
}

pub async fn one(id: GoalId, json: bool, store: &Store) -> Result<(), Refusal> {
    let goal = store.goal(id).await?;
    let (comments, needs) = (store.comments(id).await?, store.needs(id).await?);
    let attached: Vec<String> = store.attachments(id).await?.into_iter().map(|file| file.name).collect();
    if json {
        let mut value = serde_json::to_value(&goal).unwrap_or_default();
        value["after"] = json!(needs);
        value["comments"] = json!(comments);
        value["attachments"] = json!(attached);
        say::out(&format!("{value}\n"));
        return Ok(());
    }
    let clean = |text: &str| text.lines().map(cycle::clean::line).collect::<Vec<_>>().join("\n          ");
    let mut text = line(&goal);
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("{name:<9} {}\n", clean(&value)));
        }
    };
    field("goal", goal.spec.text.clone());
    field("where", format!("{} on '{}'", goal.repo, goal.base));
    field("after", needs.iter().map(GoalId::to_string).collect::<Vec<_>>().join(", "));
    field("labels", goal.labels.join(", "));
    field("checks", goal.spec.checks.join("\n"));
    field("attempts", format!("{} of {}, iteration {}", goal.attempts, goal.max_attempts, goal.iteration));
    field("cost", format!("${:.2}, {} tokens", goal.spent.usd(), goal.spent.tokens));
    field("worker", goal.owner.clone().unwrap_or_default());
    field("asks", goal.question.clone().unwrap_or_default());
    field("problem", goal.error.clone().unwrap_or_default());
    field("landed", goal.landed.clone().unwrap_or_default());
    field("attached", attached.join(", "));
    for comment in &comments {
        field("comment", format!("{}: {}", comment.author, comment.body));
    }
    say::out(&text);
    Ok(())
}

pub async fn log(id: GoalId, follow: bool, json: bool, store: &Store) -> Result<(), Refusal> {
    let mut goal = store.goal(id).await?;
    let mut sink = PlainSink::new(crate::commands::loop_run::Stdout);
    let mut after = 0;
    loop {
        let lines = store.tail(id, after).await?;
        for line in &lines {
            after = line.id;
            if json {
                say::out(&format!("{}\n", line.body));
            } else {
                plain(line, &mut sink);
            }
        }
        if lines.is_empty() {
            if !follow || goal.state.is_over() {
                return Ok(());
            }
            tokio::time::sleep(FOLLOW).await;
            // Asked before the log: what came before the end is not missed.
            goal = store.goal(id).await?;
        }
    }
}

fn plain(line: &LogLine, sink: &mut PlainSink<crate::commands::loop_run::Stdout>) {
    if let Ok(event) = serde_json::from_str::<cycle::LoopEvent>(&line.body) {
        sink.event(&event);
        return;
    }
    let event: Value = serde_json::from_str(&line.body).unwrap_or_default();
    if event["type"] == "goal_state" {
        let why = event["reason"].as_str().map(|why| format!(": {}", first(why))).unwrap_or_default();
        let state = event["state"].as_str().unwrap_or("?");
        let landed = event["landed"]
            .as_str()
            .map(|commit| format!(" ({})", &commit[..commit.len().min(10)]))
            .unwrap_or_default();
        say::out(&format!("── goal {}: {state}{landed}{why}\n", event["goal"]));
    }
}

/// What the goal changed: of a landed one what landed, of others the work so far.
pub async fn diff(id: GoalId, json: bool, store: &Store, environment: &Environment) -> Result<(), Refusal> {
    let goal = store.goal(id).await?;
    let git = process::Git::find(&environment.vars)
        .ok_or_else(|| Refusal("error: git is not on PATH; install it.".into()))?;
    let (new, old) = match (&goal.landed, &goal.head) {
        (Some(landed), _) => (landed.clone(), base_of(&goal)),
        (None, Some(head)) => (head.clone(), base_of(&goal)),
        (None, None) => {
            say::out(if json { "{\"diff\":\"\"}\n" } else { "Nothing is changed yet.\n" });
            return Ok(());
        }
    };
    let folder = repository_folder(&goal, environment)?;
    if !is_local(&goal.repo) {
        bring(&goal, &[&old, &new], &git, environment).await?;
    }
    let range = format!("{old}...{new}");
    let git_dir = if folder.join(".git").exists() { folder.join(".git") } else { folder.clone() };
    let words = [
        "--git-dir".as_ref(),
        git_dir.as_os_str(),
        "diff".as_ref(),
        "--no-ext-diff".as_ref(),
        "--no-textconv".as_ref(),
        OsStr::new(&range),
    ];
    let said = git.run(&folder, &words, GIT).await.map_err(|why| goals::GoalError::Git { what: "diff", why })?;
    if json {
        say::out(&format!("{}\n", json!({"goal": id, "old": old, "new": new, "diff": said})));
    } else {
        say::out(&said.lines().map(|line| format!("{}\n", cycle::clean::line(line))).collect::<String>());
    }
    Ok(())
}

/// Fetches what the mirror lacks. It was last brought up to date before the landing, which pushed from a clone of its own.
async fn bring(goal: &Goal, commits: &[&str], git: &process::Git, environment: &Environment) -> Result<(), Refusal> {
    let state = environment.state_folder().unwrap_or_default();
    let mirror = goals::Repository::mirror_folder(&goal.repo, &state);
    for commit in commits {
        let object = format!("{commit}^{{commit}}");
        let words = ["--git-dir".as_ref(), mirror.as_os_str(), "cat-file".as_ref(), "-e".as_ref(), OsStr::new(&object)];
        if git.run(&mirror, &words, GIT).await.is_err() {
            let own = format!("refs/heads/{}", goal.branch());
            let more =
                if goal.landed.is_some() && goal.spec.land != goals::LandingMode::Push { vec![own] } else { vec![] };
            // Refs of the store are neither read nor made here.
            goals::Repository::new(git, &goal.repo, &state, "").refresh(&goal.base, &more).await?;
            return Ok(());
        }
    }
    Ok(())
}

/// What the work is compared with: where the branch was, of a landing on it; else where it is.
fn base_of(goal: &Goal) -> String {
    let moved = goal.landed_from.clone().filter(|_| goal.spec.land == goals::LandingMode::Push);
    moved.unwrap_or_else(|| format!("refs/heads/{}", goal.base))
}

fn repository_folder(goal: &Goal, environment: &Environment) -> Result<PathBuf, Refusal> {
    if is_local(&goal.repo) {
        return Ok(Path::new(&goal.repo).to_owned());
    }
    let state = environment.state_folder().unwrap_or_default();
    let mirror = goals::Repository::mirror_folder(&goal.repo, &state);
    if mirror.is_dir() {
        return Ok(mirror);
    }
    Err(Refusal(format!("error: {} was never cloned on this machine. Look at it where a worker runs.", goal.repo)))
}

pub async fn budgets(json: bool, store: &Store) -> Result<(), Refusal> {
    let budgets = store.budgets().await?;
    if json {
        for budget in &budgets {
            say::out(&format!("{}\n", json!(budget)));
        }
        return Ok(());
    }
    if budgets.is_empty() {
        say::out("No budgets. 'ralph goal budget all 100' sets one.\n");
    }
    for budget in budgets {
        let usd = budget.cap.micro_usd.map_or(String::new(), |cap| {
            let cap = goals::Amount { micro_usd: cap, tokens: 0 };
            format!("  ${:.2} of ${:.2} spent, ${:.2} reserved", budget.spent.usd(), cap.usd(), budget.reserved.usd())
        });
        let tokens = budget.cap.tokens.map_or(String::new(), |cap| {
            format!("  {} of {cap} tokens spent, {} reserved", budget.spent.tokens, budget.reserved.tokens)
        });
        say::out(&format!("{}{usd}{tokens}\n", cycle::clean::line(&budget.scope)));
    }
    Ok(())
}
