//! The names of profiles, and of the things that an endpoint may or may not understand.

/// The profiles there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileName {
    /// The first-party API.
    Anthropic,
    /// Another address that speaks the whole Messages API.
    Gateway,
    /// A server on the user's own machine that speaks a part of the Messages API: Ollama, llama.cpp, vLLM, LM Studio.
    Local,
    /// `POST /v1/chat/completions`.
    OpenAiChat,
    /// `POST /v1/responses`.
    OpenAiResponses,
}

impl ProfileName {
    pub const ALL: [Self; 5] = [Self::Anthropic, Self::Gateway, Self::Local, Self::OpenAiChat, Self::OpenAiResponses];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Gateway => "gateway",
            Self::Local => "local",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
        }
    }

    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

/// The API that a profile speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Messages,
    ChatCompletions,
    Responses,
}

/// What an endpoint may understand, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// The header `anthropic-beta`.
    Betas,
    /// Prompt-cache marks.
    CacheControl,
    /// `thinking.display`.
    ThinkingDisplay,
    /// `system` as a list of blocks; otherwise it is one text.
    SystemBlocks,
    /// All of JSON Schema; otherwise words that grammar compilers refuse are left out.
    FullSchemas,
    /// A forced choice of tool.
    ToolChoice,
    /// Images by their address.
    ImageLinks,
    /// Images inside tool results; otherwise they follow as blocks of the same message.
    ResultImages,
    /// Document blocks; otherwise text takes their place.
    Documents,
    /// Tools that the server runs itself.
    ServerTools,
    /// Counting tokens; otherwise they are estimated.
    CountTokens,
    /// Thinking of earlier answers is sent back.
    ReplayThinking,
}

impl Feature {
    pub(crate) const ALL: [(&'static str, Self); 12] = [
        ("betas", Self::Betas),
        ("cacheControl", Self::CacheControl),
        ("thinkingDisplay", Self::ThinkingDisplay),
        ("systemBlocks", Self::SystemBlocks),
        ("fullSchemas", Self::FullSchemas),
        ("toolChoice", Self::ToolChoice),
        ("imageLinks", Self::ImageLinks),
        ("resultImages", Self::ResultImages),
        ("documents", Self::Documents),
        ("serverTools", Self::ServerTools),
        ("countTokens", Self::CountTokens),
        ("replayThinking", Self::ReplayThinking),
    ];

    pub(super) fn bit(self) -> u16 {
        1 << (self as u16)
    }
}
