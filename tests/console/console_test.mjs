// Uses the console like a person on call: what it shows, finds, changes and refuses, with a mouse, by the keyboard, on a
// phone, in the dark, and when something is wrong.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, assertAccessible, assertQuiet, assertTidy, countDrawn, text } from "./browser.mjs";
import { Server } from "./server.mjs";

const TABS = ["overview", "page", "hosts", "sources", "workers", "control"];
const VIEWS = [...TABS, "terms"];
const NASTY = "http://host0.test/%3Cimg%20src=x%20onerror=alert(1)%3E";

let browser;
let server;

// Takes pages and reports on them, like a worker.
async function crawl(count) {
  const lines = (await server.cli(["--json", "next", String(count), "--worker", "robot <b>", "--wait", "2s"])).trim().split("\n").filter(Boolean);
  await server.cli(["report"], lines.map(line => `${JSON.parse(line).lease_id} changed\n`).join(""));
  return lines.length;
}

before(async () => {
  [browser, server] = await Promise.all([Browser.start(), new Server({ args: ["--crawl-rate", "50"] }).start()]);
});
after(async () => {
  await browser?.stop();
  await server?.remove();
});

test("an empty server says how to add pages", async () => {
  const page = await browser.open(server);
  await page.getByText("There are no pages yet").waitFor();
  assert.match(await text(page, ".hint"), /freshet upsert https/);
  assert.equal(await text(page, "#state"), "serving");
  assert.equal(await page.title(), "Overview – Freshet");
  await page.goto(`${server.url}/#workers`);
  await page.getByText("No worker has asked for pages").waitFor();
  assertQuiet(page);
  await page.context().close();
});

test("figures move, and plots are drawn", async () => {
  const urls = Array.from({ length: 40 }, (_, i) => `http://host${i}.test/page`);
  await server.cli(["upsert", ...urls, NASTY]);
  const page = await browser.open(server);
  await page.getByText("No worker is connected").waitFor();
  assert.ok(await crawl(10) > 0);
  // The list of assignments changes without a reload.
  await page.getByRole("region", { name: "Latest assignments" }).getByText("robot <b>").first().waitFor();
  await page.waitForFunction(() => /achieved [0-9.]+ \/s/.test(document.querySelector(".summary").textContent));
  const now = () => page.evaluate(() => document.querySelector("#about").textContent);
  const then = await now();
  await page.waitForFunction(before => document.querySelector("#about").textContent !== before, then);
  assert.equal(await countDrawn(page), 9);
  // A key moves the pointer in a plot and shows the values there.
  await page.locator("canvas").first().focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /target [0-9.]+ \/s, achieved/.test(document.querySelector("#spoken").textContent));
  await page.getByText("As a table").first().click();
  await page.locator("details[open] tbody tr").first().waitFor();
  await page.getByLabel("Show the last").selectOption("30d");
  await page.getByText("As a table").first().click();
  await page.getByText("As a table").first().click();
  // The month has only the step that has just begun, or two at the turn of an hour.
  await page.waitForFunction(() => [1, 2].includes(document.querySelectorAll("details[open] tbody tr").length));
  await assertAccessible(page);
  assertQuiet(page);
  await page.context().close();
});

test("a URL is found and explained, and rechecked", async () => {
  await server.cli(["signal", "http://host0.test/page", "cdn"]);
  const page = await browser.open(server);
  await page.getByRole("link", { name: "Find a page" }).click();
  await page.getByLabel("URL").fill("host0.test/nothing");
  await page.getByRole("button", { name: "Explain" }).click();
  await page.locator(".hint").waitFor();
  await page.getByLabel("URL").fill("http://host0.test/page");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "http://host0.test/page" }).waitFor();
  assert.match(await text(page, ".why"), /\w+ \w+/);
  assert.match(await page.locator("main").innerText(), /95%: [0-9.]+ to/);
  assert.equal(await countDrawn(page), 3);
  await assertAccessible(page);
  await page.getByRole("button", { name: "Crawl soon" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Recheck" }).click();
  await page.getByText("The page will be crawled soon.").first().waitFor();
  // Names by clients are always shown as text.
  await page.goto(`${server.url}/#page?url=${encodeURIComponent(NASTY)}`);
  await page.getByRole("heading", { name: NASTY }).waitFor();
  assert.equal(await page.locator("main img, main b > b").count(), 0);
  // The server answers a wrong URL with 400 or 404, and the browser logs such answers.
  assertQuiet(page, /status of 40[04]/);
  await page.context().close();
});

