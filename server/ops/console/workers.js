// Workers: who asks for pages, what they hold, and when they were seen last.
import { get } from "./api.js";
import { el, renew, table } from "./dom.js";
import { ago, number, percent } from "./format.js";
import { term } from "./terms.js";

export class Workers {
  constructor() {
    this.result = el("div", {}, el("p", { class: "soft" }, "Loading…"));
    this.element = el("div", {}, el("h2", {}, term("worker", "Workers")), this.result);
    this.due = 0;
  }

  async refresh() {
    if (performance.now() < this.due) return;
    this.due = performance.now() + 2000;
    const { workers, now } = await get("workers");
    if (workers.length === 0) {
      renew(this.result, el("div", { class: "card hint" }, el("h3", {}, "No worker has asked for pages since the server started"),
        el("p", {}, "Connect a crawler, or take some pages by hand:"), el("pre", {}, "freshet next 10")));
      return;
    }
    const columns = [{ name: "Worker" }, { name: "State" }, { name: "Address" }, ...["Streams", term("credit", "Credit"), ["Open ", term("lease", "leases")], term("assignment", "Assignments"), "Results", ["Leases ", term("unanswered lease", "timed out")]].map(name => ({ name, num: true })), { name: "Last seen" }];
    const rows = workers.map(one => [one.name || "(no name)", stateOf(one), addressOf(one), number(one.streams), number(one.credit), number(one.leases), number(one.assignments), number(one.results),
      one.assignments ? `${number(one.expired)} (${percent(one.expired / one.assignments)})` : number(one.expired), ago(one.last_seen, now)]);
    renew(this.result, el("p", { class: "soft" }, "Counts are since the server started. Workers seen last come first."), el("section", { class: "card" }, table("Workers", columns, rows, "")));
  }
}

// With the identity, where it has one.
function addressOf(worker) {
  const identity = worker.client.startsWith("identity ") ? worker.client.slice("identity ".length) : "";
  return [identity, worker.address].filter(Boolean).join(", ") || "–";
}

function stateOf(worker) {
  if (worker.streams === 0) return worker.leases > 0 ? "disconnected, holds leases" : "not connected";
  if (worker.credit > 0) return "waiting for pages";
  return worker.leases > 0 ? "working" : "connected";
}
