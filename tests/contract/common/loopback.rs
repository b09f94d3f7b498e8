//! A server of one page on loopback, for what the mock API is not: a proxy, a token endpoint.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A client that says nothing for this long has gone wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request as it came over the wire.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// `POST http://host/path HTTP/1.1`.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Arrived {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub struct Loopback {
    pub address: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Loopback {
    /// Answers every request with the bytes that `answer` makes of it, then closes the connection.
    pub fn start(answer: impl Fn(&Arrived) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let address = listener.local_addr().expect("its address").to_string();
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&arrived);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // A client that breaks off shows in the test by what did not arrive.
                let Some(request) = read(&stream) else { continue };
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
                let _ = stream.write_all(&answer(&request));
            }
        });
        Self { address, arrived }
    }

    /// One file, whatever is asked for.
    pub fn serving(file: Vec<u8>) -> Self {
        Self::start(move |_| {
            let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", file.len());
            [head.as_bytes(), &file].concat()
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Forwards plain requests to where they are addressed; tunnels are refused.
    pub fn proxy() -> Self {
        Self::start(|request| forward(request).unwrap_or_else(|| reply(502, "text/plain", "no tunnels here")))
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub fn reply(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn read(stream: &TcpStream) -> Option<Arrived> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut request = Arrived { line: line.trim_end().to_owned(), headers: Vec::new(), body: Vec::new() };
    loop {
        let mut header = String::new();
        lines.read_line(&mut header).ok().filter(|count| *count > 0)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = request.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
    request.body = vec![0; length];
    lines.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn forward(request: &Arrived) -> Option<Vec<u8>> {
    let mut words = request.line.split(' ');
    let (method, address) = (words.next()?, words.next()?.strip_prefix("http://")?);
    let (host, path) = address.split_once('/')?;
    let mut upstream = TcpStream::connect(host).ok()?;
    let mut head = format!("{method} /{path} HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in request.headers.iter().filter(|(name, _)| name != "connection") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    upstream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    upstream.write_all(&request.body).ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).ok()?;
    Some(answer)
}
