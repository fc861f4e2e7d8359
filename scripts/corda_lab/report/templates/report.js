"use strict";
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const setTheme = (isDark) => { root.dataset.theme = isDark ? "dark" : "light"; };
  setTheme(dark.matches);
  dark.addEventListener("change", () => setTheme(dark.matches));
  document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "light"));

  const chooser = document.getElementById("step");
  if (chooser) {
    const showStep = () => document.querySelectorAll("[data-step]").forEach((step) => { step.hidden = step.dataset.step !== chooser.value; });
    const go = (by) => {
      chooser.selectedIndex = Math.min(Math.max(chooser.selectedIndex + by, 0), chooser.options.length - 1);
      showStep();
    };
    showStep();
    chooser.addEventListener("change", showStep);
    document.getElementById("step-before").addEventListener("click", () => go(-1));
    document.getElementById("step-after").addEventListener("click", () => go(1));
    document.querySelectorAll("a[data-open]").forEach((link) => link.addEventListener("click", () => {
      chooser.value = link.dataset.open;
      showStep();
      chooser.focus({ preventScroll: true });
    }));
  }

  document.querySelectorAll("button.copy").forEach((button) => button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(text);
    }
  }));
})();
