// The limits of a feature: its range, step, allowed values, and how hard it is to change.

import { brief, button, h, onNumber, show } from "./dom.js";

const WEIGHTS = [0.1, 0.25, 0.5, 1, 2, 4, 10];
const HARDNESS = ["much easier", "easier", "a bit easier", "as usual", "harder", "much harder", "hardest"];

/** The limits of a feature in few letters; nothing where there are none. */
export function limits(feature, said) {
  const parts = [];
  if (said.low !== null || said.high !== null) {
    parts.push(
      said.low === null
        ? `≤ ${brief(said.high)}`
        : said.high === null
          ? `≥ ${brief(said.low)}`
          : `${brief(said.low)} – ${brief(said.high)}`,
    );
  }
  if (said.allowed) parts.push(`${said.allowed.length} of ${feature.values.length}`);
  if (said.step !== null) parts.push(`step ${brief(said.step)}`);
  if (said.weight !== 1) parts.push(`×${brief(said.weight)}`);
  return parts.join(" · ");
}

/** How hard a feature is to change: a slider with seven stops. */
class Hardness {
  constructor(feature, set) {
    const id = `weight-${feature.name}`;
    this.slider = h("input", { type: "range", id, min: 0, max: WEIGHTS.length - 1, step: 1 });
    this.told = h("output", { for: id });
    const read = () => WEIGHTS[this.slider.valueAsNumber];
    this.slider.addEventListener("input", () => {
      this.tell(read());
      set({ weight: read() }, true);
    });
    this.slider.addEventListener("change", () => set({ weight: read() }));
    this.node = h("div", { class: "field" }, h("label", { for: id }, "How hard to change"), this.slider, this.told);
  }

  tell(weight) {
    const k = WEIGHTS.indexOf(weight);
    this.told.textContent = weight === 1 ? "as usual" : `×${brief(weight)}`;
    this.slider.setAttribute("aria-valuetext", k < 0 ? `${brief(weight)} times` : HARDNESS[k]);
  }

  update(said) {
    const nearest = WEIGHTS.reduce(
      (best, w, k) => (Math.abs(w - said.weight) < Math.abs(WEIGHTS[best] - said.weight) ? k : best),
      3,
    );
    show(this.slider, nearest);
    this.tell(said.weight);
  }
}

/** A number's range on two sliders with their fields, its step, its weight. */
export class NumberLimits {
  constructor(feature, set) {
    this.feature = feature;
    this.ends = ["low", "high"].map((end) => new End(feature, end, set, () => this.said));
    const id = `step-${feature.name}`;
    this.step = h("input", {
      type: "number",
      id,
      min: feature.step ?? 0,
      step: feature.step ?? "any",
      placeholder: feature.step ? brief(feature.step) : "any",
    });
    onNumber(
      this.step,
      (step) => set({ step: step > 0 ? step : null }),
      () => this.said.step,
      null,
    );
    this.hardness = new Hardness(feature, set);
    this.node = h(
      "div",
      { class: "limits-editor" },
      this.ends.map((end) => end.node),
      h("div", { class: "field" }, h("label", { for: id }, "In steps of"), this.step),
      this.hardness.node,
      button("No limits", () => set({ low: null, high: null, step: null, weight: 1 }), { class: "quiet" }),
    );
  }

  update(said) {
    this.said = said;
    for (const end of this.ends) end.update(said);
    show(this.step, said.step);
    this.hardness.update(said);
  }
}

/** One end of a range: a slider within what was seen, a field for any number. */
class End {
  constructor(feature, end, set, said) {
    this.feature = feature;
    this.end = end;
    const id = `${end}-${feature.name}`;
    const [lower, upper] = [feature.lower, feature.upper];
    this.field = h("input", {
      type: "number",
      id: `${id}-field`,
      step: feature.step ?? "any",
      placeholder: brief(end === "low" ? (lower ?? 0) : (upper ?? 0)),
    });
    this.slider =
      lower === null || upper === null || lower === upper
        ? null
        : h("input", { type: "range", id, min: lower, max: upper, step: feature.step ?? (upper - lower) / 200 });
    this.slider?.setAttribute("aria-label", `${end === "low" ? "at least" : "at most"}, ${feature.name}`);
    const slide = (live) => {
      const value = this.slider.valueAsNumber;
      const last = end === "low" ? lower : upper;
      set(this.moved(Math.abs(value - last) < (upper - lower) / 400 ? null : value, said()), live);
    };
    this.slider?.addEventListener("input", () => slide(true));
    this.slider?.addEventListener("change", () => slide(false));
    onNumber(
      this.field,
      (value) => set(this.moved(value, said())),
      () => said()[end],
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

  /** This end at a value, the other end pushed along where they would cross. */
  moved(value, { low, high }) {
    if (this.end === "low") return { low: value, high: value !== null && high !== null && high < value ? value : high };
    return { low: value !== null && low !== null && low > value ? value : low, high: value };
  }

  update(said) {
    show(this.field, said[this.end] === null ? null : brief(said[this.end]));
    if (this.slider) show(this.slider, said[this.end] ?? (this.end === "low" ? this.feature.lower : this.feature.upper));
  }
}

/** The categories or levels that are allowed, and the weight. */
export class ChoiceLimits {
  constructor(feature, set) {
    this.boxes = feature.values.map((word, k) => h("input", { type: "checkbox", id: `allow-${feature.name}-${k}` }));
    for (const box of this.boxes) {
      box.addEventListener("change", () => {
        const allowed = this.boxes.flatMap((one, k) => (one.checked ? [k] : []));
        box.setCustomValidity(allowed.length ? "" : "At least one value must stay allowed.");
        if (!box.reportValidity()) {
          box.checked = true;
          box.setCustomValidity("");
        } else set({ allowed: allowed.length === this.boxes.length ? null : allowed });
      });
    }
    this.hardness = new Hardness(feature, set);
    this.node = h(
      "div",
      { class: "limits-editor" },
      h(
        "fieldset",
        {},
        h("legend", {}, "May be"),
        this.boxes.map((box, k) => h("label", { class: "check", for: box.id }, box, feature.values[k])),
      ),
      this.hardness.node,
      button("No limits", () => set({ allowed: null, weight: 1 }), { class: "quiet" }),
    );
  }

  update(said) {
    this.boxes.forEach((box, k) => (box.checked = said.allowed === null || said.allowed.includes(k)));
    this.hardness.update(said);
  }
}
