// One page: why it is, or is not, crawled now, what becomes of it, and what has been.
import { get } from "./api.js";
import { change } from "./change.js";
import { TimeChart } from "./charts.js";
import { el, facts, renew, replace, table } from "./dom.js";
import { ago, durationOf, instantOf, moment, number, percent, plural, span, words } from "./format.js";
import { hostLink, pageAddress } from "./links.js";
import { notice } from "./notice.js";
import { may, whyNot } from "./session.js";
import { term } from "./terms.js";
import { TimeLine } from "./timeline.js";

export class PageView {
  constructor(parameters) {
    this.url = parameters.url ?? "";
    this.crawlId = parameters.crawl_id ?? "";
    this.charts = [];
    this.result = el("div");
    this.element = el("div", {}, el("h2", {}, "Find a page"), this.form(), this.result);
    if (this.url) this.load();
    else replace(this.result, el("p", { class: "soft" }, "Enter the URL of a page to see why it is, or is not, crawled now."));
  }

  form() {
    const url = el("input", { id: "url", type: "text", inputmode: "url", required: true, maxlength: 8192, autocomplete: "off", spellcheck: "false", placeholder: "https://example.org/" });
    url.value = this.url;
    const crawlId = el("input", { id: "crawl-id", type: "text", maxlength: 64, autocomplete: "off", placeholder: "DEFAULT", size: 12 });
    crawlId.value = this.crawlId;
    return el("form", { class: "search", role: "search", onsubmit: event => {
      event.preventDefault();
      const address = pageAddress(url.value.trim(), crawlId.value.trim());
      if (location.hash === address) this.load(); else location.hash = address;
    } }, el("div", { class: "field grow" }, el("label", { for: "url" }, "URL"), url), el("div", { class: "field" }, el("label", { for: "crawl-id" }, "Crawl id"), crawlId),
      el("button", { class: "main" }, "Explain"));
  }

  async load() {
    try {
      const answer = await get("page", { url: this.url, crawl_id: this.crawlId });
      this.leave();
      this.show(answer);
    } catch (error) {
      const text = error.status === 404 ? "The server does not know this page. Add it with: freshet upsert URL" : `No answer: ${error.message}.`;
      replace(this.result, el("p", { class: "card hint" }, text));
    }
  }

  // Numbers of a page change slowly; it is asked for again every five seconds.
  async refresh() {
    if (!this.shown || performance.now() < this.due) return;
    this.due = performance.now() + 5000;
    try { this.update(await get("page", { url: this.url, crawl_id: this.crawlId })); } catch (error) {
      if (error.kind === "lost") throw error;
    }
  }

  show(answer) {
    this.shown = true;
    this.due = performance.now() + 5000;
    this.text = el("div");
    this.value = new TimeChart({ title: "Value of a crawl, and the value to reach (price)", heading: () => [term("value", "Value"), " of a crawl, and the value to reach (", term("price"), ")"], unit: "importance × seconds", show: number, relative: span });
    this.fresh = new TimeChart({ title: "Probability that the copy is fresh, if no signal arrives", unit: "probability", show: percent, relative: span, min: 0, max: 1 });
    this.line = new TimeLine();
    this.charts = [this.value, this.fresh, this.line];
    this.lists = el("div");
    replace(this.result, this.text, el("div", { class: "charts" }, this.value.element, this.fresh.element), this.line.element, this.lists);
    this.update(answer);
  }

  update(answer) {
    const { page, explanation: why } = answer;
    const now = instantOf(why.as_of);
    renew(this.text, this.headline(page, why, now));
    const points = key => answer.forecast.map(point => ({ x: point.seconds, y: point[key] ?? null }));
    const end = answer.forecast.at(-1)?.seconds ?? 1;
    const price = answer.forecast.map(point => ({ x: point.seconds, y: why.price > 0 ? why.price : null }));
    this.value.update([{ name: "value", points: points("value") }, { name: "price", points: price }], 0, end);
    this.fresh.update([{ name: "probability", points: points("probability_fresh") }], 0, end);
    this.line.update(page, why, now);
    renew(this.lists, el("div", { class: "columns" }, beliefs(page, why), state(page, why, now), host(why.host_state, now)), crawls(why, now));
  }

  headline(page, why, now) {
    const next = instantOf(why.next_expected_crawl_time);
    const allowed = may("PagesService.RecheckPages");
    return el("section", { class: "card" }, el("h3", { class: "break" }, page.url),
      el("p", { class: "why" }, sentence(why.why)),
      el("p", {}, next ? `Next crawl expected ${next <= now ? "now" : `${ago(next, now)}, ${moment(next)}, if no signal arrives`}.` : "No crawl is expected."),
      el("p", { class: "buttons left" },
        el("button", { class: "main", disabled: !allowed || page.recheck_pending, onclick: () => this.recheck(page) }, page.recheck_pending ? "Recheck requested" : "Crawl soon (recheck)"),
        allowed ? null : el("span", { class: "soft" }, whyNot("PagesService.RecheckPages"))));
  }

