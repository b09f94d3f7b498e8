// Costs and tokens over time, as charts.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import uPlot from "./vendor/uplot.js";
import { get } from "./api.js";
import { base, count, day, money, moneyTicks, total } from "./words.js";

const HEIGHT = 180;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { text: of("--dim"), line: of("--edge"), marks: [of("--accent"), of("--blue"), of("--amber"), of("--violet")] };
}

// A chart of series [name, values, 'bars' | 'line'] over x. Drawn anew when the colours change.
export function Chart({ title, x, series, format, ticks, names }) {
  const box = useRef(null);
  const plot = useRef(null);
  const key = JSON.stringify([x, series.map(([name, values]) => [name, values])]);
  useEffect(() => {
    const draw = () => {
      plot.current?.destroy();
      const { text, line, marks } = colours();
      const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
      const label = (value) => (names ? names[value - 1] ?? "" : String(value));
      plot.current = new uPlot({
        width: Math.max(200, box.current.clientWidth), height: HEIGHT,
        scales: { x: { time: false, range: [0.4, Math.max(1, x.length) + 0.6] }, y: { range: (_, least, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [{ ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500], values: (_, splits) => splits.map((value) => (Number.isInteger(value) && value >= 1 && value <= x.length ? label(value) : "")) }, { ...axis, size: 64, values: (_, splits) => (ticks ? ticks(splits) : splits.map((value) => format(value))) }],
        series: [{ label: names ? "day" : "iteration", value: (_, value) => (value == null ? "–" : label(value)) }, ...series.map(([name, , kind], at) => ({
          label: name, stroke: marks[at % marks.length], width: kind === "bars" ? 0 : 2, points: { show: kind !== "bars" && x.length < 40, size: 5 },
          fill: kind === "bars" ? marks[at % marks.length] + "b0" : undefined, paths: kind === "bars" ? uPlot.paths.bars({ size: [0.6, 40] }) : undefined,
          value: (_, value) => (value == null ? "–" : format(value)),
        }))],
        cursor: { drag: { x: false, y: false } },
      }, [x, ...series.map(([, values]) => values)], box.current);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, box.current.clientWidth), height: HEIGHT }));
    resized.observe(box.current);
    const recoloured = new MutationObserver(draw);
    recoloured.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    // A system changes its colours in the evening, without a word in the page.
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", draw);
    return () => { resized.disconnect(); recoloured.disconnect(); system.removeEventListener("change", draw); plot.current?.destroy(); plot.current = null; };
  }, [key]);
  return html`<figure class="chart" role="img" aria-label=${title}><figcaption>${title}</figcaption><div ref=${box}></div></figure>`;
}

function byDay(iterations) {
  const days = new Map();
  for (const one of iterations) {
    const name = day(one.at);
    const sums = days.get(name) || { cost: 0, tokens: 0, cached: 0, count: 0 };
    sums.cost += one.cost_usd;
    sums.tokens += total(one.tokens);
    sums.cached += one.tokens.cache_read;
    sums.count += 1;
    days.set(name, sums);
  }
  return days;
}

const SHOWN = 200;

export function Costs({ runs }) {
  const [iterations, setIterations] = useState(null);
  const [error, setError] = useState(null);
  const stamp = runs.reduce((sum, run) => sum + run.iterations, 0);
  useEffect(() => {
    let left = false;
    get("/v1/costs").then((value) => left || setIterations(value.iterations), (refused) => left || setError(refused.message));
    return () => { left = true; };
  }, [stamp]);
  if (error) return html`<div class="screen"><p class="bad">${error}</p></div>`;
  if (!iterations) return html`<div class="screen"><p class="dim">…</p></div>`;
  const days = byDay(iterations);
  const names = [...days.keys()];
  const sums = [...days.values()];
  const folders = new Map();
  for (const one of iterations) folders.set(one.folder, (folders.get(one.folder) || 0) + one.cost_usd);
  const all = iterations.reduce((sum, one) => sum + one.cost_usd, 0);
  const last = iterations.slice(-SHOWN);
  const dayNumbers = names.map((_, at) => at + 1);
  const numbers = last.map((_, at) => at + 1);
  return html`<div class="screen"><div class="screen-head"><h1>Costs</h1></div>
    ${iterations.length ? "" : html`<p class="empty">No iteration is over yet.</p>`}
    <dl class="sums"><div><dt>together</dt><dd>${money(all)}</dd></div><div><dt>iterations</dt><dd>${iterations.length}</dd></div><div><dt>tokens</dt><dd>${count(iterations.reduce((sum, one) => sum + total(one.tokens), 0))}</dd></div><div><dt>today</dt><dd>${money(days.get(day(Date.now()))?.cost || 0)}</dd></div></dl>
    ${iterations.length ? html`<div class="charts">
      <${Chart} title="USD a day" x=${dayNumbers} names=${names} series=${[["USD", sums.map((one) => one.cost), "bars"]]} format=${money} ticks=${moneyTicks} />
      <${Chart} title="Tokens a day" x=${dayNumbers} names=${names} series=${[["tokens", sums.map((one) => one.tokens), "bars"], ["of these from cache", sums.map((one) => one.cached), "line"]]} format=${count} />
      <${Chart} title=${"USD of the last " + last.length + " iterations"} x=${numbers} series=${[["USD", last.map((one) => one.cost_usd), "bars"]]} format=${money} ticks=${moneyTicks} />
      <${Chart} title=${"Tokens of the last " + last.length + " iterations"} x=${numbers} series=${[["in", last.map((one) => one.tokens.input), "line"], ["out", last.map((one) => one.tokens.output), "line"], ["from cache", last.map((one) => one.tokens.cache_read), "line"]]} format=${count} /></div>
    <section><h2>By folder</h2><table class="table"><tbody>${[...folders].sort((one, other) => other[1] - one[1]).map(([folder, cost]) => html`<tr><td title=${folder}>${base(folder)}</td><td class="number">${money(cost)}</td></tr>`)}</tbody></table></section>
    <section><h2>By run</h2><table class="table"><tbody>${runs.slice(0, 30).map((run) => html`<tr><td><a href=${"#/run/" + encodeURIComponent(run.id)}>${run.title || run.id}</a></td><td class="number">${run.iterations}</td><td class="number">${money(run.cost_usd)}</td></tr>`)}</tbody></table></section>` : ""}
  </div>`;
}
