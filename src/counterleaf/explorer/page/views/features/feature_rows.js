// The table of features: the value of each in the row, its settings, and its value in each alternative.

import { button, displayName, fill, h, lookUp, onNumber, padlock, setValue } from "../../lib/dom.js";
import { controlOf, withControl } from "../../lib/state.js";
import { ChoiceLimits, NumberLimits, describeLimits } from "./limits.js";

const DIRECTIONS = { only_increase: ["▲", "only increase"], only_decrease: ["▼", "only decrease"] };

export class FeatureTable {
  /** `change(state, live)` sets a new state; `live` is true while the user moves a slider. */
  constructor(scene, change) {
    this.scene = scene;
    this.change = change;
    this.head = h("tr", { role: "row" });
    this.rows = scene.features.map(
      (feature) =>
        new FeatureRow(
          feature,
          (patch, live) => this.set(feature.name, patch, live),
          (value) => this.edit(feature.name, value),
        ),
    );
    this.filter = h("input", {
      type: "checkbox",
      id: "only-changed",
      onchange: () => this.update(this.state, this.row, this.answer),
    });
    this.ranks = h("p", { class: "ranks" });
    this.table = h(
      "table",
      { class: "feature-rows", role: "table" },
      h("thead", { role: "rowgroup" }, this.head),
      h(
        "tbody",
        { role: "rowgroup" },
        this.rows.map((row) => [row.node, row.editor]),
      ),
    );
    this.node = h(
      "div",
      {},
      h(
        "div",
        { class: "above" },
        h("label", { class: "check", for: "only-changed" }, this.filter, "only features that change or have settings"),
        button("Clear all settings", () => this.change({ ...this.state, controls: {} }), {
          class: "quiet",
          title: "remove all locks and limits",
        }),
      ),
      this.ranks,
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features and alternatives" }, this.table),
    );
  }

  set(name, patch, live = false) {
    this.change(withControl(this.state, name, patch), live);
  }

  edit(name, value) {
    const { [name]: _, ...edits } = this.state.edits;
    const original = this.row.values[this.scene.features.findIndex((feature) => feature.name === name)];
    this.change({ ...this.state, edits: value === original ? edits : { ...edits, [name]: value } }, false);
  }

  update(state, row, answer) {
    this.state = state;
    this.row = row;
    this.answer = answer;
    const alternatives = answer?.answers ?? [];
    fill(this.head, fixedHeadings(), alternatives.map(alternativeHeading));
    this.table.style.minWidth = `${46 + 7.5 * alternatives.length}rem`;
    this.ranks.textContent = alternatives
      .map((one, k) => `#${k + 1} ${one.label}${one.confirmed ? " ✓" : " ✗"} cost ${one.cost}`)
      .join(" · ");
    this.rows.forEach(({ feature }, k) =>
      this.rows[k].update(controlOf(state, feature.name), valueOf(state, row, feature, k), answer, this.filter.checked),
    );
  }
}

const fixedHeadings = () =>
  [
    ["name", "Feature"],
    ["now", "Now"],
    ["rules", "May change"],
    ["limits", h("span", { class: "visually-hidden" }, "Limits")],
  ].map(([kind, heading]) => h("th", { role: "columnheader", scope: "col", class: kind }, heading));

const alternativeHeading = (alternative, k) =>
  h(
    "th",
    {
      role: "columnheader",
      scope: "col",
      class: "to",
      title: k ? "the cheapest answer in another leaf of the tree" : "the cheapest answer",
    },
    h("span", { class: "rank" }, `#${k + 1}`),
    h(
      "span",
      { class: "label" },
      alternative.label,
      h("span", { class: alternative.confirmed ? "good" : "bad" }, alternative.confirmed ? " ✓" : " ✗ not confirmed"),
    ),
    h("span", { class: "cost" }, `cost ${alternative.cost}`),
  );

/** The current value of a feature: the edited one, or that of the row. */
const valueOf = (state, row, feature, k) =>
  Object.hasOwn(state.edits, feature.name) ? state.edits[feature.name] : row.values[k];

