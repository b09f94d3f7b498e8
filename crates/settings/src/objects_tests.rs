use std::process::Command;

use super::*;
use crate::testbed::Bed;

/// A real repository, made by git; `None` where there is no git.
#[expect(clippy::disallowed_methods, reason = "the test makes a repository; the crate itself starts nothing")]
fn git(bed: &Bed, folder: &str, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    command.args(identity).args(args).current_dir(bed.path(folder));
    command.env_clear().env("PATH", "/usr/bin:/bin:/usr/local/bin").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().ok()?;
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn history(bed: &Bed, commits: usize) -> Option<String> {
    git(bed, "work", &["init", "-q"])?;
    for nth in 0..commits {
        let message = format!("commit {nth} {}", "with the same long message ".repeat(40));
        git(bed, "work", &["commit", "-q", "--allow-empty", "-m", &message])?;
    }
    git(bed, "work", &["rev-list", "--max-parents=0", "HEAD"])
}

#[test]
fn the_first_commit_is_found_loose_packed_and_through_deltas() {
    let bed = Bed::new();
    let Some(first) = history(&bed, 12) else { return };
    let dir = bed.path("work/.git");
    assert_eq!(first_commit(&dir).as_ref(), Some(&first));
    git(&bed, "work", &["gc", "-q", "--aggressive", "--prune=now"]);
    git(&bed, "work", &["pack-refs", "--all"]);
    assert!(!dir.join("objects").join(&first[..2]).join(&first[2..]).exists(), "not packed");
    assert_eq!(first_commit(&dir).as_ref(), Some(&first));
    assert!(has_commit(&dir, &first));
    git(&bed, "work", &["commit", "-q", "--allow-empty", "-m", "loose on top of packed"]);
    assert_eq!(first_commit(&dir).as_ref(), Some(&first));
    git(&bed, "work", &["checkout", "-q", "--detach"]);
    assert_eq!(first_commit(&dir).as_ref(), Some(&first));
}

#[test]
fn borrowed_objects_count_and_foreign_ones_do_not() {
    let bed = Bed::new();
    let Some(first) = history(&bed, 2) else { return };
    let work = bed.path("work").display().to_string();
    git(&bed, "", &["clone", "-q", "--shared", &work, "borrower"]);
    assert_eq!(first_commit(&bed.path("borrower/.git")).as_ref(), Some(&first));
    git(&bed, "", &["clone", "-q", "--bare", &work, "bare.git"]);
    git(&bed, "bare.git", &["worktree", "add", "-q", "../linked"]);
    let linked = crate::repository::git_dir(&bed.path("linked")).unwrap();
    assert_eq!(first_commit(&linked).as_ref(), Some(&first), "a worktree of a bare repository");
    git(&bed, "", &["init", "-q", "other"]);
    assert_eq!(first_commit(&bed.path("other/.git")), None, "no commit yet");
    git(&bed, "other", &["commit", "-q", "--allow-empty", "-m", "another beginning"]);
    let other = first_commit(&bed.path("other/.git")).unwrap();
    assert!(other != first && !has_commit(&bed.path("other/.git"), &first));
}

#[test]
fn broken_repositories_have_no_first_commit() {
    let bed = Bed::new();
    let id = "0123456789012345678901234567890123456789";
    for (head, reference) in [
        ("", ""),
        ("ref: refs/heads/main", ""),
        ("ref: refs/heads/main", "ref: refs/heads/main"),
        ("ref: ../../outside", id),
        ("ref: refs/../../outside", id),
        (id, ""),
        ("ref: refs/heads/main", id),
        ("0123", ""),
    ] {
        bed.dir("work/.git/objects/pack");
        bed.file("work/.git/HEAD", head);
        bed.file("work/.git/refs/heads/main", reference);
        bed.file("outside", id);
        assert_eq!(first_commit(&bed.path("work/.git")), None, "{head} {reference}");
    }
    for index in [&b""[..], b"\xfftOc\0\0\0\x02", &[0xff; 3000], b"\xfftOc\0\0\0\x02\xff\xff\xff\xff"] {
        std::fs::write(bed.path("work/.git/objects/pack/a.idx"), index).unwrap();
        std::fs::write(bed.path("work/.git/objects/pack/a.pack"), index).unwrap();
        assert!(!has_commit(&bed.path("work/.git"), id));
    }
    for not_an_id in ["", "0", "../../../../etc/passwd", &"g".repeat(40), &"A".repeat(40)] {
        assert!(!has_commit(&bed.path("work/.git"), not_an_id), "{not_an_id}");
    }
}

proptest::proptest! {
    #[test]
    fn any_delta_is_read_or_refused(base: Vec<u8>, delta: Vec<u8>) {
        let _ = apply_delta(&base, &delta);
    }
}
