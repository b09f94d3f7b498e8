// A headless chromium with nothing of its own: no profile, no network but the server's, no console error unseen.
import { createRequire } from "node:module";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export async function open(modules, executablePath, link) {
  const require = createRequire(pathToFileURL(modules + "/").href);
  const { chromium } = require("playwright-core");
  const profile = mkdtempSync(join(tmpdir(), "profile-"));
  const context = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS, viewport: { width: 1280, height: 800 } });
  const page = context.pages()[0] || (await context.newPage());
  const seen = { steps: [], errors: [], outside: [] };
  const origin = new URL(link).origin;
  // A server that goes away is part of a test; everything else that a page complains about is an error.
  page.on("console", (message) => message.type() === "error" && !/ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)/.test(message.text()) && seen.errors.push(message.text()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => !request.url().startsWith(origin) && !request.url().startsWith("data:") && seen.outside.push(request.url()));
  page.setDefaultTimeout(45000);
  return { context, page, seen, origin };
}
