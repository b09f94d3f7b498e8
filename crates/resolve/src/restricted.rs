//! `--restricted`: a start for callers that do not trust what they ask about. No tool that runs code, no page from the
//! network, no settings file but the administrator's and the one on the command line, and no way to skip permissions.
//!
//! Deliberately absent: MCP servers. The caller adds `--strict-mcp-config` to leave them out.

use crate::refusal::Refusal;
use arguments::Arguments;
use options::Permissions;
use policy::Source;
use wire::PermissionMode;

/// Tools that run code or fetch pages. `--tools` brings one back by naming it.
const REMOVED: [&str; 5] = ["Bash", "Monitor", "PowerShell", "REPL", "WebFetch"];

pub fn apply(typed: &Arguments, permissions: &mut Permissions, cli: &Source) -> Result<(), Refusal> {
    if !typed.restricted {
        return Ok(());
    }
    if permissions.mode == PermissionMode::BypassPermissions || typed.allow_dangerously_skip_permissions {
        return Err(Refusal::new("Error: --restricted and bypassPermissions cannot be used together."));
    }
    permissions.may_bypass = false;
    let named: Vec<String> = typed.tools.iter().flat_map(|list| policy::split_list(list)).collect();
    let removed = REMOVED.iter().filter(|tool| !named.iter().any(|name| policy::names::canonical(name) == **tool));
    for tool in removed {
        let rule =
            policy::parse_rule(tool, cli).map_err(|error| Refusal::new(format!("Error: --restricted: {error}")))?;
        permissions.rules.deny.push(rule);
    }
    Ok(())
}
