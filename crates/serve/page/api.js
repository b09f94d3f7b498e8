// The server, as functions. Cookies carry the token; nothing here sees it but the login.

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function answerOf(response) {
  if (response.ok) return response.status === 204 ? null : (response.headers.get("content-type") || "").includes("json") ? response.json() : response.text();
  let detail = response.statusText;
  try {
    detail = (await response.json()).detail || detail;
  } catch {
    // Not every refusal is ours: a proxy has its own.
  }
  throw new Refused(response.status, detail);
}

export async function get(path) {
  return answerOf(await fetch(path, { headers: { accept: "application/json" } }));
}

export async function send(method, path, body) {
  const init = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    init.headers["content-type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  return answerOf(await fetch(path, init));
}

export const post = (path, body) => send("POST", path, body);

export const run = (id) => "/v1/runs/" + encodeURIComponent(id);

// The token stands behind the '#', which no server sees; it becomes a cookie and leaves the address.
export async function logInByLink() {
  const found = /^#token=([\w-]+)/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", "/#/");
  await post("/v1/login", { token: found[1] });
}

const RETRY_MS = 2000;

// A stream that comes back by itself. `path` is asked again at every new start, so that it goes on where it was.
export function stream(path, on, onState) {
  let source = null;
  let timer = null;
  let closed = false;
  const open = () => {
    source = new EventSource(path());
    source.onopen = () => onState?.(true);
    source.onerror = () => {
      onState?.(false);
      // A browser retries a broken line, but not an answer such as 503.
      if (source.readyState === EventSource.CLOSED && !closed) timer = setTimeout(open, RETRY_MS);
    };
    for (const [name, take] of Object.entries(on)) source.addEventListener(name, (event) => take(event.data ? JSON.parse(event.data) : null, event));
  };
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    source.close();
  };
}
