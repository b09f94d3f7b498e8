//! Everything that can be asked for, once: the router and `/openapi.json` are made from the same list, so neither has what the
//! other lacks. Around it: the guard, the deadline of a request, and the headers of every answer.

use crate::app::App;
use crate::guard::{GuardDecision, RequestHead, guard};
use crate::problem::Problem;
use crate::{acp, agents, config, fs, goals, login, openapi, page, processes, runs, skills};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use std::sync::Arc;
use std::time::Duration;

/// For everything that is no stream, no turn of an agent and no process that somebody waits for.
const REQUEST_TIME: Duration = Duration::from_secs(90);

/// What a browser may do with an answer of ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// One operation: method, path, what it does.
pub type Operation = (&'static str, &'static str, &'static str);

type Route = (Operation, MethodRouter<Arc<App>>);

#[rustfmt::skip]
fn page_routes() -> Vec<Route> {
    vec![
        (("get", "/", "The page"), get(page::index)),
        (("get", "/ui", "The page"), get(page::index)),
        (("get", "/ui/", "The page"), get(page::index)),
        (("get", "/favicon.ico", "The page's icon"), get(page::icon)),
        (("get", "/page/{*file}", "A file of the page"), get(page::file)),
        (("get", "/openapi.json", "This description"), get(openapi::answer)),
        (("get", "/v1/health", "Whether the server is up"), get(login::health)),
        (("post", "/v1/login", "Swap a token for a cookie: {token}"), post(login::login)),
        (("post", "/v1/logout", "Forget the cookie"), post(login::logout)),
        (("get", "/v1/me", "What this client may do, and which folders are served"), get(login::me)),
    ]
}

#[rustfmt::skip]
fn run_routes() -> Vec<Route> {
    vec![
        (("get", "/v1/runs", "Runs of the served folders, newest first; ?folder&state"), get(runs::list)),
        (("post", "/v1/runs", "Start a run: {folder, prompt | file, iterations, checks, backend, model, limits, sandbox}"), post(runs::start)),
        (("get", "/v1/runs/{id}", "One run, with receipts, checks, todo and the open question"), get(runs::one)),
        (("get", "/v1/runs/{id}/events", "Events behind ?after=N, with ?derived=true as the screen shows them; a stream with Accept: text/event-stream"), get(runs::events)),
        (("post", "/v1/runs/{id}/answer", "Answer its question: {text}; an ended run goes on unless resume is false"), post(runs::answer)),
        (("post", "/v1/runs/{id}/steer", "Words for the agent: {text}"), post(runs::steer)),
        (("post", "/v1/runs/{id}/pause", "Hold after this iteration"), post(runs::pause)),
        (("post", "/v1/runs/{id}/resume", "Go on after a pause, or start an ended run again"), post(runs::resume)),
        (("post", "/v1/runs/{id}/stop", "End after this iteration, or at once: {now}"), post(runs::stop)),
        (("get", "/v1/runs/{id}/diff", "What it changed; ?iteration=N"), get(runs::diff)),
        (("get", "/v1/runs/{id}/iterations/{number}", "The receipt and checks of an iteration"), get(runs::iteration)),
        (("get", "/v1/runs/{id}/report", "The report as HTML; ?format=md"), get(runs::report)),
        (("get", "/v1/events", "A stream of runs as they change"), get(runs::all_events)),
        (("get", "/v1/costs", "Every iteration with its cost and tokens"), get(runs::costs)),
        (("get", "/v1/search", "Lines of recordings with these words: ?q"), get(runs::search)),
        (("get", "/v1/goals", "Goals that are not over; ?all&state&label"), get(goals::list)),
        (("post", "/v1/goals", "Add a goal: {text, folder, title, base, checks, labels, after, priority, max_cost, draft}"), post(goals::add)),
        (("get", "/v1/goals/{id}", "One goal with comments"), get(goals::one)),
        (("put", "/v1/goals/{id}", "Change it: {title, priority, labels}"), put(goals::edit)),
        (("get", "/v1/goals/{id}/log", "What happened to it; ?after=N"), get(goals::log)),
        (("post", "/v1/goals/{id}/comment", "Tell its agent something: {text}"), post(goals::comment)),
        (("post", "/v1/goals/{id}/answer", "Answer what it asks: {text}"), post(goals::answer)),
        (("post", "/v1/goals/{id}/retry", "Try again"), post(goals::retry)),
        (("post", "/v1/goals/{id}/cancel", "Stop it"), post(goals::cancel)),
        (("post", "/v1/goals/{id}/queue", "Let a draft be worked on"), post(goals::queue)),
    ]
}

#[rustfmt::skip]
fn sandbox_agent_routes() -> Vec<Route> {
    vec![
        (("get", "/v1/agents", "Agents that can be spoken with"), get(agents::list)),
        (("get", "/v1/agents/{agent}", "One agent"), get(agents::one)),
        (("post", "/v1/agents/{agent}/install", "Not done here: 501"), post(agents::install)),
        (("get", "/v1/acp", "Agents at work"), get(acp::list)),
        (("post", "/v1/acp/{server_id}", "One JSON-RPC message; the first with ?agent"), post(acp::post)),
        (("get", "/v1/acp/{server_id}", "A stream of everything the agent says"), get(acp::stream)),
        (("delete", "/v1/acp/{server_id}", "End the agent"), delete(acp::remove)),
        (("post", "/acp", "The protocol's own draft: initialize makes a connection, everything else is taken with 202"), post(acp::draft::post)),
        (("get", "/acp", "A stream of the connection or of a session, by the headers Acp-Connection-Id and Acp-Session-Id"), get(acp::draft::stream)),
        (("delete", "/acp", "End the connection"), delete(acp::draft::remove)),
        (("get", "/v1/fs/entries", "A folder's entries; ?path"), get(fs::entries)),
        (("get", "/v1/fs/file", "A file's bytes; ?path"), get(fs::read)),
        (("put", "/v1/fs/file", "Write a file; ?path"), put(fs::write)),
        (("delete", "/v1/fs/entry", "Delete a file or folder; ?path&recursive"), delete(fs::remove)),
        (("post", "/v1/fs/mkdir", "Make a folder with its parents; ?path"), post(fs::make_folder)),
        (("post", "/v1/fs/move", "Move: {from, to, overwrite}"), post(fs::rename)),
        (("get", "/v1/fs/stat", "What a path is; ?path"), get(fs::stat)),
        (("post", "/v1/fs/upload-batch", "Unpack a tar archive; ?path"), post(fs::upload)),
        (("get", "/v1/config/mcp", "An MCP server of .mcp.json; ?directory&mcpName"), get(config::read_mcp)),
        (("put", "/v1/config/mcp", "Set it"), put(config::write_mcp)),
        (("delete", "/v1/config/mcp", "Remove it"), delete(config::remove_mcp)),
        (("get", "/v1/config/skills", "Where skills came from; ?directory&skillName"), get(skills::read)),
        (("put", "/v1/config/skills", "Put skills into .claude/skills: {sources: [{type, source, ref, subpath, skills}]}"), put(skills::write)),
        (("delete", "/v1/config/skills", "Remove them"), delete(skills::remove)),
        (("get", "/v1/processes/config", "Limits of processes"), get(processes::read_config)),
        (("post", "/v1/processes/config", "Set them"), post(processes::put_config)),
        (("post", "/v1/processes/run", "Run a command to its end: {command, args, cwd, env, timeoutMs, maxOutputBytes}"), post(processes::run)),
        (("get", "/v1/processes", "Processes that clients started"), get(processes::list)),
        (("post", "/v1/processes", "Start one: {command, args, cwd, env, tty, interactive}"), post(processes::start)),
        (("get", "/v1/processes/{id}", "One process"), get(processes::one)),
        (("delete", "/v1/processes/{id}", "Forget one that has ended"), delete(processes::remove)),
        (("post", "/v1/processes/{id}/stop", "Ask it to end; ?waitMs"), post(processes::stop)),
        (("post", "/v1/processes/{id}/kill", "Kill it; ?waitMs"), post(processes::kill)),
        (("post", "/v1/processes/{id}/input", "Its input: {data, encoding}"), post(processes::input)),
        (("get", "/v1/processes/{id}/logs", "Its output; ?stream&tail&since&follow"), get(processes::logs)),
        (("post", "/v1/processes/{id}/terminal/resize", "The size of its terminal: {cols, rows}"), post(processes::resize)),
        (("get", "/v1/processes/{id}/terminal/ws", "Its terminal as a WebSocket"), get(processes::terminal)),
    ]
}

fn all() -> Vec<Route> {
    [page_routes(), run_routes(), sandbox_agent_routes()].into_iter().flatten().collect()
}

/// What `/openapi.json` describes.
pub fn operations() -> Vec<Operation> {
    all().into_iter().map(|(operation, _)| operation).collect()
}

pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for ((_, path, _), method) in all() {
        router = router.route(path, method);
    }
    router
        .fallback(|| async { Problem::not_found("there is no such path; /openapi.json lists them") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path has no such method")
        })
        .layer(from_fn_with_state(app.clone(), guarded))
        .with_state(app)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // A header that is no text is one that matches nothing.
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// Two of a kind are a trick: no browser sends them.
fn only_one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    if headers.get_all(name).iter().count() > 1 { Some("\u{fffd}") } else { text(headers, name) }
}

