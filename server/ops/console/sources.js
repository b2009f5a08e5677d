// Sources of signals: how much they say, how far it is true, and what to think of it.
import { get } from "./api.js";
import { el, renew, replace, table } from "./dom.js";
import { ago, instantOf, number, percent, plural } from "./format.js";
import { term } from "./terms.js";

const GRADES = { reliable: "good", useful: "good", weak: "note", noise: "bad", unproven: "" };

export class Sources {
  constructor() {
    this.result = el("div", {}, el("p", { class: "soft" }, "Loading…"));
    this.element = el("div", {}, el("h2", {}, term("source", "Sources"), " of ", term("signal", "signals")), this.result);
    this.due = 0;
  }

  async refresh() {
    if (performance.now() < this.due) return;
    this.due = performance.now() + 5000;
    try {
      const [trust, list] = await Promise.all([get("trust", { limit: 1000 }), get("sources")]);
      this.show(trust, list.sources);
    } catch (error) {
      if (error.kind === "lost") throw error;
      replace(this.result, el("p", { class: "card hint" }, `No report: ${error.message}.`));
    }
  }

  show(trust, sources) {
    const verdicts = new Map(trust.verdicts.map(verdict => [verdict.source, verdict]));
    const cards = sources.map(source => card(source, verdicts.get(source.source)));
    const quarantined = (trust.hosts ?? []).filter(host => host.quarantined_since);
    renew(this.result, el("div", { class: "columns" }, cards), el("section", { class: "card" }, el("h3", {}, "In ", term("quarantine")), quarantine(quarantined)),
      el("section", { class: "card" }, el("h3", {}, "Lowest ", term("trust"), ", by source and host"), byHost(trust.hosts ?? [])));
  }
}

// 0 stands for what is not known: something was learned, but not of this source's share of the changes.
const recallOf = trust => trust?.recall ? percent(trust.recall) : "–";

function card(source, verdict) {
  const heading = el("h3", {}, source.source, " ", el("span", { class: `chip ${GRADES[verdict?.grade] ?? ""}` }, verdict?.grade ?? "unproven"));
  const silent = Number(source.signals) === 0 && !verdict;
  const text = silent ? "This source has sent no signals since the server started." : verdict?.words ?? "Too early to judge: none of the signalled pages was crawled since, or no learning round has ended since then.";
  return el("section", { class: "card" }, heading, el("p", {}, text),
    el("dl", { class: "facts" }, ...[["Signals since the start", number(source.signals)], [term("precision", "Precision"), verdict ? `${percent(verdict.precision)} (95%: ${percent(verdict.precision_low)} to ${percent(verdict.precision_high)})` : "–"],
      [term("recall", "Recall"), recallOf(verdict)], ["Learned from", verdict ? plural(verdict.signals, "signal") : "–"]]
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

function quarantine(hosts) {
  return table("In quarantine", [{ name: "Source" }, { name: "Host" }, { name: "Since" }, { name: ["Recent ", term("precision")], num: true }, { name: "Expected precision", num: true }],
    hosts.map(one => [one.source, one.host, ago(instantOf(one.quarantined_since), Date.now() / 1000), percent(one.recent_precision), percent(one.believed_precision)]),
    "No source is in quarantine.");
}

function byHost(hosts) {
  return table("Trust by host", [{ name: "Source" }, { name: "Host" }, { name: "Signals", num: true }, { name: term("precision", "Precision"), num: true }, { name: term("recall", "Recall"), num: true }],
    hosts.slice(0, 50).map(one => [one.source, one.host, number(one.signals), `${percent(one.precision?.value)} (${percent(one.precision?.low)} to ${percent(one.precision?.high)})`, recallOf(one)]),
    "Nothing has been learned about single hosts yet.");
}
