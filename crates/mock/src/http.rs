//! As much HTTP/1.1 as a Messages API needs: bodies by length or in chunks, connections that stay open.

use crate::reply::{End, Framing, Reply};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Request line and headers together; real ones are well under a kilobyte.
const HEAD_MAX: u64 = 64 * 1024;

/// The real API refuses more than 32 MB; twice that lets a test see its own refusal.
const BODY_MAX: usize = 64 * 1024 * 1024;

/// Pieces of an answer without `chunk_bytes`: large enough to be fast, small enough to be a stream.
const CHUNK_BYTES: usize = 16 * 1024;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub(crate) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// The next request, or `None` once the client has closed.
pub(crate) async fn read_request<S>(stream: &mut S) -> io::Result<Option<Request>>
where
    S: AsyncBufRead + AsyncWrite + Unpin,
{
    let Some(mut request) = read_head(stream).await? else { return Ok(None) };
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        stream.flush().await?;
    }
    let chunked = request.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    request.body = if chunked {
        read_chunks(stream).await?
    } else {
        let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(|_| bad("content-length"))?;
        read_exactly(stream, length).await?
    };
    Ok(Some(request))
}

async fn read_head<S: AsyncBufRead + Unpin>(stream: &mut S) -> io::Result<Option<Request>> {
    let mut head = stream.take(HEAD_MAX);
    let mut request = Request::default();
    let mut line = String::new();
    loop {
        line.clear();
        if head.read_line(&mut line).await? == 0 {
            return if request.method.is_empty() && head.limit() > 0 { Ok(None) } else { Err(bad("head")) };
        }
        let text = line.trim_end_matches(['\r', '\n']);
        match (request.method.is_empty(), text.is_empty()) {
            // Blank lines between requests are allowed.
            (true, true) => {}
            (true, false) => {
                let mut words = text.split(' ');
                let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(bad("request line")) };
                request.method = method.into();
                request.path = path.into();
            }
            (false, true) => return Ok(Some(request)),
            (false, false) => {
                let (name, value) = text.split_once(':').ok_or_else(|| bad("header"))?;
                request.headers.push((name.trim().to_ascii_lowercase(), value.trim().into()));
            }
        }
    }
}

async fn read_chunks<S: AsyncBufRead + Unpin>(stream: &mut S) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        (&mut *stream).take(HEAD_MAX).read_line(&mut line).await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("chunk size"))?;
        if size > BODY_MAX - body.len() {
            return Err(bad("body length"));
        }
        body.extend(read_exactly(stream, size).await?);
        let mut end = String::new();
        (&mut *stream).take(HEAD_MAX).read_line(&mut end).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

async fn read_exactly<S: AsyncRead + Unpin>(stream: &mut S, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_MAX {
        return Err(bad("body length"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the request's {what} cannot be read"))
}

/// Writes the answer with its delays. `true` if the connection may carry another request.
pub(crate) async fn write_reply<S>(stream: &mut S, reply: &Reply) -> io::Result<bool>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    tokio::time::sleep(reply.delay).await;
    stream.write_all(head(reply).as_bytes()).await?;
    stream.flush().await?;
    let (size, pause) = reply.chunks.unwrap_or((CHUNK_BYTES, std::time::Duration::ZERO));
    for piece in reply.bytes.chunks(size) {
        write_piece(stream, piece, reply.framing).await?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    match reply.end {
        End::Finish => {
            if reply.framing == Framing::Chunked {
                stream.write_all(b"0\r\n\r\n").await?;
                stream.flush().await?;
            }
            Ok(true)
        }
        End::Cut | End::Reset => Ok(false),
        End::Stall => {
            // Only the client can end this: by closing, or by sending what nobody answers.
            let mut ignored = [0; 512];
            while stream.read(&mut ignored).await? > 0 {}
            Ok(false)
        }
    }
}

fn head(reply: &Reply) -> String {
    let mut lines = vec![format!("HTTP/1.1 {} Scripted", reply.status)];
    lines.extend(reply.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.push(match reply.framing {
        Framing::Length(length) => format!("content-length: {length}"),
        Framing::Chunked => "transfer-encoding: chunked".into(),
    });
    lines.join("\r\n") + "\r\n\r\n"
}

/// One write a piece, so that what the script calls a chunk arrives as one.
async fn write_piece<S: AsyncWrite + Unpin>(stream: &mut S, piece: &[u8], framing: Framing) -> io::Result<()> {
    if framing == Framing::Chunked {
        let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
        framed.extend_from_slice(piece);
        framed.extend_from_slice(b"\r\n");
        stream.write_all(&framed).await?;
    } else {
        stream.write_all(piece).await?;
    }
    stream.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufStream;

    async fn parse(bytes: &[u8]) -> io::Result<Option<Request>> {
        let (mut client, server) = tokio::io::duplex(256 * 1024);
        client.write_all(bytes).await?;
        client.shutdown().await?;
        read_request(&mut BufStream::new(server)).await
    }

    #[tokio::test]
    async fn bodies_come_by_length_and_in_chunks() {
        for bytes in [
            "POST /v1/messages HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            "\r\nPOST /v1/messages HTTP/1.1\nContent-Length:5\n\nhello",
            "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        ] {
            let request = parse(bytes.as_bytes()).await.unwrap().unwrap();
            assert_eq!((&*request.path, &*request.body), ("/v1/messages", &b"hello"[..]), "{bytes:?}");
        }
        assert_eq!(parse(b"").await.unwrap(), None);
    }

    #[tokio::test]
    async fn nonsense_is_an_error_and_bounded() {
        let endless = [b"GET / HTTP/1.1\r\nx: ".as_slice(), &b"a".repeat(HEAD_MAX as usize)].concat();
        for bytes in [
            b"GET".as_slice(),
            b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhi",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            &endless,
        ] {
            assert!(parse(bytes).await.is_err(), "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]));
        }
    }
}
