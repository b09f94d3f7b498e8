// The feed of a run: events folded into rows, and a list that draws only what can be seen.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.js";
import { clock, firstLine, money, outcome, span, count, total } from "./words.js";
import { Lines, compare, counted } from "./diff.js";

// Rows that are drawn above and below what is seen.
const MARGIN = 12;
const BLOCK = 256;
const GUESS = 44;
// So near to the end counts as the end.
const NEAR = 60;
const OUTPUT_LINES = 12;
const DIFF_LINES = 40;

export class Feed {
  constructor() {
    this.rows = [];
    this.calls = new Map();
    this.last = [0, 0];
    this.iteration = 0;
    this.usage = null;
    this.live = new Map();
  }

  // Events come once, however often a stream starts again.
  add(event) {
    const [seq, index] = this.last;
    if (event.seq < seq || (event.seq === seq && event.index <= index && seq > 0)) return false;
    this.last = [event.seq, event.index ?? 0];
    this.take(event);
    return true;
  }

  push(kind, event, more) {
    const row = { kind, at: event.at, seq: event.seq, iteration: event.iteration ?? this.iteration, key: this.rows.length, open: false, version: 0, ...more };
    this.rows.push(row);
    return row;
  }

  speak(kind, event) {
    const key = kind + (event.parent || "");
    const row = this.live.get(key);
    if (event.partial) {
      if (row) {
        row.text += event.text;
        row.version++;
      } else this.live.set(key, this.push(kind, event, { text: event.text, parent: event.parent, partial: true }));
      return;
    }
    if (row) {
      this.live.delete(key);
      row.text = event.text;
      row.partial = false;
      row.version++;
    } else if (event.text.trim()) this.push(kind, event, { text: event.text, parent: event.parent });
  }

  take(event) {
    switch (event.type) {
      case "run_started":
        this.push("start", event, { event });
        break;
      case "iteration_started":
        this.iteration = event.iteration;
        this.live.clear();
        this.push("iteration", event, { event });
        break;
      case "agent_text":
        this.speak("text", event);
        break;
      case "agent_thinking":
        this.speak("thinking", event);
        break;
      case "tool_call":
        this.live.clear();
        this.calls.set(event.id, this.push("tool", event, { call: event, parent: event.parent }));
        break;
      case "tool_result": {
        const row = this.calls.get(event.id);
        if (row) {
          row.result = event;
          row.ended = event.at;
          row.version++;
        }
        break;
      }
      case "permission_denied": {
        const row = this.calls.get(event.id);
        if (row) {
          row.denied = event.message;
          row.version++;
        } else this.push("note", event, { tone: "bad", text: "denied: " + event.tool + ": " + event.message });
        break;
      }
      case "usage":
        this.usage = event;
        break;
      case "api_retry":
        this.push("note", event, { tone: "dim", text: "the agent waits " + span(event.delay_ms) + " and asks the API again (" + (event.status || event.error) + ")" });
        break;
      case "question":
        this.push("question", event, { event });
        break;
      case "answered":
        this.push("said", event, { who: "answer", text: event.text });
        break;
      case "steered":
        this.push("said", event, { who: "steered", text: event.text });
        break;
      case "check_started":
        this.check = this.push("check", event, { command: event.command });
        break;
      case "check_finished": {
        const row = this.check && this.check.command === event.command && !this.check.result ? this.check : this.push("check", event, { command: event.command });
        row.result = event;
        row.version++;
        break;
      }
      case "waiting":
        this.push("note", event, { tone: "dim", text: "waits until " + clock(event.until) + ": " + event.reason });
        break;
      case "paused":
      case "resumed":
        this.push("note", event, { tone: "dim", text: event.type });
        break;
      case "strategy_changed":
        this.push("note", event, { tone: "dim", text: "another way: " + event.strategy + " (" + event.reason + ")" });
        break;
      case "summarised":
        this.push("note", event, { tone: "dim", text: "iterations up to " + event.through + " were summarised (" + money(event.cost_usd) + ")" });
        break;
      case "warning":
      case "summary_failed":
        this.push("note", event, { tone: "bad", text: event.text || event.reason });
        break;
      case "work":
        this.push("note", event, { tone: "dim", text: "work: " + (event.id ? event.id + " " : "") + event.title });
        break;
      case "iteration_ended":
        this.live.clear();
        this.usage = null;
        this.push("receipt", event, { receipt: event.receipt });
        break;
      case "verdict":
        this.push("verdict", event, { event });
        break;
      default:
        break;
    }
  }
}

