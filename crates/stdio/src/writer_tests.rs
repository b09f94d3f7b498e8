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
