//! The event-stream format of AWS: binary frames with headers, a payload and two checksums.
//!
//! The decoder takes bytes in any pieces and gives whole frames. A frame whose checksum is wrong, or that is
//! longer than the bound, is an error after which nothing more is read: what follows cannot be trusted.

/// A frame of the model's stream holds one event; the service's own limit is 16 MiB.
pub const FRAME_MAX: usize = 16 * 1024 * 1024;
/// The service's limit for all headers of one frame.
const HEADERS_MAX: usize = 128 * 1024;
/// Total length, length of the headers, checksum of both.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of the event stream claims {0} bytes")]
    Length(usize),
    #[error("a frame's headers claim {0} bytes")]
    HeaderLength(usize),
    #[error("the checksum of a frame's beginning is wrong")]
    PreludeChecksum,
    #[error("the checksum of a frame is wrong")]
    Checksum,
    #[error("a frame's headers cannot be read")]
    Headers,
    #[error("the event stream ends in the middle of a frame")]
    Cut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderValue {
    Bool(bool),
    Int(i64),
    Bytes(Vec<u8>),
    Text(String),
    /// Milliseconds since 1970.
    Timestamp(i64),
    Uuid([u8; 16]),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    pub headers: Vec<(String, HeaderValue)>,
    pub payload: Vec<u8>,
}

impl Frame {
    /// A header that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|(header, value)| match value {
            HeaderValue::Text(text) if header == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// The frame as it stands on the wire, for servers that play the API.
    pub fn encode(&self) -> Vec<u8> {
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            encode_header(&mut headers, name, value);
        }
        let total = PRELUDE + headers.len() + self.payload.len() + CHECKSUM;
        let mut out = Vec::with_capacity(total);
        out.extend((total as u32).to_be_bytes());
        out.extend((headers.len() as u32).to_be_bytes());
        out.extend(crc32fast::hash(&out).to_be_bytes());
        out.extend(headers);
        out.extend_from_slice(&self.payload);
        out.extend(crc32fast::hash(&out).to_be_bytes());
        out
    }
}

/// Collects bytes and cuts frames off their front.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the front that were given out already; removed when more bytes come.
    used: usize,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame; `None` while it is not complete.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.used..];
        let Some(prelude) = rest.get(..PRELUDE) else { return Ok(None) };
        let total = number(&prelude[..4]);
        let headers = number(&prelude[4..8]);
        if crc32fast::hash(&prelude[..8]) as usize != number(&prelude[8..]) {
            return Err(FrameError::PreludeChecksum);
        }
        if !(PRELUDE + CHECKSUM..=FRAME_MAX).contains(&total) {
            return Err(FrameError::Length(total));
        }
        if headers > HEADERS_MAX || PRELUDE + headers + CHECKSUM > total {
            return Err(FrameError::HeaderLength(headers));
        }
        let Some(frame) = rest.get(..total) else { return Ok(None) };
        let (content, checksum) = frame.split_at(total - CHECKSUM);
        if crc32fast::hash(content) as usize != number(checksum) {
            return Err(FrameError::Checksum);
        }
        let (headers, payload) = content[PRELUDE..].split_at(headers);
        let frame = Frame { headers: decode_headers(headers)?, payload: payload.to_vec() };
        self.used += total;
        Ok(Some(frame))
    }

    /// At the end of the stream: no half frame may be left.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.used == self.buffer.len() { Ok(()) } else { Err(FrameError::Cut) }
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte))
}

fn signed<const N: usize>(bytes: [u8; N]) -> i64 {
    let start: i64 = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
    bytes.iter().fold(start, |sum, byte| (sum << 8) | i64::from(*byte))
}

fn decode_headers(bytes: &[u8]) -> Result<Vec<(String, HeaderValue)>, FrameError> {
    let mut rest = Rest(bytes);
    let mut headers = Vec::new();
    while !rest.0.is_empty() {
        let length = usize::from(rest.array::<1>()?[0]);
        let name = rest.text(length)?;
        headers.push((name, rest.value()?));
    }
    Ok(headers)
}

/// What of the headers is not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], FrameError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(FrameError::Headers)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        self.take(N)?.try_into().map_err(|_| FrameError::Headers)
    }

    fn text(&mut self, count: usize) -> Result<String, FrameError> {
        String::from_utf8(self.take(count)?.to_vec()).map_err(|_| FrameError::Headers)
    }

    fn value(&mut self) -> Result<HeaderValue, FrameError> {
        Ok(match self.array::<1>()?[0] {
            0 => HeaderValue::Bool(true),
            1 => HeaderValue::Bool(false),
            2 => HeaderValue::Int(signed(self.array::<1>()?)),
            3 => HeaderValue::Int(signed(self.array::<2>()?)),
            4 => HeaderValue::Int(signed(self.array::<4>()?)),
            5 => HeaderValue::Int(signed(self.array::<8>()?)),
            6 => {
                let length = number(&self.array::<2>()?);
                HeaderValue::Bytes(self.take(length)?.to_vec())
            }
            7 => {
                let length = number(&self.array::<2>()?);
                HeaderValue::Text(self.text(length)?)
            }
            8 => HeaderValue::Timestamp(signed(self.array::<8>()?)),
            9 => HeaderValue::Uuid(self.array()?),
            _ => return Err(FrameError::Headers),
        })
    }
}

/// Numbers are written in the widest form, which every reader takes.
fn encode_header(out: &mut Vec<u8>, name: &str, value: &HeaderValue) {
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    match value {
        HeaderValue::Bool(true) => out.push(0),
        HeaderValue::Bool(false) => out.push(1),
        HeaderValue::Int(number) => {
            out.push(5);
            out.extend(number.to_be_bytes());
        }
        HeaderValue::Bytes(bytes) => with_length(out, 6, bytes),
        HeaderValue::Text(text) => with_length(out, 7, text.as_bytes()),
        HeaderValue::Timestamp(millis) => {
            out.push(8);
            out.extend(millis.to_be_bytes());
        }
        HeaderValue::Uuid(bytes) => {
            out.push(9);
            out.extend(bytes);
        }
    }
}

fn with_length(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend((bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
#[path = "event_stream_tests.rs"]
mod tests;