test("the keyboard alone changes the rate, after a confirmation", async () => {
  const page = await browser.open(server);
  await page.locator("#tabs a").first().waitFor();
  const press = async (key, times = 1) => { for (let i = 0; i < times; ++i) await page.keyboard.press(key); };
  const focused = () => page.evaluate(() => document.activeElement.textContent || document.activeElement.id);
  await press("Tab");
  assert.equal(await focused(), "Skip to the content");
  await press("Tab", TABS.length);
  assert.equal(await focused(), "Control");
  await press("Enter");
  await page.getByRole("heading", { name: "Control" }).waitFor();
  await press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "rate");
  await page.getByText("Now 50 /s.").waitFor();
  await page.keyboard.type("33.5");
  await press("Enter");
  await page.getByRole("dialog").getByText("From 50 /s to 33.5 /s.").waitFor();
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByText("Now 50 /s.").waitFor();
  await press("Enter");
  await page.getByRole("dialog").waitFor();
  // A second request directly after a cancel gets its dialog, although the browser reports the first close later.
  await page.evaluate(() => {
    document.querySelector("dialog").close();
    document.activeElement.form.requestSubmit();
  });
  // The first button of the dialog cancels, the second one confirms.
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Set the rate");
  await press("Enter");
  await page.getByText("Now 33.5 /s.").waitFor();
  assert.match(await text(page, "#banner"), /The crawl rate is 33.5 \/s; it was 50 \/s/);
  assert.match(await server.cli(["stats"]), /33\.5/);
  assert.match(await server.cli(["--json", "audit"]), /SetCrawlRate.*33\.5/);
  await assertAccessible(page);
  assertQuiet(page);
  await page.context().close();
});

test("a pause, a policy and the settings of a host", async () => {
  const page = await browser.open(server);
  await page.goto(`${server.url}/#control`);
  await page.getByLabel("Reason").fill("deploy <i>");
  await page.getByRole("button", { name: "Pause…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused: deploy <i>.").waitFor();
  await page.waitForFunction(() => document.querySelector("#state").textContent === "paused");
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page.getByText("Not paused.").waitFor();
  await page.getByLabel("New policy").selectOption("greedy");
  await page.getByRole("button", { name: "Set the policy…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Set the policy" }).click();
  await page.getByText("Now greedy").waitFor();
  await page.goto(`${server.url}/#hosts?contains=host7`);
  await page.getByRole("button", { name: "Settings of host7.test" }).click();
  await page.getByLabel("Delay between assignments, seconds").fill("12.5");
  await page.getByLabel("Maximum number of crawls").fill("500");
  await page.getByLabel("in any period of, hours").fill("12");
  await page.getByLabel("Hours of the day, UTC").fill("22:00-06:00");
  await page.getByLabel("Block for, hours").fill("2");
  await page.getByRole("button", { name: "Save…" }).click();
  await page.getByRole("dialog").getByText("Blocked for 2.0 h from now").waitFor();
  await page.getByRole("dialog").getByText("Maximum number of crawls: from no limit to 500 in 12.0 h").waitFor();
  await page.getByRole("dialog").getByText("Hours: from always to 22:00-06:00").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Change" }).click();
  await page.getByText(/blocked, ends in/).waitFor();
  const told = await server.cli(["host", "host7.test"]);
  assert.match(told, /12\.5/);
  assert.match(told, /500/);
  assert.match(told, /22:00-06:00/);
  // A wrong span of hours is refused with a message, and changes nothing.
  await page.getByRole("button", { name: "Settings of host7.test" }).click();
  await page.getByLabel("Hours of the day, UTC").fill("25:00-26:00");
  await page.getByRole("button", { name: "Save…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Change" }).click();
  await page.getByText(/hours: /).waitFor();
  assert.match(await server.cli(["host", "host7.test"]), /22:00-06:00/);
  await page.keyboard.press("Escape");
  await page.getByLabel("State").selectOption("blocked");
  await page.getByText("1 host shown").waitFor();
  await assertAccessible(page);
  assertQuiet(page, /status of 400/);
  await page.context().close();
});

test("every view is tidy and accessible: wide, on a phone, light and dark", async () => {
  for (const options of [{ dark: true }, { width: 360, height: 740 }, { width: 360, height: 740, dark: true }]) {
    const page = await browser.open(server, options);
    for (const view of VIEWS) {
      await page.goto(`${server.url}/#${view === "page" ? `page?url=${encodeURIComponent("http://host0.test/page")}` : view}`);
      await page.locator("main h2").first().waitFor({ state: "attached" });
      await page.waitForFunction(() => !document.querySelector("main").textContent.includes("Loading…") && document.querySelector("#about").textContent !== "");
      await assertTidy(page);
      if (options.dark) await assertAccessible(page);
    }
    assertQuiet(page);
    await page.context().close();
  }
});

test("a term has its meaning as a tooltip, and leads to the list of terms", async () => {
  const page = await browser.open(server);
  const link = page.getByRole("link", { name: "leases", exact: true });
  await link.focus();
  assert.match(await link.getAttribute("title"), /^lease \(visibility timeout, .*\): The right of one worker/);
  // The numbers beside the link change, but the focus stays, and so does a tooltip.
  const then = await text(page, "#about");
  await page.waitForFunction(before => document.querySelector("#about").textContent !== before, then);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "leases");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Terms", exact: true }).waitFor();
  assert.match(await text(page, ".hint"), /^lease .*until a deadline/s);
  // For an unknown word the page shows only the list.
  await page.goto(`${server.url}/#terms?word=constructor`);
  await page.waitForFunction(() => document.querySelector(".hint") === null && document.querySelectorAll(".terms dt").length > 20);
  assertQuiet(page);
  await page.context().close();
});

