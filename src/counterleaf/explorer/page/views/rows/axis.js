// What can be drawn along an axis, and the positions and round ticks of an axis.

import { formatBare, formatNumber, formatValue, isTrack, nameOf } from "../features/values.js";
import { percentText } from "../../lib/dom.js";
import { roundTicks } from "../pictures/ticks.js";
import { FOUND, HAS, LIMIT, UNREADABLE } from "./rows_data.js";

/** An effort as a percentage of the usual range. */
export function formatEffort(effort) {
  const percent = 100 * effort;
  if (percent > 0 && percent < 0.1) return "under 0.1 %";
  return `${Number(percent.toFixed(percent < 10 ? 1 : 0)).toLocaleString("en")} %`;
}

/** What the model says about a row, in words. */
export function saysText(scene, value) {
  if (value === null || value === undefined) return "…";
  return scene.kind === "value" ? formatNumber(value) : scene.classes[value];
}

/** The quantities of a data set: {key, label, kind, step, values (of categories), of(data) -> array, format(value), gap}. */
export function quantities(scene) {
  return [
    ...scene.features.map((feature) => ({
      key: `f:${feature.name}`,
      feature,
      kind: feature.kind,
      step: feature.step,
      label: nameOf(feature) + (feature.kind === "number" && feature.unit ? ` (${feature.unit})` : ""),
      values: isTrack(feature) ? null : [...feature.values, ...(feature.missing ? ["(missing)"] : [])],
      of: (data) => data.column(feature.name),
      format: (value) => (isTrack(feature) ? formatBare(feature, value) : formatValue(feature, value)),
      gap: "missing",
    })),
    { key: "effort", label: "Effort", of: (data) => data.effort, format: formatEffort, gap: "no way known" },
    ...(scene.probabilities ? [chanceQuantity(scene)] : []),
    {
      key: "says",
      label: "What the model says",
      values: scene.kind === "value" ? undefined : scene.classes,
      of: (data) => data.says,
      format: (value) => saysText(scene, value),
      gap: "not read",
    },
    { key: "row", label: "Row number", step: 1, of: (data) => Array.from({ length: data.n }, (_, k) => k), format: formatNumber, gap: "" },
  ];
}

/** The probability of the only class of the goal. */
function chanceQuantity(scene) {
  return { key: "chance", label: "Probability of the goal", of: (data) => data.chance, format: percentText, gap: "not known" };
}

const GAP = 26; // pixels for rows without a value

/** A number from -0.5 to 0.5 that depends on the row only, so that points do not jump. */
const jitter = (row, seed) => {
  let x = Math.imul(row + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
  x ^= x >>> 12;
  return ((x >>> 0) % 10_007) / 10_007 - 0.5;
};

/** Positions between two pixels: `at(value, row)`, `ticks(count)`. `from` may be greater than `to`, for a vertical axis. */
export class Axis {
  constructor(quantity, values, from, to, seed) {
    Object.assign(this, { quantity, values, to, seed });
    const isGap = (value) => value === null || value === undefined;
    this.hasGap = values.some(isGap);
    const sign = Math.sign(to - from);
    this.gapAt = from + (sign * GAP) / 2;
    this.from = this.hasGap ? from + sign * GAP : from;
    if (quantity.values) {
      [this.low, this.high] = [-0.5, quantity.values.length - 0.5];
    } else {
      let [low, high] = [Infinity, -Infinity];
      for (const value of values) {
        if (isGap(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
      if (low > high) [low, high] = [0, 1];
      const pad = (high - low) * 0.03 || Math.abs(low) * 0.05 || 1;
      [this.low, this.high] = [low - pad, high + pad];
    }
  }

  /** The width of a category in pixels. */
  get band() {
    return Math.abs(this.to - this.from) / this.quantity.values.length;
  }

  place(value) {
    return this.from + ((value - this.low) / (this.high - this.low)) * (this.to - this.from);
  }

  at(row) {
    const value = this.values[row];
    if (value === null || value === undefined) return this.gapAt + jitter(row, this.seed) * (GAP - 12);
    return this.place(this.quantity.values ? value + 0.7 * jitter(row, this.seed) : value);
  }

  /** [position, text] of the ticks. */
  ticks(count) {
    const { quantity } = this;
    const isNumber = !quantity.values && quantity.kind !== "date";
    return roundTicks(this.low, this.high, Math.max(2, count), quantity).map(({ at, text }) => [
      this.place(at),
      isNumber ? quantity.format(at) : text,
    ]);
  }
}

/** The effort of a row in words. */
export function effortText(data, row) {
  const status = data.status[row];
  if (status === undefined) return "…";
  if (status === HAS) return "none";
  if (data.effort[row] !== null) return formatEffort(data.effort[row]) + (status === FOUND ? ", not proved" : "");
  return status === UNREADABLE ? "cannot be read" : status === LIMIT ? "not decided in time" : "no way";
}
