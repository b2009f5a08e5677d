// Workers: who asks for pages, what they hold, and when they were seen last.
import { get } from "./api.js";
import { el, replace, table } from "./dom.js";
import { ago, number, percent } from "./format.js";

export class Workers {
  constructor() {
    this.result = el("div", {}, el("p", { class: "soft" }, "Asking the server."));
    this.element = el("div", {}, el("h2", {}, "Workers"), this.result);
    this.due = 0;
  }

  async refresh() {
    if (performance.now() < this.due) return;
    this.due = performance.now() + 2000;
    const { workers, now } = await get("workers");
    if (workers.length === 0) {
      replace(this.result, el("div", { class: "card hint" }, el("h3", {}, "No worker has asked for pages since the start of the server"),
        el("p", {}, "Connect a crawler, or take some pages by hand:"), el("pre", {}, "freshet next 10")));
      return;
    }
    const columns = [{ name: "Worker" }, { name: "State" }, { name: "Address" }, ...["Streams", "Credit", "Open leases", "Assignments", "Results", "Ran out"].map(name => ({ name, num: true })), { name: "Last seen" }];
    const rows = workers.map(one => [one.name || "(no name)", stateOf(one), addressOf(one), number(one.streams), number(one.credit), number(one.leases), number(one.assignments), number(one.results),
      one.assignments ? `${number(one.expired)} (${percent(one.expired / one.assignments)})` : number(one.expired), ago(one.last_seen, now)]);
    // The rows may have been scrolled.
    const before = this.result.querySelector(".scroll");
    const left = before?.scrollLeft ?? 0;
    replace(this.result, el("p", { class: "soft" }, "Counts are since the start of the server; those seen last are first."), el("section", { class: "card" }, table("Workers", columns, rows, "")));
    this.result.querySelector(".scroll").scrollLeft = left;
  }
}

// With the identity, where it has one.
function addressOf(worker) {
  const identity = worker.client.startsWith("identity ") ? worker.client.slice("identity ".length) : "";
  return [identity, worker.address].filter(Boolean).join(", ") || "–";
}

function stateOf(worker) {
  if (worker.streams === 0) return worker.leases > 0 ? "gone, holds pages" : "not connected";
  if (worker.credit > 0) return "wants pages";
  return worker.leases > 0 ? "works" : "connected";
}
