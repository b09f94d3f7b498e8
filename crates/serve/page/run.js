// One run: its head with what can be done to it, the feed, and beside it what it did so far.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { get, post, run as path, stream } from "./api.js";
import { Feed, VirtualList, prose } from "./feed.js";
import { Lines, files } from "./diff.js";
import { Chart } from "./costs.js";
import { Progress, useNow } from "./runs.js";
import { SIGNS, ago, base, clock, count, isLive, money, moneyTicks, needsPerson, outcome, span, standing, total } from "./words.js";

function useDetail(id, summary) {
  const [detail, setDetail] = useState(null);
  const [error, setError] = useState(null);
  // The list says when something has changed; what it does not carry is asked for then.
  const stamp = summary ? [summary.iterations, summary.iteration, summary.state, summary.check_running, summary.question?.id].join() : "";
  useEffect(() => {
    let left = false;
    get(path(id)).then((value) => left || setDetail(value), (refused) => left || setError(refused.message));
    return () => { left = true; };
  }, [id, stamp]);
  return [detail, error];
}

// The feed fills itself; a frame is drawn at most once for everything that came meanwhile.
function useFeed(id, state) {
  const feed = useRef(null);
  if (!feed.current) feed.current = new Feed();
  const [version, setVersion] = useState(0);
  const live = state && state !== "ended" && state !== "unfinished";
  const [over, setOver] = useState(false);
  useEffect(() => { if (live) setOver(false); }, [live]);
  useEffect(() => {
    if (over) return undefined;
    let frame = 0;
    const draw = () => {
      if (!frame) frame = requestAnimationFrame(() => { frame = 0; setVersion((number) => number + 1); });
    };
    const close = stream(() => path(id) + "/events?derived=true&after=" + Math.max(0, feed.current.last[0] - 1), {
      message: (event) => { if (feed.current.add(event)) draw(); },
      end: () => { draw(); close(); setOver(true); },
    });
    return () => { close(); cancelAnimationFrame(frame); };
  }, [id, over]);
  return [feed.current, version];
}

function Question({ id, question, me, onSent }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const answer = async (words) => {
    if (!words.trim()) return;
    setBusy(true);
    try {
      await post(path(id) + "/answer", { text: words });
      setText("");
      setError(null);
      onSent();
    } catch (refused) {
      setError(refused.message);
    }
    setBusy(false);
  };
  return html`<section class="question" aria-label="Question"><h2>It asks</h2>${prose(question.text)}
    ${me.access === "full" ? html`
      ${question.options?.length ? html`<div class="buttons">${question.options.map((option) => html`<button disabled=${busy} onClick=${() => answer(option)}>${option}</button>`)}</div>` : ""}
      <form onSubmit=${(event) => { event.preventDefault(); answer(text); }}>
        <textarea id="answer" rows="2" aria-label="Your answer" placeholder="Your answer" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) answer(text); }}></textarea>
        <button class="primary" disabled=${busy || !text.trim()}>Answer</button></form>` : html`<p class="dim">This token is read-only.</p>`}
    ${error ? html`<p class="bad" role="alert">${error}</p>` : ""}</section>`;
}

