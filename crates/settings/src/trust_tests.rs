use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::*;
use crate::testbed::Bed;

fn at(bed: &Bed, folder: &str) -> Places {
    Places { cwd: bed.dir(folder), ..bed.places.clone() }
}

#[test]
fn a_folder_is_trusted_for_itself_and_a_repository_with_its_folders() {
    for (repository, trusted, cwd, expected) in [
        (None, "work", "work", true),
        (None, "work", "work/a", false),
        (None, "work/a", "work", false),
        (None, "wor", "work", false),
        (None, "work-evil", "work", false),
        (None, "home", "home/clone", false),
        (None, "home", "home", true),
        (None, "home/src", "home/src/clone", false),
        (Some("work"), "work", "work", true),
        (Some("work"), "work", "work/a/b", true),
        (Some("work"), "work/a", "work/a", false),
        (Some("work/a"), "work", "work/a", false),
        (Some("work/a"), "work", "work/a/b", false),
        (Some("work/a"), "work/a", "work/a/b", true),
    ] {
        let bed = Bed::new();
        bed.trust(trusted);
        if let Some(repository) = repository {
            bed.dir(&format!("{repository}/.git"));
        }
        let places = at(&bed, cwd);
        assert_eq!(is_trusted(&places), expected, "{trusted} trusted, in {cwd}, repository {repository:?}");
    }
}

#[test]
fn a_repository_of_plain_files_below_a_trusted_one_inherits_nothing() {
    let bed = Bed::new();
    bed.trust("work");
    bed.dir("work/.git");
    for name in ["vendor/x/objects", "vendor/x/refs", "vendor/x/deep/er"] {
        bed.dir(&format!("work/{name}"));
    }
    assert!(is_trusted(&at(&bed, "work/vendor/x/deep/er")), "without HEAD it is a folder");
    bed.file("work/vendor/x/HEAD", "ref: refs/heads/main");
    for folder in ["work/vendor/x", "work/vendor/x/deep/er"] {
        assert_eq!(trust_state(&at(&bed, folder)), Trust::NotRecorded(bed.path("work/vendor/x")), "{folder}");
    }
    assert!(is_trusted(&at(&bed, "work/vendor")));
}

/// A loose object of this name; its content is not looked at.
fn plant(bed: &Bed, repository: &str, id: &str) {
    bed.dir(&format!("{repository}/.git/refs"));
    bed.file(&format!("{repository}/.git/HEAD"), "ref: refs/heads/main\n");
    bed.file(&format!("{repository}/.git/objects/{}/{}", &id[..2], &id[2..]), "x");
}

