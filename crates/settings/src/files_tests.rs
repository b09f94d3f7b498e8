use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::testbed::Bed;

#[test]
fn reading_is_bounded_and_never_hangs() {
    let bed = Bed::new();
    assert!(read(&bed.path("none"), 10).unwrap().is_none());
    bed.file("plain", "x");
    assert!(read(&bed.path("plain/below"), 10).unwrap().is_none());
    assert!(matches!(read(&bed.dir("folder"), 10), Err(ReadFailure::NotRegular)));
    assert!(matches!(read(&bed.file("big", "0123456789x"), 10), Err(ReadFailure::TooLarge(10))));
    assert_eq!(read_head(&bed.path("big"), 4).unwrap(), Some((b"0123".to_vec(), false)));
    assert_eq!(read_head(&bed.path("big"), 11).unwrap().map(|(_, whole)| whole), Some(true));
    assert!(matches!(read(Path::new("/dev/zero"), 10), Err(ReadFailure::NotRegular)));
    let fifo = bed.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert!(matches!(read(&fifo, 10), Err(ReadFailure::NotRegular)));
}

#[test]
fn a_byte_order_mark_is_not_text() {
    let bed = Bed::new();
    assert_eq!(read_text(&bed.file("bom", "\u{FEFF}{}"), 10).unwrap().as_deref(), Some("{}"));
    std::fs::write(bed.path("latin"), b"\xe9").unwrap();
    assert!(matches!(read_text(&bed.path("latin"), 10), Err(ReadFailure::NotText)));
}

#[test]
fn writes_are_private_and_keep_links() {
    let bed = Bed::new();
    let real = bed.file("dotfiles/state.json", "{}");
    let link = bed.path("state.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write_private(&link, b"{\"a\":1}").unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "{\"a\":1}");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    write_private(&bed.path("new/deep/file"), b"x").unwrap();
    assert_eq!(std::fs::metadata(bed.path("new")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_held_lock_is_waited_for_only_so_long() {
    let bed = Bed::new();
    let data = bed.path("data.json");
    let held = FileLock::acquire(&data, Duration::ZERO).unwrap();
    assert!(matches!(FileLock::acquire(&data, Duration::ZERO), Err(SettingsError::Locked { .. })));
    drop(held);
    FileLock::acquire(&data, Duration::ZERO).unwrap();
}

#[test]
fn a_planted_link_is_not_locked_through() {
    let bed = Bed::new();
    std::os::unix::fs::symlink(bed.file("victim", ""), bed.path("data.json.ralph-lock")).unwrap();
    assert!(matches!(FileLock::acquire(&bed.path("data.json"), Duration::ZERO), Err(SettingsError::Write { .. })));
}
