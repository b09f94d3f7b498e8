//! Which conversation: a new one, an old one, or a copy.

use crate::environment::Environment;
use crate::refusal::Refusal;
use arguments::Arguments;
use options::{Session, SessionPlan};
use session::Store;
use settings::Places;
use std::path::{Path, PathBuf};

pub fn resolve(typed: &Arguments, places: &Places, environment: &Environment) -> Result<Session, Refusal> {
    let project_dir_name =
        environment.get("CLAUDE_CODE_PROJECT_DIR_NAME").filter(|_| places.config_dir_is_custom).map(str::to_owned);
    let store = Store::new(&places.config_dir, &environment.cwd, project_dir_name.as_deref());
    let wanted = wanted_id(typed)?;
    let fork = typed.fork_session;
    let (plan, id) = match earlier(typed, &store, wanted.as_deref(), fork)? {
        None => (SessionPlan::New, fresh(wanted, &store, fork)?),
        Some(from) if fork => {
            let id = wanted.unwrap_or_else(random_id);
            (SessionPlan::Fork { from }, id)
        }
        Some(from) => {
            let id = from.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            (SessionPlan::Resume { from }, id)
        }
    };
    Ok(Session {
        id,
        plan,
        until: typed.resume_session_at.as_deref().filter(|entry| !entry.is_empty()).map(str::to_owned),
        drops_turn: drops_turn(typed)?,
        mirror: typed.session_mirror,
        persist: persists(typed, environment),
        title: typed.name.as_deref().filter(|name| !name.is_empty()).map(str::to_owned),
        project_dir_name,
        git_branch: git_branch(places),
        entrypoint: Some(environment.get("CLAUDE_CODE_ENTRYPOINT").unwrap_or("sdk-cli").to_owned()),
    })
}

/// A guard that names nothing guards nothing, so it lets nothing pass.
fn drops_turn(typed: &Arguments) -> Result<Option<String>, Refusal> {
    match typed.resume_drops_turn.as_deref() {
        Some("") => Err(Refusal::with_result(
            "Resume rejected by --resume-drops-turn: its value is empty; give the uuid of a prompt.",
        )),
        turn => Ok(turn.map(str::to_owned)),
    }
}

fn wanted_id(typed: &Arguments) -> Result<Option<String>, Refusal> {
    let Some(id) = typed.session_id.as_deref().filter(|id| !id.is_empty()) else {
        return Ok(None);
    };
    match uuid::Uuid::parse_str(id) {
        Ok(uuid) => Ok(Some(uuid.hyphenated().to_string())),
        Err(_) => Err(Refusal::new("Error: Invalid session ID. Must be a valid UUID.")),
    }
}

/// The file to go on from. `--resume --session-id ID`, as some loops send it, means that very session.
fn earlier(typed: &Arguments, store: &Store, wanted: Option<&str>, fork: bool) -> Result<Option<PathBuf>, Refusal> {
    let resume = typed.resume.value.as_deref().filter(|id| !id.is_empty());
    let misnamed = match resume {
        Some(id) => wanted.is_some_and(|wanted| wanted != id),
        None => wanted.is_some() && typed.continue_latest,
    };
    if misnamed && !fork {
        return Err(Refusal::new(
            "Error: --session-id can only be used with --resume or --continue if --fork-session is also given.",
        ));
    }
    if let Some(id) = resume {
        return found(store, id).map(Some);
    }
    if typed.resume.is_given {
        return match wanted {
            Some(id) if !fork => found(store, id).map(Some),
            _ => Err(Refusal::new("Error: --resume needs a session id when nobody is there to choose one.")),
        };
    }
    if typed.continue_latest {
        return Ok(store.newest().map(|(_, path)| path));
    }
    Ok(None)
}

fn found(store: &Store, id: &str) -> Result<PathBuf, Refusal> {
    store.find(id).ok_or_else(|| Refusal::with_result(format!("No conversation found with session ID: {id}")))
}

fn fresh(wanted: Option<String>, store: &Store, fork: bool) -> Result<String, Refusal> {
    match wanted {
        Some(id) if store.path(&id).exists() && !fork => {
            Err(Refusal::with_result(format!("Error: Session ID {id} is already in use.")))
        }
        Some(id) => Ok(id),
        None => Ok(random_id()),
    }
}

fn random_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn persists(typed: &Arguments, environment: &Environment) -> bool {
    if typed.no_session_persistence || environment.is_on("CLAUDE_CODE_SKIP_PROMPT_HISTORY") {
        return false;
    }
    let child = environment.is_on("CLAUDE_CODE_CHILD_SESSION");
    !child || environment.is_on("CLAUDE_CODE_FORCE_SESSION_PERSISTENCE")
}

/// Read from the repository's files: starting git would cost more than everything else before the
/// first event, and would run what the repository's configuration says.
fn git_branch(places: &Places) -> String {
    let root = places.checkout_root();
    let head = head_file(&root.join(".git")).and_then(|head| std::fs::read_to_string(head).ok()).unwrap_or_default();
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None if head.is_empty() => String::new(),
        None => "HEAD".to_owned(),
    }
}

fn head_file(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.join("HEAD"));
    }
    let pointer = std::fs::read_to_string(git).ok()?;
    let folder = pointer.trim().strip_prefix("gitdir: ")?;
    Some(git.parent()?.join(folder).join("HEAD"))
}
