//! The table of tool names: one row for each tool that rules, requests or clients treat in a way of its own.
//!
//! A tool takes its name from here (`name: names::BASH`), so that no name stands in a second list. The table also has
//! tools that we do not have ourselves: rules in settings files speak of them. A tool that rules treat like any other
//! needs no row here; it brings its own [`ToolEntry`]. Deliberately absent: descriptions and schemas (with each tool).

/// What is known about a tool besides its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolEntry {
    pub name: &'static str,
    /// Names that the tool had before: models, rules, hooks and clients still use them.
    pub aliases: &'static [&'static str],
    /// Names that only rules use: tools that are gone, whose rules now speak of this one.
    pub rule_aliases: &'static [&'static str],
    pub rules: RuleKind,
    /// The input field that rules judge.
    pub subject: &'static str,
    pub offered: Offered,
    /// `--bare` offers the tool.
    pub in_bare_mode: bool,
    /// The name in `system/init`, where that is an older one.
    pub init_name: Option<&'static str>,
}

/// How rules match calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// `Tool(git status:*)`: a shell command.
    Command,
    /// `Tool(path)`: a file that is read.
    Read,
    /// The same for a search, which starts in the working folder if the call names no path.
    Search,
    /// `Tool(path)`: a file that is written.
    Write,
    /// `Tool(domain:host)`.
    Host,
    /// `Tool(agent)`: the call changes nothing outside the session, since the agent's own calls are judged.
    Agent,
    /// `Tool(skill)`.
    Skill,
    /// The call changes nothing outside the session, so it needs no permission.
    Session,
    /// The call asks a person something, so it always needs one.
    Question,
    /// The call ends plan mode, which a person approves.
    PlanEnd,
    /// Every call is asked about, unless a rule without a specifier allows the tool.
    Other,
}

/// When a request offers the tool to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    Always,
    /// Only where `--tools` names it.
    OptIn,
    /// With the setting for the old list of tasks.
    WithTodoList,
    /// With the list of tasks, or where `--tools` names it.
    WithTaskList,
    /// In plan mode, and where the client can ask a person: there the model may begin to plan by itself.
    ForPlans,
    /// Where the client can put questions to a person.
    WithPrompter,
    /// Where there are skills, or where `--tools` names it.
    WithSkills,
    /// Where MCP servers are configured.
    WithServers,
    /// Where the client gave a schema for the answer.
    WithOutputSchema,
    /// Where tools are searched for.
    WithToolSearch,
    /// Behind the search where there is one; else in full, except for models on the user's own machine, where `--tools` names it.
    Searched,
}

impl ToolEntry {
    /// A tool that is always offered and always asked about; other entries say what differs.
    pub const PLAIN: Self = Self {
        name: "",
        aliases: &[],
        rule_aliases: &[],
        rules: RuleKind::Other,
        subject: "",
        offered: Offered::Always,
        in_bare_mode: false,
        init_name: None,
    };

    const fn new(name: &'static str, rules: RuleKind, subject: &'static str) -> Self {
        Self { name, rules, subject, ..Self::PLAIN }
    }

    const fn session(name: &'static str, offered: Offered) -> Self {
        Self { name, rules: RuleKind::Session, offered, ..Self::PLAIN }
    }
}

impl RuleKind {
    /// Whether calls read files and write none.
    pub fn reads_files(self) -> bool {
        matches!(self, Self::Read | Self::Search)
    }

    /// Whether the targets of calls are paths.
    pub fn names_paths(self) -> bool {
        self.reads_files() || self == Self::Write
    }
}

pub const BASH: ToolEntry = ToolEntry { in_bare_mode: true, ..ToolEntry::new("Bash", RuleKind::Command, "command") };
pub const MONITOR: ToolEntry =
    ToolEntry { offered: Offered::Searched, ..ToolEntry::new("Monitor", RuleKind::Command, "command") };
