//! The ways out of the sandbox that people have left open: commands by name, and commands that ask for it.
//!
//! The judge of a call and its runner ask the same question here, so that nothing is run outside that was
//! permitted as if it stayed inside. Deliberately absent: whether the call may run.

use policy::Exclusions;
use serde_json::Value;

/// What becomes of a call that asks to leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRequest {
    /// It stays inside.
    #[default]
    Never,
    /// It leaves when somebody says so, even where permissions are skipped.
    Asked,
    /// It leaves when it is permitted like any other.
    Permitted,
}

/// Why a call runs outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnconfinedReason {
    Excluded,
    /// By its own wish. Somebody must have said yes to it where `asked`.
    OnRequest {
        asked: bool,
    },
}

#[derive(Debug, Clone, Default)]
pub struct Exits {
    excluded: Exclusions,
    pub on_request: OnRequest,
    env: process::Env,
}

impl Exits {
    pub fn new(excluded: &[String], on_request: OnRequest) -> Self {
        Self { excluded: Exclusions::new(excluded), on_request, env: process::Env::new() }
    }

    /// What commands outside find in their environment.
    #[must_use]
    pub fn with_env(self, env: process::Env) -> Self {
        Self { env, ..self }
    }

    pub(crate) fn env(&self) -> &process::Env {
        &self.env
    }

    pub fn excludes(&self, command: &str) -> bool {
        self.excluded.cover(command)
    }

    pub(crate) fn leaves(&self, input: &Value) -> Option<UnconfinedReason> {
        if input.get("command").and_then(Value::as_str).is_some_and(|command| self.excludes(command)) {
            return Some(UnconfinedReason::Excluded);
        }
        let wants = input.get("dangerouslyDisableSandbox") == Some(&Value::Bool(true));
        match self.on_request {
            _ if !wants => None,
            OnRequest::Never => None,
            OnRequest::Asked => Some(UnconfinedReason::OnRequest { asked: true }),
            OnRequest::Permitted => Some(UnconfinedReason::OnRequest { asked: false }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_leaves_and_why() {
        let wish = json!({"command": "make", "dangerouslyDisableSandbox": true});
        let (plain, docker) = (json!({"command": "make"}), json!({"command": "docker ps"}));
        let excluded = ["docker".to_owned()];
        for (on_request, input, leaves) in [
            (OnRequest::Never, &wish, None),
            (OnRequest::Never, &docker, Some(UnconfinedReason::Excluded)),
            (OnRequest::Asked, &wish, Some(UnconfinedReason::OnRequest { asked: true })),
            (OnRequest::Permitted, &wish, Some(UnconfinedReason::OnRequest { asked: false })),
            (OnRequest::Permitted, &plain, None),
            (OnRequest::Permitted, &json!({"command": "make", "dangerouslyDisableSandbox": "true"}), None),
            (OnRequest::Permitted, &json!({}), None),
        ] {
            assert_eq!(Exits::new(&excluded, on_request).leaves(input), leaves, "{on_request:?} {input}");
        }
    }
}
