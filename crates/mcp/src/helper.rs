//! `headersHelper`: a command that tells the headers of a remote server, asked anew for every connection because what
//! it tells may be a token that ages.
//!
//! Deliberately absent: whether it may run at all. Who reads a configuration knows whom it comes from.

use crate::config::{ServerConfig, Transport};
use crate::deps::Deps;
use serde_json::Value;
use std::time::Duration;

/// It may ask a key ring or an identity provider; one that hangs must not use up the server's time.
const DEADLINE: Duration = Duration::from_secs(10);
/// Headers are small.
const OUTPUT_MAX: usize = 64 * 1024;
const GRACE: Duration = Duration::from_millis(200);

/// What went wrong with a helper.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelperError {
    #[error("did not start: {0}")]
    Start(#[from] process::SpawnError),
    #[error("did not answer within {} s", DEADLINE.as_secs())]
    Slow,
    /// What it printed may hold secrets, so only its exit is told.
    #[error("failed ({})", .0.map_or("killed".into(), |code| format!("exit {code}")))]
    Exit(Option<i32>),
    #[error("must print a JSON object of texts, such as {{\"Authorization\":\"Bearer …\"}}")]
    Output,
}

/// The headers for one connection: those of the entry, and over them what its helper says.
pub(crate) async fn headers(config: &ServerConfig, deps: &Deps) -> Result<Vec<(String, String)>, HelperError> {
    let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &config.transport else {
        return Ok(Vec::new());
    };
    let mut headers = headers.clone();
    if let Some(command) = &config.headers_helper {
        let told = ask(command, &config.name, url, deps).await?;
        headers.retain(|(name, _)| !told.iter().any(|(over, _)| over.eq_ignore_ascii_case(name)));
        headers.extend(told);
    }
    Ok(headers)
}

async fn ask(command: &str, name: &str, url: &str, deps: &Deps) -> Result<Vec<(String, String)>, HelperError> {
    let mut env = deps.env.clone();
    let marks = [("CLAUDE_CODE_MCP_SERVER_NAME", name), ("CLAUDE_CODE_MCP_SERVER_URL", url)];
    env.retain(|(known, _)| !marks.iter().any(|(mark, _)| known == mark));
    env.extend(marks.map(|(mark, value)| (mark.into(), value.into())));
    let spec = process::Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        cwd: deps.cwd.clone(),
        env,
        stdin: process::Stdin::Null,
        output: process::Output::Pipes,
        arg0: None,
    };
    let limits = process::CaptureLimits { deadline: DEADLINE, max_output: OUTPUT_MAX, grace: GRACE };
    let done = process::capture(spec, limits).await?;
    match done.exit.code {
        _ if done.timed_out => Err(HelperError::Slow),
        Some(0) => read(&done.stdout),
        code => Err(HelperError::Exit(code)),
    }
}

fn read(printed: &[u8]) -> Result<Vec<(String, String)>, HelperError> {
    let told: Value = serde_json::from_slice(printed).map_err(|_| HelperError::Output)?;
    let pairs = told.as_object().ok_or(HelperError::Output)?.iter();
    pairs.map(|(name, value)| Ok((name.clone(), value.as_str().ok_or(HelperError::Output)?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_a_map_of_texts_and_nothing_else() {
        let good = read(br#" {"Authorization":"Bearer x","X-A":""} "#).unwrap();
        assert_eq!(good, [("Authorization".into(), "Bearer x".into()), ("X-A".into(), String::new())]);
        for bad in ["", "x", "[]", "\"x\"", r#"{"a":1}"#, r#"{"a":null}"#, r#"{"a":"b"} c"#] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
