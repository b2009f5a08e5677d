// Hosts: which are blocked, slow or full, and their settings.
import { get } from "./api.js";
import { change } from "./change.js";
import { el, replace, table } from "./dom.js";
import { ago, durationOf, instantOf, number, plural, span, words } from "./format.js";
import { may, whyNot } from "./session.js";
import { term } from "./terms.js";

const SHOWN = 200;
const LOOKED_AT = 10000;
const SLOW_SECONDS = 10;

const isBlocked = (host, now) => (instantOf(host.blocked_until) ?? 0) > now;
const isSlow = host => host.throttled_answers > 0 || (durationOf(host.min_delay) ?? 0) >= SLOW_SECONDS;
const isFull = host => host.max_in_flight > 0 && host.in_flight >= host.max_in_flight;
const isLate = (host, now) => !isBlocked(host, now) && (instantOf(host.next_allowed_time) ?? 0) > now;

const FILTERS = [
  { name: "", text: "all", fits: () => true },
  { name: "blocked", text: "blocked", fits: isBlocked },
  { name: "slow", text: "slow: throttled, or a delay of 10 s or more", fits: isSlow },
  { name: "late", text: "waiting for their delay or for allowed hours", fits: isLate },
  { name: "full", text: "full: at the limit of fetches in progress", fits: isFull },
];

// In words, the most important first.
function stateOf(host, now) {
  const parts = [];
  if (host.deleting) parts.push("being deleted");
  if (isBlocked(host, now)) parts.push([term("block", "blocked"), `, ends ${ago(instantOf(host.blocked_until), now)}`]);
  if (host.throttled_answers > 0) parts.push([term("throttled host", "throttled"), `: ${plural(host.throttled_answers, "answer")} in a row`]);
  if (isFull(host)) parts.push("full");
  if (isLate(host, now)) parts.push(`waiting, next ${ago(instantOf(host.next_allowed_time), now)}`);
  if (parts.length === 0) parts.push(term("free host", "free"));
  return parts.flatMap((part, i) => i > 0 ? ["; ", part] : [part]).flat();
}

const ALL_DAY = "00:00-24:00";
const hoursOf = host => !host.hours || host.hours === ALL_DAY ? "always" : host.hours;
const capText = cap => cap.count > 0 ? `${number(cap.count)} in ${span(cap.per)}` : "no limit";

export class Hosts {
  constructor(parameters) {
    this.contains = el("input", { id: "host-name", type: "search", maxlength: 253, autocomplete: "off", spellcheck: "false", placeholder: "part of the name" });
    this.contains.value = parameters.contains ?? "";
    this.filter = el("select", { id: "filter", onchange: () => this.load() }, FILTERS.map(one => el("option", { value: one.name, selected: one.name === (parameters.state ?? "") }, one.text)));
    this.result = el("div", {}, el("p", { class: "soft" }, "Loading…"));
    this.element = el("div", {}, el("h2", {}, term("host", "Hosts")),
      el("form", { class: "search", role: "search", onsubmit: event => { event.preventDefault(); this.load(); } },
        el("div", { class: "field grow" }, el("label", { for: "host-name" }, "Name"), this.contains),
        el("div", { class: "field" }, el("label", { for: "filter" }, "State"), this.filter), el("button", { class: "main" }, "Search")), this.result);
    this.load();
  }

  async load() {
    const asked = this.asked = {};
    const filter = FILTERS.find(one => one.name === this.filter.value);
    const found = [];
    let looked = 0, token = "";
    try {
      do {
        const part = await get("hosts", { contains: this.contains.value.trim(), page_size: 1000, page_token: token });
        if (asked !== this.asked) return;
        looked += part.hosts.length;
        const now = Date.now() / 1000;
        found.push(...part.hosts.filter(host => filter.fits(host, now)));
        token = part.next_page_token;
      } while (token && found.length < SHOWN && looked < LOOKED_AT);
    } catch (error) {
      replace(this.result, el("p", { class: "card hint" }, `No list: ${error.message}.`));
      return;
    }
    this.show(found.slice(0, SHOWN), looked, token !== "" || found.length > SHOWN);
  }

  show(hosts, looked, more) {
    const now = Date.now() / 1000;
    const columns = [{ name: "Host" }, { name: "State" }, { name: "Settings" }, { name: "Pages", num: true }, { name: "In flight", num: true }, { name: "Delay", num: true }, { name: "Page interval", num: true }, { name: "Delay set by" }];
    const rows = hosts.map(host => [host.host, stateOf(host, now),
      el("button", { "aria-label": `Settings of ${host.host}`, onclick: () => this.edit(host) }, "Change…"), number(host.pages), `${number(host.in_flight)}${host.max_in_flight ? ` of ${number(host.max_in_flight)}` : ""}`,
      span(durationOf(host.min_delay) ?? 0), span(durationOf(host.min_page_interval) ?? 0), words(host.min_delay_origin)]);
    const said = `${plural(hosts.length, "host")} shown, ${number(looked)} searched${more ? "; there are more, so search for part of the name" : ""}.`;
    this.editor = el("div");
    replace(this.result, this.editor, el("p", { class: "soft", role: "status" }, said), el("section", { class: "card" }, table("Hosts", columns, rows,
      looked === 0 ? "No host name contains this text." : "None of these hosts is in this state.")));
  }

