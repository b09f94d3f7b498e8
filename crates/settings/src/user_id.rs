//! The random id by which an operator tells users apart. It is kept in the user's state file and says nothing about them.

use crate::files::{self, FileLock};
use crate::{Places, SettingsError};
use serde_json::{Map, Value};
use std::path::Path;
use std::time::Duration;

const KEY: &str = "userID";
/// Another process may hold the file, and a start must not wait for it for long.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// The id that is kept; `fresh` where there is none, and then it is kept. Where that fails it is one for this process.
pub fn user_id(places: &Places, fresh: &str) -> String {
    let file = places.global_file();
    if let Some(id) = files::read_object(&file).ok().as_ref().and_then(known) {
        return id;
    }
    keep(&file, fresh).unwrap_or_else(|_| fresh.to_owned())
}

fn known(state: &Map<String, Value>) -> Option<String> {
    state.get(KEY).and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned)
}

fn keep(file: &Path, fresh: &str) -> Result<String, SettingsError> {
    let _lock = FileLock::acquire(file, LOCK_PATIENCE)?;
    let mut state = files::read_object(file)?;
    if let Some(id) = known(&state) {
        return Ok(id);
    }
    state.insert(KEY.to_owned(), Value::String(fresh.to_owned()));
    files::write_object(file, &state)?;
    Ok(fresh.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_and_the_rest_of_the_file_with_it() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::new(home.path().to_owned(), Some(home.path().to_owned()), None);
        std::fs::write(places.global_file(), "{\"numStartups\": 7}").unwrap();
        assert_eq!(user_id(&places, "first"), "first");
        assert_eq!(user_id(&places, "second"), "first");
        let kept = files::read_object(&places.global_file()).unwrap();
        assert_eq!(kept["numStartups"], 7);
    }

    #[test]
    fn a_file_that_cannot_be_read_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::new(home.path().to_owned(), Some(home.path().to_owned()), None);
        std::fs::write(places.global_file(), "{broken").unwrap();
        assert_eq!(user_id(&places, "mine"), "mine");
        assert_eq!(std::fs::read_to_string(places.global_file()).unwrap(), "{broken");
    }
}
