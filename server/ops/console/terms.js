// The unusual terms of the console: for each the usual term and the meaning, in the words of docs/glossary.md, to which
// tests/docs/terms_test.py holds them.
import { el } from "./dom.js";

export const TERMS = {
  "annotation": ["external gauge", "A figure that another program posts to the console"],
  "assignment": ["task", "A page with a lease that the server sends to a worker"],
  "believed freshness": ["estimate", "The freshness that the server estimates. The true freshness can differ"],
  "block": ["cool-down", "A time in which the server leaves a host alone"],
  "crawl id": ["namespace, tenant", "A name for a team or a purpose. The same URL in two crawl ids is two pages"],
  "crawl rate": ["crawl budget", "The number of assignments a second. The server keeps it constant"],
  "credit": ["flow-control window", "The number of assignments that a worker can take now"],
  "epoch": ["learning round", "One run of learning: the server learns its models anew and estimates all pages again"],
  "exponent": ["cumulative hazard", "A number for each page: the page is fresh with probability e^-s. It is 0 after a crawl"],
  "forced page": ["priority", "A page that goes before pages of higher value, because of a recheck or its max_interval. Forced pages have a share of the crawls"],
  "free host": ["", "A host whose pages can be fetched now: it has no block, its delay has passed, and it has room for another request"],
  "freshness": ["", "The share of requests that are answered with an up-to-date copy"],
  "host": ["origin server", "The host name of a URL, without the port. The server keeps politeness for each host"],
  "importance": ["weight, request rate", "A number from 0 that says how much a fresh copy of the page is worth to you"],
  "lease": ["visibility timeout, fencing token", "The right of one worker to fetch a page until a deadline. A lease id is never used again"],
  "policy": ["", "The rule by which the server picks pages"],
  "precision": ["as in information retrieval", "The share of signals that stand for a real change"],
  "price": ["marginal value, shadow price", "The value of the page that was picked last"],
  "quarantine": ["", "A state of a source on a host: its signals count less there, because they no longer prove true"],
  "recall": ["as in information retrieval", "The share of changes that a source announces"],
  "recheck": ["crawl now", "A crawl that you ask for. It waits only until the host is free"],
  "shard": ["partition owner", "A thread of the server that owns the pages of some slots"],
  "signal": ["change notification", "A message from a source: a page has probably changed"],
  "signal weight": ["log-likelihood weight", "The amount that one signal adds to the exponent of the page's staleness"],
  "slot": ["hash partition", "One of 4,096 parts of all hosts. A hash of its name puts each host into a slot"],
  "source": ["feed, notifier", "A named sender of signals, such as a sitemap. A server has room for 32 sources"],
  "stall": ["back-pressure", "A time in which the store takes no writes, so that the server cannot lease pages"],
  "throttled host": ["rate-limited", "A host that has answered 429 or 503"],
  "tick": ["slot of a schedule", "An instant at which the server can send one assignment. An unused tick is lost"],
  "trust": ["", "Precision and recall of a source on a host"],
  "unanswered lease": ["", "A lease whose deadline passed before a result came"],
  "value": ["priority, Whittle index", "The amount of freshness that a crawl of the page would add now"],
  "worker": ["fetcher", "A client that takes pages, fetches them and reports results"],
};

const named = word => TERMS[word][0] ? `${word} (${TERMS[word][0]})` : word;

// term("tick", "Unused crawls"): a text with its meaning as the tooltip, which leads to the list of terms.
export const term = (word, text = word) => el("a", { class: "term", href: `#terms?word=${encodeURIComponent(word)}`, title: `${named(word)}: ${TERMS[word][1]}` }, text);

// The list of terms, the one that was asked for first.
export class Terms {
  constructor({ word }) {
    this.element = el("div", {}, el("h2", {}, "Terms"));
    if (Object.hasOwn(TERMS, word ?? "")) this.element.append(el("section", { class: "card hint" }, el("h3", {}, named(word)), el("p", {}, `${TERMS[word][1]}.`)));
    const all = Object.entries(TERMS).map(([name, [, meaning]]) => el("div", {}, el("dt", {}, named(name)), el("dd", {}, `${meaning}.`)));
    this.element.append(el("section", { class: "card" }, el("h3", {}, "All terms of the console"), el("dl", { class: "terms" }, all)));
  }
}
