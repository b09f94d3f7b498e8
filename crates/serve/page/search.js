// Search in everything that runs have recorded.

import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { get } from "./api.js";

// The words in a text, marked; as text.
function marked(text, words) {
  const at = text.toLowerCase().indexOf(words.toLowerCase());
  if (at < 0) return text;
  return html`${text.slice(0, at)}<mark>${text.slice(at, at + words.length)}</mark>${text.slice(at + words.length)}`;
}

export function Search({ words }) {
  const [state, setState] = useState(null);
  useEffect(() => {
    let left = false;
    setState(null);
    get("/v1/search?q=" + encodeURIComponent(words)).then((value) => left || setState(value), (refused) => left || setState({ hits: [], error: refused.message }));
    return () => { left = true; };
  }, [words]);
  const hits = state?.hits || [];
  return html`<div class="screen"><div class="screen-head"><h1>Search</h1><span class="dim" role="status">${!state ? "…" : state.error ? "" : hits.length + (state.complete ? "" : " and more") + " for “" + words + "”"}</span></div>
    ${state?.error ? html`<p class="bad">${state.error}</p>` : ""}
    <ul class="hits">${hits.map((hit) => html`<li><a href=${"#/run/" + encodeURIComponent(hit.run) + "/" + hit.seq}><b>${hit.title || hit.run}</b> <span class="dim">line ${hit.seq}</span><code>${marked(hit.text, words)}</code></a></li>`)}</ul></div>`;
}
