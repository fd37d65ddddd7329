// Colours and patterns of the classes: the palette of Okabe and Ito, which colour-blind readers can distinguish. Its pink is left
// out, because magenta means the options. Numbers are on an even scale from blue to yellow.

import { h } from "./dom.js";

const COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#999999"];

const N_PATTERNS = 21; // the patterns repeat after this number of classes

/** Cividis, at equal steps of lightness. */
const SCALE = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

/** The fill of class k: its colour, in some classes with stripes or dots. */
export const fillOf = (k) => `url(#class-${k % N_PATTERNS})`;

/** The colour of class k as three numbers, mixed with white as in the patterns. */
export const colourOf = (k) => parse(COLOURS[k % COLOURS.length]).map((part) => Math.round(255 + (part - 255) * 0.75));

/** The colour of a share of the scale, from 0 to 1, as three numbers. */
export function colourOfShare(share) {
  const at = Math.min(1, Math.max(0, share)) * (SCALE.length - 1);
  const [low, high] = [Math.floor(at), Math.ceil(at)].map((k) => parse(SCALE[k]));
  return low.map((part, k) => Math.round(part + (high[k] - part) * (at % 1)));
}

/** Whether text on a colour is readable in black. */
export const isLight = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b > 140;

const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** The patterns that `fillOf` refers to, in an invisible drawing that the page includes once. */
export function patterns() {
  const defs = h(
    "svg:defs",
    {},
    Array.from({ length: N_PATTERNS }, (_, k) => pattern(k)),
  );
  return h("svg:svg", { width: 0, height: 0, class: "patterns", "aria-hidden": "true" }, defs);
}

function pattern(k) {
  const colour = COLOURS[k % COLOURS.length];
  const stroke = { stroke: "#000", fill: "none", "stroke-opacity": "0.35" };
  const marks = [
    [],
    [h("svg:path", { d: "M-2 2L2 -2M0 8L8 0M6 10L10 6", ...stroke })],
    [h("svg:circle", { cx: 4, cy: 4, r: 1, ...stroke })],
  ];
  return h(
    "svg:pattern",
    { id: `class-${k}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
    h("svg:rect", { width: 8, height: 8, fill: "#fff" }),
    h("svg:rect", { width: 8, height: 8, fill: colour, "fill-opacity": "0.75" }),
    marks[k % marks.length],
  );
}

/** A legend with the colour of each class. */
export function legend(classes, indices) {
  const swatch = (k) =>
    h(
      "svg:svg",
      { width: 18, height: 14, "aria-hidden": "true" },
      h("svg:rect", { width: 18, height: 14, fill: fillOf(k), stroke: "currentColor" }),
    );
  return h(
    "ul",
    { class: "legend" },
    indices.map((k) => h("li", {}, swatch(k), classes[k])),
  );
}

/** A legend for numbers: the scale with its ends, and the interval of the goal. */
export function scaleLegend(texts, goal = null) {
  const stops = Array.from({ length: 11 }, (_, k) => `rgb(${colourOfShare(k / 10).join(" ")}) ${k * 10}%`);
  const bar = h("span", { class: "scale-bar", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  if (goal) {
    const mark = h("span", { class: "scale-goal" });
    Object.assign(mark.style, { left: `${100 * goal[0]}%`, right: `${100 * (1 - goal[1])}%` });
    bar.append(mark);
  }
  return h("p", { class: "scale" }, texts[0], bar, texts[1], goal && h("span", { class: "quiet" }, "The line above marks the goal."));
}
