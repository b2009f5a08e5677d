// The figures of a window of time: all of them at first, then what has come since.
import { get } from "./api.js";

export const WINDOWS = [
  { name: "15m", text: "15 minutes", seconds: 900 },
  { name: "1h", text: "1 hour", seconds: 3600 },
  { name: "6h", text: "6 hours", seconds: 21600 },
  { name: "1d", text: "1 day", seconds: 86400 },
  { name: "7d", text: "7 days", seconds: 604800 },
  { name: "30d", text: "30 days", seconds: 2592000 },
];

export class HistoryWindow {
  constructor(name) {
    this.window = WINDOWS.find(window => window.name === name) ?? WINDOWS[0];
    this.rows = new Map();  // by time: the figures by name
    this.names = new Set();
    this.step = 1;
    this.now = 0;
  }

  async load() {
    const times = [...this.rows.keys()];
    // The last row may have been of a step that was not over.
    const since = times.length ? times.at(-1) - this.step : undefined;
    const part = await get("history", { window: this.window.name, since });
    this.step = part.step;
    this.now = part.now;
    part.time.forEach((time, i) => {
      const row = {};
      for (const [name, values] of Object.entries(part.series)) {
        this.names.add(name);
        row[name] = values[i];
      }
      this.rows.set(time, row);
    });
    for (const time of this.rows.keys()) {
      if (time >= this.from - this.step) break;
      this.rows.delete(time);
    }
  }

  get from() { return this.now - this.window.seconds; }

  // Where a plot begins: a server that is younger than the window has nothing to show before.
  get begin() {
    const [first] = this.rows.keys();
    return Math.max(this.from, Math.min(first ?? this.from, this.now - 60));
  }

  points(name) { return [...this.rows].map(([x, row]) => ({ x, y: row[name] ?? null })); }

  // The mean over the last seconds of a series; null: nothing is known.
  mean(name, seconds) {
    const values = [];
    for (const [x, row] of this.rows) {
      if (x > this.now - seconds && row[name] !== null && row[name] !== undefined) values.push(row[name]);
    }
    return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  }
}
