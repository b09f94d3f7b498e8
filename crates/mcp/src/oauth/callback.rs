//! The address on this machine that the browser is sent to when the user has decided.

use super::error::LoginError;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

pub(super) const PATH: &str = "/callback";

/// Of a request's head; a code and a state are short.
const HEAD_MAX: usize = 16 * 1024;

/// For a browser to say what it wants, and to take the page. Something else that connects holds nobody up longer.
const REQUEST: Duration = Duration::from_secs(3);

/// What the browser brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Code(String),
    /// The user or the authorization server said no.
    Denied(String),
}

pub(super) async fn listen(port: Option<u16>) -> Result<(TcpListener, u16), LoginError> {
    let refused = |error: std::io::Error| LoginError::NoCallback(error.to_string());
    let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    Ok((listener, port))
}

/// Waits for the browser. Whatever else connects gets a refusal.
pub(super) async fn wait(listener: &TcpListener, state: &str) -> Answer {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No more descriptors, for example; it may pass.
            tokio::time::sleep(REQUEST).await;
            continue;
        };
        if let Ok(Some(answer)) = timeout(REQUEST, serve(stream, state)).await {
            return answer;
        }
    }
}

async fn serve(mut stream: TcpStream, state: &str) -> Option<Answer> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(&piece[..read]);
        if head.len() > HEAD_MAX {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let answer = head.lines().next().and_then(target).and_then(|target| read(target, state).ok());
    let (status, words) = match &answer {
        Some(Answer::Code(_)) => ("200 OK", "You are logged in. This page can be closed."),
        Some(Answer::Denied(_)) => ("200 OK", "The login was refused. This page can be closed."),
        None => ("404 Not Found", "Nothing is here."),
    };
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{words}",
        words.len()
    );
    // A browser that has gone has brought its answer all the same.
    let _ = stream.write_all(page.as_bytes()).await;
    let _ = stream.shutdown().await;
    answer
}

/// Where a request line leads.
fn target(line: &str) -> Option<&str> {
    line.strip_prefix("GET ")?.split(' ').next()
}

/// Whether an address of the browser belongs to the login with this state.
pub(crate) fn fits(address: &str, state: &str) -> bool {
    read(address, state).is_ok()
}

/// What an address says, where it belongs to the login with this state.
pub(super) fn read(target: &str, state: &str) -> Result<Answer, LoginError> {
    let base = Url::parse("http://127.0.0.1").map_err(|_| LoginError::WrongState)?;
    let address = base.join(target.trim()).map_err(|_| LoginError::WrongState)?;
    let parameter =
        |wanted: &str| address.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
    if address.path() != PATH || parameter("state").as_deref() != Some(state) {
        return Err(LoginError::WrongState);
    }
    if let Some(error) = parameter("error") {
        let about = parameter("error_description").map(|about| format!(": {about}")).unwrap_or_default();
        return Ok(Answer::Denied(format!("{error}{about}").chars().filter(|c| !c.is_control()).take(300).collect()));
    }
    parameter("code").filter(|code| !code.is_empty()).map(Answer::Code).ok_or(LoginError::WrongState)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_this_login_counts() {
        let denied = |words: &str| Ok(Answer::Denied(words.into()));
        for (target, expected) in [
            ("/callback?code=c%2B1&state=s", Ok(Answer::Code("c+1".into()))),
            ("http://127.0.0.1:99/callback?state=s&code=c", Ok(Answer::Code("c".into()))),
            ("/callback?error=access_denied&error_description=no%0Away&state=s", denied("access_denied: noway")),
            ("/callback?code=c&state=other", Err(LoginError::WrongState)),
            ("/callback?code=c", Err(LoginError::WrongState)),
            ("/callback?code=&state=s", Err(LoginError::WrongState)),
            ("/favicon.ico?code=c&state=s", Err(LoginError::WrongState)),
            ("", Err(LoginError::WrongState)),
        ] {
            assert_eq!(read(target, "s"), expected, "{target}");
        }
        assert_eq!(target("GET /callback?x HTTP/1.1"), Some("/callback?x"));
        assert_eq!(target("POST /callback HTTP/1.1"), None);
    }
}
