//! Switches of the administrator, and the kinds of customisation that he may leave to plugins alone.

use serde_json::Value;

/// A kind of customisation that `strictPluginOnlyCustomization` can leave to plugins and the administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    Skills,
    Agents,
    Hooks,
    Mcp,
}

impl Surface {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Agents => "agents",
            Self::Hooks => "hooks",
            Self::Mcp => "mcp",
        }
    }
}

pub(crate) const SURFACES: [Surface; 4] = [Surface::Skills, Surface::Agents, Surface::Hooks, Surface::Mcp];
pub(crate) const PLUGIN_ONLY: &str = "strictPluginOnlyCustomization";

/// Whether a policy switch is on. What is neither `false` nor absent counts: a mistake must not switch a policy off.
pub fn is_on(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}

/// Whether this customisation may come only from plugins and the administrator.
pub fn is_plugin_only(managed: &Value, surface: Surface) -> bool {
    match managed.get(PLUGIN_ONLY) {
        Some(Value::Array(listed)) => listed.iter().any(|one| *one == surface.name()),
        Some(Value::Object(listed)) => is_on(listed.get(surface.name())),
        other => is_on(other),
    }
}
