use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::{Arc, Mutex};

/// A disk that takes so many more bytes, and is then full.
#[derive(Clone, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Arc<Mutex<usize>>,
}

impl Disk {
    fn with_room(room: usize) -> Self {
        let disk = Self::default();
        disk.give(room);
        disk
    }

    fn give(&self, room: usize) {
        *self.room.lock().unwrap() = room;
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }

    fn appender(&self) -> Appender {
        let disk = self.clone();
        Appender::with(Path::new("t.jsonl"), Box::new(move || Ok(Opened { file: Box::new(disk.clone()), torn: false })))
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut room = self.room.lock().unwrap();
        let count = bytes.len().min(*room);
        if count == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        *room -= count;
        self.bytes.lock().unwrap().extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn adversary_35_a_full_disk_costs_one_warning_and_no_line() {
    for room in 0..=24 {
        let disk = Disk::with_room(room);
        let mut appender = disk.appender();
        for line in ["{\"a\":1}\n", "{\"b\":2}\n", "{\"c\":3}\n"] {
            assert!(appender.append(line.into()));
        }
        let warning = appender.take_warning();
        assert_eq!(warning.is_some(), room < 24, "room {room}");
        assert!(warning.is_none_or(|warning| warning.contains("t.jsonl")));
        disk.give(1000);
        assert!(appender.append("{\"d\":4}\n".into()));
        assert_eq!(appender.take_warning(), None);
        let text = disk.text();
        let whole: Vec<&str> =
            text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).collect();
        let mut unique = whole.clone();
        unique.dedup();
        assert_eq!(unique, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "{\"d\":4}"], "room {room}: {text:?}");
    }
}

#[test]
fn what_waits_for_the_disk_is_bounded() {
    let disk = Disk::with_room(0);
    let mut appender = disk.appender();
    let line = vec![b'x'; 1024 * 1024];
    let kept = (0..20).filter(|_| appender.append(line.clone())).count();
    assert_eq!(kept, PENDING_MAX / line.len());
    assert!(appender.pending_bytes <= PENDING_MAX);
    disk.give(usize::MAX);
    assert!(appender.append(line));
    assert_eq!(appender.pending_bytes, 0);
}

#[test]
fn adversary_34_files_are_private_and_nothing_planted_is_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/new.jsonl");
    let mut appender = Appender::create(&path);
    assert!(!path.parent().unwrap().exists(), "nothing appears before the first line");
    appender.append(b"{}\n".to_vec());
    assert_eq!(appender.take_warning(), None);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&dir.path().join("a")), mode(&dir.path().join("a/b"))), (0o600, 0o700, 0o700));

    let victim = dir.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let (link, folder, pipe) = (dir.path().join("link"), dir.path().join("folder"), dir.path().join("pipe"));
    symlink(&victim, &link).unwrap();
    std::fs::create_dir(&folder).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for planted in [&link, &folder, &pipe] {
        for mut appender in [Appender::create(planted), Appender::resume(planted)] {
            appender.append(b"{}\n".to_vec());
            assert!(appender.take_warning().is_some(), "{}", planted.display());
        }
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_torn_last_line_is_isolated_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    for (before, after) in
        [("{\"a\":1}\n{\"b\"", "{\"a\":1}\n{\"b\"\n{}\n"), ("{\"a\":1}\n", "{\"a\":1}\n{}\n"), ("", "{}\n")]
    {
        std::fs::write(&path, before).unwrap();
        Appender::resume(&path).append(b"{}\n".to_vec());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    }
}

#[test]
fn complaint_20_parallel_writers_never_tear_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    std::thread::scope(|scope| {
        for letter in ["a", "b", "c", "d"] {
            let path = &path;
            scope.spawn(move || {
                let mut appender = Appender::resume(path);
                for _ in 0..100 {
                    assert!(appender.append(format!("{{\"x\":\"{}\"}}\n", letter.repeat(9_000)).into_bytes()));
                }
            });
        }
    });
    let text = std::fs::read_to_string(&path).unwrap();
    // A writer that opens the file in the middle of another's line isolates it: a blank line, no harm.
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 401);
    assert!(lines.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