  edit(host) {
    const allowed = may("AdminService.SetHostPoliteness");
    const field = (id, name, value, note, kind = { type: "number", min: 0, step: "any" }) => {
      const input = el("input", { id, ...kind, disabled: !allowed });
      input.value = value;
      return [el("div", { class: "field" }, el("label", { for: id }, name), input, note ? el("span", { class: "soft" }, note) : null), input];
    };
    const [delayField, delay] = field("delay", "Delay between assignments, seconds", durationOf(host.min_delay) ?? 0);
    const [flightField, flight] = field("flight", "Fetches at the same time", host.max_in_flight, "0: no limit");
    const [intervalField, interval] = field("interval", "Page interval, seconds", durationOf(host.min_page_interval) ?? 0, "between crawls of one page");
    const [capField, cap] = field("cap", "Maximum number of crawls", host.max_crawls?.count ?? 0, "0: no limit");
    const [perField, per] = field("per", "in any period of, hours", (durationOf(host.max_crawls?.per) ?? 86400) / 3600);
    const [hoursField, hours] = field("hours", "Hours of the day, UTC", hoursOf(host), "22:00-06:00, or always", { type: "text", maxlength: 200, autocomplete: "off", spellcheck: "false" });
    const [blockField, block] = field("block", "Block for, hours", "", "empty: unchanged; 0: end the block");
    replace(this.editor, el("form", { class: "card editor", onsubmit: event => { event.preventDefault(); this.save(host, { delay, flight, interval, cap, per, hours, block }); } },
      el("h3", {}, `Politeness of ${host.host}`), el("div", { class: "search" }, delayField, flightField, intervalField, capField, perField, hoursField, blockField),
      el("p", { class: "buttons left" }, el("button", { class: "main", disabled: !allowed }, "Save…"),
        el("button", { type: "button", disabled: !allowed, onclick: () => this.reset(host) }, "Reset to defaults…"),
        el("button", { type: "button", onclick: () => replace(this.editor) }, "Close"),
        allowed ? null : el("span", { class: "soft" }, whyNot("AdminService.SetHostPoliteness")))));
    (allowed ? delay : this.editor.querySelector("button:not([disabled])")).focus();
  }

  async save(host, inputs) {
    const body = { host: host.host };
    const lines = [host.host];
    const set = (field, before, value, json, name, show) => {
      if (value === "" || Number(value) === before) return;
      body[field] = json;
      lines.push(`${name}: from ${show(before)} to ${show(Number(value))}`);
    };
    set("min_delay", durationOf(host.min_delay) ?? 0, inputs.delay.value, `${inputs.delay.value}s`, "Delay", span);
    set("max_in_flight", host.max_in_flight, inputs.flight.value, Number(inputs.flight.value), "Fetches at the same time", number);
    set("min_page_interval", durationOf(host.min_page_interval) ?? 0, inputs.interval.value, `${inputs.interval.value}s`, "Page interval", span);
    const before = { count: host.max_crawls?.count ?? 0, per: durationOf(host.max_crawls?.per) ?? 86400 };
    const now = { count: Number(inputs.cap.value || before.count), per: Number(inputs.per.value) * 3600 || before.per };
    if (now.count !== before.count || (now.count > 0 && now.per !== before.per)) {
      body.max_crawls = now.count > 0 ? { count: now.count, per: `${now.per}s` } : { count: 0 };
      lines.push(`Maximum number of crawls: from ${capText(before)} to ${capText(now)}`);
    }
    const hours = inputs.hours.value.trim();
    if (hours !== "" && hours !== hoursOf(host)) {
      body.hours = hours;
      lines.push(`Hours: from ${hoursOf(host)} to ${hours}`);
    }
    if (inputs.block.value !== "") {
      const hours = Number(inputs.block.value);
      // An instant that has passed ends a block.
      body.blocked_until = new Date(hours > 0 ? Date.now() + 3600000 * hours : 1000).toISOString();
      lines.push(hours > 0 ? `Blocked for ${span(3600 * hours)} from now` : "The block ends");
    }
    if (lines.length === 1) lines.push("Nothing would change.");
    if (await change("host", body, { title: "Change the politeness of this host?", lines, yes: "Change", done: `The politeness of ${host.host} has changed.` })) this.load();
  }

  async reset(host) {
    if (await change("host", { host: host.host, reset: true }, { title: "Reset this host to the defaults?", lines: [host.host, "Its block ends, and the settings for all hosts apply to it again."], yes: "Reset", done: `${host.host} has the settings for all hosts again.` })) this.load();
  }
}
