//! `cleanupPeriodDays`: old transcripts go, after the result.

use super::{here, own, plain, run, write};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use testkit::World;

const OLD: &str = "00000000-0000-4000-8000-000000000001";

fn old_transcript(world: &World) -> PathBuf {
    let path = write(world.home().join(format!(".claude/projects/-somewhere/{OLD}.jsonl")), "{}\n");
    let aged = SystemTime::now() - Duration::from_hours(24 * 100);
    std::fs::File::open(&path).expect("a file").set_modified(aged).expect("a time");
    path
}

#[test]
fn transcripts_older_than_the_setting_are_removed() {
    let world = plain();
    let old = old_transcript(&world);
    own(&world, ".claude/settings.json", &json!({"cleanupPeriodDays": 1}));
    let outcome = run(&world, &["-p", "hi"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(!old.exists());
    let left = world.home().join(".claude/projects").read_dir().expect("projects").count();
    assert_eq!(left, 1, "the session of this run stays");
}

#[test]
fn without_the_setting_or_by_a_folders_wish_nothing_is_removed() {
    let world = plain();
    let old = old_transcript(&world);
    assert_eq!(run(&world, &["-p", "hi"]).code, Some(0));
    assert!(old.exists());
    here(&world, ".claude/settings.json", r#"{"cleanupPeriodDays": 1}"#);
    let trusted = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
    own(&world, ".claude.json", &trusted);
    assert_eq!(run(&world, &["-p", "hi"]).code, Some(0));
    assert!(old.exists(), "a folder has no say about the conversations of others");
    own(&world, ".claude/settings.json", &json!({"cleanupPeriodDays": 0}));
    let zero = run(&world, &["-p", "hi"]);
    assert_eq!(zero.stderr, "warning: cleanupPeriodDays is 0 and ignored; it is a number of days, at least 1");
    assert!(old.exists());
}
