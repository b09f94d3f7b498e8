// The runs, now and before: a list for the side, a screen, and a form for a new one.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { post } from "./api.js";
import { SIGNS, ago, base, count, isLive, money, needsPerson, span, standing, total } from "./words.js";

// A line of small bars: what each iteration cost.
export function Spark({ values }) {
  const last = values.slice(-24);
  const most = Math.max(...last, 0);
  if (!last.length || most <= 0) return "";
  return html`<svg class="spark" viewBox=${"0 0 " + last.length * 4 + " 16"} role="img" aria-label=${"cost of the last " + last.length + " iterations"}>
    ${last.map((value, at) => { const height = Math.max(1, (value / most) * 16); return html`<rect x=${at * 4} y=${16 - height} width="3" height=${height} />`; })}</svg>`;
}

export function Progress({ run }) {
  if (!run.max_iterations) return "";
  const part = Math.min(1, run.iterations / run.max_iterations);
  return html`<div class="bar" role="progressbar" aria-label="iterations" aria-valuemin="0" aria-valuemax=${run.max_iterations} aria-valuenow=${run.iterations}><div style=${{ width: part * 100 + "%" }}></div></div>`;
}

export function useNow(every) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

function Item({ run, chosen, now }) {
  const [word, tone] = standing(run);
  return html`<li><a class="item" href=${"#/run/" + encodeURIComponent(run.id)} aria-current=${chosen === run.id ? "page" : undefined}>
    <span class=${"sign " + tone} aria-hidden="true">${SIGNS[tone]}</span>
    <span class="name">${run.work || run.title || run.id}</span>
    <span class="meta">${word} · iteration ${run.iteration} · ${money(run.cost_usd)}${isLive(run) ? "" : " · " + ago(run.last_event_at, now)}</span></a></li>`;
}

// What waits for a person stands first.
export function grouped(runs) {
  const person = runs.filter(needsPerson);
  const live = runs.filter((run) => isLive(run) && !needsPerson(run));
  const before = runs.filter((run) => !isLive(run) && !needsPerson(run));
  return [["for you", person], ["now", live], ["before", before]].filter(([, list]) => list.length);
}

const SIDE_MAX = 60;

export function RunList({ runs, chosen }) {
  const now = useNow(10000);
  return html`${grouped(runs).map(([name, list]) => html`<section><h2>${name}</h2><ul>${list.slice(0, SIDE_MAX).map((run) => html`<${Item} key=${run.id} run=${run} chosen=${chosen} now=${now} />`)}</ul></section>`)}`;
}

function Card({ run, now }) {
  const [word, tone] = standing(run);
  const elapsed = isLive(run) ? now - run.started : run.elapsed_ms;
  return html`<li><a class=${"card" + (needsPerson(run) ? " person" : "")} href=${"#/run/" + encodeURIComponent(run.id)}>
    <div class="card-head"><span class=${"badge " + tone}>${word}</span><b>${run.work || run.title || run.id}</b><${Spark} values=${run.costs} /></div>
    ${needsPerson(run) ? html`<p class="ask">${run.question.text.slice(0, 240)}</p>` : run.last ? html`<p class="dim last">${run.last}</p>` : ""}
    <${Progress} run=${run} />
    <div class="meta"><span>${base(run.folder)}</span><span>iteration ${run.iteration}${run.max_iterations ? " of " + run.max_iterations : ""}</span><span>${span(elapsed)}</span><span>${money(run.cost_usd)}${run.max_cost_usd ? " of " + money(run.max_cost_usd) : ""}</span><span>${count(total(run.tokens))} tokens</span>${isLive(run) ? "" : html`<span>${ago(run.last_event_at, now)}</span>`}</div>
  </a></li>`;
}

const PAGE = 40;

export function Runs({ runs, ready, me, onNew }) {
  const now = useNow(1000);
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(PAGE);
  const words = filter.toLowerCase();
  const fits = (run) => !words || [run.title, run.work, run.folder, run.id, run.model, run.last, standing(run)[0]].some((text) => (text || "").toLowerCase().includes(words));
  const groups = grouped(runs.filter(fits));
  return html`<div class="screen">
    <div class="screen-head"><h1>Runs</h1>
      <input type="search" placeholder="Filter" aria-label="Filter runs" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
      ${me.access === "full" ? html`<button class="primary" onClick=${onNew}>New run</button>` : html`<span class="badge">read only</span>`}</div>
    ${!runs.length ? html`<p class="empty">${ready ? html`No runs here yet. Start one with <b>New run</b>, or with <code>ralph</code> in ${me.folders.join(", ")}.` : "…"}</p>` : ""}
    ${groups.map(([name, list]) => html`<section><h2>${name}</h2><ul class="cards">${list.slice(0, most).map((run) => html`<${Card} key=${run.id} run=${run} now=${now} />`)}</ul>
      ${list.length > most ? html`<button onClick=${() => setMost(most + PAGE)}>${list.length - most} more</button>` : ""}</section>`)}
  </div>`;
}

export function NewRun({ me, onClose }) {
  const dialog = useRef(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = (name) => form.get(name).trim() || undefined;
    const checks = (form.get("checks") || "").split("\n").map((line) => line.trim()).filter(Boolean);
    const cost = parseFloat(form.get("cost"));
    const body = { folder: form.get("folder"), prompt: text("prompt"), iterations: Number(form.get("iterations")), checks, model: text("model"), backend: text("backend"), limits: { cost_usd: Number.isFinite(cost) ? cost : undefined } };
    setBusy(true);
    setError(null);
    try {
      const { id } = await post("/v1/runs", body);
      dialog.current.close();
      location.hash = "#/run/" + encodeURIComponent(id);
    } catch (refused) {
      setError(refused.message);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="new-title"><h2 id="new-title">New run</h2><form onSubmit=${submit} class="stack">
    <label>Folder<select name="folder">${me.folders.map((folder) => html`<option>${folder}</option>`)}</select></label>
    <label>Prompt<textarea name="prompt" rows="5" placeholder="Empty: the folder's own prompt, .ralph/prompt.md"></textarea></label>
    <label>Checks, one a line<textarea name="checks" rows="2" placeholder="cargo test"></textarea></label>
    <div class="row-fields"><label>Iterations<input name="iterations" type="number" min="1" value="10" required /></label><label>USD at most<input name="cost" type="number" min="0" step="0.01" /></label></div>
    <div class="row-fields"><label>Model<input name="model" placeholder="as configured" /></label><label>Agent<input name="backend" placeholder="as configured" /></label></div>
    ${error ? html`<p class="bad" role="alert">${error}</p>` : ""}
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Cancel</button><button class="primary" disabled=${busy}>${busy ? "Starting…" : "Start"}</button></div>
  </form></dialog>`;
}
