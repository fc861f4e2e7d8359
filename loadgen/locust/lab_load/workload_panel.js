// Shows below the form of Locust's web UI what the chosen workload does. The server makes the text (web_pages.py).
"use strict";
(() => {
  const panel = document.createElement("aside");
  panel.id = "lab-workload";
  let shown = null;

  async function show(name) {
    if (name === shown) {
      return;
    }
    shown = name;
    const answer = await fetch(`./lab/workloads/${encodeURIComponent(name)}`);
    const text = await answer.text();
    // The answer about a later choice may have come before.
    if (name === shown) {
      panel.innerHTML = text;
    }
  }

  function look() {
    const field = document.querySelector("form select[name=workload]");
    if (field === null) {
      // The page without a form asks again when it has one: the file may have changed.
      shown = null;
      return;
    }
    const form = field.closest("form");
    if (panel.previousElementSibling !== form) {
      form.after(panel);
    }
    show(field.value).catch(() => {
      shown = null;
    });
  }

  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("change", look);
  look();
})();
