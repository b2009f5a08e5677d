// Where the marks of an axis of time are, and what stands beneath them.

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  345600, 604800, 1209600, 2592000, 7776000, 31536000];

export function stepFor(seconds, marks) {
  return STEPS.find(step => seconds / step <= marks) ?? STEPS.at(-1);
}

// Whole steps between two instants, of local time where they are of the clock.
export function marksBetween(from, to, marks, ofClock) {
  const step = stepFor(to - from, marks);
  const zone = ofClock ? -60 * new Date(from * 1000).getTimezoneOffset() : 0;
  const out = [];
  for (let at = Math.ceil((from + zone) / step) * step - zone; at <= to; at += step) out.push(at);
  return out;
}

export function label(at, width) {
  const date = new Date(at * 1000);
  if (width <= 600) return date.toLocaleTimeString([], { hour12: false });
  if (width <= 129600) return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  return date.toLocaleDateString([], { month: "short", day: "numeric" });
}
