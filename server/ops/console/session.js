// Who is looking, and what they may do.
import { get } from "./api.js";

let session = { identity: "", methods: [], known: false };

export async function loadSession() {
  try {
    session = { ...await get("session"), known: true };
  } catch (error) {
    // A console that is open to everybody shows figures to those who have not signed in.
    if (error.kind !== "refused") throw error;
    session = { identity: "", methods: [], known: false };
  }
  return session;
}

export const may = method => session.methods.includes(`freshet.v1.${method}`);

export function describe() {
  if (!session.known) return "not signed in: read-only";
  const can = may("AdminService.SetCrawlRate") ? "may change settings" : "read-only";
  return session.identity ? `${session.identity}, ${can}` : can;
}

// What to say beside what somebody may not use.
export function whyNot(method) {
  if (may(method)) return "";
  const role = method === "PagesService.RecheckPages" ? "ingester" : "admin";
  if (!session.known) return `Sign in with a token that has the role ${role} to do this.`;
  return `The identity ${session.identity} may not do this: it needs the role ${role}.`;
}
