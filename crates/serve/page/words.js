// Numbers, times and states as people read them. Pure functions.

export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  return usd > 0 && usd < 0.01 ? "<$0.01" : "$" + usd.toFixed(2);
}

// The numbers beside a chart: with as many digits as their distance needs.
export function moneyTicks(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : 1;
  const digits = step > 0 && step < 0.01 ? Math.min(6, Math.ceil(-Math.log10(step))) : 2;
  return values.map((value) => "$" + value.toFixed(digits));
}

export function count(number) {
  if (number >= 1e6) return (number / 1e6).toFixed(1) + "M";
  if (number >= 1e3) return (number / 1e3).toFixed(number >= 1e5 ? 0 : 1) + "k";
  return String(number);
}

export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return seconds + "s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes + "m " + String(seconds % 60).padStart(2, "0") + "s";
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return hours + "h " + String(minutes % 60).padStart(2, "0") + "m";
  return Math.floor(hours / 24) + "d " + (hours % 24) + "h";
}

export function ago(at, now) {
  const ms = now - at;
  return ms < 5000 ? "now" : span(ms).split(" ")[0] + " ago";
}

export function clock(at) {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function day(at) {
  return new Date(at).toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" });
}

export function total(tokens) {
  if (!tokens) return 0;
  return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}

export function base(path) {
  return (path || "").split("/").filter(Boolean).pop() || "/";
}

const LIVE = ["working", "paused", "asking", "waiting", "watching"];

export function isLive(run) {
  return LIVE.includes(run.state);
}

// A person has to do something before it goes on.
export function needsPerson(run) {
  return !!run.question && (isLive(run) ? run.state === "asking" : run.state === "ended");
}

// The word for a run's state, and which colour it has.
export function standing(run) {
  if (needsPerson(run)) return ["asks", "person"];
  if (run.state === "ended" && run.verdict) {
    const word = run.verdict.unchecked ? "done, unchecked" : run.verdict.verdict;
    return [word, run.verdict.verdict === "done" ? "good" : run.verdict.verdict === "failed" ? "bad" : "dim"];
  }
  if (run.state === "unfinished") return ["left off", "dim"];
  return [run.state, run.state === "working" ? "live" : "dim"];
}

export const SIGNS = { live: "●", person: "?", good: "✓", bad: "✗", dim: "·" };

export function outcome(receipt) {
  const kind = receipt.outcome.kind;
  const failure = receipt.outcome.failure;
  const words = {
    progress: "progress", no_progress: "no change", done: "done", not_done: "not done", blocked: "asks",
    failed: "failed", deferred: "deferred", interrupted: "stopped", cut: "cut by a limit",
  };
  const colour = { done: "good", progress: "good", failed: "bad", not_done: "bad", blocked: "person" }[kind] || "dim";
  return [(words[kind] || kind) + (failure ? ": " + failure.replaceAll("_", " ") : ""), colour];
}

export function firstLine(text) {
  return (text || "").split("\n").map((line) => line.trim()).find((line) => line) || "";
}
