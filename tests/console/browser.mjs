// Starts a browser and checks its pages: no complaints, accessible, tidy.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb"];

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: FLAGS, env: { ...process.env, HOME: mkdtempSync(join(process.env.FRESHET_WORK, "home-")) } });
    return browser;
  }

  // Opens the console in a fresh profile.
  async open(server, { width = 1280, height = 900, dark = false, token = "" } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce",
      httpCredentials: token ? { username: "operator", password: token } : undefined });
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    page.complaints = [];
    page.elsewhere = [];
    page.on("console", message => { if (["error", "warning"].includes(message.type())) page.complaints.push(message.text()); });
    page.on("pageerror", error => page.complaints.push(String(error)));
    page.on("request", request => {
      if (new URL(request.url()).host !== server.http) page.elsewhere.push(request.url());
    });
    await page.goto(server.url);
    return page;
  }

  async stop() { await this.browser.close(); }
}

export const text = (page, selector) => page.locator(selector).first().innerText();

// Checks that the browser has only allowed complaints, and that all requests went to the server.
export function assertQuiet(page, allowed = /$^/) {
  assert.deepEqual(page.complaints.filter(complaint => !allowed.test(complaint)), []);
  assert.deepEqual(page.elsewhere, []);
}

// Checks the page with axe for WCAG 2.1 A and AA.
export async function assertAccessible(page) {
  // Evaluates like a debugger, because the page's security policy would forbid the script.
  await page.evaluate(axe);
  const result = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  assert.deepEqual(result.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.html).slice(0, 3).join(" | ")}`), []);
}

// Checks that the page is not wider than its window and that no texts overlap.
export async function assertTidy(page) {
  const found = await page.evaluate(() => {
    const width = document.scrollingElement.scrollWidth - innerWidth;
    const boxes = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.textContent.trim() || node.parentElement.closest(".unseen, .skip, script, noscript, option, dialog:not([open])")) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const clip = node.parentElement.closest(".scroll, td.wide")?.getBoundingClientRect();
      for (const box of range.getClientRects()) {
        if (box.width < 1 || box.height < 1) continue;
        const left = Math.max(box.left, clip?.left ?? -1e9), right = Math.min(box.right, clip?.right ?? 1e9);
        if (right - left > 1) boxes.push({ left, right, top: box.top, bottom: box.bottom, text: node.textContent.trim().slice(0, 40), node });
      }
    }
    const overlaps = [];
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (a.node !== b.node && wide > 2 && high > 4) overlaps.push(`${a.text} / ${b.text}`);
    }));
    return { width, overlaps };
  });
  assert.ok(found.width <= 0, `the page is ${found.width} pixels wider than its window at ${page.url()}`);
  assert.deepEqual(found.overlaps, []);
}

// The number of plots that show more than their axes.
export async function countDrawn(page) {
  return page.evaluate(() => [...document.querySelectorAll("canvas")].filter(canvas => {
    if (canvas.width === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let i = 3; i < data.length; i += 4) drawn += data[i] > 0;
    return drawn > 500;
  }).length);
}
