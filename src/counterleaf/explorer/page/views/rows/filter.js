// The filter in plain words: what the model says, how to get there, and the values of one feature.

import { button, fill, h } from "../../lib/dom.js";
import { isMissing, isTrack, nameOf } from "../features/values.js";
import { CAN, CANNOT, FOUND, HAS, LIMIT, UNREADABLE } from "./rows_data.js";

const DAY = 86_400_000; // milliseconds
const WITHIN = "within";
const isPossible = (status) => status === CAN || status === FOUND;
const WAYS = {
  "": ["takes any effort", () => true],
  has: ["takes no change", (status) => status === HAS],
  can: ["is possible", isPossible],
  [WITHIN]: ["takes at most …", null],
  cannot: ["is not possible", (status) => status === CANNOT],
  limit: ["is not decided in time", (status) => status === LIMIT],
  unreadable: ["is unknown: the row cannot be read", (status) => status === UNREADABLE],
};

export class Filter {
  /** `changed()` is called when the user changes the filter. */
  constructor(scene, changed) {
    Object.assign(this, { scene, changed });
    const select = (id, options) =>
      h("select", { id, onchange: () => this.apply() }, options.map(([value, text]) => h("option", { value }, text)));
    const number = (id, attributes) => h("input", { type: "number", id, step: "any", oninput: () => this.apply(), ...attributes });
    const field = (label, input, ...after) => h("div", { class: "field" }, h("label", { for: input.id }, label), input, after);
    const isValue = scene.kind === "value";
    this.says = isValue ? null : select("rows-says", [["", "anything"], ...scene.classes.map((name, k) => [String(k), name])]);
    this.saysLow = number("rows-says-low", { "aria-label": "The model says at least" });
    this.saysHigh = number("rows-says-high", { "aria-label": "The model says at most" });
    this.way = select("rows-way", Object.entries(WAYS).map(([key, [text]]) => [key, text]));
    this.percent = number("rows-percent", { min: 0, value: 10, "aria-label": "Effort in percent" });
    this.percentField = h("span", { class: "rows-ends" }, this.percent, h("span", {}, "% effort"));
    this.feature = select("rows-feature", [["", "any feature"], ...scene.features.map((one) => [one.name, nameOf(one)])]);
    this.value = h("span", { class: "rows-ends" });
    this.count = h("strong", { role: "status" });
    this.node = h(
      "div",
      { class: "rows-filter", role: "group", "aria-label": "Filter" },
      isValue
        ? h("div", { class: "field" }, h("span", {}, "The model says"), this.saysLow, "to", this.saysHigh)
        : field("The model says", this.says),
      field("and getting there", this.way, this.percentField),
      field("where", this.feature, this.value),
      h("div", { class: "field" }, this.count, (this.clearButton = button("Clear the filter", () => this.clear(), { class: "quiet" }))),
    );
    this.apply(true);
  }

  clear() {
    for (const node of [this.says, this.way, this.feature]) if (node) node.value = "";
    for (const node of [this.saysLow, this.saysHigh]) node.value = "";
    this.apply();
  }

  /** Read the fields. */
  apply(quietly = false) {
    this.percentField.hidden = this.way.value !== WITHIN;
    const feature = this.scene.features.find((one) => one.name === this.feature.value) ?? null;
    if (feature !== this.chosen) this.buildValue(feature);
    this.clearButton.hidden = this.isEmpty;
    if (!quietly) this.changed();
  }

  buildValue(feature) {
    this.chosen = feature;
    [this.low, this.high, this.category] = [null, null, null];
    if (!feature) return fill(this.value);
    const change = { oninput: () => this.apply() };
    const name = nameOf(feature);
    if (isTrack(feature)) {
      const [type, step] = feature.kind === "date" ? ["date", null] : ["number", "any"];
      const end = (word) => h("input", { type, step, "aria-label": `${name} ${word}`, placeholder: word, ...change });
      [this.low, this.high] = [end("from"), end("to")];
      return fill(this.value, this.low, h("span", {}, "to"), this.high);
    }
    const values = [...feature.values, ...(feature.missing ? ["(missing)"] : [])];
    this.category = h(
      "select",
      { "aria-label": name, onchange: () => this.apply() },
      h("option", { value: "" }, "any value"),
      values.map((text, k) => h("option", { value: k }, text)),
    );
    fill(this.value, h("span", {}, "is"), this.category);
  }

  get isEmpty() {
    const fields = [this.says, this.saysLow, this.saysHigh, this.way, this.low, this.high, this.category];
    return fields.every((node) => !node?.value);
  }

  /** The rows that match, increasing. */
  matches(data) {
    const tests = [];
    if (this.says?.value) tests.push((row) => data.says[row] === Number(this.says.value));
    else if (!this.says) tests.push(...between(this.saysLow, this.saysHigh, data.says));
    if (this.way.value === WITHIN) {
      const most = this.percent.valueAsNumber / 100;
      tests.push((row) => isPossible(data.status[row]) && !(data.effort[row] > most));
    } else if (this.way.value) {
      const test = WAYS[this.way.value][1];
      tests.push((row) => test(data.status[row]));
    }
    if (this.chosen) {
      const values = data.column(this.chosen.name) ?? [];
      if (this.category?.value) {
        const wanted = Number(this.category.value);
        tests.push((row) => (wanted >= this.chosen.values.length ? isMissing(this.chosen, values[row]) : values[row] === wanted));
      } else if (this.low) tests.push(...between(this.low, this.high, values));
    }
    const out = [];
    for (let row = 0; row < data.n; row += 1) if (tests.every((test) => test(row))) out.push(row);
    return out;
  }

  showCount(n, of, loaded) {
    const text = this.isEmpty ? `${of.toLocaleString("en")} rows` : `${n.toLocaleString("en")} of ${of.toLocaleString("en")} rows${loaded ? "" : " so far"}`;
    if (this.count.textContent !== text) this.count.textContent = text;
  }
}

/** Tests for the two ends of an interval; an empty field does not limit it. */
function between(low, high, values) {
  const known = (row) => values[row] !== null && values[row] !== undefined;
  const out = [];
  const number = (field) => (field.type === "date" ? field.valueAsNumber / DAY : field.valueAsNumber);
  const [least, most] = [number(low), number(high)];
  if (low.value) out.push((row) => known(row) && values[row] >= least);
  if (high.value) out.push((row) => known(row) && values[row] <= most);
  return out;
}
