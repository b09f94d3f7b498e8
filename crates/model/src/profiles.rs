//! Bedrock's inference profiles: whether an account has a refused model under another prefix.
//!
//! They are listed when a prefixed id was refused, once, and never before. A listing that fails changes nothing.
//! Deliberately absent: the models behind the ARNs of profiles, and further pages of the list.

use crate::client::{Client, read_up_to};
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// A turn waits for the list, and can go on without it.
const LISTING_WAIT: Duration = Duration::from_secs(8);

/// A region has less than a hundred profiles of less than a kilobyte each.
const LISTING_MAX: usize = 1024 * 1024;

impl Client {
    /// The same model under a prefix that the account has, where it does not have this one.
    pub async fn other_profile(&self, refused: &str) -> Option<String> {
        let listed =
            self.profiles.get_or_init(|| async { self.list_profiles(refused).await.unwrap_or_default() }).await;
        choose(refused, listed)
    }

    async fn list_profiles(&self, model: &str) -> Option<Vec<String>> {
        let endpoint = self.config.cloud.as_ref()?.endpoint.serving(model);
        let url = endpoint.profiles.clone()?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.value(&self.config.user_agent, "the user agent").ok()?);
        self.add_fixed(endpoint, &mut headers).ok()?;
        let listing = self.send(Method::GET, model, url, headers, Bytes::new());
        let mut response = timeout(LISTING_WAIT, listing).await.ok()?.ok()?;
        Some(read(&serde_json::from_slice(&read_up_to(&mut response, LISTING_MAX).await).ok()?))
    }
}

fn read(listing: &Value) -> Vec<String> {
    let summaries = listing["inferenceProfileSummaries"].as_array();
    let ids = summaries.into_iter().flatten().filter_map(|profile| profile["inferenceProfileId"].as_str());
    ids.map(str::to_owned).collect()
}

/// A profile that is listed and was refused all the same is not replaced: the account may not use that model.
fn choose(refused: &str, listed: &[String]) -> Option<String> {
    let (_, model) = refused.split_once(".anthropic.")?;
    if listed.iter().any(|id| id == refused) {
        return None;
    }
    listed.iter().find(|id| id.split_once(".anthropic.").is_some_and(|(_, name)| name == model)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_model_under_another_prefix_is_taken() {
        let profile = |id: &str| json!({"inferenceProfileId": id, "status": "ACTIVE"});
        let listing = json!({"inferenceProfileSummaries": [
            profile("eu.anthropic.claude-opus-5"), profile("global.anthropic.claude-opus-5-5"), json!({"status": "?"}),
            profile("us.amazon.nova-pro-v1:0")]});
        let listed = read(&listing);
        for (refused, expected) in [
            ("us.anthropic.claude-opus-5-5", Some("global.anthropic.claude-opus-5-5")),
            ("us.anthropic.claude-opus-5", Some("eu.anthropic.claude-opus-5")),
            ("eu.anthropic.claude-opus-5", None),
            ("us.anthropic.claude-sonnet-5", None),
            ("arn:aws:bedrock:us-east-2:1:application-inference-profile/x", None),
        ] {
            assert_eq!(choose(refused, &listed).as_deref(), expected, "{refused}");
        }
        for odd in [json!(null), json!({}), json!({"inferenceProfileSummaries": "x"})] {
            assert_eq!(read(&odd), Vec::<String>::new(), "{odd}");
        }
    }
}
