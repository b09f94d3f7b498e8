use super::*;
use cycle::{IterationStarted, Verbatim};
use runner::{Folder, Lock};
use std::io::Write as _;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// For anything that a reader waits for.
const PATIENCE: Duration = Duration::from_secs(20);

struct Recording {
    _dir: tempfile::TempDir,
    found: Found,
    path: PathBuf,
}

fn recording(lines: &[String]) -> Recording {
    let dir = tempfile::tempdir().unwrap();
    let found = Found { at: 0, folder: Folder::new(dir.path()), id: "r1".into() };
    let path = found.folder.events("r1");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, lines.concat()).unwrap();
    Recording { _dir: dir, found, path }
}

fn line(kind: EventKind) -> String {
    format!("{}\n", kind.at(1).to_line())
}

fn started(iteration: u32) -> String {
    let start =
        IterationStarted { iteration, attempt: 1, model: "m".into(), session: None, strategy: None, prompt_chars: 1 };
    line(EventKind::IterationStarted(start))
}

fn said(iteration: u32, text: &str) -> String {
    let message = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}});
    line(EventKind::Agent { iteration, line: Verbatim::new(&message.to_string()) })
}

/// All ids of a stream, up to its end.
async fn ids(tails: &Tails, recording: &Recording, from: Position, derived: bool) -> Vec<String> {
    let reader = tails.reader(&recording.found, cycle::unpriced, from, derived);
    let (sender, mut received) = mpsc::channel(1);
    let sending = tokio::spawn(reader.send_all(EventSender::new(sender)));
    let mut text = String::new();
    while let Some(bytes) = tokio::time::timeout(PATIENCE, received.recv()).await.expect("an event in time") {
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    sending.await.unwrap().unwrap();
    assert!(text.contains("event: end\n"), "{text}");
    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

fn numbers(lines: impl Iterator<Item = u64>) -> Vec<String> {
    lines.map(|seq| seq.to_string()).collect()
}

#[tokio::test]
async fn a_recording_that_is_longer_than_the_window_reaches_every_reader_whole() {
    let text = "x".repeat(20_000);
    let mut all = Vec::new();
    for iteration in 1..=6 {
        all.push(started(iteration));
        all.extend((0..60).map(|_| said(iteration, &text)));
    }
    let recording = recording(&all);
    let last = all.len() as u64;
    let tails = Tails::default();
    let (first, second, third) = tokio::join!(
        ids(&tails, &recording, (1, 0), false),
        ids(&tails, &recording, (1, 0), false),
        ids(&tails, &recording, (last - 3, 0), false),
    );
    assert_eq!(first, numbers(1..=last));
    assert_eq!(second, first);
    assert_eq!(third, numbers(last - 3..=last));
}

#[tokio::test]
async fn what_is_written_while_readers_listen_reaches_all_of_them_once() {
    let recording = recording(&[started(1), said(1, "one")]);
    let lock = Lock::take(&recording.found.folder, "process 1, run r1").unwrap();
    let tails = Tails::default();
    let writing = async {
        let mut file = std::fs::OpenOptions::new().append(true).open(&recording.path).unwrap();
        for text in ["two", "three", "four"] {
            tokio::time::sleep(LOOK).await;
            // A line that comes in two parts is one event.
            let line = said(1, text);
            let (head, rest) = line.split_at(line.len() / 2);
            file.write_all(head.as_bytes()).unwrap();
            tokio::time::sleep(LOOK * 2).await;
            file.write_all(rest.as_bytes()).unwrap();
        }
        drop(lock);
    };
    let (first, second, ()) =
        tokio::join!(ids(&tails, &recording, (1, 0), true), ids(&tails, &recording, (2, 2), true), writing);
    assert_eq!(first, ["1.0", "2.1", "3.1", "4.1", "5.1"]);
    assert_eq!(second, ["3.1", "4.1", "5.1"]);
}

#[tokio::test]
async fn many_readers_share_one_tail_which_ends_with_the_last_of_them() {
    let recording = recording(&[started(1)]);
    let _lock = Lock::take(&recording.found.folder, "process 1, run r1").unwrap();
    let tails = Tails::default();
    let readers: Vec<TailReader> =
        (0..100).map(|_| tails.reader(&recording.found, cycle::unpriced, (1, 0), true)).collect();
    assert!(readers.iter().all(|reader| Arc::ptr_eq(&reader.tail, &readers[0].tail)));
    let tail = Arc::downgrade(&readers[0].tail);
    drop(readers);
    assert!(tail.upgrade().is_none(), "the task holds no tail while it waits");
    let again = tails.reader(&recording.found, cycle::unpriced, (1, 0), true);
    assert_eq!((Arc::strong_count(&again.tail), tails.all.lock().unwrap().len()), (1, 1));
}

#[tokio::test]
async fn a_recording_that_is_gone_ends_the_stream() {
    let recording = recording(&[]);
    std::fs::remove_file(&recording.path).unwrap();
    assert_eq!(ids(&Tails::default(), &recording, (1, 0), true).await, Vec::<String>::new());
}
