// The settings of the search: cost, scale, number of alternatives, number of changes, margin.

import { fill, h, onNumber, setValue } from "../lib/dom.js";

const COSTS = {
  L1: ["few changes", "L1: the sum of the changes"],
  L2: ["small changes", "L2: the sum of the squared changes"],
  mixed: ["both", "L1 + L2"],
  Q: ["smooth changes", "Q: cheaper if neighbouring pixels change together"],
};
const SPREADS = { range: "ranges", std: "standard deviations", mad: "median deviations", none: "original units" };

export class Settings {
  constructor(node, change) {
    this.node = node;
    this.change = change;
  }

  /** Build the controls for a scene. */
  build(scene) {
    const set = (patch) => this.change({ ...this.state, ...patch });
    this.costs = scene.costs.map((cost) => {
      const radio = h("input", { type: "radio", name: "cost", value: cost, onchange: () => set({ cost }) });
      return [radio, h("label", { class: "segment", title: COSTS[cost][1] }, radio, `${cost}: ${COSTS[cost][0]}`)];
    });
    this.spread = h(
      "select",
      { id: "spread", onchange: () => set({ spread: this.spread.value }) },
      scene.spreads.map((name) => h("option", { value: name }, SPREADS[name])),
    );
    this.count = h("input", { type: "number", id: "count", min: 1, max: 12, step: 1 });
    onNumber(
      this.count,
      (count) => set({ count }),
      () => this.state.count,
    );
    this.maxChanges = h("input", {
      type: "number",
      id: "max-changes",
      min: 0,
      max: scene.features.length,
      step: 1,
      placeholder: "any",
    });
    onNumber(
      this.maxChanges,
      (max_changes) => set({ max_changes }),
      () => this.state.max_changes,
      null,
    );
    this.margin = h("input", { type: "number", id: "margin", min: 0, step: "any" });
    onNumber(
      this.margin,
      (margin) => set({ margin }),
      () => this.state.margin,
      0,
    );
    fill(
      this.node,
      h(
        "fieldset",
        { class: "segments" },
        h("legend", {}, "Prefer"),
        this.costs.map(([, label]) => label),
      ),
      field("Measure changes in", this.spread, "the scale on which the changes of different features are compared"),
      field("Alternatives", this.count),
      scene.shape ? null : field("Max. features changed", this.maxChanges),
      field("Safety margin", this.margin, "the distance of an answer from each split of the tree; 0: just beyond it"),
    );
  }

  update(state) {
    this.state = state;
    for (const [radio] of this.costs) radio.checked = radio.value === state.cost;
    setValue(this.spread, state.spread);
    setValue(this.count, state.count);
    setValue(this.maxChanges, state.max_changes);
    setValue(this.margin, state.margin);
    this.spread.disabled = state.cost === "Q"; // which measures pixels in their original unit
  }
}

function field(label, input, title) {
  return h("div", { class: "field", title }, h("label", { for: input.id }, label), input);
}
