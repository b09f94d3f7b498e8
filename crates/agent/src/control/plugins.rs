//! Plugins that a client brings with its `initialize`, beside those of the command line.
//!
//! Deliberately absent: their `bin` folders. The search path of commands is fixed when the process starts.

use crate::Options;
use conversation::{HookRunner, frontmatter_hooks};
use mcp::SessionServers;
use options::Choices;
use project::{PluginDir, Plugins};
use serde_json::Value;
use std::rc::Rc;

/// Loads those that are not there yet. True where the client named any.
pub fn apply(
    options: &Options,
    choices: &Choices,
    hooks: &HookRunner,
    servers: &SessionServers,
    listed: &Value,
) -> bool {
    let Some(listed) = listed.as_array() else { return false };
    let here = |dir: PluginDir| PluginDir { path: options.cwd.join(&dir.path), ..dir };
    let dirs: Vec<PluginDir> = listed.iter().filter_map(dir).map(here).collect();
    let Plugins { loaded, problems } = project::plugins(&options.places, &dirs);
    let known = choices.setup().plugins.clone();
    let is_new = |name: &str| !known.loaded.iter().any(|plugin| plugin.name == name);
    let new: Vec<project::Plugin> = loaded.into_iter().filter(|plugin| is_new(&plugin.name)).collect();
    for plugin in &new {
        hooks.change(|list| list.add(frontmatter_hooks::of_plugin(options, plugin)));
        servers.add_plugin_servers(&plugin.mcp_servers);
    }
    choices.change_setup(|setup| {
        for plugin in &new {
            setup.skills.extend(plugin.skills.iter().cloned());
            setup.agents.extend(plugin.agents.iter().cloned());
        }
        let plugins = Rc::make_mut(&mut setup.plugins);
        plugins.loaded.extend(new);
        plugins.problems.extend(problems);
    });
    true
}

/// One entry of a client's list: the folder as it names it.
pub fn dir(plugin: &Value) -> Option<PluginDir> {
    let path = plugin.as_str().or_else(|| plugin["path"].as_str()).filter(|path| !path.is_empty())?;
    let without = plugin["skipMcpDiscovery"] == true || plugin["skipMcp"] == true;
    Some(PluginDir { path: path.into(), with_mcp: !without, called: None })
}
