// The frame: which view is shown, what the server is like, and the clock that asks it.
import { get } from "./api.js";
import { byId, el, replace, setText } from "./dom.js";
import { clock, span } from "./format.js";
import { situation } from "./notice.js";
import { describe, loadSession } from "./session.js";
import { Overview } from "./overview.js";
import { PageView } from "./page.js";
import { Hosts } from "./hosts.js";
import { Sources } from "./sources.js";
import { Workers } from "./workers.js";
import { Control } from "./control.js";
import { Terms } from "./terms.js";

const VIEWS = [
  { name: "overview", title: "Overview", make: () => new Overview() },
  { name: "page", title: "Find a page", make: parameters => new PageView(parameters) },
  { name: "hosts", title: "Hosts", make: parameters => new Hosts(parameters) },
  { name: "sources", title: "Sources", make: () => new Sources() },
  { name: "workers", title: "Workers", make: () => new Workers() },
  { name: "control", title: "Control", make: () => new Control() },
  { name: "terms", title: "Terms", apart: true, make: parameters => new Terms(parameters) },
];
const INTERVAL_MS = 1000;

let view = null;
let lostSince = null;

function route() {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  const parameters = Object.fromEntries(new URLSearchParams(query ?? ""));
  return { chosen: VIEWS.find(one => one.name === name) ?? VIEWS[0], parameters };
}

function show(focus) {
  const { chosen, parameters } = route();
  view?.leave?.();
  view = chosen.make(parameters);
  replace(byId("view"), view.element);
  document.title = `${chosen.title} – Freshet`;
  replace(byId("tabs"), VIEWS.filter(one => !one.apart).map(one => el("li", {}, el("a", { href: `#${one.name}`, "aria-current": one === chosen ? "page" : null }, one.title))));
  if (!focus) return;
  byId("view").focus({ preventScroll: true });
  scrollTo(0, 0);
}

// The state in one word, and what it means for whoever is on call.
const STATES = {
  serving: ["good", "serving", ""],
  paused: ["note", "paused", "Assignments are paused. Workers get no pages until somebody resumes them under Control."],
  starting: ["note", "starting", "The server is starting."],
  stopping: ["note", "stopping", "The server is stopping."],
  full: ["bad", "disk full", "The disk is full. The server acknowledges nothing until there is space, then it continues by itself."],
  failed: ["bad", "store failed", "The store has failed. The server acknowledges nothing and hands out no pages. Check the disk and the log, then restart the server: it continues with what is stored."],
};

function showState(overview) {
  const [kind, text, meaning] = STATES[overview.state] ?? ["bad", overview.state, ""];
  const chip = byId("state");
  chip.className = `chip ${kind}`;
  setText(chip, text);
  const detail = overview.detail ? `${meaning} (${overview.detail})` : meaning;
  situation(meaning ? kind : null, detail.trim());
  const about = overview.state === "starting" ? `version ${overview.version}` :
    `policy ${overview.policy}${overview.pending_policy ? `, changing to ${overview.pending_policy}` : ""}, up ${span(overview.now - overview.started)}, version ${overview.version}`;
  setText(byId("about"), about);
}

function showLost(error) {
  const chip = byId("state");
  chip.className = "chip bad";
  if (error.kind === "refused") {
    setText(chip, "not allowed");
    situation("bad", `Access refused: ${error.message}. Reload, and sign in with a token that has the role reader.`);
  } else if (error.kind === "busy") {
    setText(chip, "busy");
    situation("note", `The server is too busy to answer: ${error.message}. Trying again.`);
  } else {
    lostSince ??= Date.now() / 1000;
    setText(chip, "connection lost");
    situation("bad", `No answer from the server since ${clock(lostSince)}; the figures shown are from then. Trying again every second.`);
  }
  document.body.classList.add("stale");
}

async function tick() {
  try {
    const overview = await get("overview");
    if (lostSince !== null) await signIn();
    lostSince = null;
    document.body.classList.remove("stale");
    showState(overview);
    await view.refresh?.(overview);
  } catch (error) {
    if (error.kind === undefined) throw error;
    showLost(error);
  } finally {
    setTimeout(tick, INTERVAL_MS);
  }
}

async function signIn() {
  try { await loadSession(); } catch { /* tick says it */ }
  setText(byId("who"), describe());
}

addEventListener("hashchange", () => show(true));
await signIn();
show(false);
tick();
