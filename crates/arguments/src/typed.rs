//! The agent's command line as values: nothing after this looks a flag up by its name.

/// What was typed after `claude`, or `ralph agent`, before anything is made of it. An empty value is a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub print: bool,
    pub output_format: Option<String>,
    pub input_format: Option<String>,
    pub verbose: bool,
    pub include_partial_messages: bool,
    pub include_hook_events: bool,
    pub init: bool,
    pub init_only: bool,
    pub maintenance: bool,
    pub replay_user_messages: bool,
    pub prompt_suggestions: bool,
    pub forward_subagent_text: bool,
    pub json_schema: Option<String>,
    pub max_turns: Option<String>,
    pub max_budget_usd: Option<String>,
    pub task_budget: Option<String>,
    pub model: Option<String>,
    pub fallback_model: Option<String>,
    pub effort: Option<String>,
    pub thinking: Option<String>,
    pub max_thinking_tokens: Option<String>,
    pub thinking_display: Option<String>,
    pub betas: Vec<String>,
    pub system_prompt: Option<String>,
    pub system_prompt_file: Option<String>,
    pub append_system_prompt: Option<String>,
    pub append_system_prompt_file: Option<String>,
    pub append_subagent_system_prompt: Option<String>,
    pub exclude_dynamic_system_prompt_sections: bool,
    pub plan_mode_instructions: Option<String>,
    pub tools: Vec<String>,
    pub allowed_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    pub permission_mode: Option<String>,
    pub dangerously_skip_permissions: bool,
    pub allow_dangerously_skip_permissions: bool,
    pub permission_prompt_tool: Option<String>,
    pub permission_prompts: Option<String>,
    pub restricted: bool,
    pub sandbox: OptionalValue,
    pub beads_socket: Option<String>,
    pub mcp_config: Vec<String>,
    pub strict_mcp_config: bool,
    pub settings: Option<String>,
    pub setting_sources: Option<String>,
    pub managed_settings: Option<String>,
    pub add_dir: Vec<String>,
    pub session_id: Option<String>,
    pub continue_latest: bool,
    pub resume: OptionalValue,
    pub fork_session: bool,
    pub resume_session_at: Option<String>,
    pub resume_drops_turn: Option<String>,
    pub rewind_files: Option<String>,
    pub session_mirror: bool,
    pub no_session_persistence: bool,
    pub name: Option<String>,
    pub agent: Option<String>,
    pub agents: Option<String>,
    pub plugin_dir: Vec<String>,
    pub project_config_root: Option<String>,
    pub plugin_dir_no_mcp: Vec<String>,
    pub plugin_url: Vec<String>,
    pub await_initialize: bool,
    pub disable_slash_commands: bool,
    pub bare: bool,
    pub safe_mode: bool,
    pub autocompact: Option<String>,
    pub worktree: OptionalValue,
    pub debug: OptionalValue,
    pub debug_file: Option<String>,
    pub debug_to_stderr: bool,
    pub version: bool,
    pub help: bool,
    /// The first flag of the interactive or cloud product.
    pub foreign: Option<&'static str>,
    /// Everything that is no flag and no flag's value, empty words dropped.
    pub positionals: Vec<String>,
}

/// A flag whose value may be left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OptionalValue {
    pub is_given: bool,
    pub value: Option<String>,
}

impl Arguments {
    pub(crate) fn refuse(&mut self, flag: &'static str) {
        self.foreign.get_or_insert(flag);
    }
}
