use super::*;
use crate::testbed::Bed;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

const MAX: u64 = 1000;

fn mode(path: &PathBuf, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn found(bed: &Bed) -> Option<String> {
    read(&bed.path("work"), ".claude", "f.json", MAX)
}

/// A folder as it should be; the temporary folder itself may be anybody's.
fn bed() -> Bed {
    let bed = Bed::new();
    let file = bed.file("work/.claude/f.json", "mine");
    mode(&bed.path(""), 0o700);
    mode(&bed.path("work"), 0o755);
    mode(&bed.path("work/.claude"), 0o755);
    mode(&file, 0o644);
    bed
}

#[test]
fn a_file_of_the_user_is_read() {
    assert_eq!(found(&bed()).as_deref(), Some("mine"));
}

#[test]
fn whatever_others_could_have_written_is_not() {
    for (name, how) in [
        ("work/.claude/f.json", 0o646),
        ("work/.claude", 0o777),
        ("work", 0o757),
        ("", 0o777),
        ("work/.claude/f.json", 0o200),
    ] {
        // Root reads what nobody may read.
        if how == 0o200 && rustix::process::geteuid().is_root() {
            continue;
        }
        let bed = bed();
        mode(&bed.path(name), how);
        assert_eq!(found(&bed), None, "{name} {how:o}");
        mode(&bed.path(name), 0o700);
    }
}

/// A name, and what is done to the files.
type Change = (&'static str, fn(&Bed));

#[test]
fn links_and_other_kinds_of_files_are_not_read() {
    let links: [Change; 6] = [
        ("the file is a link", |bed| {
            std::fs::rename(bed.path("work/.claude/f.json"), bed.path("work/real")).unwrap();
            bed.link(&bed.path("work/real"), "work/.claude/f.json");
        }),
        ("the folder is a link", |bed| {
            std::fs::rename(bed.path("work/.claude"), bed.path("work/real")).unwrap();
            bed.link(&bed.path("work/real"), "work/.claude");
        }),
        ("the file has another name", |bed| {
            std::fs::hard_link(bed.path("work/.claude/f.json"), bed.path("work/other")).unwrap();
        }),
        ("the folder is a repository", |bed| drop(bed.dir("work/.claude/.git"))),
        ("the file is a folder", |bed| {
            std::fs::remove_file(bed.path("work/.claude/f.json")).unwrap();
            bed.dir("work/.claude/f.json");
        }),
        ("the file is too large", |bed| drop(bed.file("work/.claude/f.json", &"x".repeat(MAX as usize + 1)))),
    ];
    for (what, change) in links {
        let bed = bed();
        change(&bed);
        assert_eq!(found(&bed), None, "{what}");
    }
}

#[test]
fn a_file_of_somebody_else_is_not_read() {
    // Only root can give files away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for name in ["work/.claude/f.json", "work/.claude", "work", ""] {
        let bed = bed();
        std::os::unix::fs::chown(bed.path(name), Some(4242), Some(4242)).unwrap();
        assert_eq!(found(&bed), None, "{name:?}");
    }
}
