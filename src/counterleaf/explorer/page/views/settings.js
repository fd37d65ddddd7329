// "Adjust": what a good answer is, in words; the terms behind them one level down.

import { button, fill, h, onNumber, plainNumber, setText, setValue } from "../lib/dom.js";
import { togglePanel } from "../lib/page_controls.js";
import { initialState } from "../lib/state.js";

const SPREADS = { range: "range in the data", std: "standard deviation", mad: "median deviation", none: "original units" };

export class Adjust {
  constructor(node, change) {
    Object.assign(this, { node, change });
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      this.toggle(this.opener, false);
    });
  }

  toggle(opener, open) {
    this.opener = opener;
    togglePanel(this.node, opener, open);
  }

  /** Build the controls for a data set. */
  build(scene) {
    this.scene = scene;
    if (this.opener) this.opener = document.getElementById("adjust-button");
    const set = (patch) => this.change({ ...this.state, ...patch });
    this.costs = scene.costs.map((cost) => {
      const radio = h("input", { type: "radio", name: "cost", value: cost, onchange: () => set({ cost }) });
      const [name, meaning] = scene.measures[cost];
      return [radio, h("label", { class: "choice" }, radio, h("span", {}, name, h("small", {}, meaning)))];
    });
    this.count = numberField("count", { min: 1, max: 12, step: 1 }, (count) => set({ count }), () => this.state.count);
    this.maxChanges = numberField(
      "max-changes",
      { min: 0, max: scene.features.length, step: 1, placeholder: "any" },
      (max_changes) => set({ max_changes }),
      () => this.state.max_changes,
      null,
    );
    this.margin = numberField("margin", { min: 0, step: "any" }, (margin) => set({ margin }), () => this.state.margin, 0);
    this.spread = h(
      "select",
      { id: "spread", onchange: () => set({ spread: this.spread.value }) },
      scene.spreads.map((name) => h("option", { value: name }, SPREADS[name])),
    );
    this.term = h("p", { class: "quiet" });
    fill(
      this.node,
      h(
        "div",
        { class: "sheet-head" },
        h("h2", {}, "Adjust"),
        button("Done", () => this.toggle(this.opener, false), { class: "primary" }),
      ),
      h("fieldset", { class: "choices" }, h("legend", {}, "Look for"), this.costs.map(([, label]) => label)),
      field("Options to show", this.count),
      scene.shape ? null : field("Features that may change, at most", this.maxChanges),
      this.certainty(scene, set),
      field("Safety margin", this.margin, scene.margin),
      scene.constraints.length > 0 && [
        h("h3", {}, "Always required"),
        h("ul", { class: "rules-list" }, scene.constraints.map((text) => h("li", {}, text))),
      ],
      h(
        "details",
        { class: "expert" },
        h("summary", {}, "Expert"),
        field("Compare features by their", this.spread, "The scale on which the changes of different features are added up."),
        this.term,
        h("p", { class: "quiet" }, `Model: ${scene.model ?? "tree"}, ${scene.n_leaves?.toLocaleString("en") ?? "?"} leaves.`),
      ),
      button("Clear all settings", () => this.change(this.cleared()), {
        class: "clear",
        title: "remove all locks and limits, and reset the settings above",
      }),
    );
  }

  /** The question without settings: the row, its edits and the goal stay. */
  cleared() {
    const { row, edits, target, at_least, at_most } = this.state;
    const goal = this.scene.kind === "value" ? { at_least, at_most } : {};
    return { ...initialState(this.scene), row, edits, target, ...goal, controls: {} };
  }

  /** How sure of the target class the model must be. */
  certainty(scene, set) {
    this.sure = null;
    if (!scene.probabilities || scene.kind !== "class") return null;
    const read = () => (this.state.at_least === null ? null : plainNumber(100 * this.state.at_least));
    const accept = (percent) => set({ at_least: percent === null ? null : percent / 100, target: this.oneTarget() });
    this.sure = numberField("sure", { min: 1, max: 100, step: "any", placeholder: "any" }, accept, read, null);
    this.readSure = read;
    return field("The model must be at least this sure, in %", this.sure);
  }

  /** The target, which must be one class if a probability is set. */
  oneTarget() {
    const { target } = this.state;
    const others = this.scene.classes.filter((name) => name !== this.sourceLabel);
    return target.length === 1 ? target : target.slice(0, 1).concat(target.length ? [] : others.slice(0, 1));
  }

  update(state, sourceLabel) {
    Object.assign(this, { state, sourceLabel });
    for (const [radio] of this.costs) radio.checked = radio.value === state.cost;
    setValue(this.spread, state.spread);
    setValue(this.count, state.count);
    setValue(this.maxChanges, state.max_changes);
    setValue(this.margin, plainNumber(state.margin));
    if (this.sure) setValue(this.sure, this.readSure());
    this.spread.disabled = state.cost === "Q"; // which measures pixels in their original unit
    setText(this.term, `Cost: ${this.scene.measures[state.cost][2]}.`);
  }
}

function numberField(id, attributes, accept, current, empty) {
  const input = h("input", { type: "number", id, ...attributes });
  onNumber(input, accept, current, empty);
  return input;
}

function field(label, input, hint) {
  const id = `${input.id}-hint`;
  if (hint) input.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input, hint && h("small", { id, class: "quiet" }, hint));
}
