//! A goal from what was typed: its text and files, the repository and branch it is for.
//!
//! Deliberately absent: whether agents may work there. Trust is the caller's question.

use crate::command_line::{ATTEMPTS, Fields};
use crate::error::GoalError;
use crate::goal::{LandingMode, NewGoal, Spec};
use crate::repository::{is_branch_name, is_local};
use crate::store::Attachment;
use process::Git;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A goal is a text for a person; files go to `--attach`.
const TEXT_MAX: u64 = 256 * 1024;
/// The store is no place for videos.
const ATTACHMENT_MAX: u64 = 16 * 1024 * 1024;
/// Of a list's line.
pub const TITLE_MAX: usize = 100;
const GIT: Duration = Duration::from_secs(30);

/// Why no goal is made, in words for a person.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error("a goal's text is given as words or as a file, not as both.")]
    TwoTexts,
    #[error("a goal needs a text: ralph goal add \"Make the parser accept CRLF\".")]
    NoText,
    #[error("a goal needs a text.")]
    EmptyText,
    #[error("--repo, --key, --draft and --trust are for new goals: cancel this one and add another.")]
    OnlyForNew,
    #[error("'{0}' is no name of a branch.")]
    NoBranchName(String),
    #[error("agents would work in {0} on their own; say --trust if you trust what is in it.")]
    Untrusted(String),
    #[error("a repository by address needs --base BRANCH.")]
    NoBase,
    #[error("no branch is checked out here; name one with --base.")]
    NoBranch,
    #[error("{} is no text.", .0.display())]
    NotText(PathBuf),
    #[error("{} cannot be read: {why}.", path.display())]
    Read { path: PathBuf, why: String },
    #[error("an attached file has no name.")]
    NoName,
    #[error(transparent)]
    Goal(#[from] GoalError),
}

/// The text of a new goal: words, or a file below `folder`.
pub fn text(fields: &Fields, folder: &Path) -> Result<String, MakeError> {
    match (&fields.text, &fields.file) {
        (Some(text), None) => Ok(text.clone()),
        (None, Some(file)) => read_text(&folder.join(file)),
        (Some(_), Some(_)) => Err(MakeError::TwoTexts),
        (None, None) => Err(MakeError::NoText),
    }
}

/// What may be changed of a goal that is there.
pub fn check_edit(fields: &Fields) -> Result<(), MakeError> {
    if fields.repo.is_some() || fields.key.is_some() || fields.draft || fields.trust {
        return Err(MakeError::OnlyForNew);
    }
    match fields.base.as_ref().filter(|base| !is_branch_name(base)) {
        Some(base) => Err(MakeError::NoBranchName(base.clone())),
        None => Ok(()),
    }
}

/// Where the work is done and goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    pub repo: String,
    pub base: String,
    pub host: Option<String>,
    pub land: LandingMode,
}

