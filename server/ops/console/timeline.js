// The past crawls of a page and the signals between them on one line of time.
import { TimeChart } from "./charts.js";
import { durationOf, instantOf, plural } from "./format.js";

const ROWS = { 1: "signals", 2: "no change", 3: "changed" };

export class TimeLine extends TimeChart {
  constructor() {
    super({ title: "Past crawls and signals", unit: "result", show: value => ROWS[value] ?? "", min: 0.5, max: 3.5 });
  }

  update(page, why, now) {
    const crawls = why.observations ?? [];
    const dots = (changed, row) => crawls.filter(one => one.changed === changed).map(one => ({ x: instantOf(one.fetch_time), y: row }));
    const count = signals => (signals ?? []).reduce((sum, one) => sum + one.signals, 0);
    // When between two crawls a signal came is not kept: a bar from one to the other.
    const bars = [];
    for (const one of crawls) {
      if (count(one.signals) === 0 || !one.elapsed) continue;
      const end = instantOf(one.fetch_time);
      bars.push({ x: end - durationOf(one.elapsed), y: 1 }, { x: end, y: 1 }, { x: end, y: null });
    }
    if (count(page.pending_signals) > 0) bars.push({ x: instantOf(page.last_crawl_time ?? page.first_seen_time), y: 1 }, { x: now, y: 1 });
    const dot = (pointStyle, fill) => ({ showLine: false, pointRadius: 6, pointHoverRadius: 8, pointStyle, ...fill });
    const first = Math.min(now - 60, ...crawls.map(one => instantOf(one.fetch_time)), ...bars.map(bar => bar.x));
    super.update([
      { name: "crawl found a change", points: dots(true, 3), style: dot("triangle") },
      { name: "crawl found no change", points: dots(false, 2), style: dot("rect") },
      { name: "signals arrived in this period", points: bars, style: { pointRadius: 4, pointStyle: "circle", borderWidth: 5 } },
    ], first - 0.02 * (now - first), now + 0.02 * (now - first), false);
  }

  create() {
    super.create();
    const options = this.chart.options;
    options.interaction = { mode: "nearest", intersect: true };
    options.plugins.legend.labels = { ...options.plugins.legend.labels, usePointStyle: true, boxHeight: 7, boxWidth: 9 };
    options.scales.y.ticks = { ...options.scales.y.ticks, stepSize: 1 };
    options.scales.y.beginAtZero = false;
  }

  describe() {
    super.describe();
    const [changed, unchanged] = this.series;
    const said = `${plural(changed.points.length + unchanged.points.length, "crawl")}, of which ${changed.points.length} found a change`;
    this.summary.textContent = said;
    this.canvas.setAttribute("aria-label", `${this.options.title}: ${said}. The table below has them one by one.`);
  }
}
