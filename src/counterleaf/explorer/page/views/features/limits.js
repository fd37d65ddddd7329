// The limits of a feature: its range, its step, its allowed values, and the multiplier of its cost.

import { button, h, onNumber, setValue, shortNumber } from "../../lib/dom.js";

const MULTIPLIERS = [0.1, 0.25, 0.5, 1, 2, 4, 10];
const EFFORTS = ["much easier", "easier", "a bit easier", "as usual", "harder", "much harder", "hardest"];

/** A short text for the limits of a feature, empty if there are none. */
export function describeLimits(feature, { low, high, allowed, step, multiplier }) {
  const parts = [];
  if (low !== null && high !== null) parts.push(`${shortNumber(low)} – ${shortNumber(high)}`);
  else if (low !== null) parts.push(`≥ ${shortNumber(low)}`);
  else if (high !== null) parts.push(`≤ ${shortNumber(high)}`);
  if (allowed) parts.push(`${allowed.length} of ${feature.values.length}`);
  if (step !== null) parts.push(`step ${shortNumber(step)}`);
  if (multiplier !== 1) parts.push(`×${shortNumber(multiplier)}`);
  return parts.join(" · ");
}

/** A slider with seven positions for the multiplier. */
class MultiplierSlider {
  constructor(feature, set) {
    const id = `multiplier-${feature.name}`;
    this.slider = h("input", { type: "range", id, min: 0, max: MULTIPLIERS.length - 1, step: 1 });
    this.output = h("output", { for: id });
    const multiplier = () => MULTIPLIERS[this.slider.valueAsNumber];
    this.slider.addEventListener("input", () => {
      this.describe(multiplier());
      set({ multiplier: multiplier() }, true);
    });
    this.slider.addEventListener("change", () => set({ multiplier: multiplier() }));
    this.node = h("div", { class: "field" }, h("label", { for: id }, "How hard to change"), this.slider, this.output);
  }

  describe(multiplier) {
    const k = MULTIPLIERS.indexOf(multiplier);
    this.output.textContent = multiplier === 1 ? "as usual" : `×${shortNumber(multiplier)}`;
    this.slider.setAttribute("aria-valuetext", k < 0 ? `${shortNumber(multiplier)} times` : EFFORTS[k]);
  }

  update({ multiplier }) {
    const distances = MULTIPLIERS.map((one) => Math.abs(one - multiplier));
    setValue(this.slider, distances.indexOf(Math.min(...distances)));
    this.describe(multiplier);
  }
}

/** The limits of a numeric feature. */
export class NumberLimits {
  constructor(feature, set) {
    this.feature = feature;
    this.ends = ["low", "high"].map((end) => new RangeEnd(feature, end, set, () => this.control));
    const id = `step-${feature.name}`;
    this.step = h("input", {
      type: "number",
      id,
      min: feature.step ?? 0,
      step: feature.step ?? "any",
      placeholder: feature.step ? shortNumber(feature.step) : "any",
    });
    onNumber(
      this.step,
      (step) => set({ step: step > 0 ? step : null }),
      () => this.control.step,
      null,
    );
    this.multiplier = new MultiplierSlider(feature, set);
    this.node = h(
      "div",
      { class: "limits-editor" },
      this.ends.map((end) => end.node),
      h("div", { class: "field" }, h("label", { for: id }, "In steps of"), this.step),
      this.multiplier.node,
      button("No limits", () => set({ low: null, high: null, step: null, multiplier: 1 }), { class: "quiet" }),
    );
  }

  update(control) {
    this.control = control;
    for (const end of this.ends) end.update(control);
    setValue(this.step, control.step);
    this.multiplier.update(control);
  }
}

/** One end of a range: a slider within the data's range, and a field for any number. */
class RangeEnd {
  constructor(feature, end, set, currentControl) {
    this.feature = feature;
    this.end = end;
    const id = `${end}-${feature.name}`;
    const { lower, upper } = feature;
    this.field = h("input", {
      type: "number",
      id: `${id}-field`,
      step: feature.step ?? "any",
      placeholder: shortNumber(end === "low" ? (lower ?? 0) : (upper ?? 0)),
    });
    this.slider =
      lower === null || upper === null || lower === upper
        ? null
        : h("input", { type: "range", id, min: lower, max: upper, step: feature.step ?? (upper - lower) / 200 });
    this.slider?.setAttribute("aria-label", `${end === "low" ? "at least" : "at most"}, ${feature.name}`);
    const slide = (live) => {
      const value = this.slider.valueAsNumber;
      const bound = end === "low" ? lower : upper;
      set(this.moveTo(Math.abs(value - bound) < (upper - lower) / 400 ? null : value, currentControl()), live);
    };
    this.slider?.addEventListener("input", () => slide(true));
    this.slider?.addEventListener("change", () => slide(false));
    onNumber(
      this.field,
      (value) => set(this.moveTo(value, currentControl())),
      () => currentControl()[end],
      null,
    );
    this.node = h(
      "div",
      { class: "field" },
      h("label", { for: `${id}-field` }, end === "low" ? "At least" : "At most"),
      this.slider,
      this.field,
    );
  }

  /** The range with this end at a value; the other end moves too if they would cross. */
  moveTo(value, { low, high }) {
    if (this.end === "low") return { low: value, high: value !== null && high !== null && high < value ? value : high };
    return { low: value !== null && low !== null && low > value ? value : low, high: value };
  }

  update(control) {
    const value = control[this.end];
    setValue(this.field, value === null ? null : shortNumber(value));
    if (this.slider) setValue(this.slider, value ?? (this.end === "low" ? this.feature.lower : this.feature.upper));
  }
}

/** The limits of a categorical, ordinal or boolean feature. */
export class ChoiceLimits {
  constructor(feature, set) {
    this.boxes = feature.values.map((_, k) => h("input", { type: "checkbox", id: `allow-${feature.name}-${k}` }));
    for (const box of this.boxes) {
      box.addEventListener("change", () => {
        const allowed = this.boxes.flatMap((one, k) => (one.checked ? [k] : []));
        box.setCustomValidity(allowed.length ? "" : "Allow at least one value.");
        if (!box.reportValidity()) {
          box.checked = true;
          box.setCustomValidity("");
        } else set({ allowed: allowed.length === this.boxes.length ? null : allowed });
      });
    }
    this.multiplier = new MultiplierSlider(feature, set);
    this.node = h(
      "div",
      { class: "limits-editor" },
      h(
        "fieldset",
        {},
        h("legend", {}, "Allowed values"),
        this.boxes.map((box, k) => h("label", { class: "check", for: box.id }, box, feature.values[k])),
      ),
      this.multiplier.node,
      button("No limits", () => set({ allowed: null, multiplier: 1 }), { class: "quiet" }),
    );
  }

  update(control) {
    this.boxes.forEach((box, k) => (box.checked = control.allowed === null || control.allowed.includes(k)));
    this.multiplier.update(control);
  }
}
