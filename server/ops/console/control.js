// What an admin may change: the rate, the policy, a pause.
import { get } from "./api.js";
import { change } from "./change.js";
import { el, replace, setText } from "./dom.js";
import { number, perSecond } from "./format.js";
import { may, whyNot } from "./session.js";
import { term } from "./terms.js";

export class Control {
  constructor() {
    this.now = {};
    this.element = el("div", {}, el("h2", {}, "Control"), el("p", { class: "soft" }, "The console asks before each change. A change survives restarts, and the log says who made it."),
      el("div", { class: "columns" }, this.rateCard(), this.policyCard(), this.pauseCard()));
    this.loadPolicies();
  }

  // A form that only those see work who may use it.
  card(title, method, current, fields, text, submit) {
    const allowed = may(method);
    for (const field of fields) field.querySelector("input, select").disabled = !allowed;
    return el("form", { class: "card", onsubmit: event => { event.preventDefault(); submit(); } }, el("h3", {}, title), current, fields,
      el("p", { class: "buttons left" }, el("button", { class: "main", disabled: !allowed }, text)),
      allowed ? null : el("p", { class: "soft" }, whyNot(method)));
  }

  rateCard() {
    this.rateNow = el("p", {}, "–");
    this.rate = el("input", { id: "rate", type: "number", min: 0, max: 10000000, step: "any", required: true });
    const field = el("div", { class: "field" }, el("label", { for: "rate" }, "New rate, assignments per second"), this.rate);
    return this.card("Crawl rate", "AdminService.SetCrawlRate", this.rateNow, [field], "Set the rate…", async () => {
      const rate = Number(this.rate.value);
      // The figures of now may not have come yet.
      const known = this.now.crawl_rate !== undefined;
      const lines = [known ? `From ${perSecond(this.now.crawl_rate)} to ${perSecond(rate)}.` : `To ${perSecond(rate)}.`];
      if (rate === 0) lines.push("At rate 0 nothing is crawled.");
      if (this.now.crawl_rate > 0 && rate > 10 * this.now.crawl_rate) lines.push(`That is ${number(rate / this.now.crawl_rate)} times the present rate.`);
      await change("rate", { crawl_rate_per_second: rate }, { title: "Change the crawl rate?", lines, yes: "Set the rate",
        done: answer => `The crawl rate is ${perSecond(answer.crawl_rate_per_second)}; it was ${perSecond(answer.previous_crawl_rate_per_second)}.` });
    });
  }

  policyCard() {
    this.policyNow = el("p", {}, "–");
    this.policy = el("select", { id: "policy" });
    const field = el("div", { class: "field" }, el("label", { for: "policy" }, "New policy"), this.policy);
    return this.card(term("policy", "Policy"), "AdminService.SetPolicy", this.policyNow, [field], "Set the policy…", async () => {
      const name = this.policy.value;
      await change("policy", { policy: name }, { title: "Change the policy?", lines: [`From ${this.now.policy} to ${name}.`, "The server sorts all pages anew. The present policy stays in force until that is done."], yes: "Set the policy",
        done: answer => answer.under_way ? `The server is changing to ${name}. The previous policy stays in force until it is ready.` : `The policy is ${answer.policy}; it was ${answer.previous_policy}.` });
    });
  }

  pauseCard() {
    this.pauseNow = el("p", {}, "–");
    this.reason = el("input", { id: "reason", type: "text", maxlength: 256, autocomplete: "off" });
    this.reasonField = el("div", { class: "field" }, el("label", { for: "reason" }, "Reason, shown to other operators"), this.reason);
    this.pauseCardElement = this.card("Pause", "AdminService.Pause", this.pauseNow, [this.reasonField], "Pause…", async () => {
      if (this.now.paused) {
        await change("resume", {}, { title: "Resume assignments?", lines: ["Workers get pages again. Crawls missed during the pause are not made up for."], yes: "Resume", done: "Assignments continue." });
      } else {
        await change("pause", { reason: this.reason.value }, { title: "Pause assignments?", lines: ["Workers get no pages until somebody resumes. The server still accepts results and signals."], yes: "Pause", done: "Assignments are paused." });
      }
    });
    return this.pauseCardElement;
  }

  async loadPolicies() {
    try {
      const policies = await get("policies");
      replace(this.policy, policies.available_policies.map(name => el("option", { value: name, selected: name === policies.policy }, name)));
    } catch (error) {
      replace(this.policy, el("option", { value: "" }, `no list: ${error.message}`));
    }
  }

  refresh(overview) {
    if (overview.state === "starting") return;
    this.now = overview;
    setText(this.rateNow, `Now ${perSecond(overview.crawl_rate)}.`);
    setText(this.policyNow, `Now ${overview.policy}${overview.pending_policy ? `, changing to ${overview.pending_policy}` : ""}.`);
    setText(this.pauseNow, overview.paused ? `Paused${overview.pause_reason ? `: ${overview.pause_reason}` : ""}.` : "Not paused.");
    this.reasonField.hidden = overview.paused;
    setText(this.pauseCardElement.querySelector("button"), overview.paused ? "Resume…" : "Pause…");
  }
}
