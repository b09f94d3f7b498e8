use super::*;
use std::fs;

/// A project whose file was changed by the agent.
struct Project {
    folder: tempfile::TempDir,
    checkpoints: Checkpoints,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(Some(folder.path().join("kept")));
        let project = Self { folder, checkpoints };
        fs::create_dir(project.path("wd")).unwrap();
        fs::write(project.path("wd/a.txt"), "before").unwrap();
        project.checkpoints.begin("prompt");
        project.checkpoints.before_write(&project.path("wd/a.txt"));
        project.checkpoints.before_write(&project.path("wd/new.txt"));
        fs::write(project.path("wd/a.txt"), "after").unwrap();
        fs::write(project.path("wd/new.txt"), "new").unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    fn rewind(&self) -> Result<Value, RewindError> {
        let workspace = Workspace::new(self.path("wd"), Vec::new(), None);
        rewind(&self.checkpoints, &workspace, None, &json!({"user_message_id": "prompt"}))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

#[test]
fn files_are_as_they_were_when_the_prompt_came() {
    let project = Project::new();
    assert_eq!(project.rewind().unwrap()["filesChanged"].as_array().map(Vec::len), Some(2));
    assert_eq!(project.read("wd/a.txt"), "before");
    assert!(!project.path("wd/new.txt").exists());
}

#[test]
fn a_copy_that_cannot_be_read_is_an_error_and_nothing_changes() {
    let project = Project::new();
    for entry in fs::read_dir(project.path("kept")).unwrap().flatten() {
        if entry.file_name() != LIST {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let error = project.rewind().unwrap_err().to_string();
    assert!(error.contains("a.txt") && error.contains("No file was changed"), "{error}");
    assert_eq!((project.read("wd/a.txt"), project.read("wd/new.txt")), ("after".into(), "new".into()));
}

#[test]
fn a_link_in_a_files_place_is_not_written_through() {
    let project = Project::new();
    fs::write(project.path("outside.txt"), "theirs").unwrap();
    fs::remove_file(project.path("wd/a.txt")).unwrap();
    std::os::unix::fs::symlink(project.path("outside.txt"), project.path("wd/a.txt")).unwrap();
    assert!(project.rewind().is_err());
    assert_eq!((project.read("outside.txt"), project.read("wd/new.txt")), ("theirs".into(), "new".into()));
}

#[test]
fn a_file_outside_of_the_folders_is_left_alone() {
    let project = Project::new();
    fs::write(project.path("outside.txt"), "before").unwrap();
    project.checkpoints.before_write(&project.path("outside.txt"));
    fs::write(project.path("outside.txt"), "after").unwrap();
    assert!(project.rewind().is_err());
    assert_eq!((project.read("outside.txt"), project.read("wd/a.txt")), ("after".into(), "after".into()));
}
