//! Answers of gRPC: their status, in the head of an answer without a message and in the trailers of one with a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hyper::HeaderMap;
use hyper::body::Body as _;
use std::future::poll_fn;

/// An answer to an export is a message of a few bytes.
const ANSWER_MAX: usize = 64 * 1024;
/// In the details of a status: the collector says when to come back.
const RETRY_INFO: &[u8] = b"google.rpc.RetryInfo";

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Taken,
    /// The same batch may be taken later.
    Busy,
    Refused,
}

impl Delivery {
    pub(crate) fn of_http(status: u16) -> Self {
        match status {
            200..300 => Self::Taken,
            429 | 502..=504 => Self::Busy,
            _ => Self::Refused,
        }
    }

    /// By the status and what is said about it; a status that is no number is `None`.
    fn of_grpc(status: Option<u16>, may_come_back: bool) -> Self {
        match status {
            Some(0) => Self::Taken,
            // Cancelled, late, aborted, out of range, unavailable, data loss.
            Some(1 | 4 | 10 | 11 | 14 | 15) => Self::Busy,
            // Exhausted: by a quota for good, unless the collector says when to come back.
            Some(8) if may_come_back => Self::Busy,
            _ => Self::Refused,
        }
    }
}

/// The delivery that an answer tells of.
pub(crate) async fn delivery(response: reqwest::Response) -> Delivery {
    let status = response.status().as_u16();
    if status != 200 {
        // Something between us and the collector, which does not speak gRPC.
        return Delivery::of_http(status);
    }
    let (head, body) = hyper::Response::<reqwest::Body>::from(response).into_parts();
    match told(&head.headers) {
        Some(delivery) => delivery,
        None => in_trailers(body).await.unwrap_or(Delivery::Refused),
    }
}

async fn in_trailers(body: reqwest::Body) -> Option<Delivery> {
    let mut body = std::pin::pin!(body);
    let mut length = 0;
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        match frame.ok()?.into_trailers() {
            Ok(trailers) => return told(&trailers),
            Err(frame) => length += frame.data_ref().map_or(0, hyper::body::Bytes::len),
        }
        if length > ANSWER_MAX {
            return None;
        }
    }
    None
}

/// `None` where these are not the ones with the status.
fn told(headers: &HeaderMap) -> Option<Delivery> {
    let status = headers.get("grpc-status")?.to_str().ok().and_then(|status| status.parse().ok());
    let details = headers.get("grpc-status-details-bin").and_then(|details| details.to_str().ok());
    let details = details.and_then(|details| STANDARD_NO_PAD.decode(details.trim_end_matches('=')).ok());
    let may_come_back = details.is_some_and(|bytes| bytes.windows(RETRY_INFO.len()).any(|part| part == RETRY_INFO));
    Some(Delivery::of_grpc(status, may_come_back))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_collector_is_asked_again_and_one_that_refuses_is_not() {
        let of = |pairs: &[(&'static str, &str)]| {
            let header = |(name, value): &(&'static str, &str)| {
                (hyper::header::HeaderName::from_static(name), value.parse().unwrap())
            };
            told(&pairs.iter().map(header).collect())
        };
        let status = |code: &str| of(&[("grpc-status", code)]);
        assert_eq!(of(&[("content-type", "application/grpc")]), None);
        assert_eq!(status("0"), Some(Delivery::Taken));
        for code in ["1", "4", "10", "11", "14", "15"] {
            assert_eq!(status(code), Some(Delivery::Busy), "{code}");
        }
        for code in ["2", "3", "5", "6", "7", "8", "9", "12", "13", "16", "17", "-1", "ok", ""] {
            assert_eq!(status(code), Some(Delivery::Refused), "{code}");
        }
        let details = STANDARD_NO_PAD.encode(b"\x08\x08\x1a\x2b\x0a\x27type.googleapis.com/google.rpc.RetryInfo");
        for details in [details.clone(), format!("{details}==")] {
            let told = of(&[("grpc-status", "8"), ("grpc-status-details-bin", &details)]);
            assert_eq!(told, Some(Delivery::Busy), "{details}");
        }
        let told = of(&[("grpc-status", "8"), ("grpc-status-details-bin", "not base64")]);
        assert_eq!(told, Some(Delivery::Refused));
    }

    #[test]
    fn http_statuses_that_pass_are_told_from_those_that_stay() {
        for (status, expected) in [
            (200, Delivery::Taken),
            (202, Delivery::Taken),
            (302, Delivery::Refused),
            (400, Delivery::Refused),
            (401, Delivery::Refused),
            (429, Delivery::Busy),
            (500, Delivery::Refused),
            (502, Delivery::Busy),
            (503, Delivery::Busy),
            (504, Delivery::Busy),
        ] {
            assert_eq!(Delivery::of_http(status), expected, "{status}");
        }
    }
}
