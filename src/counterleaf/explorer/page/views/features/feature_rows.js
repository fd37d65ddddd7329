// The table of features: search, filter and locks above, one line per feature below, the changed ones first.

import { button, h, lookUp } from "../../lib/dom.js";
import { controlOf, initialState, same, withControl } from "../../lib/state.js";
import { FeatureLine } from "./feature_line.js";

const REST = 2; // the rank of a feature that neither changes nor has settings

export class FeatureTable {
  /** `change(state, live)` sets a new state; `live` is true while the user moves something. */
  constructor(scene, change) {
    this.scene = scene;
    this.change = change;
    this.initial = initialState(scene);
    this.lines = scene.features.map(
      (feature, k) =>
        new FeatureLine(feature, k, {
          set: (patch, live = false) => this.change(withControl(this.state, feature.name, patch), live),
          edit: (value, live) => this.edit(k, value, live),
          reset: () => this.edit(k, this.original(k), false),
        }),
    );
    for (const line of this.lines) line.rank = REST;
    this.option = h("span", {}, "Option 1");
    this.table = h(
      "table",
      { class: "feature-rows", role: "table", "aria-label": "Features" },
      h("thead", { role: "rowgroup" }, heading(this.option)),
      this.lines.map((line) => line.node),
    );
    this.nothing = h("p", { class: "nothing", hidden: true });
    this.node = h("div", { class: "features" }, this.toolbar(), this.table, this.nothing);
    this.watchHand();
  }

  toolbar() {
    this.search = h("input", {
      type: "search",
      id: "find-feature",
      placeholder: "Find a feature",
      "aria-label": "Find a feature",
      oninput: () => this.filter(),
    });
    this.only = h("input", { type: "checkbox", id: "only-changed", onchange: () => this.filter() });
    this.lockOthers = button("Lock all others", () => this.setLocks((line) => !line.changed || this.locked(line)), {
      id: "lock-others",
      title: "Lock every feature that the selected option does not change",
    });
    this.unlock = button("Unlock all", () => this.setLocks(() => false));
    this.clear = button("Clear limits and locks", () => this.change({ ...this.state, controls: {} }), {
      title: "Remove all limits and locks of the features",
    });
    return h(
      "div",
      { class: "feature-tools" },
      this.search,
      h("label", { class: "check", for: "only-changed" }, this.only, "only those that change or have settings"),
      h("div", { class: "tool-buttons" }, this.lockOthers, this.unlock, this.clear),
    );
  }

  original(k) {
    return this.row?.values?.[k] ?? null;
  }

  value(k) {
    const { name } = this.scene.features[k];
    return Object.hasOwn(this.state.edits, name) ? this.state.edits[name] : this.original(k);
  }

  edit(k, value, live) {
    const { name } = this.scene.features[k];
    const { [name]: _, ...edits } = this.state.edits;
    this.change({ ...this.state, edits: value === this.original(k) ? edits : { ...edits, [name]: value } }, live);
  }

  locked(line) {
    return controlOf(this.state, line.feature.name).lock;
  }

  setLocks(lock) {
    this.change(
      this.lines.reduce((state, line) => withControl(state, line.feature.name, { lock: lock(line) }), this.state),
      false,
    );
  }

  /** `selected` is the index of the selected option; `answer` is undefined while that of another row is on its way. */
  update(state, row, answer, selected = 0) {
    this.state = state;
    this.row = row;
    const ways = answer?.ways ?? [];
    const changes = new Map();
    ways.forEach((way, k) => {
      for (const change of way.changes) {
        if (!changes.has(change.feature)) changes.set(change.feature, new Array(ways.length).fill(undefined));
        changes.get(change.feature)[k] = change;
      }
    });
    if (answer !== undefined) this.order = ways[selected]?.changes.map(({ feature }) => feature) ?? [];
    const none = new Array(ways.length).fill(undefined);
    this.lines.forEach((line, k) => {
      const { name } = line.feature;
      const found = changes.get(name) ?? none;
      if (answer !== undefined) line.changed = Boolean(found[selected]);
      line.isSet = this.isSet(name);
      line.update({
        control: controlOf(state, name),
        value: this.value(k),
        original: this.original(k),
        imputed: lookUp(answer?.imputed, name) ?? lookUp(row?.imputed, name),
        changes: found,
        selected,
        answered: ways.length > 0,
      });
    });
    const option = ways.length ? `Option ${selected + 1}` : "New value";
    if (this.option.textContent !== option) this.option.textContent = option;
    this.showTools(ways.length > 0);
    if (answer === undefined) return; // the lines stay where they are until the answer
    this.arrange();
    this.filter();
  }

