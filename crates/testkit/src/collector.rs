//! A collector of OpenTelemetry on loopback: takes OTLP as JSON, as protobuf and over gRPC, and keeps what came.

use crate::otlp;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A client that says nothing for this long has gone wrong.
const PATIENCE: Duration = Duration::from_secs(20);
/// How HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The head of a frame of HTTP/2, and the kinds that matter here.
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
/// `:status: 200`, as HPACK writes it.
const STATUS_OK: &[u8] = &[0x88];
/// The status of a batch that is not understood.
const INVALID_ARGUMENT: u8 = 3;
/// The length and the mark before a message of gRPC.
const GRPC_HEAD: usize = 5;
/// A batch is never this large, also not after it was unpacked.
const BATCH_MAX: u64 = 64 * 1024 * 1024;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Takes,
    /// Every request is refused with this status.
    Refuses(u16),
    /// No request is ever answered.
    Hangs,
    /// gRPC: this status stands in the head of an answer without a message.
    StatusInHead(u8),
    /// gRPC: this status stands in the trailers.
    StatusInTrailers(u8),
}

/// One batch as it came.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The request's first line; empty for gRPC.
    pub line: String,
    /// Names in lower case; none for gRPC.
    pub headers: Vec<(String, String)>,
    /// Whether it was packed with gzip.
    pub is_packed: bool,
    /// Unpacked.
    pub bytes: Vec<u8>,
    /// As OTLP in JSON. Null where the bytes are none.
    pub body: Value,
}

impl Batch {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub struct Collector {
    url: String,
    batches: Arc<Mutex<Vec<Batch>>>,
}

impl Collector {
    pub fn start(manner: Manner) -> std::io::Result<Self> {
        Self::start_behind("http", manner, Some)
    }

    /// The same behind a layer of the test's own, such as TLS.
    pub fn start_behind<S: Read + Write>(
        scheme: &str,
        manner: Manner,
        layer: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("{scheme}://{}", listener.local_addr()?);
        let batches: Arc<Mutex<Vec<Batch>>> = Arc::default();
        let (kept, layer) = (Arc::clone(&batches), Arc::new(layer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, layer) = (Arc::clone(&kept), Arc::clone(&layer));
                // A client that breaks off shows in the test by what did not arrive.
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(PATIENCE)).ok()?;
                    serve(layer(stream)?, manner, &kept)
                });
            }
        });
        Ok(Self { url, batches })
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    pub fn batches(&self) -> Vec<Batch> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All log records, in the order of their arrival.
    pub fn logs(&self) -> Vec<Value> {
        self.all(["resourceLogs", "scopeLogs", "logRecords"])
    }

    pub fn spans(&self) -> Vec<Value> {
        self.all(["resourceSpans", "scopeSpans", "spans"])
    }

    pub fn metrics(&self) -> Vec<Value> {
        self.all(["resourceMetrics", "scopeMetrics", "metrics"])
    }

    fn all(&self, path: [&str; 3]) -> Vec<Value> {
        let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
        let resources = self.batches().into_iter().flat_map(|batch| list(&batch.body, path[0]));
        let scopes = resources.flat_map(|resource| list(&resource, path[1]));
        scopes.flat_map(|scope| list(&scope, path[2])).collect()
    }
}

fn serve(mut stream: impl Read + Write, manner: Manner, kept: &Mutex<Vec<Batch>>) -> Option<()> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        if bytes.starts_with(PREFACE) {
            return grpc(stream, bytes.split_off(PREFACE.len()), manner, kept);
        }
        if let Some((batch, length)) = http(&bytes) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
            bytes.drain(..length);
            match manner {
                Manner::Takes | Manner::StatusInHead(_) | Manner::StatusInTrailers(_) => {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
                }
                Manner::Refuses(status) => {
                    stream.write_all(format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n").as_bytes()).ok()?;
                }
                Manner::Hangs => {}
            }
        }
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// A whole request, and its length.
fn http(bytes: &[u8]) -> Option<(Batch, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let pair =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
    let mut batch = Batch { line, headers, is_packed: false, bytes: Vec::new(), body: Value::Null };
    let length: usize = batch.header("content-length")?.parse().ok()?;
    let sent = bytes.get(end..end + length)?.to_vec();
    batch.is_packed = batch.header("content-encoding") == Some("gzip");
    batch.bytes = if batch.is_packed { unpacked(&sent).unwrap_or_default() } else { sent };
    batch.body = match batch.header("content-type") {
        Some("application/json") => serde_json::from_slice(&batch.bytes).unwrap_or_default(),
        Some("application/x-protobuf") => {
            let signal = ["traces", "logs", "metrics"].into_iter().find(|signal| batch.line.contains(signal));
            signal.and_then(|signal| otlp::decode(signal, &batch.bytes)).unwrap_or_default()
        }
        _ => Value::Null,
    };
    Some((batch, end + length))
}