pub const READ: ToolEntry = ToolEntry { in_bare_mode: true, ..ToolEntry::new("Read", RuleKind::Read, "file_path") };
pub const EDIT: ToolEntry = ToolEntry {
    in_bare_mode: true,
    rule_aliases: &["MultiEdit"],
    ..ToolEntry::new("Edit", RuleKind::Write, "file_path")
};
pub const WRITE: ToolEntry = ToolEntry::new("Write", RuleKind::Write, "file_path");
pub const NOTEBOOK_EDIT: ToolEntry = ToolEntry::new("NotebookEdit", RuleKind::Write, "notebook_path");
pub const GLOB: ToolEntry = ToolEntry::new("Glob", RuleKind::Search, "path");
pub const GREP: ToolEntry = ToolEntry::new("Grep", RuleKind::Search, "path");
pub const WEB_FETCH: ToolEntry = ToolEntry::new("WebFetch", RuleKind::Host, "url");
pub const WEB_SEARCH: ToolEntry = ToolEntry::new("WebSearch", RuleKind::Other, "query");
pub const AGENT: ToolEntry = ToolEntry {
    aliases: &["Task"],
    init_name: Some("Task"),
    ..ToolEntry::new("Agent", RuleKind::Agent, "subagent_type")
};
pub const SKILL: ToolEntry = ToolEntry {
    rule_aliases: &["SlashCommand"],
    offered: Offered::WithSkills,
    ..ToolEntry::new("Skill", RuleKind::Skill, "skill")
};
pub const TODO_WRITE: ToolEntry = ToolEntry::session("TodoWrite", Offered::WithTodoList);
pub const TASK_CREATE: ToolEntry = ToolEntry::session("TaskCreate", Offered::WithTaskList);
pub const TASK_UPDATE: ToolEntry = ToolEntry::session("TaskUpdate", Offered::WithTaskList);
pub const TASK_GET: ToolEntry = ToolEntry::session("TaskGet", Offered::WithTaskList);
pub const TASK_LIST: ToolEntry = ToolEntry::session("TaskList", Offered::WithTaskList);
pub const TASK_OUTPUT: ToolEntry =
    ToolEntry { aliases: &["BashOutput", "AgentOutputTool"], ..ToolEntry::session("TaskOutput", Offered::Always) };
pub const TASK_STOP: ToolEntry =
    ToolEntry { aliases: &["KillShell", "KillBash"], ..ToolEntry::session("TaskStop", Offered::Always) };
pub const EXIT_PLAN_MODE: ToolEntry =
    ToolEntry { offered: Offered::ForPlans, ..ToolEntry::new("ExitPlanMode", RuleKind::PlanEnd, "") };
pub const ASK_USER_QUESTION: ToolEntry =
    ToolEntry { offered: Offered::WithPrompter, ..ToolEntry::new("AskUserQuestion", RuleKind::Question, "") };
pub const ENTER_PLAN_MODE: ToolEntry = ToolEntry::session("EnterPlanMode", Offered::WithPrompter);
pub const TOOL_SEARCH: ToolEntry = ToolEntry::session("ToolSearch", Offered::WithToolSearch);
pub const SEND_MESSAGE: ToolEntry = ToolEntry::session("SendMessage", Offered::Searched);
pub const LIST_AGENTS: ToolEntry = ToolEntry::session("ListAgents", Offered::Searched);
pub const SCHEDULE_WAKEUP: ToolEntry = ToolEntry::session("ScheduleWakeup", Offered::Searched);
pub const CRON_CREATE: ToolEntry = ToolEntry::session("CronCreate", Offered::Searched);
pub const CRON_DELETE: ToolEntry = ToolEntry::session("CronDelete", Offered::Searched);
pub const CRON_LIST: ToolEntry = ToolEntry::session("CronList", Offered::Searched);
pub const ENTER_WORKTREE: ToolEntry = ToolEntry::session("EnterWorktree", Offered::Searched);
pub const EXIT_WORKTREE: ToolEntry = ToolEntry::session("ExitWorktree", Offered::Searched);
pub const STRUCTURED_OUTPUT: ToolEntry = ToolEntry::session("StructuredOutput", Offered::WithOutputSchema);
pub const LIST_MCP_RESOURCES: ToolEntry = ToolEntry::session("ListMcpResourcesTool", Offered::WithServers);
pub const READ_MCP_RESOURCE: ToolEntry = ToolEntry::session("ReadMcpResourceTool", Offered::WithServers);

/// A shell that is not analysed.
pub(crate) const POWER_SHELL: ToolEntry = ToolEntry::new("PowerShell", RuleKind::Command, "command");

