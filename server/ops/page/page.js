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