  /** Whether the user edited or limited a feature; the locks that a data set starts with do not count. */
  isSet(name) {
    const control = lookUp(this.state.controls, name);
    return (
      Object.hasOwn(this.state.edits, name) || (control !== undefined && !same(control, lookUp(this.initial.controls, name)))
    );
  }

  showTools(hasWay) {
    const { controls } = this.state;
    this.lockOthers.disabled = !hasWay || this.lines.every((line) => line.changed || this.locked(line));
    this.unlock.disabled = !Object.values(controls).some((control) => control.lock);
    this.clear.disabled = Object.keys(controls).length === 0;
  }

  /** Hide the lines that the search or the filter excludes; an open line stays. */
  filter() {
    const text = this.search.value.trim().toLowerCase();
    let count = 0;
    for (const line of this.lines) {
      const shown = line.searched.includes(text) && (!this.only.checked || line.changed || line.isSet || line.isOpen);
      if (line.node.hidden !== !shown) line.node.hidden = !shown;
      count += shown;
    }
    this.nothing.hidden = count > 0;
    if (count) return;
    const typed = this.search.value.trim();
    this.nothing.textContent = typed ? `No feature matches “${typed}”.` : "No feature changes or has settings.";
  }

  // The order

  /** Follow the pointer and the focus, because lines must not move under the user's hand. */
  watchHand() {
    this.inside = false;
    this.table.addEventListener("pointerenter", () => (this.inside = true));
    this.table.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "touch") return; // a finger leaves after every tap
      this.inside = false;
      this.arrange();
    });
    this.table.addEventListener("focusout", () => setTimeout(() => this.arrange()));
    this.outsideTap = (event) => {
      if (!this.table.isConnected) return removeEventListener("pointerdown", this.outsideTap, true);
      if (!this.table.contains(event.target)) this.inside = false;
    };
    addEventListener("pointerdown", this.outsideTap, true);
  }

  get isBusy() {
    return this.inside || this.table.querySelector(":focus-visible") !== null;
  }

  /** Changed features first, in the order of the card, then those with settings, then the others, in the order of the model. */
  arrange() {
    if (!this.state) return;
    const place = (line) => this.order.indexOf(line.feature.name) / this.order.length; // as on the card
    const rank = (line) => (line.changed ? place(line) : line.isSet ? 1 : REST);
    if (this.lines.every((line) => line.rank === rank(line)) || (this.isBusy && this.arranged)) return;
    const focused = this.table.contains(document.activeElement) && document.activeElement;
    const moving = new Set(this.lines.filter((line) => line.rank !== rank(line))); // the others keep their relative order
    for (const line of moving) line.rank = rank(line);
    let next = null;
    for (const line of this.lines.toSorted((a, b) => a.rank - b.rank).reverse()) {
      if (moving.has(line)) this.table.insertBefore(line.node, next);
      next = line.node;
    }
    this.arranged = true;
    if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }
}

const heading = (option) =>
  h(
    "tr",
    { role: "row", class: "line" },
    [
      ["name", "Feature"],
      ["now", "Now"],
      ["picture", h("div", { class: "key" }, h("span", {}, "Allowed: drag the ends, click the values"), legend())],
      ["to", option],
      ["buttons", h("span", { class: "visually-hidden" }, "Settings")],
    ].map(([kind, text]) => h("th", { role: "columnheader", scope: "col", class: kind }, text)),
  );

const legend = () =>
  h(
    "span",
    { class: "legend-line" },
    [
      ["key-now", "○", "now"],
      ["key-way", "◆", "this option"],
      ["key-other", "◇", "other options"],
    ].map(([kind, sign, text]) => h("span", { class: kind }, h("span", { class: "sign", "aria-hidden": "true" }, sign), text)),
  );
