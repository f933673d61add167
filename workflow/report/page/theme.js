"use strict";
// The colours: light, dark, or as the system has them. What is chosen is kept in this browser where it lets the page do so.
{
  const root = document.documentElement, key = "verseir-theme";
  const kept = () => { try { return localStorage.getItem(key) || ""; } catch { return ""; } };
  const show = theme => { if (theme) root.dataset.theme = theme; else delete root.dataset.theme; };
  root.classList.add("js");
  show(kept());
  document.addEventListener("DOMContentLoaded", () => {
    const group = document.querySelector(".theme"), buttons = [...group.querySelectorAll("button")];
    const press = () => buttons.forEach(button => button.setAttribute("aria-pressed", button.value === (root.dataset.theme || "")));
    for (const button of buttons) {
      button.addEventListener("click", () => {
        show(button.value);
        try { localStorage.setItem(key, button.value); } catch { /* it holds until the page is left */ }
        press();
      });
    }
    press();
    group.hidden = false;
  });
}