/// As much of HTTP/2 as one call of gRPC needs: the body of each stream, and an answer when it ends.
fn grpc(mut stream: impl Read + Write, mut bytes: Vec<u8>, manner: Manner, kept: &Mutex<Vec<Batch>>) -> Option<()> {
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).ok()?;
    let mut bodies: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        while let Some((kind, flags, id, payload)) = take_frame(&mut bytes) {
            match kind {
                SETTINGS if flags & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, &[])).ok()?,
                PING if flags & ACK == 0 => stream.write_all(&frame(PING, ACK, 0, &payload)).ok()?,
                DATA => match bodies.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, body)) => body.extend_from_slice(&payload),
                    None => bodies.push((id, payload)),
                },
                _ => {}
            }
            if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
                let at = bodies.iter().position(|(known, _)| *known == id)?;
                let (_, body) = bodies.remove(at);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(message(&body));
                match manner {
                    Manner::Takes => stream.write_all(&answer(id, 0)).ok()?,
                    Manner::Refuses(_) => stream.write_all(&answer(id, INVALID_ARGUMENT)).ok()?,
                    Manner::StatusInTrailers(status) => stream.write_all(&answer(id, status)).ok()?,
                    Manner::StatusInHead(status) => stream.write_all(&answer_without_message(id, status)).ok()?,
                    Manner::Hangs => {}
                }
            }
        }
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// The batch of a message. Which signal it is follows from what can be read as what.
fn message(body: &[u8]) -> Batch {
    let is_packed = body.first() == Some(&1);
    let sent = body.get(GRPC_HEAD..).unwrap_or_default();
    let bytes = if is_packed { unpacked(sent).unwrap_or_default() } else { sent.to_vec() };
    let read = |signal: &&str| otlp::decode(signal, &bytes);
    let found = ["traces", "logs", "metrics"].iter().find_map(read).unwrap_or_default();
    Batch { line: String::new(), headers: Vec::new(), is_packed, bytes, body: found }
}

/// `None` where the bytes are not gzip.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(bytes).take(BATCH_MAX).read_to_end(&mut whole).ok()?;
    Some(whole)
}

/// An empty answer with its status in the trailers.
fn answer(id: u32, status: u8) -> Vec<u8> {
    [
        frame(HEADERS, END_HEADERS, id, STATUS_OK),
        frame(DATA, 0, id, &[0; GRPC_HEAD]),
        frame(HEADERS, END_HEADERS | END_STREAM, id, &grpc_status(status)),
    ]
    .concat()
}

fn answer_without_message(id: u32, status: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, id, &[STATUS_OK, &grpc_status(status)].concat())
}

/// A header of HPACK that is not put into its table. Both lengths are below 127.
fn grpc_status(status: u8) -> Vec<u8> {
    let (name, value) = ("grpc-status", status.to_string());
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    [&length[1..], &[kind, flags], &id.to_be_bytes(), payload].concat()
}

fn take_frame(bytes: &mut Vec<u8>) -> Option<(u8, u8, u32, Vec<u8>)> {
    let head = bytes.get(..FRAME_HEAD)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let (kind, flags) = (head[3], head[4]);
    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
    let payload = bytes.get(FRAME_HEAD..FRAME_HEAD + length)?.to_vec();
    bytes.drain(..FRAME_HEAD + length);
    Some((kind, flags, id, payload))
}
