//! Making and changing goals.

use super::arguments::{ATTEMPTS, Fields};
use super::common::{Refusal, as_json, said};
use crate::environment::Environment;
use crate::{resolve, say};
use goals::{Attachment, Edit, GoalId, LandingMode, NewGoal, Spec, Store, is_branch_name, is_local};
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A goal is a text for a person; files go to `--attach`.
const TEXT_MAX: u64 = 256 * 1024;
/// The store is no place for videos.
const ATTACHMENT_MAX: u64 = 16 * 1024 * 1024;
/// Of a list's line.
const TITLE_MAX: usize = 100;
const GIT: Duration = Duration::from_secs(30);

pub async fn add(fields: Fields, json: bool, store: &Store, environment: &Environment) -> Result<(), Refusal> {
    let text = match (&fields.text, &fields.file) {
        (Some(text), None) => text.clone(),
        (None, Some(file)) => read_text(&environment.cwd.join(file))?,
        (Some(_), Some(_)) => return Err(refusal("a goal's text is given as words or as a file, not as both")),
        (None, None) => return Err(refusal("a goal needs a text: ralph goal add \"Make the parser accept CRLF\"")),
    };
    let attachments = read_files(&fields.attachments, environment)?;
    let place = Home::find(&fields, environment).await?;
    let new = new_goal(&fields, text, &place)?;
    let id = store.enqueue(&new).await?;
    for file in &attachments {
        store.attach(id, file).await?;
    }
    let goal = store.goal(id).await?;
    if json {
        say::out(&format!("{}\n", as_json(&goal)));
    } else {
        say::out(&format!("goal {id}: {} ({})\n", cycle::clean::line(&goal.title), goal.state));
    }
    Ok(())
}

pub async fn import(
    file: &Path,
    fields: Fields,
    json: bool,
    store: &Store,
    environment: &Environment,
) -> Result<(), Refusal> {
    let path = environment.cwd.join(file);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries = goals::import::parse(&name, &read_text(&path)?)?;
    let place = Home::find(&fields, environment).await?;
    let mut list = Vec::new();
    for entry in entries {
        let mut new = new_goal(&fields, entry.text, &place)?;
        new.title = cycle::bounded(&entry.title, TITLE_MAX);
        new.priority += entry.priority;
        new.labels.extend(entry.labels);
        // A second import of the same list makes nothing twice.
        new.key = Some(format!("{}:{}:{}", place.repo, path.display(), entry.name.as_deref().unwrap_or(&entry.title)));
        list.push((new, entry.after));
    }
    let ids = store.enqueue_all(&list).await?;
    if json {
        say::out(&format!("{}\n", json!({"goals": ids})));
    } else {
        for (id, (new, _)) in ids.iter().zip(&list) {
            say::out(&format!("goal {id}: {}\n", cycle::clean::line(&new.title)));
        }
    }
    Ok(())
}

pub async fn edit(
    id: GoalId,
    fields: Fields,
    json: bool,
    store: &Store,
    environment: &Environment,
) -> Result<(), Refusal> {
    if fields.repo.is_some() || fields.key.is_some() || fields.draft || fields.trust {
        return Err(refusal("--repo, --key, --draft and --trust are for new goals: cancel this one and add another"));
    }
    if let Some(base) = fields.base.as_ref().filter(|base| !is_branch_name(base)) {
        return Err(refusal(&format!("'{base}' is no name of a branch")));
    }
    let before = store.goal(id).await?;
    let text = match &fields.file {
        Some(file) => Some(read_text(&environment.cwd.join(file))?),
        None => fields.text.clone(),
    };
    let attachments = read_files(&fields.attachments, environment)?;
    let spec = changed(before.spec.clone(), &fields, text);
    let edit = Edit {
        title: fields.title.clone(),
        base: fields.base.clone(),
        spec: Some(spec),
        priority: fields.priority,
        labels: fields.labels.clone(),
        after: fields.after.clone(),
        max_attempts: fields.attempts,
    };
    let goal = store.edit(id, &edit).await?;
    for file in &attachments {
        store.attach(id, file).await?;
    }
    if json {
        say::out(&format!("{}\n", as_json(&goal)));
    } else {
        say::out(&format!("goal {id}: changed\n"));
    }
    Ok(())
}

pub async fn attach(
    id: GoalId,
    files: &[PathBuf],
    json: bool,
    store: &Store,
    environment: &Environment,
) -> Result<(), Refusal> {
    for file in read_files(files, environment)? {
        store.attach(id, &file).await?;
    }
    said(json, id, &format!("goal {id}: {} attached\n", files.len()));
    Ok(())
}

fn refusal(why: &str) -> Refusal {
    Refusal(format!("error: {why}."))
}

