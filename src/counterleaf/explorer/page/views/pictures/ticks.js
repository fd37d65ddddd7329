// Round ticks of an axis, and numbers as the axes show them.

const DAY = 86_400_000; // milliseconds

/** Ticks at multiples of 1, 2 or 5 times a power of ten, at most `most` of them: [{at, text}]. */
export function roundTicks(low, high, most, { step = null, kind = "number", values = null } = {}) {
  if (values) return values.map((text, at) => ({ at, text }));
  if (kind === "date") return dateTicks(low, high, most);
  const least = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  let gap = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= least * (1 - 1e-9));
  if (Number.isInteger(step)) gap = Math.max(1, gap);
  const first = Math.ceil(low / gap - 1e-9);
  const count = Math.floor(high / gap + 1e-9) - first + 1;
  const digits = Math.max(0, -Math.floor(Math.log10(gap) + 1e-9));
  return Array.from({ length: Math.max(0, count) }, (_, k) => {
    const at = Number(((first + k) * gap).toPrecision(12));
    return { at, text: axisNumber(at, digits) };
  });
}

/** A number with thousands separators and this number of decimals; very large and very small ones with an exponent. */
function axisNumber(value, digits = 0) {
  if (value !== 0 && (Math.abs(value) >= 1e9 || digits > 6)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("-", "−");
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

const iso = (days) => new Date(days * DAY).toISOString();

/** Days since 1970 at the first day of a year, of a month, or at single days. */
function dateTicks(low, high, most) {
  const [first, last] = [low, high].map((days) => new Date(days * DAY));
  const months = [];
  if (Number.isNaN(first.getTime()) || Number.isNaN(last.getTime())) return [];
  const span = (high - low) / 30.44;
  const gap = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((size) => span / size <= most) ?? 6000;
  if (span < most / 2) {
    return roundTicks(low, high, most, { step: 1 }).map(({ at }) => ({ at, text: iso(at).slice(0, 10) }));
  }
  const start = first.getUTCFullYear() * 12 + first.getUTCMonth();
  for (let k = Math.ceil(start / gap) * gap; ; k += gap) {
    const at = Date.UTC(Math.floor(k / 12), k % 12, 1) / DAY;
    if (at > high) return months;
    if (at >= low) months.push({ at, text: iso(at).slice(0, gap % 12 ? 7 : 4) });
  }
}

/** A value of a feature in words: a category, a date, or a number with its unit and as few digits as the window needs. */
export function valueText(axis, value, low = 0, high = 0) {
  if (value === null || value === undefined) return "missing";
  if (axis.values) return axis.values[Math.round(value)] ?? "missing";
  if (axis.kind === "date") return iso(value).slice(0, 10);
  const fine = axis.step ?? 10 ** Math.floor(Math.log10((high - low || 1) / 1000));
  const digits = Number.isInteger(value) ? 0 : Math.min(8, Math.max(0, decimalsOf(fine)));
  return axis.unit ? `${axisNumber(value, digits)} ${axis.unit}` : axisNumber(value, digits);
}

const decimalsOf = (step) => Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));

/** The allowed number that is nearest to a value, within bounds. */
export function snap(axis, value, low, high) {
  if (axis.values) return Math.min(axis.values.length - 1, Math.max(0, Math.round(value)));
  const inside = (one) => Math.min(high, Math.max(low, one));
  if (!axis.step) return Number(inside(value).toPrecision(Math.max(3, Math.ceil(Math.log10(Math.abs(value / (high - low)) + 1)) + 3)));
  const first = Math.ceil(low / axis.step - 1e-9);
  const last = Math.floor(high / axis.step + 1e-9);
  if (first > last) return inside(value);
  return Number((Math.min(last, Math.max(first, Math.round(value / axis.step))) * axis.step).toPrecision(15));
}

let pen;

/** The width of a text in pixels. */
export function textWidth(text, font = "13px system-ui, sans-serif") {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text).width;
}

/** A text that is at most `width` pixels wide, with an ellipsis in the middle. */
export function fitText(text, width, font) {
  if (textWidth(text, font) <= width) return text;
  for (let keep = text.length - 1; keep > 2; keep--) {
    const short = `${text.slice(0, Math.ceil(keep / 2)).trimEnd()}…${text.slice(text.length - Math.floor(keep / 2)).trimStart()}`;
    if (textWidth(short, font) <= width) return short;
  }
  return "…";
}