// What an agent wrote, as text: code stands apart, `code` and **weight** are seen, and nothing is HTML.
export function prose(text) {
  return text.split(/^```[^\n]*$/m).map((part, index) => {
    if (index % 2) return html`<pre class="code">${part.replace(/^\n|\n$/g, "")}</pre>`;
    const trimmed = part.replace(/^\n+|\n+$/g, "");
    return trimmed ? html`<div class="prose">${inline(trimmed)}</div>` : "";
  });
}

function inline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part) => {
    if (part.length > 2 && part.startsWith("`")) return html`<code>${part.slice(1, -1)}</code>`;
    if (part.length > 4 && part.startsWith("**")) return html`<strong>${part.slice(2, -2)}</strong>`;
    return part;
  });
}

// A list of things to do: how many are done, and what is at work.
function todos(items) {
  const done = items.filter((item) => item.status === "completed").length;
  const active = items.find((item) => item.status === "in_progress");
  return done + " of " + items.length + " done" + (active ? ", now: " + (active.content || active.subject || "") : "");
}

// What a call is about, in a line.
export function title(call) {
  const input = call.input || {};
  const path = input.file_path || input.path || input.notebook_path;
  if (Array.isArray(input.todos)) return todos(input.todos);
  if (typeof input.command === "string") return input.command;
  if (typeof input.pattern === "string") return input.pattern + (path ? "  in " + path : "");
  if (typeof path === "string") return path;
  if (typeof input.description === "string") return input.description;
  if (typeof input.url === "string") return input.url;
  if (typeof input.query === "string") return input.query;
  const text = JSON.stringify(input);
  return text === "{}" ? "" : text.slice(0, 200);
}

// The change that a call makes, where it makes one.
function change(call) {
  const input = call.input || {};
  if (typeof input.old_string === "string" && typeof input.new_string === "string") return compare(input.old_string, input.new_string);
  if (call.name === "Write" && typeof input.content === "string") return compare("", input.content.replace(/\n$/, ""));
  if (Array.isArray(input.edits)) return input.edits.flatMap((edit) => compare(edit.old_string || "", edit.new_string || ""));
  return null;
}

function cut(text, most) {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.length > most ? [lines.slice(-most).join("\n"), lines.length - most] : [lines.join("\n"), 0];
}

function Output({ text, open, bad }) {
  if (!text || !text.trim()) return null;
  const [shown, hidden] = open ? [text, 0] : cut(text, OUTPUT_LINES);
  return html`<pre class=${"output" + (bad ? " bad" : "")}>${hidden ? html`<span class="dim">… ${hidden} lines above\n</span>` : ""}${shown}</pre>`;
}

function Tool({ row, toggle }) {
  if (row.lines === undefined) row.lines = change(row.call);
  const done = row.result || row.denied;
  const bad = row.denied || row.result?.is_error;
  const [added, removed] = row.lines ? counted(row.lines) : [0, 0];
  const text = title(row.call);
  const sign = bad ? "✗" : done ? "●" : "◐";
  return html`<div class=${"tool" + (bad ? " bad" : "")}>
    <button class="line-button" aria-expanded=${row.open} onClick=${toggle}>
      <span class=${"sign " + (bad ? "bad" : done ? "good" : "live")} aria-label=${bad ? "failed" : done ? "done" : "at work"}>${sign}</span>
      <b>${row.call.name}</b> <span class="what">${row.open ? text : firstLine(text)}</span>
      ${row.lines ? html`<span class="plus">+${added}</span><span class="minus">−${removed}</span>` : ""}
      <span class="time">${row.ended && row.ended - row.at >= 1000 ? span(row.ended - row.at) : ""}</span>
    </button>
    ${row.lines ? html`<${Lines} lines=${row.lines} most=${row.open ? 0 : DIFF_LINES} />` : ""}
    ${row.denied ? html`<p class="bad">denied: ${row.denied}</p>` : ""}
    ${row.result && ((!row.lines && !row.call.input?.todos) || row.result.is_error || row.open) ? html`<${Output} text=${row.result.text} open=${row.open} bad=${row.result.is_error} />` : ""}
  </div>`;
}

