//! Looking at goals.

use super::common::as_json;
use crate::failure::Failure;
use crate::say;
use goals::goal_text;
use goals::{Filter, Goal, GoalId, GoalState, LogLine, Store, is_local};
use resolve::Environment;
use runner::{PlainSink, Sink as _};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a followed log is looked at.
const FOLLOW: Duration = Duration::from_millis(500);
const GIT: Duration = Duration::from_mins(1);

pub async fn list(
    all: bool,
    state: Option<GoalState>,
    label: Option<String>,
    json: bool,
    store: &Store,
) -> Result<(), Failure> {
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
    let lines: String = goals.iter().map(goal_text::line).collect();
    say::out(&lines);
    Ok(())
}

pub async fn one(id: GoalId, json: bool, store: &Store) -> Result<(), Failure> {
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
    say::out(&goal_text::whole(&goal, &needs, &attached, &comments));
    Ok(())
}

pub async fn log(id: GoalId, follow: bool, json: bool, store: &Store) -> Result<(), Failure> {
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
    if let Some(text) = goal_text::state_line(&event) {
        say::out(&text);
    }
}

/// What the goal changed: of a landed one what landed, of others the work so far.
pub async fn diff(id: GoalId, json: bool, store: &Store, environment: &Environment) -> Result<(), Failure> {
    let goal = store.goal(id).await?;
    let git =
        process::Git::find(&environment.vars).ok_or_else(|| Failure::failed("git is not on PATH; install it."))?;
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
    let said = git.run(&folder, &words, GIT).await;
    let said = said.map_err(|error| goals::GoalError::Git { what: "diff", why: error.to_string() })?;
    if json {
        say::out(&format!("{}\n", json!({"goal": id, "old": old, "new": new, "diff": said})));
    } else {
        say::out(&said.lines().map(|line| format!("{}\n", cycle::clean::line(line))).collect::<String>());
    }
    Ok(())
}

/// Fetches what the mirror lacks. It was last brought up to date before the landing, which pushed from a clone of its own.
async fn bring(goal: &Goal, commits: &[&str], git: &process::Git, environment: &Environment) -> Result<(), Failure> {
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

fn repository_folder(goal: &Goal, environment: &Environment) -> Result<PathBuf, Failure> {
    if is_local(&goal.repo) {
        return Ok(Path::new(&goal.repo).to_owned());
    }
    let state = environment.state_folder().unwrap_or_default();
    let mirror = goals::Repository::mirror_folder(&goal.repo, &state);
    if mirror.is_dir() {
        return Ok(mirror);
    }
    let why = Failure::failed(format!("{} was never cloned on this machine", goal.repo));
    Err(why.hint("Look at it where a worker runs."))
}

pub async fn budgets(json: bool, store: &Store) -> Result<(), Failure> {
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
    say::out(&budgets.iter().map(goal_text::budget_line).collect::<String>());
    Ok(())
}
