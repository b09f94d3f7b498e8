// The page: who is there, where we are, and the frame around every screen.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { get, logInByLink, post, stream } from "./api.js";
import { NewRun, RunList, Runs } from "./runs.js";
import { Run } from "./run.js";
import { Goals } from "./goals.js";
import { Costs } from "./costs.js";
import { Search } from "./search.js";
import { needsPerson } from "./words.js";

const THEMES = ["system", "light", "dark"];

function theme() {
  return THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system";
}

function showTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

// '#/run/ID' is ['run', 'ID'].
function place() {
  const path = location.hash.replace(/^#\/?/, "");
  const parts = path.split("/").map(decodeURIComponent);
  return parts[0] ? parts : ["runs"];
}

function usePlace() {
  const [at, setAt] = useState(place());
  useEffect(() => {
    const move = () => setAt(place());
    addEventListener("hashchange", move);
    return () => removeEventListener("hashchange", move);
  }, []);
  return at;
}

// The runs as they change, newest first, and whether the server is heard.
function useRuns() {
  const [state, setState] = useState({ runs: [], ready: false, connected: false });
  useEffect(() => {
    const known = new Map();
    let frame = 0;
    let more = {};
    const draw = (change) => {
      more = { ...more, ...change };
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        const runs = [...known.values()].sort((one, other) => other.started - one.started);
        setState((before) => ({ ...before, ...more, runs }));
      });
    };
    return stream(() => "/v1/events", {
      run: (run) => { known.set(run.id, run); draw({}); },
      gone: ({ id }) => { known.delete(id); draw({}); },
      ready: () => draw({ ready: true }),
    }, (connected) => draw({ connected }));
  }, []);
  return state;
}

function Login({ onDone, problem }) {
  const [error, setError] = useState(problem);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await post("/v1/login", { token: new FormData(event.target).get("token").trim() });
      onDone();
    } catch (refused) {
      setError(refused.message);
    }
  };
  return html`<main class="login"><h1>ralph</h1>
    <p>Open the link that <code>ralph serve</code> printed, or paste its token here.</p>
    <form onSubmit=${submit}><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required />
    <button class="primary">Log in</button></form>
    ${error ? html`<p class="bad" role="alert">${error}</p>` : ""}</main>`;
}

const KEYS = [
  ["/", "search"], ["1 2 3", "runs, goals, costs"], ["n", "new run"], ["p", "pause, or go on"], ["s", "write to the agent"],
  ["a", "answer"], ["x", "stop"], ["End", "the newest of the feed"], ["?", "these keys"],
];

function Help({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2>
    <table class="keys">${KEYS.map(([key, what]) => html`<tr><td><kbd>${key}</kbd></td><td>${what}</td></tr>`)}</table>
    <form method="dialog"><button class="primary">Close</button></form></dialog>`;
}

function useKeys(onKey) {
  useEffect(() => {
    const take = (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (onKey(event.key)) event.preventDefault();
    };
    addEventListener("keydown", take);
    return () => removeEventListener("keydown", take);
  });
}

function Frame({ me }) {
  const at = usePlace();
  const { runs, ready, connected } = useRuns();
  const [look, setLook] = useState(theme());
  const [help, setHelp] = useState(false);
  const [making, setMaking] = useState(false);
  const search = useRef(null);
  const waiting = runs.filter(needsPerson).length;
  useEffect(() => showTheme(look), [look]);
  useEffect(() => {
    document.title = (waiting ? "(" + waiting + ") " : "") + "ralph" + (at[1] ? " · " + (runs.find((run) => run.id === at[1])?.title || at[1]) : "");
  }, [waiting, at[1], runs]);
  useKeys((key) => {
    const places = { 1: "#/runs", 2: "#/goals", 3: "#/costs" };
    if (places[key]) location.hash = places[key];
    else if (key === "/") search.current.focus();
    else if (key === "?") setHelp(true);
    else if (key === "n" && me.access === "full") setMaking(true);
    else return false;
    return true;
  });
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(look) + 1) % THEMES.length];
    localStorage.setItem("theme", next);
    setLook(next);
  };
  const link = (name, text, badge) => html`<a href=${"#/" + name} aria-current=${at[0] === name || (name === "runs" && at[0] === "run") ? "page" : undefined}>${text}${badge ? html` <span class="count" aria-label=${badge + " wait for you"}>${badge}</span>` : ""}</a>`;
  const screens = {
    runs: () => html`<${Runs} runs=${runs} ready=${ready} me=${me} onNew=${() => setMaking(true)} />`,
    run: () => html`<div class="two"><aside class="list" aria-label="Runs"><${RunList} runs=${runs} chosen=${at[1]} /></aside><${Run} key=${at[1]} id=${at[1]} summary=${runs.find((run) => run.id === at[1])} me=${me} line=${at[2]} /></div>`,
    goals: () => html`<${Goals} chosen=${at[1]} me=${me} />`,
    costs: () => html`<${Costs} runs=${runs} />`,
    search: () => html`<${Search} words=${at[1] || ""} runs=${runs} />`,
  };
  return html`<a class="skip" href="#main">To the content</a>
    <header class="top">
      <a class="brand" href="#/runs" aria-label="ralph, the list of runs"><img src="/page/icon.svg" alt="" width="22" height="22" /> ralph</a>
      <nav aria-label="Screens">${link("runs", "Runs", waiting)}${link("goals", "Goals")}${link("costs", "Costs")}</nav>
      <form class="find" role="search" onSubmit=${(event) => { event.preventDefault(); location.hash = "#/search/" + encodeURIComponent(search.current.value); search.current.blur(); }}>
        <input ref=${search} type="search" placeholder="Search" aria-label="Search in runs" /></form>
      <button class="quiet" onClick=${nextTheme} aria-label=${"Colours: " + look} title=${"Colours: " + look}>${{ system: "◐", light: "☀", dark: "☾" }[look]}</button>
      <button class="quiet keys-button" onClick=${() => setHelp(true)} aria-label="Keys" title="Keys">?</button>
      <span class=${"line-state " + (connected ? "good" : "bad")} role="status" aria-label=${connected ? "connected" : "not connected"} title=${connected ? "connected" : "not connected"}>●<span class="line-word"> ${connected ? "connected" : "reconnecting"}</span></span>
    </header>
    <main id="main" tabindex="-1">${(screens[at[0]] || screens.runs)()}</main>
    ${help ? html`<${Help} onClose=${() => setHelp(false)} />` : ""}
    ${making ? html`<${NewRun} me=${me} onClose=${() => setMaking(false)} />` : ""}`;
}

function App() {
  const [me, setMe] = useState(null);
  const [problem, setProblem] = useState(null);
  const enter = async () => {
    try {
      await logInByLink();
    } catch (refused) {
      setProblem(refused.message);
    }
    try {
      setMe(await get("/v1/me"));
    } catch (refused) {
      setMe({ access: "none", error: refused.status === 401 ? null : refused.message });
    }
  };
  useEffect(() => {
    enter();
    // A link that is opened in a page that is there already.
    const linked = () => location.hash.startsWith("#token=") && enter();
    addEventListener("hashchange", linked);
    return () => removeEventListener("hashchange", linked);
  }, []);
  if (!me) return html`<p class="loading" role="status">…</p>`;
  if (me.access === "none") return html`<${Login} onDone=${enter} problem=${problem || me.error} />`;
  return html`<${Frame} me=${me} />`;
}

showTheme(theme());
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
