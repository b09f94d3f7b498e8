use super::*;
use crate::failure::HttpFacts;
use proptest::prelude::*;

const LIMITS: RetryLimits = RetryLimits {
    max_retries: 10,
    overload_retries: None,
    backoff: Backoff {
        first: Duration::from_millis(500),
        longest: Duration::from_secs(32),
        longest_asked: Duration::from_mins(5),
    },
    watchdog: false,
};

fn http(status: u16, retry_after: Option<u64>) -> Failure {
    let retry_after = retry_after.map(Duration::from_secs);
    Failure::http(
        HttpFacts { status, retry_after, ..HttpFacts::default() },
        b"",
        &crate::failure::Place { host: "h", variable: "V" },
    )
}

fn nth(failures: u32, failure: &Failure) -> RetryDecision {
    decide_retry(FailureCounts { failures, silences: 1, overloads: failures }, &LIMITS, failure, 0.0)
}

#[test]
fn what_may_pass_is_retried_and_nothing_else() {
    for (status, expected) in [
        (408, true),
        (409, true),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (504, true),
        (529, true),
        (302, false),
        (400, false),
        (401, false),
        (402, false),
        (403, false),
        (404, false),
        (413, false),
    ] {
        assert_eq!(matches!(nth(1, &http(status, None)), RetryDecision::Retry(_)), expected, "{status}");
    }
    for (kind, expected) in [
        (FailureKind::Connect, true),
        (FailureKind::NoAnswer, true),
        (FailureKind::Stalled, true),
        (FailureKind::Cut, true),
        (FailureKind::Garbled, true),
        (FailureKind::NoCredential, true),
        (FailureKind::TlsVerify, false),
        (FailureKind::Setup, false),
        (FailureKind::NotAStream, false),
    ] {
        assert_eq!(matches!(nth(1, &Failure::new(kind, "")), RetryDecision::Retry(_)), expected, "{kind:?}");
    }
}

#[test]
fn waits_double_up_to_a_limit_and_then_end() {
    let waits: Vec<RetryDecision> = (1..=11).map(|n| nth(n, &http(529, None))).collect();
    let expected = [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000, 32_000];
    let mut expected: Vec<RetryDecision> =
        expected.iter().map(|ms| RetryDecision::Retry(Duration::from_millis(*ms))).collect();
    expected.push(RetryDecision::GiveUp);
    assert_eq!(waits, expected);
}

#[test]
fn the_server_may_ask_for_more_but_not_for_a_day() {
    let verdict = |seconds| nth(2, &http(429, Some(seconds)));
    assert_eq!(verdict(0), RetryDecision::Retry(Duration::from_secs(1)));
    assert_eq!(verdict(7), RetryDecision::Retry(Duration::from_secs(7)));
    assert_eq!(verdict(300), RetryDecision::Retry(Duration::from_mins(5)));
    assert_eq!(verdict(99_999), RetryDecision::ResetsLater(Duration::from_secs(99_999)));
}

#[test]
fn silence_and_a_waiting_fallback_shorten_the_patience() {
    let stalled = Failure::new(FailureKind::Stalled, "");
    let mut tally = FailureCounts::default();
    for expected in [true, true, false] {
        tally.count(&stalled);
        assert_eq!(matches!(decide_retry(tally, &LIMITS, &stalled, 0.0), RetryDecision::Retry(_)), expected);
    }
    let limits = RetryLimits { overload_retries: Some(1), ..LIMITS };
    let mut tally = FailureCounts::default();
    for (status, expected) in [(529, true), (500, true), (529, true), (529, false)] {
        let failure = http(status, None);
        tally.count(&failure);
        assert_eq!(
            matches!(decide_retry(tally, &limits, &failure, 0.0), RetryDecision::Retry(_)),
            expected,
            "{tally:?}"
        );
    }
}

#[test]
fn headers_in_both_notations() {
    let now: Timestamp = "2026-11-15T07:28:00Z".parse().unwrap();
    for (value, expected) in [
        ("3", Some(3.0)),
        (" 0.5 ", Some(0.5)),
        ("Sun, 15 Nov 2026 07:28:30 GMT", Some(30.0)),
        ("Sun, 15 Nov 2026 07:00:00 GMT", Some(0.0)),
        ("-1", None),
        ("NaN", None),
        ("1e300", None),
        ("soon", None),
    ] {
        assert_eq!(parse_retry_after(value, now).map(|wait| wait.as_secs_f64()), expected, "{value}");
    }
    assert_eq!(parse_reset("2026-11-15T07:28:00Z"), Some(now));
    assert_eq!(parse_reset(&now.as_second().to_string()), Some(now));
    assert_eq!(parse_reset("later"), None);
}

proptest! {
    #[test]
    fn no_wait_is_unbounded(failures in 0u32..5000, asked in prop::option::of(0u64..100_000), jitter in -9.0..9.0f64) {
        let failure = http(429, asked);
        if let RetryDecision::Retry(wait) = decide_retry(FailureCounts { failures, ..FailureCounts::default() }, &LIMITS, &failure, jitter) {
            prop_assert!(wait <= LIMITS.backoff.longest_asked && wait >= Duration::from_millis(375));
        }
    }
}

#[test]
fn the_watchdog_waits_out_limits_and_overloads_and_nothing_else() {
    let limits = RetryLimits { watchdog: true, overload_retries: None, ..LIMITS };
    let late = |failure: &Failure| {
        let tally = FailureCounts { failures: 100_000, silences: 0, overloads: 100_000 };
        decide_retry(tally, &limits, failure, 0.0)
    };
    assert_eq!(late(&http(529, None)), RetryDecision::Retry(Duration::from_secs(32)));
    assert_eq!(late(&http(429, Some(60))), RetryDecision::Retry(Duration::from_mins(1)));
    assert_eq!(late(&http(429, Some(5 * 3600))), RetryDecision::Retry(WATCHDOG_WAIT), "asked again in time");
    assert_eq!(late(&http(500, None)), RetryDecision::GiveUp);
    assert_eq!(late(&http(400, None)), RetryDecision::GiveUp);
    // Where another model stands by, it is used.
    let limits = RetryLimits { overload_retries: Some(3), ..limits };
    let tally = FailureCounts { failures: 4, silences: 0, overloads: 4 };
    assert_eq!(decide_retry(tally, &limits, &http(529, None), 0.0), RetryDecision::GiveUp);
}

#[test]
fn a_credential_is_looked_for_three_times() {
    let failure = Failure::new(FailureKind::NoCredential, "");
    let tries: Vec<bool> = (1..4).map(|failures| matches!(nth(failures, &failure), RetryDecision::Retry(_))).collect();
    assert_eq!(tries, [true, true, false]);
}
