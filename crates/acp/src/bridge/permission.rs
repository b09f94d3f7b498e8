//! Permission questions of an unattended agent. The mode answers them, for one call and never for ever.

use serde_json::{Value, json};

/// What is allowed without a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decision {
    /// Whatever asks is denied: nobody is there.
    #[default]
    Deny,
    /// Edits of files are allowed, everything else is denied.
    Edits,
    All,
}

impl Decision {
    /// The decision for a permission mode. A mode that is not known denies.
    pub fn of_mode(mode: &str) -> Self {
        match mode {
            "bypassPermissions" => Self::All,
            "acceptEdits" => Self::Edits,
            _ => Self::Deny,
        }
    }

    pub(super) fn mode(self) -> &'static str {
        match self {
            Self::Deny => "default",
            Self::Edits => "acceptEdits",
            Self::All => "bypassPermissions",
        }
    }

    fn allows(self, kind: &str) -> bool {
        match self {
            Self::Deny => false,
            Self::Edits => kind == "edit",
            Self::All => true,
        }
    }
}

/// The outcome for the agent, and whether the call is allowed. Options are chosen by kind, never by place or id.
pub(super) fn answer(options: &Value, decision: Decision, kind: &str) -> (Value, bool) {
    let of_kind = |kind: &str| {
        let options = options.as_array().into_iter().flatten();
        options.filter(|option| option["kind"] == kind).find_map(|option| option["optionId"].as_str())
    };
    let select = |id: &str| json!({"outcome": "selected", "optionId": id});
    if let Some(id) = of_kind("allow_once").filter(|_| decision.allows(kind)) {
        return (select(id), true);
    }
    let reject = of_kind("reject_once").or_else(|| of_kind("reject_always"));
    (reject.map_or_else(|| json!({"outcome": "cancelled"}), select), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_chosen_by_kind_and_never_for_ever() {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let usual = json!([option("z", "allow_always"), option("y", "allow_once"), option("n", "reject_once")]);
        let forever = json!([option("z", "allow_always"), option("n", "reject_always")]);
        for (options, decision, kind, id, allowed) in [
            (&usual, Decision::All, "execute", Some("y"), true),
            (&usual, Decision::Edits, "edit", Some("y"), true),
            (&usual, Decision::Edits, "execute", Some("n"), false),
            (&usual, Decision::Edits, "", Some("n"), false),
            (&usual, Decision::Deny, "read", Some("n"), false),
            (&forever, Decision::All, "edit", Some("n"), false),
            (&json!([]), Decision::All, "edit", None, false),
            (&Value::Null, Decision::All, "edit", None, false),
        ] {
            let (outcome, is_allowed) = answer(options, decision, kind);
            assert_eq!((outcome["optionId"].as_str(), is_allowed), (id, allowed), "{options} {decision:?} {kind}");
            assert_eq!(outcome["outcome"], if id.is_some() { "selected" } else { "cancelled" });
        }
        for (mode, decision) in [
            ("bypassPermissions", Decision::All),
            ("acceptEdits", Decision::Edits),
            ("plan", Decision::Deny),
            ("?", Decision::Deny),
        ] {
            assert_eq!(Decision::of_mode(mode), decision);
        }
    }
}
