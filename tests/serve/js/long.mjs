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
  // What a jump through the list costs beyond two frames of an idle page, as medians of thirty: a busy machine draws slowly by itself.
  seen.scroll_ms = await page.evaluate(async () => {
    const list = document.querySelector(".feed");
    const median = async (act) => {
      const times = [];
      for (let number = 0; number < 30; number++) {
        const started = performance.now();
        act(number);
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
        times.push(performance.now() - started);
      }
      return times.sort((one, other) => one - other)[15];
    };
    const idle = await median(() => {});
    return (await median((number) => { list.scrollTop = (list.scrollHeight * ((number * 7) % 30)) / 30; })) - idle;
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
