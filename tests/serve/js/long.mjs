// Ten thousand entries: how many rows are drawn, how long a scroll takes, and whether the page comes back to a new server.
import { existsSync, writeFileSync } from "node:fs";
import { open } from "./browser.mjs";

const [modules, browser, link, id, sign] = process.argv.slice(2);
const { context, page, seen } = await open(modules, browser, link);
try {
  await page.goto(link);
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await page.evaluate((run) => { location.hash = "#/run/" + run; }, id);
  const feed = page.getByRole("log", { name: "Feed" });
  await feed.getByText("entry 9999", { exact: true }).waitFor();
  seen.rows = await feed.locator("[data-row]").count();
  // The median of thirty jumps through the list, each up to the next frame that is drawn: a busy machine has slow ones, too.
  seen.scroll_ms = await page.evaluate(async () => {
    const list = document.querySelector(".feed");
    const times = [];
    for (let jump = 0; jump < 30; jump++) {
      const started = performance.now();
      list.scrollTop = (list.scrollHeight * ((jump * 7) % 30)) / 30;
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      times.push(performance.now() - started);
    }
    return times.sort((one, other) => one - other)[15];
  });
  writeFileSync(sign + ".seen", "");
  for (let wait = 0; wait < 600 && !existsSync(sign); wait++) await page.waitForTimeout(50);
  await page.getByRole("status", { name: "connected", exact: true }).waitFor();
  seen.back = true;
} catch (error) {
  seen.failed = String(error);
}
await context.close();
console.log(JSON.stringify(seen));
process.exit(0);
