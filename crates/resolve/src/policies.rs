//! The administrator's policies at the start of an agent, and what root may do.

use crate::connection::CONTRACT_VERSION;
use crate::environment::{Environment, is_root};
use crate::refusal::Refusal;
use arguments::Arguments;
use options::{Access, Permissions};
use settings::{Settings, Surface, policies};
use wire::PermissionMode;

pub fn enforce(
    typed: &Arguments,
    settings: &Settings,
    access: &Access,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    let start = policies::Start {
        version: CONTRACT_VERSION,
        sideloading: &sideloading(typed),
        credential: access.credentials.chosen.as_ref().map(|chosen| &chosen.found),
        is_first_party: access.client.cloud.is_none(),
    };
    if let Some(reason) = policies::refusal(&settings.managed, &start) {
        return Err(Refusal::new(format!("Error: {reason}")));
    }
    let left_out = [
        (typed.agents.is_some(), Surface::Agents, "agents"),
        (!typed.mcp_config.is_empty(), Surface::Mcp, "mcp-config"),
    ];
    for (is_given, surface, flag) in left_out {
        if is_given && settings::is_plugin_only(&settings.managed, surface) {
            warnings.push(format!(
                "warning: --{flag} is ignored: the administrator leaves this to plugins (strictPluginOnlyCustomization)"
            ));
        }
    }
    warnings.extend(policies::without_effect(&settings.merged));
    if let Some(days) =
        settings.personal.get("cleanupPeriodDays").filter(|days| days.as_u64().is_none_or(|days| days == 0))
    {
        warnings.push(format!("warning: cleanupPeriodDays is {days} and ignored; it is a number of days, at least 1"));
    }
    Ok(())
}

/// Flags that bring plugins, agents or servers from outside of the settings.
fn sideloading(typed: &Arguments) -> Vec<&'static str> {
    let given = [
        (!typed.plugin_dir.is_empty(), "plugin-dir"),
        (!typed.plugin_dir_no_mcp.is_empty(), "plugin-dir-no-mcp"),
        (!typed.plugin_url.is_empty(), "plugin-url"),
        (typed.agents.as_deref().is_some_and(|given| !given.is_empty()), "agents"),
        (typed.mcp_config.iter().any(|given| !given.is_empty()), "mcp-config"),
    ];
    given.into_iter().filter_map(|(is_given, flag)| is_given.then_some(flag)).collect()
}

/// Variables that say that the machine may be lost: set by containers and by sandboxes around an agent.
const SANDBOX_SIGNS: [&str; 2] = ["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

/// Root without permissions can destroy the machine, so it needs a sign that something confines the agent: a sandbox of
/// ours around its commands, as a loop has it, or a variable.
pub fn restrain_root(
    permissions: &mut Permissions,
    environment: &Environment,
    is_confined: bool,
) -> Result<(), Refusal> {
    let has_sign = is_confined || SANDBOX_SIGNS.iter().any(|name| environment.is_on(name));
    if !is_root() || has_sign {
        return Ok(());
    }
    if permissions.mode == PermissionMode::BypassPermissions {
        return Err(Refusal::new(
            "Error: bypassPermissions (--dangerously-skip-permissions) is refused for root, because nothing confines the \
             agent. Run it as another user, or with --sandbox, or set IS_SANDBOX=1 in a container that may be lost.",
        ));
    }
    permissions.may_bypass = false;
    Ok(())
}
