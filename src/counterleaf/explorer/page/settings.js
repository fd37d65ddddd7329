// How change is measured and how much of it may be: cost, scale, margin, alternatives, features changed.

import { fill, h, show } from "./dom.js";

const COSTS = {
  L1: ["few changes", "L1: the sum of the changes"],
  L2: ["small changes", "L2: the sum of the squared changes"],
  mixed: ["both", "L1 + L2"],
  Q: ["smooth changes", "Q: neighbouring pixels had better change together"],
};
const SCALES = { range: "range", std: "standard deviation", mad: "median deviation", none: "own unit" };

export class Settings {
  constructor(node, change) {
    this.node = node;
    this.change = change;
  }

  /** Controls for a scene. */
  build(scene) {
    const set = (patch, live) => this.change({ ...this.state, ...patch }, live);
    this.costs = scene.costs.map((cost) => {
      const radio = h("input", { type: "radio", name: "cost", value: cost, onchange: () => set({ cost }) });
      return [radio, h("label", { class: "segment", title: COSTS[cost][1] }, radio, `${cost}: ${COSTS[cost][0]}`)];
    });
    this.spread = h("select", { id: "spread", onchange: () => set({ spread: this.spread.value }) }, scene.spreads.map((name) => h("option", { value: name }, SCALES[name])));
    this.count = whole("count", 1, 12, (value) => set({ count: value ?? 1 }));
    this.most = whole("most", 0, scene.features.length, (value) => set({ most: value }));
    this.most.placeholder = "any";
    this.margin = h("input", { type: "number", id: "margin", min: 0, step: "any" });
    this.margin.addEventListener("change", () => this.margin.validity.valid && set({ margin: this.margin.value === "" ? 0 : this.margin.valueAsNumber }));
    fill(
      this.node,
      h("fieldset", { class: "segments" }, h("legend", {}, "Prefer"), this.costs.map(([, label]) => label)),
      field("Changes as shares of the", this.spread),
      field("Alternatives", this.count),
      scene.shape ? null : field("Most features changed", this.most),
      field("Safety margin", this.margin, "how far every split on the way must be passed by"),
    );
  }

  update(state) {
    this.state = state;
    for (const [radio] of this.costs) radio.checked = radio.value === state.cost;
    show(this.spread, state.spread);
    show(this.count, state.count);
    show(this.most, state.most);
    show(this.margin, state.margin);
    this.spread.disabled = state.cost === "Q";
  }
}

function field(words, input, title) {
  return h("div", { class: "field", title }, h("label", { for: input.id }, words), input);
}

function whole(id, min, max, set) {
  const input = h("input", { type: "number", id, min, max, step: 1 });
  input.addEventListener("change", () => input.validity.valid && set(input.value === "" ? null : input.valueAsNumber));
  return input;
}