async fn guarded(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let head = RequestHead {
        method: request.method().as_str(),
        path: request.uri().path(),
        host: only_one(headers, "host"),
        authority: request.uri().authority().map(axum::http::uri::Authority::as_str),
        origin: only_one(headers, "origin"),
        fetch_site: only_one(headers, "sec-fetch-site"),
        authorization: only_one(headers, "authorization"),
        cookie: text(headers, "cookie"),
        query_token: request.uri().query().and_then(query_token),
    };
    let mut response = match guard(&head, &app.guard) {
        GuardDecision::Refuse(refused) => {
            let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::FORBIDDEN);
            Problem::new(status, refused.kind(), refused.to_string()).into_response()
        }
        GuardDecision::Allow(access) => {
            let is_long = is_long(request.method(), request.uri().path());
            request.extensions_mut().insert(access);
            if is_long {
                next.run(request).await
            } else {
                let late = |_| Problem::timeout("the request took too long").into_response();
                tokio::time::timeout(REQUEST_TIME, next.run(request)).await.unwrap_or_else(late)
            }
        }
    };
    dress(response.headers_mut());
    response
}

/// Turns of agents, commands to their end, and files on slow lines have deadlines of their own.
fn is_long(method: &Method, path: &str) -> bool {
    (method == Method::POST && (path.starts_with("/v1/acp/") || matches!(path, "/acp" | "/v1/processes/run")))
        || path.starts_with("/v1/fs/")
}

fn query_token(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("access_token="))
}

fn dress(headers: &mut HeaderMap) {
    // An answer that is stricter, or apart from our origin, says so itself.
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operation_is_there_twice() {
        let mut seen = std::collections::HashSet::new();
        for (method, path, what) in operations() {
            assert!(seen.insert((method, path)), "{method} {path}");
            assert!(!what.is_empty() && path.starts_with('/'));
        }
    }
}