/// Where the work is done and goes to.
struct Home {
    repo: String,
    base: String,
    host: Option<String>,
    /// What the repository's configuration says.
    land: LandingMode,
}

impl Home {
    /// Nothing is made for a repository that cannot be read, a branch that is not there, a folder nobody vouched for.
    async fn find(fields: &Fields, environment: &Environment) -> Result<Self, Refusal> {
        let git = process::Git::find(&environment.vars).ok_or_else(|| refusal("git is not on PATH; install it"))?;
        let named = fields.repo.as_deref().unwrap_or(".");
        let is_address = named.contains("://") || (named.contains(':') && !Path::new(named).exists());
        if is_address {
            if !fields.trust {
                return Err(refusal(&format!(
                    "agents would work in {named} on their own; say --trust if you trust what is in it"
                )));
            }
            let base = fields.base.clone().ok_or_else(|| refusal("a repository by address needs --base BRANCH"))?;
            let asked = [
                OsStr::new("ls-remote"),
                OsStr::new("--heads"),
                OsStr::new("--"),
                OsStr::new(named),
                OsStr::new(&base),
            ];
            let said = git.run(Path::new("/"), &asked, GIT).await;
            let said = said.map_err(|why| goals::GoalError::Repository { repo: named.to_owned(), why })?;
            if said.trim().is_empty() || !is_branch_name(&base) {
                return Err(goals::GoalError::BaseGone { repo: named.to_owned(), base }.into());
            }
            return Ok(Self { repo: named.to_owned(), base, host: None, land: LandingMode::default() });
        }
        let folder = environment.cwd.join(named);
        let run = async |args: &[&str]| {
            let words: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
            git.run(&folder, &words, GIT).await.map(|said| said.trim().to_owned())
        };
        let unreadable = |why: String| {
            let error = goals::GoalError::Repository { repo: folder.display().to_string(), why };
            Refusal::from(error)
        };
        if !folder.is_dir() {
            return Err(unreadable("there is no such folder".into()));
        }
        let repo = run(&["rev-parse", "--show-toplevel"]).await.map_err(unreadable)?;
        let base = match &fields.base {
            Some(base) => base.clone(),
            None => run(&["symbolic-ref", "--quiet", "--short", "HEAD"])
                .await
                .map_err(|_| refusal("no branch is checked out here; name one with --base"))?,
        };
        let branch = format!("refs/heads/{base}");
        if !is_branch_name(&base) || run(&["rev-parse", "--verify", "--quiet", &branch]).await.is_err() {
            return Err(goals::GoalError::BaseGone { repo, base }.into());
        }
        if !settings::is_trusted(&resolve::places(&environment.in_folder(Path::new(&repo)))) {
            return Err(refusal(&format!(
                "{repo} is not trusted, and agents would work in clones of it on their own. Run 'ralph trust' there first"
            )));
        }
        let file = runner::Folder::new(&repo).config();
        let settings =
            runner::Settings::load(&file, toml::Table::new()).map_err(|error| Refusal(format!("error: {error}")))?;
        let land = settings.land.as_deref().unwrap_or("branch");
        let land = LandingMode::parse(land)
            .ok_or_else(|| refusal(&format!("{}: land is branch, push or pr, not '{land}'", file.display())))?;
        Ok(Self { repo, base, host: Some(super::worker::host()), land })
    }
}

fn new_goal(fields: &Fields, text: String, home: &Home) -> Result<NewGoal, Refusal> {
    if text.trim().is_empty() {
        return Err(refusal("a goal needs a text"));
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

fn changed(before: Spec, fields: &Fields, text: Option<String>) -> Spec {
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

fn read_text(path: &Path) -> Result<String, Refusal> {
    let bytes = read(path, TEXT_MAX)?;
    String::from_utf8(bytes).map_err(|_| refusal(&format!("{} is no text", path.display())))
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, Refusal> {
    let cannot = |why: &dyn std::fmt::Display| refusal(&format!("{} cannot be read: {why}", path.display()));
    let data = path.metadata().map_err(|error| cannot(&error))?;
    if !data.is_file() {
        return Err(cannot(&"it is no file"));
    }
    if data.len() > most {
        return Err(cannot(&format!("it is larger than {} KiB", most / 1024)));
    }
    std::fs::read(path).map_err(|error| cannot(&error))
}

fn read_files(files: &[PathBuf], environment: &Environment) -> Result<Vec<Attachment>, Refusal> {
    files
        .iter()
        .map(|file| {
            let path = environment.cwd.join(file);
            let name =
                path.file_name().and_then(OsStr::to_str).ok_or_else(|| refusal("an attached file has no name"))?;
            Ok(Attachment { name: name.to_owned(), body: read(&path, ATTACHMENT_MAX)? })
        })
        .collect()
}
