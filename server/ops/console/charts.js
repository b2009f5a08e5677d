// Plots over time, drawn by Chart.js: axes with units, values under the pointer or by the arrow keys, and the same in
// words and as a table for those who do not see it.
import { el, replace, setText, speak, table } from "./dom.js";
import { label, marksBetween } from "./times.js";
import { clock, moment } from "./format.js";

/* global Chart */
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4]];

const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = index => variable(`--series-${index % 5}`);

const charts = new Set();
document.addEventListener("themechange", () => { for (const chart of charts) chart.paint(); });

// Makes the axis of time: its marks are whole minutes, hours or days.
function timeAxis(relative) {
  return {
    type: "linear",
    title: { display: true, text: relative ? "from now" : "time" },
    afterBuildTicks(scale) {
      const marks = Math.max(2, Math.floor(scale.width / 65));
      scale.ticks = marksBetween(scale.min, scale.max, marks, !relative).map(value => ({ value }));
    },
    ticks: {
      maxRotation: 0, autoSkip: true, maxTicksLimit: 8,
      callback(value) { return relative ? relative(value) : label(value, this.max - this.min); },
    },
  };
}

export class TimeChart {
  // `options`: title, heading (makes what stands above the plot; the title, if it is missing), unit, show (value to text), min, max, relative (x to text, of charts that are not of clock time), type.
  constructor(options) {
    this.options = options;
    this.canvas = el("canvas", { role: "img", tabindex: 0, "aria-label": `${options.title}: nothing yet.`, onkeydown: event => this.step(event) });
    this.summary = el("p", { class: "summary" });
    this.details = el("details", { class: "data", ontoggle: () => this.tabulate() }, el("summary", {}, "As a table"), el("div"));
    this.element = el("section", { class: "card chart" }, el("h3", {}, options.heading?.() ?? options.title), this.summary,
      el("div", { class: "plot" }, this.canvas), this.details);
    this.series = [];
    this.chart = null;
  }

  // `series`: { name, points: [{ x, y }], style? }; `from` and `to` bound the axis. Points that are further apart than `gap`
  // are not joined; it is true where all are, and false where holes are points without a value.
  update(series, from, to, gap) {
    this.series = series;
    if (this.chart === null) this.create();
    // The legend takes its lines from the plot.
    this.canvas.parentElement.classList.toggle("tall", series.length > 4);
    const data = this.chart.data;
    data.datasets.length = series.length;
    series.forEach((one, i) => {
      data.datasets[i] = Object.assign(data.datasets[i] ?? {}, {
        label: one.name, data: one.points, spanGaps: gap ?? true, borderDash: DASHES[i % DASHES.length],
        borderWidth: 1.7, pointRadius: one.points.length < 3 ? 3 : 0, pointHoverRadius: 4, tension: 0, ...one.style });
    });
    this.chart.options.scales.x.min = from;
    this.chart.options.scales.x.max = to;
    this.paint();
    this.describe();
    if (this.details.open) this.tabulate();
  }

  create() {
    const { show, unit, min, max, relative } = this.options;
    this.chart = new Chart(this.canvas, {
      type: "line",
      data: { datasets: [] },
      options: {
        animation: false, parsing: false, normalized: true, responsive: true, maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false, axis: "x" },
        scales: {
          x: timeAxis(relative),
          y: { beginAtZero: min === undefined, suggestedMin: min, suggestedMax: max, title: { display: true, text: unit },
            ticks: { maxTicksLimit: 6, callback: value => show(value) } },
        },
        plugins: {
          legend: { position: "bottom", align: "start", labels: { boxWidth: 28, boxHeight: 0, padding: 10 } },
          tooltip: { callbacks: {
            title: items => items.length ? this.when(items[0].parsed.x) : "",
            label: item => `${item.dataset.label}: ${show(item.parsed.y)}` } },
        },
      },
    });
    charts.add(this);
  }

  when(x) { return this.options.relative ? this.options.relative(x) : moment(x); }

  // Takes the colours that are in force.
  paint() {
    if (this.chart === null) return;
    const soft = variable("--soft"), line = variable("--line");
    this.chart.data.datasets.forEach((dataset, i) => {
      dataset.borderColor = dataset.backgroundColor = colour(i);
    });
    for (const axis of Object.values(this.chart.options.scales)) {
      axis.grid = { color: line, borderColor: line };
      axis.ticks.color = axis.title.color = soft;
    }
    this.chart.options.plugins.legend.labels.color = variable("--ink");
    this.chart.update("none");
  }

  // The last value of each series and what it was between.
  describe() {
    const { show, title, unit } = this.options;
    const parts = this.series.map(one => {
      const values = one.points.map(point => point.y).filter(y => y !== null);
      if (values.length === 0) return `${one.name}: nothing yet`;
      return this.options.relative ? `${one.name} ${show(values[0])} now, ${show(values.at(-1))} at the end` : `${one.name} ${show(values.at(-1))}`;
    });
    setText(this.summary, parts.join(", "));
    this.summary.hidden = this.series.length > 5;
    const ranges = this.series.map(one => {
      const values = one.points.map(point => point.y).filter(y => y !== null);
      if (values.length === 0) return `${one.name}: nothing yet`;
      return `${one.name}: ${this.options.relative ? "at the end" : "now"} ${show(values.at(-1))}, between ${show(Math.min(...values))} and ${show(Math.max(...values))}`;
    });
    this.canvas.setAttribute("aria-label", `${title}, ${unit}. ${ranges.join(". ")}. Arrow keys read single values.`);
  }

  // Moves the pointer by one point.
  step(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const points = this.series[0]?.points.length ?? 0;
    if (move === undefined || points === 0 || this.chart === null) return;
    event.preventDefault();
    const at = Math.min(points - 1, Math.max(0, (this.at ?? points) + move));
    this.at = at;
    const active = this.series.map((one, datasetIndex) => ({ datasetIndex, index: at })).filter(a => this.series[a.datasetIndex].points.length > at);
    this.chart.setActiveElements(active);
    this.chart.tooltip.setActiveElements(active, { x: 0, y: 0 });
    this.chart.update("none");
    speak(`${this.when(this.series[0].points[at].x)}: ` + active.map(a =>
      `${this.series[a.datasetIndex].name} ${this.options.show(this.series[a.datasetIndex].points[at].y)}`).join(", "));
  }

  // At most thirty rows, evenly over the window.
  tabulate() {
    if (!this.details.open) return;
    const points = this.series[0]?.points ?? [];
    const every = Math.max(1, Math.ceil(points.length / 30));
    const rows = points.map((point, i) => ({ x: point.x, i })).filter(row => (points.length - 1 - row.i) % every === 0).reverse();
    replace(this.details.lastElementChild, table(this.options.title,
      [{ name: this.options.relative ? "From now" : "Time" }, ...this.series.map(one => ({ name: `${one.name} (${this.options.unit})`, num: true }))],
      rows.map(row => [this.options.relative ? this.when(row.x) : points.at(-1).x - points[0].x > 86400 ? moment(row.x) : clock(row.x),
        ...this.series.map(one => this.options.show(one.points[row.i]?.y))]), "Nothing yet."));
  }

  destroy() {
    charts.delete(this);
    this.chart?.destroy();
    this.chart = null;
  }
}