function Stop({ id, onClose, onError }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  const stop = async (now) => {
    dialog.current.close();
    try {
      await post(path(id) + "/stop", { now });
    } catch (refused) {
      onError(refused.message);
    }
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="stop-title"><h2 id="stop-title">Stop this run?</h2><p>It can go on later from where it stopped.</p>
    <div class="buttons"><button onClick=${() => dialog.current.close()}>Cancel</button><button onClick=${() => stop(false)}>After this iteration</button><button class="danger" onClick=${() => stop(true)}>Now</button></div></dialog>`;
}

function Steer({ id, onError }) {
  const [text, setText] = useState("");
  const send = async (event) => {
    event.preventDefault();
    if (!text.trim()) return;
    try {
      await post(path(id) + "/steer", { text });
      setText("");
    } catch (refused) {
      onError(refused.message);
    }
  };
  return html`<form class="steer" onSubmit=${send}><input id="steer" aria-label="Write to the agent" placeholder="Write to the agent …" autocomplete="off" value=${text} onInput=${(event) => setText(event.target.value)} /><button disabled=${!text.trim()}>Send</button></form>`;
}

function Head({ run, feed, me, onStop, act }) {
  const now = useNow(1000);
  const [word, tone] = standing(run);
  const live = isLive(run);
  const usage = live ? feed.usage : null;
  const cost = run.cost_usd + (usage?.cost_usd || 0);
  const elapsed = live ? now - run.started : run.elapsed_ms;
  const context = usage?.context_window ? Math.round((usage.context_tokens / usage.context_window) * 100) : null;
  return html`<div class="run-head">
    <a class="back" href="#/runs" aria-label="Back to the runs">‹</a>
    <div class="run-title"><h1>${run.work || run.title || run.id}</h1>
      <div class="meta" aria-live="polite"><span class=${"badge " + tone}>${word}</span><span>${base(run.folder)}</span><span>iteration ${run.iteration}${run.max_iterations ? " of " + run.max_iterations : ""}</span><span>${span(elapsed)}</span><span>${money(cost)}${run.max_cost_usd ? " of " + money(run.max_cost_usd) : ""}</span>${context === null ? "" : html`<span>context ${context} %</span>`}<span>${run.model}</span>
        ${run.state === "waiting" && run.waiting_until ? html`<span>waits ${span(run.waiting_until - now)}: ${run.waiting_for}</span>` : ""}</div>
      <${Progress} run=${run} /></div>
    <div class="buttons">
      <a class="button" href=${path(run.id) + "/report"} target="_blank" rel="noopener">Report</a>
      ${me.access !== "full" ? "" : live ? html`<button onClick=${() => act(run.state === "paused" ? "resume" : "pause")}>${run.state === "paused" ? "▶ Go on" : "❚❚ Pause"}</button><button class="danger" onClick=${onStop}>■ Stop</button>` : html`<button onClick=${() => act("resume")}>▶ Go on</button>`}
    </div></div>`;
}

function Iterations({ detail, onShow }) {
  const receipts = detail.receipts.slice(-200).reverse();
  return html`<section><h2>Iterations</h2>${receipts.length ? "" : html`<p class="dim">None is over yet.</p>`}<ol class="iterations">${receipts.map((one) => {
    const [word, tone] = outcome(one.receipt);
    const changed = one.receipt.changed.files.length + one.receipt.changed.more_files;
    return html`<li key=${one.seq}><button class="line-button" onClick=${() => onShow(one.seq)} aria-label=${"iteration " + one.iteration + ": " + word}><span class=${"sign " + tone} aria-hidden="true">${SIGNS[tone]}</span><b>${one.iteration}</b> <span class="what">${word}${changed ? ", " + changed + (changed === 1 ? " file" : " files") : ""}</span><span class="time">${money(one.receipt.cost_usd)} · ${span(one.receipt.duration_ms)}</span></button></li>`;
  })}</ol></section>`;
}

function Todo({ items }) {
  if (!items?.length) return "";
  const done = items.filter((item) => item.state === "done").length;
  const sign = { done: ["✓", "good"], active: ["▸", "live"], open: ["·", "dim"] };
  return html`<section><h2>Todo ${done}/${items.length}</h2><ul class="todo">${items.map((item) => html`<li class=${item.state}><span class=${"sign " + sign[item.state][1]} aria-label=${item.state}>${sign[item.state][0]}</span>${item.text}</li>`)}</ul></section>`;
}

function Checks({ detail, now }) {
  const last = new Map();
  for (const check of detail.check_results) last.set(check.command, check);
  const names = [...new Set([...(detail.checks || []), ...last.keys()])];
  if (!names.length) return "";
  return html`<section><h2>Checks</h2><ul class="todo">${names.map((name) => {
    const check = last.get(name);
    return html`<li><span class=${"sign " + (!check ? "dim" : check.passed ? "good" : "bad")} aria-label=${!check ? "not run yet" : check.passed ? "passed" : "failed"}>${!check ? "·" : check.passed ? "✓" : "✗"}</span><code>${name}</code> <span class="dim">${check ? ago(check.at, now) : ""}</span></li>`;
  })}</ul></section>`;
}

function Changes({ id, stamp }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let left = false;
    get(path(id) + "/diff").then((value) => left || setFound(value), (refused) => left || setError(refused.message));
    return () => { left = true; };
  }, [id, stamp]);
  if (error) return html`<p class="bad">${error}</p>`;
  if (!found) return html`<p class="dim">…</p>`;
  const list = files(found.diff);
  return html`<div class="changes"><p class="dim">${list.length ? list.length + (list.length === 1 ? " file" : " files") + " since " + found.base.slice(0, 10) : "Nothing has changed."}${found.exact ? "" : " (everything that differs from the last commit)"}${found.truncated ? " (cut)" : ""}</p>
    ${list.map((file) => html`<details open=${list.length < 6}><summary>${file.path} <span class="plus">+${file.added}</span><span class="minus">−${file.removed}</span></summary><${Lines} lines=${file.lines} most=${2000} /></details>`)}</div>`;
}

function Charts({ detail }) {
  const receipts = detail.receipts;
  if (!receipts.length) return html`<p class="dim">Charts begin with the first iteration that is over.</p>`;
  const numbers = receipts.map((_, at) => at + 1);
  let sum = 0;
  const costs = receipts.map((one) => one.receipt.cost_usd);
  const sums = costs.map((cost) => (sum += cost));
  const tokens = (name) => receipts.map((one) => one.receipt.tokens[name]);
  return html`<div class="charts">
    <${Chart} title="Cost, USD" x=${numbers} series=${[["each iteration", costs, "bars"], ["together", sums, "line"]]} format=${money} ticks=${moneyTicks} />
    <${Chart} title="Tokens of each iteration" x=${numbers} series=${[["in", tokens("input"), "line"], ["out", tokens("output"), "line"], ["from cache", tokens("cache_read"), "line"], ["to cache", tokens("cache_write"), "line"]]} format=${count} />
    <${Chart} title="Minutes of each iteration" x=${numbers} series=${[["minutes", receipts.map((one) => one.receipt.duration_ms / 60000), "bars"]]} format=${(value) => (value ?? 0).toFixed(1)} /></div>`;
}

export function Run({ id, summary, me, line }) {
  const [detail, missing] = useDetail(id, summary);
  const run = summary || detail;
  const [feed, version] = useFeed(id, run?.state);
  const [tab, setTab] = useState("feed");
  const [target, setTarget] = useState(null);
  const [stopping, setStopping] = useState(false);
  const [answered, setAnswered] = useState(null);
  const [error, setError] = useState(null);
  const now = useNow(10000);
  const show = (seq) => {
    setTab("feed");
    const row = feed.rows.findIndex((one) => one.seq >= seq);
    setTarget({ row: row < 0 ? feed.rows.length - 1 : row });
  };
  // A link from the search leads to a line, as soon as that is there.
  const shown = useRef(false);
  useEffect(() => {
    if (line && !shown.current && feed.last[0] >= Number(line)) {
      shown.current = true;
      show(Number(line));
    }
  }, [line, version]);
  const act = async (verb) => {
    try {
      await post(path(id) + "/" + verb);
      setError(null);
    } catch (refused) {
      setError(refused.message);
    }
  };
  useEffect(() => {
    const take = (event) => {
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]") || !run) return;
      const live = isLive(run) && me.access === "full";
      const focus = (name) => { const field = document.getElementById(name); field?.focus(); return !!field; };
      const done = event.key === "p" && live ? (act(run.state === "paused" ? "resume" : "pause"), true)
        : event.key === "x" && live ? (setStopping(true), true)
        : event.key === "s" ? focus("steer")
        : event.key === "a" ? focus("answer")
        : event.key === "End" ? (setTarget({ row: feed.rows.length - 1 }), true) : false;
      if (done) event.preventDefault();
    };
    addEventListener("keydown", take);
    return () => removeEventListener("keydown", take);
  });
  if (missing && !run) return html`<div class="screen"><p class="bad">${missing}</p><a href="#/runs">Back to the runs</a></div>`;
  if (!run) return html`<div class="screen"><p class="dim">…</p></div>`;
  // The list learns of an answer a moment later; nobody is to answer twice meanwhile.
  const asks = needsPerson(run) && run.question.id !== answered;
  const tabs = [["feed", "Feed"], ["changes", "Changes"], ["charts", "Charts"], ["side", "Iterations"]];
  return html`<article class="run">
    <${Head} run=${run} feed=${feed} me=${me} act=${act} onStop=${() => setStopping(true)} />
    ${error ? html`<p class="bad notice" role="alert">${error} <button class="quiet" onClick=${() => setError(null)} aria-label="Close">×</button></p>` : ""}
    ${asks ? html`<${Question} key=${run.question.id} id=${id} question=${run.question} me=${me} onSent=${() => { setError(null); setAnswered(run.question.id); }} />` : ""}
    <div class="tabs" role="tablist">${tabs.map(([name, text]) => html`<button role="tab" class=${name === "side" ? "only-narrow" : ""} aria-selected=${tab === name} onClick=${() => setTab(name)}>${text}</button>`)}
      <span class="dim tab-note">${feed.rows.length ? count(feed.rows.length) + " entries, line " + feed.last[0] + ", " + clock(run.last_event_at) : ""}</span></div>
    <div class=${"run-body tab-" + tab}>
      <div class="run-main" role="tabpanel">
        ${tab === "feed" || tab === "side" ? html`<${VirtualList} rows=${feed.rows} version=${version} target=${target} label="Feed" />` : ""}
        ${tab === "changes" ? html`<${Changes} id=${id} stamp=${run.iterations} />` : ""}
        ${tab === "charts" ? (detail ? html`<${Charts} detail=${detail} />` : "") : ""}
        ${isLive(run) && !asks && me.access === "full" && tab === "feed" ? html`<${Steer} id=${id} onError=${setError} />` : ""}
      </div>
      ${detail ? html`<aside class="side" aria-label="Work of this run"><${Checks} detail=${detail} now=${now} /><${Todo} items=${detail.todo} /><${Iterations} detail=${detail} onShow=${show} />
        <section class="dim small"><h2>Run</h2><p>${id}<br />${run.folder}<br />${run.backend}${detail.sandbox ? html`<br />${detail.sandbox}` : ""}<br />${count(total(run.tokens))} tokens</p></section></aside>` : ""}
    </div>
    ${stopping ? html`<${Stop} id=${id} onClose=${() => setStopping(false)} onError=${setError} />` : ""}
  </article>`;
}