  async recheck(page) {
    const answer = await change("recheck", { urls: [page.url], crawl_id: page.crawl_id }, {
      title: "Recheck this page?", lines: [page.url, "The page is crawled as soon as its host and the crawl rate allow, ahead of pages chosen by value."], yes: "Recheck",
      done: said => said.ack.statuses?.some(status => status.error) ? `Refused: ${said.ack.statuses[0].error.reason}` : "The page will be crawled soon." });
    if (answer?.ack.statuses?.some(status => status.error)) notice("bad", `Not done: ${answer.ack.statuses[0].error.reason}`);
    this.due = 0;
  }

  leave() { for (const chart of this.charts) chart.destroy(); }
}

const sentence = text => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

const estimate = (value, show) => value ? `${show(value.value)} (95%: ${show(value.low)} to ${show(value.high)})` : "–";

function beliefs(page, why) {
  const known = why.estimates ?? {};
  return el("section", { class: "card" }, el("h3", {}, "Estimates"), facts([
    ["Changes a day", estimate(known.change_rate_per_day, number)],
    ["Changes a day without a signal", number(known.unsignalled_rate_per_day)],
    [[term("signal", "Signals"), " a day"], number(known.signal_rate_per_day)],
    [term("signal weight", "Staleness added by a signal"), number(known.signal_weight)],
    ["Based on", `${plural(known.observations, "interval")} between crawls, ${words(known.basis ?? "")}`],
    ["Probability of being fresh", percent(why.probability_fresh)],
    [term("importance", "Importance"), number(page.importance)],
    [term("value", "Value"), `${number(why.value)}, by policy ${why.policy}`],
    [["Value to reach (", term("price"), ")"], why.price > 0 ? number(why.price) : "none now"],
  ]));
}

// Decisions whose names say less than they mean.
const DECISIONS = {
  "below price": () => ["value below the ", term("price")], "forced": () => [term("forced page", "forced"), ": due before all values"],
  "too early": () => "not allowed yet", "never": () => "never: its importance is 0, or the page is gone",
};

function state(page, why, now) {
  const pending = (page.pending_signals ?? []).map(one => `${one.signals} from ${one.source}`).join(", ");
  return el("section", { class: "card" }, el("h3", {}, "State"), facts([
    ["Decision", DECISIONS[words(why.decision)]?.() ?? words(why.decision)],
    ["Crawls", `${number(page.crawls)}, of which ${number(page.changes)} found a change`],
    ["Last crawl", page.last_crawl_time ? `${ago(instantOf(page.last_crawl_time), now)}, ${words(page.last_outcome)}` : "none yet"],
    ["Last change", page.last_change_time ? ago(instantOf(page.last_change_time), now) : "none seen"],
    ["Signals since the last crawl", pending || "none"],
    ["Errors in a row", number(page.consecutive_errors)],
    page.lease ? [term("lease", "Leased to"), `${page.lease.worker}, until ${moment(instantOf(page.lease.deadline))}`] : null,
    ["Known since", moment(instantOf(page.first_seen_time))],
    [term("crawl id", "Crawl id"), page.crawl_id],
  ]));
}

function host(state, now) {
  const next = instantOf(state.next_allowed_time);
  return el("section", { class: "card" }, el("h3", {}, "Host"), facts([
    ["Name", hostLink(state.host)],
    ["Next assignment", next && next > now ? ago(next, now) : "allowed now"],
    ["In flight", `${number(state.in_flight)} of ${state.max_in_flight ? number(state.max_in_flight) : "no limit"}`],
    ["Delay", span(durationOf(state.min_delay) ?? 0)],
    [term("block", "Blocked until"), state.blocked_until ? moment(instantOf(state.blocked_until)) : "not blocked"],
    ["Page interval", span(durationOf(state.min_page_interval) ?? 0)],
  ]));
}

function crawls(why, now) {
  const signals = one => (one.signals ?? []).map(each => `${each.signals} from ${each.source}`).join(", ") || "none";
  return el("section", { class: "card" }, el("h3", {}, "Recorded crawls"), table("Recorded crawls",
    [{ name: "Crawled" }, { name: "Ago" }, { name: "Since the previous crawl" }, { name: "Signals in between" }, { name: "Found" }],
    [...(why.observations ?? [])].reverse().map(one => [moment(instantOf(one.fetch_time)), ago(instantOf(one.fetch_time), now),
      one.elapsed ? span(durationOf(one.elapsed)) : "first crawl", signals(one), one.changed ? "a change" : "no change"]), "No crawl is recorded."));
}
