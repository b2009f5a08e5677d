#include "server/ops/ops_page.h"

namespace freshet {
namespace {

// Style, then markup, then script. The script draws every chart as one SVG path for each series;
// numbers come from /status.json alone.
constexpr std::string_view kPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Freshet</title>
<style>
:root { --ground:#f6f7f4; --card:#fff; --ink:#1c2420; --soft:#66706a; --line:#dde2dc;
  --a:#14735a; --b:#c4622d; --c:#3b62b5; --d:#8a5aa8; --e:#9a8a1f; --bad:#b3261e; --good:#14735a; }
@media (prefers-color-scheme: dark) { :root { --ground:#141816; --card:#1c211e; --ink:#e6ebe7;
  --soft:#93a098; --line:#2e3631; --a:#4cc09a; --b:#e58f5d; --c:#86a6ea; --d:#c39ade; --e:#d4c352;
  --bad:#f2867e; --good:#4cc09a; } }
* { box-sizing:border-box }
body { margin:0; background:var(--ground); color:var(--ink);
  font:15px/1.45 system-ui, sans-serif; font-variant-numeric:tabular-nums }
main { max-width:1180px; margin:0 auto; padding:20px }
header { display:flex; flex-wrap:wrap; gap:8px 16px; align-items:baseline; margin-bottom:16px }
h1 { font-size:22px; margin:0 }
h2 { font-size:13px; margin:0 0 6px; color:var(--soft); font-weight:600 }
.chip { padding:1px 9px; border-radius:10px; border:1px solid var(--line); font-size:13px }
.chip.good { color:var(--good); border-color:var(--good) }
.chip.bad { color:var(--bad); border-color:var(--bad) }
.soft { color:var(--soft); font-size:13px }
.tiles, .charts { display:grid; gap:12px; margin-bottom:12px }
.tiles { grid-template-columns:repeat(auto-fill, minmax(150px, 1fr)) }
.charts { grid-template-columns:repeat(auto-fill, minmax(340px, 1fr)) }
.card { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:10px 14px;
  min-width:0 }
.card b { display:block; font-size:22px; font-weight:600 }
svg { display:block; width:100%; height:120px }
svg path { fill:none; stroke-width:1.6; vector-effect:non-scaling-stroke }
svg line { stroke:var(--line); vector-effect:non-scaling-stroke }
.legend { display:flex; flex-wrap:wrap; gap:2px 14px; font-size:13px; min-height:20px }
.legend i { display:inline-block; width:10px; height:3px; margin-right:5px; vertical-align:middle }
.scale { display:flex; justify-content:space-between; color:var(--soft); font-size:12px }
table { border-collapse:collapse; width:100%; font-size:13px }
td, th { text-align:left; padding:3px 10px 3px 0; border-top:1px solid var(--line);
  white-space:nowrap }
th { color:var(--soft); font-weight:600; border:0 }
td.url { width:100%; max-width:0; overflow:hidden; text-overflow:ellipsis }
.num { text-align:right }
</style></head><body><main>
<header><h1>Freshet</h1><span id="state" class="chip">connecting</span>
<span id="about" class="soft"></span></header>
<section class="tiles" id="tiles"></section>
<section class="charts" id="charts"></section>
<section class="charts">
<div class="card"><h2>Results</h2><table id="results"></table></div>
<div class="card"><h2>Signals</h2><table id="signals"></table></div>
<div class="card"><h2>Unused ticks of the crawl rate</h2><table id="ticks"></table></div>
</section>
<section class="card"><h2>Latest assignments</h2><table id="recent"></table></section>
</main>
<script>
"use strict";
const $ = id => document.getElementById(id);
const colours = ["--a", "--b", "--c", "--d", "--e"];
const clean = text => String(text).replace(/[&<>"]/g,
  c => ({ "&":"&amp;", "<":"&lt;", ">":"&gt;", '"':"&quot;" }[c]));
const words = name => name.replace(/_/g, " ");
function number(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  const size = Math.abs(x);
  if (size >= 1e9) return (x / 1e9).toPrecision(3) + " G";
  if (size >= 1e6) return (x / 1e6).toPrecision(3) + " M";
  if (size >= 1e4) return (x / 1e3).toPrecision(3) + " k";
  if (Number.isInteger(x)) return String(x);
  return size >= 100 ? x.toFixed(0) : x.toPrecision(3);
}
const percent = x => x === null || x === undefined ? "–" : (100 * x).toFixed(1) + " %";
function span(seconds) {
  if (seconds < 90) return seconds.toFixed(0) + " s";
  if (seconds < 5400) return (seconds / 60).toFixed(0) + " min";
  if (seconds < 172800) return (seconds / 3600).toFixed(1) + " h";
  return (seconds / 86400).toFixed(1) + " days";
}
// Mean over a sliding window: single seconds of a random process tell little.
function smooth(values, width) {
  return values.map((_, i) => {
    const part = values.slice(Math.max(0, i - width + 1), i + 1).filter(v => v !== null);
    return part.length ? part.reduce((a, b) => a + b, 0) / part.length : null;
  });
}
function path(values, low, high) {
  let out = "", pen = "M";
  values.forEach((v, i) => {
    if (v === null) { pen = "M"; return; }
    const x = values.length > 1 ? 400 * i / (values.length - 1) : 400;
    const y = 116 - 112 * (v - low) / (high - low || 1);
    out += pen + x.toFixed(1) + " " + y.toFixed(1);
    pen = "L";
  });
  return out;
}
function chart(title, series, show, bounds) {
  const all = series.flatMap(s => s.values).filter(v => v !== null);
  let low = bounds ? bounds[0] : 0, high = bounds ? bounds[1] : Math.max(...all, 0) * 1.1;
  if (bounds === "fit" && all.length) {
    low = Math.min(...all);
    high = Math.max(...all);
    const margin = Math.max((high - low) * 0.1, 0.005);
    low -= margin;
    high += margin;
  }
  const lines = series.map((s, i) => `<path d="${path(s.values, low, high)}"
    style="stroke:var(${colours[i % colours.length]})"/>`).join("");
  const legend = series.map((s, i) => `<span><i style="background:var(${colours[i % colours.length]})">
    </i>${clean(s.name)} ${show(s.values.filter(v => v !== null).at(-1))}</span>`).join("");
  return `<div class="card"><h2>${clean(title)}</h2><div class="legend">${legend}</div>
    <svg viewBox="0 0 400 120" preserveAspectRatio="none"><line x1="0" x2="400" y1="116" y2="116"/>
    <line x1="0" x2="400" y1="4" y2="4"/>${lines}</svg>
    <div class="scale"><span>${show(low)} to ${show(high)}</span></div></div>`;
}
const rows = object => Object.entries(object).map(([name, value]) =>
  `<tr><td>${clean(words(name))}</td><td class="num">${number(value)}</td></tr>`).join("");
const tile = (name, value) => `<div class="card"><h2>${name}</h2><b>${value}</b></div>`;
function draw(s) {
  const h = s.history, fetched = s.results.changed + s.results.unchanged;
  const state = s.failure ? ["bad", "store in error"] : s.paused ? ["bad", "paused"]
    : ["good", "serving"];
  $("state").className = "chip " + state[0];
  $("state").textContent = state[1];
  $("about").textContent = `${s.failure || s.pause_reason} policy ${s.policy}` +
    `${s.pending_policy && ", changing to " + s.pending_policy}, durability ` +
    `${s.durability}, ${s.shards} shard${s.shards > 1 ? "s" : ""}, up ${span(s.time - s.started)}, ` +
    `version ${s.version}`;
  $("tiles").innerHTML = tile("Pages", number(s.pages)) + tile("Hosts", number(s.hosts)) +
    tile("Crawl rate", number(s.crawl_rate) + " /s") +
    tile("Assignments", number(s.assignments)) +
    tile("Found changed", fetched ? percent(s.results.changed / fetched) : "–") +
    tile("Workers", `${number(s.workers)} <span class="soft">credit ${number(s.worker_credit)}</span>`) +
    tile("Open leases", number(s.open_leases)) +
    tile("Epochs", number(s.epochs) + (s.epoch_running ? ' <span class="soft">running</span>' : ""));
  const notes = Object.entries(h.annotations || {});
  const fresh = notes.filter(([name]) => name.includes("fresh"));
  const other = notes.filter(([name]) => !name.includes("fresh"));
  $("charts").innerHTML =
    chart("Freshness", [
      { name: "believed", values: h.believed_freshness },
      { name: "believed, weighted", values: h.weighted_believed_freshness },
      ...fresh.map(([name, values]) => ({ name: words(name), values }))], percent, "fit") +
    chart("Per second, mean of 5 s", [
      { name: "assignments", values: smooth(h.crawls_per_second, 5) },
      { name: "results", values: smooth(h.results_per_second, 5) },
      { name: "signals", values: smooth(h.signals_per_second, 5) }], number) +
    chart("Share of crawls that found a change, mean of 10 s",
      [{ name: "changed", values: smooth(h.changed_share, 10) }], percent, [0, 1]) +
    chart("Price of a crawl (importance × seconds)", [{ name: "price", values: h.price }], number) +
    chart("Ready ahead of their tick", [{ name: "ready", values: h.ready }], number) +
    (other.length ? chart("Posted figures",
      other.map(([name, values]) => ({ name: words(name), values })), number, "fit") : "");
  $("results").innerHTML = rows(s.results);
  $("signals").innerHTML = rows(s.signals);
  $("ticks").innerHTML = rows(s.unused_ticks);
  $("recent").innerHTML = "<tr><th>time</th><th>page</th><th>worker</th><th class=num>value</th></tr>" +
    s.recent.slice(0, 20).map(r => `<tr><td>${new Date(r.time * 1000).toLocaleTimeString()}</td>
    <td class="url">${clean(r.url)}</td><td>${clean(r.worker)}</td>
    <td class="num">${r.value === null ? "forced" : number(r.value)}</td></tr>`).join("");
}
async function tick() {
  try {
    const status = await (await fetch("status.json")).json();
    if (status.starting) {
      $("state").className = "chip bad";
      $("state").textContent = status.starting;
    } else {
      draw(status);
    }
  } catch (error) {
    $("state").className = "chip bad";
    $("state").textContent = "no answer from the server";
  }
  setTimeout(tick, 1000);
}
tick();
</script></body></html>
)page";

}  // namespace

std::string_view OpsPage() { return kPage; }

}  // namespace freshet
