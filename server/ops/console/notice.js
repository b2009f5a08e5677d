// The line above the view: what the server as a whole is like, or what became of a change.
import { byId, el, replace } from "./dom.js";

let standing = null;  // { kind, text }: for as long as it holds
let passing = null;
let timer = 0;

function show() {
  const banner = byId("banner");
  const shown = passing ?? standing;
  banner.hidden = shown === null;
  if (shown === null) return;
  const text = `${shown.kind}|${shown.text}`;
  if (banner.dataset.text === text) return;
  banner.dataset.text = text;
  banner.className = `banner ${shown.kind}`;
  replace(banner, el("strong", {}, { good: "Done. ", bad: "Attention. ", note: "Note. " }[shown.kind]), shown.text);
}

// Shown for some seconds.
export function notice(kind, text) {
  passing = { kind, text };
  clearTimeout(timer);
  timer = setTimeout(() => { passing = null; show(); }, 12000);
  show();
}

// Shown until something else is said; null: nothing.
export function situation(kind, text) {
  standing = kind === null ? null : { kind, text };
  show();
}
