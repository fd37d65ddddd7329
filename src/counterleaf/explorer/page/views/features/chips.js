// The values of a category as chips: pressed if allowed, with a bar for the count in the data, and marks for row and options.

import { button, h } from "../../lib/dom.js";
import { isMissing, nameOf } from "./values.js";

const FEW = 8; // values that are all shown; of more, only the marked ones until the list is opened

export class Chips {
  constructor(feature, set) {
    this.feature = feature;
    this.set = set;
    this.open = feature.values.length <= FEW;
    const counts = feature.counts ?? null;
    const most = Math.max(1, ...(counts ?? []));
    this.chips = feature.values.map((text, k) => new Chip(text, counts && [counts[k], most], () => this.toggle(k)));
    this.list = h(
      "div",
      {
        class: "chip-list",
        role: "toolbar",
        "aria-label": `allowed values of ${nameOf(feature)}`,
        onkeydown: (event) => this.press(event),
        onfocusin: ({ target }) => this.rove(this.chips.find((chip) => chip.node === target)),
      },
      this.chips.map((chip) => chip.node),
    );
    this.node = h("div", { class: "chips" }, feature.values.length > FEW && this.tools(), this.list);
  }

  /** Above a long list: the number of allowed values, which opens it, then a search, all and none. */
  tools() {
    const name = nameOf(this.feature);
    this.opener = button("", () => this.unfold(), { class: "opener", "aria-expanded": "false" });
    this.search = h("input", {
      type: "search",
      placeholder: "Find a value",
      "aria-label": `find a value of ${name}`,
      oninput: () => this.filter(),
      onkeydown: (event) => {
        if (event.key !== "Escape" || !this.search.value) return;
        event.preventDefault();
        this.search.value = "";
        this.filter();
      },
    });
    this.extra = h("div", { class: "chip-tools", hidden: true }, this.search, allAndNone(this));
    return h("div", { class: "chip-head" }, this.opener, this.extra);
  }

  unfold() {
    this.open = !this.open;
    this.opener.setAttribute("aria-expanded", String(this.open));
    this.extra.hidden = !this.open;
    this.node.classList.toggle("open", this.open);
    this.search.value = "";
    this.filter();
  }

  filter() {
    const text = this.search?.value.trim().toLowerCase() ?? "";
    for (const chip of this.chips) {
      const shown = this.open ? chip.text.toLowerCase().includes(text) : chip.marked;
      if (chip.node.hidden !== !shown) chip.node.hidden = !shown;
    }
    if (!this.reached || this.reached.node.hidden) this.rove(this.chips.find((chip) => !chip.node.hidden));
  }

  /** The arrow keys move between the chips, of which the Tab key reaches one. */
  press(event) {
    const shown = this.chips.filter((chip) => !chip.node.hidden);
    const at = shown.indexOf(this.reached);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    shown.at(to % shown.length).node.focus();
  }

  /** Let the Tab key reach a chip. */
  rove(chip) {
    if (!chip || chip === this.reached) return;
    if (this.reached) this.reached.node.tabIndex = -1;
    this.reached = chip;
    chip.node.tabIndex = 0;
  }

  toggle(k) {
    const allowed = this.feature.values.flatMap((_, one) => (this.isAllowed(one) !== (one === k) ? [one] : []));
    if (allowed.length) this.allow(allowed);
  }

  isAllowed(k) {
    return this.control.allowed === null || this.control.allowed.includes(k);
  }

  allow(allowed) {
    this.set({ allowed: allowed.length === this.feature.values.length ? null : allowed });
  }

  /** Allow the current value only; nothing happens if it is missing. */
  allowNone() {
    if (!isMissing(this.feature, this.value)) this.allow([this.value]);
  }

  update(control, value, values, selected) {
    this.control = control;
    this.value = value;
    const allowed = control.allowed && new Set(control.allowed);
    const ways = new Set(values.filter((_, k) => k !== selected));
    this.chips.forEach((chip, k) =>
      chip.update(!allowed || allowed.has(k), k === value, k === values[selected], ways.has(k), allowed?.size === 1),
    );
    if (!this.reached) this.rove(this.chips.find((chip) => chip.marked) ?? this.chips[0]);
    if (!this.opener) return;
    const { length } = this.feature.values;
    const text = allowed ? `${allowed.size} of ${length} allowed` : `all ${length} allowed`;
    if (this.opener.textContent !== text) this.opener.textContent = text;
    this.opener.classList.toggle("set", allowed !== null);
    this.filter();
  }
}

/** The buttons that allow all values, or the current one only. */
export const allAndNone = (chips) => [
  button("All", () => chips.allow(chips.feature.values.map((_, k) => k)), {
    "aria-label": `allow all values of ${nameOf(chips.feature)}`,
  }),
  button("None", () => chips.allowNone(), {
    "aria-label": `allow only the current value of ${nameOf(chips.feature)}`,
    title: "Only the current value",
  }),
];

class Chip {
  constructor(text, counted, toggle) {
    this.text = text;
    this.marks = h("span", { class: "chip-marks", "aria-hidden": "true" });
    this.said = h("span", { class: "visually-hidden" });
    this.node = button("", toggle, { class: "chip", "aria-pressed": "true", tabindex: "-1" });
    this.node.append(this.marks, h("span", { class: "chip-text" }, text), this.said);
    if (!counted) return;
    const [count, most] = counted;
    const bar = h("span", { class: "chip-bar", "aria-hidden": "true" });
    bar.style.width = `${count ? Math.max(4, (count / most) * 100) : 0}%`;
    this.node.append(bar);
    this.count = `${count.toLocaleString("en")} row${count === 1 ? "" : "s"}`;
  }

  update(allowed, now, way, other, last) {
    const key = `${allowed}${now}${way}${other}${last}`;
    if (this.key === key) return;
    this.key = key;
    this.marked = now || way || other;
    this.node.setAttribute("aria-pressed", String(allowed));
    this.marks.textContent = `${now ? "○" : ""}${way ? "◆" : other ? "◇" : ""}`;
    this.marks.classList.toggle("way", way || other);
    this.node.classList.toggle("is-now", now);
    this.node.classList.toggle("is-way", way);
    this.said.textContent = [now && "(now)", way && "(this option)", other && "(another option)"].filter(Boolean).join(" ");
    const hint = allowed && last ? "the only allowed value" : allowed ? "allowed" : "not allowed";
    this.node.title = this.count ? `${this.count}, ${hint}` : hint;
  }
}
