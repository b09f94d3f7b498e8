//! Which folders the user vouched for: `projects[<path>].hasTrustDialogAccepted` in the global file.
//!
//! Trust comes from the user's own file alone; nothing inside a folder can say that it is trusted.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::files::{self, FileLock, STATE_MAX};
use crate::{ConfigError, Places};

const ACCEPTED: &str = "hasTrustDialogAccepted";
/// Others hold this lock only while they rewrite one file.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// The two words we need of a file that may hold megabytes.
#[derive(Deserialize)]
struct GlobalState {
    #[serde(default)]
    projects: HashMap<String, ProjectState>,
}

#[derive(Deserialize)]
struct ProjectState {
    #[serde(default, rename = "hasTrustDialogAccepted")]
    accepted: Option<Value>,
}

/// Whether the folder is trusted, or why the question has no answer (then it is not).
pub(crate) fn standing(places: &Places) -> Result<bool, (PathBuf, String)> {
    let file = places.global_file();
    let fail = |reason: String| (file.clone(), reason);
    let Some(text) = files::read_text(&file, STATE_MAX).map_err(|failure| fail(failure.to_string()))? else {
        return Ok(false);
    };
    if text.trim().is_empty() {
        return Ok(false);
    }
    let state: GlobalState =
        serde_json::from_str(&text).map_err(|error| fail(format!("it is not valid JSON ({error})")))?;
    let vouched = vouching_folders(places);
    Ok(state
        .projects
        .iter()
        .any(|(path, project)| project.accepted == Some(Value::Bool(true)) && vouched.contains(&key(Path::new(path)))))
}

pub fn is_trusted(places: &Places) -> bool {
    standing(places).unwrap_or(false)
}

/// Folders whose trust covers the working folder: itself, its repository and their parents. A trusted home or
/// filesystem root does not vouch for whatever was downloaded below it.
fn vouching_folders(places: &Places) -> BTreeSet<String> {
    let root = places.project_root();
    let too_wide = |dir: &Path| dir.parent().is_none() || Some(dir) == places.home.as_deref();
    let above = places.project_dir().ancestors().chain(root.ancestors()).filter(|dir| !too_wide(dir));
    above.chain([places.project_dir()]).map(key).collect()
}

/// One spelling for one folder: some file systems hand out decomposed names.
fn key(path: &Path) -> String {
    let text: String = path.to_string_lossy().nfc().collect();
    match text.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

/// `ralph trust`: vouches for the repository (or folder) we are in and says which folder that is.
/// Everything else in the global file stays; a broken file is never overwritten.
pub fn trust(places: &Places) -> Result<PathBuf, ConfigError> {
    let file = places.global_file();
    let root = places.project_root();
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut state = files::read_object(&file)?;
    let refused =
        |what: &str| ConfigError::Refused { file: file.clone(), reason: format!("`{what}` in it is not an object") };
    let projects = state.entry("projects").or_insert_with(|| Value::Object(serde_json::Map::new()));
    let project = projects
        .as_object_mut()
        .ok_or_else(|| refused("projects"))?
        .entry(key(&root))
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let project = project.as_object_mut().ok_or_else(|| refused("projects.<folder>"))?;
    if project.insert(ACCEPTED.to_owned(), Value::Bool(true)) != Some(Value::Bool(true)) {
        files::write_object(&file, &state)?;
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn trust_covers_the_folder_and_what_is_below_but_not_from_home() {
        for (trusted, cwd, expected) in [
            ("work", "work", true),
            ("work", "work/a/b", true),
            ("work/a", "work", false),
            ("wor", "work", false),
            ("work-evil", "work", false),
            ("home", "home/clone", false),
            ("home", "home", true),
            ("home/src", "home/src/clone", true),
        ] {
            let bed = Bed::new();
            bed.trust(trusted);
            let places = Places { cwd: bed.dir(cwd), ..bed.places.clone() };
            assert_eq!(is_trusted(&places), expected, "{trusted} trusted, in {cwd}");
        }
    }

    #[test]
    fn only_a_true_counts() {
        for (accepted, expected) in [
            (json!(true), true),
            (json!(false), false),
            (json!("true"), false),
            (json!(1), false),
            (json!(null), false),
        ] {
            let bed = Bed::new();
            let folder = bed.places.cwd.display().to_string();
            bed.file("home/.claude.json", &json!({"projects": {folder: {ACCEPTED: accepted}}}).to_string());
            assert_eq!(is_trusted(&bed.places), expected, "{accepted}");
        }
    }

    #[test]
    fn a_borrowed_worktree_pointer_gives_no_trust() {
        let bed = Bed::new();
        bed.trust("main");
        let git_dir = bed.dir("main/.git/worktrees/wt");
        bed.file("work/.git", &format!("gitdir: {}", git_dir.display()));
        assert!(!is_trusted(&bed.places));
    }

    #[test]
    fn trusting_keeps_everything_else_and_is_private() {
        let bed = Bed::new();
        let file = bed.file("home/.claude.json", r#"{"z":1,"projects":{"/x":{"history":[1]}},"a":{"k":"v"}}"#);
        assert_eq!(trust(&bed.places).unwrap(), bed.places.cwd);
        assert!(is_trusted(&bed.places));
        let state: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(state["z"], 1);
        assert_eq!(state["projects"]["/x"]["history"], json!([1]));
        assert_eq!(state["a"]["k"], "v");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn trust_creates_a_missing_file_and_refuses_a_broken_one() {
        let bed = Bed::new();
        trust(&bed.places).unwrap();
        assert!(is_trusted(&bed.places));
        for broken in ["{", "[]", r#"{"projects":[]}"#] {
            let file = bed.file("home/.claude.json", broken);
            assert!(matches!(trust(&bed.places), Err(ConfigError::Refused { .. })), "{broken}");
            assert_eq!(std::fs::read_to_string(file).unwrap(), broken);
            assert!(!is_trusted(&bed.places));
        }
    }
}
