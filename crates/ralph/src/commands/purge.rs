//! `claude purge`: deletes what is kept about a project. Without `--yes` nothing is deleted and the list is printed.
//!
//! Deliberately absent: files of the project itself, settings, plugins, logins.

use crate::failure::agent_error;
use crate::failure::{Ended, Failure};
use crate::say;
use resolve::Environment;
use session::Store;
use settings::Places;
use std::path::{Path, PathBuf};
use wire::ExitCode;

const USAGE: &str = "usage: claude purge [PATH] [--all] [--dry-run] [--yes]";

struct Asked {
    folder: Option<PathBuf>,
    all: bool,
    yes: bool,
    dry_run: bool,
}

pub fn run(words: &[String], environment: &Environment) -> Ended {
    say::out(&act(words, environment)?);
    Ok(ExitCode::Success)
}

fn asked(words: &[String], environment: &Environment) -> Result<Asked, Failure> {
    let mut asked = Asked { folder: None, all: false, yes: false, dry_run: false };
    for word in words {
        match word.as_str() {
            "--all" => asked.all = true,
            "--yes" | "-y" => asked.yes = true,
            "--dry-run" => asked.dry_run = true,
            flag if flag.starts_with('-') => return Err(Failure::usage(format!("unknown option '{flag}'")).hint(USAGE)),
            _ if asked.folder.is_some() => return Err(Failure::form(USAGE)),
            path => asked.folder = Some(environment.cwd.join(path)),
        }
    }
    if asked.all && asked.folder.is_some() {
        return Err(Failure::usage("--all and a path cannot be used together."));
    }
    Ok(asked)
}

fn act(words: &[String], environment: &Environment) -> Result<String, Failure> {
    let asked = asked(words, environment)?;
    let places = resolve::places(environment);
    let folder = asked.folder.clone().unwrap_or_else(|| environment.cwd.clone());
    // A folder that was removed still has transcripts under the name that it had.
    let folder = folder.canonicalize().unwrap_or(folder);
    let (stores, records) = if asked.all {
        (all_stores(&places), settings::recorded_projects(&places).map_err(agent_error)?)
    } else {
        let store = Store::new(&places.config_dir, &folder, None).folder().to_owned();
        let recorded = settings::recorded_projects(&places).map_err(agent_error)?;
        (vec![store], recorded.into_iter().filter(|path| Path::new(path) == folder).collect())
    };
    let found: Vec<PathBuf> = stores.iter().flat_map(|store| kept(&places, store)).collect();
    if found.is_empty() && records.is_empty() {
        let about = if asked.all { "any project".into() } else { folder.display().to_string() };
        return Err(Failure::agent(format!("Nothing is kept about {about}.")));
    }
    let mut text = String::new();
    let verb = if asked.yes && !asked.dry_run { "Deleted" } else { "Would delete" };
    for path in &found {
        text.push_str(&format!("{verb}: {}\n", path.display()));
    }
    for path in &records {
        text.push_str(&format!(
            "{verb}: the record of {path} (trust, servers) in {}\n",
            places.global_file().display()
        ));
    }
    if asked.dry_run {
        return Ok(text);
    }
    if !asked.yes {
        say::out(&text);
        return Err(Failure::agent("Nothing was deleted").hint("Give --yes to delete these."));
    }
    for path in &found {
        remove(path).map_err(|error| agent_error(format!("{} cannot be deleted: {error}", path.display())))?;
    }
    settings::forget_projects(&places, &records).map_err(agent_error)?;
    Ok(text)
}

fn all_stores(places: &Places) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(places.config_dir.join("projects")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_real_folder(path)).collect();
    folders.sort();
    folders
}

/// A link in the place of a project's folder leads to somebody else's files.
fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// The folder of transcripts, and what lies elsewhere under the names of its sessions.
fn kept(places: &Places, store: &Path) -> Vec<PathBuf> {
    if !is_real_folder(store) {
        return Vec::new();
    }
    let sessions = std::fs::read_dir(store).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
        session::is_session_id(&name).then_some(name)
    });
    let mut found = vec![store.to_owned()];
    for id in sessions {
        let history = places.config_dir.join("file-history").join(&id);
        let log = places.config_dir.join("debug").join(format!("{id}.txt"));
        found.extend([history, log].into_iter().filter(|path| path.symlink_metadata().is_ok()));
    }
    found
}

fn remove(path: &Path) -> std::io::Result<()> {
    if is_real_folder(path) { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}