impl Home {
    /// Nothing is made for a repository that cannot be read or a branch that is not there. `host` names this machine.
    pub async fn find(fields: &Fields, folder: &Path, git: &Git, host: &str) -> Result<Self, MakeError> {
        let named = fields.repo.as_deref().unwrap_or(".");
        let is_address = named.contains("://") || (named.contains(':') && !Path::new(named).exists());
        if is_address {
            return Self::by_address(named, fields, git).await;
        }
        let folder = folder.join(named);
        let shown = folder.display().to_string();
        let run = async |args: &[&str]| {
            let words: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
            git.run(&folder, &words, GIT).await.map(|said| said.trim().to_owned())
        };
        if !folder.is_dir() {
            return Err(unreadable(&shown, &"there is no such folder").into());
        }
        let repo = run(&["rev-parse", "--show-toplevel"]).await.map_err(|error| unreadable(&shown, &error))?;
        let base = match &fields.base {
            Some(base) => base.clone(),
            None => run(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.map_err(|_| MakeError::NoBranch)?,
        };
        let branch = format!("refs/heads/{base}");
        if !is_branch_name(&base) || run(&["rev-parse", "--verify", "--quiet", &branch]).await.is_err() {
            return Err(GoalError::BaseGone { repo, base }.into());
        }
        Ok(Self { repo, base, host: Some(host.to_owned()), land: LandingMode::default() })
    }

    async fn by_address(named: &str, fields: &Fields, git: &Git) -> Result<Self, MakeError> {
        if !fields.trust {
            return Err(MakeError::Untrusted(named.to_owned()));
        }
        let base = fields.base.clone().ok_or(MakeError::NoBase)?;
        let asked = ["ls-remote", "--heads", "--", named, &base].map(OsStr::new);
        let said = git.run(Path::new("/"), &asked, GIT).await.map_err(|error| unreadable(named, &error))?;
        if said.trim().is_empty() || !is_branch_name(&base) {
            return Err(GoalError::BaseGone { repo: named.to_owned(), base }.into());
        }
        Ok(Self { repo: named.to_owned(), base, host: None, land: LandingMode::default() })
    }
}

fn unreadable(repo: &str, why: &dyn std::fmt::Display) -> GoalError {
    GoalError::Repository { repo: repo.to_owned(), why: why.to_string() }
}

pub fn new_goal(fields: &Fields, text: String, home: &Home) -> Result<NewGoal, MakeError> {
    if text.trim().is_empty() {
        return Err(MakeError::EmptyText);
    }
    let first =
        text.lines().map(|line| line.trim_start_matches(['#', '-', '*', ' ']).trim()).find(|line| !line.is_empty());
    let title = fields.title.clone().unwrap_or_else(|| cycle::bounded(first.unwrap_or("goal"), TITLE_MAX));
    let spec = changed(Spec { trusted: true, land: home.land, ..Spec::default() }, fields, Some(text));
    Ok(NewGoal {
        title,
        repo: home.repo.clone(),
        base: home.base.clone(),
        host: home.host.clone().filter(|_| is_local(&home.repo)),
        spec,
        priority: fields.priority.unwrap_or(0),
        labels: fields.labels.clone().unwrap_or_default(),
        after: fields.after.clone().unwrap_or_default(),
        max_attempts: fields.attempts.unwrap_or(ATTEMPTS),
        draft: fields.draft,
        key: fields.key.clone(),
    })
}

/// What was said, over what was there.
pub fn changed(before: Spec, fields: &Fields, text: Option<String>) -> Spec {
    Spec {
        text: text.unwrap_or(before.text),
        checks: fields.checks.clone().unwrap_or(before.checks),
        backend: fields.backend.clone().or(before.backend),
        model: fields.model.clone().or(before.model),
        reasoning: fields.reasoning.clone().or(before.reasoning),
        max_iterations: fields.max_iterations.or(before.max_iterations),
        duration: fields.duration.clone().or(before.duration),
        max_cost: fields.max_cost.or(before.max_cost),
        max_tokens: fields.max_tokens.or(before.max_tokens),
        iteration_cost: fields.iteration_cost.or(before.iteration_cost),
        iteration_tokens: fields.iteration_tokens.or(before.iteration_tokens),
        land: fields.land.unwrap_or(before.land),
        squash: fields.squash.unwrap_or(before.squash),
        review: fields.review.clone().or(before.review),
        trusted: before.trusted,
    }
}

pub fn read_text(path: &Path) -> Result<String, MakeError> {
    String::from_utf8(read(path, TEXT_MAX)?).map_err(|_| MakeError::NotText(path.to_owned()))
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, MakeError> {
    let cannot = |why: &dyn std::fmt::Display| MakeError::Read { path: path.to_owned(), why: why.to_string() };
    let data = path.metadata().map_err(|error| cannot(&error))?;
    if !data.is_file() {
        return Err(cannot(&"it is no file"));
    }
    if data.len() > most {
        return Err(cannot(&format!("it is larger than {} KiB", most / 1024)));
    }
    std::fs::read(path).map_err(|error| cannot(&error))
}

/// Files to attach, below `folder`.
pub fn read_files(files: &[PathBuf], folder: &Path) -> Result<Vec<Attachment>, MakeError> {
    let one = |file: &PathBuf| {
        let path = folder.join(file);
        let name = path.file_name().and_then(OsStr::to_str).ok_or(MakeError::NoName)?;
        Ok(Attachment { name: name.to_owned(), body: read(&path, ATTACHMENT_MAX)? })
    };
    files.iter().map(one).collect()
}