function Check({ row, toggle }) {
  const result = row.result;
  const sign = !result ? "◐" : result.passed ? "✓" : "✗";
  const tone = !result ? "live" : result.passed ? "good" : "bad";
  return html`<div class="check">
    <button class="line-button" aria-expanded=${row.open} onClick=${toggle}>
      <span class=${"sign " + tone} aria-label=${!result ? "at work" : result.passed ? "passed" : "failed"}>${sign}</span> <b>check</b> <span class="what">${row.command}</span>
      <span class="time">${result ? span(result.duration_ms) : ""}</span>
    </button>
    ${result && (row.open || !result.passed) ? html`<${Output} text=${result.output} open=${row.open} bad=${!result.passed} />` : ""}
  </div>`;
}

function Receipt({ row }) {
  const [word, tone] = outcome(row.receipt);
  const files = row.receipt.changed.files;
  return html`<div class="receipt">
    <span class=${"badge " + tone}>${word}</span> iteration ${row.iteration} · ${span(row.receipt.duration_ms)} · ${money(row.receipt.cost_usd)} · ${count(total(row.receipt.tokens))} tokens
    ${row.receipt.blocking && row.receipt.outcome.kind !== "blocked" ? html`<p>${row.receipt.blocking}</p>` : ""}
    ${files.length ? html`<ul class="files">${files.slice(0, 8).map((file) => html`<li>${file.path} <span class="plus">+${file.added}</span><span class="minus">−${file.removed}</span></li>`)}${files.length > 8 ? html`<li>and ${files.length - 8} more</li>` : ""}</ul>` : ""}
  </div>`;
}

export function Row({ row, toggle }) {
  switch (row.kind) {
    case "text":
      return html`<div class=${"text" + (row.parent ? " child" : "")}>${prose(row.text)}</div>`;
    case "thinking":
      return html`<div class="thinking"><button class="line-button" aria-expanded=${row.open} onClick=${toggle}><span class="sign dim">…</span> <i>${row.open ? "thinking" : firstLine(row.text).slice(0, 160)}</i></button>${row.open ? html`<div class="prose dim">${row.text}</div>` : ""}</div>`;
    case "tool":
      return html`<div class=${row.parent ? "child" : ""}><${Tool} row=${row} toggle=${toggle} /></div>`;
    case "check":
      return html`<${Check} row=${row} toggle=${toggle} />`;
    case "iteration":
      return html`<h3 class="iteration" id=${"iteration-" + row.iteration}>Iteration ${row.iteration}${row.event.attempt > 1 ? ", attempt " + row.event.attempt : ""} <span class="dim">${row.event.model} · ${clock(row.at)}${row.event.strategy ? " · " + row.event.strategy : ""}</span></h3>`;
    case "receipt":
      return html`<${Receipt} row=${row} />`;
    case "question":
      return html`<div class="asked"><span class="badge person">asks</span> ${prose(row.event.text)}</div>`;
    case "said":
      return html`<div class="said"><span class="badge">${row.who}</span> ${row.text}</div>`;
    case "verdict":
      return html`<div class="verdict"><span class=${"badge " + (row.event.verdict === "done" ? "good" : row.event.verdict === "failed" ? "bad" : "dim")}>${row.event.verdict}</span> ${row.event.reason} <span class="dim">${row.event.iterations} iterations · ${span(row.event.elapsed_ms)} · ${money(row.event.cost_usd)}</span></div>`;
    case "start":
      return html`<div class="note dim">${row.event.resumed ? "goes on" : "started"} ${clock(row.at)} · ${row.event.backend} · ${row.event.model}${row.event.sandbox ? " · " + row.event.sandbox : ""}</div>`;
    default:
      return html`<div class=${"note " + (row.tone || "")}>${row.text}</div>`;
  }
}