test("the colours can be chosen and are kept", async () => {
  const page = await browser.open(server);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByLabel("Colours").selectOption("dark");
  assert.notEqual(await ground(), light);
  await page.reload();
  assert.notEqual(await ground(), light);
  await page.context().close();
});

test("who has not the role may look and change nothing", async () => {
  const dir = process.env.FRESHET_WORK;
  const digest = token => createHash("sha256").update(token).digest("hex");
  const identity = role => `  - name: ${role}\n    token_sha256: ${digest(`${role}-token`)}\n    roles: [${role}]\n`;
  writeFileSync(join(dir, "auth.yaml"), `identities:\n${["reader", "worker", "admin"].map(identity).join("")}`);
  const guarded = await new Server({ args: ["--auth-file", join(dir, "auth.yaml")] }).start();
  try {
    const page = await browser.open(guarded, { token: "reader-token" });
    await page.getByText("reader, read-only").waitFor();
    await page.goto(`${guarded.url}/#control`);
    await page.getByText("The identity reader may not do this").first().waitFor();
    assert.ok(await page.getByRole("button", { name: "Set the rate…" }).isDisabled());
    // A request without the page is refused, too.
    const status = await page.evaluate(async () => (await fetch("/console/api/rate", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"crawl_rate_per_second": 1}' })).status);
    assert.equal(status, 403);
    await page.context().close();
    const admin = await browser.open(guarded, { token: "admin-token" });
    await admin.getByText("admin, may change settings").waitFor();
    await admin.context().close();
    assert.equal((await fetch(guarded.url)).status, 401);
    const worker = await fetch(guarded.url, { headers: { Authorization: `Basic ${btoa("x:worker-token")}` } });
    assert.equal(worker.status, 403);
  } finally {
    await guarded.remove();
  }
});

test("a restart shows as a lost connection, and loses no history", async () => {
  const page = await browser.open(server);
  await page.waitForFunction(() => document.querySelectorAll(".summary")[0]?.textContent.includes("target"));
  const first = async () => page.evaluate(async () => (await (await fetch("/console/api/history")).json()).time[0]);
  const oldest = await first();
  await server.stop();
  await page.getByText("No answer from the server since").waitFor();
  assert.equal(await text(page, "#state"), "connection lost");
  await server.start();
  await page.waitForFunction(() => document.querySelector("#state").textContent === "serving");
  assert.equal(await first(), oldest);
  await page.context().close();
});

test("a store that fails is said in words", async () => {
  const page = await browser.open(server);
  await page.waitForFunction(() => document.querySelector("#state").textContent === "serving");
  await server.breakDisk();
  await server.cli(["upsert", "http://late.test/"]).catch(() => {});
  await page.getByText("The store has failed").waitFor();
  assert.equal(await text(page, "#state"), "store failed");
  await assertTidy(page);
  await assertAccessible(page);
  await page.context().close();
});