class FeatureRow {
  constructor(feature, set, edit) {
    this.feature = feature;
    this.open = false;
    const name = displayName(feature.name);
    this.now = feature.kind === "number" ? numberField(feature, edit, () => this.value) : choiceField(feature, edit);
    this.now.setAttribute("aria-label", `${name} now`);
    this.lock = button("", () => set({ lock: !this.control.lock }), { class: "lock" });
    const toggleDirection = (direction) => set({ direction: this.control.direction === direction ? "any" : direction });
    this.directions =
      feature.kind === "number" || feature.kind === "ordinal"
        ? Object.entries(DIRECTIONS).map(([direction, [sign, title]]) => [
            direction,
            button(sign, () => toggleDirection(direction), { title, "aria-label": `${name} ${title}` }),
          ])
        : [];
    this.limits = button("", () => this.toggle(), { class: "limits-button", "aria-expanded": "false" });
    this.cells = [];
    this.node = h(
      "tr",
      { role: "row" }, // the first four cells are never replaced, so that they keep the focus
      h("th", { role: "rowheader", scope: "row", class: "name" }, name),
      h("td", { role: "cell", class: "now" }, this.now),
      h(
        "td",
        { role: "cell", class: "rules" },
        h(
          "div",
          {},
          this.lock,
          this.directions.map(([, node]) => node),
        ),
      ),
      h("td", { role: "cell", class: "limits" }, this.limits),
    );
    this.editorCell = h("td", { role: "cell" });
    this.editor = h("tr", { role: "row", class: "editor", hidden: true }, this.editorCell);
    this.limitsEditor = feature.kind === "number" ? new NumberLimits(feature, set) : new ChoiceLimits(feature, set);
  }

  toggle() {
    this.open = !this.open;
    if (this.open && !this.editorCell.hasChildNodes()) {
      this.editorCell.append(this.limitsEditor.node);
      this.limitsEditor.update(this.control);
    }
    this.editor.hidden = !this.open || this.node.hidden;
    this.limits.setAttribute("aria-expanded", String(this.open));
  }

  update(control, value, answer, filtered) {
    this.control = control;
    this.value = value;
    const change = lookUp(answer?.changes, this.feature.name);
    const limits = describeLimits(this.feature, control);
    const free = !control.lock && control.direction === "any" && limits === "";
    this.node.hidden = filtered && !change && free && !this.open;
    this.editor.hidden = !this.open || this.node.hidden;
    setValue(this.now, value === null && this.feature.kind !== "number" ? this.feature.values.length : value);
    this.updateButtons(control, limits);
    if (this.open) this.limitsEditor.update(control);
    if (answer === this.answer) return; // its cells are up to date
    this.answer = answer;
    const count = answer?.answers.length ?? 0;
    for (const cell of this.cells) cell.remove();
    this.cells = Array.from({ length: count }, (_, k) => alternativeCell(change, k));
    this.node.append(...this.cells);
    this.editorCell.setAttribute("colspan", 4 + count);
  }

  updateButtons({ lock, direction }, limits) {
    const name = displayName(this.feature.name);
    if (this.lock.ariaPressed !== String(lock)) fill(this.lock, padlock(lock), lock ? "locked" : "lock");
    this.lock.setAttribute("aria-pressed", String(lock));
    this.lock.setAttribute("aria-label", `lock ${name}`);
    this.lock.title = lock ? "Locked: click to unlock" : "Not locked: click to lock";
    for (const [one, node] of this.directions) node.setAttribute("aria-pressed", String(one === direction));
    this.limits.textContent = limits || "limits";
    this.limits.classList.toggle("set", limits !== "");
    this.limits.setAttribute("aria-label", `limits of ${name}: ${limits || "none"}`);
  }
}

/** The value of a feature in alternative k: "=" if it does not change, otherwise the new value with its direction. */
function alternativeCell(change, k) {
  const attributes = { role: "cell", "data-k": `#${k + 1}` };
  if (!change || change.to[k] === "=") return h("td", { ...attributes, class: "to unchanged" }, "=");
  const direction = change.direction[k];
  const [kind, sign, verb] =
    direction === null
      ? ["other", "→", "becomes"]
      : direction > 0
        ? ["up", "▲", "increases to"]
        : ["down", "▼", "decreases to"];
  return h(
    "td",
    { ...attributes, class: `to ${kind}` },
    h("span", { "aria-hidden": "true" }, `${sign} `),
    h("span", { class: "visually-hidden" }, `${verb} `),
    change.to[k],
  );
}

function numberField(feature, edit, currentValue) {
  const input = h("input", {
    type: "number",
    step: feature.step ?? "any",
    class: "value",
    placeholder: "(missing)",
    required: true,
  });
  onNumber(input, edit, currentValue);
  return input;
}

function choiceField(feature, edit) {
  const options = feature.values.map((text, k) => h("option", { value: k }, text));
  if (feature.missing) options.push(h("option", { value: feature.values.length }, "(missing)"));
  return h("select", { class: "value", onchange: (event) => edit(Number(event.target.value)) }, options);
}
