// Asks the server, and says what went wrong in a way that can be shown.

export class ApiError extends Error {
  // `kind`: lost (no answer), refused (not signed in, or without the role), busy, or failed.
  constructor(kind, status, message) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

const PATIENCE_MS = 15000;

function kindOf(status) {
  if (status === 401 || status === 403) return "refused";
  return status === 429 || status === 503 ? "busy" : "failed";
}

async function messageOf(response) {
  const text = (await response.text()).trim();
  try { return JSON.parse(text).error ?? text; } catch { return text; }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(`/console/api/${path}`, { ...options, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch {
    throw new ApiError("lost", 0, "the server does not answer");
  }
  if (!response.ok) throw new ApiError(kindOf(response.status), response.status, await messageOf(response));
  try {
    return await response.json();
  } catch {
    throw new ApiError("lost", 0, "the answer of the server has broken off");
  }
}

// get("hosts", { contains: "a" }).
export function get(path, parameters = {}) {
  const query = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return ask(query ? `${path}?${query}` : path, {});
}

export function post(path, body) {
  return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}
