// Colours and patterns of the classes: the palette of Okabe and Ito, which colour-blind readers can distinguish.

import { h } from "./dom.js";

const COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#999999"];

const N_PATTERNS = 24; // the patterns repeat after this number of classes

/** The colour of class k, without its pattern. */
export const colourOf = (k) => COLOURS[k % COLOURS.length];

/** The fill of class k: its colour, in some classes with stripes or dots. */
export const fillOf = (k) => `url(#class-${k % N_PATTERNS})`;

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
