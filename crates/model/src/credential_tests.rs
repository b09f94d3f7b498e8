use super::*;
use cloud::world::{Command, HttpRequest, HttpResponse, WorldError};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Mutex as Plain;
use std::time::Duration;

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A world whose only source is a command: what it prints in turn, and what time it is.
struct Played {
    printed: Plain<VecDeque<Option<String>>>,
    now: Plain<Timestamp>,
    runs: Plain<usize>,
    variables: Vec<(&'static str, &'static str)>,
}

impl CloudEnvironment for Played {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn home(&self) -> PathBuf {
        "/home/u".into()
    }

    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn read(&self, _: &Path) -> Result<Option<String>, WorldError> {
        Ok(None)
    }

    fn send(&self, _: HttpRequest) -> Answer<'_, Result<HttpResponse, WorldError>> {
        Box::pin(async { Err(WorldError("nobody is there".into())) })
    }

    fn run(&self, _: Command, _: Duration) -> Answer<'_, Result<String, WorldError>> {
        *self.runs.lock().unwrap() += 1;
        let printed = self.printed.lock().unwrap().pop_front().flatten();
        Box::pin(async move {
            // Who asks at the same time waits for this one.
            tokio::task::yield_now().await;
            printed.ok_or_else(|| WorldError("exit code 1".into()))
        })
    }

    fn sleep(&self, _: Duration) -> Answer<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn warn(&self, _: &str) {}
}

fn keys(id: &str, expires: &str) -> String {
    format!(r#"{{"AccessKeyId":"{id}","SecretAccessKey":"s","Expiration":"{expires}"}}"#)
}

fn played(printed: &[Option<String>], variables: &[(&'static str, &'static str)]) -> (Arc<Played>, CloudCredentials) {
    let world = Arc::new(Played {
        printed: Plain::new(printed.iter().cloned().collect()),
        now: Plain::new("2026-11-15T12:00:00Z".parse().unwrap()),
        runs: Plain::default(),
        variables: variables.to_vec(),
    });
    let aws = AwsSettings { export: Some("give-keys".into()), refresh: None };
    let settings = CredentialSettings { aws, gcp_refresh: None };
    (Arc::clone(&world), CloudCredentials::new(world, settings))
}

async fn used(credentials: &CloudCredentials, refused: Option<Refused>) -> (String, u64) {
    let plan = AuthPlan::SigV4 { service: "bedrock", region: "us-east-1".into() };
    match credentials.credential(&plan, refused).await {
        Ok((Credential::Keys(keys), number)) => (keys.access_key_id, number),
        Ok(_) => ("a token".into(), 0),
        Err(error) => (error.to_string(), 0),
    }
}

fn at(world: &Played, time: &str) {
    *world.now.lock().unwrap() = format!("2026-11-15T{time}Z").parse().unwrap();
}

const METADATA_OFF: (&str, &str) = ("AWS_EC2_METADATA_DISABLED", "1");

#[tokio::test]
async fn a_credential_is_renewed_before_its_end_and_kept_where_that_fails() {
    let printed = [Some(keys("ONE", "2026-11-15T13:00:00Z")), None, Some(keys("TWO", "2026-11-15T14:00:00Z")), None];
    let (world, credentials) = played(&printed, &[METADATA_OFF]);
    assert_eq!(used(&credentials, None).await.0, "ONE");
    at(&world, "12:54:59");
    assert_eq!((used(&credentials, None).await.0.as_str(), *world.runs.lock().unwrap()), ("ONE", 1));
    at(&world, "12:55:00");
    assert_eq!((used(&credentials, None).await.0.as_str(), *world.runs.lock().unwrap()), ("ONE", 2), "still good");
    at(&world, "12:55:10");
    assert_eq!((used(&credentials, None).await.0.as_str(), *world.runs.lock().unwrap()), ("ONE", 2), "not hammered");
    at(&world, "12:55:40");
    assert_eq!(used(&credentials, None).await.0, "TWO");
    at(&world, "14:00:00");
    assert!(used(&credentials, None).await.0.contains("no AWS credentials found"), "over is over");
}

#[tokio::test]
async fn requests_that_are_refused_together_search_once() {
    let printed = [Some(keys("ONE", "2026-11-15T13:00:00Z")), Some(keys("TWO", "2026-11-15T13:00:00Z")), None];
    let (world, credentials) = played(&printed, &[METADATA_OFF]);
    let (_, number) = used(&credentials, None).await;
    let refused = Some(Refused { number, is_over: true });
    let (first, second) = tokio::join!(used(&credentials, refused), used(&credentials, refused));
    assert_eq!((first.0.as_str(), second.0.as_str(), *world.runs.lock().unwrap()), ("TWO", "TWO", 2));
}

#[tokio::test]
async fn a_refused_credential_is_not_used_again() {
    let (_, credentials) = played(&[Some(keys("ONE", "2026-11-15T13:00:00Z")), None], &[METADATA_OFF]);
    let (_, number) = used(&credentials, None).await;
    let again = used(&credentials, Some(Refused { number, is_over: true })).await;
    assert!(again.0.contains("no AWS credentials found"), "{again:?}");
}

#[tokio::test]
async fn keys_are_kept_unless_the_user_says_otherwise() {
    for (variable, runs) in [(("CLAUDE_CODE_SKIP_AWS_CRED_CACHE", "1"), 2), (METADATA_OFF, 1)] {
        let printed = [Some(keys("ONE", "2026-11-15T13:00:00Z")), Some(keys("TWO", "2026-11-15T13:00:00Z"))];
        let (world, credentials) = played(&printed, &[variable]);
        used(&credentials, None).await;
        used(&credentials, None).await;
        assert_eq!(*world.runs.lock().unwrap(), runs, "{variable:?}");
    }
}
