//! `ralph init`: the files of a loop, with words that explain them. What is there stays as it is.

use crate::Folder;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// A file and whether it is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub file: PathBuf,
    pub is_new: bool,
}

pub fn init(folder: &Folder) -> io::Result<Vec<Made>> {
    std::fs::create_dir_all(folder.ralph())?;
    let files = [
        (folder.prompt(), include_str!("templates/prompt.md")),
        (folder.todo(), include_str!("templates/todo.md")),
        (folder.config(), include_str!("templates/config.toml")),
        (folder.ralph().join(".gitignore"), include_str!("templates/gitignore")),
    ];
    files.into_iter().map(|(file, text)| Ok(Made { is_new: make(&file, text)?, file })).collect()
}

fn make(file: &PathBuf, text: &str) -> io::Result<bool> {
    match std::fs::OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut made) => made.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_004_init_makes_what_is_missing_and_overwrites_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir(folder.ralph()).unwrap();
        std::fs::write(folder.prompt(), "mine").unwrap();
        let new = |made: Vec<Made>| made.iter().map(|made| made.is_new).collect::<Vec<_>>();
        assert_eq!(new(init(&folder).unwrap()), [false, true, true, true]);
        assert_eq!(std::fs::read_to_string(folder.prompt()).unwrap(), "mine");
        assert_eq!(new(init(&folder).unwrap()), [false; 4]);
    }
}
