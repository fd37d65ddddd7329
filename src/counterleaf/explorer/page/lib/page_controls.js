// Tabs, menus, the theme and the keys of the whole page.

import { shared } from "./store.js";

/** Tabs open with a click or with the arrow keys. */
export function listenToTabs(open) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  for (const tab of tabs) {
    tab.addEventListener("click", () => open(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
      const visible = tabs.filter((one) => !one.hidden);
      const at = visible.indexOf(tab);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: visible.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      visible.at(to % visible.length).focus();
      visible.at(to % visible.length).click();
    });
  }
}

const openMenus = () => document.querySelectorAll("details.menu[open]");

/** Menus close with Escape, which returns the focus to them, after a choice, and with a click outside. */
export function listenToMenus() {
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    for (const menu of openMenus()) {
      menu.open = false;
      menu.querySelector("summary").focus();
      event.preventDefault();
    }
  });
  addEventListener("click", (event) => {
    for (const menu of openMenus()) {
      const inside = menu.contains(event.target);
      if (inside && !event.target.closest("div > button")) continue;
      menu.open = false;
      if (inside) menu.querySelector("summary").focus();
    }
  });
}

export function listenToTheme(button) {
  const root = document.documentElement;
  button.addEventListener("click", () => {
    const dark =
      root.style.colorScheme === "dark" ||
      (root.style.colorScheme === "" && matchMedia("(prefers-color-scheme: dark)").matches);
    root.style.colorScheme = dark ? "light" : "dark";
    shared.setItem("counterleaf-theme", root.style.colorScheme);
  });
  root.style.colorScheme = shared.getItem("counterleaf-theme") ?? "";
}

const isTextField = (node) => /^(text|number|search|date|textarea)$/.test(node.type ?? "");

/** Ctrl+Z and Ctrl+Shift+Z undo and redo; the digits select an option. Fields keep these keys. */
export function listenToKeys({ undo, redo, select }) {
  addEventListener("keydown", (event) => {
    if (isTextField(event.target) || event.target.tagName === "SELECT" && !(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) {
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      if (key === "y" || event.shiftKey) redo();
      else undo();
    } else if (!event.altKey && /^[1-9]$/.test(key) && !document.querySelector("dialog[open]")) select(Number(key) - 1);
  });
}

/** Open a panel that is not modal: Escape or its button closes it, and the focus returns to where it was. */
export function togglePanel(panel, opener, open = panel.hidden) {
  panel.hidden = !open;
  opener.setAttribute("aria-expanded", String(open));
  document.body.classList.toggle(`with-${panel.id}`, open);
  if (open) (panel.querySelector("input:checked") ?? panel.querySelector("input, button"))?.focus();
  else opener.focus();
}
