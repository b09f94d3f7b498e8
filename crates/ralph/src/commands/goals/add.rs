//! Making and changing goals.

use super::common::{as_json, said};
use crate::failure::Failure;
use crate::say;
use arguments::LoopOptions;
use goals::command_line::Fields;
use goals::make::{self, Home};
use goals::{Edit, GoalId, LandingMode, Store, is_local};
use resolve::Environment;
use serde_json::json;
use std::path::{Path, PathBuf};

pub async fn add(fields: Fields, json: bool, store: &Store, environment: &Environment) -> Result<(), Failure> {
    let text = make::text(&fields, &environment.cwd)?;
    let attachments = make::read_files(&fields.attachments, &environment.cwd)?;
    let new = make::new_goal(&fields, text, &home(&fields, environment).await?)?;
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
) -> Result<(), Failure> {
    let path = environment.cwd.join(file);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries = goals::import::parse(&name, &make::read_text(&path)?)?;
    let place = home(&fields, environment).await?;
    let mut list = Vec::new();
    for entry in entries {
        let mut new = make::new_goal(&fields, entry.text, &place)?;
        new.title = cycle::bounded(&entry.title, make::TITLE_MAX);
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
) -> Result<(), Failure> {
    make::check_edit(&fields)?;
    let before = store.goal(id).await?;
    let text = match &fields.file {
        Some(file) => Some(make::read_text(&environment.cwd.join(file))?),
        None => fields.text.clone(),
    };
    let attachments = make::read_files(&fields.attachments, &environment.cwd)?;
    let spec = make::changed(before.spec.clone(), &fields, text);
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
) -> Result<(), Failure> {
    for file in make::read_files(files, &environment.cwd)? {
        store.attach(id, &file).await?;
    }
    said(json, id, &format!("goal {id}: {} attached\n", files.len()));
    Ok(())
}

/// Where a new goal is worked on: a repository that agents may work in on their own, and how its goals land.
async fn home(fields: &Fields, environment: &Environment) -> Result<Home, Failure> {
    let git =
        process::Git::find(&environment.vars).ok_or_else(|| Failure::failed("git is not on PATH; install it."))?;
    let home = Home::find(fields, &environment.cwd, &git, &super::worker::host()).await?;
    let repo = &home.repo;
    if !is_local(repo) {
        return Ok(home);
    }
    if !settings::is_trusted(&resolve::places(&environment.in_folder(Path::new(repo)))) {
        let why = format!("{repo} is not trusted, and agents would work in clones of it on their own");
        return Err(Failure::settings(why).hint("Run 'ralph trust' there first."));
    }
    let file = runner::Folder::new(repo).config();
    let settings = runner::Settings::load(&file, &LoopOptions::default())?;
    let land = settings.land.as_deref().unwrap_or("branch");
    let unknown = || Failure::settings(format!("{}: land is branch, push or pr, not '{land}'.", file.display()));
    let land = LandingMode::parse(land).ok_or_else(unknown)?;
    Ok(Home { land, ..home })
}
