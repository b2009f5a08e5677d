// Makes the pictures of docs/console.md. usage: screenshots.mjs DIRECTORY. They show an empty server, one that plays ten
// years of a site's history, and one whose disk fails.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { assertTidy, Browser } from "./browser.mjs";
import { Server } from "./server.mjs";

const directory = process.argv[2];
const work = process.env.FRESHET_WORK;
const SECONDS = 120;
const DARK = { dark: true };
const PHONE = { width: 360, height: 780 };

mkdirSync(directory, { recursive: true });
const browser = await Browser.start();

// Takes a picture once the text `ready` is visible and `act` is done.
async function shoot(server, name, { view = "overview", ready, options = {}, full = false, act }) {
  const page = await browser.open(server, options);
  await page.goto(`${server.url}/#${view}`);
  await page.waitForFunction(() => document.querySelector("#about").textContent !== "");
  if (ready) await page.getByText(ready).first().waitFor();
  await act?.(page);
  // The plots need data of a few seconds.
  if (view === "overview") await page.waitForFunction(() => /achieved [0-9]/.test(document.querySelector(".summary").textContent) && document.querySelector(".tile b"));
  if (view === "overview") await page.waitForFunction(() => document.querySelector("main table"));
  await assertTidy(page);
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: full });
  console.log(`${name}.png`);
  await page.context().close();
}

async function demo() {
  const run = spawn(join(process.env.FRESHET_REPOSITORY, "lab/demo/run.sh"), ["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--seconds", String(SECONDS), "--run-dir", join(work, "run")]);
  let out = "";
  run.stdout.on("data", data => { out += data; });
  run.stderr.on("data", data => { out += data; });
  const http = () => /console: http:\/\/([^/]+)\//.exec(out)?.[1];
  while (!http()) {
    if (run.exitCode !== null) throw new Error(`the demonstration ended: ${out}`);
    await once(run.stdout, "data");
  }
  return { http: http(), url: `http://${http()}`, stop: async () => { const gone = once(run, "exit"); run.kill("SIGTERM"); await gone; } };
}

// The URL of a page with several crawls, or of any page.
async function busyUrl(server) {
  const overview = await (await fetch(`${server.url}/console/api/overview`)).json();
  for (const { url } of overview.recent) {
    const answer = await (await fetch(`${server.url}/console/api/page?url=${encodeURIComponent(url)}`)).json();
    if (answer.explanation.observations.length > 5 && answer.explanation.decision === "DECISION_BELOW_PRICE") return url;
  }
  return overview.recent[0].url;
}

const empty = await new Server().start();
await shoot(empty, "idle-light", { ready: "There are no pages yet" });
await shoot(empty, "idle-phone", { ready: "There are no pages yet", options: PHONE });
await empty.cli(["upsert", "http://example.org/", "http://example.org/news"]);
await empty.breakDisk();
await empty.cli(["upsert", "http://example.org/late"]).catch(() => {});
await shoot(empty, "store-failed-light", { ready: "The store has failed" });
await shoot(empty, "store-failed-dark", { ready: "The store has failed", options: DARK });
await empty.remove();

const busy = await demo();
// Waits until there is enough data for the plots.
for (let up = 0; up < SECONDS * 0.6;) {
  await new Promise(resolve => { setTimeout(resolve, 1000); });
  const overview = await (await fetch(`${busy.url}/console/api/overview`)).json();
  up = overview.started ? overview.now - overview.started : 0;
}
await shoot(busy, "load-light", { full: true });
await shoot(busy, "load-dark", { options: DARK });
await shoot(busy, "load-phone", { options: PHONE });
const view = `page?url=${encodeURIComponent(await busyUrl(busy))}`;
await shoot(busy, "page-light", { view, ready: "Next crawl expected", full: true });
await shoot(busy, "page-dark", { view, ready: "Next crawl expected", options: DARK });
await shoot(busy, "page-phone", { view, ready: "Next crawl expected", options: PHONE });
await shoot(busy, "sources-light", { view: "sources", ready: "Lowest trust, by source and host" });
await shoot(busy, "hosts-light", { view: "hosts", ready: "shown," });
await shoot(busy, "workers-dark", { view: "workers", ready: "seen last come first", options: DARK });
await shoot(busy, "control-light", { view: "control", ready: "Now ", act: async page => {
  await page.getByLabel("New rate").fill("200");
  await page.getByRole("button", { name: "Set the rate…" }).click();
} });
await busy.stop();
await browser.stop();