// Heights of rows in blocks, so that a place is found without adding up a hundred thousand numbers.
class Heights {
  constructor() {
    this.each = [];
    this.blocks = [];
  }
  grow(length) {
    while (this.each.length < length) {
      const block = this.each.length >> 8;
      this.each.push(GUESS);
      this.blocks[block] = (this.blocks[block] || 0) + GUESS;
    }
  }
  reset(length) {
    this.each = [];
    this.blocks = [];
    this.grow(length);
  }
  set(at, height) {
    const change = height - this.each[at];
    this.each[at] = height;
    this.blocks[at >> 8] += change;
    return change;
  }
  before(at) {
    let sum = 0;
    for (let block = 0; block < at >> 8; block++) sum += this.blocks[block];
    for (let row = (at >> 8) * BLOCK; row < at; row++) sum += this.each[row];
    return sum;
  }
  total() {
    return this.blocks.reduce((sum, height) => sum + height, 0);
  }
  at(offset) {
    let block = 0;
    let rest = offset;
    while (block < this.blocks.length - 1 && rest >= this.blocks[block]) rest -= this.blocks[block++];
    let row = block * BLOCK;
    while (row < this.each.length - 1 && rest >= this.each[row]) rest -= this.each[row++];
    return row;
  }
}

export function VirtualList({ rows, version, target, label }) {
  const box = useRef(null);
  const heights = useRef(null);
  if (!heights.current) heights.current = new Heights();
  const follows = useRef(true);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [, redraw] = useState(0);
  const list = heights.current;
  if (list.each.length > rows.length) list.reset(rows.length);
  list.grow(rows.length);
  const from = rows.length ? Math.max(0, list.at(view.top) - MARGIN) : 0;
  const to = rows.length ? Math.min(rows.length, list.at(view.top + view.height) + MARGIN + 1) : 0;
  const before = list.before(from);
  const shown = rows.slice(from, to);
  const after = Math.max(0, list.total() - list.before(to));

  const look = () => {
    const element = box.current;
    follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    setView({ top: element.scrollTop, height: element.clientHeight });
  };

  useEffect(() => {
    // A keyboard on a phone, or a question above the list, changes its height: a reader at the end stays there.
    const observer = new ResizeObserver(() => {
      if (follows.current) box.current.scrollTop = box.current.scrollHeight;
      look();
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  // A row that was asked for is brought into sight.
  useEffect(() => {
    if (target === undefined || target === null || !rows.length) return;
    follows.current = false;
    box.current.scrollTop = list.before(Math.min(target.row, rows.length - 1));
    look();
  }, [target]);

  useLayoutEffect(() => {
    const element = box.current;
    let above = 0;
    let changed = false;
    for (const child of element.querySelectorAll("[data-row]")) {
      const at = Number(child.dataset.row);
      const height = child.getBoundingClientRect().height;
      if (Math.abs(height - list.each[at]) < 0.5) continue;
      const by = list.set(at, height);
      changed = true;
      if (list.before(at) < element.scrollTop) above += by;
    }
    if (follows.current) {
      element.scrollTop = element.scrollHeight;
      if (changed) requestAnimationFrame(() => box.current && look());
    } else if (changed) {
      if (above) element.scrollTop += above;
      redraw((number) => number + 1);
    }
  });

  const toEnd = () => {
    follows.current = true;
    box.current.scrollTop = box.current.scrollHeight;
    look();
  };

  return html`<div class="feed-frame">
    <div class="feed" ref=${box} onScroll=${look} tabindex="0" role="log" aria-label=${label} data-version=${version}>
      <div style=${{ height: before + "px" }}></div>
      ${shown.map((row) => html`<div class=${"row is-" + row.kind} key=${row.key} data-row=${row.key}><${Row} row=${row} version=${row.version} toggle=${() => { row.open = !row.open; row.version++; redraw((number) => number + 1); }} /></div>`)}
      <div style=${{ height: after + "px" }}></div>
    </div>
    ${follows.current ? "" : html`<button class="to-end" onClick=${toEnd}>↓ newest</button>`}
  </div>`;
}
