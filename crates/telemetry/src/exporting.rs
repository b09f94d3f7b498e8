//! The work beside a run: exports by their intervals, scrapes, headers that age; and the last export.

use crate::prometheus;
use crate::telemetry::Telemetry;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Between a failure of the helper and the one time that it is asked again.
const SECOND_TRY: Duration = Duration::from_secs(1);

/// Why the helper has no headers for us. What it printed may hold secrets, so it is not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HelperError {
    #[error("{0}")]
    Failed(String),
    #[error("its output is no JSON object of texts")]
    NotHeaders,
}

/// What the helper printed.
pub type Printed = Pin<Box<dyn Future<Output = Result<String, HelperError>> + Send>>;

/// The user's command that says which headers are sent. The caller runs it, and says where it failed.
pub struct HeadersHelper {
    pub run: Box<dyn Fn() -> Printed + Send + Sync>,
    pub warn: fn(&str),
}

impl HeadersHelper {
    async fn ask(&self) -> Result<Vec<(String, String)>, HelperError> {
        headers(&(self.run)().await?)
    }

    /// Without an answer nothing is exported, which is said once.
    fn settle(&self, telemetry: &Telemetry, answer: Result<Vec<(String, String)>, HelperError>) -> bool {
        if let Err(error) = &answer {
            (self.warn)(&format!("warning: otelHeadersHelper: {error}; nothing is exported."));
        }
        let is_good = answer.is_ok();
        telemetry.set_headers(answer.ok());
        is_good
    }

    /// Asks, and again whenever the answer has aged. A session that ends takes its children with it, this one as well, so
    /// the first failure is not believed.
    async fn keep_asking(&self, telemetry: &Telemetry) {
        loop {
            let mut answer = self.ask().await;
            if answer.is_err() {
                tokio::time::sleep(SECOND_TRY).await;
                answer = self.ask().await;
            }
            if !self.settle(telemetry, answer) {
                return;
            }
            tokio::time::sleep(telemetry.headers_age()).await;
        }
    }
}

fn headers(printed: &str) -> Result<Vec<(String, String)>, HelperError> {
    let said: Map<String, Value> = serde_json::from_str(printed).map_err(|_| HelperError::NotHeaders)?;
    let header = |(name, value): (String, Value)| match value {
        Value::String(value) => Ok((name, value)),
        _ => Err(HelperError::NotHeaders),
    };
    said.into_iter().map(header).collect()
}

pub struct Exporting {
    telemetry: Telemetry,
    helper: Option<(Arc<HeadersHelper>, JoinHandle<()>)>,
    tasks: Vec<JoinHandle<()>>,
}

impl Exporting {
    pub async fn start(telemetry: Telemetry, helper: Option<HeadersHelper>) -> Self {
        let helper = helper.filter(|_| telemetry.uses_helper()).map(|helper| {
            telemetry.await_headers();
            let (helper, told) = (Arc::new(helper), telemetry.clone());
            let asking = Arc::clone(&helper);
            (helper, tokio::spawn(async move { asking.keep_asking(&told).await }))
        });
        let beside = telemetry.clone();
        let mut tasks = vec![tokio::spawn(async move { beside.run().await })];
        if let Some((host, port)) = telemetry.prometheus_address()
            && let Ok(listener) = TcpListener::bind((host.as_str(), port)).await
        {
            tasks.push(tokio::spawn(prometheus::serve(listener, telemetry.clone())));
        }
        Self { telemetry, helper, tasks }
    }

    /// The last export, within its budget. What the console exporter has to say.
    pub async fn finish(self) -> String {
        let (started, budget) = (Instant::now(), self.telemetry.budget());
        if let Some((helper, asking)) = self.helper {
            asking.abort();
            // It had no time to answer, or went with the session.
            if self.telemetry.awaits_headers() {
                let late = Err(HelperError::Failed("it did not answer in time".to_owned()));
                let answer = tokio::time::timeout(budget, helper.ask()).await.unwrap_or(late);
                helper.settle(&self.telemetry, answer);
            }
        }
        let said = self.telemetry.flush_within(budget.saturating_sub(started.elapsed())).await;
        for task in self.tasks {
            task.abort();
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_an_object_of_texts() {
        assert_eq!(headers("{\"a\": \"b\"}"), Ok(vec![("a".into(), "b".into())]));
        assert_eq!(headers("{}"), Ok(vec![]));
        for bad in ["", "[]", "{\"a\": 1}", "{\"a\": null}", "token"] {
            assert_eq!(headers(bad), Err(HelperError::NotHeaders), "{bad}");
        }
    }
}
