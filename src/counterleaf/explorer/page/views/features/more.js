// The further settings of a feature: exact limits, direction, step, and how hard it is to change.

import { button, h } from "../../lib/dom.js";
import { allAndNone } from "./chips.js";
import { ValueField } from "./now_field.js";
import { MULTIPLIERS, describeMultiplier, formatBare, isOrdered, isTrack, nameOf } from "./values.js";

const SHORT = 60; // characters of a description that the line shows in full
const DIRECTIONS = { any: "either way", only_increase: "only increase", only_decrease: "only decrease" };

/** The panel below a feature; `set(patch, live)` changes its settings. */
export class More {
  constructor(feature, set, chips, id) {
    this.feature = feature;
    this.parts = [
      ...(isTrack(feature) ? [new Limit(feature, "low", set, id), new Limit(feature, "high", set, id)] : []),
      ...(isOrdered(feature) ? [new Direction(set, id, nameOf(feature))] : []),
      ...(isTrack(feature) ? [new Step(feature, set, id)] : []),
      new Multiplier(set, id),
    ];
    const clear = { direction: "any", low: null, high: null, allowed: null, step: null, multiplier: 1 };
    this.clear = button("Clear", () => set(clear), { "aria-label": `clear the settings of ${nameOf(feature)}` });
    this.node = h(
      "div",
      { class: "more-parts" },
      feature.description?.length > SHORT && h("p", { class: "description" }, feature.description),
      chips && allowed(chips),
      this.parts.map((part) => part.node),
      this.clear,
    );
  }

  update(control) {
    for (const part of this.parts) part.update(control);
    const { lock: _, ...settings } = control;
    this.clear.disabled = Object.values(settings).every((one) => one === null || one === "any" || one === 1);
  }
}

const allowed = (chips) =>
  h(
    "div",
    { class: "field" },
    h("span", { class: "caption" }, "Allow"),
    h("div", { class: "more-choices" }, allAndNone(chips)),
  );

function field(label, input, ...rest) {
  return h("div", { class: "field" }, h("label", { class: "caption", for: input.id }, label), input, rest);
}

/** An exact end of the range; the other end moves too if they would cross. */
class Limit {
  constructor(feature, end, set, id) {
    this.end = end;
    const bound = end === "low" ? feature.lower : feature.upper;
    this.field = new ValueField(feature, {
      id: `${id}-${end}`,
      mayBeEmpty: true,
      placeholder: bound === null || bound === undefined ? "no limit" : formatBare(feature, bound),
      accept: (value, live) => set(this.moveTo(value), live),
    });
    this.node = field(end === "low" ? "At least" : "At most", this.field.node);
  }

  moveTo(value) {
    const { low, high } = this.control;
    if (this.end === "low") return { low: value, high: value !== null && high !== null && high < value ? value : high };
    return { low: value !== null && low !== null && low > value ? value : low, high: value };
  }

  update(control) {
    this.control = control;
    this.field.update(control[this.end]);
  }
}

class Step {
  constructor(feature, set, id) {
    const size = { ...feature, kind: "number", unit: feature.kind === "date" ? "days" : feature.unit };
    this.field = new ValueField(size, {
      id: `${id}-step`,
      mayBeEmpty: true,
      placeholder: feature.step ? formatBare(size, feature.step) : "any",
      accept: (step, live) => set({ step: step > 0 ? step : null }, live),
    });
    this.node = field("In steps of", this.field.node);
  }

  update({ step }) {
    this.field.update(step);
  }
}

class Direction {
  constructor(set, id, name) {
    this.radios = Object.entries(DIRECTIONS).map(([direction, text]) => {
      const radio = h("input", {
        type: "radio",
        name: `${id}-direction`,
        value: direction,
        onchange: () => set({ direction }),
      });
      return [radio, h("label", { class: "check" }, radio, text)];
    });
    this.node = h(
      "fieldset",
      { class: "field", "aria-label": `direction of ${name}` },
      h("legend", { class: "caption" }, "Direction"),
      h(
        "div",
        { class: "more-choices" },
        this.radios.map(([, label]) => label),
      ),
    );
  }

  update({ direction }) {
    for (const [radio] of this.radios) radio.checked = radio.value === direction;
  }
}

/** A slider with seven positions for the multiplier of the cost. */
class Multiplier {
  constructor(set, id) {
    this.slider = h("input", { type: "range", id: `${id}-effort`, min: 0, max: MULTIPLIERS.length - 1, step: 1 });
    this.output = h("output", { for: this.slider.id });
    const multiplier = () => MULTIPLIERS[this.slider.valueAsNumber];
    this.slider.addEventListener("input", () => set({ multiplier: multiplier() }, true));
    this.slider.addEventListener("change", () => set({ multiplier: multiplier() }));
    this.node = field("How hard to change", this.slider, this.output);
  }

  update({ multiplier }) {
    const distances = MULTIPLIERS.map((one) => Math.abs(one - multiplier));
    const k = String(distances.indexOf(Math.min(...distances)));
    if (this.slider.value !== k) this.slider.value = k;
    const text = describeMultiplier(multiplier);
    if (this.output.textContent === text) return;
    this.output.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }
}
