// Values of features as text and back: thousands separators, units, dates; and the snapping of dragged values.

import { plainNumber } from "../../lib/dom.js";

const DAY = 86_400_000; // milliseconds
const MOST_POSITIONS = 200; // of a dragged end: about one per pixel or two
const WORDS = [
  [0.1, "very easy to change"],
  [0.25, "much easier to change"],
  [0.5, "easier to change"],
  [1, "as usual"],
  [2, "harder to change"],
  [4, "much harder to change"],
  [10, "very hard to change"],
];

export const MISSING = "(missing)";
export const MULTIPLIERS = WORDS.map(([multiplier]) => multiplier);

/** How hard a feature is to change, in words if the multiplier is one of the slider's. */
export const describeMultiplier = (multiplier) =>
  WORDS.find(([one]) => one === multiplier)?.[1] ?? `${plainNumber(multiplier)} times as hard to change`;

export const isTrack = (feature) => feature.kind === "number" || feature.kind === "date";
export const isOrdered = (feature) => isTrack(feature) || feature.kind === "ordinal";
export const nameOf = (feature) => feature.label ?? feature.name;

/** A number with thousands separators, and six significant digits or two to four decimals. */
export function formatNumber(value, useGrouping = true) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size < 1e-4 && size > 0)) return String(Number(value.toPrecision(6)));
  const digits = size < 100 ? { maximumSignificantDigits: 6 } : { maximumFractionDigits: size < 1000 ? 4 : 2 };
  return value.toLocaleString("en", { useGrouping, ...digits });
}

const isoDate = (days) => {
  const date = new Date(Math.round(days) * DAY);
  return Number.isNaN(date.getTime()) ? formatNumber(days) : date.toISOString().slice(0, 10);
};

/** A number or a date without its unit. */
export const formatBare = (feature, value) => 
  feature.kind === "date" ? isoDate(value) : formatNumber(value, !isYear(feature));

const isYear = ({ name, lower, upper }) => /year/i.test(name) && lower >= 1000 && upper !== null && upper < 3000;

/** Whether the rows have different values: at most nine in ten in one bar of the histogram, or with one category. */
export function varies({ histogram, counts }) {
  const bars = histogram?.counts ?? counts ?? [];
  const sum = bars.reduce((total, count) => total + count, 0);
  return sum > 0 && Math.max(...bars) <= 0.9 * sum;
}

/** A value as the page shows it. */
export function formatValue(feature, code) {
  if (isMissing(feature, code)) return MISSING;
  if (!isTrack(feature)) return feature.values[code];
  const unit = feature.kind === "number" && feature.unit ? ` ${feature.unit}` : ""; // a no-break space
  return formatBare(feature, code) + unit;
}

/** A limit with all its digits, because the question asks for exactly this number; without its unit unless `withUnit`. */
export function formatExact(feature, value, withUnit = true) {
  const size = Math.abs(value);
  const isPlain = feature.kind !== "date" && (size === 0 || (size >= 1e-4 && size < 1e15));
  const text = isPlain ? Number(plainNumber(value)).toLocaleString("en", { useGrouping: !isYear(feature), maximumSignificantDigits: 15 }) : formatBare(feature, value);
  return withUnit && feature.kind === "number" && feature.unit ? `${text} ${feature.unit}` : text;
}

/** Whether a code means that the value is missing: null, or the index after the last category. */
export const isMissing = (feature, code) =>
  code === null || code === undefined || (!isTrack(feature) && code >= feature.values.length);

/** A value as the user edits it: no separators, no unit, and no digits that only reflect rounding. */
export function rawText(feature, value) {
  if (value === null || value === undefined) return "";
  return feature.kind === "date" ? isoDate(value) : String(Number(value.toPrecision(12)));
}

/** The number that a text means, with or without separators and unit; NaN if it is not a number. */
export function parseValue(feature, text) {
  if (feature.kind === "date") return Math.round(Date.parse(`${text}T00:00:00Z`) / DAY);
  let digits = text.trim().replace("−", "-");
  if (feature.unit && digits.endsWith(feature.unit)) digits = digits.slice(0, -feature.unit.length);
  digits = digits.replace(/\s/gu, "");
  if (/^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(digits)) digits = digits.replaceAll(",", "");
  const value = digits === "" ? NaN : Number(digits);
  return Math.abs(value) <= 1e300 ? value : NaN;
}

/** The distance between neighbouring positions of a dragged end: the step, or a round multiple of it if there are too many. */
export function snapOf(feature, step, span) {
  const least = step ?? feature.step ?? (feature.kind === "date" ? 1 : 0);
  if (least && span / least <= MOST_POSITIONS) return least;
  const power = 10 ** Math.floor(Math.log10(span / 100));
  const round = power * (span / 100 / power >= 5 ? 5 : span / 100 / power >= 2 ? 2 : 1);
  return least ? Math.max(1, Math.round(round / least)) * least : round;
}

/** The multiple of `snap` next to a value, without rounding errors. */
export const snapTo = (value, snap) => Number((Math.round(value / snap) * snap).toPrecision(12));

/** The settings of a feature, except its lock, as short texts. */
export function describeSettings(feature, { direction, low, high, allowed, step, multiplier }) {
  const parts = [];
  if (low !== null && high !== null) parts.push(`${formatExact(feature, low, false)} to ${formatExact(feature, high)}`);
  else if (low !== null) parts.push(`at least ${formatExact(feature, low)}`);
  else if (high !== null) parts.push(`at most ${formatExact(feature, high)}`);
  if (allowed) parts.push(`${allowed.length} of ${feature.values.length} allowed`);
  if (direction !== "any") parts.push(direction === "only_increase" ? "only increase" : "only decrease");
  if (step !== null) parts.push(`in steps of ${plainNumber(step)}`);
  if (multiplier !== 1) parts.push(describeMultiplier(multiplier));
  return parts;
}
