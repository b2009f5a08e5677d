// How the server does: figures, plots of the window that is chosen, shards, the latest assignments.
import { get } from "./api.js";
import { TimeChart } from "./charts.js";
import { el, facts, replace, setText, table } from "./dom.js";
import { bytes, clock, number, percent, perSecond, plural, span, words } from "./format.js";
import { HistoryWindow, WINDOWS } from "./history.js";
import { pageLink } from "./links.js";

const PLOTS = [
  { title: "Crawl rate", unit: "assignments per second", show: perSecond,
    series: [["crawl_rate", "asked"], ["crawls_per_second", "achieved"]] },
  { title: "Unused ticks of the crawl rate, by reason", unit: "ticks per second", show: perSecond,
    series: [["unused_credit", "no worker"], ["unused_page", "no page"], ["unused_late", "server late"], ["unused_paused", "paused"], ["unused_store", "store"]] },
  { title: "Believed freshness", unit: "share of pages", show: percent, min: 0.9, max: 1, notes: true,
    series: [["believed_freshness", "pages"], ["weighted_believed_freshness", "by importance"]] },
  { title: "Price of a crawl", unit: "importance × seconds", show: number, series: [["price", "price"]] },
  { title: "What comes in", unit: "per second", show: perSecond,
    series: [["results_per_second", "results"], ["signals_per_second", "signals"], ["errors_per_second", "failed crawls"]] },
  { title: "Crawls that found a change", unit: "share of results", show: percent, min: 0, max: 1, series: [["changed_share", "changed"]] },
  { title: "Leases and credit of workers", unit: "assignments", show: number,
    series: [["open_leases", "open leases"], ["worker_credit", "credit"], ["ready", "ready ahead"]] },
  { title: "Pages that wait", unit: "pages", show: number,
    series: [["signalled_pages", "signalled, not crawled since"], ["overdue_pages", "past their longest interval"]] },
  { title: "Lateness", unit: "per second", show: perSecond,
    series: [["unused_late", "ticks that the server missed"], ["expired_per_second", "leases that ran out"]] },
];

const TICKS = { credit: "no worker had credit", page: "no page might be crawled", late: "the server was late", paused: "assignments were paused", store: "the store took nothing" };

export class Overview {
  constructor() {
    this.element = el("div");
    this.history = new HistoryWindow(sessionStorage.getItem("freshet-window") ?? "15m");
    this.charts = PLOTS.map(plot => new TimeChart(plot));
    this.notes = new TimeChart({ title: "Posted figures", unit: "as posted", show: number });
    this.freshNotes = new TimeChart({ title: "Posted freshness", unit: "share", show: percent, min: 0.9, max: 1 });
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
    return el("p", { class: "choice" }, el("label", { for: "window" }, "Plots of the last"), select);
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
    replace(this.hints, overview.state === "failed" ? [] : hints(overview, this.history.mean("unused_late", 60) ?? 0));
    replace(this.tiles, this.tilesOf(overview));
    if (performance.now() < (this.listsDue ?? 0)) return;
    this.listsDue = performance.now() + 2000;
    replace(this.lists, counters(overview));
    replace(this.shards, el("h3", {}, "Shards"), shardTable(overview));
    replace(this.recent, el("h3", {}, "Latest assignments"), recentTable(overview));
  }

  tilesOf(overview) {
    const tile = (name, value, note) => el("div", { class: "card tile" }, el("h3", {}, name), el("b", {}, value), el("span", { class: "soft" }, note ?? ""));
    const achieved = this.history.mean("crawls_per_second", 60);
    return [
      tile("Rate asked", perSecond(overview.crawl_rate)),
      tile("Rate achieved", perSecond(achieved), "over a minute"),
      tile("Price", number(overview.price), "importance × s"),
      tile("Believed fresh", overview.pages ? percent(overview.believed_freshness) : "–", overview.pages ? `${percent(overview.weighted_believed_freshness)} by importance` : ""),
      tile("Pages", number(overview.pages), `of ${plural(overview.hosts, "host")}`),
      tile("Workers", number(overview.workers), `credit ${number(overview.worker_credit)}`),
      tile("Open leases", number(overview.open_leases), `${number(overview.expired_leases)} have run out`),
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

// Of the crawl rate, over a minute: from here on it is said that the server is late.
const LATE = 0.1;

// What to do next, where something is missing; `late` is how many ticks a second the server misses.
function hints(overview, late) {
  const out = [];
  if (overview.pages === 0) {
    out.push(el("div", { class: "card hint" }, el("h3", {}, "There are no pages yet"),
      el("p", {}, "Add some, and they are crawled as soon as a worker asks:"),
      el("pre", {}, "freshet upsert https://example.org/ https://example.org/news\nfreshet upsert urls.txt\nfreshet sitemap https://example.org/")));
  }
  if (overview.pages > 0 && overview.workers === 0 && !overview.paused) {
    out.push(el("div", { class: "card hint" }, el("h3", {}, "No worker is connected"),
      el("p", {}, "Nothing is crawled until one asks for pages: a crawler by its client, or by hand"),
      el("pre", {}, "freshet next 10")));
  }
  if (!out.length && overview.crawl_rate > 0 && late > LATE * overview.crawl_rate) {
    out.push(el("div", { class: "card hint" }, el("h3", {}, "The server is late"),
      el("p", {}, `In the last minute it missed ${percent(Math.min(1, late / overview.crawl_rate))} of the crawl rate: the processor or the disk is too slow for it. `
        + "Is something else using them? How long do commits take (Shards, below)? At high rates a larger pacing.max_lateness helps.")));
  }
  return out;
}

function counters(overview) {
  const list = (title, entries) => el("section", { class: "card" }, el("h3", {}, title), facts(entries));
  const all = object => Object.entries(object).map(([name, value]) => [words(name), number(value)]);
  return [
    list("Unused ticks since the start", Object.entries(overview.unused_ticks).map(([name, value]) => [TICKS[name] ?? words(name), number(value)])),
    list("Results since the start", all(overview.results)),
    list("Signals since the start", all(overview.signals)),
  ];
}

function shardTable(overview) {
  const columns = [{ name: "Shard" }, ...["Pages", "Hosts", "Open leases", "Price", "Waiting events", "Last commit", "Epoch"].map(name => ({ name, num: true })), { name: "State" }];
  return table("Shards", columns, overview.shards.map((shard, i) => [i, number(shard.pages), number(shard.hosts), number(shard.open_leases), number(shard.price),
    number(shard.waiting_events), span(shard.last_commit_seconds), `${number(shard.epoch)}${shard.epoch_running ? ", next running" : ""}`,
    shard.failure ? `failed: ${shard.failure}` : "works"]), "No shards.");
}

function recentTable(overview) {
  return table("Latest assignments", [{ name: "Time" }, { name: "Page", wide: true }, { name: "Worker" }, { name: "Value", num: true }],
    overview.recent.map(one => [clock(one.time), pageLink(one.url), one.worker, one.value === null ? "forced" : number(one.value)]),
    "None since the start of the server.");
}
