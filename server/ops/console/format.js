// Numbers, spans and instants as people read them.

const UNKNOWN = "–";
const known = x => x !== null && x !== undefined && !Number.isNaN(Number(x));

export function number(x) {
  if (!known(x)) return UNKNOWN;
  const value = Number(x);
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (size >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
  if (size >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (size >= 1e4) return `${(value / 1e3).toPrecision(3)} k`;
  if (Number.isInteger(value)) return String(value);
  return size >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

export const percent = x => known(x) ? `${(100 * x).toFixed(1)} %` : UNKNOWN;
export const perSecond = x => known(x) ? `${number(x)} /s` : UNKNOWN;

export function bytes(x) {
  if (!known(x)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = Number(x), unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

export function span(seconds) {
  if (!known(seconds)) return UNKNOWN;
  const s = Math.abs(Number(seconds));
  if (!Number.isFinite(s)) return "forever";
  if (s < 1) return `${Number(s.toPrecision(2))} s`;
  if (s < 90) return `${s.toFixed(0)} s`;
  if (s < 5400) return `${(s / 60).toFixed(0)} min`;
  if (s < 172800) return `${(s / 3600).toFixed(1)} h`;
  if (s < 86400 * 730) return `${(s / 86400).toFixed(1)} days`;
  return `${(s / 86400 / 365).toFixed(1)} years`;
}

// What the API gives: a duration as "1.5s", an instant as RFC 3339. Both in seconds, or null.
export const durationOf = text => text ? Number(text.replace(/s$/, "")) : null;
export const instantOf = text => text ? Date.parse(text) / 1000 : null;

export const clock = seconds => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });
export const moment = seconds => new Date(seconds * 1000).toLocaleString([], { hour12: false });

// "12:03:20, 5 min ago".
export function ago(seconds, now) {
  if (!known(seconds)) return "never";
  const off = now - seconds;
  return off >= 0 ? `${span(off)} ago` : `in ${span(-off)}`;
}

export const words = name => String(name).replace(/^[A-Z_]*?(ERROR_CODE|DECISION|CRAWL_OUTCOME|ESTIMATE_BASIS|BURST_CLASS|TERM_ORIGIN)_/, "")
  .replace(/_/g, " ").toLowerCase();
export const plural = (count, one, many) => `${number(count)} ${Number(count) === 1 ? one : many ?? `${one}s`}`;
