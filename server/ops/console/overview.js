// How the server does: figures, plots of the window that is chosen, shards, the latest assignments.
import { get } from "./api.js";
import { TimeChart } from "./charts.js";
import { el, facts, renew, replace, setText, table } from "./dom.js";
import { bytes, clock, number, percent, perSecond, plural, span, words } from "./format.js";
import { HistoryWindow, WINDOWS } from "./history.js";
import { pageLink } from "./links.js";
import { term } from "./terms.js";

const PLOTS = [
  { title: "Crawl rate", heading: () => [term("crawl rate", "Crawl rate")], unit: "assignments per second", show: perSecond,
    series: [["crawl_rate", "target"], ["crawls_per_second", "achieved"]] },
  { title: "Unused crawls, by reason", heading: () => [term("tick", "Unused crawls"), ", by reason"], unit: "crawls per second", show: perSecond,
    series: [["unused_credit", "no free worker"], ["unused_page", "no page allowed"], ["unused_late", "server late"], ["unused_paused", "paused"], ["unused_store", "store stalled"]] },
  { title: "Estimated freshness", heading: () => [term("believed freshness", "Estimated freshness")], unit: "share of pages", show: percent, min: 0.9, max: 1, notes: true,
    series: [["believed_freshness", "all pages alike"], ["weighted_believed_freshness", "weighted by importance"]] },
  { title: "Marginal value of a crawl (price)", heading: () => ["Marginal value of a crawl (", term("price"), ")"], unit: "importance × seconds", show: number, series: [["price", "price"]] },
  { title: "Results and signals", heading: () => ["Results and ", term("signal", "signals")], unit: "per second", show: perSecond,
    series: [["results_per_second", "results"], ["signals_per_second", "signals"], ["errors_per_second", "failed crawls"]] },
  { title: "Crawls that found a change", unit: "share of results", show: percent, min: 0, max: 1, series: [["changed_share", "changed"]] },
  { title: "Leases and credit of workers", heading: () => [term("lease", "Leases"), " and ", term("credit"), " of workers"], unit: "assignments", show: number,
    series: [["open_leases", "open leases"], ["worker_credit", "credit"], ["ready", "prepared"]] },
  { title: "Waiting pages", unit: "pages", show: number,
    series: [["signalled_pages", "with a signal since their last crawl"], ["overdue_pages", "past their max_interval"]] },
  { title: "Missed crawls and lost leases", heading: () => ["Missed crawls and ", term("unanswered lease", "lost leases")], unit: "per second", show: perSecond,
    series: [["unused_late", "crawls missed because the server was late"], ["expired_per_second", "leases that timed out"]] },
];

const UNUSED = {
  credit: () => ["no worker had ", term("credit")], page: () => "no page could be crawled", late: () => "the server was late",
  paused: () => "assignments were paused", store: () => ["the store had ", term("stall", "stalled")],
};

export class Overview {
  constructor() {
    this.element = el("div");
    this.history = new HistoryWindow(sessionStorage.getItem("freshet-window") ?? "15m");
    this.charts = PLOTS.map(plot => new TimeChart(plot));
    this.notes = new TimeChart({ title: "Figures from other programs", heading: () => [term("annotation", "Figures from other programs")], unit: "as posted", show: number });
    this.freshNotes = new TimeChart({ title: "Freshness from other programs", heading: () => [term("annotation", "Freshness from other programs")], unit: "share", show: percent, min: 0.9, max: 1 });
    this.tiles = el("div", { class: "tiles" });
    this.hints = el("div");
    this.lists = el("div", { class: "columns" });
    this.recent = el("section", { class: "card" });
    this.shards = el("section", { class: "card" });
    this.plots = el("div", { class: "charts" }, this.charts.map(chart => chart.element));
    replace(this.element, el("h2", { class: "unseen" }, "Overview"), this.hints, this.tiles, this.choice(), this.plots, this.lists, this.shards, this.recent);
    this.due = 0;
  }

  choice() {
    const select = el("select", { id: "window", onchange: () => {
      sessionStorage.setItem("freshet-window", select.value);
      this.history = new HistoryWindow(select.value);
      this.due = 0;
      this.refresh(this.last);
    } }, WINDOWS.map(window => el("option", { value: window.name, selected: window.name === this.history.window.name }, window.text)));
    return el("p", { class: "choice" }, el("label", { for: "window" }, "Show the last"), select);
  }

  async refresh(overview) {
    this.last = overview;
    // Longer windows have longer steps.
    if (performance.now() < this.due) return this.draw(overview);
    const history = this.history;
    await history.load();
    if (history !== this.history) return;
    this.due = performance.now() + Math.min(10000, 1000 * Math.max(1, history.step / 2)) - 100;
    this.draw(overview);
    this.plot();
  }

  draw(overview) {
    if (!overview || overview.state === "starting") return;
    renew(this.hints, overview.state === "failed" ? [] : hints(overview, this.history.mean("unused_late", 60) ?? 0));
    renew(this.tiles, this.tilesOf(overview));
    if (performance.now() < (this.listsDue ?? 0)) return;
    this.listsDue = performance.now() + 2000;
    renew(this.lists, counters(overview));
    renew(this.shards, el("h3", {}, term("shard", "Shards")), shardTable(overview));
    renew(this.recent, el("h3", {}, "Latest ", term("assignment", "assignments")), recentTable(overview));
  }

