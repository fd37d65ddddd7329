// How change is measured and how much of it may be: cost, scale, margin, alternatives, features changed.

import { fill, h, onNumber, show } from "./dom.js";

const COSTS = {
  L1: ["few changes", "L1: the sum of the changes"],
  L2: ["small changes", "L2: the sum of the squared changes"],
  mixed: ["both", "L1 + L2"],
  Q: ["smooth changes", "Q: neighbouring pixels had better change together"],
};
const SCALES = { range: "ranges", std: "standard deviations", mad: "median deviations", none: "own units" };

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
    this.spread = h(
      "select",
      { id: "spread", onchange: () => set({ spread: this.spread.value }) },
      scene.spreads.map((name) => h("option", { value: name }, SCALES[name])),
    );
    this.count = h("input", { type: "number", id: "count", min: 1, max: 12, step: 1 });
    onNumber(
      this.count,
      (count) => set({ count }),
      () => this.state.count,
    );
    this.most = h("input", { type: "number", id: "most", min: 0, max: scene.features.length, step: 1 });
    onNumber(
      this.most,
      (most) => set({ most }),
      () => this.state.most,
      null,
    );
    this.most.placeholder = "any";
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
      field(
        "Changes counted in",
        this.spread,
        "whether a change is large or small is judged by how widely the feature varies in the data",
      ),
      field("Alternatives", this.count),
      scene.shape ? null : field("Most features changed", this.most),
      field("Safety margin", this.margin, "how far beyond each border of the tree the answer must lie; 0: just beyond"),
    );
  }

  update(state) {
    this.state = state;
    for (const [radio] of this.costs) radio.checked = radio.value === state.cost;
    show(this.spread, state.spread);
    show(this.count, state.count);
    show(this.most, state.most);
    show(this.margin, state.margin);
    this.spread.disabled = state.cost === "Q"; // which counts pixels as they are
  }
}

function field(words, input, title) {
  return h("div", { class: "field", title }, h("label", { for: input.id }, words), input);
}
