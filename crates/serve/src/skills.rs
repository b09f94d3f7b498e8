//! `/v1/config/skills`: skills of a served folder, put where agents look for them: `.claude/skills`. An entry has a name and sources;
//! each source is a folder with a `SKILL.md`, or with folders that have one, and is copied when the entry is set.
//!
//! Skills can make later runs start programs, so setting them needs `--allow-exec`; sources that are repositories are fetched by git in
//! the sandbox of the served folder. Deliberately absent: keeping them up to date, which is another `PUT`.

use crate::app::App;
use crate::files::Served;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use process::Git;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

type Shared = State<Arc<App>>;

/// Which sources the skills of an entry came from, in the folder.
const LEDGER: &str = ".claude/skill-sources.json";
const SKILLS: &str = ".claude/skills";
/// The file that makes a folder a skill.
const SKILL: &str = "SKILL.md";
/// Of the ledger.
const LEDGER_MAX: usize = 1024 * 1024;
/// Of one entry.
const SOURCES_MAX: usize = 16;
/// Of all skills of one entry: files, bytes, folders inside folders. A skill is a few pages and scripts.
const FILES_MAX: usize = 1_000;
const BYTES_MAX: usize = 16 * 1024 * 1024;
const DEPTH_MAX: usize = 16;
/// For each of git's steps.
const FETCH_TIME: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SkillQuery {
    directory: String,
    skill_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "source")]
    address: String,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subpath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SkillEntry {
    sources: Vec<Source>,
    /// Folders in `.claude/skills` that are of this entry.
    #[serde(default)]
    installed: Vec<String>,
}

#[derive(Deserialize)]
struct SkillsBody {
    sources: Vec<Source>,
}

/// A file of a skill, below `.claude/skills`.
struct Copy {
    path: PathBuf,
    bytes: Vec<u8>,
    mode: u32,
}

struct Place {
    name: String,
    folder: Served,
}

impl Place {
    fn of(app: &App, uri: &Uri) -> Result<Self, Problem> {
        let SkillQuery { directory, skill_name } = request::query(uri)?;
        if !is_name(&skill_name) {
            return Err(Problem::invalid(format!("'{skill_name}' is no name of a skill")));
        }
        Ok(Self { name: skill_name, folder: app.folders.place(&directory)? })
    }

    fn ledger(&self) -> Result<BTreeMap<String, SkillEntry>, Problem> {
        let file = self.folder.join(LEDGER);
        match file.read(LEDGER_MAX) {
            Err(problem) if problem.kind == "not_found" => Ok(BTreeMap::new()),
            read => serde_json::from_slice(&read?)
                .map_err(|error| Problem::conflict(format!("{} cannot be read: {error}; mend it first", file.shown()))),
        }
    }

    fn keep(&self, ledger: &BTreeMap<String, SkillEntry>) -> Result<(), Problem> {
        let text = serde_json::to_string_pretty(ledger).map_err(|error| Problem::internal(error.to_string()))?;
        self.folder.join(LEDGER).write(format!("{text}\n").as_bytes())
    }

    fn skill(&self, name: &str) -> Served {
        self.folder.join(SKILLS).join(name)
    }
}

/// One name in a folder, and none that is hidden.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}

pub async fn read(State(app): Shared, uri: Uri) -> Result<Json<Value>, Problem> {
    let place = Place::of(&app, &uri)?;
    if let Some(entry) = place.ledger()?.get(&place.name) {
        return Ok(Json(json!({"sources": entry.sources})));
    }
    let folder = place.skill(&place.name);
    folder.stat().map_err(|_| Problem::not_found(format!("there is no skill '{}'", place.name)))?;
    Ok(Json(json!({"sources": [{"type": "local", "source": folder.shown()}]})))
}

pub async fn remove(State(app): Shared, uri: Uri) -> Result<StatusCode, Problem> {
    let place = Place::of(&app, &uri)?;
    let mut ledger = place.ledger()?;
    let installed = match ledger.remove(&place.name) {
        Some(entry) => {
            place.keep(&ledger)?;
            entry.installed
        }
        None => vec![place.name.clone()],
    };
    delete_skills(&place, &installed)?;
    Ok(StatusCode::NO_CONTENT)
}

fn delete_skills(place: &Place, names: &[String]) -> Result<(), Problem> {
    names.iter().filter(|name| is_name(name)).try_for_each(|name| match place.skill(name).remove(true) {
        Err(problem) if problem.kind != "not_found" => Err(problem),
        _ => Ok(()),
    })
}

