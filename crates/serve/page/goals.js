// The board of goals, and one goal with what can be done to it.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { get, post, send } from "./api.js";
import { ago, base, firstLine } from "./words.js";

const COLUMNS = [
  ["for you", ["blocked"]], ["queued", ["draft", "queued", "waiting"]], ["running", ["running"]],
  ["review", ["review"]], ["landing", ["landing"]], ["done", ["done"]], ["failed, cancelled", ["failed", "cancelled"]],
];
const EVERY_MS = 3000;
const SHOWN = 30;

const usd = (amount) => "$" + (amount.micro_usd / 1e6).toFixed(2);

function useGoals() {
  const [state, setState] = useState({ goals: [], ready: false });
  useEffect(() => {
    let left = false;
    let timer = 0;
    const look = async () => {
      try {
        const value = await get("/v1/goals?all=true");
        if (!left) setState({ ...value, ready: true });
      } catch (refused) {
        if (!left) setState((before) => ({ ...before, error: refused.message, ready: true }));
      }
      if (!left) timer = setTimeout(look, EVERY_MS);
    };
    look();
    return () => { left = true; clearTimeout(timer); };
  }, []);
  return state;
}

function Card({ goal }) {
  const note = goal.state === "blocked" ? goal.question : goal.error;
  return html`<li><a class=${"card" + (goal.state === "blocked" ? " person" : "")} href=${"#/goals/" + goal.id}><b>${goal.id} · ${goal.title}</b>
    ${note ? html`<p class=${goal.state === "blocked" ? "ask" : "dim last"}>${firstLine(note)}</p>` : ""}
    <div class="meta"><span>${base(goal.repo)}</span><span>${goal.state}</span><span>${usd(goal.spent)}</span>${goal.priority ? html`<span>priority ${goal.priority}</span>` : ""}${goal.unmet ? html`<span>after others</span>` : ""}</div></a></li>`;
}

