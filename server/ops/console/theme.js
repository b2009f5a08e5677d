// Which colours: those of the system, or those that were chosen here. Runs before anything is drawn.
"use strict";
(() => {
  const root = document.documentElement;
  const stored = () => {
    try { return localStorage.getItem("freshet-theme") || ""; } catch { return ""; }
  };
  const apply = theme => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    document.dispatchEvent(new CustomEvent("themechange"));
  };
  apply(stored());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(stored()));
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = stored();
    select.addEventListener("change", () => {
      try { localStorage.setItem("freshet-theme", select.value); } catch { /* it holds for this page */ }
      apply(select.value);
    });
  });
})();
