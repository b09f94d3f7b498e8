//! `ralph init`: the files of a loop, with explanations in them. Existing files stay unchanged.

use crate::{Folder, Settings};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file and whether it is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedFile {
    pub file: PathBuf,
    pub is_new: bool,
}

const PROMPT: &str = include_str!("templates/prompt.md");
const TODO: &str = include_str!("templates/todo.md");

/// Keeps logs and recordings out of commits, also where nobody has run `ralph init`.
pub(crate) fn ignore_logs(folder: &Folder) -> io::Result<()> {
    make(&folder.ralph().join(".gitignore"), include_str!("templates/gitignore")).map(drop)
}

/// Whether a todo list is still the one that `ralph init` made: then it lists nothing.
pub(crate) fn is_todo_template(text: &str) -> bool {
    text.trim() == TODO.trim()
}

/// What a person has to edit before a run makes sense: both files are still as `ralph init` made them.
pub fn unedited(folder: &Folder, settings: &Settings) -> Option<String> {
    let read = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
    let prompt = folder.find_prompt(settings.prompt.as_deref())?;
    let todo = folder.find_todo(settings.todo.as_deref());
    let listed = read(&todo);
    let nothing_listed = listed.trim().is_empty() || is_todo_template(&listed);
    if settings.goal.is_some() || read(&prompt).trim() != PROMPT.trim() || !nothing_listed {
        return None;
    }
    let name = |file: &Path| file.strip_prefix(folder.root()).unwrap_or(file).display().to_string();
    let (prompt, todo) = (name(&prompt), name(&todo));
    Some(format!(
        "nothing to do: {todo} lists no task and {prompt} is still the template of 'ralph init'. Write the first task into \
         {todo}, or your own instructions into {prompt}, and start 'ralph' again"
    ))
}

pub fn init(folder: &Folder) -> io::Result<Vec<CreatedFile>> {
    std::fs::create_dir_all(folder.ralph())?;
    let files = [
        (folder.prompt(), PROMPT),
        (folder.todo(), TODO),
        (folder.config(), include_str!("templates/config.toml")),
        (folder.ralph().join(".gitignore"), include_str!("templates/gitignore")),
    ];
    files.into_iter().map(|(file, text)| Ok(CreatedFile { is_new: make(&file, text)?, file })).collect()
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
        let new = |made: Vec<CreatedFile>| made.iter().map(|made| made.is_new).collect::<Vec<_>>();
        assert_eq!(new(init(&folder).unwrap()), [false, true, true, true]);
        assert_eq!(std::fs::read_to_string(folder.prompt()).unwrap(), "mine");
        assert_eq!(new(init(&folder).unwrap()), [false; 4]);
    }

    #[test]
    fn templates_are_nothing_to_do_until_one_of_them_is_edited() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        init(&folder).unwrap();
        let settings = Settings::default();
        let said = unedited(&folder, &settings).unwrap();
        assert!(said.contains(".ralph/todo.md") && said.contains(".ralph/prompt.md"), "{said}");
        std::fs::write(folder.todo(), "").unwrap();
        assert!(unedited(&folder, &settings).is_some(), "an empty list lists nothing either");
        std::fs::write(folder.todo(), "- [ ] a task").unwrap();
        assert_eq!(unedited(&folder, &settings), None);
        std::fs::write(folder.todo(), TODO).unwrap();
        std::fs::write(folder.prompt(), "Do this").unwrap();
        assert_eq!(unedited(&folder, &settings), None);
        std::fs::write(folder.prompt(), PROMPT).unwrap();
        let goal = Settings { goal: Some("goal.md".into()), ..settings };
        assert_eq!(unedited(&folder, &goal), None);
    }
}
