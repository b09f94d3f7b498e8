//! Why a call of a conversation tool cannot be made, in words for the model.

use super::task_list;

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("Agent needs \"description\" and \"prompt\", both strings.")]
    AgentFields,
    #[error("There is no agent \"{name}\". Known: {known}")]
    NoAgent { name: String, known: String },
    #[error("Skill needs \"skill\", the name of a skill, as a string.")]
    SkillField,
    #[error("There is no skill \"{name}\". Known: {known}")]
    NoSkill { name: String, known: String },
    #[error("The skill \"{0}\" is for people to start, not for you.")]
    SkillForPeople(String),
    #[error("WebSearch needs \"query\", a string of at least two characters.")]
    SearchQuery,
    #[error("WebSearch takes allowed_domains or blocked_domains, not both.")]
    SearchDomains,
    #[error("ToolSearch needs \"query\": words, or select:NAME.")]
    ToolQuery,
    #[error("SendMessage needs \"to\" and \"message\", neither of them empty.")]
    EmptyMessage,
    #[error("ScheduleWakeup needs \"delaySeconds\" and \"prompt\", or \"stop\".")]
    Wakeup,
    #[error("CronCreate needs \"prompt\", which begins each turn.")]
    JobPrompt,
    #[error(
        "EnterWorktree needs \"name\" (letters, digits, dot, dash, underscore) or \"path\" of a worktree below .claude/worktrees."
    )]
    WorktreeName,
    #[error("AskUserQuestion needs \"questions\", a list of one to four.")]
    Questions,
    #[error("Every question needs \"question\", its text.")]
    QuestionText,
    #[error("Every question needs \"options\", a list of two to four.")]
    QuestionOptions,
    #[error("There are {} tasks already. Delete what is done.", task_list::MOST)]
    TooManyTasks,
    #[error("No such tool available: {0}")]
    NoTool(String),
    #[error(transparent)]
    Input(#[from] tools::InputError),
}