pub async fn write(State(app): Shared, uri: Uri, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    let place = Place::of(&app, &uri)?;
    app.need_exec("a skill")?;
    let SkillsBody { sources } = request::json(&headers, body).await?;
    if sources.is_empty() || sources.len() > SOURCES_MAX {
        return Err(Problem::invalid(format!("a skill has 1 to {SOURCES_MAX} sources")));
    }
    let mut copies = Copies::default();
    for source in &sources {
        match source.kind.as_str() {
            "local" => {
                let folder = app.folders.place(&place.folder.path().join(&source.address).display().to_string())?;
                copies.add_source(source, &folder, None)?;
            }
            "git" | "github" => {
                let fetched = Fetched::new(&app, &place, source).await?;
                copies.add_source(source, &fetched.folder, Some(&place.name))?;
            }
            other => {
                return Err(Problem::invalid(format!("'{other}' is no type of source; use local, git or github")));
            }
        }
    }
    install(&place, sources, copies)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replaces what the entry had before; skills of others are never overwritten.
fn install(place: &Place, sources: Vec<Source>, copies: Copies) -> Result<(), Problem> {
    let mut ledger = place.ledger()?;
    let before = ledger.get(&place.name).map(|entry| entry.installed.clone()).unwrap_or_default();
    let taken = copies.names.iter().find(|name| !before.contains(name) && place.skill(name).stat().is_ok());
    if let Some(name) = taken {
        return Err(Problem::conflict(format!("{} exists already; remove it first", place.skill(name).shown())));
    }
    // Noted before anything is copied: what was copied in part is known, and is replaced by the next try.
    let all = before.iter().chain(&copies.names).cloned().collect();
    ledger.insert(place.name.clone(), SkillEntry { sources: sources.clone(), installed: all });
    place.keep(&ledger)?;
    delete_skills(place, &before)?;
    for copy in &copies.files {
        place.folder.join(SKILLS).join(&copy.path).write_new_as(&copy.bytes, copy.mode)?;
    }
    ledger.insert(place.name.clone(), SkillEntry { sources, installed: copies.names });
    place.keep(&ledger)
}

/// What is to be copied, read whole before anything is written.
#[derive(Default)]
struct Copies {
    names: Vec<String>,
    files: Vec<Copy>,
    bytes: usize,
}

impl Copies {
    /// `alone` is the name of a skill that is the source itself, where its folder has no name of its own.
    fn add_source(&mut self, source: &Source, folder: &Served, alone: Option<&str>) -> Result<(), Problem> {
        let subpath = Path::new(source.subpath.as_deref().unwrap_or(""));
        let is_inside = subpath.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_inside {
            return Err(Problem::invalid(format!("'{}' leaves the source", subpath.display())));
        }
        let folder = if subpath.as_os_str().is_empty() { folder.clone() } else { folder.join(subpath) };
        let mut found = skills_in(&folder, alone)?;
        if let Some(wanted) = &source.skills {
            if let Some(missing) = wanted.iter().find(|name| found.iter().all(|(known, _)| known != *name)) {
                return Err(Problem::invalid(format!("there is no skill '{missing}' in {}", source.address)));
            }
            found.retain(|(name, _)| wanted.contains(name));
        }
        if found.is_empty() {
            return Err(Problem::invalid(format!("there is no {SKILL} in {}", source.address)));
        }
        for (name, folder) in found {
            if self.names.contains(&name) {
                return Err(Problem::invalid(format!("two sources have a skill '{name}'")));
            }
            self.add_folder(&folder, Path::new(&name), 0)?;
            self.names.push(name);
        }
        Ok(())
    }

    fn add_folder(&mut self, from: &Served, to: &Path, depth: usize) -> Result<(), Problem> {
        if depth > DEPTH_MAX {
            return Err(Problem::too_large(format!("{} has folders deeper than {DEPTH_MAX}", from.shown())));
        }
        for entry in from.list()? {
            let (inner, path) = (from.join(&entry.name), to.join(&entry.name));
            match entry.kind {
                // A skill that is a repository itself.
                "directory" if entry.name == ".git" => {}
                "directory" => self.add_folder(&inner, &path, depth + 1)?,
                _ => {
                    let bytes = inner.read(BYTES_MAX)?;
                    self.bytes += bytes.len();
                    let mode = if inner.is_executable() { 0o777 } else { 0o666 };
                    self.files.push(Copy { path, bytes, mode });
                }
            }
            if self.files.len() > FILES_MAX || self.bytes > BYTES_MAX {
                return Err(Problem::too_large(format!("skills may have {FILES_MAX} files and {BYTES_MAX} bytes")));
            }
        }
        Ok(())
    }
}

/// The folder itself, or the skills in it and in its `skills`.
fn skills_in(folder: &Served, alone: Option<&str>) -> Result<Vec<(String, Served)>, Problem> {
    let has_skill = |folder: &Served| folder.join(SKILL).stat().is_ok();
    if has_skill(folder) {
        let own = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let name = alone.map(str::to_owned).or(own).filter(|name| is_name(name));
        let name = name.ok_or_else(|| Problem::invalid(format!("{} has no name", folder.shown())))?;
        return Ok(vec![(name, folder.clone())]);
    }
    let mut found = Vec::new();
    for place in [folder.clone(), folder.join("skills")] {
        let entries = match place.list() {
            Err(problem) if problem.kind == "not_found" => continue,
            listed => listed?,
        };
        let named = entries.into_iter().filter(|entry| entry.kind == "directory" && is_name(&entry.name));
        let inner = named.map(|entry| (entry.name.clone(), place.join(&entry.name)));
        found.extend(inner.filter(|(_, folder)| has_skill(folder)));
    }
    Ok(found)
}

/// A repository that was fetched into the served folder, removed when dropped.
struct Fetched {
    folder: Served,
}

impl Drop for Fetched {
    fn drop(&mut self) {
        // A leftover folder is hidden and empty of meaning.
        let _ = self.folder.remove(true);
    }
}

impl Fetched {
    async fn new(app: &App, place: &Place, source: &Source) -> Result<Self, Problem> {
        let address = address(source)?;
        let reference = source.reference.as_deref().unwrap_or("HEAD");
        if reference.is_empty() || reference.starts_with('-') || reference.contains('\0') {
            return Err(Problem::invalid(format!("'{reference}' is no branch, tag or commit")));
        }
        let processes = app.processes.as_ref().ok_or_else(|| Problem::denied("a skill needs '--allow-exec'"))?;
        let (at, cwd) = app.folders.place_folder(Some(&place.folder.shown()))?;
        let sandbox = processes.sandbox(at)?;
        let mut env = app.env.clone();
        process::scrub::credentials_but(&mut env, &[]);
        env.extend(sandbox.proxy_env());
        let git = Git::find(&env).ok_or_else(|| Problem::internal("git is not on the server's PATH"))?.inside(sandbox);
        let name = format!(".ralph-{}", uuid::Uuid::new_v4().simple());
        let fetched = Self { folder: place.folder.join(&name) };
        for words in [
            &["init", "--quiet", &name][..],
            &["-C", &name, "fetch", "--quiet", "--depth=1", "--", &address, reference],
            &["-C", &name, "checkout", "--quiet", "FETCH_HEAD"],
        ] {
            let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
            let failed = |why| Problem::invalid(format!("{} cannot be fetched: {why}", source.address));
            git.run(&cwd, &words, FETCH_TIME).await.map_err(failed)?;
        }
        Ok(fetched)
    }
}

/// Where git fetches from. Addresses that name a program or a flag are none.
fn address(source: &Source) -> Result<String, Problem> {
    let given = source.address.as_str();
    let is_word = |part: &str| {
        !part.is_empty()
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'))
    };
    let address = match (source.kind.as_str(), given.split_once('/')) {
        ("github", Some((owner, name))) if is_word(owner) && is_word(name) => {
            Some(format!("https://github.com/{owner}/{name}.git"))
        }
        ("git", _)
            if ["https://", "http://", "ssh://", "git://", "file://"].iter().any(|kind| given.starts_with(kind)) =>
        {
            Some(given.to_owned())
        }
        _ => None,
    };
    address.ok_or_else(|| Problem::invalid(format!("'{given}' is no address of a {} source", source.kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_repositories() {
        for (kind, source, expected) in [
            ("github", "owner/name", Some("https://github.com/owner/name.git")),
            ("github", "owner/name/more", None),
            ("github", "owner", None),
            ("github", "https://example.com/x", None),
            ("git", "https://example.com/x.git", Some("https://example.com/x.git")),
            ("git", "file:///srv/x", Some("file:///srv/x")),
            ("git", "--upload-pack=x", None),
            ("git", "ext::sh -c x", None),
            ("git", "/etc", None),
        ] {
            let source =
                Source { kind: kind.into(), address: source.into(), reference: None, subpath: None, skills: None };
            assert_eq!(address(&source).ok().as_deref(), expected, "{source:?}");
        }
    }
}