  tilesOf(overview) {
    const tile = (name, value, note) => el("div", { class: "card tile" }, el("h3", {}, name), el("b", {}, value), el("span", { class: "soft" }, note ?? ""));
    const achieved = this.history.mean("crawls_per_second", 60);
    return [
      tile(term("crawl rate", "Target rate"), perSecond(overview.crawl_rate)),
      tile("Achieved rate", perSecond(achieved), "over a minute"),
      tile(term("price", "Marginal value"), number(overview.price), "importance × s"),
      tile(term("believed freshness", "Est. freshness"), overview.pages ? percent(overview.believed_freshness) : "–", overview.pages ? `${percent(overview.weighted_believed_freshness)} weighted` : ""),
      tile("Pages", number(overview.pages), `on ${plural(overview.hosts, "host")}`),
      tile(term("worker", "Workers"), number(overview.workers), [term("credit"), ` ${number(overview.worker_credit)}`]),
      tile(["Open ", term("lease", "leases")], number(overview.open_leases), `${number(overview.expired_leases)} timed out`),
      tile("On disk", bytes(overview.disk_bytes), `durability ${overview.durability}`),
    ];
  }

  plot() {
    const history = this.history;
    const gap = 2.5 * history.step;
    const line = (name, text) => ({ name: text, points: history.points(name) });
    const notes = [...history.names].filter(name => name.startsWith("note:"));
    // What is true first, beside what is believed; more than a few lines cannot be told apart.
    const fresh = notes.filter(name => name.includes("fresh")).sort((a, b) => b.includes("true") - a.includes("true"));
    const beside = fresh.slice(0, 2);
    PLOTS.forEach((plot, i) => {
      const own = plot.series.map(([name, text]) => line(name, text));
      if (plot.notes) own.push(...beside.map(name => line(name, words(name.slice(5)))));
      this.charts[i].update(own, history.begin, history.now, gap);
    });
    for (const [chart, names] of [[this.freshNotes, fresh.slice(2)], [this.notes, notes.filter(name => !fresh.includes(name))]]) {
      if (names.length === 0) continue;
      if (!chart.element.isConnected) this.plots.append(chart.element);
      chart.update(names.slice(0, 6).map(name => line(name, words(name.slice(5)))), history.begin, history.now, gap);
    }
  }

  leave() { for (const chart of [...this.charts, this.notes, this.freshNotes]) chart.destroy(); }
}

// Of the crawl rate, over a minute: from here on the console says that the server is late.
const LATE = 0.1;

// What to do next, where something is missing; `late` is how many ticks a second the server misses.
function hints(overview, late) {
  const out = [];
  if (overview.pages === 0) {
    out.push(el("div", { class: "card hint" }, el("h3", {}, "There are no pages yet"),
      el("p", {}, "Add some. They are crawled as soon as a worker asks for pages:"),
      el("pre", {}, "freshet upsert https://example.org/ https://example.org/news\nfreshet upsert urls.txt\nfreshet sitemap https://example.org/")));
  }
  if (overview.pages > 0 && overview.workers === 0 && !overview.paused) {
    out.push(el("div", { class: "card hint" }, el("h3", {}, "No worker is connected"),
      el("p", {}, "Nothing is crawled until a worker asks for pages. Connect a crawler, or take some pages by hand:"),
      el("pre", {}, "freshet next 10")));
  }
  if (!out.length && overview.crawl_rate > 0 && late > LATE * overview.crawl_rate) {
    out.push(el("div", { class: "card hint" }, el("h3", {}, "The server is late"),
      el("p", {}, `In the last minute the server missed ${percent(Math.min(1, late / overview.crawl_rate))} of the crawl rate, because the processor or the disk is too slow. `
        + "Check what else uses them, and how long commits take (Shards, below). At high rates a larger pacing.max_lateness helps.")));
  }
  return out;
}

function counters(overview) {
  const list = (title, entries) => el("section", { class: "card" }, el("h3", {}, title), facts(entries));
  const all = object => Object.entries(object).map(([name, value]) => [words(name), number(value)]);
  return [
    list([term("tick", "Unused crawls"), " since the start"], Object.entries(overview.unused_ticks).map(([name, value]) => [UNUSED[name]?.() ?? words(name), number(value)])),
    list("Results since the start", all(overview.results)),
    list([term("signal", "Signals"), " since the start"], all(overview.signals)),
  ];
}

function shardTable(overview) {
  const columns = [{ name: "Shard" }, ...["Pages", "Hosts", "Open leases", term("price", "Price"), "Queued events", "Last commit", term("epoch", "Learning round")].map(name => ({ name, num: true })), { name: "State" }];
  return table("Shards", columns, overview.shards.map((shard, i) => [i, number(shard.pages), number(shard.hosts), number(shard.open_leases), number(shard.price),
    number(shard.waiting_events), span(shard.last_commit_seconds), `${number(shard.epoch)}${shard.epoch_running ? ", next one running" : ""}`,
    shard.failure ? `failed: ${shard.failure}` : "working"]), "No shards.");
}

function recentTable(overview) {
  return table("Latest assignments", [{ name: "Time" }, { name: "Page", wide: true }, { name: "Worker" }, { name: term("value", "Value"), num: true }],
    overview.recent.map(one => [clock(one.time), pageLink(one.url), one.worker, one.value === null ? term("forced page", "forced") : number(one.value)]),
    "No assignments since the server started.");
}
