//! May this request be served, and with which rights? A pure function of the request's head and the configuration.
//!
//! The threats are web pages in the same browser (DNS rebinding, cross-site requests, another port of this machine), and
//! other users of the machine. The order matters: who is asked for (`Host`), from where (`Origin`, `Sec-Fetch-Site`), by
//! whom (token), for what (method). Deliberately absent: what a request does; handlers check paths and states.

/// What of a request decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestHead<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub host: Option<&'a str>,
    /// Of a request line with a whole address in it.
    pub authority: Option<&'a str>,
    pub origin: Option<&'a str>,
    pub fetch_site: Option<&'a str>,
    pub authorization: Option<&'a str>,
    pub cookie: Option<&'a str>,
    /// `access_token` of the query; counts for terminals only, because browsers cannot set headers there.
    pub query_token: Option<&'a str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardConfig {
    /// Names and ports that this server answers to, in lower case: `127.0.0.1:4747`.
    pub hosts: Vec<String>,
    /// The name of our cookie; it holds the port, because cookies do not know ports.
    pub cookie: String,
    /// `None`: everybody who can connect is the owner (a Unix socket of mode 0600).
    pub tokens: Option<Tokens>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    pub full: String,
    pub read: String,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// What the sender of a request may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nobody in particular: the page's own files, and the health.
    Open,
    ReadOnly,
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardDecision {
    Allow(Access),
    Refuse(Refused),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("this server does not answer to that Host; start it with '--host NAME' if the name is yours")]
    Host,
    #[error("requests from other web pages are refused (Origin)")]
    Origin,
    #[error("requests from other web sites are refused (Sec-Fetch-Site)")]
    CrossSite,
    #[error("a browser must say where a change comes from (Origin)")]
    NoOrigin,
    #[error("a token is needed: open the link that 'ralph serve' printed, or send 'Authorization: Bearer TOKEN'")]
    NoToken,
    #[error("the token is not valid; 'ralph serve' printed the valid one")]
    WrongToken,
    #[error("this token is read-only")]
    ReadOnly,
    #[error("only GET, HEAD, POST, PUT and DELETE are served")]
    Method,
}

impl Refused {
    pub fn status(self) -> u16 {
        match self {
            Self::NoToken | Self::WrongToken => 401,
            Self::Method => 405,
            Self::Host | Self::Origin | Self::CrossSite | Self::NoOrigin | Self::ReadOnly => 403,
        }
    }

    pub fn kind(self) -> &'static str {
        match self {
            Self::NoToken | Self::WrongToken => "token_invalid",
            Self::Method => "method_not_allowed",
            Self::Host | Self::Origin | Self::CrossSite | Self::NoOrigin | Self::ReadOnly => "permission_denied",
        }
    }
}

/// Judges a request by its head.
pub fn guard(head: &RequestHead<'_>, config: &GuardConfig) -> GuardDecision {
    match judge(head, config) {
        Ok(access) => GuardDecision::Allow(access),
        Err(refused) => GuardDecision::Refuse(refused),
    }
}

fn judge(head: &RequestHead<'_>, config: &GuardConfig) -> Result<Access, Refused> {
    let is_ours = |name: &str| config.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    if !head.host.is_some_and(is_ours) || head.authority.is_some_and(|authority| !is_ours(authority)) {
        return Err(Refused::Host);
    }
    let needed = needed(head.method, head.path)?;
    if head.origin.is_some_and(|origin| !is_our_origin(origin, config)) {
        return Err(Refused::Origin);
    }
    // Another port of this machine is the same site for a browser, and gets our cookie: only the same origin counts.
    // A link to the page itself may stand anywhere.
    let is_page = head.method == "GET" && matches!(head.path, "/" | "/ui" | "/ui/");
    if !is_page && !matches!(head.fetch_site, None | Some("same-origin" | "none")) {
        return Err(Refused::CrossSite);
    }
    if needed == Access::Open {
        return Ok(Access::Open);
    }
    let (access, by_cookie) = holder(head, config)?;
    if needed == Access::Full && access != Access::Full {
        return Err(Refused::ReadOnly);
    }
    // Browsers send `Origin` with every change, and with every WebSocket.
    if by_cookie && needed == Access::Full && head.origin.is_none() {
        return Err(Refused::NoOrigin);
    }
    Ok(access)
}

/// What a request needs at least.
fn needed(method: &str, path: &str) -> Result<Access, Refused> {
    match method {
        "GET" | "HEAD" if is_open(path) => Ok(Access::Open),
        // It is a GET, and writes to a process.
        "GET" if is_terminal(path) => Ok(Access::Full),
        "GET" | "HEAD" => Ok(Access::ReadOnly),
        "POST" if path == "/v1/login" => Ok(Access::Open),
        "POST" | "PUT" | "DELETE" => Ok(Access::Full),
        _ => Err(Refused::Method),
    }
}

/// What holds no secret: the page without its data, the description of the interface, whether we live.
fn is_open(path: &str) -> bool {
    matches!(path, "/" | "/ui" | "/ui/" | "/favicon.ico" | "/openapi.json" | "/v1/health") || path.starts_with("/page/")
}

fn is_terminal(path: &str) -> bool {
    path.starts_with("/v1/processes/") && path.ends_with("/terminal/ws")
}

fn is_our_origin(origin: &str, config: &GuardConfig) -> bool {
    // A proxy before us may speak https.
    let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    name.is_some_and(|name| config.hosts.iter().any(|host| host.eq_ignore_ascii_case(name)))
}

/// Who sends it, and whether only a cookie says so.
fn holder(head: &RequestHead<'_>, config: &GuardConfig) -> Result<(Access, bool), Refused> {
    let Some(tokens) = &config.tokens else { return Ok((Access::Full, false)) };
    let query = head.query_token.filter(|_| is_terminal(head.path));
    // A credential that was given on purpose is the one that counts, also when it is wrong.
    if let Some(given) = head.authorization.map(bearer).or(query.map(Some)) {
        return given.and_then(|given| tokens.access(given)).map(|access| (access, false)).ok_or(Refused::WrongToken);
    }
    let given = head.cookie.and_then(|cookies| cookie(cookies, &config.cookie)).ok_or(Refused::NoToken)?;
    tokens.access(given).map(|access| (access, true)).ok_or(Refused::WrongToken)
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

impl Tokens {
    /// What this token opens. The time it takes says nothing about the tokens.
    pub fn access(&self, given: &str) -> Option<Access> {
        let (full, read) = (is_same(given, &self.full), is_same(given, &self.read));
        match (full, read) {
            (true, _) => Some(Access::Full),
            (false, true) => Some(Access::ReadOnly),
            (false, false) => None,
        }
    }
}

fn is_same(given: &str, token: &str) -> bool {
    if token.is_empty() || given.len() != token.len() {
        return false;
    }
    let differing = given.bytes().zip(token.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    std::hint::black_box(differing) == 0
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