/// A tool of an MCP server; the name of each one comes from its server and starts with this.
pub const MCP_TOOL: ToolEntry = ToolEntry { name: "mcp__", offered: Offered::WithServers, ..ToolEntry::PLAIN };

/// Every row but [`MCP_TOOL`], which stands for many names.
pub static TABLE: &[ToolEntry] = &[
    BASH,
    MONITOR,
    READ,
    EDIT,
    WRITE,
    NOTEBOOK_EDIT,
    GLOB,
    GREP,
    WEB_FETCH,
    WEB_SEARCH,
    AGENT,
    SKILL,
    TODO_WRITE,
    TASK_CREATE,
    TASK_UPDATE,
    TASK_GET,
    TASK_LIST,
    TASK_OUTPUT,
    TASK_STOP,
    EXIT_PLAN_MODE,
    ASK_USER_QUESTION,
    ENTER_PLAN_MODE,
    TOOL_SEARCH,
    SEND_MESSAGE,
    LIST_AGENTS,
    SCHEDULE_WAKEUP,
    CRON_CREATE,
    CRON_DELETE,
    CRON_LIST,
    ENTER_WORKTREE,
    EXIT_WORKTREE,
    STRUCTURED_OUTPUT,
    LIST_MCP_RESOURCES,
    READ_MCP_RESOURCE,
    // Tools of other programs that read the same settings files.
    POWER_SHELL,
    ToolEntry::new("LS", RuleKind::Search, "path"),
    ToolEntry::new("LSP", RuleKind::Read, "file_path"),
    ToolEntry::session("ReadMcpResourceDirTool", Offered::WithServers),
    ToolEntry::session("WaitForMcpServers", Offered::WithServers),
    ToolEntry::session("RefreshMcpTools", Offered::WithServers),
    ToolEntry::session("EndConversation", Offered::Always),
];

/// The row of a tool, by its name or by one that it had before.
pub fn find(name: &str) -> Option<&'static ToolEntry> {
    TABLE.iter().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// The name that a tool has now.
pub fn canonical(name: &str) -> &str {
    find(name).map_or(name, |entry| entry.name)
}

/// The row that a rule with this tool name speaks of.
pub fn find_for_rules(name: &str) -> Option<&'static ToolEntry> {
    TABLE.iter().find(|entry| entry.name == name || entry.aliases.contains(&name) || entry.rule_aliases.contains(&name))
}

pub(crate) fn canonical_in_rules(name: &str) -> &str {
    find_for_rules(name).map_or(name, |entry| entry.name)
}

/// How rules match a tool of this name; a name that is not in the table is asked about.
pub(crate) fn kind_of(tool: &str) -> RuleKind {
    find_for_rules(tool).map_or(RuleKind::Other, |entry| entry.rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<&str> =
            TABLE.iter().flat_map(|entry| [&[entry.name], entry.aliases, entry.rule_aliases].concat()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(!names.iter().any(|name| name.is_empty() || name.starts_with(MCP_TOOL.name)));
    }

    #[test]
    fn former_names_lead_to_the_row_and_names_of_rules_only_for_rules() {
        for (name, now, in_rules) in [
            ("Bash", "Bash", "Bash"),
            ("Task", "Agent", "Agent"),
            ("BashOutput", "TaskOutput", "TaskOutput"),
            ("AgentOutputTool", "TaskOutput", "TaskOutput"),
            ("KillShell", "TaskStop", "TaskStop"),
            ("KillBash", "TaskStop", "TaskStop"),
            ("MultiEdit", "MultiEdit", "Edit"),
            ("SlashCommand", "SlashCommand", "Skill"),
            ("mcp__a__b", "mcp__a__b", "mcp__a__b"),
            ("Unheard", "Unheard", "Unheard"),
        ] {
            assert_eq!((canonical(name), canonical_in_rules(name)), (now, in_rules), "{name}");
        }
    }

    #[test]
    fn what_rules_judge_has_a_field() {
        for entry in TABLE {
            let judged = entry.rules.names_paths()
                || matches!(entry.rules, RuleKind::Command | RuleKind::Host | RuleKind::Agent | RuleKind::Skill);
            assert!(!judged || !entry.subject.is_empty(), "{}", entry.name);
        }
    }
}