#[test]
fn another_repository_in_the_place_of_a_trusted_one_is_not_trusted() {
    let (first, other) = ("a".repeat(40), "b".repeat(40));
    for (recorded, there, expected) in [
        (json!(first), Some(&first), true),
        (json!(first), Some(&other), false),
        (json!(first), None, false),
        (json!(""), Some(&first), false),
        (json!(7), Some(&first), false),
        (json!([first]), Some(&first), false),
        (json!(first.to_uppercase()), Some(&first), false),
        (json!(null), Some(&other), true),
    ] {
        let bed = Bed::new();
        if let Some(id) = there {
            plant(&bed, "work", id);
        }
        let folder = bed.places.cwd.display().to_string();
        let state = json!({"projects": {folder: {ACCEPTED: true, FIRST_COMMIT: recorded}}});
        bed.file("home/.claude.json", &state.to_string());
        let trust = trust_state(&bed.places);
        assert_eq!(trust.is_trusted(), expected, "{recorded} recorded, {there:?} there: {trust:?}");
        let text = trust.explanation();
        assert!(text.starts_with(if expected { "yes: " } else { "no: " }) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn trusting_records_the_first_commit_and_later_completes_an_old_record() {
    let bed = Bed::new();
    bed.dir("work/.git/refs/heads");
    bed.file("work/.git/HEAD", "ref: refs/heads/main\n");
    trust(&bed.places).unwrap();
    assert_eq!(trust_state(&bed.places), Trust::Path(bed.path("work")), "there is no commit yet");
    let id = "c".repeat(40);
    plant(&bed, "work", &id);
    bed.file("work/.git/refs/heads/main", &id);
    assert_eq!(trust_state(&bed.places), Trust::Path(bed.path("work")));
    trust(&bed.places).unwrap();
    let known = Trust::Repository { top: bed.path("work"), first_commit: id.clone() };
    assert_eq!(trust_state(&bed.places), known);
    let file = bed.path("home/.claude.json");
    let before = std::fs::read(&file).unwrap();
    trust(&bed.places).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), before, "a second time changes nothing");
    std::fs::remove_dir_all(bed.path("work/.git/objects")).unwrap();
    assert!(!is_trusted(&bed.places), "the commit is gone");
    std::fs::remove_dir_all(bed.path("work/.git")).unwrap();
    let replaced = Trust::Replaced { top: bed.path("work"), first_commit: id };
    assert_eq!(trust_state(&bed.places), replaced, "it was a repository and is a folder now");
}

#[test]
fn only_what_we_made_inherits_and_only_from_what_is_trusted() {
    let bed = Bed::new();
    bed.dir("work/.git");
    bed.dir("clone/.git");
    assert!(!inherit_trust(&bed.places, &bed.path("clone")).unwrap(), "the source is not trusted");
    assert!(!is_trusted(&at(&bed, "clone")));
    bed.trust("work");
    assert!(!is_trusted(&at(&bed, "clone")), "nothing inherits of itself");
    assert!(inherit_trust(&bed.places, &bed.path("clone")).unwrap());
    assert!(is_trusted(&at(&bed, "clone")));
    bed.dir("larger/.git");
    bed.dir("larger/inner");
    assert!(!inherit_trust(&bed.places, &bed.path("larger/inner")).unwrap());
    assert!(!is_trusted(&at(&bed, "larger")));
}

#[test]
fn the_record_of_a_folder_that_is_gone_is_forgotten_and_no_other() {
    let bed = Bed::new();
    bed.dir("work/.git");
    bed.dir("clones/1/repo/.git");
    bed.dir("clones/10/repo/.git");
    bed.trust("work");
    for clone in ["clones/1/repo", "clones/10/repo"] {
        assert!(inherit_trust(&bed.places, &bed.path(clone)).unwrap());
    }
    forget_trust(&bed.places, &bed.path("clones/1")).unwrap();
    assert!(is_trusted(&at(&bed, "clones/1/repo")), "the folder exists");
    std::fs::remove_dir_all(bed.path("clones/1")).unwrap();
    forget_trust(&bed.places, &bed.path("clones/1")).unwrap();
    let known = std::fs::read_to_string(bed.path("home/.claude.json")).unwrap();
    assert!(!known.contains("clones/1/"), "{known}");
    assert!(is_trusted(&at(&bed, "clones/10/repo")) && is_trusted(&bed.places), "{known}");
}

#[test]
fn a_linked_worktree_is_its_repository() {
    let bed = Bed::new();
    bed.trust("main");
    let git_dir = bed.dir("main/.git/worktrees/wt");
    let pointer = bed.file("work/.git", &format!("gitdir: {}", git_dir.display()));
    assert!(!is_trusted(&bed.places), "a borrowed pointer gives no trust");
    bed.file("main/.git/worktrees/wt/gitdir", &pointer.display().to_string());
    assert!(is_trusted(&bed.places));
}

#[test]
fn only_a_true_counts() {
    for (accepted, expected) in
        [(json!(true), true), (json!(false), false), (json!("true"), false), (json!(1), false), (json!(null), false)]
    {
        let bed = Bed::new();
        let folder = bed.places.cwd.display().to_string();
        bed.file("home/.claude.json", &json!({"projects": {folder: {ACCEPTED: accepted}}}).to_string());
        assert_eq!(is_trusted(&bed.places), expected, "{accepted}");
    }
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
        assert!(matches!(trust(&bed.places), Err(SettingsError::Refused { .. })), "{broken}");
        assert_eq!(std::fs::read_to_string(file).unwrap(), broken);
        assert!(!is_trusted(&bed.places));
    }
}
