// Differences with colours: from a text that git wrote, or from two texts.

import { html } from "./vendor/preact-htm.js";

// Beyond so many lines, two texts are shown one behind the other: comparing them would take too long.
const COMPARED_MAX = 400;

// The lines of two texts as ['-', line], ['+', line] or [' ', line].
export function compare(before, after) {
  const one = before === "" ? [] : before.split("\n");
  const other = after === "" ? [] : after.split("\n");
  if (one.length * other.length > COMPARED_MAX * COMPARED_MAX) {
    return [...one.map((line) => ["-", line]), ...other.map((line) => ["+", line])];
  }
  const width = other.length + 1;
  const longest = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      longest[i * width + j] = one[i] === other[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < one.length && j < other.length) {
    if (one[i] === other[j]) {
      lines.push([" ", one[i++]]);
      j++;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) lines.push(["-", one[i++]]);
    else lines.push(["+", other[j++]]);
  }
  while (i < one.length) lines.push(["-", one[i++]]);
  while (j < other.length) lines.push(["+", other[j++]]);
  return lines;
}

export function counted(lines) {
  return [lines.filter(([sign]) => sign === "+").length, lines.filter(([sign]) => sign === "-").length];
}

const KIND = { "+": "added", "-": "removed", "@": "hunk", " ": "same" };
const NAME = { "+": "added: ", "-": "removed: " };

export function Lines({ lines, most }) {
  const shown = most ? lines.slice(0, most) : lines;
  return html`<pre class="diff">${shown.map(([sign, line]) => html`<span class=${"line " + (KIND[sign] || "same")}><span class="sign" aria-label=${NAME[sign] || ""}>${sign === "@" ? "" : sign}</span>${line}\n</span>`)}${
    shown.length < lines.length ? html`<span class="line hunk">… ${lines.length - shown.length} more lines</span>` : ""
  }</pre>`;
}

// The files of a unified diff.
export function files(text) {
  const found = [];
  let current = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) {
      current = { path: line.slice(line.lastIndexOf(" b/") + 3), lines: [], added: 0, removed: 0 };
      found.push(current);
    } else if (!current || /^(index |--- |\+\+\+ |new file|deleted file|old mode|new mode|similarity|rename )/.test(line)) {
      continue;
    } else if (line.startsWith("@@")) current.lines.push(["@", line]);
    else if (line.startsWith("+")) {
      current.added++;
      current.lines.push(["+", line.slice(1)]);
    } else if (line.startsWith("-")) {
      current.removed++;
      current.lines.push(["-", line.slice(1)]);
    } else if (line) current.lines.push([" ", line.slice(1)]);
  }
  return found;
}
