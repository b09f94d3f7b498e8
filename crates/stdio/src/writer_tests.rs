use super::*;
use agent::Writer as _;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter};
use std::os::fd::AsFd as _;

/// A line of an event of a hook, about as long as they are.
fn line(number: usize) -> Vec<u8> {
    format!("{{\"number\":{number:08},\"filler\":\"{}\"}}\n", "x".repeat(1_000)).into_bytes()
}

/// A writer whose reader does nothing until it is asked to.
fn unread() -> (Writer, PipeReader) {
    let (reader, end) = std::io::pipe().unwrap();
    // The thread that writes has it until the process ends.
    let end: &'static PipeWriter = Box::leak(Box::new(end));
    (Writer::to(end.as_fd()).unwrap(), reader)
}

fn numbers(reader: PipeReader, count: usize) -> Vec<usize> {
    let lines = BufReader::new(reader).lines().take(count).map(Result::unwrap);
    let number = |line: String| line.split([':', ',']).nth(1).and_then(|number| number.parse().ok()).unwrap();
    lines.map(number).collect()
}

#[test]
fn lines_that_cannot_wait_are_bounded_while_nobody_reads() {
    let (writer, reader) = unread();
    let many = 3 * (QUEUE_BYTES + URGENT_BYTES) / line(0).len();
    for number in 0..many {
        writer.line_now(line(number));
    }
    let waiting = writer.reader.waiting.load(Ordering::Acquire);
    let bytes = waiting * line(0).len();
    assert!(bytes <= QUEUE_BYTES + URGENT_BYTES + PIPE_BUF, "{bytes} bytes wait");
    assert!(bytes > QUEUE_BYTES, "the second room is used: {bytes} bytes wait");
    assert!(writer.try_line(line(many)).is_some(), "a line that can wait does");
    // What was taken is whole and in order.
    assert_eq!(numbers(reader, waiting), (0..waiting).collect::<Vec<_>>());
}

#[test]
fn lines_are_bounded_in_number_too() {
    let (writer, _reader) = unread();
    for _ in 0..2 * QUEUE_LINES {
        writer.line_now(b"\n".to_vec());
    }
    let waiting = writer.reader.waiting.load(Ordering::Acquire);
    assert!(waiting <= QUEUE_LINES + 1, "{waiting} lines wait");
}

#[tokio::test]
async fn room_that_was_taken_comes_back() {
    let (writer, reader) = unread();
    let mut sent = 0;
    while writer.try_line(line(sent)).is_none() {
        sent += 1;
    }
    writer.line_now(line(sent));
    let read = std::thread::spawn(move || numbers(reader, usize::MAX));
    writer.wait_line(line(sent + 1)).await;
    tokio::time::timeout(DRAIN_PATIENCE, writer.drain()).await.unwrap();
    assert_eq!(writer.rooms.room.available_permits(), QUEUE_BYTES);
    assert_eq!(writer.rooms.urgent.available_permits(), URGENT_BYTES);
    assert!(!read.is_finished());
}

/// Many lines in one write, as the pieces of an answer leave, and single ones between them.
#[test]
fn long_writes_are_whole_and_in_order() {
    const TOGETHER: usize = 40;
    const ROUNDS: usize = 60;
    let (writer, reader) = unread();
    let read = std::thread::spawn(move || numbers(reader, ROUNDS * (TOGETHER + 1)));
    for first in (0..ROUNDS).map(|round| round * (TOGETHER + 1)) {
        let together: Vec<u8> = (first..first + TOGETHER).flat_map(line).collect();
        assert!(writer.try_line(together).is_none() && writer.try_line(line(first + TOGETHER)).is_none());
    }
    assert_eq!(read.join().unwrap(), (0..ROUNDS * (TOGETHER + 1)).collect::<Vec<_>>());
}

/// A write that waited would stop control requests and signals, and here the test.
#[cfg(target_os = "linux")]
#[test]
fn only_an_empty_pipe_takes_a_long_write_at_once() {
    let (writer, mut reader) = unread();
    let size = writer.pipe_size.unwrap();
    assert!(!writer.write_at_once(&vec![b'x'; size + 1]), "never more than it holds");
    assert!(writer.write_at_once(&vec![b'x'; size]));
    assert!(!writer.write_at_once(&vec![b'x'; PIPE_BUF + 1]) && !writer.write_at_once(b"x"), "it is full");
    let mut page = vec![0; PIPE_BUF];
    std::io::Read::read_exact(&mut reader, &mut page).unwrap();
    assert!(!writer.write_at_once(&vec![b'x'; PIPE_BUF + 1]), "it is not empty");
    assert!(writer.write_at_once(&page), "but has room for a short one");
}