function NewGoal({ me, onClose }) {
  const dialog = useRef(null);
  const [error, setError] = useState(null);
  useEffect(() => dialog.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const checks = form.get("checks").split("\n").map((line) => line.trim()).filter(Boolean);
    const cost = parseFloat(form.get("cost"));
    try {
      const goal = await post("/v1/goals", { text: form.get("text"), folder: form.get("folder"), checks, max_cost: Number.isFinite(cost) ? cost : undefined });
      dialog.current.close();
      location.hash = "#/goals/" + goal.id;
    } catch (refused) {
      setError(refused.message);
    }
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="goal-title"><h2 id="goal-title">New goal</h2><form class="stack" onSubmit=${submit}>
    <label>Repository<select name="folder">${me.folders.map((folder) => html`<option>${folder}</option>`)}</select></label>
    <label>What is to be reached<textarea name="text" rows="5" required></textarea></label>
    <label>Checks, one a line<textarea name="checks" rows="2"></textarea></label>
    <label>USD at most<input name="cost" type="number" min="0" step="0.01" /></label>
    ${error ? html`<p class="bad" role="alert">${error}</p>` : ""}
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Cancel</button><button class="primary">Add</button></div></form></dialog>`;
}

function useGoal(id) {
  const [goal, setGoal] = useState(null);
  const [log, setLog] = useState([]);
  const [error, setError] = useState(null);
  const after = useRef(0);
  const look = async () => {
    try {
      setGoal(await get("/v1/goals/" + id));
      const more = await get("/v1/goals/" + id + "/log?after=" + after.current);
      after.current = more.next;
      if (more.lines.length) setLog((before) => [...before, ...more.lines].slice(-500));
      setError(null);
    } catch (refused) {
      setError(refused.message);
    }
  };
  useEffect(() => {
    setLog([]);
    after.current = 0;
    look();
    const timer = setInterval(look, EVERY_MS);
    return () => clearInterval(timer);
  }, [id]);
  return [goal, log, error, look];
}

function logLine(line) {
  const event = line.event;
  if (typeof event === "string") return event;
  return event.text || event.reason || event.message || event.summary || event.receipt?.summary || "";
}

function Goal({ id, me }) {
  const [goal, log, error, look] = useGoal(id);
  const [text, setText] = useState("");
  const [refusal, setRefusal] = useState(null);
  if (!goal) return html`<aside class="goal">${error ? html`<p class="bad">${error}</p>` : "…"}</aside>`;
  const act = async (verb, body) => {
    try {
      await (verb === "priority" ? send("PUT", "/v1/goals/" + id, body) : post("/v1/goals/" + id + "/" + verb, body));
      setText("");
      setRefusal(null);
      await look();
    } catch (refused) {
      setRefusal(refused.message);
    }
  };
  const over = ["done", "failed", "cancelled"].includes(goal.state);
  const shown = log.filter((line) => logLine(line)).slice(-60);
  return html`<aside class="goal" aria-label=${"Goal " + id}><div class="screen-head"><h2>${goal.id} · ${goal.title}</h2><a class="button" href="#/goals" aria-label="Close">×</a></div>
    <div class="meta"><span class="badge">${goal.state}</span><span>${goal.repo}</span><span>${goal.base}</span><span>${usd(goal.spent)}</span><span>attempt ${goal.attempts + 1} of ${goal.max_attempts}</span></div>
    <p class="prose">${goal.spec.text}</p>
    ${goal.question && goal.state === "blocked" ? html`<section class="question"><h2>It asks</h2><p class="prose">${goal.question}</p></section>` : ""}
    ${goal.error ? html`<p class="bad">${goal.error}</p>` : ""}
    ${goal.landed ? html`<p>landed as <code>${goal.landed.slice(0, 12)}</code></p>` : ""}
    ${me.access === "full" ? html`<form class="stack" onSubmit=${(event) => { event.preventDefault(); act(goal.state === "blocked" ? "answer" : "comment", { text }); }}>
      <textarea rows="2" aria-label=${goal.state === "blocked" ? "Your answer" : "A comment for its agent"} placeholder=${goal.state === "blocked" ? "Your answer" : "A comment for its agent"} value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
      <div class="buttons"><button class="primary" disabled=${!text.trim()}>${goal.state === "blocked" ? "Answer" : "Comment"}</button>
      ${goal.state === "draft" ? html`<button type="button" onClick=${() => act("queue")}>Queue</button>` : ""}
      ${over && goal.state !== "done" ? html`<button type="button" onClick=${() => act("retry")}>Retry</button>` : ""}
      ${over ? "" : html`<button type="button" onClick=${() => act("priority", { priority: goal.priority + 1 })} aria-label="Higher priority">▲</button><button type="button" onClick=${() => act("priority", { priority: goal.priority - 1 })} aria-label="Lower priority">▼</button><button type="button" class="danger" onClick=${() => act("cancel")}>Cancel</button>`}</div></form>` : ""}
    ${refusal ? html`<p class="bad" role="alert">${refusal}</p>` : ""}
    ${goal.comments.length ? html`<section><h2>Comments</h2><ul>${goal.comments.map((comment) => html`<li><b>${comment.author}</b> ${comment.body}</li>`)}</ul></section>` : ""}
    <section><h2>Log</h2><ul class="log">${shown.map((line) => html`<li key=${line.id}><span class="dim">${ago(line.at, Date.now())} ${line.event.type || ""}</span> ${firstLine(logLine(line)).slice(0, 240)}</li>`)}</ul></section></aside>`;
}

export function Goals({ chosen, me }) {
  const { goals, ready, error, budgets } = useGoals();
  const [making, setMaking] = useState(false);
  return html`<div class=${"screen wide" + (chosen ? " with-goal" : "")}><div class="board-side"><div class="screen-head"><h1>Goals</h1>${(budgets || []).map((budget) => html`<span class="badge" key=${budget.scope}>${budget.scope}: ${usd(budget.spent)}${budget.cap.micro_usd === null ? "" : " of " + usd({ micro_usd: budget.cap.micro_usd })}</span>`)}${me.access === "full" ? html`<button class="primary" onClick=${() => setMaking(true)}>New goal</button>` : ""}</div>
    ${error ? html`<p class="bad" role="alert">${error}</p>` : ""}
    ${ready && !goals.length && !error ? html`<p class="empty">No goals yet. <code>ralph goal add</code> makes one, <code>ralph work</code> works on them.</p>` : ""}
    ${goals.length ? html`<div class="board">${COLUMNS.map(([name, states]) => {
      const list = goals.filter((goal) => states.includes(goal.state)).sort((one, other) => other.priority - one.priority || other.updated - one.updated);
      return html`<section class="column" aria-label=${name}><h2>${name} <span class="dim">${list.length}</span></h2><ul class="cards">${list.slice(0, SHOWN).map((goal) => html`<${Card} key=${goal.id} goal=${goal} />`)}</ul></section>`;
    })}</div>` : ""}</div>
    ${chosen ? html`<${Goal} key=${chosen} id=${chosen} me=${me} />` : ""}
    ${making ? html`<${NewGoal} me=${me} onClose=${() => setMaking(false)} />` : ""}</div>`;
}
