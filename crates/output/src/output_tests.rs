use super::*;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;

/// Keeps every write.
#[derive(Default)]
struct Kept(RefCell<Vec<Vec<u8>>>);

impl Writer for Kept {
    fn try_line(&self, line: Vec<u8>) -> Option<Vec<u8>> {
        self.0.borrow_mut().push(line);
        None
    }

    fn wait_line(&self, _: Vec<u8>) -> LocalBoxFuture<'_, ()> {
        async {}.boxed_local()
    }

    fn line_now(&self, line: Vec<u8>) {
        self.0.borrow_mut().push(line);
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn reader_left(&self) -> LocalBoxFuture<'_, ()> {
        async {}.boxed_local()
    }

    fn drain(&self) -> LocalBoxFuture<'_, ()> {
        async {}.boxed_local()
    }
}

fn pieces(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|n| format!(r#"{{"type":"content_block_delta","index":{n}}}"#)).collect()
}

fn numbers(write: &[u8]) -> Vec<u64> {
    let lines = std::str::from_utf8(write).unwrap().lines();
    lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["event"]["index"].as_u64().unwrap()).collect()
}

#[test]
fn partial_messages_that_come_together_leave_together_and_none_waits() {
    const MANY: usize = 3_000;
    let kept = Rc::new(Kept::default());
    let output = Output::new(OutputFormat::StreamJson, false, "s".into(), Rc::clone(&kept) as Rc<dyn Writer>);
    output.partials(&pieces(0..1), Some(7), true).now_or_never().unwrap();
    assert!(kept.0.borrow().is_empty(), "more follow at once");
    output.partials(&pieces(1..3), None, false).now_or_never().unwrap();
    assert_eq!(kept.0.borrow().len(), 1);
    output.partials(&pieces(3..MANY), None, false).now_or_never().unwrap();
    let writes = kept.0.take();
    assert!(writes.len() > 2 && writes.iter().all(|write| write.ends_with(b"\n") && write.len() <= TOGETHER_MAX));
    assert!(writes.len() < MANY / 100, "{} writes", writes.len());
    let shown: Vec<u64> = writes.iter().flat_map(|write| numbers(write)).collect();
    assert_eq!(shown, (0..MANY as u64).collect::<Vec<_>>());
    let first: Value = serde_json::from_slice(writes[0].split(|&byte| byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(first["ttft_ms"], 7);
    assert_eq!(writes.concat().windows(9).filter(|window| window == b"\"ttft_ms\"").count(), 1);

    output.partials(&["\"".to_owned() + &"x".repeat(2 * TOGETHER_MAX) + "\""], None, false).now_or_never().unwrap();
    let long = kept.0.take();
    assert_eq!(long.len(), 1, "one line is one write, however long");
}
